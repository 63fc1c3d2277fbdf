package ddl_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// Names of a table, as [ddl.Table] has it, and of a column.
const (
	hostileTable = "\"or`d'é\"\"r\\ s\""
	hostileKey   = "i`d\" Select"
)

func newMap(t testing.TB, layout idgen.Layout, shards ...shard.Shard) *shard.Map {
	t.Helper()
	m, err := shard.NewMap(layout, shards...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// dividing are maps of both layouts, with shards that have every n-th bucket, and with others.
func dividing(t testing.TB) map[string]*shard.Map {
	t.Helper()
	three := newMap(t, idgen.Sharded.Layout, shard.Tables(3)...)
	moved, err := three.Move("02", 0, 1, 3, 1021)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := newMap(t, idgen.Scattered.Layout, shard.Tables(2)...).WithShards(shard.Shard{Name: "new", Suffix: "_new"})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*shard.Map{"even": three, "moved": moved, "scattered": empty}
}

// idsOf returns an id of some buckets of the map each, of different times, all above 32 bits.
func idsOf(m *shard.Map) []int64 {
	var ids []int64
	for i, bucket := range []int64{0, 1, 2, 3, 4, 511, 512, 1021, 1022, 1023} {
		tick := []int64{1 << 20, 1 << 35, 1<<41 - 1}[i%3]
		if m.Layout().Fields()[0].Kind == idgen.Shard {
			ids = append(ids, bucket<<53|tick<<12|5)
		} else {
			ids = append(ids, tick<<22|5<<10|bucket)
		}
	}
	return ids
}

func run(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// refused fails the test unless the statement fails with an error that has one of the texts.
func refused(t testing.TB, db *sql.DB, statement string, texts ...string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statement)
	if err == nil || !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		t.Errorf("%s: got the error %v, want one with %q", statement, err, texts)
	}
}

// rows returns the rows of a query, the columns of each joined.
func rows(t testing.TB, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	r, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for r.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := r.Scan(into...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = v.String
		}
		all = append(all, strings.Join(texts, "|"))
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// shardOf returns the shard that has an id.
func shardOf(t testing.TB, m *shard.Map, id int64) shard.Shard {
	t.Helper()
	i, err := m.OfID(id)
	if err != nil {
		t.Fatal(err)
	}
	return m.Shard(i)
}
