package partition_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/shard/partition"
)

// engine is a database with a table orders that the tests divide.
type engine struct {
	name     string
	postgres bool
	database dbtest.Database
	d        partition.Dialect
	db       *sql.DB

	lock dialect.Lock // of runs at the table
}

// onEach runs a test on PostgreSQL and on MariaDB.
func onEach(t *testing.T, test func(*testing.T, *engine)) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) dbtest.Database{"postgres": dbtest.Postgres, "mysql": dbtest.MySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newEngine(t, start(t)))
		})
	}
}

func newEngine(t testing.TB, database dbtest.Database) *engine {
	t.Helper()
	d, err := partition.LookupDialect(database.Kind)
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{name: database.Kind, postgres: database.Kind == "postgres", database: database, d: d, db: database.Open(t)}
	schema := "public"
	if !e.postgres {
		schema = e.texts(t, "SELECT DATABASE()")[0]
	}
	e.lock = dialect.PartitionLock(schema, "orders")
	return e
}

// orders are the settings of most tests.
func orders() partition.Table {
	return partition.Table{Name: "orders", Every: partition.Day, Ahead: 2, LockWait: 50 * time.Millisecond}
}

// create makes the table.
func (e *engine) create(t testing.TB, settings partition.Table) {
	t.Helper()
	statements, err := settings.Create(e.d, "id bigint NOT NULL", "note varchar(100)")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		e.exec(t, statement)
	}
}

// keeper returns a keeper whose two clocks read an instant that the test may change.
func (e *engine) keeper(t testing.TB, settings partition.Table, now *time.Time) *partition.Keeper {
	t.Helper()
	k, err := partition.New(e.db, e.d, settings)
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return *now }
	k.SetClocks(clock, clock)
	return k
}

func (e *engine) exec(t testing.TB, statement string) {
	t.Helper()
	if _, err := e.db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (e *engine) count(t testing.TB, query string) (n int64) {
	t.Helper()
	if err := e.db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// texts returns the first column of a query.
func (e *engine) texts(t testing.TB, query string) (all []string) {
	t.Helper()
	rows, err := e.db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return all
}

// insert adds a row made at an instant, the n-th of its tick.
func (e *engine) insert(t testing.TB, at time.Time, n int64) int64 {
	t.Helper()
	id := idAt(t, at, n)
	e.exec(t, fmt.Sprintf("INSERT INTO orders (id, note) VALUES (%d, 'at %s')", id, at.UTC().Format(time.DateTime)))
	return id
}

func idAt(t testing.TB, at time.Time, n int64) int64 {
	t.Helper()
	id, err := idgen.Snowkey.MinID(at)
	if err != nil {
		t.Fatal(err)
	}
	return id + n
}

// parts returns the partitions' names without the table's, the default one last.
func (e *engine) parts(t testing.TB) string {
	t.Helper()
	query := "SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'orders' ORDER BY PARTITION_ORDINAL_POSITION"
	if e.postgres {
		query = "SELECT substr(CAST(inhrelid::regclass AS text), 8) || CASE WHEN inhdetachpending THEN ' pending' ELSE '' END FROM pg_inherits WHERE inhparent = 'orders'::regclass"
	}
	names := e.texts(t, query)
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(strings.Replace(a, "default", "pmax", 1), strings.Replace(b, "default", "pmax", 1))
	})
	return strings.ReplaceAll(strings.Join(names, " "), "default", "pmax")
}

// tables returns the tables that were partitions.
func (e *engine) tables(t testing.TB) string {
	t.Helper()
	query := "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'orders\\_p%' ORDER BY 1"
	if e.postgres {
		query = "SELECT relname FROM pg_class WHERE relname LIKE 'orders\\_p2%' AND relkind = 'r' AND NOT relispartition ORDER BY 1"
	}
	return strings.Join(e.texts(t, query), " ")
}

// unplaced returns how many rows are in no partition of their own.
func (e *engine) unplaced(t testing.TB) int64 {
	t.Helper()
	if e.postgres {
		return e.count(t, "SELECT COUNT(*) FROM orders_default")
	}
	return e.count(t, "SELECT COUNT(*) FROM orders PARTITION (pmax)")
}

// run runs the keeper and returns the actions of its steps.
func run(t testing.TB, k *partition.Keeper) string {
	t.Helper()
	report, err := k.Run(t.Context())
	if err != nil {
		t.Fatalf("%v, after %v", err, report.Done)
	}
	return actions(report.Done)
}

func actions(steps []partition.Step) string {
	texts := make([]string, len(steps))
	for i, step := range steps {
		texts[i] = string(step.Action) + " " + strings.TrimPrefix(step.Name, "orders_")
	}
	return strings.Join(texts, ", ")
}

// runFails runs the keeper and checks its error.
func runFails(t testing.TB, k *partition.Keeper, target error, text string) partition.Report {
	t.Helper()
	report, err := k.Run(t.Context())
	if !errors.Is(err, target) || !strings.Contains(err.Error(), text) {
		t.Fatalf("got the error %v, want %v that contains %q", err, target, text)
	}
	return report
}

// begin begins a transaction that has read the table, and returns what ends it.
func (e *engine) begin(t testing.TB) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	within, done := context.WithTimeout(ctx, 2*time.Minute) // whoever calls this must not hold the lock
	defer done()
	if _, err := tx.ExecContext(within, "SELECT COUNT(*) FROM orders"); err != nil {
		t.Fatal(err)
	}
	end = func() { _ = tx.Rollback(); cancel() }
	t.Cleanup(end)
	return end
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// archive returns a function that writes down the tables that it is called for, with the number of their rows.
func (e *engine) archive(t testing.TB, into *string) func(context.Context, partition.Detached) error {
	return func(_ context.Context, d partition.Detached) error {
		*into += fmt.Sprintf("%s %d ", d.Name, e.count(t, "SELECT COUNT(*) FROM "+d.Name))
		return nil
	}
}
