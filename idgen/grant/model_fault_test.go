package grant

import (
	"fmt"
	"strings"
)

// The second model is of faults of the store: rows that vanish, restores from an older copy, a second table; and of processes that are
// cloned. One number, two keepers and a few ticks are enough for these. It follows keeper.go more closely than the first one does, which
// knows nothing of marks, identities and what a keeper remembers: a keeper lists, swaps one row after another, looks again, and notices
// that it has lost its number. The store's clock goes on only, and ids are at most terms.lead ticks ahead of it.

// world is all there is.
type world struct {
	tables  [2]table // the second one is there only where a process sees another than the rest
	copy    table    // an older state of the first table
	copied  bool
	now     uint8 // the store's clock
	left    faults
	keepers [2]keeper
	sure    ticks // ids were made at them that nobody will say are in doubt, by generators that may have ended
	twice   uint8 // the tick after one that two generators are sure of, or, in a strict model, have made ids at
	ids     uint8 // identities given so far
	named   uint8 // the last name of a holder in a trace
}

// table is a space with its one number.
type table struct {
	row         row   // its holder is absent where there is none
	mark, added uint8 // greatest until, rows ever added
	id          uint8 // 0 of a table that is not there
}

// listing is what Store.List tells.
func (t *table) listing() Listing {
	l := Listing{ID: fmt.Sprint(t.id), Mark: int64(t.mark), Gone: int64(t.added)}
	if t.row.holder != absent {
		l.Rows, l.Gone = []Row{t.row.row()}, l.Gone-1
	}
	return l
}

// faults are how many of each may still occur.
type faults struct{ losses, copies, restores, clones, moves, restarts uint8 }

// keeper is a [Keeper] and its generator.
type keeper struct {
	row    row    // no holder while there is none
	asked  [2]row // unanswered
	holder uint8  // the next acquisition's; absent before there is one
	id     uint8  // the space's
	known  uint8
	table  uint8 // that it sees
	place  uint8 // 1 + the table that it saw at its start; 0 before that

	from, until uint8 // ticks granted to the generator
	clock       uint8 // that the generator has reached at least
	word        uint8 // tick after the last one used
	made        ticks // that ids were made at and which are not settled: that they may be in doubt can still be told
	over        bool  // the number went to another holder after the grant: nothing that was made is in doubt
	sealed      bool

	sent  call
	late  message // a swap that the keeper waits for no more
	other uint8   // the table that it was sent to
}

// call is what a keeper waits for.
type call struct {
	kind   uint8
	tries  [3]row // rows that a renewal takes for its own, and a release or an acquisition the one
	n, at  uint8  // of tries
	tick   uint8  // in which the store was listed
	after  bool   // the fault was before that
	id     uint8
	expect row // what the swap makes of the row
}

const (
	nothing uint8 = iota
	acquiring
	renewing
	looking // again, after all swaps of a renewal were refused
	releasing
)

// rules says what the model is of, and which rules of the protocol are as they were before.
type rules struct {
	terms  terms
	faults faults
	behind bool // the clock of a generator may be behind the store's, as it is after its machine was suspended
	lossy  bool // answers may be lost
	late   bool // swaps may be made after nobody waits for them any more
	strict bool // an id twice is a fault even where it is in doubt
	ended  bool // all processes end before a restore

	withoutMark     bool  // numbers without a row are free, though rows are gone
	withoutGone     bool  // a row is added where others are gone since the listing, though the mark is after its from
	begins          int64 // ticks by which a grant begins earlier than it should: with 1 at now
	skew            int64 // ticks that the clock of a process is ahead of the store's
	withoutMemory   bool  // a row with the holder and the from of the keeper's own is its own
	withoutDoubt    bool  // a lost number leaves nothing in doubt
	withoutIdentity bool  // another identity of the space is not noticed
	withoutRefusal  bool  // a second table is not looked for at the start
	withoutPlace    bool  // that the table is another one than at the start is not noticed
	calls           bool  // a call may be under way when the keeper notices that it has lost its number
	listed          bool  // a keeper that has listed its row, and swapped nothing, takes it for known
	shortDoubt      bool  // what such a call makes is not counted as in doubt
	successors      bool  // a number may have gone from hand to hand when its holder notices
}

// event is a step of a world.
type event struct {
	keeper int // -1: of the store
	what   string
	msg    row
	tick   uint8
}

func (e event) String() string {
	who := "the store"
	if e.keeper >= 0 {
		who = string(rune('A' + e.keeper))
	}
	r := fmt.Sprintf("%s [%d, %d)", holder(e.msg.holder), e.msg.from, e.msg.until)
	switch e.msg.holder {
	case absent:
		r = "no row"
	case free:
		r = fmt.Sprintf("free from %d", e.msg.until)
	}
	return who + " " + strings.NewReplacer("ROW", r, "TICK", fmt.Sprint(e.tick)).Replace(e.what)
}

