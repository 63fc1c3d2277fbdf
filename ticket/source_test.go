package ticket_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

// single is the script of a source of tickets from one MySQL server of a number.
type single struct{ number, of int64 }

func (s single) layout() string { return fmt.Sprintf("%d/%d", s.number, s.of) }

// look is the inspection that comes before a server is used, after the ticket.
func (s single) look(last int64) script {
	return replaceMySQL.inspected(s.layout()).answer("row", values(last, last, s.layout()))
}

func (s single) matching(last int64) string {
	text := fmt.Sprintf("stub = 'default' AND id >= %d AND layout = '%s' AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */", last, s.layout())
	if s.of > 1 {
		text += fmt.Sprintf(" AND @@auto_increment_increment = %d AND @@auto_increment_offset = %d", s.of, s.number)
	}
	return text + " AND @@innodb_flush_log_at_trx_commit IN (1, 3)"
}

// draw is the statement that draws the ticket, by a source that has the last one.
func (s single) draw(last, id int64) step {
	return executed("REPLACE INTO `app`.`snowkey_tickets` (stub, layout) SELECT stub, layout FROM `app`.`snowkey_tickets` WHERE "+s.matching(last)+" FOR UPDATE", 2, id)
}

// fence is the statement that moves it beyond a number.
func (s single) fence(last, high int64) step {
	return executed(fmt.Sprintf("REPLACE INTO `app`.`snowkey_tickets` (id, stub, layout) SELECT %d, stub, layout FROM `app`.`snowkey_tickets` WHERE %s"+
		" AND id < %[1]d AND NOT EXISTS (SELECT 1 FROM `app`.`snowkey_tickets` AS other WHERE other.id >= %[1]d) FOR UPDATE", high, s.matching(last)), 2, high)
}

// tickets is a source from mocks of MySQL servers, that notes what it is notified of.
func tickets(t *testing.T, config ticket.Config, mocks ...*mock) (source *ticket.Tickets, notes func() []string) {
	t.Helper()
	var mu sync.Mutex
	var noted []string // guarded by mu: probes notify as well
	config.Notify = func(s ticket.ServerStats) {
		mu.Lock()
		defer mu.Unlock()
		noted = append(noted, s.Name+" "+s.State.String())
	}
	var list []ticket.Server
	for _, m := range mocks {
		list = append(list, ticket.Server{DB: m.db, Dialect: ticket.MySQL})
	}
	source, err := ticket.Flickr(config, list...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { source.Close() })
	return source, func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		n := noted
		noted = nil
		return n
	}
}

// probe has the servers probed that are due, so that no call does so.
func probe(s *ticket.Tickets) {
	s.StartProbes()
	synctest.Wait()
}

func wantNext(t *testing.T, s *ticket.Tickets, want ...int64) {
	t.Helper()
	for _, w := range want {
		if got, err := s.Next(t.Context()); err != nil || got != w {
			t.Fatalf("got %d, %v, want %d", got, err, w)
		}
		synctest.Wait() // the probe tells that it has closed the server
	}
}

func wantNotes(t *testing.T, notes func() []string, want ...string) {
	t.Helper()
	if got := notes(); !slices.Equal(got, want) {
		t.Errorf("notified of %q, want %q", got, want)
	}
}

// wantUnavailable tests the error of a source without servers.
func wantUnavailable(t *testing.T, err error, is ...error) *ticket.UnavailableError {
	t.Helper()
	var unavailable *ticket.UnavailableError
	if !errors.As(err, &unavailable) {
		t.Fatalf("got %v, want an UnavailableError", err)
	}
	for _, want := range append(is, ticket.ErrUnavailable) {
		if !errors.Is(err, want) {
			t.Errorf("got %v, want that it is %v", err, want)
		}
	}
	return unavailable
}

func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := single{1, 1}
		m := newMock(t, append(one.look(600), one.draw(600, 601), one.draw(601, 602), one.draw(602, 610))...)
		s, notes := tickets(t, ticket.Config{}, m)
		wantNext(t, s, 601, 602, 610)
		wantNotes(t, notes, "server 1 closed")
		stats := s.Stats()
		if stats.Issued != 3 || len(stats.Servers) != 1 {
			t.Fatalf("got %+v", stats)
		}
		if got := stats.Servers[0]; got.Name != "server 1" || got.State != ticket.Closed || got.Layout != "1/1" || got.Last != 610 || got.Draws != 3 || got.Discarded != 0 || got.Err != nil {
			t.Errorf("got %+v", got)
		}
	})
}

