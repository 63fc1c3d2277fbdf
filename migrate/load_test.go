package migrate_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/migratetest"
)

// tableWriter says how an application inserts into a table.
type tableWriter struct {
	Table   string               // as statements have it
	Key     string               // the column that the database fills until writerGroup.Fill; empty when the database goes on filling it
	Columns string               // those that Values fills, and after them those that Parents fill: "name, parent_id"
	Values  func(n int) string   // of the nth row, as SQL: "'w-7'"
	Parents func(n int) []string // queries for the ids that the nth row refers to; nil when it refers to none
	Mark    string               // the column, or an expression, that Values fills with a mark that no other row has
	MarkOf  func(n int) string   // the mark of the nth row, as SQL
	Every   time.Duration        // between inserts, 20 ms when 0
	Fatal   func(error) bool     // says that an error is not to be tried again; nil for that of a duplicate key
}

// writerResult are what became of a writer's inserts.
type writerResult struct {
	Table    string
	Inserted int           // acknowledged
	Refused  int           // attempts that failed; each was made again, with the parents' ids as they then were
	Longest  time.Duration // from the first attempt of an insert to its end, at the longest
	Began    time.Time     // when that attempt was made
	Why      string        // the last error of that insert; empty where it waited
}

// String returns the counts, and the longest refusal with its reason, in one line.
func (r writerResult) String() string {
	return fmt.Sprintf("%s: %d inserted, %d refused, longest %s %s", r.Table, r.Inserted, r.Refused, r.Longest.Round(time.Millisecond), r.Why)
}

// writerGroup is writers at work: each inserts into its table at a steady pace, one row after the other, and tries an insert again until it is
// acknowledged.
type writerGroup struct {
	t       testing.TB
	db      *sql.DB
	fill    atomic.Pointer[func() int64]
	stop    context.CancelFunc
	done    sync.WaitGroup
	workers []*worker
}

// worker is one writer; its fields but the atomic ones are its goroutine's alone until that has ended.
type worker struct {
	tableWriter
	load     *writerGroup
	refusals writerResult
	marks    []string     // of acknowledged rows
	made     atomic.Int64 // rows that were acknowledged
	refused  atomic.Int64 // attempts that failed
	why      atomic.Pointer[string]
}

// maxInserts is how many rows a writer inserts at most: then it has ended by itself.
const maxInserts = 20_000

// loadPatience is how long an insert is tried again; more fails the test.
const loadPatience = 90 * time.Second

// startWriters starts writers, which share the pool: give it one that nothing else waits for. They end with Stop, or with the test.
func startWriters(t testing.TB, db *sql.DB, writers ...tableWriter) *writerGroup {
	ctx, stop := context.WithCancel(context.Background())
	l := &writerGroup{t: t, db: db, stop: stop}
	for _, w := range writers {
		at := &worker{tableWriter: w, load: l, refusals: writerResult{Table: w.Table}}
		if at.Every == 0 {
			at.Every = 20 * time.Millisecond
		}
		if at.Fatal == nil {
			at.Fatal = duplicate
		}
		l.workers = append(l.workers, at)
		l.done.Go(func() { at.work(ctx) })
	}
	t.Cleanup(func() { stop(); l.done.Wait() })
	return l
}

// duplicate says whether an error is of a key that another row has.
func duplicate(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "duplicate") || strings.Contains(text, "unique constraint")
}

// Fill lets the writers fill their keys from now on: inserts that are under way are tried again with a key.
func (l *writerGroup) Fill(next func() int64) { l.fill.Store(&next) }

// Await waits until each writer has inserted as many rows more. The test fails when that takes longer than 90 seconds.
func (l *writerGroup) Await(rows int64) {
	l.t.Helper()
	l.await("inserted", rows, func(w *worker) *atomic.Int64 { return &w.made })
}

// AwaitRefused waits until as many attempts more of each writer have failed. The test fails when that takes longer than 90 seconds.
func (l *writerGroup) AwaitRefused(attempts int64) {
	l.t.Helper()
	l.await("been refused", attempts, func(w *worker) *atomic.Int64 { return &w.refused })
}

func (l *writerGroup) await(what string, by int64, number func(*worker) *atomic.Int64) {
	l.t.Helper()
	for _, w := range l.workers {
		until := time.Now().Add(loadPatience)
		for want := number(w).Load() + by; number(w).Load() < want; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				why := w.why.Load()
				if why == nil {
					why = new(string)
				}
				l.t.Fatalf("the writer of %s has %s %d times, want %d: %s", w.Table, what, number(w).Load(), want, *why)
			}
		}
	}
}

