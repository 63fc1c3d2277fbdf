package ticket_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

// The while that a server is left alone doubles with each probe that fails, up to the last, and is the first again after a ticket.
func TestBackoffDoubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := single{1, 1}
		m := newMock(t)
		m.refuse = slices.Repeat([]error{errReset}, 7)
		s, _ := tickets(t, ticket.Config{Failures: 1, Backoff: time.Second, MaxBackoff: 10 * time.Second}, m)
		// fails has the server probed when its while is over, and reports whether it lasted as long as it should have, give or take a fifth.
		fails := func(while time.Duration) {
			t.Helper()
			probe(s)
			if stats := s.Stats().Servers[0]; stats.State != ticket.Open {
				t.Fatalf("got %+v, want it open", stats)
			}
			opened := time.Now()
			time.Sleep(while*8/10 - time.Millisecond)
			probe(s)
			if stats := s.Stats().Servers[0]; stats.State != ticket.Open || stats.Since != opened {
				t.Errorf("got %+v after %v of %v", stats, time.Since(opened), while)
			}
			time.Sleep(while*4/10 + 2*time.Millisecond)
		}
		for _, while := range []time.Duration{1, 2, 4, 8, 10, 10} {
			fails(while * time.Second)
		}
		m.refuse = nil
		m.expect(append(one.look(0), one.draw(0, 1), one.draw(1, 2).fails(my(1040)))...)
		probe(s)
		wantNext(t, s, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		m.expect(one.look(0).fail("settings", my(1053)).until("settings")...)
		time.Sleep(1200 * time.Millisecond)
		fails(2 * time.Second)
	})
}

// What may have been drawn and is given to nobody is counted, and nothing else.
func TestBurnt(t *testing.T) {
	one := single{1, 1}
	for _, test := range []struct {
		name  string
		probe script // after the look
		calls []step
		want  int64
	}{
		{"the answer is lost", script{one.draw(600, 601)}, []step{one.draw(601, 602).fails(errReset)}, 1},
		{"the server says no", script{one.draw(600, 601)}, []step{one.draw(601, 602).fails(my(1040))}, 0},
		{"a number of before", script{one.draw(600, 601)}, []step{one.draw(601, 600)}, 1},
		{"the probe's answer is lost", script{one.draw(600, 601).fails(errReset)}, nil, 1},
		{"the server says no to a probe", script{one.draw(600, 601).fails(my(1040))}, nil, 0},
		{"a probe cannot look", script{queried(mysqlSettings).fails(errReset).named("look")}, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				look := one.look(600)
				if test.probe[0].name == "look" {
					look = nil
				}
				m := newMock(t, slices.Concat(look, test.probe, test.calls)...)
				s, _ := tickets(t, ticket.Config{Failures: 1, Timeout: 50 * time.Millisecond, Backoff: time.Second}, m)
				probe(s)
				if len(test.calls) > 0 {
					wantNext(t, s, 601)
					_, err := s.Next(t.Context())
					wantUnavailable(t, err)
				}
				if got := s.Stats().Servers[0].Discarded; got != test.want {
					t.Errorf("got %d discarded, want %d", got, test.want)
				}
			})
		})
	}
}

// A block whose answer is lost is discarded as a whole.
func TestBurntBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := blockSQLite
		draw := k.draw(0).with(1, 100, "default", "1/1x100", 601, int64(1<<63-1-100))
		draw.rows[0] = values(701)
		m := newMock(t, append(k.inspected("1/1x100"), draw)...)
		s := k.servers(t, ticket.Config{Failures: 1, Backoff: time.Second}, m)
		if _, err := s.Buy(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		m.expect(k.draw(0).with(701, 500, "default", "1/1x100", 701, int64(1<<63-1-500)).fails(errReset))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := s.Buy(ctx, 401); !errors.Is(err, errReset) {
			t.Errorf("got %v, want %v", err, errReset)
		}
		if got := s.ServerStats()[0].Discarded; got != 500 {
			t.Errorf("got %d discarded, want 500", got)
		}
	})
}

// A server that another one's probe put aside while it was probed itself stays so, and what it gave is discarded.
func TestSettlePutAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := single{1, 2}, single{2, 2}
		a := newMock(t, append(one.look(600), one.draw(600, 601))...)
		b := newMock(t, append(two.look(601), two.draw(601, 602))...)
		s, _ := tickets(t, ticket.Config{}, a, b)
		release := make(chan struct{})
		b.after = func(n int64) {
			if n == 7 { // it has drawn
				<-release
			}
		}
		s.StartProbes()
		synctest.Wait()
		s.Aside(2, ticket.ErrLayout)
		close(release)
		synctest.Wait()
		stats := s.Stats().Servers[1]
		if stats.State != ticket.Quarantined || !errors.Is(stats.Err, ticket.ErrLayout) || stats.Discarded != 1 || stats.Draws != 1 || stats.Last != 0 {
			t.Errorf("got %+v, want it in quarantine, and 1 discarded", stats)
		}
	})
}

// A call that fails after another one put the server aside does not replace the reason.
func TestReasonStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := single{1, 1}
		m := newMock(t, append(one.look(600), one.draw(600, 601), one.draw(601, 602).fails(my(1146)), queried(mysqlSettings).fails(errReset))...)
		s, _ := tickets(t, ticket.Config{}, m)
		wantNext(t, s, 601)
		before := m.sent.Load()
		m.after = func(n int64) {
			if n == before+1 {
				s.Aside(1, ticket.ErrRegression)
			}
		}
		_, err := s.Next(t.Context())
		wantUnavailable(t, err, ticket.ErrRegression)
		stats := s.Stats().Servers[0]
		if stats.State != ticket.Quarantined || !errors.Is(stats.Err, ticket.ErrRegression) || stats.Failures[ticket.Permanent] != 1 {
			t.Errorf("got %+v", stats)
		}
	})
}

// What a probe drew is given to nobody once the server is not in use any more.
func TestSpareIsBurnt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := blockSQLite
		draw := k.draw(0).with(1, 100, "default", "1/1x100", 601, int64(1<<63-1-100))
		draw.rows[0] = values(701)
		s := k.servers(t, ticket.Config{}, newMock(t, append(k.inspected("1/1x100"), draw)...))
		s.StartProbes()
		synctest.Wait()
		if stats := s.ServerStats()[0]; stats.State != ticket.Closed || stats.Discarded != 0 {
			t.Errorf("got %+v, want it in use", stats)
		}
		s.Aside(1, ticket.ErrLayout)
		if stats := s.ServerStats()[0]; stats.State != ticket.Quarantined || stats.Discarded != 100 {
			t.Errorf("got %+v, want 100 discarded", stats)
		}
		_, err := s.Buy(t.Context(), 100)
		wantUnavailable(t, err, ticket.ErrLayout)
	})
}
