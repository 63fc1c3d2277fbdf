package result

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aclements/go-moremath/stats"
)

// Figure is a measured number: its samples in the order they were taken, one a round, or the reason why there are none. It is never 0 for
// not having been measured.
type Figure struct {
	Samples []float64 `json:"samples,omitempty"`
	Why     string    `json:"why,omitempty"`  // why there are no samples
	Note    string    `json:"note,omitempty"` // how they were taken, where that differs from database to database
}

// Missing is a figure that could not be taken.
func Missing(why string) Figure { return Figure{Why: why} }

// Measured is a figure of samples.
func Measured(samples ...float64) Figure { return Figure{Samples: samples} }

// Add adds a round's sample; the reason of an earlier round that had none stays beside it.
func (f *Figure) Add(sample float64) { f.Samples = append(f.Samples, sample) }

// OK reports whether there is anything.
func (f Figure) OK() bool { return len(f.Samples) > 0 }

// Median is the median of the samples, in their unit; of an even number of them, the mean of the middle two. It is NaN where there are none.
func (f Figure) Median() float64 { return median(f.Samples) }

// Range is the least and the greatest sample; both are NaN where there are none.
func (f Figure) Range() (lo, hi float64) {
	if !f.OK() {
		return math.NaN(), math.NaN()
	}
	return slices.Min(f.Samples), slices.Max(f.Samples)
}

// Confidence is what the intervals of medians aim at.
const Confidence = 0.95

// Interval is two samples between which the median of all possible samples lies, with the chance that it does, between 0 and 1. It takes the
// samples to be independent and of one distribution, and nothing else of that distribution: the k-th smallest and the k-th largest of n miss
// the median with twice the chance that n tosses of a coin show heads fewer than k times. The k is the greatest that keeps the chance at
// [Confidence] or above. Five samples or fewer cannot do that: their interval is their range, with the lower chance that it has, which is
// 0.9375 for five, 0.875 for four, 0.75 for three, 0.5 for two and 0 for one. All is NaN where there are no samples.
func (f Figure) Interval() (lo, hi, confidence float64) {
	n := len(f.Samples)
	if n == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	// missed is the chance that the median lies beyond the k-th samples. The library's QuantileCI approximates it for many samples.
	missed := func(k int) float64 { return 2 * stats.BinomialDist{N: n, P: 0.5}.CDF(float64(k-1)) }
	k := 1
	for 1-missed(k+1) >= Confidence {
		k++
	}
	sorted := slices.Sorted(slices.Values(f.Samples))
	return sorted[k-1], sorted[n-k], max(1-missed(k), 0)
}

// String is the median and, of two samples or more, how far the interval of the median reaches from it at most: "101k ±3%". Where percents
// make no sense, of a median of 0 or signs that differ, it is the interval itself: "0 [0, 12]". Without samples it is the reason.
func (f Figure) String() string {
	switch {
	case f.OK():
	case f.Why != "":
		return f.Why
	default:
		return "not measured"
	}
	m := f.Median()
	if len(f.Samples) == 1 {
		return Short(m)
	}
	lo, hi, _ := f.Interval()
	if lo == hi {
		return Short(m) + " ±0%"
	}
	if m == 0 || (lo < 0) != (hi < 0) {
		return fmt.Sprintf("%s [%s, %s]", Short(m), Short(lo), Short(hi))
	}
	percent := 100 * max((hi-m)/math.Abs(m), (m-lo)/math.Abs(m))
	if percent < 1 {
		return fmt.Sprintf("%s ±%.1g%%", Short(m), percent)
	}
	return fmt.Sprintf("%s ±%.0f%%", Short(m), percent)
}

// Short is x with three digits that count and a letter for thousands (k), millions (M), and so on: "0.0286", "12.3", "456", "1.23k". What has
// no letter, below a millionth and from 10¹⁵ on, has an exponent.
func Short(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	size := math.Abs(rounded)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || size != 0 && size < 1e-6 || size >= 1e15 {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	letter := ""
	for _, l := range []string{"k", "M", "G", "T"} {
		if math.Abs(rounded) < 1000 {
			break
		}
		rounded, letter = rounded/1000, l
	}
	digits := 2
	for digits > 0 && math.Abs(rounded) >= math.Pow10(3-digits) {
		digits--
	}
	for digits < 9 && math.Abs(rounded) < math.Pow10(2-digits) && rounded != 0 {
		digits++
	}
	out := strconv.FormatFloat(rounded, 'f', digits, 64)
	if digits > 0 {
		out = strings.TrimSuffix(strings.TrimRight(out, "0"), ".")
	}
	return out + letter
}

// median is NaN of nothing.
func median(samples []float64) float64 { return stats.Sample{Xs: samples}.Quantile(0.5) }
