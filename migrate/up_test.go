package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// library makes authors and their books, by auto-increment.
func (d *database) library() {
	d.t.Helper()
	key := map[string]string{"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "postgres": "serial PRIMARY KEY"}[d.kind]
	at := map[string]string{"sqlite": "datetime", "mysql": "datetime", "postgres": "timestamptz"}[d.kind]
	d.exec("CREATE TABLE authors (id "+key+", name varchar(40) NOT NULL, created_at "+at+" NOT NULL)",
		"CREATE TABLE books (id "+key+", author_id int NOT NULL, title varchar(40) NOT NULL, created_at "+at+" NOT NULL,"+
			" CONSTRAINT fk_author FOREIGN KEY (author_id) REFERENCES authors (id))")
	for n := 1; n <= 20; n++ {
		d.exec(fmt.Sprintf("INSERT INTO authors (name, created_at) VALUES ('author %d', '2026-03-%02d 00:00:00')", n, n))
	}
	for n := 1; n <= 20; n++ {
		d.exec(fmt.Sprintf("INSERT INTO books (author_id, title, created_at) VALUES (%d, 'book %d', '2026-04-%02d 00:00:00')", 21-n, n, n))
	}
}

// wrote returns who wrote what.
func (d *database) wrote() (text string) {
	d.t.Helper()
	rows, err := d.pool.QueryContext(d.t.Context(), "SELECT b.title, a.name FROM books b LEFT JOIN authors a ON a.id = b.author_id ORDER BY b.created_at, b.title")
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var title string
		var name sql.NullString
		if err := rows.Scan(&title, &name); err != nil {
			d.t.Fatal(err)
		}
		text += fmt.Sprintln(title, "by", name.String)
	}
	if err := rows.Err(); err != nil {
		d.t.Fatal(err)
	}
	return text
}

// upConfig is that of the library.
func upConfig(mode migrate.Mode) migrate.Config {
	return migrate.Config{Plan: migrate.PlanOptions{Mode: mode, Zone: "UTC"}}
}

type upward func(context.Context, *gorm.DB, migrate.Config) (migrate.Outcome, error)

// up calls Up or Down.
func (d *database) up(do upward, c migrate.Config) migrate.Outcome {
	d.t.Helper()
	outcome, err := do(d.t.Context(), d.gorm, c)
	if err != nil {
		d.t.Fatal(err)
	}
	return outcome
}

// status returns what the journal says of its plans.
func (d *database) status() migrate.Status {
	d.t.Helper()
	status, err := migrate.ReadStatus(d.t.Context(), d.gorm)
	if err != nil {
		d.t.Fatal(err)
	}
	return status
}

// Up ends at a hold, and goes on past it by what the journal has. Then there is nothing to do, until Down has undone it.
func TestUp(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		d.library()
		before := d.wrote()
		c := upConfig(migrate.Rekey)
		c.Plan.Window, c.Plan.Keep = 20*time.Millisecond, true
		first := d.up(migrate.Up, c)
		if first.Done || first.Held == "" {
			t.Fatalf("got %+v, want a hold", first)
		}
		var other migrate.Config // of which an unfinished plan takes nothing but Run
		if again := d.up(migrate.Up, other); again.Held != first.Held || again.Step != first.Step {
			t.Errorf("got %+v without Continue, want the hold again", again)
		}
		for outcome := first; !outcome.Done; {
			step := outcome.Step
			other.Run.Continue = outcome.Hold
			if outcome = d.up(migrate.Up, other); outcome.Step <= step {
				t.Fatalf("got %+v after step %d, want it to go on", outcome, step)
			}
		}
		done := d.status()
		if outcome := d.up(migrate.Up, c); !outcome.Done || outcome.Step != 0 {
			t.Errorf("got %+v of a database that is migrated, want that nothing is to be done", outcome)
		}
		if now := d.status(); len(now.Plans) != 1 || now.Plans[0].Changed != done.Plans[0].Changed || len(now.Steps) != len(done.Steps) {
			t.Errorf("got the journal %+v, want it as it was: %+v", now.Plans, done.Plans)
		}
		if outcome := d.up(migrate.Down, other); !outcome.Done || d.status().Plans[0].State != string(journal.Undone) {
			t.Errorf("got %+v, %+v, want it undone", outcome, d.status().Plans)
		}
		if outcome := d.up(migrate.Down, other); !outcome.Done {
			t.Errorf("got %+v without a plan to roll back, want it done", outcome)
		}
		if after := d.wrote(); after != before {
			t.Errorf("the contents have changed: got %s, want %s", after, before)
		}
	})
}

// A program names a hold at each start. Before the hold is reached that is refused; behind it, whatever has ended the run, Up goes on.
func TestUpNamesHold(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		dbtest.LongOn(t, d.kind, "postgres")
		d.library()
		c := upConfig(migrate.Rekey)
		c.Plan.Window, c.Plan.Keep = 20*time.Millisecond, true
		held := d.up(migrate.Up, c)
		c.Run.Continue = held.Hold
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c.Run.Progress = func(p migrate.Progress) {
			if p.Step > held.Step+2 {
				cancel()
			}
		}
		if outcome, err := migrate.Up(ctx, d.gorm, c); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %+v, %v, want the end of the context", outcome, err)
		}
		c.Run.Progress, c.Run.Continue = nil, migrate.DropMaps
		hold := new(migrate.HoldError)
		if outcome, err := migrate.Up(t.Context(), d.gorm, c); !errors.As(err, &hold) || hold.Stands != "" {
			t.Errorf("a hold that was not reached: got %+v, %v, want HoldError at none", outcome, err)
		}
		c.Run.Continue = held.Hold
		if outcome := d.up(migrate.Up, c); !outcome.Done {
			t.Errorf("a hold that is passed: got %+v, want it done", outcome)
		}
	})
}

