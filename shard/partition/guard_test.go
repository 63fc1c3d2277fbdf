package partition_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard/partition"
)

// A clock that is wrong must not be the end of rows: each of the three clocks has to say that they are old.
func TestNothingIsDroppedByOneClock(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		settings := orders()
		settings.Keep, settings.Old, settings.Most = 6, partition.Drop, 1000
		retained(t, e, &now)
		year := 365 * 24 * time.Hour
		rows := e.count(t, "SELECT COUNT(*) FROM orders")
		at := func(shift time.Duration) func() time.Time { return func() time.Time { return now.Add(shift) } }
		for name, tt := range map[string]struct {
			database, local time.Duration
			fails           bool
		}{
			"the database's a year ahead": {year, 0, true},
			"the keeper's a year ahead":   {0, year, true},
			"both a year ahead":           {year, year, false}, // and the newest key is of now
			"the database's a year back":  {-year, 0, true},
			"the keeper's a year back":    {0, -year, true},
		} {
			settings := settings
			settings.Keep = 20 // days, of which there are ten
			k := e.keeper(t, settings, &now)
			k.SetClocks(at(tt.database), at(tt.local))
			_, err := k.Run(t.Context())
			if errors.Is(err, partition.ErrAttention) != tt.fails || err != nil && !tt.fails {
				t.Errorf("%s: got the error %v, want one %t", name, err, tt.fails)
			}
			if got := e.count(t, "SELECT COUNT(*) FROM orders"); got != rows {
				t.Fatalf("%s: got %d rows left, want %d", name, got, rows)
			}
		}
		settings.Keep = 6
		run(t, e.keeper(t, settings, &now))
		if got := e.count(t, "SELECT COUNT(*) FROM orders"); got != 7 {
			t.Errorf("with all clocks right: got %d rows left, want 7", got)
		}
	})
}

// A key of a generator whose clock was wrong does not make what is older old.
func TestKeyOfTheFuture(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		settings := orders()
		settings.Keep, settings.Old = 20, partition.Drop
		retained(t, e, &now)
		e.insert(t, now.Add(300*24*time.Hour), 0)
		runFails(t, e.keeper(t, settings, &now), partition.ErrAttention, "for which no partition is made yet")
		if got := e.count(t, "SELECT COUNT(*) FROM orders"); got != 11 {
			t.Errorf("got %d rows, want 11", got)
		}
	})
}

func TestQuietTable(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		settings := orders()
		settings.Keep, settings.Old = 6, partition.Drop
		retained(t, e, &now)
		run(t, e.keeper(t, settings, &now))
		now = now.Add(3 * 24 * time.Hour) // in which nobody writes
		k := e.keeper(t, settings, &now)
		report, err := k.Run(t.Context())
		if err != nil || len(report.Plan.Notes) != 1 || !strings.Contains(report.Plan.Notes[0], "3 partitions are old by the database's clock and are held back") {
			t.Errorf("got the error %v and the notes %q, want 3 partitions held back", err, report.Plan.Notes)
		}
		settings.TrustClock = true
		run(t, e.keeper(t, settings, &now))
		if got := e.count(t, "SELECT COUNT(*) FROM orders"); got != 4 {
			t.Errorf("got %d rows left by the clock alone, want 4", got)
		}
	})
}

func TestTooManyOldPartitions(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		settings := orders()
		settings.Keep, settings.Old, settings.Most = 6, partition.Drop, 2
		retained(t, e, &now)
		runFails(t, e.keeper(t, settings, &now), partition.ErrAttention, "many: 3 partitions are past the retention")
		if got := e.count(t, "SELECT COUNT(*) FROM orders"); got != 10 {
			t.Errorf("got %d rows left, want all", got)
		}
		settings.Most = 3
		run(t, e.keeper(t, settings, &now))
	})
}

