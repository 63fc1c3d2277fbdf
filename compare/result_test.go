package compare_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/compare"
)

func TestSamples(t *testing.T) {
	for _, tt := range []struct {
		samples, others compare.Samples
		median, ratio   float64
	}{
		{nil, nil, 0, 0},
		{compare.Samples{3}, compare.Samples{6}, 3, 0.5},
		{compare.Samples{9, 1, 5}, compare.Samples{3, 1, 1}, 5, 3}, // ratios 3, 1, 5
		{compare.Samples{9, 1, 5}, nil, 5, 0},
	} {
		if got := tt.samples.Median(); got != tt.median {
			t.Errorf("median of %v: got %v, want %v", tt.samples, got, tt.median)
		}
		if got := tt.samples.RatioTo(tt.others); got != tt.ratio {
			t.Errorf("%v to %v: got %v, want %v", tt.samples, tt.others, got, tt.ratio)
		}
	}
}
