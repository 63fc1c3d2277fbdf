package ticket_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowkey-go/snowkey/ticket"
)

// resized are two servers of blocks that had the layout of one, with what a resize of them sends.
type resized struct{ first, second script }

func blocksChanged(set, layout string) step {
	return executed("UPDATE `snowkey_blocks` SET "+set+" WHERE name = 'default' AND layout = '"+layout+"'", 1, 0)
}

// newResized is a resize from "1/1x100", at 700, to two servers, of which the second is new.
func newResized(c ticket.Counter) resized {
	k := blockMySQL
	mark := func(s script, name string) script {
		s[0] = s[0].named(name)
		return s
	}
	return resized{
		first: slices.Concat(
			mark(k.inspected("1/1x100").answer("row", values(701, "1/1x100")), "before"),
			script{blocksChanged("layout = '>1/2x100'", "1/1x100").named("freeze")},
			mark(k.inspected(">1/2x100").answer("row", values(701, ">1/2x100")), "frozen"),
			script{blocksChanged("next = 801, layout = '1/2x100'", ">1/2x100").named("thaw")},
			mark(k.inspected("1/2x100").answer("row", values(801, "1/2x100")), "after"),
		),
		second: slices.Concat(
			mark(k.empty(), "before"),
			mark(k.making(c, ">2/2x100", k.empty()), "making"),
			mark(k.inspected(">2/2x100").answer("row", values(101, ">2/2x100")), "frozen"),
			script{blocksChanged("next = 701, layout = '2/2x100'", ">2/2x100").named("thaw")},
			mark(k.inspected("2/2x100").answer("row", values(701, "2/2x100")), "after"),
		),
	}
}

func TestResizeStatements(t *testing.T) {
	a, b := newMock(t), newMock(t)
	s := blockMySQL.servers(t, ticket.Config{}, a, b)
	r := newResized(s.Counter(2))
	a.expect(r.first...)
	b.expect(r.second...)
	if err := s.Resize(t.Context()); err != nil {
		t.Error(err)
	}
}

// A resize that was interrupted, or is done, is run again.
func TestResizeAgain(t *testing.T) {
	k := blockMySQL
	a, b := newMock(t), newMock(t)
	s := k.servers(t, ticket.Config{}, a, b)
	r := newResized(s.Counter(2))
	frozen := func(s script) script { return s[s.find("frozen"):] }
	a.expect(slices.Concat(k.inspected(">1/2x100").answer("row", values(701, ">1/2x100")), frozen(r.first))...)
	b.expect(slices.Concat(k.inspected(">2/2x100").answer("row", values(101, ">2/2x100")), frozen(r.second))...)
	if err := s.Resize(t.Context()); err != nil {
		t.Error(err)
	}
	done := func(number string) script {
		l := k.inspected(number + "/2x100")
		return slices.Concat(l, l, script{blocksChanged(map[string]string{"1": "next = 801", "2": "next = 701"}[number]+", layout = '"+number+"/2x100'", ">"+number+"/2x100")}, l)
	}
	a.expect(done("1")...)
	b.expect(done("2")...)
	if err := s.Resize(t.Context()); err != nil {
		t.Error(err)
	}
}

// An error ends a resize; all that comes after is not sent.
func TestResizeFails(t *testing.T) {
	for _, test := range []struct {
		name          string
		first, second string // the step that fails, or the last that is sent
		fails         int    // the server
	}{
		{"looking", "before", "before", 1},
		{"freezing", "freeze", "before", 1},
		{"looking at frozen rows", "frozen", "frozen", 1},
		{"thawing the first", "thaw", "frozen", 1},
		{"thawing the second", "thaw", "thaw", 2},
		{"looking at the new rows", "after", "after", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := newMock(t), newMock(t)
			s := blockMySQL.servers(t, ticket.Config{}, a, b)
			r := newResized(s.Counter(2))
			// whole has all queries of the inspection that begins with the step.
			whole := func(s script, name string, fails bool) script {
				i := s.find(name)
				if fails {
					return s.fail(name, my(1040)).until(name)
				}
				for i+1 < len(s) && !slices.Contains([]string{"freeze", "making", "frozen", "thaw", "after"}, s[i+1].name) {
					i++
				}
				return s[:i+1]
			}
			a.expect(whole(r.first, test.first, test.fails == 1)...)
			b.expect(whole(r.second, test.second, test.fails == 2)...)
			err := s.Resize(t.Context())
			var failure *ticket.ServerError
			if !errors.As(err, &failure) || failure.Class != ticket.Next || !strings.Contains(err.Error(), "1040") {
				t.Errorf("got %v, want the error 1040", err)
			}
		})
	}
}

