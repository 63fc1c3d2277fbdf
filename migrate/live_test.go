package migrate_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate"
)

// TestVerifyBesideWriters has an application at work from before the plan to its last hold, verifies at each hold, and plants one fault after another.
func TestVerifyBesideWriters(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for mode, kinds := range map[migrate.Mode][]string{migrate.Widen: nil, migrate.Rekey: nil, migrate.Shadow: {"postgres"}} {
		if mode == migrate.Widen && !tortured() {
			continue // rekey begins with it
		}
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			forEach(t, func(t *testing.T, d *database) { verifyBesideWriters(t, d, mode) }, kinds...)
		})
	}
}

// liveRows is how many customers there are before the writers; there are as many orders, items, tags and visits.
const liveRows = 400

// live is an application: customers with orders, whose items have the times of the orders, with tags of a composite key, and visits of customers that no foreign key guards.
type live struct {
	*database
	writers *writerGroup
	stop    context.CancelFunc
	done    sync.WaitGroup
	guarded atomic.Int64 // 1 when no foreign key is away, as they are on MySQL while types change: a row that goes then leaves those that refer to it
}

func newLive(t *testing.T, d *database) *live {
	key, at, updated := "INTEGER PRIMARY KEY AUTOINCREMENT", "datetime NOT NULL", "datetime NULL"
	series := fmt.Sprintf("WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < %d) SELECT n FROM g", liveRows)
	made := "strftime('%Y-%m-%d %H:%M:%S', 1700000000 + n / 3, 'unixepoch')"
	switch d.kind {
	case "mysql":
		key, at, updated = "INT AUTO_INCREMENT PRIMARY KEY", "datetime NOT NULL", "TIMESTAMP(6) NULL ON UPDATE CURRENT_TIMESTAMP(6)"
		series, made = fmt.Sprintf("SELECT seq AS n FROM seq_1_to_%d", liveRows), "TIMESTAMP('2023-11-14 22:13:20') + INTERVAL n DIV 3 SECOND"
	case "postgres":
		key, at, updated = "serial PRIMARY KEY", "timestamp(0) NOT NULL", "timestamptz NULL"
		series, made = fmt.Sprintf("SELECT g AS n FROM generate_series(1, %d) g", liveRows), "timestamp '2023-11-14 22:13:20' + n / 3 * interval '1 second'"
	}
	d.exec(
		"CREATE TABLE customers (id "+key+", name VARCHAR(40) NOT NULL, created_at "+at+", updated_at "+updated+")",
		"CREATE TABLE orders (id "+key+", customer_id INT NOT NULL, name VARCHAR(40) NOT NULL, total INT NOT NULL, created_at "+at+", CONSTRAINT fk_customer FOREIGN KEY (customer_id) REFERENCES customers (id))",
		"CREATE TABLE items (id "+key+", order_id INT NOT NULL, name VARCHAR(40) NOT NULL, amount INT NOT NULL, CONSTRAINT fk_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE)",
		"CREATE TABLE order_tags (order_id INT NOT NULL, tag INT NOT NULL, note VARCHAR(40) NOT NULL, PRIMARY KEY (order_id, tag), CONSTRAINT fk_tagged FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE)",
		"CREATE TABLE visits (id "+key+", customer_id BIGINT NOT NULL, note VARCHAR(40) NOT NULL)",
		"INSERT INTO customers (name, created_at) SELECT n, "+made+" FROM ("+series+") s ORDER BY n",
		"INSERT INTO orders (customer_id, name, total, created_at) SELECT n, n, 1, "+made+" FROM ("+series+") s ORDER BY n",
		"INSERT INTO items (order_id, name, amount) SELECT n, n, 1 FROM ("+series+") s ORDER BY n",
		"INSERT INTO order_tags (order_id, tag, note) SELECT n, 1, n FROM ("+series+") s ORDER BY n",
		"INSERT INTO visits (customer_id, note) SELECT n, n FROM ("+series+") s ORDER BY n",
	)
	l := &live{database: d}
	now := func() string { return time.Now().UTC().Format("'2006-01-02 15:04:05'") }
	name := func(n int) string { return fmt.Sprintf("'w%d'", n) }
	writer := func(table, columns, values string, parents string) tableWriter {
		w := tableWriter{Table: table, Key: "id", Columns: columns, Mark: "name", MarkOf: name, Every: 25 * time.Millisecond}
		w.Values = func(n int) string { return name(n) + strings.ReplaceAll(values, "NOW", now()) }
		if parents != "" { // an old one, then a new one
			w.Parents = func(n int) []string {
				if n%2 == 0 {
					return []string{fmt.Sprintf("SELECT id FROM %s WHERE name = '%d'", parents, 101+n%50)}
				}
				return []string{fmt.Sprintf("SELECT MAX(id) FROM %s", parents)}
			}
		}
		return w
	}
	pool := connect(t, d.kind, d.name)
	l.writers = startWriters(t, pool.pool, writer("customers", "name, created_at", ", NOW", ""),
		writer("orders", "name, total, created_at, customer_id", ", 1, NOW", "customers"), writer("items", "name, amount, order_id", ", 1", "orders"))
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	l.done.Go(func() { l.change(ctx, pool) })
	t.Cleanup(l.end)
	return l
}

