package ticket

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// endless allocates as much as is asked for, at once.
type endless struct {
	mu   sync.Mutex
	next int64 // locked by mu
}

func (e *endless) allocate(_ context.Context, count int64) (allocation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	units := (count + defaultUnit - 1) / defaultUnit
	s := span{first: e.next + 1, unit: defaultUnit, jump: 2 * defaultUnit, units: units}
	e.next = s.last() + defaultUnit
	return allocation{span: s}, nil
}

func (*endless) recheck(context.Context) error { return nil }

func (*endless) stats() []ServerStats { return nil }

func (*endless) close() {}

func (e *endless) unavailable(ended error) error { return ended }

// BenchmarkNext measures Next of a buffer whose refill never makes it wait, and what it cannot be faster than: a mutex around a counter.
// A buffer that read the clock for each id would take what of=clock takes on top. "bound=none": no server limits it.
func BenchmarkNext(b *testing.B) {
	config, err := BlockConfig{Rate: maxStep}.complete(1)
	if err != nil {
		b.Fatal(err)
	}
	buffer := newBuffer(config, &endless{})
	defer buffer.Close()
	if err := buffer.Warm(b.Context()); err != nil {
		b.Fatal(err)
	}
	var mu sync.Mutex
	var counter int64
	ctx, start := b.Context(), time.Now()
	for _, kind := range []struct {
		of   string
		call func() error
	}{
		{"mutex", func() error { mu.Lock(); counter++; mu.Unlock(); return nil }},
		{"clock", func() error { time.Since(start); return nil }},
		{"buffer", func() error { _, err := buffer.Next(ctx); return err }},
	} {
		b.Run(fmt.Sprintf("bound=none/of=%s/goroutines=1", kind.of), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := kind.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("bound=none/of=%s/goroutines=all", kind.of), func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := kind.call(); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkFill measures what a Fill takes for each id, the lock held.
func BenchmarkFill(b *testing.B) {
	config, err := BlockConfig{Rate: maxStep}.complete(1)
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("bound=none/ids=%d", count), func(b *testing.B) {
			buffer := newBuffer(config, &endless{})
			defer buffer.Close()
			ids := make([]int64, count)
			b.ReportAllocs()
			for b.Loop() {
				if err := buffer.Fill(b.Context(), ids); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/id")
		})
	}
}
