package grant

import (
	"fmt"
	"math/bits"
	"strings"
)

// The model check looks at every state that two or three keepers with their generators, a database and the messages between them can
// get into, over a few ticks. Rows change by the functions of protocol.go. A keeper reads the rows and sends a swap, which are one step
// since it does nothing in between; from then on the swap is made at any time or never, and the keeper is told, or waits no more. The
// database may still get a swap that is not waited for, any number of times, after the keeper has sent others, was sealed, or crashed.
// That an answer comes long after the swap was made is no state of its own: until it comes the keeper does nothing, and its generator
// less than it would after. All clocks say anything at any time.

// state is all there is. Numbers, ticks and the names of holders are as small as they are for it to be compared.
type state struct {
	rows  [2]row
	gone  [2]ticks // of each number, that generators made ids at which have ended
	procs [3]process
	now   uint8 // the database's clock where it never steps back; else 0
	named uint8 // the last name of a holder in a trace, so that it has each once; else 0
}

// row is a [Row].
type row struct{ number, holder, from, until uint8 }

// Holders. The names of acquisitions follow.
const (
	absent uint8 = iota
	free
	named
)

func holder(h uint8) string {
	const names = "abcdefghijklmnopqrstuvwxyzABCD"
	switch h {
	case absent:
		return Absent
	case free:
		return ""
	}
	return names[h-named : h-named+1]
}

func (r row) row() Row { return Row{int64(r.number), holder(r.holder), int64(r.from), int64(r.until)} }

func rowOf(r Row) row {
	h := absent
	for holder(h) != r.Holder {
		h++
	}
	return row{uint8(r.Number), h, uint8(r.From), uint8(r.Until)}
}

// ticks is a set of them.
type ticks uint8

func span(from, until uint8) ticks { return 1<<max(from, until) - 1<<from }

// process is a keeper and its generator.
type process struct {
	known   row      // what the last swap has made the keeper's; only the holder while an acquisition is tried
	granted [2]ticks // of each number, by all grants since the start: a call may be under way with any of them
	word    uint8    // tick after the last one used
	sealed  bool
	asked   message // that the keeper waits for
	late    message // that it waits for no more
}

// used are the ticks that ids were made at: with calls under way, all that were granted up to the last one. To use fewer of them is no
// state of its own, for nothing but the last one decides what can be done next.
func (p *process) used(number int) ticks { return p.granted[number] & span(0, p.word) }

// usable are the ticks at which ids can still be made: the word does not become smaller.
func (p *process) usable(number int) ticks { return p.granted[number] &^ span(0, p.before()) }

// before is the last tick used, 0 before there is one.
func (p *process) before() uint8 { return max(p.word, 1) - 1 }

// message is a swap: the holder and the until that are compared, and the row that is made.
type message struct {
	holder, until uint8
	row           row
}

func (m *message) there() bool { return m.row.holder != absent }

// kinds of swaps.
type kinds uint8

const (
	acquisition kinds = 1 << iota
	renewal
	release
)

func (m *message) kind() kinds {
	switch m.row.holder {
	case free:
		return release
	case m.holder:
		return renewal
	}
	return acquisition
}

func (m *message) String() string {
	if m.kind() == release {
		return fmt.Sprintf("release of number %d by %s, until %d", m.row.number, holder(m.holder), m.row.until)
	}
	return fmt.Sprintf("%s of number %d by %s, [%d, %d)", map[kinds]string{acquisition: "acquisition", renewal: "renewal"}[m.kind()],
		m.row.number, holder(m.row.holder), m.row.from, m.row.until)
}

// model is what is looked at. An exploration has one goroutine and shares nothing, so that its functions are compiled without the race
// detector's instructions, which take four fifths of the time otherwise; the few that are short enough to be inlined into these go without.
type model struct {
	procs, numbers int
	terms          terms
	steady         bool // the database's clock never steps back
	without        without
}

