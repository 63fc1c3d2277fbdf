//go:build linux

package grant_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// tortureChildVariable holds the orders of a process of TestTorture.
const tortureChildVariable = "SNOWKEY_TORTURE_CHILD"

// tortureOrders say what a process is to do. It also reads lines from its standard input, and ends when that does:
//
//	step DURATION    the wall clock steps
//	right            the wall clock is set right, and the monotonic clock goes on
//	freeze DURATION  the monotonic clock stands still, as it does while a machine is suspended
//	store DURATION   the clock of the store is that much ahead of the database's
//	reopen           the source of ids is closed and opened again
//	keep             it is not opened again from now on, as it is now and then
type tortureOrders struct {
	Kind, Driver, DSN string
	Leases            bool          // the ids are made with leases, not grants
	Bits              int           // of the number
	Number            int           // of the process, among all that the test has started
	Offset            time.Duration // of the wall clock
	StoreOffset       time.Duration // of the store's
}

// tortureMessage is what a process says, in lines of JSON: either of the two.
type tortureMessage struct {
	Report    *tortureReport
	Violation *tortureViolation
}

// tortureReport is what a process has done so far.
type tortureReport struct {
	Made, Stored int64             // ids
	Opened       int64             // keepers
	Lost         int64             // numbers that keepers lost to another holder
	Errors       map[string]int64  // by class
	Examples     map[string]string // the first of each class
}

// tortureViolation is what must not happen.
type tortureViolation struct {
	Kind string // duplicate or outside
	Text string
}

// Grants and leases are of so short a time that processes are stopped for longer all the time.
const (
	tortureFor     = 2500 * time.Millisecond
	tortureEvery   = 250 * time.Millisecond
	tortureMaxSkew = time.Second
)

// tortureLayout has so few sequences that two generators that have one number at one time make the same ids at once.
func tortureLayout(bits int) idgen.Layout {
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(bits), idgen.Sequence.Bits(5))
	if err != nil {
		panic(err) // it is the same each time
	}
	return layout
}

// TestProcessOfTorture is not a test, but what TestTorture runs in processes of its own.
func TestProcessOfTorture(t *testing.T) {
	text := os.Getenv(tortureChildVariable)
	if text == "" {
		t.Skip("not a test: TestTorture runs it in processes of its own")
	}
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // what it says is in the errors
	c := &tortured{report: tortureReport{Errors: map[string]int64{}, Examples: map[string]string{}}}
	if err := json.Unmarshal([]byte(text), &c.orders); err != nil {
		t.Fatal(err)
	}
	c.layout = tortureLayout(c.orders.Bits)
	c.clock = &tortureClock{start: time.Now()}
	c.clock.offset.Store(int64(c.orders.Offset))
	c.storeOffset.Store(int64(c.orders.StoreOffset))
	source := c.orders.DSN
	if c.orders.Kind == "sqlite" {
		source = "file:" + source + "?_journal_mode=WAL&_busy_timeout=400"
	}
	db, err := sql.Open(c.orders.Driver, source)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(4)
	c.db = db
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel() // the test has closed the pipe, or is gone
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			c.obey(lines.Text())
		}
	}()
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		for torturePause(ctx, 150*time.Millisecond) {
			c.say()
		}
	}()
	c.work(ctx)
	<-reported
	c.say()
	// At once: the pool has connections to a server that may stand still, and what its driver does about them takes its time.
	os.Exit(0)
}

// tortured is the process itself.
type tortured struct {
	orders tortureOrders
	layout idgen.Layout
	clock  *tortureClock
	db     *sql.DB
	reopen atomic.Bool
	keep   atomic.Bool
	opened int64 // sources so far

	storeOffset atomic.Int64 // nanoseconds

	mu     sync.Mutex
	report tortureReport // guarded by mu
}

// tortureSource is a keeper, or what makes ids with leases.
type tortureSource interface {
	idgen.Source[int64]
	Close() error
}