type seen func(event, world)

//go:norace
func (m *rules) steps(w world, visit seen) {
	m.store(w, visit)
	for p := range w.keepers {
		k := &w.keepers[p]
		if k.sent.kind != nothing {
			m.answered(w, p, visit)
			m.unanswered(w, p, visit)
		} else {
			switch {
			case k.sealed:
				m.release(w, p, visit)
			case k.row.holder == absent:
				m.acquire(w, p, visit)
			default:
				m.renew(w, p, visit)
			}
		}
		m.lateSwap(w, p, visit)
		m.use(w, p, visit)
		m.ends(w, p, visit)
	}
}

// store is what happens to the store: time goes on, and what should not be.
//
//go:norace
func (m *rules) store(w world, visit seen) {
	if int64(w.now)+1 < m.terms.end {
		w := w
		w.now++
		visit(event{-1, "is at tick TICK", row{}, w.now}, w)
	}
	first := &w.tables[0]
	if w.left.losses > 0 && first.row.holder != absent {
		w := w
		w.left.losses--
		gone := w.tables[0].row
		w.tables[0].row = row{}
		visit(event{-1, "loses the row ROW", gone, 0}, w)
	}
	if w.left.copies > 0 && first.id > 0 {
		w := w
		w.left.copies--
		w.copy, w.copied = w.tables[0], true
		visit(event{-1, "is copied, with ROW", w.copy.row, 0}, w)
	}
	if w.left.restores > 0 && first.id > 0 {
		w := w
		w.left.restores--
		if m.ended {
			for p := range w.keepers {
				m.restart(&w, p)
			}
		}
		if w.copied {
			copied := w
			copied.tables[0] = w.copy
			visit(event{-1, "is restored from the copy, with ROW", w.copy.row, 0}, copied)
			if w.copy.row.holder != absent { // the row alone
				alone := w
				alone.tables[0].row = w.copy.row
				visit(event{-1, "has its row set back to ROW", w.copy.row, 0}, alone)
			}
		}
		w.tables[0] = table{}
		visit(event{-1, "is restored from a copy of before there were grants", row{}, 0}, w)
	}
	if w.left.clones > 0 && w.keepers[1] == (keeper{}) && w.keepers[0].place > 0 {
		w := w
		w.left.clones--
		k := w.keepers[0]
		k.made, k.late = 0, message{}
		if k.sent.kind == nothing || k.sent.kind == looking || k.remember(k.sent.expect) {
			k.sent = call{} // the answer goes to one of them
			w.keepers[1] = k
			visit(event{0, "is cloned: B has the same memory", row{}, 0}, w)
		}
	}
	for p := range w.keepers {
		if w.left.moves > 0 && w.keepers[p].table == 0 {
			w := w
			w.left.moves--
			w.keepers[p].table = 1
			visit(event{p, "sees another table from now on", row{}, 0}, w)
		}
	}
}