// Somebody else changes a row during a resize.
func TestResizeMeets(t *testing.T) {
	for _, name := range []string{"frozen", "after"} {
		t.Run(name, func(t *testing.T) {
			a, b := newMock(t), newMock(t)
			s := blockMySQL.servers(t, ticket.Config{}, a, b)
			r := newResized(s.Counter(2))
			other := blockMySQL.inspected(">1/3x100")
			a.expect(slices.Concat(r.first[:r.first.find(name)], other)...)
			end := r.second.find("thaw")
			if name == "after" {
				end = len(r.second)
			}
			b.expect(r.second[:end]...)
			err := s.Resize(t.Context())
			if !errors.Is(err, ticket.ErrMoving) || !strings.Contains(err.Error(), `server 1: ticket: the servers are being resized: the row has ">1/3x100", want "1/2x100"`) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What is in the way is found before anything is changed.
func TestResizeRefuses(t *testing.T) {
	published := replaceMySQL.inspected("2/2").answer("columns", values("id", "bigint", 1, 0), values("stub", "char", 0, 7)).answer("row", values(600, ""))
	published[published.find("row")].sql = "SELECT id, '' FROM `snowkey_tickets` WHERE stub = 'default'"
	global := settings(1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
	preflight := func(errs ...error) script {
		s := global(replaceMySQL.inspected("1/1")).until("settings").then(executed("SET GLOBAL auto_increment_increment = @@global.auto_increment_increment", 0, 0).named("set"))
		if errs[0] != nil {
			return s.fail("settings", errs[0]).until("settings")
		}
		return s.fail("set", errs[1])
	}
	for _, test := range []struct {
		name          string
		kind          kind
		first, second script
		is            error
		text          string
	}{
		{"garbage", blockMySQL, blockMySQL.inspected("1/1x100").answer("row", values(1, "one")), blockMySQL.empty(), ticket.ErrLayout, `server 1: ticket: the server has another layout: it is "one"`},
		{"another resize", blockMySQL, blockMySQL.inspected(">1/3x100"), blockMySQL.empty(), ticket.ErrMoving, "to 1/3x100, and this is to 1/2x100; end that one first"},
		{"another number", blockMySQL, blockMySQL.inspected("2/2x100"), blockMySQL.empty(), ticket.ErrLayout, "it is number 2 of 2, and in the list it is number 1"},
		{"fewer servers", blockMySQL, blockMySQL.inspected("1/3x100"), blockMySQL.empty(), ticket.ErrLayout, "all 3 servers have to be in the list, which has 2"},
		{"forgotten", blockMySQL, blockMySQL.inspected("1/1x100"), blockMySQL.rowless(1), ticket.ErrForgotten, "server 2"},
		{"published", replaceMySQL, replaceMySQL.inspected("1/2").answer("row", values(1, "1/2")), published, ticket.ErrLayout, "the row has no layout, as published"},
		{"no privilege", replaceMySQL, slices.Concat(global(replaceMySQL.inspected("1/1")), preflight(nil, my(1227))), replaceMySQL.empty(), ticket.ErrLayout, "SET GLOBAL auto_increment_increment = 2, GLOBAL auto_increment_offset = 1 first"},
		{"settings", replaceMySQL, slices.Concat(global(replaceMySQL.inspected("1/1")), preflight(my(1040))), replaceMySQL.empty(), nil, "1040"},
		{"no right", sequence, sequence.inspected("1/1").then(executed(locked(`"snowkey_tickets.default"`, ""), 0, 0).fails(pg("42501"))), sequence.empty(), ticket.ErrTable, "42501"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "published" { // the first is in order
				test.first = test.first.then(test.first[0])
			}
			s := test.kind.servers(t, ticket.Config{}, newMock(t, test.first...), newMock(t, test.second...))
			err := s.Resize(t.Context())
			var failure *ticket.ServerError
			if test.is != nil && !errors.Is(err, test.is) || !errors.As(err, &failure) || failure.Class != ticket.Permanent || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %v: %s", err, test.is, test.text)
			}
		})
	}
}

// The server's variables are set where they are not, by thaw.
func TestThaw(t *testing.T) {
	ctx := t.Context()
	for _, test := range []struct {
		name  string
		kind  kind
		steps script
		floor int64
		is    error
	}{
		{"settings fail", replaceMySQL, script{queried(mysqlSettings).fails(errReset)}, 700, errReset},
		{"no privilege", replaceMySQL, script{
			queried(mysqlSettings, values(1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)),
			executed("SET GLOBAL auto_increment_increment = 3, GLOBAL auto_increment_offset = 2", 0, 0).fails(my(1227)),
		}, 700, ticket.ErrLayout},
		{"raise fails", replaceSQLite, script{executed(`REPLACE INTO "snowkey_tickets" (id, stub, layout) SELECT 700, stub, layout FROM "snowkey_tickets"`+
			` WHERE stub = 'default' AND layout = '>2/3' AND NOT EXISTS (SELECT 1 FROM "snowkey_tickets" AS other WHERE other.id >= 700)`, 0, 0).fails(errReset)}, 700, errReset},
		{"no numbers left", sequence, nil, math.MaxInt64, ticket.ErrExhausted},
		{"no numbers left", blockPostgres, nil, math.MaxInt64, ticket.ErrExhausted},
		{"row is gone", blockPostgres, script{queried(`UPDATE "snowkey_blocks" SET next = 701, layout = '2/3' WHERE name = 'default' AND layout = '>2/3' RETURNING ` + durable)}, 700, nil},
		{"commit fails", blockPostgres, script{queried(`UPDATE "snowkey_blocks" SET next = 701, layout = '2/3' WHERE name = 'default' AND layout = '>2/3' RETURNING `+durable,
			values("on")).uncommitted(errReset)}, 700, errReset},
	} {
		t.Run(test.kind.String()+"/"+test.name, func(t *testing.T) {
			m := newMock(t, test.steps...)
			c := test.kind.servers(t, ticket.Config{}, newMock(t), m, newMock(t)).Counter(2)
			to := "2/3"
			if err := c.Thaw(ctx, m.conn(), to, test.floor); !errors.Is(err, test.is) {
				t.Errorf("got %v, want %v", err, test.is)
			}
		})
	}
	c := sequence.servers(t, ticket.Config{}, newMock(t)).Counter(1)
	if err := c.Fence(ctx, nil, ticket.Order{Layout: "1/1", High: math.MaxInt64}); !errors.Is(err, ticket.ErrUnmatched) {
		t.Errorf("got %v, want %v", err, ticket.ErrUnmatched)
	}
}

// A SEQUENCE says its layout in no statement. A source that was idle during a resize gets a number of the new layout, and goes on with that.
func TestResizedSequenceIsNotQuarantined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := sequence
		m := newMock(t)
		source, err := ticket.Replace(ticket.Server{DB: m.db, Dialect: ticket.Postgres}, ticket.Config{Increment: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		m.expect(append(k.inspected("1/2"), k.draw(603))...)
		wantNext(t, source, 603)
		now := k.inspected("1/3").answer("value", values(604, true))
		m.expect(slices.Concat(script{k.draw(604)}, now, now, script{k.draw(607)})...)
		wantNext(t, source, 607)
		if stats := source.Stats().Servers[0]; stats.Layout != "1/3" || stats.Burnt != 1 {
			t.Errorf("got %+v", stats)
		}
	})
}

// A SEQUENCE whose layout is the same as before, and that gives a number of another, is put in quarantine.
func TestSequenceOfAnotherIsQuarantined(t *testing.T) {
	k := sequence
	got, err := k.try(t, newMock(t, append(script{k.draw(9100)}, k.ready().answer("value", values(9100, true))...)...))
	if got != (ticket.Span{}) {
		t.Errorf("got %+v", got)
	}
	wantServerError(t, err, ticket.Quarantine, ticket.ErrLayout)
}
