package grant

import (
	"testing"
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
		// With a restart too, and with 5 ticks, which are 589,690 states.
		"restored under running processes": {terms: brief, faults: faults{copies: 1, restores: 1}, calls: true},
		"cloned":                           {terms: longer, faults: faults{clones: 1, restarts: 1}},
		"another table":                    {terms: longer, faults: faults{moves: 1, restarts: 1}, strict: true},
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
