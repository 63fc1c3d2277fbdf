package grant

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var (
	brief  = terms{first: 1, length: 1, end: 5}
	longer = terms{first: 1, length: 2, end: 5}
)

// TestModelFaults looks at the protocol under faults of the store and of the processes.
func TestModelFaults(t *testing.T) {
	for name, m := range map[string]rules{
		"a row is lost":                      {terms: brief, faults: faults{losses: 1, restarts: 1}, strict: true, behind: true},
		"a row is lost, and answers":         {terms: terms{first: 1, length: 1, end: 4}, faults: faults{losses: 1}, strict: true, lossy: true, late: true},
		"restored after all processes ended": {terms: longer, faults: faults{copies: 1, restores: 1, restarts: 1}, strict: true, ended: true, behind: true},
		"restored after all processes ended, with ids ahead": {
			terms: terms{first: 1, length: 2, lead: 1, end: 6}, faults: faults{copies: 1, restores: 1, restarts: 1}, strict: true, ended: true, behind: true,
		},
		// With a crash or a Close too, which are 589,690 states, and with answers that are lost, up to tick 3, which are 491,828.
		"restored under running processes": {terms: brief, faults: faults{copies: 1, restores: 1}, calls: true},
		"restored under running processes, with ids ahead": {
			terms: terms{first: 1, length: 2, lead: 1, end: 6}, faults: faults{copies: 1, restores: 1}, calls: true,
		},
		"restored under running processes that end": {
			terms: terms{first: 1, length: 1, end: 4}, faults: faults{copies: 1, restores: 1, restarts: 1}, calls: true,
		},
		"cloned":        {terms: longer, faults: faults{clones: 1, restarts: 1}},
		"another table": {terms: longer, faults: faults{moves: 1, restarts: 1}, strict: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, fault, trace := m.exploration().explore(1_000_000)
			if fault != "" {
				t.Errorf("got %s, after\n%s", fault, lines(trace))
			}
			t.Logf("%d states", states)
		})
	}
}

// TestModelFaultsWithout shows what comes of it when a rule is taken away: the same id twice, and nothing that says so.
func TestModelFaultsWithout(t *testing.T) {
	dbtest.Long(t)
	var (
		lost     = rules{terms: brief, faults: faults{losses: 1}, strict: true}
		restored = rules{terms: brief, faults: faults{copies: 1, restores: 1, restarts: 1}}
		ended    = rules{terms: brief, faults: faults{copies: 1, restores: 1}, strict: true, ended: true}
		cloned   = rules{terms: longer, faults: faults{clones: 1}}
		moved    = rules{terms: brief, faults: faults{moves: 1, restarts: 1}, strict: true}
	)
	for _, c := range []struct {
		name    string
		rules   rules
		without func(*rules)
		covered string // why all is well without
	}{
		{name: "the mark of rows that are gone", rules: lost, without: func(m *rules) { m.without.mark, m.without.gone = true, true }},
		{name: "the mark of rows that are gone, in a listing alone", rules: lost, without: func(m *rules) { m.without.mark = true },
			covered: "the row is not added"},
		{name: "the mark of rows that are gone since the listing", rules: lost, without: func(m *rules) { m.without.gone = true }},
		{name: "the tick after now", rules: ended, without: func(m *rules) { m.begins = 1 }},
		{name: "the ticks that ids are ahead", rules: ended, without: func(m *rules) { m.terms.lead, m.begins = 1, 1 }},
		{name: "the store's clock", rules: ended, without: func(m *rules) { m.skew = 1 }},
		{name: "doubt", rules: restored, without: func(m *rules) { m.without.doubt = true }},
		{name: "doubt of a call under way", rules: restored, without: func(m *rules) { m.calls, m.without.call = true, true }},
		{name: "what a keeper has asked for", rules: cloned, without: func(m *rules) { m.without.memory = true }},
		// The until of the row is later than it need be, for it has grown twice in a tick.
		{name: "the swap, where there is enough", rules: cloned, without: func(m *rules) { m.terms.end, m.lossy, m.without.swap = 6, true, true }},
		{name: "the look for a second table", rules: moved, without: func(m *rules) { m.without.refusal = true }},
		{name: "the place of the table", rules: moved, without: func(m *rules) { m.without.place = true }},
		{name: "the identity, in another table", rules: moved, without: func(m *rules) { m.without.identity = true },
			covered: "the place of the table is another one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := c.rules
			c.without(&m)
			states, fault, trace := m.exploration().explore(1_000_000)
			switch {
			case c.covered == "" && !strings.HasPrefix(fault, "two generators make the same ids"):
				t.Errorf("got %q after %d states, want an id that is made twice", fault, states)
			case c.covered != "" && fault != "":
				t.Errorf("got %s, want that %s; after\n%s", fault, c.covered, lines(trace))
			case c.covered != "":
				t.Logf("%d states, none wrong: %s", states, c.covered)
			default:
				t.Logf("%d states, %s:\n%s", states, fault, lines(trace))
			}
		})
	}
}

