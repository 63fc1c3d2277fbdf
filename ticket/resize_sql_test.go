package ticket_test

import (
	"context"
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

// resized are two servers of blocks that had the layout of one, with what a resize of them sends.
type resized struct{ first, second script }

func blocksChanged(set, layout string) step {
	return executed("UPDATE `app`.`snowkey_blocks` SET "+set+" WHERE name = 'default' AND layout = '"+layout+"'", 1, 0)
}

// blocksThawed is the statement that gives a frozen row its layout, and where it goes on.
func blocksThawed(next int64, layout string) step {
	return executed(fmt.Sprintf("UPDATE `app`.`snowkey_blocks` SET next = %[1]d, layout = '%[2]s' WHERE name = 'default' AND layout = '>%[2]s' AND next <= %[1]d", next, layout), 1, 0)
}

// marked gives the first step a name.
func (s script) marked(name string) script {
	s = slices.Clone(s)
	s[0] = s[0].named(name)
	return s
}

// newResized is a resize from "1/1x100", at 700, to two servers, of which the second is new.
func newResized(first, second ticket.Counter) resized {
	k := blockMySQL
	frozen := k.inspected(">1/2x100").answer("row", values(701, ">1/2x100"))
	made := k.inspected(">2/2x100").answer("row", values(101, ">2/2x100"))
	return resized{
		first: slices.Concat(
			k.inspected("1/1x100").answer("row", values(701, "1/1x100")).marked("before"),
			script{blocksChanged("layout = '>1/2x100'", "1/1x100").named("freeze")},
			frozen.marked("froze"), frozen.marked("frozen"),
			script{blocksThawed(801, "1/2x100").named("thaw")},
			k.inspected("1/2x100").answer("row", values(801, "1/2x100")).marked("after"),
			script{executed(first.Enter(2), 1, 0).named("spread")},
		),
		second: slices.Concat(
			k.empty().marked("before"),
			k.making(second, ">2/2x100").marked("making"),
			made.marked("frozen"),
			script{blocksThawed(701, "2/2x100").named("thaw")},
			k.inspected("2/2x100").answer("row", values(701, "2/2x100")).marked("after"),
			script{executed(second.Enter(1), 1, 0).named("spread")},
		),
	}
}

// stages are the names of the first steps.
var stages = []string{"before", "freeze", "making", "froze", "frozen", "thaw", "after", "spread"}

// through ends a script with the last step of the stage.
func (s script) through(stage string) script {
	i := s.find(stage) + 1
	for i < len(s) && !slices.Contains(stages, s[i].name) {
		i++
	}
	return s[:i]
}

// resizes is a source of two mocks of servers of blocks.
func resizes(t *testing.T) (s *ticket.Servers, a, b *mock, r resized) {
	a, b = newMock(t), newMock(t)
	s = blockMySQL.servers(t, ticket.Config{}, a, b)
	return s, a, b, newResized(s.Counter(1), s.Counter(2))
}

func TestResizeStatements(t *testing.T) {
	s, a, b, r := resizes(t)
	a.expect(r.first...)
	b.expect(r.second...)
	if err := s.Resize(t.Context()); err != nil {
		t.Error(err)
	}
}

// A resize that was interrupted, or is done, is run again.
func TestResizeAgain(t *testing.T) {
	k := blockMySQL
	s, a, b, r := resizes(t)
	a.expect(slices.Concat(k.inspected(">1/2x100").answer("row", values(701, ">1/2x100")), r.first[r.first.find("froze"):])...)
	b.expect(slices.Concat(k.inspected(">2/2x100").answer("row", values(101, ">2/2x100")), r.second[r.second.find("frozen"):])...)
	if err := s.Resize(t.Context()); err != nil {
		t.Error(err)
	}
	// Where all agree only the registers are told, if they do not know.
	a.expect(k.inspected("1/2x100").registered(1, 2)...)
	b.expect(append(k.inspected("2/2x100"), executed(s.Counter(2).Enter(1), 1, 0))...)
	if err := s.Resize(t.Context()); err != nil {
		t.Error(err)
	}
}

// A row that has the layout already is frozen as well where another one has not: what is allocated by the two may be the same ids.
func TestResizeFreezesAll(t *testing.T) {
	s, a, b, r := resizes(t)
	a.expect(slices.Concat(
		blockMySQL.inspected("1/2x100").answer("row", values(801, "1/2x100")),
		script{blocksChanged("layout = '>1/2x100'", "1/2x100")}, r.first[r.first.find("froze"):])...)
	b.expect(slices.Concat(blockMySQL.inspected(">2/2x100").answer("row", values(101, ">2/2x100")), r.second[r.second.find("frozen"):])...)
	if err := s.Resize(t.Context()); err != nil {
		t.Error(err)
	}
}

// An error ends a resize; all that comes after is not sent.
func TestResizeFails(t *testing.T) {
	for _, test := range []struct {
		name          string
		first, second string // the step that fails, or the stage that ends with all that is sent
		fails         int    // the server
	}{
		{"looking", "before", "before", 1},
		{"looking at the second", "before", "before", 2},
		{"freezing", "freeze", "before", 1},
		{"looking at the first again", "froze", "before", 1},
		{"thawing the first", "thaw", "frozen", 1},
		{"thawing the second", "thaw", "thaw", 2},
		{"telling the first", "spread", "spread", 1},
		{"telling the second", "spread", "spread", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, a, b, r := resizes(t)
			sent := func(s script, stage string, fails bool) []step {
				if fails {
					return s.fail(stage, my(1040)).until(stage)
				}
				return s.through(stage)
			}
			a.expect(sent(r.first, test.first, test.fails == 1)...)
			b.expect(sent(r.second, test.second, test.fails == 2)...)
			err := s.Resize(t.Context())
			var failure *ticket.ServerError
			if !errors.As(err, &failure) || failure.Class != ticket.Next || failure.Server != fmt.Sprintf("server %d", test.fails) || !strings.Contains(err.Error(), "1040") {
				t.Errorf("got %v, want the error 1040 of server %d", err, test.fails)
			}
		})
	}
}