func (c *tortured) obey(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	d, _ := time.ParseDuration(rest)
	switch verb {
	case "step":
		c.clock.offset.Add(int64(d))
	case "right":
		c.clock.offset.Store(0)
		c.clock.thaw()
	case "freeze":
		c.clock.freeze(d)
	case "store":
		c.storeOffset.Store(int64(d))
	case "reopen":
		c.reopen.Store(true)
	case "keep":
		c.keep.Store(true)
	}
}

// say prints the report.
func (c *tortured) say() {
	c.mu.Lock()
	report := c.report
	report.Errors, report.Examples = maps.Clone(report.Errors), maps.Clone(report.Examples)
	c.mu.Unlock()
	sayTorture(tortureMessage{Report: &report})
}

func sayTorture(m tortureMessage) {
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // cannot happen: they are numbers and texts
	}
	_, _ = os.Stdout.Write(append(line, '\n')) // in one piece; when the test is gone this process is killed
}

// count notes an error, if there is one, and returns whether.
func (c *tortured) count(class string, err error) bool {
	if err == nil {
		return false
	}
	switch {
	case errors.Is(err, grant.ErrSkew) && class == "open":
		class = "clock refused"
	case errors.Is(err, grant.ErrTaken) && class == "open":
		class = "all taken"
	case errors.Is(err, grant.ErrClosed):
		class = "closed"
	case errors.Is(err, grant.ErrEnded):
		class = "ended"
	case errors.Is(err, idgen.ErrClockBack):
		class = "clock back"
	case errors.Is(err, errNoLease):
		class = "no lease"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.Errors[class]++; c.report.Errors[class] == 1 {
		c.report.Examples[class] = err.Error()
	}
	return true
}

// work makes ids and inserts them, until the context ends.
func (c *tortured) work(ctx context.Context) {
	for ctx.Err() == nil {
		c.reopen.Store(false)
		source, book, err := c.open(ctx)
		if c.count("open", err) {
			if errors.Is(err, grant.ErrSkew) && rand.IntN(3) == 0 {
				c.clock.offset.Store(0) // as whoever sees to the clock would do
			}
			torturePause(ctx, rand.N(200*time.Millisecond))
			continue
		}
		for ctx.Err() == nil && !c.reopen.Load() && (c.keep.Load() || rand.IntN(30) > 0) {
			ids := c.make(ctx, source)
			wait := 50 * time.Millisecond
			switch {
			case len(ids) == 0 || !c.insert(ctx, ids, book):
				wait = 80 * time.Millisecond // there is no grant, or no database
			case c.orders.Leases:
				wait = time.Millisecond
			case c.orders.Kind == "sqlite":
				wait = 120 * time.Millisecond // it has one writer at a time
			}
			torturePause(ctx, rand.N(wait))
		}
		// The end comes while ids are made.
		late := make(chan []int64, 1)
		go func() { late <- c.make(context.WithoutCancel(ctx), source) }()
		torturePause(ctx, rand.N(3*time.Millisecond))
		c.count("close", source.Close())
		if ids := <-late; len(ids) > 0 {
			c.insert(ctx, ids, book)
		}
	}
}

// open makes a source of ids, with the policies of one generator or another.
func (c *tortured) open(ctx context.Context) (tortureSource, *tortureBook, error) {
	c.opened++
	options := []idgen.Option{c.layout, idgen.WithClock(c.clock)}
	switch c.orders.Number % 5 {
	case 1:
		options = append(options, idgen.WaitBack(2*time.Second), idgen.StartZero())
	case 2:
		options = append(options, idgen.RefuseBack(), idgen.StartZero())
	case 3:
		options = append(options, idgen.BorrowFull(20), idgen.StartRandom(8))
	case 4:
		options = append(options, idgen.StartZero())
	}
	label := fmt.Sprintf("%d.%d", c.orders.Number, c.opened)
	if c.orders.Leases {
		source, err := openLeased(ctx, c.db, c.orders.Kind, label, options)
		return source, &tortureBook{label: label}, err
	}
	dialect := map[string]grant.Dialect{"sqlite": grant.SQLite, "mysql": grant.MySQL, "postgres": grant.Postgres}[c.orders.Kind]
	book := &tortureBook{Store: grant.SQL(c.db, dialect), label: label, offset: &c.storeOffset}
	var lost int64
	// Not of the process's context: the end of that is to find the keeper at work, for Close to end it.
	k, err := grant.Open(context.WithoutCancel(ctx), book, grant.Config{
		Generator: options, For: tortureFor, Every: tortureEvery, MaxSkew: tortureMaxSkew, Name: label,
		Notify: func(s grant.State) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.report.Lost += s.Lost - lost
			lost = s.Lost
		},
	})
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	c.report.Opened++
	c.mu.Unlock()
	return k, book, nil
}

