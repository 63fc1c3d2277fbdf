package result_test

import (
	"math"
	"testing"

	"github.com/snowkey-go/snowkey/compare/result"
)

// near reports whether two numbers are equal but for rounding, or both NaN.
func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b))
}

func TestFigureMedian(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    float64
	}{
		{nil, math.NaN()},
		{[]float64{7}, 7},
		{[]float64{3, 1}, 2},
		{[]float64{9, 1, 4}, 4},
		{[]float64{4, 1, 100, 2}, 3},
		{[]float64{5, 5, 1, 9, 2}, 5},
	} {
		f := result.Measured(c.samples...)
		if got := f.Median(); !near(got, c.want) {
			t.Errorf("median of %v: got %v, want %v", c.samples, got, c.want)
		}
	}
	f := result.Measured(3, 1, 2)
	f.Median()
	f.Interval()
	if f.Samples[0] != 3 || f.Samples[1] != 1 {
		t.Errorf("the samples are now in the order %v", f.Samples)
	}
}

// The confidences are 1 - 2·Σ C(n,i)/2ⁿ over i < k, computed by hand.
func TestFigureInterval(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		n                  int // samples 1, 2 … n
		lo, hi, confidence float64
	}{
		{0, nan, nan, nan},
		{1, 1, 1, 0},
		{2, 1, 2, 0.5},
		{3, 1, 3, 0.75},
		{4, 1, 4, 0.875},
		{5, 1, 5, 0.9375},
		{6, 1, 6, 1 - 2.0/64},
		{7, 1, 7, 1 - 2.0/128},
		{8, 1, 8, 1 - 2.0/256}, // the second and the seventh have 1 - 18/256 = 0.9297
		{9, 2, 8, 1 - 20.0/512},
		{10, 2, 9, 1 - 22.0/1024},
		{12, 3, 10, 1 - 2*(1+12+66)/4096.0},
		{20, 6, 15, 1 - 2*(1+20+190+1140+4845+15504)/1048576.0},
		{40, 14, 27, 0.9615226917},
		{44, 16, 29, 0.9512332341}, // the sixteenth is the last that keeps it: not so by a normal approximation
	} {
		var f result.Figure
		for i := range c.n {
			f.Add(float64((i*7)%c.n + 1)) // 7 has no factor in common with the numbers above, but for 7
		}
		if c.n == 7 {
			f = result.Measured(4, 1, 7, 3, 2, 6, 5)
		}
		lo, hi, confidence := f.Interval()
		if !near(lo, c.lo) || !near(hi, c.hi) || !(near(confidence, c.confidence) || math.Abs(confidence-c.confidence) < 1e-9) {
			t.Errorf("%d samples: got %v to %v with %v, want %v to %v with %v", c.n, lo, hi, confidence, c.lo, c.hi, c.confidence)
		}
	}
}

func TestFigureRange(t *testing.T) {
	if lo, hi := result.Measured(4, -1, 9, 2).Range(); lo != -1 || hi != 9 {
		t.Errorf("got %v to %v", lo, hi)
	}
	if lo, hi := result.Missing("").Range(); !math.IsNaN(lo) || !math.IsNaN(hi) {
		t.Errorf("of nothing: got %v to %v", lo, hi)
	}
}

func TestFigureString(t *testing.T) {
	for _, c := range []struct {
		figure result.Figure
		want   string
	}{
		{result.Measured(98_200, 101_300, 104_400, 100_000, 102_000), "101k ±3%"},
		{result.Measured(100, 100, 150), "100 ±50%"},
		{result.Measured(100, 100.2, 100.1), "100 ±0.1%"},
		{result.Measured(7, 7, 7), "7 ±0%"},
		{result.Measured(0, 0), "0 ±0%"},
		{result.Measured(0, 12, 0), "0 [0, 12]"},
		{result.Measured(-3, 2, 5), "2 [-3, 5]"},
		{result.Measured(42), "42"},
		{result.Missing("no server to kill"), "no server to kill"},
		{result.Figure{}, "not measured"},
	} {
		if got := c.figure.String(); got != c.want {
			t.Errorf("%v: got %q, want %q", c.figure.Samples, got, c.want)
		}
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{0, "0"}, {1, "1"}, {0.5, "0.5"}, {0.02857, "0.0286"}, {1.234, "1.23"}, {12.34, "12.3"}, {123.4, "123"}, {999.4, "999"},
		{999.6, "1k"}, {1234, "1.23k"}, {12_345, "12.3k"}, {123_456, "123k"}, {999_999, "1M"}, {4_096_000, "4.1M"}, {2.5e9, "2.5G"},
		{1e12, "1T"}, {1e15, "1e+15"}, {1e-6, "0.000001"}, {1.5e-7, "1.5e-07"}, {-1234, "-1.23k"},
		{math.Inf(1), "+Inf"}, {math.NaN(), "NaN"}, {100, "100"}, {10, "10"}, {1000, "1k"},
	} {
		if got := result.Short(c.x); got != c.want {
			t.Errorf("%v: got %q, want %q", c.x, got, c.want)
		}
	}
}
