package shard

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// registerCreate has the rows of each Create go to their tables.
func (r *Router) registerCreate(db *gorm.DB) error {
	if err := r.plugin.Split(db, r.create); err != nil {
		return err
	}
	create, update := db.Callback().Create(), db.Callback().Update()
	if err := create.After("gorm:commit_or_rollback_transaction").Register("snowkey:shard:explain_create", r.ended); err != nil {
		return err
	}
	if len(r.pools) < 2 {
		return nil
	}
	return errors.Join(
		create.After("gorm:begin_transaction").Before("gorm:before_create").Register("snowkey:shard:open", r.open),
		create.After("gorm:after_create").Before("gorm:commit_or_rollback_transaction").Register("snowkey:shard:commit", r.commit),
		create.After("gorm:commit_or_rollback_transaction").Register("snowkey:shard:close", r.close),
		update.After("gorm:begin_transaction").Before("gorm:setup_reflect_value").Register("snowkey:shard:open", r.open),
		update.After("gorm:after_update").Before("gorm:commit_or_rollback_transaction").Register("snowkey:shard:commit", r.commit),
		update.After("gorm:commit_or_rollback_transaction").Register("snowkey:shard:close", r.close),
	)
}

// ended is the callback at the end of each Create. After the end of a context the rollback fails, since database/sql has done it already, and of
// that error GORM has the text of the one before only.
func (r *Router) ended(db *gorm.DB) {
	if db.Error == nil {
		return
	}
	r.explain(db)
	if err := db.Statement.Context.Err(); err != nil && !errors.Is(db.Error, err) {
		db.Error = fmt.Errorf("%w: %w", err, db.Error)
	}
}

// create inserts the rows of a statement, each into its table, with one INSERT a table: in the order of the shards, and in that of the ids within
// one, but in the order of the rows when these may meet others. Hooks and associations are GORM's, before and after it, for all rows at once. When
// an INSERT fails, those before it are undone, by the rollback of the transaction or, in one of the caller's, to a savepoint; the rows keep their
// ids, and the error names the table. Each INSERT is told to the logger. With DryRun the texts of all are left in the statement, with their values
// in them when there are several.
func (r *Router) create(db *gorm.DB, ids []int64, by gormplugin.Placer, insert func(*gorm.DB)) {
	stmt := db.Statement
	was := keep(stmt)
	defer was.restore(stmt)
	if err := r.insertAll(db, ids, by.(*placer).in, insert); err != nil {
		_ = db.AddError(err)
	}
}

func (r *Router) insertAll(db *gorm.DB, ids []int64, in *idshard.Map, insert func(*gorm.DB)) error {
	stmt := db.Statement
	m, err := r.model(stmt.Schema)
	if err != nil {
		return err
	}
	if err := isOwnTable(stmt, m); err != nil {
		return err
	}
	same := true
	first, err := in.OfID(ids[0])
	if err != nil {
		return err
	}
	for _, id := range ids[1:] {
		i, err := in.OfID(id)
		if err != nil {
			return err
		}
		same = same && i == first
	}
	if !same {
		return r.insertParts(db, m, in, ids, insert)
	}
	p, err := r.target(stmt, m, in, first)
	if err != nil {
		return err
	}
	own := stmt.ConnPool
	if txs := transactionsOf(stmt, r); p.pool != nil && txs != nil && !db.DryRun {
		if p.pool, err = txs.begin(stmt.Context, p.shard.Database, p.pool); err != nil {
			return err
		}
	}
	p.to(stmt, own)
	insert(db)
	return nil
}

// isOwnTable returns an ErrUnrouted for a statement that names a table of its own.
func isOwnTable(stmt *gorm.Statement, m *model) error {
	if c, ok := stmt.Clauses["INSERT"].Expression.(clause.Insert); ok && c.Table.Name != "" && c.Table.Name != clause.CurrentTable && c.Table.Name != m.schema.Table {
		return fmt.Errorf("%w: the INSERT is one into %q, and rows of %s go to the tables that their keys lead to", ErrUnrouted, c.Table.Name, m.schema.Name)
	}
	if stmt.TableExpr == nil && stmt.Table == m.schema.Table || stmt.TableExpr != nil && len(stmt.TableExpr.Vars) == 0 && stmt.TableExpr.SQL == stmt.Quote(m.schema.Table) {
		return nil
	}
	name := stmt.Table
	if stmt.TableExpr != nil {
		name = stmt.TableExpr.SQL
	}
	return fmt.Errorf("%w: the statement names the table %q, and rows of %s go to the tables that their keys lead to; leave Table out", ErrUnrouted, name, m.schema.Name)
}

// to has a statement go to the table.
func (p part) to(stmt *gorm.Statement, own gorm.ConnPool) {
	stmt.Table, stmt.TableExpr, stmt.ConnPool = p.table, nil, own
	if strings.Contains(p.table, ".") {
		stmt.TableExpr = &clause.Expr{SQL: stmt.Quote(p.table)}
		if _, name, ok := strings.Cut(p.table, "."); ok {
			stmt.Table = name
		}
	}
	if p.pool != nil {
		stmt.ConnPool = p.pool
	}
}

// kept is what a statement had before its parts.
type kept struct {
	table string
	expr  *clause.Expr
	pool  gorm.ConnPool
	dest  any
	value reflect.Value
}

func keep(stmt *gorm.Statement) kept {
	return kept{stmt.Table, stmt.TableExpr, stmt.ConnPool, stmt.Dest, stmt.ReflectValue}
}

func (k kept) restore(stmt *gorm.Statement) {
	stmt.Table, stmt.TableExpr, stmt.ConnPool, stmt.Dest, stmt.ReflectValue = k.table, k.expr, k.pool, k.dest, k.value
}

// trace tells GORM's logger of an INSERT that is followed by another one; of the last GORM does.
func trace(db *gorm.DB, begin time.Time) {
	stmt := db.Statement
	db.Logger.Trace(stmt.Context, begin, func() (string, int64) {
		sql, vars := stmt.SQL.String(), stmt.Vars
		if filter, ok := db.Logger.(gorm.ParamsFilter); ok {
			sql, vars = filter.ParamsFilter(stmt.Context, sql, vars...)
		}
		return db.Dialector.Explain(sql, vars...), db.RowsAffected
	}, db.Error)
}