// Servers take turns. One that fails is stood in for, opened after so many failures, and probed when its while is over.
func TestFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := single{1, 2}, single{2, 2}
		a := newMock(t, append(one.look(599), one.draw(599, 601), one.draw(601, 603).fails(my(1040)), one.draw(601, 603).fails(my(1040)))...)
		b := newMock(t, append(two.look(600), two.draw(600, 602), two.draw(602, 604), two.draw(604, 606), two.draw(606, 608), two.draw(608, 610))...)
		s, notes := tickets(t, ticket.Config{Failures: 2, Backoff: time.Second}, a, b)
		probe(s)
		notes()
		wantNext(t, s, 601, 602, 604, 606)
		wantNotes(t, notes, "server 1 open")
		wantNext(t, s, 608, 610)
		stats := s.Stats().Servers[0]
		if stats.State != ticket.Open || stats.Failures[ticket.Next] != 2 || stats.Discarded != 0 || stats.Err == nil || !strings.Contains(stats.Err.Error(), "1040") {
			t.Errorf("got %+v", stats)
		}
		time.Sleep(2 * time.Second) // of the bubble's clock
		// The probe finds server 1 behind the others: its ticket is thrown away, it is moved forward.
		a.expect(append(one.look(603), one.draw(603, 605), one.fence(605, 610), one.draw(605, 611))...)
		probe(s)
		wantNotes(t, notes, "server 1 closed")
		if stats := s.Stats().Servers[0]; stats.Fences != 1 || stats.Discarded != 1 || stats.State != ticket.Closed {
			t.Errorf("got %+v", stats)
		}
		b.expect(two.draw(610, 612))
		wantNext(t, s, 611, 612)
	})
}

// A fence that fails, or does not help, leaves the server open.
func TestFence(t *testing.T) {
	one, two := single{1, 2}, single{2, 2}
	for _, test := range []struct {
		name      string
		steps     []step // of server 2, which is at 2
		limit     int64
		class     ticket.Class
		is        error
		text      string
		discarded int64
	}{
		{"helps", []step{two.fence(2, 601), two.draw(2, 602)}, 0, 0, nil, "", 1},
		{"fails", []step{two.fence(2, 601).fails(my(1836))}, 0, ticket.Next, ticket.ErrReadOnly, "1836", 1},
		{"may not", []step{two.fence(2, 601).fails(my(1142))}, 0, ticket.Permanent, ticket.ErrTable, "", 1},
		{"does not help", []step{two.fence(2, 601), two.draw(2, 4)}, 0, ticket.Next, nil, "it is at 4, behind 601 of the others, and could not be moved forward", 2},
		{"is followed by an error", []step{two.fence(2, 601), two.draw(2, 602).fails(my(1040))}, 0, ticket.Next, nil, "", 1},
		{"is followed by a number of before", []step{two.fence(2, 601), two.draw(2, 2)}, 0, ticket.Quarantine, ticket.ErrRegression, "", 2},
		{"is not possible", nil, 601, ticket.Permanent, ticket.ErrExhausted, "", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newMock(t, append(one.look(600), one.draw(600, 601))...)
				b := newMock(t)
				b.refuse = []error{errReset}
				s, notes := tickets(t, ticket.Config{Limit: test.limit, Failures: 1, Backoff: time.Second}, a, b)
				probe(s)
				wantNext(t, s, 601)
				notes()
				time.Sleep(2 * time.Second)
				b.expect(append(append(two.look(0), two.draw(0, 2)), test.steps...)...)
				probe(s)
				stats := s.Stats().Servers[1]
				if stats.Fences != 1 || stats.Discarded != test.discarded {
					t.Errorf("got %d fences, %d discarded, want 1 and %d", stats.Fences, stats.Discarded, test.discarded)
				}
				if test.class == 0 {
					wantNext(t, s, 602)
					wantNotes(t, notes, "server 2 closed")
					return
				}
				wantServerError(t, stats.Err, test.class)
				if test.is != nil && !errors.Is(stats.Err, test.is) {
					t.Errorf("got %v, want that it is %v", stats.Err, test.is)
				}
				if !strings.Contains(stats.Err.Error(), test.text) {
					t.Errorf("got %v, want %s", stats.Err, test.text)
				}
				if want := map[bool]ticket.State{true: ticket.Quarantined, false: ticket.Open}[test.class == ticket.Quarantine]; stats.State != want {
					t.Errorf("got %v, want %v", stats.State, want)
				}
			})
		})
	}
}

// A server whose numbers cannot be trusted is not used until it is readmitted, and then not with numbers of before.
func TestQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := single{1, 1}
		m := newMock(t, append(one.look(600), one.draw(600, 601), one.draw(601, 601))...)
		s, notes := tickets(t, ticket.Config{}, m)
		wantNext(t, s, 601)
		_, err := s.Next(t.Context())
		unavailable := wantUnavailable(t, err, ticket.ErrRegression)
		if unavailable.Ended != nil {
			t.Errorf("got %v, want that waiting would not have helped", unavailable.Ended)
		}
		if want := "ticket: no server gives tickets: server 1: ticket: the server gives out numbers again: it gave 601 after 601"; err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		_, err = s.Next(t.Context())
		wantUnavailable(t, err, ticket.ErrRegression)
		wantNotes(t, notes, "server 1 closed", "server 1 quarantined")

		if err := s.Readmit("server 2"); !errors.Is(err, ticket.ErrConfig) || !strings.Contains(err.Error(), `"server 2"`) {
			t.Errorf("got %v", err)
		}
		m.expect(one.look(500)...)
		if err := s.Readmit("server 1"); err != nil {
			t.Fatal(err)
		}
		_, err = s.Next(t.Context())
		wantUnavailable(t, err, ticket.ErrRegression)
		wantNotes(t, notes, "server 1 half-open", "server 1 quarantined")

		m.expect(append(one.look(700), one.draw(700, 701))...)
		if err := s.Readmit("server 1"); err != nil {
			t.Fatal(err)
		}
		wantNext(t, s, 701)
		wantNotes(t, notes, "server 1 half-open", "server 1 closed")
		m.expect(one.draw(701, 702))
		if err := s.Readmit("server 1"); err != nil { // which is in use
			t.Fatal(err)
		}
		wantNext(t, s, 702)
		wantNotes(t, notes)
	})
}

