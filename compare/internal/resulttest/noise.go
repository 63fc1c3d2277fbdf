package resulttest

import (
	"math"
	"math/rand/v2"

	"github.com/snowkey-go/snowkey/compare/result"
)

// noise scatters numbers, the same way each time.
type noise struct{ random *rand.Rand }

// newNoise begins the noise of a strategy at a place.
func newNoise(place, strategy uint64) *noise { return &noise{rand.New(rand.NewPCG(place, strategy))} }

// around is a number near x, by a normal distribution cut at three times its relative deviation.
func (n *noise) around(x, deviation float64) float64 {
	return x * (1 + deviation*max(-3, min(3, n.random.NormFloat64())))
}

// figure has a sample a round around x, with so many decimals.
func (n *noise) figure(x, deviation float64, decimals int) result.Figure {
	var f result.Figure
	for range rounds {
		f.Add(round(n.around(x, deviation), decimals))
	}
	return f
}

// round rounds x to so many decimals.
func round(x float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Round(x*p) / p
}