// change changes and deletes rows of the first hundred, and adds such as no key tells from old ones.
func (l *live) change(ctx context.Context, on *database) {
	for n := 1; ctx.Err() == nil && n <= 2000; n++ {
		row, now := 1+n%100, time.Now().UTC().Format("'2006-01-02 15:04:05.000000'")
		for _, s := range []string{
			fmt.Sprintf("UPDATE customers SET name = '%d', updated_at = %s WHERE name = '%[1]d'", row, now),
			fmt.Sprintf("UPDATE orders SET total = %d WHERE name = '%d'", n, row),
			fmt.Sprintf("DELETE FROM items WHERE name = '%d'", 20+n/10%80),
			fmt.Sprintf("DELETE FROM orders WHERE name = '%d' AND %d = 1", n/20%9, l.guarded.Load()),
			fmt.Sprintf("UPDATE items SET order_id = (SELECT id FROM orders WHERE name = '%d') WHERE name = '%d'", 30+n/20%60, row%20),
			fmt.Sprintf("INSERT INTO order_tags (order_id, tag, note) SELECT id, %d, 'more' FROM orders WHERE name = '%d'", 1+n, 10+row%20),
			fmt.Sprintf("INSERT INTO visits (customer_id, note) SELECT id, 'more' FROM customers WHERE name = '%d'", 110+row%20),
			fmt.Sprintf("UPDATE order_tags SET note = 'x%d' WHERE note = '%d'", n, 20+row%5),
		} {
			_, _ = on.pool.ExecContext(context.Background(), s) // what fails is as good as not tried: locks, and rows that moved meanwhile
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (l *live) end() {
	l.stop()
	l.done.Wait()
}

// mayDiffer are the checks of what change does to old rows, and whether it adds such, too.
var mayDiffer = map[string]bool{
	"digest customers": false, "digest orders": false, "digest items": false, "digest order_tags": true, "rows orders": false, "rows items": false, "rows order_tags": true, "times items": false,
}

// look verifies, and fails the test for what has failed.
func (l *live) look(p *migrate.Plan, when string) (checks []migrate.Check) {
	l.t.Helper()
	checks = l.checks(p)
	for _, c := range checks {
		switch c.Result {
		case migrate.Failed:
			l.t.Errorf("%s: %+v", when, c)
		case migrate.Unknown:
			l.t.Logf("%s: %s of %s is unknown: %s", when, c.Name, c.Table, c.Got)
			if why, expected := mayDiffer[c.Name+" "+c.Table]; !expected {
				l.t.Errorf("%s: nobody has changed these rows: %+v", when, c)
			} else if _, more, _ := strings.Cut(c.Got, ", "); !why && strings.Contains(more, "have come") && !strings.Contains(more, "1 rows have come") {
				l.t.Errorf("%s: rows that came since are among the old ones: %+v", when, c) // but for one that was under way when the digest was taken
			}
		}
	}
	return checks
}

func verifyBesideWriters(t *testing.T, d *database, mode migrate.Mode) {
	l := newLive(t, d)
	l.writers.Await(5)
	p := d.plan(migrate.InspectOptions{References: []string{"visits.customer_id=customers.id"}}, migrate.PlanOptions{
		Mode: mode, Zone: "UTC", Tables: []string{"customers", "orders", "items"}, Created: map[string]string{"items": "through order_id"},
		Window: 200 * time.Millisecond,
	})
	generator, err := idgen.New(layout, idgen.WithNode(5))
	if err != nil {
		t.Fatal(err)
	}
	o := migrate.RunOptions{LockWait: time.Second, Attempts: 200}
	for last := false; !last; {
		outcome, err := migrate.Run(t.Context(), d.gorm, p, o)
		if err != nil {
			t.Fatal(err)
		}
		last = outcome.Done || p.Steps[outcome.Step].Phase == "contract"
		l.writers.Await(2)
		l.guarded.Store(1)
		where := fmt.Sprintf("step %d", outcome.Step)
		l.look(p, where)
		if !last {
			l.writers.Fill(func() int64 {
				id, err := generator.Next(t.Context())
				if err != nil {
					t.Error(err)
				}
				return id
			})
			if d.kind == "mysql" {
				l.writers.AwaitRefused(2)
			} else {
				l.writers.Await(2)
			}
		}
		o.Continue = outcome.Hold
	}
	l.writers.Await(5)
	l.look(p, "the end")
	if mode == migrate.Widen {
		return
	}
	l.faults(p)
	l.end()
	l.writers.Stop()
	l.writers.Check()
}

// faults plants one of each kind while the writers write, in rows that they leave alone, and sees that each is named.
func (l *live) faults(p *migrate.Plan) {
	l.t.Helper()
	maps := func(table string) string { return p.Key(table).Map }
	id := func(table string, old int) int64 {
		return l.number(fmt.Sprintf("SELECT new_id FROM %s WHERE old_id = %d", maps(table), old))
	}
	const hour = 3_600_000 << 22
	move := func(table string, from, to int64, both bool) {
		l.exec(fmt.Sprintf("UPDATE %s SET id = %d WHERE id = %d", table, to, from))
		if both {
			l.exec(fmt.Sprintf("UPDATE %s SET new_id = %d WHERE new_id = %d", maps(table), to, from))
		}
	}
	swap := func(table string, x, y int64, both bool) {
		move(table, x, 1<<62, both)
		move(table, y, x, both)
		move(table, 1<<62, y, both)
	}
	altered := migrate.Unknown
	if l.kind == "mysql" { // which notes itself that a statement changes a row
		altered = migrate.Failed
	}
	checks := l.checks(p)
	for _, f := range []struct {
		name, check, table string
		result             migrate.Result
		old                int // an old id that an example has to be about
		plant              func()
		again              bool // the one before is this one, too
	}{
		{"a lost row", "rows", "items", migrate.Unknown, 300, func() { l.exec("DELETE FROM items WHERE name = '300'") }, false},
		{"a lost row, by the digest", "digest", "items", migrate.Unknown, 300, func() {}, true},
		{"a lost row of a composite key", "digest", "order_tags", migrate.Unknown, 300, func() { l.exec("DELETE FROM order_tags WHERE note = '300'") }, false},
		{"an altered value", "digest", "customers", altered, 310, func() { l.exec("UPDATE customers SET name = 'altered', updated_at = updated_at WHERE name = '310'") }, false},
		{"an altered value where nothing says so", "digest", "orders", migrate.Unknown, 320, func() { l.exec("UPDATE orders SET total = 77777 WHERE name = '320'") }, false},
		{"another parent", "digest", "items", migrate.Unknown, 330, func() {
			l.exec(fmt.Sprintf("UPDATE items SET order_id = %d WHERE name = '330'", id("orders", 331)))
		}, false},
		{"an old id in a reference", "old values", "visits", migrate.Failed, 340, func() { l.exec("UPDATE visits SET customer_id = 340 WHERE note = '340'") }, false},
		{"an orphan", "orphans", "visits", migrate.Failed, 987654321, func() { l.exec("UPDATE visits SET customer_id = 987654321 WHERE note = '345'") }, false},
		{"a mistimed id", "times", "items", migrate.Failed, 350, func() { move("items", id("items", 350), id("items", 350)+hour, true) }, false},
		{"two ids that changed places", "digest", "items", migrate.Unknown, 360, func() { swap("items", id("items", 360), id("items", 361), false) }, false},
		{"two pairs of the map that changed places", "order", "items", migrate.Failed, 0, func() { swap("items", id("items", 370), id("items", 369), true) }, false},
		{"a row with an id of the old kind", "bijection", "customers", migrate.Failed, 4000000, func() {
			l.exec("INSERT INTO customers (id, name, created_at) VALUES (4000000, 'x', '2024-01-01 00:00:00')")
		}, false},
	} {
		if f.check == "order" && p.Mode == migrate.Shadow { // where new ids are in any order within their unit of time
			continue
		}
		before := l.find(f.check, f.table, checks)
		f.plant()
		checks = l.checks(p)
		got := l.find(f.check, f.table, checks)
		if got.Result != f.result || f.old > 0 && !names(got, f.old) {
			l.t.Errorf("%s: got %+v, want %s with %d", f.name, got, f.result, f.old)
		}
		if !f.again && (before.Result == migrate.Failed || before.Result == f.result && names(before, f.old)) {
			l.t.Errorf("%s: there before it was planted: %+v", f.name, before)
		}
	}
}

// find returns a check, the worst one where there are several.
func (l *live) find(name, table string, checks []migrate.Check) (found migrate.Check) {
	for _, c := range checks {
		if c.Name == name && c.Table == table && (found.Name == "" || c.Result == migrate.Failed) {
			found = c
		}
	}
	return found
}

// names reports whether one of a check's examples is about an old id.
func names(c migrate.Check, old int) bool {
	for _, example := range c.Examples {
		var from, to int
		words := strings.Fields(example)
		if n := len(words); n > 2 && words[n-2] == "to" {
			_, _ = fmt.Sscan(words[n-3], &from)
			_, _ = fmt.Sscan(words[n-1], &to)
		} else {
			_, _ = fmt.Sscan(words[n-1], &from)
			to = from
		}
		if from <= old && old <= to {
			return true
		}
	}
	return false
}
