package partition_test

import (
	"math"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/shard/partition"
)

// The greatest id there is has no bound after it.
func TestGreatestID(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		for _, every := range []partition.Every{partition.Day, partition.Month} {
			now := noon
			settings := orders()
			settings.Every = every
			e.create(t, settings)
			e.exec(t, "INSERT INTO orders (id) VALUES (9223372036854775807)")
			plan, err := e.keeper(t, settings, &now).Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.Default.Unplaced; len(got) != 1 || got[0].Rows != 1 || got[0].ToID != math.MaxInt64 {
				t.Errorf("by %v: got the rows %+v, want 2 of one range", every, got)
			}
			count := 0
			for _, problem := range plan.Problems {
				if problem.Kind == "unplaced" && strings.HasPrefix(problem.Text, "1 rows in ") {
					count++
				}
			}
			if count != 1 {
				t.Errorf("by %v: got the problems %+v, want one of 2 rows", every, plan.Problems)
			}
			e.exec(t, "DROP TABLE orders")
		}
	})
}
