package strategy_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

const prefix = "snowkey_compare_t1"

// kinds are the databases that strategies are tried on.
var kinds = []struct {
	name string
	make func(testing.TB) dbtest.Database
}{{"sqlite", dbtest.SQLite}, {"mysql", dbtest.MySQL}, {"postgres", dbtest.Postgres}}

// notHere are the strategies that cannot work with two databases of a kind. Those of MySQL have no offsets, [TestFlickr] has.
var notHere = map[string][]string{
	"sqlite": {"sequence"},
	"mysql":  {"flickr"},
}

// TestConformance has every strategy do all that it is to do, on every kind of database, as two processes.
func TestConformance(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			made := kind.make(t)
			keysDB, rowsDB, pair := open(t, made), open(t, made), open(t, kind.make(t))
			for _, s := range strategy.All()[:24] { // the built-in ones
				name := s.Info().Name
				t.Run(name, func(t *testing.T) {
					at := strategy.Environment{DB: keysDB, Kind: kind.name, Pair: pair, Prefix: prefix, Processes: 2}
					if slices.Contains(notHere[kind.name], name) {
						if keys, err := s.Open(t.Context(), at); !errors.Is(err, strategy.ErrUnavailable) {
							t.Fatalf("Open: got %v, %v, want ErrUnavailable", keys, err)
						}
						return
					}
					conform(t, s, at, rowsDB)
				})
			}
			ours(t, keysDB, kind.name)
		})
	}
}

