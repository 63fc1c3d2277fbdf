package idgen_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

func TestQuotientIsTheDivision(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	check := func(n, d int64) { // no t.Helper, which takes the most of three million calls
		if got, want := idgen.Quotient(n, time.Duration(d)), n/d; got != want {
			t.Fatalf("%d / %d: got %d, want %d", n, d, got, want)
		}
	}
	for range 300_000 {
		d := 1 + r.Int64()>>r.IntN(63)
		if d <= 0 {
			continue
		}
		n := r.Int64() >> r.IntN(63)
		multiple := n / d * d
		for _, n := range []int64{n, multiple, max(0, multiple-1), math.MaxInt64, math.MaxInt64 / d * d, max(0, math.MaxInt64/d*d-1), 0, 1, d, d - 1} {
			check(n, d)
		}
	}
	for shift := range 63 {
		for _, d := range []int64{1 << shift, 1<<shift - 1, 1<<shift + 1} {
			if d > 0 {
				check(math.MaxInt64, d)
				check(math.MaxInt64/d*d, d)
				check(math.MaxInt64/d*d-1+1/d, d)
			}
		}
	}
}
