package result_test

import (
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/compare/result"
)

// tenths of a table that begins with first and ends with last rows a second, a sample a round.
func tenths(first, last result.Figure) []result.Tenth {
	t := make([]result.Tenth, 10)
	t[0].RowsPerSecond, t[9].RowsPerSecond = first, last
	return t
}

func TestGrowthOverall(t *testing.T) {
	g := result.Growth{Rows: 300, Batches: [][]int64{{1000, 2000, 3000}, {500, 500, 2000, 9999}}}
	// 300 rows in 6 and in 3 milliseconds; the second round had time for more
	if f := g.Overall(); len(f.Samples) != 2 || !near(f.Samples[0], 50_000) || !near(f.Samples[1], 100_000) {
		t.Errorf("got %v", f)
	}
	for _, c := range []struct {
		growth result.Growth
		why    string
	}{
		{result.Growth{Why: "the disk is full"}, "the disk is full"},
		{result.Growth{}, "no rows were inserted"},
		{result.Growth{Rows: 3, Batches: [][]int64{{1}, {0}}}, "a round's INSERTs have no durations"},
	} {
		if f := c.growth.Overall(); f.OK() || f.Why != c.why {
			t.Errorf("%+v: got %+v", c.growth, f)
		}
	}
}

func TestGrowthSlowdown(t *testing.T) {
	g := result.Growth{Tenths: tenths(result.Measured(100, 200), result.Measured(20, 100))}
	if f := g.Slowdown(); !slices.Equal(f.Samples, []float64{0.2, 0.5}) {
		t.Errorf("got %v", f)
	}
	for _, c := range []struct {
		name   string
		growth result.Growth
		why    string
	}{
		{"none", result.Growth{Why: "the disk is full"}, "the disk is full"},
		{"empty", result.Growth{}, "no rows were inserted"},
		{"the last is missing", result.Growth{Tenths: tenths(result.Measured(1), result.Missing("too slow"))}, "too slow"},
		{"rounds differ", result.Growth{Tenths: tenths(result.Measured(1, 2), result.Measured(1))}, "not all rounds reached the last tenth"},
		{"no rate", result.Growth{Tenths: tenths(result.Measured(0), result.Measured(1))}, "the first tenth of a round has no rate"},
	} {
		if f := c.growth.Slowdown(); f.OK() || f.Why != c.why {
			t.Errorf("%s: got %+v", c.name, f)
		}
	}
}
