package strategy_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// offset is a number that is another one in the database.
type offset int64

func (o offset) Value() (driver.Value, error) { return int64(o) + 5, nil }

func (o *offset) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("%T is no number", src)
	}
	*o = offset(n - 5)
	return nil
}

// TestTable has what is true of all tables, on one database of each kind.
func TestTable(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			pool := open(t, kind.make(t))
			t.Run("columns", func(t *testing.T) { columns(t, kind.name, pool) })
			t.Run("own number", func(t *testing.T) { ownNumber(t, kind.name, pool) })
			t.Run("text", func(t *testing.T) { ownText(t, kind.name, pool) })
			t.Run("there", func(t *testing.T) { there(t, kind.name, pool) })
		})
	}
}

// columns checks the types of key columns and the bytes of keys in them, after one row.
func columns(t *testing.T, kind string, pool *sql.DB) {
	type column struct {
		name  string
		bytes int
	}
	for name, want := range map[string]map[string]column{
		"autoincrement": {"sqlite": {"integer PRIMARY KEY AUTOINCREMENT", 1}, "mysql": {"bigint AUTO_INCREMENT", 8}, "postgres": {"bigserial", 8}},
		"snowkey":       {"sqlite": {"integer", 9}, "mysql": {"bigint", 8}, "postgres": {"bigint", 8}},
		"uuidv4":        {"sqlite": {"blob", 16}, "mysql": {"binary(16)", 16}, "postgres": {"uuid", 16}},
		"uuidv4-text":   {"sqlite": {"char(36)", 36}, "mysql": {"char(36)", 36}, "postgres": {"char(36)", 36}},
		"objectid":      {"sqlite": {"blob", 12}, "mysql": {"binary(12)", 12}, "postgres": {"bytea", 12}},
	} {
		keys := opened(t, name, 0, nil)
		table, err := keys.Table(t.Context(), session(t, kind, pool), prefix+"_"+tableName(name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := table.Insert(t.Context(), strategy.NewOrders(1).Make(1)); err != nil {
			t.Fatal(err)
		}
		if got, bytes := table.Column(); got != want[kind].name || bytes != want[kind].bytes {
			t.Errorf("%s: got %s of %d bytes, want %s of %d", name, got, bytes, want[kind].name, want[kind].bytes)
		}
	}
}

// ownNumber keeps the database from counting where the keys come from a source, of a type that GORM would have counted.
func ownNumber(t *testing.T, kind string, pool *sql.DB) {
	var last atomic.Uint64
	s := strategy.New(strategy.Info{Name: "own", Order: strategy.Increasing}, func(context.Context, strategy.Environment) (idgen.Source[offset], error) {
		return counting[offset]{&last, func(n uint64) offset { return offset(n) }, true, new(atomic.Int32)}, nil
	})
	at := strategy.Environment{DB: pool, Kind: kind, Prefix: prefix, Processes: 1}
	conform(t, s, at, pool)
	keys, err := s.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	table, err := keys.Table(t.Context(), session(t, kind, pool), prefix+"_columns")
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := table.Column(); strings.Contains(strings.ToLower(name), "increment") || strings.Contains(name, "serial") {
		t.Errorf("Column: got %s, which the database counts", name)
	}
}

// ownText shows that keys of text that differ in the case of a letter are two, and ordered as their bytes.
func ownText(t *testing.T, kind string, pool *sql.DB) {
	texts := []name{"b", "B", "a", "A", "ä", "_"}
	var last atomic.Uint64
	s := strategy.New(strategy.Info{Name: "own"}, func(context.Context, strategy.Environment) (idgen.Source[name], error) {
		return counting[name]{&last, func(n uint64) name { return texts[n-1] }, true, new(atomic.Int32)}, nil
	})
	keys, err := s.Open(t.Context(), strategy.Environment{Prefix: prefix, Processes: 1})
	if err != nil {
		t.Fatal(err)
	}
	table, err := keys.Table(t.Context(), session(t, kind, pool), prefix+"_texts")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Insert(t.Context(), strategy.NewOrders(1).Make(len(texts))); err != nil {
		t.Fatal(err)
	}
	got := ""
	if err := table.Ordered(t.Context(), 10, func(key strategy.Key, _ strategy.Order) error { got += keys.Text(key); return nil }); err != nil || got != "AB_abä" {
		t.Errorf("Ordered: got %s, %v, want AB_abä", got, err)
	}
}

// there keeps rows that somebody has from being added to.
func there(t *testing.T, kind string, pool *sql.DB) {
	keys, err := byName(t, "autoincrement").Open(t.Context(), strategy.Environment{Prefix: prefix, Processes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Table(t.Context(), session(t, kind, pool), prefix+"_there"); err != nil {
		t.Fatal(err)
	}
	if table, err := keys.Table(t.Context(), session(t, kind, pool), prefix+"_there"); err == nil || table != nil {
		t.Errorf("Table again: got %v, %v, want an error", table, err)
	}
}
