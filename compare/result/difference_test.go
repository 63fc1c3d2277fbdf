package result_test

import (
	"math"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/result"
)

// The p are twice the share of the C(n+m, n) orders of the samples that are as extreme, counted by hand.
func TestDiffer(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name     string
		a, b     []float64
		verdict  result.Verdict
		ratio, p float64
	}{
		{"apart, less", []float64{1, 2, 3, 4}, []float64{10, 20, 30, 40}, result.Less, 0.1, 2.0 / 70},
		{"apart, greater", []float64{10, 20, 30, 40, 50}, []float64{1, 2, 3, 4, 5}, result.Greater, 10, 2.0 / 252},
		{"one pair out of order", []float64{1, 2, 3, 4, 6}, []float64{5, 7, 8, 9, 10}, result.Less, 3.0 / 8, 4.0 / 252},
		{"two pairs out of order, four each", []float64{1, 2, 3, 6}, []float64{4, 5, 7, 8}, result.Same, 2.5 / 6, 2 * 4.0 / 70},
		{"interleaved", []float64{1, 4, 5, 8}, []float64{2, 3, 6, 7}, result.Same, 1, 1},
		{"all equal", []float64{3, 3, 3, 3}, []float64{3, 3, 3, 3}, result.Same, 1, 1},
		{"three each", []float64{1, 2, 3}, []float64{10, 20, 30}, result.Unknown, 0.1, nan},
		{"one each", []float64{1}, []float64{10}, result.Unknown, 0.1, nan},
		{"three and five are enough", []float64{1, 2, 3}, []float64{10, 20, 30, 40, 50}, result.Less, 2.0 / 30, 2.0 / 56},
		{"against zeros", []float64{5, 6, 7, 8}, []float64{0, 0, 0, 0}, result.Greater, nan, 2.0 / 70},
		{"nothing", nil, []float64{1, 2, 3, 4}, result.Unknown, nan, nan},
	} {
		d := result.Differ(result.Measured(c.a...), result.Measured(c.b...))
		if d.Verdict != c.verdict || !near(d.Ratio, c.ratio) || !near(d.P, c.p) {
			t.Errorf("%s: got %+v, want %v, ratio %v, p %v", c.name, d, c.verdict, c.ratio, c.p)
		}
		if (d.Why != "") != (d.Verdict == result.Unknown) {
			t.Errorf("%s: %v because of %q", c.name, d.Verdict, d.Why)
		}
		turned := map[result.Verdict]result.Verdict{result.Less: result.Greater, result.Greater: result.Less}
		back := result.Differ(result.Measured(c.b...), result.Measured(c.a...))
		if want, ok := turned[c.verdict]; ok && back.Verdict != want || !ok && back.Verdict != c.verdict || !near(back.P, c.p) {
			t.Errorf("%s, turned round: got %+v", c.name, back)
		}
	}
}

func TestDifferSaysWhy(t *testing.T) {
	missing := result.Differ(result.Measured(1, 2, 3, 4), result.Missing("the server is not ours"))
	if !strings.Contains(missing.Why, "the server is not ours") {
		t.Errorf("missing: %q", missing.Why)
	}
	few := result.Differ(result.Measured(1, 2, 3), result.Measured(4, 5, 6))
	if !strings.Contains(few.Why, "p of 0.1 at least") {
		t.Errorf("few: %q", few.Why)
	}
	none := result.Differ(result.Measured(1, 2, math.NaN(), 4), result.Measured(1, 2, 3, 4))
	if none.Verdict != result.Unknown || none.Why == "" {
		t.Errorf("not a number: %+v", none)
	}
}
