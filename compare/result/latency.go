package result

import (
	"math"
	"slices"
)

// OK reports whether there is anything.
func (l Latency) OK() bool { return len(l.Samples) > 0 }

// Percentile is the least sample, in nanoseconds, that p percent of all samples are at or below; p is between 0 and 100. It is a wait that
// was measured, and never one between two. It is NaN where there are no samples or p is something else.
func (l Latency) Percentile(p float64) float64 { return l.Percentiles(p)[0] }

// Percentiles is a [Latency.Percentile] for each p; it sorts the samples once.
func (l Latency) Percentiles(p ...float64) []float64 {
	sorted := slices.Sorted(slices.Values(l.Samples))
	out := make([]float64, len(p))
	for i, p := range p {
		if len(sorted) == 0 || !(p >= 0 && p <= 100) {
			out[i] = math.NaN()
			continue
		}
		// The rank may come out a hair above the whole number that it is: 99.9 percent have no exact form.
		rank := int(math.Ceil(p*float64(len(sorted))/100 - 1e-9))
		out[i] = float64(sorted[min(max(rank, 1), len(sorted))-1])
	}
	return out
}
