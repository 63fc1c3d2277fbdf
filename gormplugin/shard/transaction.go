package shard

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// transactions are those that are open in the databases of one statement and of those for its associations, in the order of their beginning.
// They are used by the goroutine of the statement alone.
type transactions struct {
	open  []transaction
	own   string // the name of the database with the transaction of GORM's
	done  []string
	owner *gorm.Statement // that ends them
	at    gorm.ConnPool   // GORM's transaction, when that is of another database than the router's own
}

type transaction struct {
	database string
	pool     gorm.ConnPool // a gorm.TxCommitter
}

// transactionsSetting is the key of the transactions among a statement's settings, which GORM copies to the statements of associations.
type transactionsSetting struct{}

// transactionsOf returns what the rows of other databases are written in, nil unless GORM has begun a transaction for the statement, or for the one whose
// associations it saves.
func transactionsOf(stmt *gorm.Statement, r *Router) *transactions {
	if len(r.pools) < 2 {
		return nil
	}
	stored, _ := stmt.Settings.Load(transactionsSetting{})
	txs, _ := stored.(*transactions)
	return txs
}

// target returns the table of a shard for a statement.
func (r *Router) target(stmt *gorm.Statement, m *model, in *idshard.Map, index int) (part, error) {
	txs := transactionsOf(stmt, r)
	if txs == nil {
		return r.part(stmt, m, in, index)
	}
	p := m.table(stmt, in, index).part
	if p.shard.Database == txs.own {
		return p, nil
	}
	pool, err := r.pool(p.shard.Database)
	p.pool = pool
	return p, err
}

// begin returns the transaction of a database, begun when there is none yet.
func (t *transactions) begin(ctx context.Context, database string, pool gorm.ConnPool) (gorm.ConnPool, error) {
	for _, tx := range t.open {
		if tx.database == database {
			return tx.pool, nil
		}
	}
	var begun gorm.ConnPool
	var err error
	switch beginner := pool.(type) {
	case gorm.TxBeginner:
		begun, err = beginner.BeginTx(ctx, nil)
	case gorm.ConnPoolBeginner:
		begun, err = beginner.BeginTx(ctx, nil)
	default:
		err = gorm.ErrInvalidTransaction
	}
	if err != nil {
		return nil, fmt.Errorf("shard: a transaction of the database %q: %w", database, err)
	}
	if _, ok := begun.(gorm.TxCommitter); !ok {
		return nil, fmt.Errorf("shard: a transaction of the database %q: %w", database, gorm.ErrInvalidTransaction)
	}
	t.open = append(t.open, transaction{database, begun})
	return begun, nil
}

// commit commits all, one after another, until one fails. The databases that are still to commit after these, if any, count as failed then.
func (t *transactions) commit(after []string) error {
	for i, tx := range t.open {
		err := tx.pool.(gorm.TxCommitter).Commit()
		if err == nil {
			t.done = append(t.done, tx.database)
			continue
		}
		failed := []string{tx.database}
		for _, other := range t.open[i+1:] {
			failed = append(failed, other.database)
		}
		t.open = t.open[i+1:]
		t.rollback()
		if len(t.done) == 0 {
			return fmt.Errorf("shard: commit in the database %q: %w", tx.database, err)
		}
		return &PartialError{Committed: t.done, Failed: append(failed, after...), Err: err}
	}
	t.open = nil
	return nil
}

// rollback ends all that are open. An error of it says that the transaction is over already, or the connection, which comes to the same.
func (t *transactions) rollback() {
	for _, tx := range t.open {
		_ = tx.pool.(gorm.TxCommitter).Rollback()
	}
	t.open = nil
}

// open is the callback that follows GORM's beginning of a transaction.
func (r *Router) open(db *gorm.DB) {
	if stmt := db.Statement; db.Error == nil && isGorms(stmt) {
		txs := &transactions{own: r.databaseOf(stmt), owner: stmt}
		stmt.Settings.Store(transactionsSetting{}, txs)
		if txs.own != "" {
			txs.at = plainPool(stmt.ConnPool)
			r.away.Store(txs.at, txs)
		}
	}
}

// commit is the callback before GORM ends its transaction, which it rolls back after an error.
func (r *Router) commit(db *gorm.DB) {
	txs := transactionsOf(db.Statement, r)
	if txs == nil || txs.owner != db.Statement {
		return
	}
	if db.Error != nil {
		txs.rollback()
		return
	}
	if err := txs.commit([]string{txs.own}); err != nil {
		_ = db.AddError(err)
	}
}

// close is the callback after it.
func (r *Router) close(db *gorm.DB) {
	txs := transactionsOf(db.Statement, r)
	if txs == nil || txs.owner != db.Statement {
		return
	}
	db.Statement.Settings.Delete(transactionsSetting{})
	if txs.at != nil {
		r.away.Delete(txs.at)
	}
	if partial := (*PartialError)(nil); db.Error != nil && len(txs.done) > 0 && !errors.As(db.Error, &partial) {
		db.Error = &PartialError{Committed: txs.done, Failed: []string{txs.own}, Err: db.Error}
	}
}

// home has a statement of a model that is not sharded go to the router's own database. It comes with the pool of another one from a row there, whose
// relation it saves or whose hook makes it. The error is an ErrTransaction in a transaction of another database that no other is ended with.
func (r *Router) home(db *gorm.DB) error {
	stmt := db.Statement
	if len(r.pools) < 2 || stmt.Schema == nil || db.DryRun {
		return nil
	}
	if m, err := r.model(stmt.Schema); m != nil || err != nil {
		return nil // the callbacks that follow tell of the error
	}
	at := r.databaseOf(stmt)
	if at == "" {
		return nil
	}
	pool := r.own.ConnPool
	if _, in := stmt.ConnPool.(gorm.TxCommitter); in {
		away, is := r.away.Load(plainPool(stmt.ConnPool)) // GORM does not hand the settings on to what it saves in a join table, nor to hooks
		if !is {
			return fmt.Errorf("%w: %s is not sharded, so its table is in the router's own database; the transaction is one of %q", ErrTransaction, stmt.Schema.Name, at)
		}
		var err error
		if pool, err = away.(*transactions).begin(stmt.Context, "", pool); err != nil {
			return err
		}
	}
	stmt.ConnPool = pool
	return nil
}

// plainPool returns the transaction of one that prepares its statements.
func plainPool(pool gorm.ConnPool) gorm.ConnPool {
	if prepared, ok := pool.(*gorm.PreparedStmtTX); ok {
		return prepared.Tx
	}
	return pool
}
