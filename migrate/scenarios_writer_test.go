package migrate_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
)

func init() {
	scenarios = append(scenarios, scenario{"03 old and new writers at once", []string{"mysql", "postgres"}, testWriters})
}

// The rows that writers make: entries with a line each.
type (
	oldEntry struct {
		ID    int64
		Text  string
		Lines []oldLine `gorm:"foreignKey:EntryID"`
	}
	oldLine struct {
		ID      int64
		EntryID int64
	}
	newEntry struct {
		ID    int64 `gorm:"snowkey"`
		Text  string
		Lines []newLine `gorm:"foreignKey:EntryID"`
	}
	newLine struct {
		ID      int64 `gorm:"snowkey"`
		EntryID int64
	}
)

func (oldEntry) TableName() string { return "entries" }
func (oldLine) TableName() string  { return "entry_lines" }
func (newEntry) TableName() string { return "entries" }
func (newLine) TableName() string  { return "entry_lines" }

// testWriters has writers at work across a whole run. Until they have stopped, the database goes on making keys for the old ones. The new ones
// are let in from the flip on where a snowflake would move the counter, on MySQL and MariaDB, and from the hold on elsewhere.
func testWriters(t *testing.T, d *database) {
	key := map[string]string{"mysql": "INT PRIMARY KEY AUTO_INCREMENT", "postgres": "serial PRIMARY KEY"}[d.kind]
	d.exec(
		"CREATE TABLE entries (id "+key+", text VARCHAR(20) NOT NULL)",
		"CREATE TABLE entry_lines (id "+key+", entry_id INT NOT NULL, CONSTRAINT fk_entry FOREIGN KEY (entry_id) REFERENCES entries (id))",
	)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	old := startWriter(ctx, t, d, 2, func(db *gorm.DB) error {
		return db.Create(&oldEntry{Text: "old", Lines: []oldLine{{}}}).Error
	})
	defer old.stop()
	old.await(20)

	// The window is long enough for an old writer on a machine with much else to do to come by within it; it ends when one does.
	p := d.plan(migrate.InspectOptions{Tables: []string{"entries", "entry_lines"}}, migrate.PlanOptions{Window: 2 * time.Second})
	outcome, err := migrate.Run(ctx, d.gorm, p, migrate.RunOptions{})
	if err != nil || outcome.Held == "" {
		t.Fatalf("got %+v (%v), want the hold", outcome, err)
	}
	old.await(20)

	plugin := gormplugin.New(gormplugin.Grants(grant.Config{Generator: []idgen.Option{layout}}))
	filling := connect(t, d.kind, d.name)
	if err := filling.gorm.Use(plugin); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := plugin.Close(); err != nil {
			t.Error(err)
		}
	}()
	filled := startWriter(ctx, t, filling, 2, func(db *gorm.DB) error {
		return db.Create(&newEntry{Text: "new", Lines: []newLine{{}}}).Error
	})
	defer filled.stop()
	if d.kind == "mysql" {
		filled.awaitRefused(20)
	} else {
		filled.await(20)
	}
	for _, hold := range []string{migrate.DeployWriters, ""} { // the second run has passed the hold
		if outcome, err = migrate.Run(ctx, d.gorm, p, migrate.RunOptions{Continue: hold}); !errors.Is(err, run.ErrAssertion) || !strings.Contains(err.Error(), "a writer is at work") {
			t.Fatalf("got %+v (%v), want that the flip waits for the old writers", outcome, err)
		}
	}
	old.await(20)
	if made := filled.made.Load(); d.kind == "mysql" && made > 0 {
		t.Errorf("%d snowflakes were let in beside the counter", made)
	}
	old.stop()
	if outcome, err = migrate.Run(ctx, d.gorm, p, migrate.RunOptions{}); err != nil || !outcome.Done {
		t.Fatalf("got %+v (%v), want the end of the plan", outcome, err)
	}
	filled.await(20)
	if err := d.gorm.Session(&gorm.Session{NewDB: true}).Create(&oldEntry{Text: "late"}).Error; err == nil {
		t.Error("the database made a key after the flip")
	}
	filled.stop()
	d.verify(p)
	for query, want := range map[string]int64{
		"SELECT COUNT(*) FROM entries WHERE id < 4398046511104 AND text = 'old'":                                                  old.made.Load(),
		"SELECT COUNT(*) FROM entries WHERE id >= 4398046511104 AND text = 'new'":                                                 filled.made.Load(),
		"SELECT COUNT(*) FROM entries":                                                                                            old.made.Load() + filled.made.Load(),
		"SELECT COUNT(*) FROM entry_lines":                                                                                        old.made.Load() + filled.made.Load(),
		"SELECT COUNT(DISTINCT l.entry_id) FROM entries e JOIN entry_lines l ON l.entry_id = e.id":                                old.made.Load() + filled.made.Load(),
		"SELECT COUNT(*) FROM entries e JOIN entry_lines l ON l.entry_id = e.id WHERE (e.id < 1000000000) <> (l.id < 1000000000)": 0,
	} {
		if n := d.number(query); n != want {
			t.Errorf("%s: got %d, want %d", query, n, want)
		}
	}
	t.Logf("%d rows of old writers, %d of new ones, %d that were refused", old.made.Load(), filled.made.Load(), filled.refused.Load())
}

