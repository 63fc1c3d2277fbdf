package ticket_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// What the driver logs of broken connections is in the errors, and makes output hard to read.
func init() { _ = mysql.SetLogger(log.New(io.Discard, "", 0)) }

// quickDeadline is for calls that end with their context.
const quickDeadline = 300 * time.Millisecond

// retryFactor is for what may take its time on a busy machine, but must happen.
const retryFactor = 30 * time.Second

// recorder collects the ids of all sources of a sequence, of all processes, and reports those that come twice.
type recorder struct {
	t *testing.T

	mu    sync.Mutex
	of    map[int64]string // guarded by mu: the source that an id was of
	twice []string         // guarded by mu: the first of the duplicates
	most  int64            // guarded by mu
	n     int              // guarded by mu: duplicates
}

// newRecorder reports at the end of the test.
func newRecorder(t *testing.T) *recorder {
	r := &recorder{t: t, of: map[int64]string{}}
	t.Cleanup(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.n > 0 {
			t.Errorf("%d ids came twice, such as: %s", r.n, strings.Join(r.twice, "; "))
		}
		if len(r.of) == 0 && !t.Skipped() {
			t.Error("no ids at all")
		}
		t.Logf("%d ids up to %d, %d numbers were not given out", len(r.of), r.most, r.most-int64(len(r.of)))
	})
	return r
}

// add records an id of a source.
func (r *recorder) add(source string, id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if other, found := r.of[id]; found {
		if r.n++; r.n <= 5 {
			r.twice = append(r.twice, fmt.Sprintf("%d of %s, and of %s", id, other, source))
		}
	}
	if id < 1 {
		r.t.Errorf("%s gave %d", source, id)
	}
	r.of[id] = source
	r.most = max(r.most, id)
}

// greatest returns the greatest id so far.
func (r *recorder) greatest() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

// count returns how many ids there are.
func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.of)
}

// draw records n ids of a source, and returns them. It fails the test if they do not come.
func (r *recorder) draw(name string, source *ticket.Tickets, n int) []int64 {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), retryFactor)
	defer cancel()
	ids := make([]int64, 0, n)
	for len(ids) < n {
		id, err := source.Next(ctx)
		if err != nil {
			r.t.Fatalf("%s: %v", name, err)
		}
		r.add(name, id)
		ids = append(ids, id)
	}
	return ids
}

// load is goroutines that draw from a source until they are stopped.
type load struct {
	r      *recorder
	source *ticket.Tickets
	given  atomic.Int64
	failed atomic.Int64
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	errs []error // guarded by mu: the first of them
}

// load begins to draw. Each call is bound by the source's Timeout.
func (r *recorder) load(name string, source *ticket.Tickets, goroutines int) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{r: r, source: source, cancel: cancel}
	r.t.Cleanup(l.stop)
	for range goroutines {
		l.wg.Go(func() {
			for ctx.Err() == nil {
				id, err := source.Next(ctx)
				if err == nil {
					r.add(name, id)
					l.given.Add(1)
					continue
				}
				if ctx.Err() != nil || errors.Is(err, ticket.ErrClosed) {
					return
				}
				l.failed.Add(1)
				l.mu.Lock()
				if len(l.errs) < 10 {
					l.errs = append(l.errs, err)
				}
				l.mu.Unlock()
				rest(ctx)
			}
		})
	}
	return l
}

// rest keeps what is tried again and again from being tried all the time.
func rest(ctx context.Context) {
	timer := time.NewTimer(2 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// more waits until n more ids were given out.
func (l *load) more(n int64) {
	l.r.t.Helper()
	from := l.given.Load()
	eventually(l.r.t, fmt.Sprintf("%d more ids; the errors are %v, the servers %v", n, l.errors(), l.source.Stats().Servers), func() bool { return l.given.Load() >= from+n })
}

func (l *load) errors() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.errs)
}

// stop ends the load, and waits for the calls.
func (l *load) stop() {
	l.cancel()
	l.wg.Wait()
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), retryFactor)
	defer cancel()
	for !is() {
		if ctx.Err() != nil {
			t.Fatalf("not in %s: %s", retryFactor, what)
		}
		rest(ctx)
	}
}

// reasonOf asks for ids, for a moment each time, until it is told the reason why there are none. Until a server has answered, which takes its
// time on a busy machine, a call has only the end of its moment to tell of.
func reasonOf(t testing.TB, want error, next func(context.Context) (int64, error), drawn func(id int64)) error {
	t.Helper()
	for end := time.Now().Add(retryFactor); ; {
		ctx, cancel := context.WithTimeout(context.Background(), quickDeadline)
		id, err := next(ctx)
		cancel()
		switch {
		case err == nil:
			drawn(id)
		case errors.Is(err, want):
			return err
		case !errors.Is(err, context.DeadlineExceeded):
			t.Fatalf("got %v, want %v", err, want)
		}
		if time.Now().After(end) {
			t.Fatalf("got %d, %v for %s, want %v", id, err, retryFactor, want)
		}
	}
}

