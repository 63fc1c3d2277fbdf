package measure

import (
	"context"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// Internals under test.
var (
	ChiSquare = chiSquare
	Describe  = describe
	LatencyBy = latencyBy
)

// NewFastClock makes a clock that makes a limit one of the target.
func NewFastClock(limit, target float64) idgen.Clock { return newFastClock(limit, target) }

// Furthest is how far such a clock runs ahead.
const Furthest = furthest

// Sleep is the usual timer.
func Sleep(ctx context.Context, wait time.Duration) error { return sleep(ctx, wait) }

// Report adds a round of INSERTs of a batch that took so long, of which a tenth had as many as another.
func Report(to *result.Growth, plan Plan, inserts []time.Duration) {
	g := growth{plan: plan, rows: len(inserts) * plan.Batch}
	each := plan.Rows / tenths / plan.Batch
	for i, took := range inserts {
		g.micros = append(g.micros, took.Microseconds())
		g.tenth[i/each] += took
		if (i+1)%each == 0 {
			g.ends[g.full] = i + 1
			g.full++
		}
	}
	g.report(to)
}

// Gap is the bits of the distance between keys.
func Gap(info strategy.Info, keys strategy.Keys, sample ...strategy.Key) result.Figure {
	return gap(info, keys, sample)
}

// FactorOf is how much faster a fast clock runs than the machine's.
func FactorOf(clock idgen.Clock) time.Duration { return time.Duration(clock.(*fastClock).factor) }
