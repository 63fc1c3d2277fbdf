package grant

import "math/bits"

//go:norace
func (m *model) steps(s state, visit visit) {
	for p := range m.procs {
		if s.procs[p].asked.there() {
			m.answer(s, p, visit)
		} else {
			m.acquire(s, p, visit)
			m.renew(s, p, visit)
			m.release(s, p, visit)
			m.end(s, p, visit)
		}
		m.late(s, p, visit)
		m.use(s, p, visit)
	}
}

// acquire is Keeper.acquire. Of all rows that could be chosen each is, even where another would be preferred. The name is kept until
// a swap with it has succeeded, and a row that has it is renewed instead, as is one that the keeper has not lost.
//
//go:norace
func (m *model) acquire(s state, p int, visit visit) {
	proc := &s.procs[p]
	if _, found := m.own(&s, p); found || proc.sealed {
		return
	}
	name := m.name(&s, p)
	switch {
	case m.without.fresh && name != absent:
	case name == absent || proc.known.until > 0 && !m.without.restart:
		name = s.fresh()
		s.named = name
	}
	proc.known = row{holder: name}
	for n, old := range s.rows[:m.numbers] {
		t, rows := m.terms, []Row(nil)
		t.least, t.most = int64(n), int64(n)
		if old.holder != absent {
			rows = []Row{old.row()}
		}
		var before Row
		m.clock(s, func(now uint8, s state) {
			if chosen, found := t.choose(Listing{Rows: rows}, int64(now), 0); found {
				next := t.acquired(chosen, holder(name), int64(now), int64(proc.word))
				if m.without.begin {
					next.From = int64(now)
				}
				if next.From < next.Until && (next != before || m.steady) {
					before = next
					m.ask(s, p, "reads the rows at TICK and sends the MSG", now, old, next, visit)
				}
			}
		})
	}
}

// renew is Keeper.renew, and what Keeper.acquire does with a row that Keeper.find has found.
//
//go:norace
func (m *model) renew(s state, p int, visit visit) {
	proc := &s.procs[p]
	if proc.sealed {
		return
	}
	if old, found := m.own(&s, p); found {
		m.clock(s, func(now uint8, s state) {
			reached := int64(proc.word) - 1 - m.terms.lead
			if next := m.terms.renewed(old.row(), max(int64(now), reached)); next.Until > int64(old.until) {
				m.ask(s, p, "reads its row at TICK and sends the MSG", now, old, next, visit)
			}
		})
		if m.without.read && proc.known != old {
			s := s
			m.install(&s, p, old)
			visit(step{p, "reads its row and takes the grant", message{}, 0}, s)
		}
	}
	if after := s; m.without.committed && proc.late.row.holder == proc.known.holder && m.swap(&after, &proc.late) {
		m.install(&s, p, proc.late.row)
		visit(step{p, "reads its row as the MSG would make it, which is rolled back, and takes the grant", proc.late, 0}, s)
	}
}

// release is Keeper.release: of the row that is known, then of one that is read.
//
//go:norace
func (m *model) release(s state, p int, visit visit) {
	proc := &s.procs[p]
	if !proc.sealed {
		return
	}
	end := int64(proc.word)
	switch {
	case m.without.unused:
		end = 0
	case m.without.following:
		end--
	}
	rows := []row{proc.known}
	if own, found := m.own(&s, p); found {
		rows = append(rows, own)
	}
	for _, old := range rows {
		switch {
		case old.until == 0:
		case m.without.present:
			m.clock(s, func(now uint8, s state) {
				m.ask(s, p, "at TICK sends the MSG", now, old, m.terms.released(old.row(), int64(now)), visit)
			})
		default:
			m.ask(s, p, "sends the MSG", 0, old, m.terms.released(old.row(), end), visit)
		}
	}
}

// answer ends the waiting for a swap. Where it was refused, where it or its answer was lost, and where the answer comes too late, the
// keeper has not learned anything.
//
//go:norace
func (m *model) answer(s state, p int, visit visit) {
	asked := s.procs[p].asked
	forget := func(s state, what string) {
		s.procs[p].asked = message{}
		if s.procs[p].late.there() {
			visit(step{p, what, asked, 0}, s) // it never comes again; that there is none is no state of its own
		}
		s.procs[p].late = asked
		visit(step{p, what, asked, 0}, s)
	}
	if s := s; m.swap(&s, &asked) {
		m.install(&s, p, asked.row)
		forget(s, "is told that the database has made the MSG")
	}
	if m.without.answer {
		m.install(&s, p, asked.row)
	}
	forget(s, "waits no more for the MSG")
}

