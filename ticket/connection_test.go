package ticket_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

// Every connection to SQLite is made ready before it is used, each time it is taken from the pool. Other servers are sent nothing.
func TestReady(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			m := newMock(t, k.draw(9101))
			if _, err := k.try(t, m); err != nil {
				t.Error(err)
			}
			m.expect(k.draw(9401))
			if _, err := k.try(t, m); err != nil {
				t.Error(err)
			}
			want := map[bool]int64{true: 2, false: 0}[k.dialect == ticket.SQLite]
			if got := m.readied.Load(); got != want || m.opened.Load() != 1 {
				t.Errorf("got ready %d times on %d connections, want %d on one", got, m.opened.Load(), want)
			}
		})
	}
}

// On a connection with an open transaction nothing would be committed.
func TestReadyInTransaction(t *testing.T) {
	k := replaceSQLite
	m := newMock(t)
	m.transaction = true
	_, err := k.try(t, m)
	wantServerError(t, err, ticket.Permanent, ticket.ErrUnsafe)
	if !strings.Contains(err.Error(), "a transaction was begun on the connection and not ended") || m.readied.Load() != 0 {
		t.Errorf("got %v", err)
	}
	m.transaction = false
	m.expect(k.draw(9101))
	if _, err := k.try(t, m); err != nil {
		t.Error(err)
	}
}

// The statement that makes it ready may fail as any other one, and gives the connection back.
func TestReadyFails(t *testing.T) {
	k := replaceSQLite
	m := newMock(t)
	m.db.SetMaxOpenConns(1)
	m.unready = lite(13)
	for range 2 {
		_, err := k.try(t, m)
		wantServerError(t, err, ticket.Next, m.unready)
		if !strings.Contains(err.Error(), "connecting: ") {
			t.Errorf("got %v", err)
		}
	}
}

// SQLite is drawn from by one call at a time. One that waits for its turn ends with its context, and has drawn nothing.
func TestReadyOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := blockSQLite
		draw := func(last, end int64) step {
			s := k.draw(0).with(last+1, 100, "default", "1/1x100", last+1, math.MaxInt64-100)
			s.rows[0] = values(end)
			return s
		}
		m := newMock(t, append(k.inspected("1/1x100").answer("row", values(1, "1/1x100")), draw(0, 701))...)
		m.expect(draw(700, 801), draw(800, 901))
		s := k.servers(t, ticket.Config{}, m)
		if _, err := s.Buy(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		before := m.sent.Load()
		m.after = func(n int64) {
			if n == before+1 {
				<-release
			}
		}
		done := make(chan error)
		go func() {
			_, err := s.Buy(t.Context(), 100)
			done <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := s.Buy(ctx, 100); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 100*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		if sent := m.sent.Load(); sent != before+1 {
			t.Errorf("sent %d statements, want one", sent-before)
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got, err := s.Buy(t.Context(), 100); err != nil || got.First != 801 {
			t.Errorf("got %+v, %v, want 801", got, err)
		}
		if stats := s.ServerStats()[0]; stats.Discarded != 0 {
			t.Errorf("got %d discarded, want none", stats.Discarded)
		}
	})
}