// make makes ids by several goroutines at once, one by one and many at a time.
func (c *tortured) make(ctx context.Context, source tortureSource) (all []int64) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var mu sync.Mutex
	var group sync.WaitGroup
	most := 100
	if c.orders.Leases {
		most = 600 // so that most of the time ids are being made
	}
	for range 1 + rand.IntN(3) {
		group.Go(func() {
			ids := make([]int64, 1+rand.IntN(most))
			var err error
			if rand.IntN(2) == 0 {
				if err = source.Fill(ctx, ids); err != nil {
					ids = nil
				}
			} else {
				for i := range ids {
					if ids[i], err = source.Next(ctx); err != nil {
						ids = ids[:i]
						break
					}
				}
			}
			if err != nil && ctx.Err() == nil {
				c.count("make", err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, ids...)
		})
	}
	group.Wait()
	return all
}

// insert inserts ids in one statement, and returns whether that has succeeded. It is never tried again: after an error
// nobody knows whether they are there. So the ids are forgotten, unless the error is that one of them is there.
func (c *tortured) insert(ctx context.Context, ids []int64, book *tortureBook) bool {
	labels := make([]string, len(ids))
	var text strings.Builder
	text.WriteString("INSERT INTO ids (id, pid) VALUES ")
	for i, id := range ids {
		parts, err := c.layout.Decode(id)
		if err != nil {
			sayTorture(tortureMessage{Violation: &tortureViolation{"outside", fmt.Sprintf("%d is no id: %v", id, err)}})
			return false
		}
		tick := c.tick(parts)
		var ok bool
		if labels[i], ok = book.find(parts.Node, tick); !ok {
			sayTorture(tortureMessage{Violation: &tortureViolation{"outside",
				c.show(id, book.label) + ", which was not granted: " + book.show(parts.Node)}})
		}
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString("(" + strconv.FormatInt(id, 10) + ",'" + labels[i] + "')")
	}
	// Bounded by itself, so that the end of the process finds no statement halfway.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	err := func() error {
		conn, err := c.db.Conn(ctx) // on which nothing is tried again, as a pool does by itself
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.ExecContext(ctx, text.String())
		return err
	}()
	c.mu.Lock()
	c.report.Made += int64(len(ids))
	if err == nil {
		c.report.Stored += int64(len(ids))
	}
	c.mu.Unlock()
	if !isDuplicate(err) {
		return !c.count("insert", err)
	}
	sayTorture(tortureMessage{Violation: &tortureViolation{"duplicate", c.explain(ctx, ids, labels) + ": " + err.Error()}})
	return false
}

// explain says which id is there already, or is twice among the ids themselves.
func (c *tortured) explain(ctx context.Context, ids []int64, labels []string) string {
	ofID := map[int64]string{}
	list := make([]string, len(ids))
	for i, id := range ids {
		if other, twice := ofID[id]; twice {
			return c.show(id, other) + ", and again by " + labels[i]
		}
		ofID[id], list[i] = labels[i], strconv.FormatInt(id, 10)
	}
	var id int64
	var pid string
	found := c.db.QueryRowContext(ctx, "SELECT id, pid FROM ids WHERE id IN ("+strings.Join(list, ",")+") ORDER BY id LIMIT 1")
	if err := found.Scan(&id, &pid); err != nil {
		return fmt.Sprintf("one of %d ids of %s (%v)", len(ids), labels[0], err)
	}
	return c.show(id, pid) + ", and again by " + ofID[id]
}

func (c *tortured) tick(parts idgen.Parts) int64 {
	return int64(parts.Time.Sub(c.layout.Epoch()) / c.layout.Unit())
}