// without names the guards of the protocol that are taken away.
type without struct {
	from, until                bool  // ids are made at ticks before the range, after it
	begin                      bool  // the next grant begins now, not at the row's until
	holder, compare            kinds // swaps do not compare the holder, the until
	insert                     bool  // the first row of a number is written over one that is there
	answer                     bool  // a swap that was not answered gives a right
	read, committed            bool  // the keeper's name in a row that it reads gives a right, even in one that is rolled back
	restart, fresh             bool  // a process has one name for ever, a generator has one for all its acquisitions
	seal                       bool  // ids are made after the release was sent
	unused, present, following bool  // a release gives back the whole range, what is after now, the last tick used
}

// settles reports whether rule 4 must hold all the same.
func (m *model) settles() bool {
	w := m.without
	w.read, w.fresh, w.compare = false, false, w.compare&^release
	return w == without{}
}

// step is a transition; what it says is for the trace.
type step struct {
	proc int
	what string
	msg  message
	tick uint8
}

func (s step) String() string {
	return fmt.Sprintf("%c ", 'A'+s.proc) + strings.NewReplacer("MSG", s.msg.String(), "TICK", fmt.Sprint(s.tick)).Replace(s.what)
}

type visit func(step, state)

// fault says what is wrong with a state that follows another, or nothing.
//
//go:norace
func (m *model) fault(before, s *state) string {
	for n := range m.numbers {
		for p := range m.procs {
			others := s.gone[n]
			for q := range m.procs {
				if q != p {
					others |= s.procs[q].used(n)
				}
			}
			if both := s.procs[p].used(n) & others; both != 0 {
				return fmt.Sprintf("two generators make ids with number %d at tick %d", n, bits.TrailingZeros8(uint8(both)))
			}
			for q := range m.procs {
				if q != p {
					others |= s.procs[q].usable(n)
				}
			}
			if both := s.procs[p].usable(n) & others; both != 0 && m.settles() {
				return fmt.Sprintf("two generators may make ids with number %d at tick %d", n, bits.TrailingZeros8(uint8(both)))
			}
		}
		was, is := before.rows[n], s.rows[n]
		if m.settles() && (m.settled(before, n) > m.settled(s, n) || was.holder == is.holder && was.until > is.until) {
			return fmt.Sprintf("number %d goes back from [%d, %d) to [%d, %d)", n, was.from, was.until, is.from, is.until)
		}
	}
	return ""
}

// settled is the tick of a number that no grant begins before from now on: where that of the row begins, or a release on its way would
// have the next begin.
//
//go:norace
func (m *model) settled(s *state, n int) uint8 {
	r := &s.rows[n]
	if r.holder == free {
		return r.until
	}
	settled := r.from
	for p := range m.procs {
		for _, msg := range [...]*message{&s.procs[p].asked, &s.procs[p].late} {
			if msg.row.holder == free && msg.holder == r.holder && msg.row.number == r.number {
				settled = min(settled, msg.row.until)
			}
		}
	}
	return settled
}

// same returns the one of all states that differ in nothing that could still matter: in the names of holders, in the order of the
// processes, and, where no guard is missing, in what is settled, and in swaps that can change nothing any more.
//
//go:norace
func (m *model) same(s state) state {
	s.named = 0
	if m.settles() {
		m.forget(&s)
	}
	if m.without.restart {
		return s
	}
	names := [32]uint8{free: free}
	next := named
	name := func(h *uint8) {
		if *h >= named && names[*h] == 0 {
			names[*h] = next
			next++
		}
		*h = names[*h]
	}
	for n := range m.numbers {
		name(&s.rows[n].holder)
	}
	for p := 1; p < m.procs; p++ {
		for q := p; q > 0 && s.procs[q].order(&names) < s.procs[q-1].order(&names); q-- {
			s.procs[q], s.procs[q-1] = s.procs[q-1], s.procs[q]
		}
	}
	for i := range m.procs {
		p := &s.procs[i]
		for _, h := range [...]*uint8{&p.known.holder, &p.asked.holder, &p.asked.row.holder, &p.late.holder, &p.late.row.holder} {
			name(h)
		}
	}
	return s
}