// none is for reasonOf where no id may come.
func none(t testing.TB) func(id int64) {
	return func(id int64) { t.Errorf("got %d, want none", id) }
}

// system is a database system, with databases of the server that all tests share.
type system struct {
	dialect  ticket.Dialect
	database func(testing.TB) dbtest.Database
	start    func(testing.TB) *dbtest.Server // a server for one test; nil for SQLite
}

func (k system) String() string { return k.dialect.String() }

var (
	sqliteKind   = system{ticket.SQLite, dbtest.SQLite, nil}
	mysqlKind    = system{ticket.MySQL, dbtest.MySQL, func(t testing.TB) *dbtest.Server { return dbtest.StartMySQL(t) }}
	postgresKind = system{ticket.Postgres, dbtest.Postgres, func(t testing.TB) *dbtest.Server { return dbtest.StartPostgres(t) }}
	systems      = []system{sqliteKind, mysqlKind, postgresKind}
)

// address returns what sql.Open takes, with parameters such as "autocommit=0".
func address(d dbtest.Database, parameters ...string) string {
	text := d.DriverDSN
	if d.Kind == "sqlite" {
		text, parameters = "file:"+text, append([]string{"_journal_mode=WAL", "_busy_timeout=5000"}, parameters...)
	}
	for _, p := range parameters {
		separator := "?"
		if strings.Contains(text, "?") {
			separator = "&"
		}
		text += separator + p
	}
	return text
}

// withUser is a database of MySQL as another user has it, who needs no password.
func withUser(d dbtest.Database, user string) dbtest.Database {
	d.DriverDSN = user + d.DriverDSN[strings.Index(d.DriverDSN, "@"):]
	return d
}

// open returns a pool of 8 connections.
func open(t testing.TB, d dbtest.Database, parameters ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.DriverName, address(d, parameters...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	return db
}

// serverOf is a server with a pool of its own.
func serverOf(t testing.TB, d dbtest.Database, parameters ...string) ticket.Server {
	t.Helper()
	return ticket.Server{DB: open(t, d, parameters...), Dialect: dialectOf[d.Kind]}
}

// quick is a configuration that goes back soon to a server that failed. A server has its time, in which a busy machine answers: tests with servers
// that hang say how soon that is noticed.
func quick(c ticket.Config) ticket.Config {
	if c.ServerTimeout == 0 {
		c.ServerTimeout = retryFactor / 5 // Setup, Restore and Resize give it five times as much
	}
	c.Backoff, c.MaxBackoff = 10*time.Millisecond, 200*time.Millisecond
	return c
}

// sourceOf is a source of a process of its own, so to speak: with pools that nobody else has.
func sourceOf(t testing.TB, c ticket.Config, databases ...dbtest.Database) *ticket.Tickets {
	t.Helper()
	servers := make([]ticket.Server, len(databases))
	for i, d := range databases {
		servers[i] = serverOf(t, d)
	}
	return flickr(t, c, servers...)
}

func flickr(t testing.TB, c ticket.Config, servers ...ticket.Server) *ticket.Tickets {
	t.Helper()
	source, err := ticket.Flickr(c, servers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

// setUp is a sourceOf with the tables made.
func setUp(t testing.TB, c ticket.Config, databases ...dbtest.Database) *ticket.Tickets {
	t.Helper()
	source := sourceOf(t, c, databases...)
	mustSetUp(t, source)
	return source
}

func mustSetUp(t testing.TB, source *ticket.Tickets) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), retryFactor)
	defer cancel()
	if err := source.Setup(ctx); err != nil {
		t.Fatalf("Setup: %v", err)
	}
}

func execute(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), retryFactor)
	defer cancel()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// ask returns a number out of the database.
func ask(t testing.TB, db *sql.DB, query string) (n int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), retryFactor)
	defer cancel()
	if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// position returns the number that the sequence "default" is at.
func position(t testing.TB, db *sql.DB, d ticket.Dialect) int64 {
	t.Helper()
	if d == ticket.Postgres {
		return ask(t, db, `SELECT last_value FROM "snowkey_tickets.default"`)
	}
	return ask(t, db, "SELECT id FROM snowkey_tickets WHERE stub = 'default'")
}

// server waits until a server is in a state, and returns its Stats.
func waitFor(t *testing.T, source *ticket.Tickets, number int, state ticket.State) ticket.ServerStats {
	t.Helper()
	var s ticket.ServerStats
	eventually(t, fmt.Sprintf("server %d is %v: %+v", number, state, source.Stats().Servers[number-1]), func() bool {
		s = source.Stats().Servers[number-1]
		return s.State == state
	})
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
