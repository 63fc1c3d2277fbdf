package grant

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// The third model is of a change of the layout. Two processes, each of a version that knows of changes or of one that does not, two numbers, and the two
// layouts in small: A has the tick above the number, B the number between the upper part of the tick and its lowest bit, so that a band has two ticks and
// an id of A equals one of B within a band. The database's clock says anything at any time, messages are late, lost or repeated, processes crash. What
// an id is at a tick, and which rows there are under which name, is all that matters here: names of holders, restores and clones have models of their own.

// changing is all there is.
type changing struct {
	at    uint8        // tick of the change; 0 before it was announced
	mark  uint8        // greatest until of any row
	rows  [2]placedRow // by number
	made  [2]uint32    // ids of A, and of B
	procs [2]switcher
}

// placedRow is a row and the name that it has.
type placedRow struct {
	place               uint8 // 0 the space's, 1 after the change
	holder, from, until uint8 // holder 0 where there is no row, 1 where it is free
}

// switcher is a keeper and its generator.
type switcher struct {
	prepared bool  // the rows have been looked for
	place    uint8 // where the keeper has found them
	at       uint8 // tick of the change that it knows of
	number   uint8
	row      placedRow // no holder while there is none
	live     uint8     // the change that the generator knows of
	word     uint8     // tick after the last one used
	sent     sentSwap  // that the keeper waits for
	late     sentSwap  // that it waits for no more
}

type sentSwap struct {
	number        uint8
	holder, until uint8 // compared; holder 0 where there is to be no row
	next          placedRow
}

// changes says what the model is of, and which rules are taken away.
type changes struct {
	end     uint8
	knows   [2]bool // the processes know of changes
	without struct {
		band bool // the change is at any tick
		mark bool // at one that grants reach beyond
		move bool // the rows keep their name
		left bool // a row may be added where they were
		cut  bool // a grant that begins before the change is one of A, also where it reaches beyond
		wait bool // who knows of the change makes ids of B before it
	}
}

// idOf returns the id of a layout.
func idOf(layout, tick, number uint8) uint8 {
	if layout == 0 {
		return tick<<1 | number
	}
	return tick>>1<<2 | number<<1 | tick&1
}

type changeStep struct {
	who  string
	what string
}

func (s changeStep) String() string { return s.who + " " + s.what }

//go:norace
func (m *changes) steps(c changing, visit func(changeStep, changing)) {
	if c.at == 0 {
		for at := uint8(1); at < m.end; at++ {
			if at%2 != 0 && !m.without.band || at < c.mark && !m.without.mark {
				continue
			}
			c := c
			c.at = at
			for n := range c.rows {
				if !m.without.move {
					c.rows[n].place = 1
				}
			}
			visit(changeStep{"the operator", fmt.Sprintf("announces the change at tick %d", at)}, c)
		}
	}
	for p := range c.procs {
		name := string(rune('a' + p))
		k := &c.procs[p]
		m.use(c, p, name, visit)
		if after := c; m.swap(&after, &k.late) {
			visit(changeStep{name, "does not know that the database makes its " + k.late.String()}, after)
		}
		if k.sent.next.holder != 0 {
			forget := c
			forget.procs[p].late, forget.procs[p].sent = k.sent, sentSwap{}
			visit(changeStep{name, "waits no more for its " + k.sent.String()}, forget)
			if done := c; m.swap(&done, &k.sent) {
				after := &done.procs[p]
				after.row, after.number, after.live, after.sent = k.sent.next, k.sent.number, k.at, sentSwap{}
				visit(changeStep{name, "is told that the database has made its " + k.sent.String()}, done)
			}
			continue
		}
		crashed := c
		crashed.procs[p] = switcher{late: k.late}
		visit(changeStep{name, "crashes and starts again"}, crashed)
		if c.at == 0 || m.knows[p] {
			c := c
			c.procs[p].prepared, c.procs[p].at = true, c.at
			if c.at > 0 && !m.without.move {
				c.procs[p].place = 1
			}
			visit(changeStep{name, "looks for the rows"}, c)
		}
		if k.prepared {
			m.ask(c, p, name, visit)
		}
	}
}

func (s sentSwap) String() string {
	return fmt.Sprintf("swap of number %d for [%d, %d)", s.number, s.next.from, s.next.until)
}

// ask sends an acquisition or a renewal.
//
//go:norace
func (m *changes) ask(c changing, p int, name string, visit func(changeStep, changing)) {
	k := &c.procs[p]
	send := func(number uint8, old, next placedRow) {
		next.place = k.place
		if next.from >= next.until {
			return
		}
		c := c
		c.procs[p].sent = sentSwap{number, old.holder, old.until, next}
		visit(changeStep{name, "sends the " + c.procs[p].sent.String()}, c)
	}
	if k.row.holder != 0 {
		for until := k.row.until + 1; until <= m.end; until++ {
			next := k.row
			next.until = until
			send(k.number, k.row, next)
		}
		return
	}
	for n, old := range c.rows {
		if old.holder != 0 && old.place != k.place {
			old = placedRow{} // there is none of that name
		}
		for from := max(old.until, 1); from < m.end; from++ {
			send(uint8(n), old, placedRow{holder: uint8(2 + p), from: from, until: from + 1})
		}
	}
}