// The archive command fails: its table stays, new partitions are made all the same, and the next run calls it again.
func TestArchiveFails(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		settings := orders()
		settings.Keep, settings.Old = 6, partition.Archive
		settings.Archive = func(context.Context, partition.Detached) error { return errors.New("no space") }
		retained(t, e, &now)
		now = now.Add(24 * time.Hour)
		e.insert(t, now, 0)
		runFails(t, e.keeper(t, settings, &now), partition.ErrArchive, "no space")
		runFails(t, e.keeper(t, settings, &now), partition.ErrArchive, "orders_p20260310")
		if got := e.tables(t); got != "orders_p20260310" {
			t.Errorf("got the tables %q, want the first that was detached", got)
		}
		if got := e.parts(t); !strings.Contains(got, "p20260322") {
			t.Errorf("got the partitions %s, want that of two days ahead among them", got)
		}
		var archived string
		settings.Archive = e.archive(t, &archived)
		run(t, e.keeper(t, settings, &now))
		if archived != "orders_p20260310 1 orders_p20260311 1 orders_p20260312 1 orders_p20260313 1 " || e.tables(t) != "" {
			t.Errorf("got archived %q and the tables %q left", archived, e.tables(t))
		}
	})
}

// A connection that is lost while the archive command is at work ends the command: another run may call it for the same table.
func TestConnectionLostWhileArchiving(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		settings := orders()
		settings.Keep, settings.Old = 6, partition.Archive
		settings.Archive = func(ctx context.Context, _ partition.Detached) error {
			e.killHolder(t)
			<-ctx.Done()
			return nil
		}
		retained(t, e, &now)
		k := e.keeper(t, settings, &now)
		k.PingEvery(time.Millisecond)
		runFails(t, k, partition.ErrArchive, "the connection is lost")
		var archived string
		settings.Archive = e.archive(t, &archived)
		run(t, e.keeper(t, settings, &now))
		if archived != "orders_p20260310 1 orders_p20260311 1 orders_p20260312 1 " {
			t.Errorf("got archived %q", archived)
		}
	})
}

// Two runs at once: the second waits, and has nothing left to do.
func TestTwoRunsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		e.create(t, orders())
		first, second := e.keeper(t, orders(), &now), e.keeper(t, orders(), &now)
		within, on := make(chan bool), make(chan bool)
		once := false
		first.OnStatement(func(partition.Step, int) error {
			if !once {
				once = true
				close(within)
				<-on
			}
			return nil
		})
		type result struct {
			report partition.Report
			err    error
		}
		results := make(chan result)
		go func() {
			report, err := first.Run(t.Context())
			results <- result{report, err}
		}()
		<-within
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := second.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got the error %v of a run whose context has ended, want that", err)
		}
		if plan, err := second.Plan(t.Context()); err != nil || len(plan.Steps) == 0 {
			t.Errorf("got the error %v and the steps %v of a plan beside a run, want the steps", err, plan.Steps)
		}
		go func() {
			report, err := second.Run(t.Context())
			results <- result{report, err}
		}()
		close(on)
		one, two := <-results, <-results
		if one.err != nil || two.err != nil || len(one.report.Done)+len(two.report.Done) == 0 || len(one.report.Done) > 0 && len(two.report.Done) > 0 {
			t.Errorf("got %+v and %+v, want one that has done all and one nothing", one, two)
		}
	})
}

// A transaction that stays open makes a step give up, with the queue behind it, and the run go on when it ends.
func TestOpenTransaction(t *testing.T) {
	if testing.Short() {
		t.Skip("no transactions are waited for with -short")
	}
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		settings := orders()
		settings.Tries = 2
		e.create(t, settings)
		end := e.begin(t)
		runFails(t, e.keeper(t, settings, &now), partition.ErrBusy, "2 attempts")
		if got := e.parts(t); got != "pmax" {
			t.Errorf("got the partitions %s, want none made", got)
		}
		settings.Tries = 50
		k := e.keeper(t, settings, &now)
		tries := 0
		k.OnStatement(func(step partition.Step, n int) error {
			if n == len(step.SQL)-1 || strings.HasPrefix(step.SQL[n], "SELECT") {
				if tries++; tries == 2 {
					end()
				}
			}
			return nil
		})
		if e.postgres {
			end()
		}
		run(t, k)
		if got := e.parts(t); got != "p20260310 p20260311 p20260312 pmax" {
			t.Errorf("got the partitions %s", got)
		}
	})
}

