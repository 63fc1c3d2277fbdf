package shard_test

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// everywhere runs a test on each database.
func everywhere(t *testing.T, test func(*testing.T, *sql.DB, shard.Dialect)) {
	for _, kind := range []struct {
		dialect shard.Dialect
		make    func(testing.TB) dbtest.Database
	}{{shard.SQLite, dbtest.SQLite}, {shard.MySQL, dbtest.MySQL}, {shard.Postgres, dbtest.Postgres}} {
		t.Run(kind.dialect.String(), func(t *testing.T) {
			d := kind.make(t)
			if kind.dialect == shard.SQLite {
				d.DriverDSN = "file:" + d.DriverDSN + "?_busy_timeout=10000&_journal_mode=WAL"
			}
			test(t, d.Open(t), kind.dialect)
		})
	}
}

// execute runs statements.
func execute(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// layout has buckets of three bits, below a field so that they have to be shifted.
func layout(t *testing.T) idgen.Layout {
	t.Helper()
	l, err := idgen.NewLayout(idgen.Snowkey.Epoch(), idgen.Snowkey.Unit(), idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Shard.Bits(3), idgen.Sequence.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newMap returns a map of four tables.
func newMap(t *testing.T) *shard.Map {
	t.Helper()
	m, err := shard.NewMap(layout(t), shard.Tables(4)...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
