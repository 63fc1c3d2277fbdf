package grant

// prepared is Keeper.prepare, the start of each attempt. It returns whether that goes on.
//
//go:norace
func (m *rules) prepared(w *world, p int) bool {
	k := &w.keepers[p]
	if k.place == 0 {
		if other := &w.tables[1-k.table]; other.id > 0 && !m.without.refusal {
			return false
		}
		k.place = 1 + k.table
	}
	if k.place != 1+k.table && !m.without.place {
		if k.row.holder != absent {
			m.forget(w, p, k.known)
		}
		return false
	}
	if at := &w.tables[k.table]; at.id == 0 {
		w.ids++
		at.id = w.ids
	}
	return true
}

// owns is Keeper.owns.
//
//go:norace
func (m *rules) owns(k *keeper, r row) bool {
	if m.without.memory && r.holder >= named && r.holder == k.row.holder && r.from == k.row.from {
		return true
	}
	return r.holder >= named && r == k.row || r.holder != absent && (r == k.asked[0] || r == k.asked[1])
}

// remember is what Keeper.swap does where there is no answer, if there is room.
func (k *keeper) remember(r row) bool {
	for i := range k.asked {
		if k.asked[i].holder == absent || k.asked[i] == r {
			k.asked[i] = r
			return true
		}
	}
	return false
}

// acquire is Keeper.acquire, up to the swap.
//
//go:norace
func (m *rules) acquire(w world, p int, visit seen) {
	k := &w.keepers[p]
	if !m.prepared(&w, p) {
		return
	}
	at := &w.tables[k.table]
	if k.holder == absent {
		k.holder = w.fresh()
		w.named = k.holder
	}
	now := int64(w.now)
	var old, next Row
	if r := at.row; r.holder == k.holder {
		old, next = r.row(), m.terms.renewed(r.row(), max(now, m.reached(k)))
		if !m.owns(k, r) || next.Until <= old.Until {
			k.holder, k.asked = absent, [2]row{}
			visit(event{p, "finds its name in ROW, which is not its own", r, 0}, w)
			return
		}
	} else {
		listing := at.listing()
		if m.without.mark {
			listing.Gone = 0
		}
		chosen, found := m.terms.choose(listing, now, 0)
		if !found {
			return
		}
		old, next = chosen, m.terms.acquired(chosen, holder(k.holder), now, int64(k.word))
		if m.begins > 0 {
			next.From = max(old.Until, m.terms.begin(now)-m.begins, int64(k.word))
			next.Until = min(next.From+m.terms.first, m.terms.end)
		}
		if next.From >= m.terms.end {
			return
		}
	}
	was := rowOf(old)
	k.sent = call{kind: acquiring, tries: [3]row{was}, n: 1, tick: w.now, after: m.after(&w), id: at.id, expect: rowOf(next)}
	visit(event{p, "lists at TICK, and sends the acquisition ROW", k.sent.expect, w.now}, w)
}

// renew is Keeper.renew, up to the first swap.
//
//go:norace
func (m *rules) renew(w world, p int, visit seen) {
	k := &w.keepers[p]
	if !m.prepared(&w, p) {
		if k.row.holder == absent {
			visit(event{p, "finds that the table is another one, and has lost its number", row{}, 0}, w)
		}
		return
	}
	at := &w.tables[k.table]
	if at.id != k.id && !m.without.identity {
		m.forget(&w, p, k.known)
		visit(event{p, "finds another space, and has lost its number", row{}, 0}, w)
		return
	}
	mine := at.row
	k.sent = call{kind: renewing, tick: w.now, after: m.after(&w), id: at.id}
	if m.owns(k, mine) {
		k.sent.add(mine)
	}
	for _, r := range [...]row{k.row, k.asked[0], k.asked[1]} {
		if r.holder != absent {
			k.sent.add(r)
		}
	}
	now := max(int64(w.now), m.reached(k))
	if k.sent.tries[0] == k.row && mine == k.row && m.terms.enough(k.row.row(), now) {
		k.sent = call{}
		known := k.known
		m.install(&w, p, k.row, w.now, m.without.swap && m.after(&w))
		if !m.without.swap {
			k.known = known // who has the same memory has listed the same row
		}
		visit(event{p, "lists at TICK, and has enough", row{}, w.now}, w)
		return
	}
	if m.try(&w, p) {
		visit(event{p, "lists at TICK, and sends the renewal ROW", k.sent.expect, w.now}, w)
	}
}