// Rows come for a partition between its being read as empty and its end, and for one that was exchanged.
func TestLateRowsOfMySQL(t *testing.T) {
	e := newEngine(t, dbtest.MySQL(t))
	now, archived := noon, ""
	settings := orders()
	settings.Keep, settings.Old, settings.TrustClock = 1, partition.Archive, true
	settings.Archive = e.archive(t, &archived)
	e.create(t, settings)
	run(t, e.keeper(t, settings, &now))
	first := now
	now = now.Add(48 * time.Hour)
	k := e.keeper(t, settings, &now)
	came := 0
	k.OnStatement(func(step partition.Step, n int) error {
		if came == 0 && step.Action == partition.Discard && n == 0 {
			came++
			e.insert(t, first, 1)
		}
		if came == 1 && step.Action == partition.Remove && strings.Contains(step.SQL[n], "LOCK") {
			came++
			e.insert(t, first, 2)
		}
		return nil
	})
	run(t, k)
	if archived != "orders_p20260310 2 " || came != 2 {
		t.Errorf("got archived %q with %d rows that came late, want both rows", archived, came)
	}
	if got := e.count(t, "SELECT COUNT(*) FROM orders"); got != 0 {
		t.Errorf("got %d rows left, want none", got)
	}
}

// PostgreSQL does not detach rows that others refer to, and the keeper says which.
func TestForeignKeysOfPostgres(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now := noon
	settings := orders()
	settings.Keep, settings.Old = 6, partition.Drop
	retained(t, e, &now)
	e.exec(t, "CREATE TABLE items (id bigint PRIMARY KEY, order_id bigint REFERENCES orders (id) ON DELETE CASCADE)")
	e.exec(t, fmt.Sprintf("INSERT INTO items VALUES (1, %d)", idAt(t, noon, 0)))
	runFails(t, e.keeper(t, settings, &now), partition.ErrReferenced, `violates foreign key constraint "items_order_id_fkey`)
	if got := e.parts(t); !strings.HasPrefix(got, "p20260310 p20260313 ") || e.tables(t) != "" {
		t.Errorf("got the partitions %s and the tables %q, want the two old ones dropped that nothing refers to", got, e.tables(t))
	}
	e.insert(t, noon.Add(-100*24*time.Hour), 0)
	e.exec(t, "DELETE FROM orders WHERE id = "+fmt.Sprint(idAt(t, noon, 0))) // and of items
	runFails(t, e.keeper(t, settings, &now), partition.ErrAttention, "older than what is kept")
	if got := e.count(t, "SELECT COUNT(*) FROM orders"); got != 8 {
		t.Errorf("got %d rows left, want 8", got)
	}
	settings.Keep = 0
	runFails(t, e.keeper(t, settings, &now), partition.ErrAttention, "the foreign key items_order_id_fkey of items refers to the table")
}

// MySQL refuses foreign keys and other unique keys itself: its words are part of what the package promises.
func TestLimitsOfMySQL(t *testing.T) {
	e := newEngine(t, dbtest.MySQL(t))
	e.exec(t, "CREATE TABLE users (id bigint PRIMARY KEY)")
	for _, tt := range []struct{ column, want string }{
		{"user_id bigint, FOREIGN KEY (user_id) REFERENCES users (id)", "Partitioned tables do not support FOREIGN KEY"},
		{"number int UNIQUE", "UNIQUE INDEX must include all columns in the table's partitioning function"},
	} {
		statements, err := orders().Create(e.d, "id bigint NOT NULL", tt.column)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.db.ExecContext(t.Context(), statements[0]); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "FOREIGN KEY constraint", "FOREIGN KEY"), tt.want) {
			t.Errorf("%s: got the error %v, want %s", tt.column, err, tt.want)
		}
	}
	e.create(t, orders())
	if _, err := e.db.ExecContext(t.Context(), "CREATE TABLE items (id bigint PRIMARY KEY, order_id bigint, FOREIGN KEY (order_id) REFERENCES orders (id))"); err == nil {
		t.Error("got no error of a foreign key to a partitioned table")
	}
}

