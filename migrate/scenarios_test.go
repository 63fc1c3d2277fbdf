package migrate_test

import (
	"cmp"
	"slices"
	"testing"
)

// scenario is something that a migration meets in a live database, and that one which only changes types and numbers gets wrong. It runs
// on a new database of each of its kinds.
type scenario struct {
	name  string   // begins with its number, of two digits
	kinds []string // all when there are none
	test  func(t *testing.T, d *database)
}

// scenarios are numbered for good: a number is never given to another one. Each file adds its own, in an init.
var scenarios []scenario

// TestScenarios runs all of them, through the API alone.
func TestScenarios(t *testing.T) {
	t.Parallel()
	slices.SortFunc(scenarios, func(a, b scenario) int { return cmp.Compare(a.name, b.name) })
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			forEach(t, s.test, s.kinds...)
		})
	}
}
