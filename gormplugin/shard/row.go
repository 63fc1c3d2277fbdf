package shard

import (
	"context"
	"database/sql"
	"fmt"

	"gorm.io/gorm"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// row returns the callback of Rows, Row and Scan.
func (q *queries) row(next func(*gorm.DB)) func(*gorm.DB) {
	return func(db *gorm.DB) {
		if db.Error != nil || db.Statement.Schema == nil {
			next(db)
			return
		}
		sharded := q.route(db, next, func(*gorm.DB, *demand, *idshard.Map, []int, func(*gorm.DB)) error {
			return fmt.Errorf("%w: Rows, Row and Scan are of one table; use Find, Pluck, or Between", ErrSpan)
		})
		if sharded {
			closeRows(db)
		}
		if rows, ok := db.Get("rows"); db.Error != nil && ok && rows == false {
			refuseRow(db)
		}
	}
}

// closeRows ends what a statement reads that has failed after it began.
func closeRows(db *gorm.DB) {
	if db.Error == nil {
		return
	}
	switch rows := db.Statement.Dest.(type) {
	case *sql.Rows:
		if rows != nil {
			_ = rows.Close()
		}
	case *sql.Row:
		if rows.Err() == nil {
			_ = rows.Scan() // it has no other end
			db.Statement.Dest = nil
		}
	}
}

// refuseRow gives the caller of Row, who sees no other error, one with the error: of a query whose context has ended with it.
func refuseRow(db *gorm.DB) {
	if _, is := db.Statement.Dest.(*sql.Row); is {
		return
	}
	if pool, err := db.DB(); err == nil {
		db.Statement.Dest = pool.QueryRowContext(ended{db.Statement.Context, db.Error}, "")
	}
}

// ended is a context that has ended with an error.
type ended struct {
	context.Context
	err error
}

var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (e ended) Done() <-chan struct{} { return over }
func (e ended) Err() error            { return e.err }

// raw refuses raw SQL of a sharded model, db.Model(&Order{}).Exec(…).
func (q *queries) raw(db *gorm.DB) {
	if db.Error != nil || db.Statement.Schema == nil {
		return
	}
	if m, err := q.model(db.Statement.Schema); err != nil {
		refuse(db, err)
	} else if m != nil && !isDirect(db.Statement) {
		refuse(db, fmt.Errorf("%w: raw SQL of %s, which is sharded: name the table in it, and no model", ErrUnrouted, m.schema.Name))
	}
}
