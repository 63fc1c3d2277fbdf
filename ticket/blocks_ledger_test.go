package ticket_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
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

// blockPatience is for what may take its time on a busy machine, but must happen.
const blockPatience = 60 * time.Second

// blockLedger collects the ids of all sources of a sequence, and reports those that come twice when the test ends.
type blockLedger struct {
	t *testing.T

	mu    sync.Mutex
	books []*blockBook // guarded by mu
}

// blockBook has the ids that one goroutine got of one source. They increase.
type blockBook struct {
	of string

	mu   sync.Mutex
	ids  []int64 // guarded by mu
	back string  // guarded by mu: the first id that was not greater than the one before
}

func newBlockLedger(t *testing.T) *blockLedger {
	l := &blockLedger{t: t}
	t.Cleanup(func() {
		n, most, twice := l.audit()
		if n == 0 && !t.Skipped() {
			t.Error("no ids at all")
		}
		for i, text := range twice {
			if i < 5 {
				t.Error(text)
			}
		}
		if len(twice) > 5 {
			t.Errorf("and %d more", len(twice)-5)
		}
		t.Logf("%d ids up to %d, %d numbers were not given out", n, most, most-int64(n))
	})
	return l
}

// book is for one goroutine, or for calls one after the other.
func (l *blockLedger) book(of string) *blockBook {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &blockBook{of: of}
	l.books = append(l.books, b)
	return b
}

func (b *blockBook) add(ids ...int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		last := int64(0)
		if len(b.ids) > 0 {
			last = b.ids[len(b.ids)-1]
		}
		if id <= last && b.back == "" {
			b.back = fmt.Sprintf("%s gave %d after %d", b.of, id, last)
		}
		b.ids = append(b.ids, id)
	}
}

// audit returns how many ids there are, the greatest, and what is wrong.
func (l *blockLedger) audit() (n int, most int64, wrong []string) {
	type entry struct {
		id   int64
		book *blockBook
	}
	var all []entry
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.books {
		b.mu.Lock()
		if b.back != "" {
			wrong = append(wrong, b.back)
		}
		for _, id := range b.ids {
			all = append(all, entry{id, b})
		}
		b.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	for i, e := range all {
		if i > 0 && all[i-1].id == e.id {
			wrong = append(wrong, fmt.Sprintf("%d came twice, from %s and from %s", e.id, all[i-1].book.of, e.book.of))
		}
		most = e.id
	}
	return len(all), most, wrong
}

// each calls the function for each id.
func (l *blockLedger) each(f func(id int64)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.books {
		b.mu.Lock()
		for _, id := range b.ids {
			f(id)
		}
		b.mu.Unlock()
	}
}

// draw records n ids of a source, by Next and Fill, and returns them. It fails the test if they do not come.
func (l *blockLedger) draw(of string, source *ticket.BlockSource, n int) []int64 {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), blockPatience)
	defer cancel()
	book, ids := l.book(of), make([]int64, 0, n)
	for len(ids) < n {
		keys := make([]int64, min(n-len(ids), 1+rand.IntN(100)))
		if err := fillOrNext(ctx, source, keys); err != nil {
			l.t.Fatalf("%s: %v", of, err)
		}
		book.add(keys...)
		ids = append(ids, keys...)
	}
	return ids
}

// fillOrNext asks for one id with Next, for more with Fill.
func fillOrNext(ctx context.Context, source *ticket.BlockSource, keys []int64) (err error) {
	if len(keys) == 1 {
		keys[0], err = source.Next(ctx)
		return err
	}
	return source.Fill(ctx, keys)
}

// blockLoad is goroutines that take ids from a source until they are stopped.
type blockLoad struct {
	t      *testing.T
	source *ticket.BlockSource
	given  atomic.Int64
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	errs []error // guarded by mu: the first of them
}

// load begins to take ids. Each call is bound by the source's Timeout.
func (l *blockLedger) load(of string, source *ticket.BlockSource, goroutines int) *blockLoad {
	ctx, cancel := context.WithCancel(context.Background())
	load := &blockLoad{t: l.t, source: source, cancel: cancel}
	l.t.Cleanup(load.stop)
	for i := range goroutines {
		book := l.book(fmt.Sprintf("goroutine %d of %s", i+1, of))
		load.wg.Go(func() {
			for ctx.Err() == nil {
				keys := make([]int64, 1)
				if rand.IntN(4) == 0 {
					keys = make([]int64, 1+rand.IntN(40))
				}
				err := fillOrNext(ctx, source, keys)
				switch {
				case err == nil:
					book.add(keys...)
					load.given.Add(int64(len(keys)))
				case ctx.Err() != nil, errors.Is(err, ticket.ErrClosed):
					return
				default:
					load.mu.Lock()
					if len(load.errs) < 5 {
						load.errs = append(load.errs, err)
					}
					load.mu.Unlock()
				}
				blockRest(ctx)
			}
		})
	}
	return load
}

// blockRest keeps what is tried again and again from being tried all the time.
func blockRest(ctx context.Context) {
	timer := time.NewTimer(time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// more waits until n more ids were given out.
func (l *blockLoad) more(n int64) {
	l.t.Helper()
	from := l.given.Load()
	blockEventually(l.t, func() string {
		return fmt.Sprintf("%d more ids; the errors are %v, the buffer %+v", n, l.errors(), l.source.Stats())
	}, func() bool { return l.given.Load() >= from+n })
}

func (l *blockLoad) errors() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.errs)
}