func (c *tortured) show(id int64, label string) string {
	parts, err := c.layout.Decode(id)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("id %d (number %d, tick %d, sequence %d) of %s", id, parts.Node, c.tick(parts), parts.Sequence, label)
}

// isDuplicate tells whether an INSERT has failed because a key is there already.
func isDuplicate(err error) bool {
	var ofMySQL *mysql.MySQLError
	var ofPostgres *pgconn.PgError
	var ofSQLite sqlite3.Error
	return errors.As(err, &ofMySQL) && ofMySQL.Number == 1062 ||
		errors.As(err, &ofPostgres) && ofPostgres.Code == "23505" ||
		errors.As(err, &ofSQLite) && (ofSQLite.ExtendedCode == sqlite3.ErrConstraintPrimaryKey || ofSQLite.ExtendedCode == sqlite3.ErrConstraintUnique)
}

// torturePause returns whether the time has passed before the context's end.
func torturePause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// tortureClock is the machine's clock with its steps.
type tortureClock struct {
	start  time.Time
	offset atomic.Int64 // nanoseconds

	mu           sync.Mutex
	from, frozen time.Duration // guarded by mu: since when, and for how long, the monotonic clock stands still
	lag          time.Duration // guarded by mu: for how long it has stood still before
}

// Wall returns the time of day, with the offset that it has stepped by.
func (c *tortureClock) Wall() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.offset.Load()))
}

// Elapsed returns the time since the start, less that for which it has stood still.
func (c *tortureClock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed(time.Since(c.start))
}

func (c *tortureClock) elapsed(now time.Duration) time.Duration {
	if now < c.from+c.frozen {
		return c.from - c.lag
	}
	c.lag, c.frozen = c.lag+c.frozen, 0
	return now - c.lag
}

// freeze makes the monotonic clock stand still for some time, if it does not already.
func (c *tortureClock) freeze(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Since(c.start)
	if c.elapsed(now); c.frozen == 0 {
		c.from, c.frozen = now, d
	}
}

// thaw lets the monotonic clock go on from where it stands still.
func (c *tortureClock) thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Since(c.start); now < c.from+c.frozen {
		c.frozen = now - c.from
	}
}

// tortureBook is a store that keeps a book of the grants that one keeper was told of, before the keeper is told. Its clock is the
// database's with an offset, for nobody can set that of a database without setting the machine's.
type tortureBook struct {
	grant.Store
	label  string
	offset *atomic.Int64 // nanoseconds

	mu     sync.Mutex
	grants []grant.Row // guarded by mu: one for each acquisition, with the latest until
}

// List is that of the store, but for the time.
func (b *tortureBook) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	l, err := b.Store.List(ctx, space, least, most)
	l.Now = l.Now.Add(time.Duration(b.offset.Load()))
	return l, err
}

// Swap is that of the store, with an entry in the book when it succeeds.
func (b *tortureBook) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	done, err := b.Store.Swap(ctx, space, old, new)
	if done && new.Holder != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		i := slices.IndexFunc(b.grants, func(row grant.Row) bool { return row.Holder == new.Holder })
		if i < 0 {
			b.grants = append(b.grants, new)
		} else {
			b.grants[i].Until = max(b.grants[i].Until, new.Until)
		}
	}
	return done, err
}

// find returns a label for the acquisition that covers a tick of a number: of the process, the keeper, and the acquisition.
func (b *tortureBook) find(number, tick int64) (label string, ok bool) {
	if b.Store == nil {
		return b.label, true // leases are of a number, not of ticks
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, row := range b.grants {
		if row.Number == number && row.From <= tick && tick < row.Until {
			return fmt.Sprintf("%s.%d", b.label, i+1), true
		}
	}
	return b.label + ".0", false
}

// show lists the grants of a number.
func (b *tortureBook) show(number int64) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, row := range b.grants {
		if row.Number == number {
			list = append(list, fmt.Sprintf("%d until %d", row.From, row.Until))
		}
	}
	return fmt.Sprintf("ticks %s were, of %d grants", strings.Join(list, ", "), len(b.grants))
}
