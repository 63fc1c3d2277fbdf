//go:build unix

package idgen_test

import (
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// BenchmarkNextFor measures Next, NextFor and the floor, one reading of the clock, in turns that are shorter than a slice of a busy core,
// and reports the median of each: the others' moments are in few of them. No tick is ever used up: "bound=none", the layouts have
// sequences so wide. With sequencers=all calls go round all of 1,024, some in each millisecond; with sequencers=first too, but ticks are so short
// that each call is the first of its sequencer's tick, as it is when there are few; with sequencers=one all calls are for one. x-next is the ratio to Next.
func BenchmarkNextFor(b *testing.B) {
	const turn = 1024
	ctx := b.Context()
	for _, tt := range []struct {
		name                     string
		unit                     time.Duration
		ticks, sequences, shards int // bits
		step                     int64
	}{
		{"all", time.Millisecond, 41, 12, 10, 1},
		{"first", 5 * time.Microsecond, 49, 4, 10, 1},
		{"one", time.Millisecond, 41, 21, 1, 0},
	} {
		layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), tt.unit,
			idgen.Time.Bits(tt.ticks), idgen.Sequence.Bits(tt.sequences), idgen.Shard.Bits(tt.shards))
		if err != nil {
			b.Fatal(err)
		}
		g := newGenerator(b, layout, idgen.WithShards())
		b.Run("bound=none/sequencers="+tt.name, func(b *testing.B) {
			besideNext(b, turn, "nextfor", func(i int64) (int64, error) { return g.NextFor(ctx, i*tt.step) })
		})
	}
}

// BenchmarkStream measures Next of a layout with streams, which takes a stream and returns it, and NextIn of a stream that was taken, as BenchmarkNextFor does.
func BenchmarkStream(b *testing.B) {
	ctx := b.Context()
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(25), idgen.Stream.Bits(4), idgen.Time.Bits(16), idgen.Sequence.Bits(18))
	if err != nil {
		b.Fatal(err)
	}
	g := newGenerator(b, layout)
	b.Run("bound=none/call=Next", func(b *testing.B) {
		besideNext(b, 1024, "streamed", func(int64) (int64, error) { return g.Next(ctx) })
	})
	b.Run("bound=none/call=NextIn", func(b *testing.B) {
		stream := g.TakeStream()
		defer g.ReturnStream(stream)
		besideNext(b, 1024, "streamed", func(int64) (int64, error) { return g.NextIn(ctx, stream) })
	})
}

// besideNext measures calls beside Next of a plain layout and the floor, in turns of so many calls.
func besideNext(b *testing.B, turn int64, name string, call func(i int64) (int64, error)) {
	ctx := b.Context()
	plain := unbounded(b, idgen.IgnoreBack())
	var took [3][]time.Duration
	for b.Loop() {
		start := time.Now()
		floor(int(turn))
		took[0] = append(took[0], time.Since(start))
		start = time.Now()
		for range turn {
			if _, err := plain.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
		took[1] = append(took[1], time.Since(start))
		start = time.Now()
		for i := range turn {
			if _, err := call(i); err != nil {
				b.Fatal(err)
			}
		}
		took[2] = append(took[2], time.Since(start))
	}
	var median [3]float64
	for i := range took {
		slices.Sort(took[i])
		median[i] = float64(took[i][len(took[i])/2].Nanoseconds()) / float64(turn)
	}
	b.ReportMetric(0, "ns/op")
	for i, name := range []string{"ns/floor", "ns/next", "ns/" + name} {
		b.ReportMetric(median[i], name)
	}
	b.ReportMetric(median[2]/median[0], "x-floor")
	b.ReportMetric(median[2]/median[1], "x-next")
}