// swap is Store.Swap.
//
//go:norace
func (m *changes) swap(c *changing, s *sentSwap) bool {
	if s.next.holder == 0 {
		return false
	}
	r := &c.rows[s.number]
	there := r.holder != 0 && r.place == s.next.place
	switch {
	case s.holder == 0 && r.holder != 0 && !there && m.without.left: // a second row of the number
	case s.holder == 0 && (r.holder != 0 || c.at > 0 && s.next.place == 0 && !m.without.move && !m.without.left):
		return false
	case s.holder != 0 && (!there || r.holder != s.holder || r.until != s.until):
		return false
	}
	if s.holder != 0 || r.holder == 0 {
		*r = s.next
	}
	c.mark = max(c.mark, s.next.until)
	return true
}

// use makes an id.
//
//go:norace
func (m *changes) use(c changing, p int, name string, visit func(changeStep, changing)) {
	k := &c.procs[p]
	for tick := max(k.row.from, k.word); tick < k.row.until; tick++ {
		layout := uint8(0)
		begin := tick
		if m.without.cut {
			begin = k.row.from
		}
		if k.live > 0 && (begin >= k.live || m.without.wait) {
			layout = 1
		}
		c := c
		c.procs[p].word = tick + 1
		id := idOf(layout, tick, k.number)
		c.made[layout] |= 1 << id
		visit(changeStep{name, fmt.Sprintf("makes the id %d of layout %c at tick %d", id, 'A'+layout, tick)}, c)
	}
}

// fault says what is wrong with a state that follows another, or nothing: an id was there already, or one of B is not greater than all of A.
//
//go:norace
func (m *changes) fault(before, next *changing) string {
	if before.procs == next.procs {
		return ""
	}
	for p := range next.procs {
		if was, is := &before.procs[p], &next.procs[p]; is.word <= was.word {
			continue
		}
		if before.made == next.made {
			return "an id is made twice"
		}
		if both := next.made[0] & next.made[1]; both != 0 {
			return "an id is made twice"
		}
		for id := range uint8(32) {
			if next.made[1]>>id&1 != 0 && next.made[0]>>id > 1 {
				return "an id of B is smaller than one of A"
			}
		}
	}
	return ""
}

func (m *changes) exploration() exploration[changing, changeStep] {
	return exploration[changing, changeStep]{
		start: changing{},
		steps: m.steps, fault: m.fault,
		same: m.same,
	}
}

// same forgets what cannot matter any more: swaps that are never made, since the until of a row only grows, and ticks that were used.
//
//go:norace
func (m *changes) same(c changing) changing {
	for p := range c.procs {
		k := &c.procs[p]
		for _, s := range [...]*sentSwap{&k.sent, &k.late} {
			r := &c.rows[s.number]
			switch {
			case s.next.holder == 0 || m.without.left:
			case s.holder == 0 && r.holder != 0, s.holder != 0 && s.until < r.until, s.next.place < r.place:
				*s = sentSwap{}
			}
		}
		if k.word <= k.row.from {
			k.word = 0
		}
		if k.word >= k.row.until {
			k.live = 0
		}
	}
	return c
}

// TestModelChange looks at a change of the layout as it is.
func TestModelChange(t *testing.T) {
	for _, knows := range [][2]bool{{true, true}, {true, false}} {
		t.Run(fmt.Sprint(knows), func(t *testing.T) {
			t.Parallel()
			m := changes{end: 4, knows: knows}
			if !dbtest.IsLong() {
				m.end = 3
			}
			states, fault, trace := m.exploration().explore(5_000_000)
			if fault != "" {
				t.Errorf("got %s, after\n%s", fault, lines(trace))
			}
			t.Logf("%d states", states)
		})
	}
}

// TestModelChangeWithout shows what comes of it when a rule is taken away.
func TestModelChangeWithout(t *testing.T) {
	dbtest.Long(t)
	for name, without := range map[string]func(*changes){
		"the begin of a band":    func(m *changes) { m.without.band = true },
		"the mark":               func(m *changes) { m.without.mark = true },
		"the move":               func(m *changes) { m.without.move = true },
		"what is left":           func(m *changes) { m.without.left = true },
		"the end of the old ids": func(m *changes) { m.without.cut = true },
		"the wait for the tick":  func(m *changes) { m.without.wait = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := changes{end: 4, knows: [2]bool{true, false}}
			if name == "the begin of a band" {
				m.end = 5
			}
			without(&m)
			states, fault, trace := m.exploration().explore(5_000_000)
			if !strings.HasPrefix(fault, "an id") {
				t.Errorf("got %q after %d states, want an id that is made twice", fault, states)
			}
			t.Logf("%d states, %s:\n%s", states, fault, lines(trace))
		})
	}
}
