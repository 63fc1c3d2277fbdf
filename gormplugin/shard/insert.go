package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// insertion is a part with the rows that go there.
type insertion struct {
	part
	rows []int
}

// insertions returns the parts of a statement whose rows go to several tables, in the order of the shards.
func (r *Router) insertions(stmt *gorm.Statement, m *model, in *idshard.Map, ids []int64) ([]insertion, error) {
	var of []*insertion // by shard
	count := 0
	for row, id := range ids {
		i, err := in.OfID(id)
		if err != nil {
			return nil, err
		}
		if i >= len(of) {
			of = append(of, make([]*insertion, i+1-len(of))...)
		}
		if of[i] == nil {
			p, err := r.target(stmt, m, in, i)
			if err != nil {
				return nil, err
			}
			of[i] = &insertion{part: p}
			count++
		}
		of[i].rows = append(of[i].rows, row)
	}
	all := make([]insertion, 0, count)
	sorted := anyOrder(stmt)
	for _, ins := range of {
		if ins != nil {
			if sorted {
				slices.SortFunc(ins.rows, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
			}
			all = append(all, *ins)
		}
	}
	return all, nil
}

// anyOrder tells whether rows may be inserted in the order of their ids, which databases do quicker: not when one of them may meet another.
func anyOrder(stmt *gorm.Statement) bool {
	_, verb := stmt.Clauses["INSERT"]
	_, conflict := stmt.Clauses["ON CONFLICT"]
	return !verb && !conflict && !slices.ContainsFunc(stmt.Schema.CreateClauses, func(c clause.Interface) bool {
		return c.Name() != "sqltype: key" // which adds nothing to a statement
	})
}

// insertParts inserts rows of several tables.
func (r *Router) insertParts(db *gorm.DB, m *model, in *idshard.Map, ids []int64, insert func(*gorm.DB)) error {
	stmt := db.Statement
	parts, err := r.insertions(stmt, m, in, ids)
	if err != nil {
		return err
	}
	if db.DryRun {
		return dryRun(db, parts, insert)
	}
	scope, err := r.enter(stmt, parts)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended && scope.begun != nil { // a Valuer has panicked, and GORM has no transaction that its caller could end
			scope.begun.rollback()
		}
	}()
	was, affected := keep(stmt), int64(0)
	begin := time.Now()
	for i := range parts {
		p := &parts[i]
		if i > 0 {
			trace(db, begin)
			stmt.SQL.Reset()
			stmt.Vars = nil
			begin = time.Now()
		}
		was.slice(stmt, p.rows)
		p.to(stmt, scope.own)
		db.RowsAffected = 0
		insert(db)
		if db.Error != nil {
			db.Error = fmt.Errorf("shard: the table %s, with row %d of %d: %w", p.table, slices.Min(p.rows), len(ids), db.Error)
			break
		}
		affected += db.RowsAffected
	}
	if db.Error != nil {
		affected = 0
	}
	db.RowsAffected = affected
	if stmt.Result != nil {
		stmt.Result.RowsAffected = affected
	}
	ended = true
	return scope.leave(stmt.Context, db.Error)
}

// dryRun builds the INSERTs of all parts, and leaves them in the statement with their values, one after another.
func dryRun(db *gorm.DB, parts []insertion, insert func(*gorm.DB)) error {
	stmt := db.Statement
	was := keep(stmt)
	texts := make([]string, 0, len(parts))
	for i := range parts {
		was.slice(stmt, parts[i].rows)
		parts[i].to(stmt, was.pool)
		insert(db)
		if db.Error != nil {
			return nil
		}
		texts = append(texts, db.Dialector.Explain(stmt.SQL.String(), stmt.Vars...))
		stmt.SQL.Reset()
		stmt.Vars = nil
	}
	_, err := stmt.SQL.WriteString(strings.Join(texts, "; "))
	return err
}

