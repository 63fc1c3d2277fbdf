package grant

import (
	"fmt"
	"strings"
)

// The second model is of faults of the store: rows that vanish, restores from an older copy, a second table; and of processes that are
// cloned. One number, two keepers and a few ticks are enough for these. It follows keeper.go more closely than the first one does, which
// knows nothing of marks, identities and what a keeper remembers: a keeper lists, swaps one row after another, looks again, and notices
// that it has lost its number. The store's clock goes on only, and ids are at most terms.lead ticks ahead of it.
//
// After a fault under running processes the same id twice is possible. What is wrong is that nobody says so: ids at a tick that two
// generators are sure of. A keeper that notices has in doubt what [Loss] has. It is sure of what it made before, and, once it has listed
// its row after the fault and swapped it, of what it made before that listing. One that has crashed or was closed before is sure of no
// more: what it made since the store last knew its grant counts as in doubt.

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

// rules says what the model is of, and which rules of the protocol are taken away, or are not there.
type rules struct {
	terms  terms
	faults faults
	strict bool // an id twice is a fault even where it is in doubt
	ended  bool // all processes end before a restore
	behind bool // the clock of a generator may be behind the store's, by the time that an answer took, or its machine was suspended for
	lossy  bool // answers may be lost
	late   bool // swaps may be made after nobody waits for them any more
	calls  bool // a call may be under way when the keeper notices that it has lost its number

	begins  int64 // ticks by which a grant begins earlier than it should: with 1 at now
	skew    int64 // ticks that the clock of a process is ahead of the store's
	without struct {
		mark     bool // of rows that are gone: numbers without a row are free
		gone     bool // a row is added though rows are gone since the listing, and the mark is after its from
		memory   bool // of what was asked for: a row with the holder and the from of the keeper's own is its own
		swap     bool // a keeper takes its row for known that it has listed, and not swapped since it has enough of it
		doubt    bool // a lost number leaves nothing in doubt
		call     bool // what a call under way makes is not in doubt
		identity bool // another identity of the space is not noticed
		refusal  bool // a second table is not looked for at the start
		place    bool // that the table is another one than at the start is not noticed
	}
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
		if t.row.holder != absent || t.added > 0 && t.mark > msg.row.from && !m.without.gone {
			return false
		}
		t.added++
	case t.row.holder != msg.holder || t.row.until != msg.until:
		return false
	}
	t.row, t.mark = msg.row, max(t.mark, msg.row.until)
	return true
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