// A table that pg_partman has is left to it.
func TestPartman(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now := noon
	e.create(t, orders())
	e.exec(t, "CREATE SCHEMA partman")
	e.exec(t, "CREATE TABLE partman.part_config (parent_table text PRIMARY KEY, control text NOT NULL, partition_interval text NOT NULL)")
	e.exec(t, "INSERT INTO partman.part_config VALUES ('public.invoices', 'id', '1 day')")
	run(t, e.keeper(t, orders(), &now))
	e.exec(t, "INSERT INTO partman.part_config VALUES ('public.orders', 'id', '1 day')")
	now = now.Add(24 * time.Hour)
	k := e.keeper(t, orders(), &now)
	runFails(t, k, partition.ErrPartman, "partman.part_config")
	if plan, err := k.Plan(t.Context()); err != nil || len(plan.Steps) != 0 || len(plan.Problems) == 0 || plan.Problems[len(plan.Problems)-1].Kind != "partman" {
		t.Errorf("got the plan %+v, error %v, want no steps and the problem", plan, err)
	}
}

// A trigger would take rows that are moved for deleted and inserted.
func TestTriggersOfPostgres(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now := noon
	e.create(t, orders())
	e.exec(t, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'")
	e.insert(t, now, 0)
	e.exec(t, "CREATE TRIGGER audit AFTER DELETE ON orders FOR EACH ROW EXECUTE FUNCTION refuse()")
	runFails(t, e.keeper(t, orders(), &now), partition.ErrAttention, "the triggers audit would take them for deleted and inserted")
}

// Rows with generated columns and identities move as they are.
func TestColumnsOfPostgres(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now := noon
	statements, err := orders().Create(e.d, "id bigint NOT NULL", `"a ""note""" text`, `twice bigint GENERATED ALWAYS AS (id * 2 % 7) STORED`, "number bigint GENERATED ALWAYS AS IDENTITY", "gone int")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range append(statements, "ALTER TABLE orders DROP COLUMN gone", "CREATE INDEX ON orders (number)") {
		e.exec(t, statement)
	}
	e.exec(t, fmt.Sprintf(`INSERT INTO orders (id, "a ""note""") VALUES (%d, 'x')`, idAt(t, now, 0)))
	before := e.texts(t, "SELECT CAST(orders AS text) FROM orders")
	run(t, e.keeper(t, orders(), &now))
	e.exec(t, fmt.Sprintf(`INSERT INTO orders (id, "a ""note""") VALUES (%d, 'y')`, idAt(t, now, 1)))
	after := e.texts(t, "SELECT CAST(orders AS text) FROM orders ORDER BY id")
	if got := e.count(t, "SELECT COUNT(*) FROM pg_attribute WHERE attrelid = 'orders_p20260310'::regclass AND attidentity <> ''"); got != 0 {
		t.Errorf("got %d identities of the partition's own, want none", got)
	}
	if len(after) != 2 || after[0] != before[0] || e.unplaced(t) != 0 || !strings.HasSuffix(after[1], ",2)") {
		t.Errorf("got the rows %q, want %q as before and another with the number 2", after, before)
	}
}

// Without a default partition PostgreSQL detaches beside readers; one that waited too long is finished by a later step.
func TestDetachConcurrently(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now := noon
	settings := orders()
	settings.Keep, settings.Old, settings.Tries = 6, partition.Detach, 2
	retained(t, e, &now)
	e.exec(t, "DROP TABLE orders_default")
	end := e.begin(t)
	runFails(t, e.keeper(t, settings, &now), partition.ErrBusy, "FINALIZE")
	if got := e.parts(t); !strings.HasPrefix(got, "p20260310 pending p20260311 ") {
		t.Errorf("got the partitions %s, want the first pending", got)
	}
	if plan, err := e.keeper(t, settings, &now).Plan(t.Context()); err != nil || plan.Steps[0].Action != partition.Finalize {
		t.Errorf("got the steps %v, error %v, want to finalize first", plan.Steps, err)
	}
	end()
	run(t, e.keeper(t, settings, &now))
	if got := e.tables(t); got != "orders_p20260310 orders_p20260311 orders_p20260312" {
		t.Errorf("got the tables %s", got)
	}
	// A partition that was to be detached and is not any more: detached by hand later, it must not be taken for the keeper's.
	e.exec(t, `COMMENT ON TABLE orders_p20260313 IS 'snowkey partition {"of":"public.orders","from":"1","to":"2","then":"drop"}'`)
	if got := run(t, e.keeper(t, settings, &now)); got != "unmark p20260313" {
		t.Errorf("got the steps %s, want the mark taken off", got)
	}
}

func TestGapsAreReported(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		retained(t, e, &now)
		if e.postgres {
			e.exec(t, "ALTER TABLE orders DETACH PARTITION orders_p20260312")
		} else {
			e.exec(t, "ALTER TABLE orders DROP PARTITION p20260312")
		}
		k := e.keeper(t, orders(), &now)
		plan, err := k.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Gaps) != 1 || !plan.Gaps[0].From.Equal(at("2026-03-12T00:00:00Z")) || !plan.Gaps[0].To.Equal(at("2026-03-13T00:00:00Z")) {
			t.Errorf("got the gaps %+v, want 12 March", plan.Gaps)
		}
		e.insert(t, at("2026-03-12T10:00:00Z"), 0)
		if e.postgres {
			runFails(t, k, partition.ErrAttention, "name: no partition can be made for 2026-03-12T00:00Z to 2026-03-13T00:00Z: there is a table or partition orders_p20260312 already")
			e.exec(t, "DROP TABLE orders_p20260312")
			run(t, k)
		}
		if got := e.unplaced(t); got != 0 {
			t.Errorf("got %d rows in no partition of their own", got)
		}
	})
}

