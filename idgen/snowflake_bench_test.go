//go:build unix

package idgen_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// unbounded has a sequence so wide that no tick is ever used up, so that the generator is measured and not its layout's limit.
func unbounded(b *testing.B, policy idgen.Option) *idgen.Snowflake {
	b.Helper()
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Sequence.Bits(22))
	if err != nil {
		b.Fatal(err)
	}
	return newGenerator(b, layout, policy)
}

// floor reads the clock, which every generator has to.
func floor(n int) {
	start := time.Now()
	for range n {
		time.Since(start)
	}
}

// BenchmarkNext measures Next and the floor in turns, so that both see the same moments of a noisy machine. The floor is read on one
// goroutine, Next called on one and on two at the same time. ns/id is the time between two ids of any goroutine, ratio that time to the
// floor; ns/call is how long a call takes. Nothing limits the rate: "bound=none". IgnoreBack reads the monotonic clock as the floor does,
// the other policies read the wall clock.
func BenchmarkNext(b *testing.B) {
	const turn = 10_000
	ctx := b.Context()
	calls := func(b *testing.B, g *idgen.Snowflake) {
		for range turn {
			if _, err := g.Next(ctx); err != nil {
				b.Error(err)
			}
		}
	}
	for _, goroutines := range []int{1, 2} {
		for name, policy := range map[string]idgen.Option{"ride": idgen.IgnoreBack(), "refuse": idgen.RefuseBack()} {
			b.Run(fmt.Sprintf("bound=none/back=%s/goroutines=%d", name, goroutines), func(b *testing.B) {
				g := unbounded(b, policy)
				var ids, floors time.Duration
				for b.Loop() {
					start := time.Now()
					floor(turn)
					middle := time.Now()
					var others sync.WaitGroup
					for range goroutines - 1 {
						others.Go(func() { calls(b, g) })
					}
					calls(b, g)
					others.Wait()
					floors += middle.Sub(start)
					ids += time.Since(middle)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(ids.Nanoseconds())/float64(b.N)/turn, "ns/call")
				b.ReportMetric(float64(ids.Nanoseconds())/float64(b.N*goroutines)/turn, "ns/id")
				b.ReportMetric(float64(floors.Nanoseconds())/float64(b.N)/turn, "ns/floor")
				b.ReportMetric(float64(ids)/float64(floors)/float64(goroutines), "ratio")
			})
		}
	}
}

// BenchmarkSaturated takes all that the default layout gives, 4,096 ids a millisecond, and reports how much of that it got and how
// much of one core it took, waits included.
func BenchmarkSaturated(b *testing.B) {
	g := newGenerator(b, idgen.WithNode(1))
	cpu := func() time.Duration {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			b.Fatal(err)
		}
		return time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	for _, how := range []string{"Next", "Fill"} {
		b.Run("bound=4096_per_ms/call="+how, func(b *testing.B) {
			ids := make([]int64, 1024)
			used, start := cpu(), time.Now()
			for b.Loop() {
				if how == "Fill" {
					if err := g.Fill(b.Context(), ids); err != nil {
						b.Fatal(err)
					}
					continue
				}
				for range ids {
					if _, err := g.Next(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
			took := time.Since(start)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(b.N*len(ids))/took.Seconds()/4_096_000*100, "%_of_bound")
			b.ReportMetric((cpu()-used).Seconds()/took.Seconds(), "cores")
		})
	}
}

func BenchmarkFill(b *testing.B) {
	g, ids := unbounded(b, idgen.IgnoreBack()), make([]int64, 1000)
	b.Run("bound=none/ids=1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := g.Fill(b.Context(), ids); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/id")
	})
}