// prepared is Keeper.prepare, the start of each attempt. It returns whether that goes on.
//
//go:norace
func (m *rules) prepared(w *world, p int) bool {
	k := &w.keepers[p]
	if k.place == 0 {
		if other := &w.tables[1-k.table]; other.id > 0 && !m.withoutRefusal {
			return false
		}
		k.place = 1 + k.table
	}
	if k.place != 1+k.table && !m.withoutPlace {
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
	if m.withoutMemory && r.holder >= named && r.holder == k.row.holder && r.from == k.row.from {
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
		if m.withoutMark {
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
	if at.id != k.id && !m.withoutIdentity {
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
		m.install(&w, p, k.row, w.now, m.listed && m.after(&w))
		if !m.listed {
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
	visit(event{p, "is not answered, and its row is not made ROW", sent.expect, 0}, w)
	if made := w; m.swap(&made, &msg, k.table) {
		visit(event{p, "is not answered, though its row is ROW", sent.expect, 0}, made)
	}
	if m.late {
		k.late, k.other = msg, k.table
		visit(event{p, "is not answered: its row will be made ROW, or not", sent.expect, 0}, w)
	}
}

// lateSwap is made when nobody waits for it.
//
//go:norace
func (m *rules) lateSwap(w world, p int, visit seen) {
	k := &w.keepers[p]
	if late := k.late; late.there() && m.swap(&w, &late, k.other) {
		k.late, k.other = message{}, 0
		visit(event{p, "does not know that its row is made ROW now", late.row, 0}, w)
	}
}

// swap is Store.Swap.
//
//go:norace
func (m *rules) swap(w *world, msg *message, to uint8) bool {
	t := &w.tables[to]
	switch {
	case t.id == 0:
		return false
	case msg.holder == absent:
		if t.row.holder != absent || t.added > 0 && t.mark > msg.row.from && !m.withoutGone {
			return false
		}
		t.added++
	case t.row.holder != msg.holder || t.row.until != msg.until:
		return false
	}
	t.row, t.mark = msg.row, max(t.mark, msg.row.until)
	return true
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
	case at.id != k.id && !m.withoutIdentity, r.holder == absent, r.holder == k.row.holder:
		m.forgets(w, p, k.known, what, r, visit)
		return
	case r.from < k.row.until:
		m.forgets(w, p, min(k.known, r.from), what, r, visit)
		return
	default:
		what = "has lost its number after its end, for the row is ROW"
		k.row, k.asked, k.over = row{}, [2]row{}, true
		if m.successors && !m.strict {
			k.made, k.over = 0, false // the number may have had another holder in between, whom the row does not tell of
		}
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
		if m.shortDoubt && tick >= max(since, k.word+1) {
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
	if m.withoutDoubt {
		since = uint8(m.terms.end)
	}
	w.settle(p, k.made&span(0, since))
	if !m.strict {
		k.made = 0
	}
	k.row, k.asked, k.from, k.until = row{}, [2]row{}, 0, 0
}

// settle has it that ids at some ticks are not in doubt, nor will be: nobody else may be sure of the same.
//
//go:norace
func (w *world) settle(p int, set ticks) {
	k := &w.keepers[p]
	set &= k.made
	if both := set & w.sure; both != 0 {
		w.twice = 1 + lowest(both)
	}
	w.sure |= set
	k.made &^= set
}

func lowest(t ticks) (tick uint8) {
	for t>>tick&1 == 0 {
		tick++
	}
	return tick
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

// after tells whether the fault has been: who lists then, and notices nothing, is sure of what it made before.
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

// fresh is a name that is nowhere.
//
//go:norace
func (w *world) fresh() uint8 {
	var taken uint
	w.names(func(h *uint8) { taken |= 1 << *h })
	name := max(w.named+1, named)
	for taken>>name&1 != 0 {
		name++
	}
	return name
}

// names are all places where there is one.
//
//go:norace
func (w *world) names(each func(*uint8)) {
	for i := range w.tables {
		each(&w.tables[i].row.holder)
	}
	each(&w.copy.row.holder)
	for p := range w.keepers {
		k := &w.keepers[p]
		each(&k.row.holder)
		each(&k.asked[0].holder)
		each(&k.asked[1].holder)
		each(&k.holder)
		for i := range k.sent.tries {
			each(&k.sent.tries[i].holder)
		}
		each(&k.sent.expect.holder)
		each(&k.late.holder)
		each(&k.late.row.holder)
	}
}

// same forgets what names the holders have, and what cannot matter any more.
//
//go:norace
func (m *rules) same(w world) world {
	w.named = 0
	if w.left.restores == 0 {
		w.copy, w.copied, w.left.copies = table{}, false, 0
	}
	least := w.now // of the ticks that ids may still be made at, or be settled
	for p := range w.keepers {
		k := &w.keepers[p]
		k.clock, k.from = k.least(), 0
		if k.until <= k.clock {
			k.clock, k.until = 0, 0
		} else {
			least = min(least, k.clock)
		}
		if k.made != 0 {
			least = min(least, lowest(k.made))
		}
		for _, r := range [...]*row{&k.row, &k.asked[0], &k.asked[1], &k.sent.expect, &k.late.row} {
			if r.holder >= named {
				least = min(least, r.from)
			}
		}
		if m.strict {
			k.known, k.over = 0, false
		}
		if k.asked[1].holder != absent && less(k.asked[1], k.asked[0]) {
			k.asked[0], k.asked[1] = k.asked[1], k.asked[0]
		}
	}
	w.sure &^= span(0, least)
	names := [32]uint8{free: free}
	next := named
	w.names(func(h *uint8) {
		if *h >= named && names[*h] == 0 {
			names[*h] = next
			next++
		}
		*h = names[*h]
	})
	return w
}

func less(a, b row) bool {
	if a.until != b.until {
		return a.until < b.until
	}
	return a.from < b.from
}

// exploration is the model as it is looked at.
func (m *rules) exploration() exploration[world, event] {
	return exploration[world, event]{
		start: world{left: m.faults},
		steps: func(w world, to func(event, world)) { m.steps(w, to) },
		fault: func(_, next *world) string {
			if next.twice == 0 {
				return ""
			}
			return fmt.Sprintf("two generators make the same ids at tick %d", next.twice-1)
		},
		same: m.same,
	}
}
