package journal_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
)

// everywhere runs a test on each database.
func everywhere(t *testing.T, test func(*testing.T, *sql.DB, dialect.Dialect)) {
	t.Run("sqlite", func(t *testing.T) { test(t, dbtest.SQLite(t).Open(t), dialect.SQLite) })
	t.Run("mysql", func(t *testing.T) { test(t, dbtest.MySQL(t).Open(t), dialect.MySQL) })
	t.Run("postgres", func(t *testing.T) { test(t, dbtest.Postgres(t).Open(t), dialect.Postgres) })
}

// planText is longer than 64 KB, as the plan of a large schema is.
var planText = strings.Repeat("-- 'ändern' :after \\ \"x\"\n", 4000)

// transact does work in a transaction.
func transact(t *testing.T, db *sql.DB, work func(context.Context, journal.Conn) error) error {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := work(t.Context(), tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// begun makes the journal's tables, and begins a plan.
func begun(t *testing.T, db *sql.DB, d dialect.Dialect, hash string, tables ...string) *journal.Writer {
	t.Helper()
	w := writer(t, d, hash)
	if err := begin(t, db, d, w, tables...); err != nil {
		t.Fatal(err)
	}
	return w
}

func writer(t *testing.T, d dialect.Dialect, hash string) *journal.Writer {
	t.Helper()
	w, err := journal.NewWriter(d, hash)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func begin(t *testing.T, db *sql.DB, d dialect.Dialect, w *journal.Writer, tables ...string) error {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := journal.Create(t.Context(), conn, d); err != nil {
		t.Fatal(err)
	}
	return transact(t, db, func(ctx context.Context, c journal.Conn) error {
		return w.Begin(ctx, c, "rekey", "f0", planText, tables)
	})
}

func read(t *testing.T, db *sql.DB, d dialect.Dialect, hash string) ([]journal.Plan, []journal.Step) {
	t.Helper()
	plans, steps, err := journal.Read(t.Context(), db, d, hash)
	if err != nil {
		t.Fatal(err)
	}
	return plans, steps
}

// Where there is no journal nothing is read, and none is made.
func TestReadWithoutJournal(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		for range 2 {
			if plans, steps := read(t, db, d, "a"); len(plans)+len(steps) != 0 {
				t.Errorf("got %v, %v, want none", plans, steps)
			}
		}
		if _, err := db.Exec("SELECT * FROM " + journal.PlansTable); err == nil {
			t.Error("reading has made the table")
		}
	})
}

// What is written is read again, with the database's times in UTC.
func TestWriteAndRead(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		w := begun(t, db, d, "a", `or"ders`, "schema.käufer")
		want := journal.Step{Number: 2, Title: "ändern\n'x'", State: journal.StepBegun, Cursor: math.MinInt64, Pass: 1, Rows: math.MaxInt64, Found: "é"}
		err := transact(t, db, func(ctx context.Context, c journal.Conn) error {
			return errors.Join(w.Fence(ctx, c), w.Put(ctx, c, journal.Step{Number: 2, Title: want.Title, State: "x"}), w.Put(ctx, c, want), w.Put(ctx, c, want),
				w.Put(ctx, c, journal.Step{Number: 1, Title: "one", State: journal.StepDone}), w.Fingerprint(ctx, c, "f1"))
		})
		if err != nil {
			t.Fatal(err)
		}
		plans, steps := read(t, db, d, "a")
		if len(plans) != 1 || len(steps) != 2 {
			t.Fatalf("got %+v, %+v", plans, steps)
		}
		p, s := plans[0], steps[1]
		if p.Hash != "a" || p.Mode != "rekey" || p.State != journal.Running || p.Runner != w.Runner() || p.Fingerprint != "f1" || fmt.Sprint(p.Tables) != `[or"ders schema.käufer]` {
			t.Errorf("got %+v", p)
		}
		for _, at := range []time.Time{p.Started, p.Changed, s.Started, s.Changed} {
			if since := time.Since(at); since < -time.Minute || since > time.Hour || at.Location() != time.UTC {
				t.Errorf("got the time %s", at)
			}
		}
		s.Started, s.Changed = time.Time{}, time.Time{}
		if s != want || steps[0].Number != 1 {
			t.Errorf("got %+v, want %+v", steps, want)
		}
		if _, steps := read(t, db, d, "b"); len(steps) != 0 {
			t.Errorf("got %+v of another plan", steps)
		}
	})
}

// The text of a plan is read as it was written, for as long as the journal has the plan.
func TestText(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if text, err := journal.Text(t.Context(), db, d, "a"); !errors.Is(err, journal.ErrState) || text != "" {
			t.Errorf("got %q, %v without a journal, want ErrState", text, err)
		}
		begun(t, db, d, "a", "t")
		if text, err := journal.Text(t.Context(), db, d, "a"); err != nil || text != planText {
			t.Errorf("got %.100q, %v", text, err)
		}
		if _, err := journal.Text(t.Context(), db, d, "b"); !errors.Is(err, journal.ErrState) {
			t.Errorf("got %v of another plan, want ErrState", err)
		}
	})
}

