package resulttest_test

import (
	"reflect"
	"testing"

	"github.com/snowkey-go/snowkey/compare/internal/resulttest"
)

func TestSampleIsTheSameEachTime(t *testing.T) {
	a, b := resulttest.Sample(), resulttest.Sample()
	if !reflect.DeepEqual(a, b) {
		t.Fatal("two samples differ")
	}
	a.Databases[1].Strategies[1].Growth.Batches[0][0]++
	a.Databases[1].Strategies[1].Key.Sample[0] = ""
	a.Databases[1].Settings[0].Value = ""
	if !reflect.DeepEqual(b, resulttest.Sample()) {
		t.Error("samples share memory")
	}
}

// What reports have to show is there.
func TestSampleHasWhatReportsHaveToShow(t *testing.T) {
	r := resulttest.Sample()
	var skipped, failed, measured int
	for _, d := range r.Databases {
		for _, s := range d.Strategies {
			switch {
			case s.Skipped != "":
				skipped++
			case !s.Verify.OK():
				failed++
				if len(s.Growth.Batches) > 0 || len(s.Latency.Samples) > 0 {
					t.Errorf("%s on %s failed, and was measured", s.Name, d.Name)
				}
			default:
				measured++
			}
		}
	}
	if len(r.Databases) != 3 || skipped != 3 || failed != 3 || measured != 27 {
		t.Errorf("%d databases, %d skipped, %d failed and %d measured", len(r.Databases), skipped, failed, measured)
	}
}