// open opens a pool of several connections to a database.
func open(t testing.TB, d dbtest.Database) *sql.DB {
	t.Helper()
	parsed, err := dsn.Parse(d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(4)
	t.Cleanup(func() { pool.Close() })
	return pool
}

// session opens a GORM with plugins of its own over a pool.
func session(t testing.TB, kind string, pool *sql.DB) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(dsn.DSN{Kind: kind}.Dialector(pool), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// conform opens two processes of a strategy, and makes tables and keys with both.
func conform(t *testing.T, s strategy.Strategy, at strategy.Environment, rows *sql.DB) {
	ctx, info := t.Context(), s.Info()
	seen, byDatabase := map[strategy.Key]bool{}, false
	for process := range at.Processes {
		at.Process = process
		keys, err := s.Open(ctx, at)
		if err != nil {
			t.Fatal(err)
		}
		table, err := keys.Table(ctx, session(t, at.Kind, rows), fmt.Sprint(at.Prefix, "_rows_", process, "_", tableName(info.Name)))
		if err != nil {
			t.Fatal(err)
		}
		inserted := insertAll(t, keys, table, info)
		all := slices.Clone(inserted)
		byDatabase = checkSource(t, keys, &all)
		if byDatabase {
			all = nil // its tables count from one, each
		}
		for _, key := range all {
			if seen[key] {
				t.Fatalf("process %d: the key %s comes twice", process, keys.Text(key))
			}
			seen[key] = true
			if len(key) != len(inserted[0]) {
				t.Errorf("a key of %d bytes, another of %d", len(key), len(inserted[0]))
			}
		}
		if info.Order == strategy.Increasing && !slices.IsSorted(all) {
			t.Errorf("process %d: keys that are promised to increase do not", process)
		}
		if err := keys.Close(); err != nil {
			t.Error(err)
		}
		if err := keys.Close(); err != nil {
			t.Errorf("Close again: %v", err)
		}
	}
}

// insertAll inserts three batches, reads all back, and returns the keys.
func insertAll(t *testing.T, keys strategy.Keys, table strategy.Table, info strategy.Info) []strategy.Key {
	t.Helper()
	ctx, orders := t.Context(), strategy.NewOrders(1)
	var all []strategy.Key
	want := map[strategy.Key]strategy.Order{}
	for _, n := range []int{1, 8, 3} {
		batch := orders.Make(n)
		got, err := table.Insert(ctx, batch)
		if err != nil || len(got) != n {
			t.Fatalf("Insert: %d keys, %v, want %d", len(got), err, n)
		}
		for i, key := range got {
			want[key] = batch[i]
		}
		all = append(all, got...)
	}
	for key, order := range want {
		found, got, err := table.Find(ctx, key)
		if err != nil || found != key || !reflect.DeepEqual(got, order) {
			t.Fatalf("Find %s: got %s %+v, %v, want %+v", keys.Text(key), keys.Text(found), got, err, order)
		}
		if n, ok := keys.Number(key); ok != (len(key) == 8) || ok && n <= 0 {
			t.Errorf("Number: got %d, %t of %d bytes", n, ok, len(key))
		}
		if len(keys.Text(key)) == 0 {
			t.Error("Text: got none")
		}
	}
	if len(want) != len(all) {
		t.Errorf("%d different keys of %d", len(want), len(all))
	}
	if _, _, err := table.Find(ctx, strategy.Key(bytes.Repeat([]byte{'7'}, len(all[0])))); !errors.Is(err, gorm.ErrRecordNotFound) {
		t.Errorf("Find of no row's key: got %v, want ErrRecordNotFound", err)
	}
	var ordered []strategy.Key
	if err := table.Ordered(ctx, len(all)-1, func(key strategy.Key, got strategy.Order) error {
		ordered = append(ordered, key)
		if !reflect.DeepEqual(got, want[key]) {
			t.Errorf("Ordered %s: got %+v, want %+v", keys.Text(key), got, want[key])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if sorted := slices.Sorted(slices.Values(all)); !slices.Equal(ordered, sorted[:len(all)-1]) {
		t.Error("Ordered: the database has another order than the keys' bytes")
	}
	stop := errors.New("enough")
	if err := table.Ordered(ctx, 5, func(strategy.Key, strategy.Order) error { return stop }); err != stop {
		t.Errorf("Ordered that is stopped: got %v, want %v", err, stop)
	}
	name, n := table.Column()
	t.Logf("a key of %q, %d bytes: %s", name, n, keys.Text(all[0]))
	if name == "" || n < 1 || n > 36 {
		t.Errorf("Column: got %q of %d bytes", name, n)
	}
	return all
}

// checkSource makes keys without rows and adds them to all. It reports whether the database makes the keys.
func checkSource(t *testing.T, keys strategy.Keys, all *[]strategy.Key) bool {
	t.Helper()
	ctx := t.Context()
	key, err := keys.Next(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		_, filled := keys.Fill(ctx, 2)
		for _, err := range []error{filled, keys.Batch(ctx, 2), keys.Generate(ctx, 2)} {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("got %v, want ErrUnsupported of all, as Next has it", err)
			}
		}
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	*all = append(*all, key)
	if err := keys.Generate(ctx, 3); err != nil {
		t.Error(err)
	}
	filled, err := keys.Fill(ctx, 20)
	if errors.Is(err, errors.ErrUnsupported) {
		if err := keys.Batch(ctx, 2); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Batch: got %v, want ErrUnsupported as Fill has it", err)
		}
		return false
	}
	if err != nil || len(filled) != 20 {
		t.Fatalf("Fill: %d keys, %v, want 20", len(filled), err)
	}
	*all = append(*all, filled...)
	for _, n := range []int{5, 2, 10} {
		if err := keys.Batch(ctx, n); err != nil {
			t.Error(err)
		}
	}
	return false
}

func tableName(name string) string {
	return string(bytes.ReplaceAll([]byte(name), []byte("-"), []byte("_")))
}

// ours checks that all that is in the database begins with the prefix.
func ours(t *testing.T, db *sql.DB, kind string) {
	t.Helper()
	query := map[string]string{
		"sqlite":   "SELECT tbl_name FROM sqlite_master WHERE tbl_name NOT LIKE 'sqlite%'",
		"mysql":    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() UNION SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE()",
		"postgres": "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = current_schema() AND relkind <> 'i' UNION SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = current_schema()",
	}[kind]
	names := 0
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names++
		if len(name) < len(prefix) || name[:len(prefix)] != prefix {
			t.Errorf("%s does not begin with %s", name, prefix)
		}
	}
	if err := rows.Err(); err != nil || names < 10 {
		t.Errorf("the catalog has %d objects, %v", names, err)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
