package report_test

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/report"
	"github.com/snowkey-go/snowkey/compare/result"
)

var tickText = regexp.MustCompile(`<text x="([0-9.]+)%"[^>]*text-anchor="middle">([^<]+)</text>`)

// TestAxes looks that the axes of rates and bytes of any size have four labels, all of which differ, at even distances from one end to the other, and
// that bars take two thirds of them at least.
func TestAxes(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{1e-6, 0.03, 1, 1.0001, 2.99, 3, 3.0001, 9.99, 45, 46, 99_999, 150_001, 1.7e6, 1e12} {
		d := result.Database{Strategies: []result.Strategy{{Name: "own", Verify: result.Verify{Checks: []result.Check{{State: result.Passed}}},
			Growth:  result.Growth{Rows: 100, Tenths: []result.Tenth{{RowsPerSecond: result.Measured(rate)}}, Batches: [][]int64{{int64(max(1, 1e8/rate))}}},
			Storage: result.Storage{Table: result.Measured(rate), Index: result.Measured(0)}}}}
		var out bytes.Buffer
		if err := report.Chart(&out, d); err != nil {
			t.Fatal(err)
		}
		ticks := tickText.FindAllStringSubmatch(out.String(), -1)
		if len(ticks) != 8 {
			t.Fatalf("rate %v: got %d labels of two axes, want 8", rate, len(ticks))
		}
		for axis := range slices.Chunk(ticks, 4) {
			for i, tick := range axis {
				if at, err := strconv.ParseFloat(tick[1], 64); err != nil || at < 33.3*float64(i) || at > 33.4*float64(i) || i > 0 && tick[2] == axis[i-1][2] {
					t.Errorf("rate %v: got the label %q at %s %%, behind %q", rate, tick[2], tick[1], axis[max(0, i-1)][2])
				}
			}
		}
		bars := regexp.MustCompile(`<rect y="5" width="([0-9.]+)%"`).FindAllStringSubmatch(out.String(), -1)
		if width, err := strconv.ParseFloat(bars[len(bars)-1][1], 64); err != nil || width < 66 || width > 100 {
			t.Errorf("rate %v: got a longest bar of %v %%, want two thirds of the axis at least", rate, strings.Join(bars[len(bars)-1], " "))
		}
	}
}