// An error that lasts is one of the call, which does not wait.
func TestPermanent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMock(t, replaceMySQL.empty()...)
		s, notes := tickets(t, ticket.Config{}, m)
		start := time.Now()
		_, err := s.Next(t.Context())
		wantUnavailable(t, err, ticket.ErrTable)
		var table *ticket.TableError
		if !errors.As(err, &table) || !strings.HasPrefix(table.Statement, "CREATE TABLE IF NOT EXISTS `app`.`snowkey_tickets`") || strings.Count(table.Statement, ";\n") != 3 {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		wantNotes(t, notes, "server 1 open")
	})
}

// All servers are down: calls end with their context, or with the timeout.
func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMock(t)
		m.refuse = slices.Repeat([]error{errReset}, 1000)
		s, _ := tickets(t, ticket.Config{Timeout: 3 * time.Second}, m)
		start := time.Now()
		_, err := s.Next(t.Context())
		unavailable := wantUnavailable(t, err, context.DeadlineExceeded, errReset)
		if waited := time.Since(start); waited != 3*time.Second || len(unavailable.Servers) != 1 {
			t.Errorf("waited %v, got %v", waited, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Next(ctx)
		wantUnavailable(t, err, context.Canceled)
		keys := []int64{1, 2, 3}
		err = s.Fill(t.Context(), keys)
		wantUnavailable(t, err, context.DeadlineExceeded)
		if !slices.Equal(keys, []int64{0, 0, 0}) || !strings.HasPrefix(err.Error(), "ticket 1 of 3: ") {
			t.Errorf("got %v, %v", keys, err)
		}
		s.Close()
		if _, err := s.Next(t.Context()); !errors.Is(err, ticket.ErrClosed) {
			t.Errorf("got %v, want %v", err, ticket.ErrClosed)
		}
	})
}

func TestFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := single{1, 1}
		m := newMock(t, append(one.look(0), one.draw(0, 1), one.draw(1, 2), one.draw(2, 3))...)
		s, _ := tickets(t, ticket.Config{Timeout: -1}, m)
		keys := make([]int64, 3)
		if err := s.Fill(t.Context(), keys); err != nil || !slices.Equal(keys, []int64{1, 2, 3}) {
			t.Errorf("got %v, %v", keys, err)
		}
	})
}

// The end of the ids is announced, and reached.
func TestExhausted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := single{1, 1}
		m := newMock(t, append(one.look(88), one.draw(88, 89), one.draw(89, 90), one.draw(90, 91), one.draw(91, 101))...)
		s, notes := tickets(t, ticket.Config{Limit: 100}, m)
		wantNext(t, s, 89)
		wantNotes(t, notes, "server 1 closed")
		wantNext(t, s, 90)
		wantNotes(t, notes, "server 1 closed") // the warning
		wantNext(t, s, 91)
		wantNotes(t, notes)
		_, err := s.Next(t.Context())
		var end *ticket.ExhaustedError
		wantUnavailable(t, err, ticket.ErrExhausted)
		if !errors.As(err, &end) || end.Limit != 100 {
			t.Errorf("got %v", err)
		}
	})
}

// Two servers that divide the ids in different ways give the same numbers: neither is used.
func TestDisagreement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := single{1, 2}, single{2, 3}
		a := newMock(t, append(one.look(600), one.draw(600, 601))...)
		b := newMock(t)
		b.refuse = []error{errReset}
		s, notes := tickets(t, ticket.Config{Failures: 1, Backoff: time.Second}, a, b)
		probe(s)
		wantNext(t, s, 601)
		notes()
		time.Sleep(2 * time.Second)
		b.expect(append(append(two.look(601), two.draw(601, 602)), two.look(602)...)...)
		a.expect(one.look(601)...)
		probe(s)
		for _, stats := range s.Stats().Servers {
			if stats.State != ticket.Quarantined || !errors.Is(stats.Err, ticket.ErrLayout) {
				t.Errorf("got %+v, want both in quarantine", stats)
			}
		}
		wantNotes(t, notes, "server 1 quarantined", "server 2 quarantined")
		_, err := s.Next(t.Context())
		wantUnavailable(t, err, ticket.ErrLayout)
	})
}