// stop ends the load, and waits for the calls.
func (l *blockLoad) stop() {
	l.cancel()
	l.wg.Wait()
}

// blockEventually waits until something is so.
func blockEventually(t testing.TB, what func() string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), blockPatience)
	defer cancel()
	for !is() {
		if ctx.Err() != nil {
			t.Fatalf("not in %s: %s", blockPatience, what())
		}
		blockRest(ctx)
	}
}

// inState waits until a server is in a state.
func inState(t testing.TB, source *ticket.BlockSource, number int, state ticket.State) {
	t.Helper()
	server := func() ticket.ServerStats { return source.Stats().Servers[number-1] }
	blockEventually(t, func() string { return fmt.Sprintf("server %d is %v: %+v", number, state, server()) },
		func() bool { return server().State == state })
}

// idle waits until nothing is allocated.
func idle(t testing.TB, source *ticket.BlockSource) {
	t.Helper()
	blockEventually(t, func() string { return fmt.Sprintf("nothing is allocated: %+v", source.Stats()) },
		func() bool { return !source.Stats().Refilling })
}

// drain takes what is in the buffer, and more as far as it comes, until a call fails, and returns that error. Waiting does not help such a call.
func (l *blockLedger) drain(of string, source *ticket.BlockSource, most int) error {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), blockPatience)
	defer cancel()
	book := l.book(of)
	for range most {
		id, err := source.Next(ctx)
		if err != nil {
			var unavailable *ticket.UnavailableError
			if !errors.As(err, &unavailable) || unavailable.Ended != nil {
				l.t.Errorf("%s: got %v, want an UnavailableError that waiting does not mend", of, err)
			}
			return err
		}
		book.add(id)
	}
	l.t.Fatalf("%s: still ids after %d", of, most)
	return nil
}

// blockKind is a database system, with databases of the server that all tests share.
type blockKind struct {
	name     string
	database func(testing.TB) dbtest.Database
}

var blockKinds = []blockKind{{"sqlite", dbtest.SQLite}, {"mysql", dbtest.MySQL}, {"postgres", dbtest.Postgres}}

// blockServer is a server with a pool of its own, of 8 connections.
func blockServer(t testing.TB, d dbtest.Database, parameters ...string) ticket.Server {
	t.Helper()
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
	db, err := sql.Open(d.DriverName, text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	return ticket.Server{DB: db, Dialect: dialectOf[d.Kind]}
}

// briskly is a configuration that allocates often, and goes back soon to a server that failed. A server has its time, in which a busy machine answers:
// tests with servers that hang say how soon that is noticed.
func briskly(c ticket.BlockConfig) ticket.BlockConfig {
	if c.ServerTimeout == 0 {
		c.ServerTimeout = blockPatience / 5 // Setup, Restore and Resize give it five times as much
	}
	if c.Timeout == 0 {
		c.Timeout = blockPatience
	}
	c.Backoff, c.MaxBackoff = 10*time.Millisecond, 200*time.Millisecond
	if c.Unit == 0 {
		c.Unit = 100 // numbers that are easy to read
	}
	if c.MaxStep == 0 {
		c.Reserve, c.MinStep, c.MaxStep = 100*time.Millisecond, 200, 2000
	}
	return c
}

// blocksOf is a source of a process of its own, so to speak: with pools that nobody else has.
func blocksOf(t testing.TB, c ticket.BlockConfig, databases ...dbtest.Database) *ticket.BlockSource {
	t.Helper()
	servers := make([]ticket.Server, len(databases))
	for i, d := range databases {
		servers[i] = blockServer(t, d)
	}
	return blocks(t, c, servers...)
}

func blocks(t testing.TB, c ticket.BlockConfig, servers ...ticket.Server) *ticket.BlockSource {
	t.Helper()
	source, err := ticket.Blocks(c, servers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Error(err)
		}
		if s := source.Stats(); s.Allocated != s.Issued+s.Discarded || s.Buffered != 0 {
			t.Errorf("after Close %d ids are allocated, %d issued, %d discarded, %d in the buffer", s.Allocated, s.Issued, s.Discarded, s.Buffered)
		}
	})
	return source
}

// blocksSetUp is blocksOf with the tables made.
func blocksSetUp(t testing.TB, c ticket.BlockConfig, databases ...dbtest.Database) *ticket.BlockSource {
	t.Helper()
	source := blocksOf(t, c, databases...)
	inTime(t, "Setup", source.Setup)
	return source
}

// inTime calls what has to succeed.
func inTime(t testing.TB, what string, call func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), blockPatience)
	defer cancel()
	if err := call(ctx); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func blockExecute(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		inTime(t, statement, func(ctx context.Context) error { _, err := db.ExecContext(ctx, statement); return err })
	}
}

// blockRow returns the row of the sequence "default".
func blockRow(t testing.TB, db *sql.DB) (next int64, layout string) {
	t.Helper()
	inTime(t, "reading the row", func(ctx context.Context) error {
		return db.QueryRowContext(ctx, "SELECT next, layout FROM snowkey_blocks WHERE name = 'default'").Scan(&next, &layout)
	})
	return next, layout
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
