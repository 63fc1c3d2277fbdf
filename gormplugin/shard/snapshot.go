package shard

import (
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"gorm.io/gorm"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// snapshots keeps, of each transaction of a caller's, the version of the map that its first statement had. Another version's statement is refused: a
// transaction that sees the database as it was when it began, which is MySQL's default, would look for moved rows where they were not yet then.
type snapshots struct {
	versions sync.Map // weak.Pointer[sql.Tx] → int64; an entry goes with its transaction
}

// keep returns the version that a transaction has, which is the one given if it has none.
func (t *snapshots) keep(tx *sql.Tx, version int64) int64 {
	key := weak.Make(tx)
	if kept, ok := t.versions.Load(key); ok {
		return kept.(int64)
	}
	kept, was := t.versions.LoadOrStore(key, version)
	if !was {
		runtime.AddCleanup(tx, func(key weak.Pointer[sql.Tx]) { t.versions.Delete(key) }, key)
	}
	return kept.(int64)
}

// registerSnapshots has every statement counted, also those of models that are not sharded: the first one may be what a transaction sees the database by.
func (r *Router) registerSnapshots(db *gorm.DB) error {
	const name = "snowkey:snapshot"
	callbacks := db.Callback()
	return errors.Join(
		callbacks.Query().Before("*").Register(name, r.noteSnapshot),
		callbacks.Row().Before("*").Register(name, r.noteSnapshot),
		callbacks.Raw().Before("*").Register(name, r.noteSnapshot),
		callbacks.Create().Before("*").Register(name, r.beforeWrite),
		callbacks.Update().Before("*").Register(name, r.noteSnapshot), // the routing asks for the map then too
		callbacks.Delete().Before("*").Register(name, r.noteSnapshot),
	)
}

// noteSnapshot is the callback before a statement. Those of a sharded model come with the map that they are routed by, see sameMap.
func (r *Router) noteSnapshot(db *gorm.DB) {
	tx := transactionOf(db.Statement)
	if tx == nil {
		return
	}
	if m, err := r.model(db.Statement.Schema); m == nil && err == nil {
		r.snapshots.keep(tx, r.lease.known().Version())
	}
}

// beforeWrite is that of a Create, for which GORM begins a transaction. This may take the only connection, so the lease is renewed before if need be.
func (r *Router) beforeWrite(db *gorm.DB) {
	if db.Error == nil {
		if err := r.home(db); err != nil {
			_ = db.AddError(err)
		}
	}
	r.noteSnapshot(db)
	if _, in := db.Statement.ConnPool.(gorm.TxCommitter); in || db.Error != nil || r.lease.fresh() != nil {
		return
	}
	if m, err := r.model(db.Statement.Schema); m != nil && err == nil {
		if _, err := r.current(db.Statement.Context); err != nil {
			_ = db.AddError(err)
		}
	}
}

// sameMap returns an ErrMoved when the transaction of a statement began with another version of the map.
func (r *Router) sameMap(stmt *gorm.Statement, in *idshard.Map) error {
	tx := transactionOf(stmt)
	if tx == nil {
		return nil
	}
	if kept := r.snapshots.keep(tx, in.Version()); kept != in.Version() {
		return fmt.Errorf("%w: the transaction began with version %d of the map, and %d is in force; do it again from its beginning", ErrMoved, kept, in.Version())
	}
	return nil
}

// transactionOf returns the transaction of the caller's that a statement is in, nil for none and for one that GORM has begun for this statement alone.
func transactionOf(stmt *gorm.Statement) *sql.Tx {
	pool := stmt.ConnPool
	if prepared, ok := pool.(*gorm.PreparedStmtTX); ok {
		pool = prepared.Tx
	}
	tx, ok := pool.(*sql.Tx)
	if !ok || !inTransaction(stmt) {
		return nil
	}
	return tx
}
