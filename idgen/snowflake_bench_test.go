package idgen_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// unbounded has a sequence so wide that no tick is ever used up, so that the generator is measured and not its layout's limit.
func unbounded(b *testing.B) *idgen.Snowflake {
	b.Helper()
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Sequence.Bits(22))
	if err != nil {
		b.Fatal(err)
	}
	return newGenerator(b, layout)
}

func BenchmarkNext(b *testing.B) {
	b.Run("floor=time.Since", func(b *testing.B) {
		start := time.Now()
		for b.Loop() {
			time.Since(start)
		}
	})
	ctx := b.Context()
	for name, g := range map[string]*idgen.Snowflake{"bound=none": unbounded(b), "bound=4096_per_ms": newGenerator(b, idgen.WithNode(1))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Next(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("bound=none/parallel", func(b *testing.B) {
		g := unbounded(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := g.Next(ctx); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

func BenchmarkFill(b *testing.B) {
	g, ids := unbounded(b), make([]int64, 1000)
	b.Run("bound=none/ids=1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := g.Fill(b.Context(), ids); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/id")
	})
}