// slice has a statement be one of some of its rows.
func (k kept) slice(stmt *gorm.Statement, rows []int) {
	var maps []map[string]any
	switch dest := k.dest.(type) {
	case []map[string]any:
		maps = dest
	case *[]map[string]any:
		maps = *dest
	}
	if maps != nil {
		some := make([]map[string]any, len(rows))
		for i, row := range rows {
			some[i] = maps[row]
		}
		stmt.Dest, stmt.ReflectValue = &some, reflect.ValueOf(&some).Elem()
		return
	}
	of := k.value.Type().Elem()
	address := of.Kind() == reflect.Struct && k.value.Index(0).CanAddr()
	if address {
		of = reflect.PointerTo(of)
	}
	some := reflect.New(reflect.SliceOf(of))
	some.Elem().Set(reflect.MakeSlice(reflect.SliceOf(of), len(rows), len(rows)))
	for i, row := range rows {
		value := k.value.Index(row)
		if address {
			value = value.Addr()
		}
		some.Elem().Index(i).Set(value)
	}
	stmt.Dest, stmt.ReflectValue = some.Interface(), some.Elem()
}

// endWait is how long the end of a savepoint may take.
const endWait = 10 * time.Second

// scope is what makes the parts of a statement one: the transactions that are begun for it alone, or a savepoint in one that is there already.
type scope struct {
	own       gorm.ConnPool // for the rows of the statement's own database
	begun     *transactions // which end with the parts; nil when there are none
	savepoint gorm.ConnPool // nil when there is none
}

// enter begins what the parts need.
func (r *Router) enter(stmt *gorm.Statement, parts []insertion) (s scope, err error) {
	s.own = stmt.ConnPool
	ctx := stmt.Context
	txs := transactionsOf(stmt, r)
	_, inside := stmt.ConnPool.(gorm.TxCommitter)
	if !inside {
		s.begun = &transactions{}
		txs = s.begun
		if slices.ContainsFunc(parts, func(p insertion) bool { return p.pool == nil }) {
			if s.own, err = txs.begin(ctx, r.databaseOf(stmt), stmt.ConnPool); err != nil {
				return s, err
			}
		}
	} else if txs == nil && !isGorms(stmt) {
		if err := exec(ctx, stmt.ConnPool, "SAVEPOINT snowkey_shard"); err != nil {
			return s, err
		}
		s.savepoint = stmt.ConnPool
	}
	for i := range parts {
		if p := &parts[i]; p.pool != nil {
			if p.pool, err = txs.begin(ctx, p.shard.Database, p.pool); err != nil {
				return s, errors.Join(err, s.leave(ctx, err))
			}
		}
	}
	return s, nil
}

// leave ends it, and returns an error that is not the statement's own.
func (s scope) leave(ctx context.Context, failed error) error {
	switch {
	case s.begun != nil && failed != nil:
		s.begun.rollback()
	case s.begun != nil:
		return s.begun.commit(nil)
	case s.savepoint != nil:
		// A context that has ended must not leave rows behind in a transaction that goes on.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
		defer cancel()
		if failed != nil {
			return exec(ctx, s.savepoint, "ROLLBACK TO SAVEPOINT snowkey_shard")
		}
		return exec(ctx, s.savepoint, "RELEASE SAVEPOINT snowkey_shard")
	}
	return nil
}

// exec runs a statement that cannot be prepared.
func exec(ctx context.Context, pool gorm.ConnPool, text string) error {
	if prepared, ok := pool.(*gorm.PreparedStmtTX); ok {
		pool = prepared.Tx
	}
	_, err := pool.ExecContext(ctx, text)
	if err != nil {
		err = fmt.Errorf("shard: %s: %w", text, err)
	}
	return err
}

// isGorms tells whether GORM has begun the transaction of a statement for it alone.
func isGorms(stmt *gorm.Statement) bool {
	_, is := stmt.DB.InstanceGet("gorm:started_transaction")
	return is
}
