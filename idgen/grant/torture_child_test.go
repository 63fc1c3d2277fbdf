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
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

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
//	clone            the keeper gets a twin with the same memory, and both make ids until one of them is told that it has lost the number
//	reopen           the source of ids is closed and opened again
//	keep             it is not opened again from now on, as it is now and then
type tortureOrders struct {
	Kind, Driver, DSN string
	Leases            bool          // the ids are made with leases, not grants
	Bits              int           // of the number
	Number            int           // of the process, among all that the test has started
	Offset            time.Duration // of the wall clock
	Clock             string        // file of the tortureTime
}

// tortureMessage is what a process says, in lines of JSON: one of these.
type tortureMessage struct {
	Report    *tortureReport
	Violation *tortureViolation
	Duplicate *tortureDuplicate
	Event     *tortureEvent
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
type tortureViolation struct{ Kind, Text string }

// tortureDuplicate is an id that was made twice.
type tortureDuplicate struct {
	Number, Tick  int64
	First, Second string // labels
	Text          string
}

// tortureEvent is what a keeper was told, or tells.
type tortureEvent struct {
	Kind   string
	Keeper string // label
	Number int64
	Holder string
	Known  int64 // the store's tick when it was asked last before that
	From   int64 // of a loss
	Until  int64 // of that, or of the row that was granted
}

// The kinds of events.
const (
	eventGranted = "granted" // or renewed
	eventCloned  = "cloned"
	eventLost    = "lost"   // the store has forgotten the grant
	eventTold    = "told"   // all losses of grants before the present one
	eventClosed  = "closed" // no ids are made any more
)

// Grants and leases are of so short a time that processes are stopped for longer all the time.
const (
	tortureFor     = 2500 * time.Millisecond
	tortureFirst   = 300 * time.Millisecond // of every other process; the others' first grants are as long as all
	tortureEvery   = 250 * time.Millisecond
	tortureMaxSkew = time.Second
	tortureBorrow  = 20                 // ticks that some generators may borrow
	tortureLead    = tortureBorrow + 10 // ticks that ids may be ahead of what the test takes for now
	tortureTwin    = "t"                // after the label of a keeper: that of its twin
)

// tortureTime is the time by which a run's processes and their store go, in a file that all of them have mapped. Nobody can set the clock of
// a database without setting the machine's, so what it tells is changed by these.
type tortureTime struct {
	base   atomic.Int64 // nanoseconds that the clocks of all are ahead of the machine's; it grows
	offset atomic.Int64 // nanoseconds that the store's is ahead of that; negative
}

// mapTortureTime maps the file, which is as long as a page.
func mapTortureTime(path string) (*tortureTime, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(int64(os.Getpagesize())); err != nil {
		return nil, err
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*tortureTime)(unsafe.Pointer(&data[0])), nil
}

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
	common, err := mapTortureTime(c.orders.Clock)
	if err != nil {
		t.Fatal(err)
	}
	c.clock = &tortureClock{start: time.Now(), common: common}
	c.clock.offset.Store(int64(c.orders.Offset))
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
	clone  atomic.Bool                 // the keeper is to be cloned
	twin   atomic.Pointer[tortureMate] // of the keeper; nil for none
	opened int64                       // sources so far

	mu     sync.Mutex
	report tortureReport // guarded by mu
}

// tortureMate is a keeper with the memory of another one.
type tortureMate struct {
	keeper *grant.Keeper
	book   *tortureBook
	over   atomic.Bool // one of the two has lost the number
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
	case "clone":
		c.clone.Store(true)
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
			twin := c.twin.Load()
			if twin != nil && twin.over.Load() {
				c.closeTwin()
				twin = nil
			}
			var both sync.WaitGroup
			if twin != nil {
				both.Go(func() {
					if ids := c.make(ctx, twin.keeper); len(ids) > 0 {
						c.insert(ctx, ids, twin.book)
					}
				})
			}
			ids := c.make(ctx, source)
			both.Wait()
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
		ids := <-late
		if !c.orders.Leases {
			sayTorture(tortureMessage{Event: &tortureEvent{Kind: eventClosed, Keeper: book.label}})
		}
		c.closeTwin()
		if len(ids) > 0 {
			c.insert(ctx, ids, book)
		}
	}
}

// closeTwin closes the keeper's twin if it has one. That of a keeper which runs may get another one then.
func (c *tortured) closeTwin() {
	twin := c.twin.Load()
	if twin == nil {
		return
	}
	c.count("close", twin.keeper.Close())
	sayTorture(tortureMessage{Event: &tortureEvent{Kind: eventClosed, Keeper: twin.book.label}})
	c.twin.Store(nil)
}