// Whoever may not make the new row leaves the first one frozen.
func TestResizeMayNotMake(t *testing.T) {
	s, a, b, r := resizes(t)
	a.expect(r.first.through("froze")...)
	b.expect(r.second.fail("table", my(1142)).until("table")...)
	if err := s.Resize(t.Context()); !errors.Is(err, ticket.ErrTable) || !strings.Contains(err.Error(), "freezing the rows: server 2: ") {
		t.Errorf("got %v, want %v", err, ticket.ErrTable)
	}
}

// A resize whose looks fail between its changes begins anew, and goes on from what it finds.
func TestResizeGoesOn(t *testing.T) {
	for _, stage := range []string{"frozen", "after"} {
		t.Run(stage, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := blockMySQL
				s, a, b, r := resizes(t)
				a.expect(r.first.fail(stage, my(1040)).until(stage)...)
				if stage == "frozen" {
					a.expect(slices.Concat(k.inspected(">1/2x100").answer("row", values(701, ">1/2x100")), r.first[r.first.find("froze"):])...)
					b.expect(slices.Concat(r.second.through("frozen"), k.inspected(">2/2x100").answer("row", values(101, ">2/2x100")), r.second[r.second.find("frozen"):])...)
				} else {
					b.expect(slices.Concat(r.second.through("after"), k.inspected("2/2x100"))...)
					a.expect(append(k.inspected("1/2x100"), r.first[r.first.find("spread")])...)
					b.expect(r.second[r.second.find("spread")])
				}
				if err := s.Resize(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Somebody else changes a row during a resize, to another list's layout: it is begun anew, and finds that.
func TestResizeMeets(t *testing.T) {
	for _, stage := range []string{"froze", "frozen", "after"} {
		t.Run(stage, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, a, b, r := resizes(t)
				other := blockMySQL.inspected(">1/3x100")
				a.expect(slices.Concat(r.first[:r.first.find(stage)], other, other)...)
				b.expect(r.second.through(map[string]string{"froze": "before", "frozen": "frozen", "after": "after"}[stage])...)
				b.expect(blockMySQL.inspected(">2/2x100")...)
				err := s.Resize(t.Context())
				if !errors.Is(err, ticket.ErrMoving) || !strings.Contains(err.Error(), "server 1: ticket: the servers are being resized, to 1/3x100, and this is to 1/2x100; end that one first") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// A resize that meets another one again and again gives up.
func TestResizeMeetsAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, b, r := resizes(t)
		start := time.Now()
		for range 20 {
			a.expect(slices.Concat(r.first.through("freeze"), r.first.through("before"))...)
			b.expect(r.second.through("before")...)
		}
		err := s.Resize(t.Context())
		if want := "ticket: the servers are being resized: somebody else changed a row meanwhile; run Resize again"; !errors.Is(err, ticket.ErrMoving) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if took := time.Since(start); took < 200*time.Millisecond || took > 1200*time.Millisecond {
			t.Errorf("took %v, want 20 pauses of 10 to 60 ms", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		a.expect(slices.Concat(r.first.through("freeze"), r.first.through("before"))...)
		b.expect(r.second.through("before")...)
		if err := s.Resize(ctx); !errors.Is(err, ticket.ErrMoving) {
			t.Errorf("got %v, want %v", err, ticket.ErrMoving)
		}
	})
}

// Tables without a layout go on as they are where they agree.
func TestResizePublished(t *testing.T) {
	k := replaceMySQL
	s := k.servers(t, ticket.Config{}, newMock(t, publishedLook(k.inspected("1/2").registered(1, 2))...), newMock(t, publishedLook(k.inspected("2/2").registered(1, 2))...))
	if err := s.Resize(t.Context()); err != nil {
		t.Error(err)
	}
}

// What is in the way is found before anything is changed.
func TestResizeRefuses(t *testing.T) {
	moving := replaceMySQL.inspected(">1/2")
	global := settings(1, 0, 0, 1, 1, 1, "ROW", 1, 1, 1, 1, 1)
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
		{"forgotten", blockMySQL, blockMySQL.inspected("1/1x100"), blockMySQL.inspected("2/2x100").rowless(2), ticket.ErrForgotten, "server 2"},
		{"forgotten with its register", blockMySQL, blockMySQL.inspected("1/1x100").registered(1, 2), blockMySQL.empty(), ticket.ErrForgotten, "server 2"},
		{"unsafe", blockMySQL, settings(1, 0, 0, 0, 1, 1, "ROW", 1, 1, 1, 1, 1)(blockMySQL.inspected("1/1x100")), blockMySQL.empty(), ticket.ErrUnsafe, "server 1"},
		{"bare SEQUENCE", sequence, sequence.inspected("1/1").answer("object", values("S", "p", 1, 1, math.MaxInt64, 1, false, "")), sequence.empty(), ticket.ErrLayout, "the row has no layout, as published"},
		{"published", replaceMySQL, slices.Concat(moving, moving[:1]), publishedLook(replaceMySQL.inspected("2/2")), ticket.ErrLayout, "the row has no layout, as published"},
		{"no privilege", replaceMySQL, slices.Concat(global(replaceMySQL.inspected("1/1")), preflight(nil, my(1227))), replaceMySQL.empty(), ticket.ErrLayout, "SET GLOBAL auto_increment_increment = 2, GLOBAL auto_increment_offset = 1 first"},
		{"settings", replaceMySQL, slices.Concat(global(replaceMySQL.inspected("1/1")), preflight(my(1040))), replaceMySQL.empty(), nil, "1040"},
		{"no right", sequence, sequence.inspected("1/1").then(executed(locked(`"public"."snowkey_tickets.default"`, ""), 0, 0).fails(pg("42501"))), sequence.empty(), ticket.ErrTable, "42501"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.kind.servers(t, ticket.Config{}, newMock(t, test.first...), newMock(t, test.second...))
			err := s.Resize(t.Context())
			var failure *ticket.ServerError
			class := ticket.Permanent
			if test.is == nil {
				class = ticket.Next
			}
			if test.is != nil && !errors.Is(err, test.is) || !errors.As(err, &failure) || failure.Class != class || !strings.Contains(err.Error(), test.text) {
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
			queried(mysqlSettings, values(1, 0, 0, 1, 1, 1, "ROW", 1, 1, 1, 1, 1, 0)),
			executed("SET GLOBAL auto_increment_increment = 3, GLOBAL auto_increment_offset = 2", 0, 0).fails(my(1227)),
		}, 700, ticket.ErrLayout},
		{"raise fails", replaceSQLite, script{executed(`REPLACE INTO "main"."snowkey_tickets" (id, stub, layout) SELECT 700, stub, layout FROM "main"."snowkey_tickets"`+
			` WHERE stub = 'default' AND layout = '>2/3' AND id < 700 AND NOT EXISTS (SELECT 1 FROM "main"."snowkey_tickets" AS other WHERE other.id >= 700)`, 0, 0).fails(errReset)}, 700, errReset},
		{"no numbers left", sequence, nil, math.MaxInt64, ticket.ErrExhausted},
		{"no numbers left", blockPostgres, nil, math.MaxInt64, ticket.ErrExhausted},
		{"row is gone", blockPostgres, script{queried(`UPDATE "public"."snowkey_blocks" SET next = 701, layout = '2/3' WHERE name = 'default' AND layout = '>2/3' AND next <= 701 RETURNING ` + durable)}, 700, nil},
		{"commit fails", blockPostgres, script{queried(`UPDATE "public"."snowkey_blocks" SET next = 701, layout = '2/3' WHERE name = 'default' AND layout = '>2/3' AND next <= 701 RETURNING `+durable,
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
		source, err := ticket.Replace(ticket.Config{Increment: 2}, ticket.Server{DB: m.db, Dialect: ticket.Postgres})
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		m.expect(append(k.inspected("1/2"), k.draw(603))...)
		wantNext(t, source, 603)
		now := k.inspected("1/3").answer("value", values(604, true))
		m.expect(slices.Concat(script{k.draw(604)}, now, now, script{k.draw(607)})...)
		wantNext(t, source, 607)
		if stats := source.Stats().Servers[0]; stats.Layout != "1/3" || stats.Discarded != 1 {
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
	_, err = k.try(t, newMock(t, k.draw(9100), k.ready()[0].fails(errReset)))
	wantServerError(t, err, ticket.Next, errReset)
}
