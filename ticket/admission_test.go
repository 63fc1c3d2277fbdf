package ticket_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

// Servers that are resized have two layouts for a while. One with another layout than the others' is not used if they were changed meanwhile.
func TestAdmission(t *testing.T) {
	one, two := single{1, 2}, single{2, 3}
	behind := func(layout string) script {
		return replaceMySQL.inspected(layout).answer("row", values(602, 602, layout))
	}
	down := two.look(602).fail("settings", errReset).until("settings") // on the connection that was there, and on a new one
	for _, test := range []struct {
		name   string
		first  script // what is found of server 1 then
		second script // and of server 2, where it is looked at again
		state  ticket.State
		is     error
	}{
		{"the other has it as well", single{1, 3}.look(601), nil, ticket.Closed, nil},
		{"the other is frozen", replaceMySQL.inspected(">1/3").answer("row", values(601, 601, ">1/3")), nil, ticket.Closed, nil},
		{"the other is down", one.look(601).fail("settings", my(1040)).until("settings"), nil, ticket.Closed, nil},
		{"it was changed itself", one.look(601), behind("2/2"), ticket.Open, ticket.ErrLayout},
		{"it is down itself", one.look(601), slices.Concat(down, down), ticket.Open, errReset},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newMock(t, append(one.look(600), one.draw(600, 601))...)
				b := newMock(t)
				b.refuse = []error{errReset}
				s, _ := tickets(t, ticket.Config{Failures: 1, Backoff: time.Second}, a, b)
				probe(s)
				wantNext(t, s, 601)
				time.Sleep(2 * time.Second)
				b.expect(slices.Concat(two.look(601), script{two.draw(601, 602)}, test.second)...)
				a.expect(test.first...)
				probe(s)
				stats := s.Stats().Servers
				if stats[0].State != ticket.HalfOpen { // it is probed before it is used again
					t.Errorf("got server 1 %v", stats[0].State)
				}
				if stats[1].State != test.state || test.is != nil && !errors.Is(stats[1].Err, test.is) {
					t.Errorf("got %+v, want %v", stats[1], test.state)
				}
			})
		})
	}
}

// A source of blocks asks for ids above all that it has.
func TestBuy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := blockSQLite
		draw := func(floor, step, last, end int64) step {
			s := k.draw(0)
			s.rows = [][]driver.Value{values(end)}
			most := int64(math.MaxInt64) - step // as great as the next number may be
			return s.with(floor, step, "default", "1/1x100", last+1, most)
		}
		m := newMock(t, append(k.inspected("1/1x100"), draw(1, 100, 600, 701))...)
		s := k.servers(t, ticket.Config{}, m)
		if got, err := s.Buy(t.Context(), 50); err != nil || got != (ticket.Span{First: 601, Last: 700, Count: 100}) {
			t.Errorf("got %+v, %v", got, err)
		}
		m.expect(draw(701, 300, 700, 1001))
		if got, err := s.Buy(t.Context(), 201); err != nil || got != (ticket.Span{First: 701, Last: 1000, Count: 300}) {
			t.Errorf("got %+v, %v", got, err)
		}
		if stats := s.ServerStats()[0]; stats.Draws != 2 || stats.Discarded != 0 || stats.Last != 1000 || stats.Layout != "1/1x100" {
			t.Errorf("got %+v", stats)
		}
	})
}

// Calls that are cancelled, and calls that have no time, say nothing about a server.
func TestExcused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := single{1, 1}
		m := newMock(t, append(one.look(0), one.draw(0, 1))...)
		s, notes := tickets(t, ticket.Config{Failures: 1}, m)
		wantNext(t, s, 1)
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := s.Next(ctx)
			wantUnavailable(t, err, context.Canceled)
			ctx, cancel = context.WithDeadline(t.Context(), time.Now())
			_, err = s.Next(ctx)
			cancel()
			wantUnavailable(t, err, context.DeadlineExceeded)
		}
		m.expect(one.draw(1, 2))
		wantNext(t, s, 2)
		wantNotes(t, notes, "server 1 closed")
	})
}

// A source that is closed probes nobody.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, notes := tickets(t, ticket.Config{}, newMock(t))
		s.Close()
		s.Close()
		if _, err := s.Next(t.Context()); !errors.Is(err, ticket.ErrClosed) {
			t.Errorf("got %v, want %v", err, ticket.ErrClosed)
		}
		wantNotes(t, notes)
	})
}

// A server that comes again by itself is waited for.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := single{1, 1}
		m := newMock(t, append(one.look(0), one.draw(0, 1), one.draw(1, 2).fails(my(1040)), one.draw(1, 3))...)
		s, notes := tickets(t, ticket.Config{}, m)
		wantNext(t, s, 1, 3) // the second attempt of one call
		wantNotes(t, notes, "server 1 closed")
	})
}