// notify returns a keeper's Notify: what the test is told of its losses, and of others that have its memory.
func (c *tortured) notify(book *tortureBook, twin *tortureMate, notified func(grant.State)) func(grant.State) {
	var lost int64
	told := map[grant.Loss]bool{}
	return func(s grant.State) {
		for _, d := range s.Losses {
			if !told[d.Loss] {
				told[d.Loss] = true
				sayTorture(tortureMessage{Event: &tortureEvent{
					Kind: eventLost, Keeper: book.label, Number: d.Number, Holder: d.Holder, From: d.Loss.From, Until: d.Loss.Until,
				}})
			}
		}
		sayTorture(tortureMessage{Event: &tortureEvent{Kind: eventTold, Keeper: book.label}})
		c.mu.Lock()
		c.report.Lost += s.Lost - lost
		c.mu.Unlock()
		if s.Lost > lost {
			if twin == nil {
				twin = c.twin.Load()
			}
			if twin != nil {
				twin.over.Store(true)
			}
			twin = nil
		}
		lost = s.Lost
		notified(s)
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
		options = append(options, idgen.BorrowFull(tortureBorrow), idgen.StartRandom(8))
	case 4:
		options = append(options, idgen.StartZero())
	}
	label := fmt.Sprintf("%d.%d", c.orders.Number, c.opened)
	if c.orders.Leases {
		source, err := openLeased(ctx, c.db, c.orders.Kind, label, options)
		return source, &tortureBook{label: label}, err
	}
	dialect := map[string]grant.Dialect{"sqlite": grant.SQLite, "mysql": grant.MySQL, "postgres": grant.Postgres}[c.orders.Kind]
	book := &tortureBook{Store: grant.SQL(c.db, dialect), label: label, clock: c.clock.common, tick: c.tickOf}
	config := grant.Config{
		Generator: options, For: tortureFor, First: tortureFor, Every: tortureEvery, MaxSkew: tortureMaxSkew, Name: label,
		Logger: slog.New(slog.DiscardHandler),
	}
	if c.orders.Number%2 == 0 {
		config.First = tortureFirst
	}
	var keeper atomic.Pointer[grant.Keeper]
	config.Notify = c.notify(book, nil, func(s grant.State) {
		if k := keeper.Load(); k != nil && s.Held && s.Err == nil && c.twin.Load() == nil && c.clone.CompareAndSwap(true, false) {
			c.count("clone", c.double(ctx, k, book, s))
		}
	})
	// Not of the process's context: the end of that is to find the keeper at work, for Close to end it.
	k, err := grant.Open(context.WithoutCancel(ctx), book, config)
	if err != nil {
		sayTorture(tortureMessage{Event: &tortureEvent{Kind: eventClosed, Keeper: label}}) // it may have had a grant
		return nil, nil, err
	}
	keeper.Store(k)
	c.mu.Lock()
	c.report.Opened++
	c.mu.Unlock()
	return k, book, nil
}

// double gives a keeper a twin, on the keeper's goroutine.
func (c *tortured) double(ctx context.Context, k *grant.Keeper, book *tortureBook, s grant.State) error {
	twin := &tortureMate{book: book.double()}
	sayTorture(tortureMessage{Event: &tortureEvent{
		Kind: eventCloned, Keeper: book.label, Number: s.Number, Holder: s.Holder, Known: book.known.Load(),
	}})
	var err error
	twin.keeper, err = grant.Clone(context.WithValue(context.WithoutCancel(ctx), twinKey{}, twin.book), k,
		c.notify(twin.book, twin, func(grant.State) {}))
	if err == nil {
		c.twin.Store(twin)
	}
	return err
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
	err := c.insertOnce(ctx, text.String())
	c.mu.Lock()
	c.report.Made += int64(len(ids))
	if err == nil {
		c.report.Stored += int64(len(ids))
	}
	c.mu.Unlock()
	if !isDuplicate(err) {
		return !c.count("insert", err)
	}
	return c.insertOthers(ctx, ids, labels)
}

func (c *tortured) insertOnce(ctx context.Context, text string) error {
	conn, err := c.db.Conn(ctx) // on which nothing is tried again, as a pool does by itself
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.ExecContext(ctx, text)
	return err
}

// insertOthers is for ids of which one at least is there already, so that none was inserted: it says which, and inserts the others.
func (c *tortured) insertOthers(ctx context.Context, ids []int64, labels []string) bool {
	for attempt := 0; attempt < 20; attempt++ {
		there, err := c.those(ctx, ids)
		if c.count("insert", err) {
			return false
		}
		var others []int64
		var labelsOf []string
		ofID := map[int64]string{}
		var text strings.Builder
		text.WriteString("INSERT INTO ids (id, pid) VALUES ")
		for i, id := range ids {
			other, twice := there[id]
			if !twice {
				other, twice = ofID[id]
			}
			if twice {
				c.sayDuplicate(id, other, labels[i])
				continue
			}
			if len(others) > 0 {
				text.WriteByte(',')
			}
			text.WriteString("(" + strconv.FormatInt(id, 10) + ",'" + labels[i] + "')")
			others, labelsOf, ofID[id] = append(others, id), append(labelsOf, labels[i]), labels[i]
		}
		if len(others) == 0 {
			return true
		}
		err = c.insertOnce(ctx, text.String())
		if err == nil {
			c.mu.Lock()
			c.report.Stored += int64(len(others))
			c.mu.Unlock()
			return true
		}
		if !isDuplicate(err) {
			return !c.count("insert", err)
		}
		ids, labels = others, labelsOf // another one was inserted meanwhile
	}
	return false
}