// late is a swap that the database makes when nobody waits for it. It can come again.
//
//go:norace
func (m *model) late(s state, p int, visit visit) {
	if late := s.procs[p].late; late.there() && m.swap(&s, &late) {
		visit(step{p, "does not know that the database makes the MSG", late, 0}, s)
	}
}

// use is Snowflake.Next, which makes ids at a tick.
//
//go:norace
func (m *model) use(s state, p int, visit visit) {
	proc := &s.procs[p]
	for left := (proc.usable(0) | proc.usable(1)) &^ span(0, proc.word); left != 0; left &= left - 1 {
		proc.word = uint8(bits.TrailingZeros8(uint8(left))) + 1
		visit(step{p, "makes ids up to tick TICK", message{}, proc.word - 1}, s)
	}
}

// end is Snowflake.Seal, which the release follows, or a crash. Then the process starts again and remembers nothing.
//
//go:norace
func (m *model) end(s state, p int, visit visit) {
	crashed := s
	m.restart(&crashed, p)
	visit(step{p, "crashes and starts again", message{}, 0}, crashed)
	if proc := &s.procs[p]; !proc.sealed && proc.known.holder != absent {
		if !m.without.seal {
			m.leave(&s, p)
		}
		proc.sealed = true
		visit(step{p, "closes", message{}, 0}, s)
	}
}

// install is Keeper.install: a row gives the generator a grant. One that was released ends the keeper, and the process starts another.
//
//go:norace
func (m *model) install(s *state, p int, r row) {
	proc := &s.procs[p]
	if r.holder == free {
		m.restart(s, p)
		return
	}
	proc.known = r
	if m.without.from {
		r.from = 0
	}
	if m.without.until {
		r.until = uint8(m.terms.end)
	}
	proc.granted[r.number] |= span(max(r.from, proc.before()), r.until)
}

func (m *model) restart(s *state, p int) {
	m.leave(s, p)
	s.procs[p] = process{late: s.procs[p].late}
}

// leave ends a generator.
//
//go:norace
func (m *model) leave(s *state, p int) {
	for n := range s.gone {
		s.gone[n] |= s.procs[p].used(n)
		s.procs[p].granted[n] = 0
	}
}

// swap is Store.Swap.
//
//go:norace
func (m *model) swap(s *state, msg *message) bool {
	at, kind := &s.rows[msg.row.number], msg.kind()
	same := at.holder == absent || m.without.insert
	if msg.holder != absent {
		same = at.holder != absent && (at.holder == msg.holder || m.without.holder&kind != 0) &&
			(at.until == msg.until || m.without.compare&kind != 0)
	}
	if same && msg.there() {
		*at = msg.row
		return true
	}
	return false
}

// ask sends a swap.
//
//go:norace
func (m *model) ask(s state, p int, what string, now uint8, old row, next Row, visit visit) {
	s.procs[p].asked = message{old.holder, old.until, rowOf(next)}
	visit(step{p, what, s.procs[p].asked, now}, s)
}

// clock is what the database says the time is.
//
//go:norace
func (m *model) clock(s state, visit func(now uint8, s state)) {
	for now := s.now; now < uint8(m.terms.end); now++ {
		if m.steady {
			s.now = now
		}
		visit(now, s)
	}
}

// name is the one that the keeper acquires with.
func (m *model) name(s *state, p int) uint8 {
	if m.without.restart {
		return named + uint8(p)
	}
	return s.procs[p].known.holder
}

// own is the row that has it.
//
//go:norace
func (m *model) own(s *state, p int) (row, bool) {
	name, known := m.name(s, p), s.procs[p].known
	for _, r := range s.rows[:m.numbers] {
		if r.holder == name && name != absent && (known.until == 0 || known.number == r.number) {
			return r, true
		}
	}
	return row{}, false
}

// fresh is a name that is nowhere.
//
//go:norace
func (s *state) fresh() uint8 {
	var taken uint
	for i := range s.rows {
		taken |= 1 << s.rows[i].holder
	}
	for i := range s.procs {
		p := &s.procs[i]
		taken |= 1<<p.known.holder | 1<<p.asked.holder | 1<<p.asked.row.holder | 1<<p.late.holder | 1<<p.late.row.holder
	}
	name := max(s.named+1, named)
	for taken>>name&1 != 0 {
		name++
	}
	return name
}