// writer is some goroutines that write one row after another, and try again what failed for a while. All of it can be used at once.
type writer struct {
	t       *testing.T
	ctx     context.Context
	end     context.CancelFunc
	group   sync.WaitGroup
	made    atomic.Int64
	refused atomic.Int64 // by the gate
	moved   chan struct{}
}

// startWriter starts a writer. It fails the test for every error that a writer is not told to expect.
func startWriter(ctx context.Context, t *testing.T, d *database, goroutines int, write func(*gorm.DB) error) *writer {
	w := &writer{t: t, ctx: ctx, moved: make(chan struct{}, 1)}
	stopped, end := context.WithCancel(ctx)
	w.end = end
	for range goroutines {
		w.group.Go(func() {
			pace := time.NewTicker(2 * time.Millisecond) // what is left is for the run
			defer pace.Stop()
			for stopped.Err() == nil && !t.Failed() {
				// The writer's own context does not end a statement that may have been committed.
				switch err := write(d.gorm.WithContext(ctx)); {
				case err == nil:
					w.made.Add(1)
				case strings.Contains(err.Error(), "snowkey migrate: no snowflakes in entries before the flip; next: snowkey migrate status"),
					strings.Contains(err.Error(), "snowkey migrate: no snowflakes in entry_lines before the flip"):
					w.refused.Add(1)
				case again(err):
				case ctx.Err() == nil:
					t.Errorf("a writer: %v", err)
				}
				select {
				case w.moved <- struct{}{}:
				default:
				}
				<-pace.C
			}
		})
	}
	return w
}

// again reports whether an error is one that writers are told to expect: a lock that was waited for too long, a deadlock, a table that was
// changed meanwhile.
func again(err error) bool {
	for _, text := range []string{"Error 1205 ", "Error 1213 ", "Error 1412 ", "SQLSTATE 40P01", "SQLSTATE 0A000", "SQLSTATE 55P03"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

func (w *writer) await(rows int64)        { w.t.Helper(); w.awaitMore(&w.made, rows) }
func (w *writer) awaitRefused(rows int64) { w.t.Helper(); w.awaitMore(&w.refused, rows) }

// awaitMore waits until a number has become greater by some.
func (w *writer) awaitMore(number *atomic.Int64, by int64) {
	w.t.Helper()
	for want := number.Load() + by; number.Load() < want; {
		select {
		case <-w.moved:
			if w.t.Failed() {
				w.t.FailNow()
			}
		case <-w.ctx.Done():
			w.t.Fatalf("a writer does not come along: %v", w.ctx.Err())
		}
	}
}

// stop ends the writer after what it is in the middle of.
func (w *writer) stop() {
	w.end()
	w.group.Wait()
}