// those returns the labels of ids that are in the table.
func (c *tortured) those(ctx context.Context, ids []int64) (map[int64]string, error) {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatInt(id, 10)
	}
	rows, err := c.db.QueryContext(ctx, "SELECT id, pid FROM ids WHERE id IN ("+strings.Join(list, ",")+")")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	there := map[int64]string{}
	for rows.Next() {
		var id int64
		var pid string
		if err := rows.Scan(&id, &pid); err != nil {
			return nil, err
		}
		there[id] = pid
	}
	return there, rows.Err()
}

// sayDuplicate says that an id was made twice.
func (c *tortured) sayDuplicate(id int64, first, second string) {
	parts, err := c.layout.Decode(id)
	if err != nil {
		panic(err) // it was decoded before
	}
	sayTorture(tortureMessage{Duplicate: &tortureDuplicate{
		Number: parts.Node, Tick: c.tick(parts), First: first, Second: second, Text: c.show(id, first) + ", and again by " + second,
	}})
}

func (c *tortured) tick(parts idgen.Parts) int64 { return c.tickOf(parts.Time) }

func (c *tortured) tickOf(t time.Time) int64 { return int64(t.Sub(c.layout.Epoch()) / c.layout.Unit()) }

func (c *tortured) show(id int64, label string) string {
	parts, err := c.layout.Decode(id)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("id %d (number %d, tick %d, sequence %d) of %s", id, parts.Node, c.tick(parts), parts.Sequence, label)
}

// isDuplicate reports whether an INSERT has failed because a key is there already.
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
	common *tortureTime
	offset atomic.Int64 // nanoseconds

	mu           sync.Mutex
	from, frozen time.Duration // guarded by mu: since when, and for how long, the monotonic clock stands still
	lag          time.Duration // guarded by mu: for how long it has stood still before
}

// Wall returns the time of day, with the offset that it has stepped by.
func (c *tortureClock) Wall() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.offset.Load() + c.common.base.Load()))
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
// database's with the offsets of all.
type tortureBook struct {
	grant.Store
	label string
	clock *tortureTime
	tick  func(time.Time) int64
	known atomic.Int64 // the last tick of the store's that it was told

	mu     sync.Mutex
	grants []grant.Row // guarded by mu: one for each acquisition, with the latest until
}

// twinKey is the key of contexts that have the book of a twin, whose store is that of the other keeper.
type twinKey struct{}

// of returns the book of the keeper that calls.
func (b *tortureBook) of(ctx context.Context) *tortureBook {
	if twin, ok := ctx.Value(twinKey{}).(*tortureBook); ok {
		return twin
	}
	return b
}

// double returns a book for the keeper's twin, with what was granted so far.
func (b *tortureBook) double() *tortureBook {
	b.mu.Lock()
	defer b.mu.Unlock()
	twin := &tortureBook{Store: b.Store, label: b.label + tortureTwin, clock: b.clock, tick: b.tick, grants: slices.Clone(b.grants)}
	twin.known.Store(b.known.Load())
	return twin
}

// List is that of the store, but for the time. Where that was changed meanwhile it asks again.
func (b *tortureBook) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	for {
		base, offset := b.clock.base.Load(), b.clock.offset.Load()
		l, err := b.Store.List(ctx, space, least, most)
		if err != nil {
			return l, err
		}
		if base == b.clock.base.Load() && offset == b.clock.offset.Load() {
			l.Now = l.Now.Add(time.Duration(base + offset))
			b.of(ctx).known.Store(b.tick(l.Now))
			return l, nil
		}
	}
}

// Swap is that of the store, with an entry in the book when it succeeds.
func (b *tortureBook) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	known := b.of(ctx).known.Load()
	done, err := b.Store.Swap(ctx, space, old, new)
	if done && new.Holder != "" {
		b.of(ctx).enter(new, known)
	}
	return done, err
}

// enter makes an entry for a row, and tells the test.
func (b *tortureBook) enter(row grant.Row, known int64) {
	row.Holder = grant.Unstamped(row.Holder) // of the acquisition, whichever its swaps
	b.mu.Lock()
	defer b.mu.Unlock()
	sayTorture(tortureMessage{Event: &tortureEvent{Kind: eventGranted, Keeper: b.label, Number: row.Number, Holder: row.Holder, Known: known, Until: row.Until}})
	i := slices.IndexFunc(b.grants, func(known grant.Row) bool { return known.Holder == row.Holder })
	if i < 0 {
		b.grants = append(b.grants, row)
	} else {
		b.grants[i].Until = max(b.grants[i].Until, row.Until)
	}
}

// find returns a label for the acquisition that covers a tick of a number: of the process, the keeper, and the acquisition.
func (b *tortureBook) find(number, tick int64) (label string, ok bool) {
	if b.Store == nil {
		return b.label, true // leases are of a number, not of ticks
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, row := range slices.Backward(b.grants) { // one that was lost early may reach into the next
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