func TestNotATableToKeep(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		runFails(t, e.keeper(t, orders(), &now), partition.ErrNotPartitioned, "there is no table")
		e.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY)")
		runFails(t, e.keeper(t, orders(), &now), partition.ErrNotPartitioned, "is a table without partitions")
		e.exec(t, "DROP TABLE orders")
		e.exec(t, map[bool]string{
			true:  "CREATE TABLE orders (id bigint PRIMARY KEY) PARTITION BY HASH (id)",
			false: "CREATE TABLE orders (id bigint PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 4",
		}[e.postgres])
		runFails(t, e.keeper(t, orders(), &now), partition.ErrNotPartitioned, "want RANGE (id)")
		now = at("2020-01-01T00:00:00Z")
		runFails(t, e.keeper(t, orders(), &now), partition.ErrClock, "before the layout's epoch")
	})
}

func TestSQLiteIsRefused(t *testing.T) {
	if _, err := partition.LookupDialect("sqlite"); !errors.Is(err, partition.ErrUnsupported) || !strings.Contains(err.Error(), "sqlite") {
		t.Errorf("got the error %v", err)
	}
	d := dbtest.SQLite(t)
	if _, err := partition.New(d.Open(t), 3, orders()); !errors.Is(err, partition.ErrUnsupported) {
		t.Errorf("got the error %v", err)
	}
}

// A change of the period fills what the old partitions leave out, whatever their bounds are.
func TestChangeOfThePeriod(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		e.create(t, orders())
		run(t, e.keeper(t, orders(), &now))
		settings := orders()
		settings.Every = partition.Month
		run(t, e.keeper(t, settings, &now))
		before := map[bool]string{true: "p20260301 "}[e.postgres] // the rest of this month, which MySQL has in the first one
		if got := e.parts(t); got != before+"p20260310 p20260311 p20260312 p20260313 p20260401 p20260501 pmax" {
			t.Errorf("got the partitions %s", got)
		}
		for day := range 80 {
			e.insert(t, noon.Add(time.Duration(day)*24*time.Hour), 0)
		}
		if got := e.unplaced(t); got != 0 {
			t.Errorf("got %d rows in no partition of their own", got)
		}
		if got := run(t, e.keeper(t, settings, &now)); got != "" {
			t.Errorf("got the steps %s in another run, want none", got)
		}
	})
}