// order is by what does not depend on the order.
//
//go:norace
func (p *process) order(names *[32]uint8) (order uint64) {
	for _, v := range [...]uint8{p.word, p.known.until, p.asked.until, p.asked.row.from, p.asked.row.until, p.late.until, p.late.row.from,
		p.late.row.until, p.known.number, names[p.known.holder], names[p.late.row.holder]} {
		order = order<<4 | uint64(v)
	}
	return order<<16 | uint64(p.granted[0])<<8 | uint64(p.granted[1])
}

// forget clears what cannot matter any more. Which ticks below the settled one were used, and by whom, was compared when they were
// granted, which they are not again.
//
//go:norace
func (m *model) forget(s *state) {
	settled := [2]uint8{uint8(m.terms.end), uint8(m.terms.end)}
	for n := range m.numbers {
		settled[n] = m.settled(s, n)
		s.gone[n] &^= span(0, settled[n])
	}
	least := min(settled[0], settled[1])
	for i := range m.procs {
		p := &s.procs[i]
		for n := range m.numbers {
			p.granted[n] &^= span(0, least) | span(0, min(settled[n], p.before()))
		}
		if p.word <= least {
			p.word = 0
		}
		for _, msg := range [...]*message{&p.late, &p.asked} {
			if msg.there() && !m.possible(s, p, &settled, msg) {
				*msg = message{}
			}
		}
		switch r := s.rows[p.known.number]; {
		case p.known.holder == absent:
		case m.without.compare&release != 0:
		case r.holder == p.known.holder && p.known.until > 0:
			p.known = r // a renewal was not answered: nothing is done with what was known before
		case !m.occurs(s, p, &settled, p.known.holder):
			p.known = row{}
			if p.sealed {
				p.sealed, p.word = false, 0
			}
		}
	}
}

// possible reports whether the database may ever make a swap.
//
//go:norace
func (m *model) possible(s *state, p *process, settled *[2]uint8, msg *message) bool {
	r := &s.rows[msg.row.number]
	switch msg.holder {
	case absent:
		return r.holder == absent
	case free:
		return msg.until >= settled[msg.row.number]
	case r.holder:
		return msg.until >= r.until || m.without.compare&msg.kind() != 0
	}
	return msg.kind() != acquisition && m.occurs(s, p, settled, msg.holder)
}

// occurs reports whether a row has the name, or may come to have it.
//
//go:norace
func (m *model) occurs(s *state, p *process, settled *[2]uint8, name uint8) bool {
	if m.without.fresh && p.known.holder == name {
		return true
	}
	for n := range m.numbers {
		if s.rows[n].holder == name {
			return true
		}
	}
	for _, msg := range [...]*message{&p.late, &p.asked} {
		if msg.row.holder == name && msg.kind() == acquisition && m.possible(s, p, settled, msg) {
			return true
		}
	}
	return false
}

// exploration is the model as it is looked at.
func (m *model) exploration() exploration[state, step] {
	return exploration[state, step]{
		start: state{rows: [2]row{{number: 0}, {number: 1}}},
		steps: func(s state, to func(step, state)) { m.steps(s, to) },
		fault: m.fault, stuck: m.stuck, same: m.same,
	}
}

// stuck says so where no process waits for a swap, there are ticks, and none gets one by asking once: neither as it is, nor when it
// starts again. A row that is held is acquired when its until has come, and the grant begins after that.
//
//go:norace
func (m *model) stuck(s state) string {
	if !m.settles() {
		return ""
	}
	left := false
	for n := range m.numbers {
		next := int64(s.rows[n].until)
		if s.rows[n].holder >= named {
			next = m.terms.begin(next)
		}
		left = left || max(next, m.terms.begin(int64(s.now))) < m.terms.end
	}
	for p := range m.procs {
		left = left && !s.procs[p].asked.there()
	}
	for p := range m.procs {
		again := s
		m.restart(&again, p)
		for _, s := range [...]state{s, again} {
			try := func(_ step, asked state) {
				if left {
					m.answer(asked, p, func(_ step, told state) {
						left = left && told.procs[p].granted == s.procs[p].granted
					})
				}
			}
			if left {
				m.acquire(s, p, try)
				m.renew(s, p, try)
			}
		}
	}
	if left {
		return "no process can get a grant"
	}
	return ""
}
