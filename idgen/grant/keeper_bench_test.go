package grant_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// BenchmarkKeeper measures Next of a keeper, of a generator with a number of its own, and the floor, one reading of the clock, in turns.
// No tick is ever used up: "bound=none". The ratios are those of the keeper.
func BenchmarkKeeper(b *testing.B) {
	const turn = 10_000
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(1), idgen.Sequence.Bits(21))
	if err != nil {
		b.Fatal(err)
	}
	own, err := idgen.New(layout, idgen.WithNode(1))
	if err != nil {
		b.Fatal(err)
	}
	keeper := open(b, grant.Memory(nil), grant.Config{Generator: []idgen.Option{layout}})
	b.Run("bound=none", func(b *testing.B) {
		var took [3]time.Duration
		for b.Loop() {
			start := time.Now()
			for range turn {
				time.Since(start)
			}
			took[0] += time.Since(start)
			for i, source := range []idgen.Source[int64]{own, keeper} {
				start := time.Now()
				for range turn {
					if _, err := source.Next(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				took[i+1] += time.Since(start)
			}
		}
		b.ReportMetric(0, "ns/op")
		for i, name := range []string{"ns/floor", "ns/own", "ns/keeper"} {
			b.ReportMetric(float64(took[i].Nanoseconds())/float64(b.N)/turn, name)
		}
		b.ReportMetric(float64(took[2])/float64(took[0]), "x-floor")
		b.ReportMetric(float64(took[2])/float64(took[1]), "x-own")
	})
}