func TestSettings(t *testing.T) {
	top, err := idgen.ParseLayout("node=10,time=41@1ms,sequence=12;epoch=2025-01-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	coarse, err := idgen.ParseLayout("time=20@24h,node=10,sequence=33;epoch=2025-01-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*partition.Table){
		"time on top":                      func(s *partition.Table) { s.Layout = top },
		"at most 1h0m0s":                   func(s *partition.Table) { s.Layout = coarse },
		`the table's name "a b"`:           func(s *partition.Table) { s.Name = "a b" },
		"has 60 bytes, at most 48":         func(s *partition.Table) { s.Name = strings.Repeat("x", 60) },
		`the column "i-d"`:                 func(s *partition.Table) { s.Key = "i-d" },
		"want Day, Week or Month":          func(s *partition.Table) { s.Every = 0 },
		"Ahead is -1":                      func(s *partition.Table) { s.Ahead = -1 },
		"Keep is -1":                       func(s *partition.Table) { s.Keep = -1 },
		"none of Drop, Detach and Archive": func(s *partition.Table) { s.Keep = 1 },
		"there is no function Archive":     func(s *partition.Table) { s.Keep, s.Old = 1, partition.Archive },
		"are not negative":                 func(s *partition.Table) { s.Tries = -1 },
	} {
		settings := orders()
		change(&settings)
		d, err := partition.LookupDialect("postgres")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := partition.New(nil, d, settings); !errors.Is(err, partition.ErrTable) || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want one with %q", err, want)
		}
	}
}

// Making a partition of PostgreSQL waits for nobody who writes to others, and keeps nobody from it.
func TestMakesBesideWriters(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now := noon
	e.create(t, orders())
	run(t, e.keeper(t, orders(), &now))
	tx, err := e.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", idAt(t, now, 0))); err != nil {
		t.Fatal(err)
	}
	now = now.Add(24 * time.Hour)
	if got := run(t, e.keeper(t, orders(), &now)); got != "make p20260313" {
		t.Errorf("got the steps %s", got)
	}
}

// A schema may have any name, and need not be on the search path.
func TestSchemaOfPostgres(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now, archived := noon, ""
	e.exec(t, `CREATE SCHEMA "my ""app"""`)
	e.exec(t, `CREATE TABLE "my ""app""".orders (id bigint PRIMARY KEY, note text) PARTITION BY RANGE (id)`)
	e.exec(t, `CREATE TABLE "my ""app""".rest PARTITION OF "my ""app""".orders DEFAULT`)
	settings := orders()
	run(t, e.keeper(t, settings, &now))
	e.exec(t, fmt.Sprintf(`INSERT INTO "my ""app""".orders VALUES (%d, 'a')`, idAt(t, now, 0)))
	settings.Keep, settings.Old, settings.TrustClock = 1, partition.Archive, true
	settings.Archive = func(_ context.Context, d partition.Detached) error {
		archived += d.Of + " " + d.Schema + " " + d.Name
		return nil
	}
	now = now.Add(48 * time.Hour)
	run(t, e.keeper(t, settings, &now))
	if want := `my "app".orders my "app" orders_p20260310`; archived != want {
		t.Errorf("got archived %q, want %q", archived, want)
	}
}

// The rights that the documentation names are enough.
func TestRightsOfMySQL(t *testing.T) {
	e := newEngine(t, dbtest.MySQL(t))
	admin := e.database.Admin().Open(t)
	name := e.texts(t, "SELECT DATABASE()")[0]
	user := "k" + name[len(name)-8:]
	for _, statement := range []string{
		"CREATE USER " + user + "@localhost IDENTIFIED BY 'sesame'",
		"GRANT ALTER, CREATE, DROP, INSERT, SELECT, LOCK TABLES ON `" + name + "`.* TO " + user + "@localhost",
	} {
		if _, err := admin.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := admin.ExecContext(context.Background(), "DROP USER "+user+"@localhost"); err != nil {
			t.Error(err)
		}
	})
	now, archived := noon, ""
	settings := orders()
	settings.Keep, settings.Old = 6, partition.Archive
	settings.Archive = e.archive(t, &archived)
	retained(t, e, &now)
	config, err := mysql.ParseDSN(e.database.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	config.User, config.Passwd = user, "sesame"
	limited := *e
	limited.db = dbtest.Database{Kind: "mysql", DriverName: "mysql", DriverDSN: config.FormatDSN()}.Open(t)
	now = now.Add(24 * time.Hour)
	e.insert(t, now, 0)
	run(t, limited.keeper(t, settings, &now))
	if archived == "" || e.tables(t) != "" {
		t.Errorf("got archived %q and the tables %q left", archived, e.tables(t))
	}
}
