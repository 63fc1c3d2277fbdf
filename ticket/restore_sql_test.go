package ticket_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

// moved is the statement that moves the row of the kind's only server beyond 9000.
func (k kind) moved() step {
	switch k {
	case replaceMySQL:
		return single{1, 1}.fence(0, 9000)
	case replaceSQLite:
		return executed(`REPLACE INTO "main"."snowkey_tickets" (id, stub, layout) SELECT 9000, stub, layout FROM "main"."snowkey_tickets" WHERE stub = 'default' AND id >= 0`+
			` AND layout = '1/1' AND id < 9000 AND NOT EXISTS (SELECT 1 FROM "main"."snowkey_tickets" AS other WHERE other.id >= 9000)`, 1, 9000)
	case sequence:
		return executed(locked(`"public"."snowkey_tickets.default"`, `IF last < 9001 AND 1 = (pg_sequence_parameters('"public"."snowkey_tickets.default"'::regclass)).increment AND said NOT LIKE '>%' THEN
				PERFORM setval('"public"."snowkey_tickets.default"', 9001);
			END IF;`), 0, 0)
	case blockMySQL:
		return executed("UPDATE `app`.`snowkey_blocks` SET next = LAST_INSERT_ID(GREATEST(next, 9001) + 100) WHERE name = 'default' AND layout = '1/1x100'"+
			" AND next BETWEEN 1 AND 9223372036854775707 AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@innodb_flush_log_at_trx_commit IN (1, 3)", 1, 9101)
	}
	s := k.draw(9001-1400).with(9001, 100, "default", "1/1x100", 1, math.MaxInt64-100)
	return s
}

// beyond is the inspection of the kind's server of the layout after it was moved beyond 9000.
func (k kind) beyond(layout string) script {
	look := k.inspected(layout)
	switch {
	case k == sequence:
		return look.answer("value", values(9001, true))
	case k.blocks:
		return look.answer("row", values(9101, layout))
	}
	return look.answer("row", values(9000, 9000, layout))
}

// A row that is there is moved forward, and one that is missing made again, after the number.
func TestRestoreStatements(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			m := newMock(t)
			s := k.servers(t, ticket.Config{}, m)
			m.expect(slices.Concat(k.inspected(k.only()), script{k.moved()}, k.beyond(k.only()))...)
			if err := s.Restore(t.Context(), "server 1", 9000); err != nil {
				t.Error(err)
			}
			making := k.making(s.Counter(1), k.only())
			making[making.find("enter")].result = answer{} // it is there
			insert := making.find("insert")
			for i, statement := range s.Counter(1).Row(k.only(), 9000) {
				making[insert+i].sql = statement
			}
			m.expect(slices.Concat(k.rowless(1), making, k.beyond(k.only()))...)
			if err := s.Restore(t.Context(), "server 1", 9000); err != nil {
				t.Error(err)
			}
		})
	}
}

// What Restore cannot do changes nothing.
func TestRestoreRefuses(t *testing.T) {
	k := blockMySQL
	down := script{queried(mysqlSettings).fails(my(1040))}
	for _, test := range []struct {
		name          string
		server        string
		after         int64
		first, second script
		class         ticket.Class
		is            error
		text          string
	}{
		{"no such server", "server 3", 9000, nil, nil, 0, ticket.ErrConfig, `no server "server 3"`},
		{"nothing", "server 2", 0, nil, nil, 0, ticket.ErrConfig, "to go on after 0, want 1 to less than the limit, 1000000"},
		{"the limit", "server 2", 1_000_000, nil, nil, 0, ticket.ErrConfig, "to go on after 1000000"},
		{"it is down", "server 2", 9000, k.inspected("1/2x100"), down, ticket.Next, nil, "1040"},
		{"garbage", "server 2", 9000, k.inspected("1/2x100"), k.inspected("2/2x100").answer("row", values(101, "two")), ticket.Quarantine, ticket.ErrLayout, `it is "two"`},
		{"frozen", "server 2", 9000, k.inspected(">1/2x100"), k.inspected(">2/2x100"), ticket.Next, ticket.ErrMoving, "to 2; if none is at work, run it again"},
		{"another number", "server 2", 9000, k.inspected("1/2x100"), k.inspected("1/2x100"), ticket.Quarantine, ticket.ErrLayout, "it is number 1 of 2, and in the list it is number 2"},
		{"unsafe", "server 2", 9000, k.inspected("1/2x100"), settings(1, 0, 0, 0, 1, 1, "ROW", 1, 1, 1, 1, 1)(k.inspected("2/2x100")), ticket.Permanent, ticket.ErrUnsafe, "innodb_flush"},
		{"no place", "server 2", 9000, k.inspected("1/1x100"), k.inspected("2/2x100").rowless(2), 0, ticket.ErrLayout, "server 1: ticket: the server has another layout: it has 1/1x100, and there are 2 servers; Resize makes place for them"},
		{"not known", "server 2", 9000, down, k.inspected("2/2x100").rowless(2), 0, nil, "the row's layout is not known unless all servers can be asked: server 1: "},
		{"exhausted", "server 2", 999_950, k.inspected("1/2x100"), slices.Concat(k.inspected("2/2x100"), k.inspected("2/2x100")), ticket.Permanent, ticket.ErrExhausted, "1000000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := k.servers(t, ticket.Config{Limit: 1_000_000}, newMock(t, test.first...), newMock(t, test.second...))
			err := s.Restore(t.Context(), test.server, test.after)
			if test.class != 0 {
				wantServerError(t, err, test.class)
			}
			if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %v: %s", err, test.is, test.text)
			}
		})
	}
}

