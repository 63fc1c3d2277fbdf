package shard

import (
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// tables are those of a model by the map that was used last.
type tables struct {
	of  *idshard.Map
	all []table // by shard
}

// table is one of them, under the name of its model. Statements share it, and do not change it.
type table struct {
	part
	alias *clause.Expr // nil for the model's own name
}

// table returns that of a shard, whose pool is the router's own.
func (m *model) table(stmt *gorm.Statement, in *idshard.Map, index int) *table {
	known := m.tables.Load()
	if known == nil || known.of != in {
		known = m.newTables(stmt, in)
		m.tables.Store(known)
	}
	return &known.all[index]
}

func (m *model) newTables(stmt *gorm.Statement, in *idshard.Map) *tables {
	name := m.schema.Table
	if _, last, ok := strings.Cut(name, "."); ok {
		name = last
	}
	made := &tables{of: in, all: make([]table, len(in.Shards()))}
	for i := range made.all {
		shard := in.Shard(i)
		t := &made.all[i]
		t.part = part{index: i, shard: shard, table: shard.Table(m.schema.Table)}
		if t.part.table != m.schema.Table {
			// As a value of an expression: GORM writes the text of one byte by byte.
			text := stmt.Quote(t.part.table) + " AS " + stmt.Quote(name)
			t.alias = &clause.Expr{SQL: "?", Vars: []any{clause.Table{Name: text, Raw: true}}}
		}
	}
	return made
}

// table returns that of a shard for a statement.
func (q *queries) table(stmt *gorm.Statement, m *model, in *idshard.Map, index int) (*table, error) {
	t := m.table(stmt, in, index)
	if len(q.pools) < 2 {
		return t, q.sameMap(stmt, in)
	}
	p, err := q.part(stmt, m, in, index)
	if err != nil || p.pool == nil {
		return t, err
	}
	return &table{p, t.alias}, nil
}

// place is where a statement was before it was routed.
type place struct {
	table string
	expr  *clause.Expr
	pool  gorm.ConnPool
}

func placeOf(stmt *gorm.Statement) place {
	return place{stmt.Table, stmt.TableExpr, stmt.ConnPool}
}

func (p place) restore(stmt *gorm.Statement) {
	stmt.Table, stmt.TableExpr, stmt.ConnPool = p.table, p.expr, p.pool
}

// enter has a statement go to a table, which SQL knows by the name of the model's: so what is written by hand, in joins or conditions, means it.
func (t *table) enter(stmt *gorm.Statement) {
	if t.pool != nil {
		stmt.ConnPool = t.pool
	}
	if t.alias != nil {
		stmt.TableExpr = t.alias
	}
}

// enterPlain does so without that name, which MariaDB does not take in a DELETE.
func (p *part) enterPlain(stmt *gorm.Statement) {
	if p.table == stmt.Table {
		return
	}
	if where, ok := stmt.Clauses["WHERE"].Expression.(clause.Where); ok {
		c := stmt.Clauses["WHERE"]
		c.Expression = clause.Where{Exprs: requalify(where.Exprs, stmt.Table)}
		stmt.Clauses["WHERE"] = c
	}
	stmt.Table, stmt.TableExpr = p.table, nil
	if _, name, qualified := strings.Cut(p.table, "."); qualified {
		stmt.Table, stmt.TableExpr = name, &clause.Expr{SQL: stmt.Quote(p.table)}
	}
}
