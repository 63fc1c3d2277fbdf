//go:build unix

package idgen_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// BenchmarkNextBeside reports how long calls take beside goroutines that take all of 4,096 ids a millisecond, in ticks. With caller=slow
// they are those of a goroutine that calls now and then, all of them. With caller=saturating they are those of the goroutines themselves
// that took a tenth of a tick or longer, which are the ones that waited. saturating=Fill takes runs of 1,000 ids. At least 5,000 calls of the
// slow caller make a p99 that two runs agree on: -benchtime=5000x. On a machine that others use, ticks go by while nobody makes an id; given is
// how many ids were made by all while a slow caller waited, in ticks of 4,096, which others do not change as much.
func BenchmarkNextBeside(b *testing.B) {
	const tick = time.Millisecond
	for _, bench := range []struct {
		caller, how string
		goroutines  int
	}{{"slow", "Next", 8}, {"slow", "Next", 64}, {"slow", "Fill", 8}, {"saturating", "Next", 64}} {
		b.Run(fmt.Sprintf("bound=4096_per_ms/caller=%s/saturating=%s/goroutines=%d", bench.caller, bench.how, bench.goroutines), func(b *testing.B) {
			g := newGenerator(b, idgen.WithNode(1))
			ctx, cancel := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			var given []float64
			waits := make([][]time.Duration, bench.goroutines+1)
			start := make(chan struct{})
			for i := range bench.goroutines {
				wg.Go(func() {
					<-start
					ids, before := make([]int64, 1000), time.Now()
					for ctx.Err() == nil {
						if bench.how == "Fill" {
							_ = g.Fill(ctx, ids)
							continue
						}
						if _, err := g.Next(ctx); err != nil {
							return
						}
						now := time.Now()
						if took := now.Sub(before); took >= tick/10 {
							waits[i] = append(waits[i], took)
						}
						before = now
					}
				})
			}
			close(start)
			began, issued := time.Now(), g.Stats().Issued
			for b.Loop() {
				made, before := g.Stats().Issued, time.Now()
				if _, err := g.Next(ctx); err != nil {
					b.Fatal(err)
				}
				waits[bench.goroutines] = append(waits[bench.goroutines], time.Since(before))
				given = append(given, float64(g.Stats().Issued-made)/4096)
				time.Sleep(tick / 2) // a slow caller does something else meanwhile
			}
			all := float64(g.Stats().Issued-issued) / time.Since(began).Seconds()
			cancel()
			wg.Wait()
			took := waits[bench.goroutines]
			if bench.caller == "saturating" {
				took = slices.Concat(waits[:bench.goroutines]...)
			}
			slices.Sort(took)
			slices.Sort(given)
			b.ReportMetric(0, "ns/op")
			for name, i := range map[string]int{"p50": len(took) / 2, "p99": len(took) * 99 / 100, "max": len(took) - 1} {
				b.ReportMetric(float64(took[i])/float64(tick), name+"_ticks")
			}
			if bench.caller == "slow" {
				b.ReportMetric(given[len(given)*99/100], "p99_given")
				b.ReportMetric(given[len(given)-1], "max_given")
			}
			b.ReportMetric(all/4_096_000*100, "%_of_bound")
		})
	}
}