// A SEQUENCE has no number of its own above.
func TestRestoreAtTheEnd(t *testing.T) {
	k := sequence
	s := k.servers(t, ticket.Config{}, newMock(t, k.inspected("1/3")...), newMock(t, k.inspected("2/3")...), newMock(t, k.inspected("3/3")...))
	err := s.Restore(t.Context(), "server 2", math.MaxInt64-1)
	wantServerError(t, err, ticket.Permanent, ticket.ErrExhausted)
	k = blockPostgres
	s = k.servers(t, ticket.Config{}, newMock(t, k.inspected("1/2x100")...), newMock(t, k.inspected("2/2x100").rowless(1, 2)...))
	err = s.Restore(t.Context(), "server 2", math.MaxInt64-1)
	wantServerError(t, err, ticket.Permanent, ticket.ErrExhausted)
}

// The statement may have done nothing: what Restore finds afterwards tells.
func TestRestoreLooksAgain(t *testing.T) {
	k := blockMySQL
	for _, test := range []struct {
		name string
		then script
		is   error
		text string
	}{
		{"behind", k.inspected("1/1x100"), ticket.ErrTable, "the row is at 600, want 9000 or more: somebody else changed it; run Restore again"},
		{"frozen", k.inspected(">1/2x100"), ticket.ErrMoving, "to 2; if none is at work, run it again"},
		{"gone", k.rowless(1), ticket.ErrForgotten, "Restore makes it again"},
		{"down", script{queried(mysqlSettings).fails(my(1040))}, nil, "1040"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMock(t, slices.Concat(k.inspected("1/1x100"), script{k.moved()}, test.then)...)
			err := k.servers(t, ticket.Config{}, m).Restore(t.Context(), "server 1", 9000)
			if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %v: %s", err, test.is, test.text)
			}
		})
	}
}

// The row that is made again has the place that the others have for it, whatever the configuration.
func TestRestoreTakesThePlace(t *testing.T) {
	k := blockMySQL
	a, b := newMock(t), newMock(t)
	s := k.servers(t, ticket.Config{}, a, b)
	a.expect(k.inspected("1/4x50").registered(1, 2)...)
	gone := k.inspected("2/4x50").rowless(2)
	making := k.making(s.Counter(2), "2/4x50")
	making[making.find("enter")].result = answer{}
	making[making.find("insert")].sql = "INSERT INTO `app`.`snowkey_blocks` (name, next, layout) VALUES ('default', 9051, '2/4x50')"
	b.expect(slices.Concat(gone, making, k.inspected("2/4x50").answer("row", values(9051, "2/4x50")))...)
	if err := s.Restore(t.Context(), "server 2", 9000); err != nil {
		t.Error(err)
	}
}

// A row that somebody else made meanwhile may be further back.
func TestRestoreMeets(t *testing.T) {
	k := blockMySQL
	m := newMock(t)
	s := k.servers(t, ticket.Config{}, m)
	making := k.making(s.Counter(1), k.only()).until("enter")
	making[making.find("enter")].result = answer{}
	m.expect(slices.Concat(k.rowless(1), making, k.inspected(k.only()), script{k.rollback()})...)
	if err := s.Restore(t.Context(), "server 1", 9000); !errors.Is(err, ticket.ErrTable) || !strings.Contains(err.Error(), "run Restore again") {
		t.Errorf("got %v", err)
	}
}

