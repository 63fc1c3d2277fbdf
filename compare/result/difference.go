package result

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/mathx"
	"github.com/aclements/go-moremath/stats"
)

// Alpha is the chance of seeing a difference where there is none that [Differ] accepts.
const Alpha = 0.05

// Verdict is what the samples of two figures say of them.
type Verdict int

// The verdicts.
const (
	// Unknown: there are too few samples to tell, however far apart they lie.
	Unknown Verdict = iota
	// Same: the samples show no difference. There may be one that is small against how they scatter.
	Same
	// Less: the first figure is the smaller one.
	Less
	// Greater: the first figure is the greater one.
	Greater
)

// Difference is how a first figure compares to a second one.
type Difference struct {
	Verdict Verdict
	// Ratio is the median of the first over that of the second, NaN where one has no samples or the second median is 0.
	Ratio float64
	// P is the chance that samples of equal distributions would lie as far apart as these, or farther, by the Mann-Whitney U test; it is exact
	// up to 50 samples each, or 25 with equal ones among them. It is NaN where the verdict is Unknown.
	P float64
	// Why says why the verdict is Unknown.
	Why string
}

// Differ compares two figures. The verdict is at [Alpha], goes by the Mann-Whitney U test, which assumes no distribution, and is for this pair
// alone: who looks at twenty pairs without a difference may expect one that seems to have one. The samples of a round are not tested as pairs:
// five pairs, the rounds of a full run, could never be significant that way.
func Differ(a, b Figure) Difference {
	d := Difference{Ratio: ratio(a.Median(), b.Median()), P: math.NaN()}
	for _, f := range []Figure{a, b} {
		if !f.OK() {
			d.Why = "there are no samples"
			if f.Why != "" {
				d.Why += ": " + f.Why
			}
			return d
		}
		if slices.ContainsFunc(f.Samples, math.IsNaN) { // which has no place in an order
			d.Why = "a sample is not a number"
			return d
		}
	}
	n1, n2 := len(a.Samples), len(b.Samples)
	// The least p is that of the two orders in which all samples of one figure come before those of the other.
	if least := 2 / mathx.Choose(n1+n2, n1); least > Alpha {
		d.Why = fmt.Sprintf("%d and %d samples have a p of %.2g at least, above %v; with equally many, 4 each are the fewest", n1, n2, least, Alpha)
		return d
	}
	test, err := stats.MannWhitneyUTest(a.Samples, b.Samples, stats.LocationDiffers)
	switch {
	case errors.Is(err, stats.ErrSamplesEqual):
		d.Verdict, d.P = Same, 1
		return d
	case err != nil: // of no samples, which is above
		d.Why = err.Error()
		return d
	}
	d.P = min(test.P, 1)
	switch {
	case d.P >= Alpha:
		d.Verdict = Same
	case test.U < float64(n1)*float64(n2)/2:
		d.Verdict = Less
	default:
		d.Verdict = Greater
	}
	return d
}

// ratio is NaN where it makes no sense.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}