// A SEQUENCE of others is moved forward by drawing from it, as its owner alone may set it.
func TestSkip(t *testing.T) {
	k := sequence
	const object = `"public"."snowkey_tickets.default"`
	denied := k.statements()[0].sends["fence"][0].answered().fails(pg("42501"))
	at := func(last int64) step { return queried("SELECT last_value FROM "+object, values(last)) }
	skip := func(count, last int64) step {
		return queried("SELECT max(nextval(CAST(CAST($1 AS text) AS regclass))), "+durable+" FROM generate_series(1, CAST($2 AS bigint))", values(last, "on")).with(object, count)
	}
	for _, test := range []struct {
		name  string
		high  int64
		steps []step
		is    error
	}{
		{"once", 9000, []step{at(602), skip(2800, 9002)}, nil},
		{"others draw as well", 9000, []step{at(602), skip(2800, 10_001)}, nil},
		{"again", 9000, []step{at(602), skip(2800, 8999), skip(1, 9002)}, nil},
		{"up to a hundred thousand at once", 900_002, []step{at(2), skip(100_000, 300_002), skip(100_000, 600_002), skip(100_000, 900_002)}, nil},
		{"beyond already", 9000, []step{at(9000)}, nil},
		{"may not read", 9000, []step{at(602).fails(pg("42501"))}, pg("42501")},
		{"ends", 9000, []step{at(602), skip(2800, 9002).fails(pg("2200H"))}, pg("2200H")},
		{"commit fails", 9000, []step{at(602), skip(2800, 9002).uncommitted(errReset)}, errReset},
	} {
		t.Run(test.name, func(t *testing.T) {
			first := denied
			first.sql = strings.ReplaceAll(first.sql, "9002", map[bool]string{true: "9002", false: "900005"}[test.high == 9000])
			m := newMock(t, append([]step{first}, test.steps...)...)
			o := k.order()
			o.High = test.high
			err := k.servers(t, ticket.Config{}, newMock(t), m, newMock(t)).Counter(2).Fence(t.Context(), m.conn(), o)
			if test.is == nil && err != nil || test.is != nil && (err == nil || !strings.Contains(err.Error(), test.is.Error())) {
				t.Errorf("got %v, want %v", err, test.is)
			}
		})
	}
	broken := pg("55000")
	m := newMock(t, denied.fails(broken))
	if err := k.servers(t, ticket.Config{}, newMock(t), m, newMock(t)).Counter(2).Fence(t.Context(), m.conn(), k.order()); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// A pool of which the caller uses all connections is told apart from a server that hangs.
func TestPoolInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := blockMySQL
		m := newMock(t)
		m.db.SetMaxOpenConns(1)
		m.conn()
		s := k.servers(t, ticket.Config{}, newMock(t), m, newMock(t))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Try(ctx, 2, k.order())
		wantServerError(t, err, ticket.Next, context.DeadlineExceeded)
		if !strings.Contains(err.Error(), "all 1 connections of the pool are in use") {
			t.Errorf("got %v", err)
		}
	})
}

// A look at a server on a connection that broke is taken again, as often as there may be others of before in the pool.
func TestBrokenConnection(t *testing.T) {
	k := blockMySQL
	m := newMock(t, k.inspected("1/1x100")...)
	s := k.servers(t, ticket.Config{}, m)
	broken := queried(mysqlSettings).fails(errReset)
	if _, err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	m.expect(append(script{broken}, k.inspected("1/1x100")...)...)
	if _, err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	m.expect(broken, broken)
	if _, err := s.Check(t.Context()); !errors.Is(err, errReset) {
		t.Errorf("got %v, want %v", err, errReset)
	}
}

// A server that hangs leaves time to those that are in use, and to them alone.
func TestShareOfTheDeadline(t *testing.T) {
	config := ticket.Config{Failures: 5, Backoff: time.Minute, ServerTimeout: 10 * time.Second, Timeout: time.Second}
	one, two := single{1, 2}, single{2, 2}
	t.Run("another in use", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := newMock(t, append(one.look(600), one.draw(600, 601))...)
			b := newMock(t, append(two.look(600), two.draw(600, 602), two.draw(602, 604))...)
			a.db.SetMaxIdleConns(-1)
			s, _ := tickets(t, config, a, b)
			probe(s)
			wantNext(t, s, 601, 602)
			a.hangs = true
			start := time.Now()
			wantNext(t, s, 604)
			if waited := time.Since(start); waited != 500*time.Millisecond {
				t.Errorf("waited %v, want half of the time", waited)
			}
		})
	})
	t.Run("another is down", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := newMock(t, append(one.look(600), one.draw(600, 601))...)
			b := newMock(t)
			b.refuse = []error{errReset, errReset}
			a.db.SetMaxIdleConns(-1)
			config := config
			config.Failures, config.ServerTimeout = 1, 800*time.Millisecond
			s, _ := tickets(t, config, a, b)
			probe(s)
			wantNext(t, s, 601)
			a.hangs = true
			start := time.Now()
			_, err := s.Next(t.Context())
			wantUnavailable(t, err, context.DeadlineExceeded)
			if stats := s.Stats().Servers[0]; stats.State != ticket.Open || stats.Since.Sub(start) != 800*time.Millisecond {
				t.Errorf("got %+v after %v, want it open after 800ms", stats, stats.Since.Sub(start))
			}
		})
	})
}