// TestModelFaultsOpen shows what the protocol does not protect from, and does not say either.
func TestModelFaultsOpen(t *testing.T) {
	for name, m := range map[string]rules{
		// The same swap twice: the one of a clone that was never made equals the one of the other that was, so each takes the row for its own.
		"cloned, and a swap is lost": {terms: longer, faults: faults{clones: 1}, lossy: true},
		// Ids are made at ticks of before the store last knew the grant.
		"cloned, with a clock behind": {terms: longer, faults: faults{clones: 1}, behind: true},
		// And by one whose swap was sent before the restore, and made after it.
		"restored, with a clock behind": {terms: brief, faults: faults{copies: 1, restores: 1}, behind: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, fault, trace := m.exploration().explore(1_000_000)
			if fault == "" {
				t.Errorf("got none wrong of %d states, so this is protected", states)
			}
			t.Logf("%d states, %s:\n%s", states, fault, lines(trace))
		})
	}
}

// TestModelFaultsSuccessor shows that a keeper does not notice a restore when its number has had another holder since, and a third one
// has it: the grant of that one begins after its own. It takes as long as its grant has left, without an answer. The identity tells it,
// where the space itself is another. The trace is followed, since there are too many as short.
func TestModelFaultsSuccessor(t *testing.T) {
	const trace = `
A lists at 0, and sends the acquisition a [1, 3)
the store is copied, with no row
A is told that its row is a [1, 3)
RESTORED
B lists at 0, and sends the acquisition b [1, 3)
B is told that its row is b [1, 3)
the store is at tick 1
A makes ids at tick 1
B makes ids at tick 1
the store is at tick 2
B lists at 2, and sends the renewal b [1, 4)
B is told that its row is b [1, 4)
B closes
B sends the release of b [1, 4)
B is told that its row is free from 2, and ends
B lists at 2, and sends the acquisition c [3, 5)
B is told that its row is c [3, 5)
`
	const noticed = "A lists at 2, and sends the renewal a [1, 4)\nA is refused, and looks again\n" +
		"A has lost its number after its end, for the row is c [3, 5)\nA crashes and starts again"
	const copied = "the store is restored from the copy, with no row"
	const anew = "the store is restored from a copy of before there were grants"
	for _, c := range []struct {
		name, restored, end string
		identity            bool
		want                string
	}{
		{name: "the same space", restored: copied, end: noticed, identity: true, want: "two generators make the same ids at tick 1"},
		{name: "another space", restored: anew, end: "A finds another space, and has lost its number", identity: true},
		{name: "another space, without its identity", restored: anew, end: noticed, want: "two generators make the same ids at tick 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := rules{terms: terms{first: 2, length: 2, end: 6}, faults: faults{copies: 1, restores: 1, restarts: 2}}
			m.without.identity = !c.identity
			steps := strings.Split(strings.Trim(strings.Replace(trace, "RESTORED", c.restored, 1), "\n")+"\n"+c.end, "\n")
			fault, taken := m.exploration().follow(steps)
			if fault != c.want || taken != len(steps) {
				t.Errorf("got %q after %d of %d steps, want %q", fault, taken, len(steps), c.want)
			}
		})
	}
}