// The published table has a row without a layout.
func TestRestorePublished(t *testing.T) {
	k := replaceMySQL
	m := newMock(t)
	s := k.servers(t, ticket.Config{}, m)
	gone := publishedLook(k.rowless(1))
	making := k.making(s.Counter(1), "1/1").until("enter")
	m.expect(slices.Concat(gone, making, gone,
		script{executed("INSERT INTO `app`.`snowkey_tickets` (id, stub) VALUES (9000, 'default')", 1, 9000), executed(k.end("COMMIT"), 0, 0)}, publishedLook(k.beyond("1/1")))...)
	if err := s.Restore(t.Context(), "server 1", 9000); err != nil {
		t.Error(err)
	}
	m.expect(slices.Concat(publishedLook(k.inspected("1/1")), script{executed(
		"REPLACE INTO `app`.`snowkey_tickets` (id, stub) SELECT 9000, stub FROM `app`.`snowkey_tickets` WHERE stub = 'default' AND id >= 0"+
			" AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@innodb_flush_log_at_trx_commit IN (1, 3)"+
			" AND id < 9000 AND NOT EXISTS (SELECT 1 FROM `app`.`snowkey_tickets` AS other WHERE other.id >= 9000) FOR UPDATE", 2, 9000)}, publishedLook(k.beyond("1/1")))...)
	if err := s.Restore(t.Context(), "server 1", 9000); err != nil {
		t.Error(err)
	}
}

// A server is probed after it was restored, whether it was in use, or had been set aside.
func TestRestoreIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := single{1, 1}
		m := newMock(t, append(one.look(600), one.draw(600, 601))...)
		s, notes := tickets(t, ticket.Config{Timeout: time.Second}, m)
		wantNext(t, s, 601)
		wantNotes(t, notes, "server 1 closed")
		m.expect(slices.Concat(one.look(601), script{one.fence(0, 9000)}, one.look(9000))...)
		if err := s.Restore(t.Context(), "server 1", 9000); err != nil {
			t.Fatal(err)
		}
		wantNotes(t, notes, "server 1 half-open")
		m.expect(append(one.look(9000), one.draw(9000, 9001))...)
		wantNext(t, s, 9001)
		wantNotes(t, notes, "server 1 closed")
		m.expect(slices.Concat(script{one.draw(9001, 9001)}, one.look(50), script{one.fence(0, 20_000)}, one.look(20_000))...)
		_, err := s.Next(t.Context())
		wantUnavailable(t, err, ticket.ErrRegression)
		if err := s.Restore(t.Context(), "server 1", 20_000); err != nil {
			t.Fatal(err)
		}
		m.expect(append(one.look(20_000), one.draw(20000, 20_001))...)
		wantNext(t, s, 20_001)
		if got := fmt.Sprint(notes()); got != "[server 1 quarantined server 1 half-open server 1 closed]" {
			t.Errorf("notified of %s", got)
		}
	})
}

// What was drawn before the row was lost, and is not known yet when Restore begins, is thrown away: the row that is made again gives the same ids to
// others. So is what a probe has drawn.
func TestRestoreWhileAnAnswerIsUnderWay(t *testing.T) {
	for name, given := range map[string]int64{"of a draw": 1, "of a probe": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, one, last := replaceMySQL, single{1, 1}, int64(600)
				m := newMock(t)
				s, _ := tickets(t, ticket.Config{Timeout: time.Second}, m)
				sent := append(one.look(last), one.draw(last, last+1))
				if given > 0 {
					m.expect(sent...)
					wantNext(t, s, 601)
					sent = script{one.draw(last+given, 602)}
				}
				s.Settle("app")
				making := k.making(s.Counter(1), k.only())
				making[making.find("enter")].result = answer{} // it is there
				for i, statement := range s.Counter(1).Row(k.only(), 9000) {
					making[making.find("insert")+i].sql = statement
				}
				m.expect(slices.Concat(sent, k.rowless(1), making, k.beyond(k.only()), one.look(9000), script{one.draw(9000, 9001)})...)
				drawn := m.sent.Load() + int64(len(sent))
				m.after = func(statement int64) {
					if statement != drawn {
						return
					}
					if err := s.Restore(t.Context(), "server 1", 9000); err != nil {
						t.Error(err)
					}
				}
				wantNext(t, s, 9001)
				if stats := s.Stats().Servers[0]; stats.Discarded != 1 || stats.State != ticket.Closed {
					t.Errorf("got %+v, want one that was thrown away, of a server in use", stats)
				}
			})
		})
	}
}