// Stop ends the writers, and returns what became of their inserts, a writer each. An insert that is under way is brought to its end.
func (l *writerGroup) Stop() (all []writerResult) {
	l.stop()
	l.done.Wait()
	for _, w := range l.workers {
		all = append(all, w.refusals)
	}
	return all
}

// Check fails the test for each table in which an acknowledged row is missing, or is there twice. It comes after Stop.
func (l *writerGroup) Check() {
	l.t.Helper()
	for _, w := range l.workers {
		if len(w.marks) == 0 {
			l.t.Errorf("nothing was inserted into %s", w.Table)
			continue
		}
		var rows, marks int
		query := fmt.Sprintf("SELECT COUNT(*), COUNT(DISTINCT %s) FROM %s WHERE %[1]s IN (%[3]s)", w.Mark, w.Table, strings.Join(w.marks, ", "))
		if err := l.db.QueryRowContext(context.Background(), query).Scan(&rows, &marks); err != nil {
			l.t.Error(err)
		} else if rows != len(w.marks) || marks != len(w.marks) {
			l.t.Errorf("%s has %d rows with %d marks of the %d that were acknowledged", w.Table, rows, marks, len(w.marks))
		}
	}
}

// work inserts until the context ends.
func (w *worker) work(ctx context.Context) {
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	for n := range maxInserts {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !w.row(ctx, n) {
			return
		}
	}
}

// row inserts the nth row. It returns false when the writer is to end.
func (w *worker) row(ctx context.Context, n int) bool {
	start, last := time.Now(), ""
	for {
		err := w.insert(n)
		took := time.Since(start)
		if took > w.refusals.Longest {
			w.refusals.Longest, w.refusals.Began, w.refusals.Why = took, start, last
			if err != nil {
				w.refusals.Why = err.Error()
			}
		}
		if err == nil {
			w.marks = append(w.marks, w.MarkOf(n))
			w.refusals.Inserted++
			w.made.Add(1)
			return true
		}
		why := err.Error()
		last = why
		w.why.Store(&why)
		w.refusals.Refused++
		w.refused.Add(1)
		if w.Fatal(err) || took > loadPatience {
			w.load.t.Errorf("the writer of %s gave up after %s: %v", w.Table, took.Round(time.Millisecond), err)
			return false
		}
		if ctx.Err() != nil && took > 5*time.Second { // nobody waits for it any more
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// insert makes one attempt. It reads the parents' ids first, and does not hold them.
func (w *worker) insert(n int) error {
	columns, values := w.Columns, w.Values(n)
	if fill := w.load.fill.Load(); fill != nil && w.Key != "" {
		columns, values = w.Key+", "+columns, fmt.Sprintf("%d, %s", (*fill)(), values)
	}
	if w.Parents != nil {
		for _, query := range w.Parents(n) {
			var id int64
			if err := w.load.db.QueryRowContext(context.Background(), query).Scan(&id); err != nil {
				return fmt.Errorf("%w: %s", err, query)
			}
			values += fmt.Sprintf(", %d", id)
		}
	}
	_, err := w.load.db.ExecContext(context.Background(), fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", w.Table, columns, values))
	return err
}

// TestWriters has a writer meet a table that refuses rows: its inserts are tried again, none is lost, and the refusal is told.
func TestWriters(t *testing.T) {
	t.Parallel()
	d := open(t, "postgres")
	migratetest.Chinook(t, d.pool, "postgres", 50)
	load := startWriters(t, d.pool, tableWriter{
		Table: "album", Key: "album_id", Columns: "title, artist_id", Mark: "title", Every: time.Millisecond,
		Values: func(n int) string { return fmt.Sprintf("'w-%d'", n) }, MarkOf: func(n int) string { return fmt.Sprintf("'w-%d'", n) },
		Parents: func(n int) []string {
			return []string{fmt.Sprintf("SELECT artist_id FROM artist WHERE name = 'Artist %d'", n%5)}
		},
	})
	load.Await(10)
	d.exec("ALTER TABLE album ADD CONSTRAINT closed CHECK (album_id > 1000000) NOT VALID")
	var next atomic.Int64
	next.Store(2_000_000)
	d.exec("ALTER TABLE album ALTER album_id SET GENERATED BY DEFAULT")
	load.AwaitRefused(3)
	load.Fill(func() int64 { return next.Add(1) })
	load.Await(10)
	found := load.Stop()
	load.Check()
	if len(found) != 1 || found[0].Inserted < 20 || found[0].Refused == 0 || load.workers[0].why.Load() == nil { // Why is of the longest insert, which may be another
		t.Errorf("got %v, want twenty rows and a refusal", found)
	}
	t.Log(found[0])
}
