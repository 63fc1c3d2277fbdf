package grant_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// lines is a handler that keeps the messages of warnings, without the prefix, and fails the test for another level or a message without attributes.
type lines struct {
	t  *testing.T
	mu sync.Mutex
	of []string
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Level != slog.LevelWarn || r.NumAttrs() == 0 {
		l.t.Errorf("got %q at %s with %d attributes, want a warning with some", r.Message, r.Level, r.NumAttrs())
	}
	l.of = append(l.of, r.Message)
	return nil
}

// expect compares the lines since the last time.
func (l *lines) expect(when string, want ...string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.of, want) {
		l.t.Errorf("%s: got the lines %q, want %q", when, l.of, want)
	}
	l.of = nil
}

const (
	failedLine  = "snowkey: renewing the grant failed"
	endingLine  = "snowkey: the grant is about to end, and calls fail from then on"
	renewedLine = "snowkey: the grant is renewed again"
	lostLine    = "snowkey: a number was lost: it has another holder since its grant ended"
	borrowLine  = "snowkey: the generator borrows ticks faster than they come"
)

// Hundreds of attempts that fail are one line, one more before the grant ends, and one when the store is back; each time anew.
func TestLogOfRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, store := &lines{t: t}, newFlaky()
		k := open(t, store, grant.Config{Generator: with(), Logger: slog.New(log)})
		time.Sleep(25 * time.Minute)
		log.expect("while all is well")
		for range 2 {
			store.set(errDown, false, 0)
			time.Sleep(5 * time.Minute)
			log.expect("five minutes down", failedLine)
			time.Sleep(20 * time.Minute)
			log.expect("when the grant has ended", endingLine)
			store.set(nil, false, 0)
			time.Sleep(25 * time.Minute)
			log.expect("when the store is back", renewedLine)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		log.expect("after Close")
	})
}

// A process that was cut off for longer than its grant logs that its number is another's.
func TestLogOfALostNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := grant.Memory(nil)
		log, store := &lines{t: t}, &flaky{Store: memory}
		options := []idgen.Option{small(t), idgen.WithNode(3)}
		open(t, store, grant.Config{Generator: options, Logger: slog.New(log)})
		time.Sleep(25 * time.Minute)
		store.set(errDown, false, 0)
		time.Sleep(15 * time.Minute)
		other := open(t, memory, grant.Config{Generator: options})
		store.set(nil, false, 0)
		time.Sleep(time.Minute)
		log.expect("with another holder", failedLine, endingLine, lostLine)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		log.expect("when the number is free", renewedLine)
	})
}

// A generator that borrows more between two renewals than it may be ahead is one line for as long as that lasts.
func TestLogOfBorrowedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, store := &lines{t: t}, newFlaky()
		k := open(t, store, grant.Config{Generator: []idgen.Option{small(t), idgen.WithNode(3), idgen.BorrowFull(20), idgen.StartZero()}, Logger: slog.New(log)})
		time.Sleep(25 * time.Minute)
		burst := func(ticks, times int) {
			for range times {
				fill(t, k, 64*ticks)
				time.Sleep(time.Second)
			}
		}
		burst(15, 1)
		time.Sleep(2 * time.Minute)
		log.expect("after a burst within the bound")
		burst(15, 300)
		log.expect("after five minutes of bursts", borrowLine)
		time.Sleep(5 * time.Minute)
		burst(15, 90)
		time.Sleep(time.Minute)
		log.expect("after a calm and bursts again", borrowLine)
	})
}

// warning is a store that has something to say of itself.
type warning struct {
	*flaky
	of atomic.Pointer[[]string]
}

func (w *warning) Place() string      { return "here" }
func (w *warning) Warnings() []string { return *w.of.Load() }

// What a store warns of is a line each at the start, once, and again when it comes anew.
func TestLogOfWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const line = "snowkey: the store of the grants has a warning"
		log, store := &lines{t: t}, &warning{flaky: newFlaky()}
		say := func(warnings ...string) { store.of.Store(&warnings) }
		say("commits may be lost", "two tables")
		k := open(t, store, grant.Config{Generator: with(), Logger: slog.New(log)})
		log.expect("at the start", line, line)
		time.Sleep(25 * time.Minute)
		log.expect("while nothing changes")
		say("two tables")
		time.Sleep(25 * time.Minute)
		log.expect("with one less")
		say("two tables", "commits may be lost")
		time.Sleep(25 * time.Minute)
		log.expect("with one again", line)
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