// A runner that was taken over is without effect, and of two that take over one does.
func TestTakeOver(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		first := begun(t, db, d, "a", "t")
		plans, _ := read(t, db, d, "a")
		second, third := writer(t, d, "a"), writer(t, d, "a")
		take := func(w *journal.Writer) error {
			return transact(t, db, func(ctx context.Context, c journal.Conn) error { return w.Take(ctx, c, plans[0], journal.Undoing) })
		}
		if err := take(second); err != nil {
			t.Fatal(err)
		}
		if err := take(third); !errors.Is(err, journal.ErrRunning) {
			t.Errorf("got %v, want ErrRunning", err)
		}
		for name, write := range map[string]func(context.Context, journal.Conn) error{
			"fence":       first.Fence,
			"fingerprint": func(ctx context.Context, c journal.Conn) error { return first.Fingerprint(ctx, c, "x") },
			"finish":      func(ctx context.Context, c journal.Conn) error { return first.Finish(ctx, c, journal.Done) },
		} {
			if err := transact(t, db, write); !errors.Is(err, journal.ErrLost) {
				t.Errorf("%s: got %v, want ErrLost", name, err)
			}
		}
		err := transact(t, db, func(ctx context.Context, c journal.Conn) error {
			return errors.Join(second.Fence(ctx, c), second.Fence(ctx, c), second.Finish(ctx, c, journal.Undone))
		})
		if err != nil {
			t.Error(err)
		}
		if err := transact(t, db, second.Fence); !errors.Is(err, journal.ErrLost) {
			t.Errorf("got %v of a plan that is undone, want ErrLost", err)
		}
		if plans, _ := read(t, db, d, "a"); plans[0].State != journal.Undone || plans[0].Runner != second.Runner() || plans[0].Fingerprint != "f0" {
			t.Errorf("got %+v", plans)
		}
	})
}

// One plan at a time is not finished; a plan forgets those of its tables that are.
func TestOnePlan(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		a := begun(t, db, d, "a", "x", "y")
		b := writer(t, d, "b")
		if err := begin(t, db, d, b, "z"); !errors.Is(err, journal.ErrOther) {
			t.Errorf("got %v, want ErrOther", err)
		}
		// What does not look is refused as well.
		_, err := db.Exec("INSERT INTO snowkey_migrate (plan, mode, state, alone, runner, fingerprint, table_names, plan_text, turns, started_us, changed_us)" +
			" VALUES ('c', 'widen', 'running', 1, '', '', '[]', '', 0, 0, 0)")
		if err == nil {
			t.Error("there are two plans that are running")
		}
		if err := begin(t, db, d, writer(t, d, "a"), "x"); !errors.Is(err, journal.ErrState) {
			t.Errorf("got %v, want ErrState", err)
		}
		finish := func(w *journal.Writer) {
			t.Helper()
			if err := transact(t, db, func(ctx context.Context, c journal.Conn) error {
				return errors.Join(w.Fence(ctx, c), w.Put(ctx, c, journal.Step{Number: 1, State: journal.StepDone}), w.Finish(ctx, c, journal.Done))
			}); err != nil {
				t.Fatal(err)
			}
		}
		finish(a)
		if err := begin(t, db, d, b, "z"); err != nil {
			t.Fatal(err)
		}
		finish(b)
		if plans, steps := read(t, db, d, "a"); len(plans) != 2 || len(steps) != 1 {
			t.Errorf("got %+v, %+v, want both plans", plans, steps)
		}
		begun(t, db, d, "c", "y")
		if plans, steps := read(t, db, d, "a"); len(plans) != 2 || plans[0].Hash != "b" || len(steps) != 0 {
			t.Errorf("got %+v, %+v, want the first forgotten", plans, steps)
		}
	})
}

func TestAlive(t *testing.T) {
	w := writer(t, dialect.SQLite, "a")
	name := w.Runner()
	if !journal.Alive(name) {
		t.Errorf("%s is at work", name)
	}
	parts := strings.Split(name, ":")
	if len(parts) != 3 || parts[1] != fmt.Sprint(os.Getpid()) {
		t.Fatalf("got %s, want host:process:random", name)
	}
	w.Close()
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	other := func(since string) string { return fmt.Sprintf("%s:%d:%s-00", parts[0], command.Process.Pid, since) }
	since := journal.Began(command.Process.Pid)
	if !journal.Alive(other(since)) {
		t.Errorf("%s lives", other(since))
	}
	for what, runner := range map[string]string{
		"closed": name, "no name": "", "of no process": parts[0] + ":x:0-0", "elsewhere": "another" + other(since), "a process of before with the number": other(since + "1"),
	} {
		if journal.Alive(runner) {
			t.Errorf("%s: %s is no runner at work", what, runner)
		}
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // it says that it was killed
	if journal.Alive(other(since)) {
		t.Errorf("%s was killed", other(since))
	}
}