func (c *call) add(r row) {
	for _, tried := range c.tries[:c.n] {
		if tried == r {
			return
		}
	}
	c.tries[c.n] = r
	c.n++
}

// try sends the next swap of a renewal, if the layout has ticks for it.
//
//go:norace
func (m *rules) try(w *world, p int) bool {
	k := &w.keepers[p]
	old := k.sent.tries[k.sent.at].row()
	next := m.terms.renewed(old, max(int64(k.sent.tick), m.reached(k)))
	k.sent.expect = rowOf(next)
	return next.Until > old.Until
}

// release is Keeper.release, or Keeper.abandon, of a keeper that was sealed.
//
//go:norace
func (m *rules) release(w world, p int, visit seen) {
	k := &w.keepers[p]
	at := &w.tables[k.table]
	for _, r := range [...]row{k.row, at.row} {
		if r.holder >= named && m.owns(k, r) {
			next := m.terms.released(r.row(), int64(k.word))
			w := w
			w.keepers[p].sent = call{kind: releasing, tries: [3]row{r}, n: 1, tick: w.now, id: at.id, expect: rowOf(next)}
			visit(event{p, "sends the release of ROW", r, 0}, w)
		}
	}
}

// answered is what follows an answer.
//
//go:norace
func (m *rules) answered(w world, p int, visit seen) {
	k := &w.keepers[p]
	sent := k.sent
	if sent.kind == looking {
		m.look(w, p, visit)
		return
	}
	msg := message{sent.tries[sent.at].holder, sent.tries[sent.at].until, sent.expect}
	if m.swap(&w, &msg, k.table) {
		k.sent = call{}
		if sent.kind == releasing {
			m.restart(&w, p)
			visit(event{p, "is told that its row is ROW, and ends", sent.expect, 0}, w)
			return
		}
		if sent.kind == acquiring {
			k.holder, k.id = absent, sent.id
		}
		m.install(&w, p, sent.expect, sent.tick, sent.after)
		visit(event{p, "is told that its row is ROW", sent.expect, 0}, w)
		return
	}
	switch {
	case sent.kind != renewing:
		k.sent = call{}
		visit(event{p, "is told that its row is not ROW", sent.expect, 0}, w)
	case sent.at+1 < sent.n:
		k.sent.at++
		if m.try(&w, p) {
			visit(event{p, "is refused, and sends the renewal ROW", k.sent.expect, 0}, w)
		}
	default:
		k.sent = call{kind: looking}
		visit(event{p, "is refused, and looks again", row{}, 0}, w)
	}
}

// unanswered is where a keeper waits no more: the swap was made, is never made, or is made later.
//
//go:norace
func (m *rules) unanswered(w world, p int, visit seen) {
	k := &w.keepers[p]
	sent := k.sent
	if sent.kind == looking || !m.lossy {
		return // and fails: it is as if it was not called
	}
	k.sent = call{}
	if !k.remember(sent.expect) {
		return
	}
	msg := message{sent.tries[sent.at].holder, sent.tries[sent.at].until, sent.expect}
	if m.late {
		k.late, k.other = msg, k.table
		visit(event{p, "is not answered: its row will be made ROW, or not", sent.expect, 0}, w)
		return
	}
	visit(event{p, "is not answered, and its row is not made ROW", sent.expect, 0}, w)
	if m.swap(&w, &msg, k.table) {
		visit(event{p, "is not answered, though its row is ROW", sent.expect, 0}, w)
	}
}

// look is Keeper.lose, with what is listed.
//
//go:norace
func (m *rules) look(w world, p int, visit seen) {
	k := &w.keepers[p]
	k.sent = call{}
	at := &w.tables[k.table]
	r := at.row
	what := "has lost its number, for the row is ROW"
	switch {
	case m.owns(k, r):
		what = "looks again, and finds ROW, which is its own"
	case at.id != k.id && !m.without.identity, r.holder == absent, r.holder == k.row.holder:
		m.forgets(w, p, k.known, what, r, visit)
		return
	case r.from < k.row.until:
		m.forgets(w, p, min(k.known, r.from), what, r, visit)
		return
	default:
		what = "has lost its number after its end, for the row is ROW"
		k.row, k.asked, k.over = row{}, [2]row{}, true
	}
	visit(event{p, what, r, 0}, w)
}

