package measure_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/compare/internal/measure"
)

func TestFastClock(t *testing.T) {
	for _, test := range []struct {
		limit, target float64
		factor        time.Duration
	}{
		{4_096_000, 2e8, 49},
		{2048, 2e8, 97_657},
		{1e12, 2e8, 1},
		{1e-9, 1e300, measure.Furthest}, // no product overflows
	} {
		synctest.Test(t, func(t *testing.T) {
			clock := measure.NewFastClock(test.limit, test.target)
			start, turn := time.Now(), measure.Furthest/test.factor
			for _, real := range slices.Sorted(slices.Values([]time.Duration{0, 1, turn / 2, turn, turn + time.Second, 400 * 24 * time.Hour})) {
				time.Sleep(time.Until(start.Add(real)))
				want := min(real, turn)*test.factor + max(0, real-turn)
				if got := clock.Elapsed(); got != want {
					t.Errorf("limit %v: after %s got %s, want %s", test.limit, real, got, want)
				}
				if got := clock.Wall(); !got.Equal(start.Add(want)) {
					t.Errorf("limit %v: after %s got %s, want %s later than %s", test.limit, real, got, want, start)
				}
			}
		})
	}
}