// A context may end at any moment: the next Up, or Down, goes on.
func TestUpGoesOn(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		dbtest.LongOn(t, d.kind, "postgres")
		d.library()
		before := d.wrote()
		c := upConfig(migrate.Rekey)
		c.Through, c.Plan.Keep = true, true
		for _, do := range []upward{migrate.Up, migrate.Down} {
			ended := 0
			for at := 1; ; at += 7 {
				ctx, cancel := context.WithCancel(t.Context())
				steps := map[int]bool{}
				c.Run.Progress = func(p migrate.Progress) {
					if steps[p.Step] = true; len(steps) == at {
						cancel()
					}
				}
				outcome, err := do(ctx, d.gorm, c)
				cancel()
				if err == nil && outcome.Done {
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("got %+v, %v, want the end of the context", outcome, err)
				}
				ended++
			}
			if ended == 0 {
				t.Error("no context has ended before the end")
			}
			if after := d.wrote(); after != before {
				t.Errorf("the contents have changed: got %s, want %s", after, before)
			}
			old := d.number("SELECT COUNT(*) FROM authors WHERE id < 4398046511104")
			if all := d.number("SELECT COUNT(*) FROM authors"); old != 0 && old != all {
				t.Errorf("%d of %d authors have old ids, want all or none", old, all)
			}
		}
		if plans := d.status().Plans; len(plans) != 1 || plans[0].State != string(journal.Undone) {
			t.Errorf("got %+v, want one plan that is undone", plans)
		}
	})
}

// Up refuses what is being rolled back, which Down goes on with.
func TestUpAfterHalfDown(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		d.library()
		c := upConfig(migrate.Rekey)
		c.Through, c.Plan.Keep = true, true
		d.up(migrate.Up, c)
		ctx, cancel := context.WithCancel(t.Context())
		c.Run.Progress = func(migrate.Progress) { cancel() }
		if _, err := migrate.Down(ctx, d.gorm, c); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want the end of the context", err)
		}
		c.Run.Progress = nil
		if _, err := migrate.Up(t.Context(), d.gorm, c); !errors.Is(err, journal.ErrState) {
			t.Errorf("got %v, want ErrState", err)
		}
		if outcome := d.up(migrate.Down, c); !outcome.Done {
			t.Errorf("got %+v, want it done", outcome)
		}
		if outcome := d.up(migrate.Up, c); !outcome.Done {
			t.Errorf("got %+v, want it done anew", outcome)
		}
		if outcome := d.up(migrate.Up, c); !outcome.Done || outcome.Step != 0 {
			t.Errorf("got %+v of rows with new ids, want that nothing is to be done", outcome)
		}
	})
}

// The status begins with the latest plan, and has its steps; Down rolls that back, then the one before.
func TestLatestFirst(t *testing.T) {
	d := open(t, "sqlite")
	for _, table := range []string{"early", "late"} {
		d.exec("CREATE TABLE " + table + " (id INTEGER PRIMARY KEY AUTOINCREMENT)")
		c := upConfig(migrate.Rekey)
		c.Through, c.Plan.Keep, c.Plan.Tables, c.Plan.Created = true, true, []string{table}, map[string]string{table: "2026-03-01T00:00:00Z"}
		d.up(migrate.Up, c)
	}
	for undone, want := range [][]journal.State{{journal.Done, journal.Done}, {journal.Undone, journal.Done}, {journal.Undone, journal.Undone}} {
		if undone > 0 {
			d.up(migrate.Down, migrate.Config{})
		}
		status := d.status()
		if len(status.Plans) != 2 || status.Plans[0].Tables[0] != "late" || len(status.Steps) == 0 {
			t.Fatalf("got %+v, want late first, with its steps", status)
		}
		if got := []journal.State{journal.State(status.Plans[0].State), journal.State(status.Plans[1].State)}; !slices.Equal(got, want) {
			t.Errorf("after %d calls of Down: got %s, want %s", undone, got, want)
		}
	}
}

// A transaction of GORM's is none that Up can work in.
func TestUpInTransaction(t *testing.T) {
	d := open(t, "sqlite")
	err := d.gorm.Transaction(func(tx *gorm.DB) error {
		_, err := migrate.Up(t.Context(), tx, migrate.Config{})
		return err
	})
	if err == nil {
		t.Error("got no error within a transaction")
	}
}

// A database in memory is gone with its connection, so that a run leaves that one as it was.
func TestUpInMemory(t *testing.T) {
	pool, err := sql.Open("sqlite3", "file::memory:?_foreign_keys=on")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(1)
	db, err := gorm.Open(sqlite.New(sqlite.Config{Conn: pool}), &gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d := &database{t: t, kind: "sqlite", pool: pool, gorm: db}
	d.library()
	before := d.wrote()
	c := upConfig(migrate.Widen)
	c.Through = true
	for range 2 {
		if outcome := d.up(migrate.Up, c); !outcome.Done {
			t.Errorf("got %+v, want it done", outcome)
		}
	}
	if after := d.wrote(); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
	if on := d.number("PRAGMA foreign_keys"); on != 1 {
		t.Errorf("got foreign_keys %d, want 1", on)
	}
}