// forgets is forget, with a call under way or without.
//
//go:norace
func (m *rules) forgets(w world, p int, since uint8, what string, r row, visit seen) {
	k := w.keepers[p]
	lost := w
	m.forget(&lost, p, since)
	visit(event{p, what, r, 0}, lost)
	if !m.calls {
		return
	}
	for tick := k.least(); tick < k.until && int64(tick) <= m.most(&w); tick++ {
		late := lost
		after := &late.keepers[p]
		after.word = max(after.word, tick+1)
		if m.without.call && tick >= max(since, k.word+1) {
			after.made |= 1 << tick
			late.settle(p, after.made)
		}
		visit(event{p, what + ", while a call makes ids at TICK", r, tick}, late)
	}
}

// forget is Keeper.forget: what was made from a tick on is in doubt.
//
//go:norace
func (m *rules) forget(w *world, p int, since uint8) {
	k := &w.keepers[p]
	if m.without.doubt {
		since = uint8(m.terms.end)
	}
	w.settle(p, k.made&span(0, since))
	if !m.strict {
		k.made = 0
	}
	k.row, k.asked, k.from, k.until = row{}, [2]row{}, 0, 0
}

// install is Keeper.install and Snowflake.SetGrant.
//
//go:norace
func (m *rules) install(w *world, p int, r row, tick uint8, after bool) {
	k := &w.keepers[p]
	if k.over {
		w.settle(p, k.made)
	}
	if after {
		w.settle(p, k.made&span(0, tick))
	}
	k.over = false
	k.row, k.asked, k.known = r, [2]row{}, tick
	k.from, k.until = r.from, r.until
	k.clock = max(tick, uint8(max(0, m.reached(k))))
}

// after reports whether the fault has been: who lists then, and notices nothing, is sure of what it made before.
//
//go:norace
func (m *rules) after(w *world) bool {
	return !m.strict && w.left.restores == 0 && w.left.clones == 0
}

// reached is Keeper.reached.
//
//go:norace
func (m *rules) reached(k *keeper) int64 { return int64(k.word) - 1 - m.terms.lead }

// least is the first tick at which the generator can make ids.
func (k *keeper) least() uint8 { return max(k.from, k.clock, max(k.word, 1)-1) }

// most is the last one: its time is the store's, or what that was.
//
//go:norace
func (m *rules) most(w *world) int64 { return int64(w.now) + m.terms.lead + m.skew }

// use is Snowflake.Next.
//
//go:norace
func (m *rules) use(w world, p int, visit seen) {
	k := w.keepers[p]
	if k.sealed {
		return
	}
	least := k.least()
	if !m.behind {
		least = max(least, w.now)
	}
	for tick := least; tick < k.until && int64(tick) <= m.most(&w); tick++ {
		if k.made>>tick&1 != 0 {
			continue
		}
		w := w
		after := &w.keepers[p]
		after.word, after.made = max(k.word, tick+1), k.made|1<<tick
		if m.strict && (w.sure|w.keepers[1-p].made)>>tick&1 != 0 {
			w.twice = 1 + tick
		}
		visit(event{p, "makes ids at tick TICK", row{}, tick}, w)
	}
}

// ends is Snowflake.Seal, which the release follows, or a crash. What was made since the store last knew the grant is in doubt then, and
// nobody is there to tell.
//
//go:norace
func (m *rules) ends(w world, p int, visit seen) {
	k := &w.keepers[p]
	if k.place == 0 || w.left.restarts == 0 {
		return
	}
	crashed := w
	crashed.left.restarts--
	m.restart(&crashed, p)
	visit(event{p, "crashes and starts again", row{}, 0}, crashed)
	if !k.sealed && k.sent.kind == nothing && (k.row.holder != absent || k.asked[0].holder != absent) {
		w.left.restarts--
		k.sealed = true
		visit(event{p, "closes", row{}, 0}, w)
	}
}

//go:norace
func (m *rules) restart(w *world, p int) {
	k := &w.keepers[p]
	switch {
	case m.strict:
		w.sure |= k.made
	case k.over:
		w.settle(p, k.made)
	}
	w.keepers[p] = keeper{table: k.table, late: k.late, other: k.other}
	if m.ended {
		w.keepers[p] = keeper{table: k.table}
	}
}
