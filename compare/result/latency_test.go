package result_test

import (
	"math"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/compare/result"
)

func TestLatencyPercentile(t *testing.T) {
	thousand := make([]int64, 1000)
	for i := range thousand {
		thousand[i] = int64((i*7)%1000 + 1)
	}
	many := make([]int64, 41_000) // of which 99.9 percent come out as 40959.00000000001
	for i := range many {
		many[i] = int64(i + 1)
	}
	for _, c := range []struct {
		samples []int64
		p, want float64
	}{
		{thousand, 0, 1}, {thousand, 50, 500}, {thousand, 99, 990}, {thousand, 99.9, 999}, {thousand, 99.99, 1000}, {thousand, 100, 1000},
		{[]int64{30, 10, 20}, 50, 20}, {[]int64{30, 10, 20}, 33, 10}, {[]int64{30, 10, 20}, 34, 20}, {[]int64{30, 10, 20}, 99, 30},
		{[]int64{5}, 0, 5}, {[]int64{5}, 99.9, 5},
		{many, 99.9, 40_959},
		{nil, 50, math.NaN()}, {thousand, -1, math.NaN()}, {thousand, 100.1, math.NaN()}, {thousand, math.NaN(), math.NaN()},
	} {
		l := result.Latency{Samples: c.samples}
		if got := l.Percentile(c.p); !near(got, c.want) {
			t.Errorf("%v percent of %d samples: got %v, want %v", c.p, len(c.samples), got, c.want)
		}
	}
	l := result.Latency{Samples: []int64{3, 1, 2}}
	if got := l.Percentiles(100, 1); !slices.Equal(got, []float64{3, 1}) {
		t.Errorf("two at once: got %v", got)
	}
	if !slices.Equal(l.Samples, []int64{3, 1, 2}) || !l.OK() || (result.Latency{}).OK() {
		t.Errorf("the samples are now %v", l.Samples)
	}
}
