package ticket_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

// A server that answers, and cannot commit, stays open.
func TestProbeDraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := single{1, 1}
		m := newMock(t, append(one.look(0), one.draw(0, 1).fails(my(1836)))...)
		s, notes := tickets(t, ticket.Config{}, m)
		probe(s)
		if stats := s.Stats().Servers[0]; stats.State != ticket.Open || !errors.Is(stats.Err, ticket.ErrReadOnly) {
			t.Errorf("got %+v", stats)
		}
		wantNotes(t, notes, "server 1 open")
	})
}

// A server that hangs has as long as five of the server's timeouts.
func TestProbeHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMock(t)
		m.hangs = true
		s, notes := tickets(t, ticket.Config{ServerTimeout: 200 * time.Millisecond, Timeout: 1500 * time.Millisecond, Backoff: time.Minute}, m)
		start := time.Now()
		_, err := s.Next(t.Context())
		wantUnavailable(t, err, context.DeadlineExceeded)
		if waited := time.Since(start); waited != 1500*time.Millisecond { // of the bubble's clock
			t.Errorf("waited %v", waited)
		}
		wantNotes(t, notes, "server 1 open")
		if stats := s.Stats().Servers[0]; stats.Since.Sub(start) != time.Second || !errors.Is(stats.Err, context.DeadlineExceeded) || stats.Discarded != 0 {
			t.Errorf("got %+v after %v, want that it was opened after 1s", stats, stats.Since.Sub(start))
		}
	})
}

// Close ends a probe that is under way, which says nothing about its server.
func TestProbeIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMock(t)
		m.hangs = true
		s, notes := tickets(t, ticket.Config{}, m)
		probe(s)
		start := time.Now()
		s.Close()
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		if stats := s.Stats().Servers[0]; stats.State != ticket.HalfOpen || stats.Err != nil {
			t.Errorf("got %+v", stats)
		}
		wantNotes(t, notes)
	})
}

// Setup has servers probed at once that were given up.
func TestSetupReconsiders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, one := replaceMySQL, single{1, 1}
		m := newMock(t, k.empty()...)
		s, _ := tickets(t, ticket.Config{}, m)
		_, err := s.Next(t.Context())
		wantUnavailable(t, err, ticket.ErrTable)
		m.expect(slices.Concat(k.empty(), k.making(s.Counter(1), "1/1"), one.look(0), one.look(0), one.look(0), script{one.draw(0, 1)})...)
		if err := s.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantNext(t, s, 1)
	})
}

// Connections that the server closed are found out, and another one is asked.
func TestCheckStaleConnection(t *testing.T) {
	k := blockMySQL
	m := newMock(t, slices.Concat(k.inspected("1/1x100").fail("settings", driver.ErrBadConn).until("settings"), k.inspected("1/1x100"))...)
	got, err := k.servers(t, ticket.Config{}, m).Check(t.Context())
	wantFindings(t, got, nil)
	if err != nil {
		t.Error(err)
	}
}

// The published table gets a row without a layout.
func TestSetupPublished(t *testing.T) {
	k := replaceMySQL
	m := newMock(t)
	s := k.servers(t, ticket.Config{}, m)
	inside, made := publishedLook(k.rowless(1)), publishedLook(k.inspected("1/1"))
	m.expect(slices.Concat(
		publishedLook(k.rowless()),
		k.making(s.Counter(1), "1/1").until("enter"), inside,
		script{executed("INSERT INTO `app`.`snowkey_tickets` (stub) VALUES ('default')", 1, 1), executed(k.end("COMMIT"), 0, 0)}, made, made)...)
	if err := s.Setup(t.Context()); err != nil {
		t.Error(err)
	}
}

// The block that a probe allocated is thrown away where it is not above all ids that the source has.
func TestSpareIsThrownAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := blockSQLite
		draw := func(layout string, floor, jump, last, end int64) step {
			s := k.draw(0)
			s.rows = [][]driver.Value{values(end)}
			return s.with(floor, jump, "default", layout, last+1, math.MaxInt64-jump)
		}
		a := newMock(t, append(k.inspected("1/2x100"), draw("1/2x100", 1, 200, 600, 1001))...)
		b := newMock(t, append(k.inspected("2/2x100"), draw("2/2x100", 101, 200, 700, 901))...)
		s := k.servers(t, ticket.Config{}, a, b)
		s.StartProbes()
		synctest.Wait()
		if got, err := s.Buy(t.Context(), 100); err != nil || got.First != 801 {
			t.Errorf("got %+v, %v, want 801", got, err)
		}
		b.expect(draw("2/2x100", 901, 200, 800, 1101)) // 701 to 800 was allocated
		if got, err := s.Buy(t.Context(), 100); err != nil || got.First != 901 {
			t.Errorf("got %+v, %v, want 901", got, err)
		}
		if stats := s.ServerStats()[1]; stats.Discarded != 100 {
			t.Errorf("got %+v, want 100 discarded", stats)
		}
	})
}

// A row that is behind what the server gave, as a replica has it that answers reads, is no loss as long as the server draws; one that it does not draw from is.
func TestRecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := blockMySQL
		look := k.inspected("1/1x100")
		read := func(next int64) step { return look.answer("row", values(next, "1/1x100"))[look.find("row")] }
		draw := func(last, end int64) step {
			s := executed(strings.NewReplacer("2/3x100", "1/1x100", "1500", "100", "9101", "1", "501", strconv.FormatInt(last+1, 10), "9223372036854774307", strconv.FormatInt(math.MaxInt64-100, 10)).Replace(k.draw(0).sql), 1, end)
			return s
		}
		m := newMock(t, append(look, draw(600, 801))...) // 701 to 800
		s := k.servers(t, ticket.Config{Failures: 1}, m)
		s.StartProbes()
		synctest.Wait()
		if got, err := s.Buy(t.Context(), 100); err != nil || got.First != 701 {
			t.Fatalf("got %+v, %v, want 701", got, err)
		}
		for _, steps := range []script{{read(801)}, {read(701), draw(800, 901)}, {read(901)}} {
			m.expect(steps...)
			if err := s.Recheck(t.Context()); err != nil {
				t.Errorf("got %v", err)
			}
		}
		if stats := s.ServerStats()[0]; stats.State != ticket.Closed || stats.Discarded != 100 || stats.Last != 900 {
			t.Errorf("got %+v, want it in use, at 900, with 100 ids for nobody", stats)
		}
		unmatched := draw(900, 0)
		unmatched.result = answer{}
		back := append(script{read(701), unmatched}, look.answer("row", values(701, "1/1x100"))...)
		down := draw(900, 0).fails(my(1040)) // and left alone
		down.sql = strings.Replace(down.sql, "GREATEST(next, 1)", "GREATEST(next, 801)", 1)
		m.expect(down)
		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Buy(soon, 100); err == nil || s.ServerStats()[0].State != ticket.Open {
			t.Fatalf("got %v and %+v, want it open", err, s.ServerStats()[0])
		}
		m.expect(read(901).fails(my(1040))) // it still is
		if err := s.Recheck(t.Context()); err != nil {
			t.Errorf("got %v of a server that is down", err)
		}
		m.expect(back...)
		if err := s.Recheck(t.Context()); !errors.Is(err, ticket.ErrRegression) || s.ServerStats()[0].State != ticket.Quarantined {
			t.Errorf("got %v and %+v, want ErrRegression and the quarantine", err, s.ServerStats()[0])
		}
		if err := s.Recheck(t.Context()); err != nil {
			t.Errorf("got %v a second time", err)
		}
	})
}
