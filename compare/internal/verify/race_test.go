package verify_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/compare/internal/verify"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// twoAtomics keeps time and sequence in two atomics, each of them right.
func twoAtomics() *source {
	var tick, sequence atomic.Int64
	start := time.Now()
	return &source{next: func(context.Context) (int64, error) {
		now := int64(time.Since(start) / time.Millisecond)
		if was := tick.Load(); now > was && tick.CompareAndSwap(was, now) {
			sequence.Store(0)
		}
		return tick.Load()<<16 | sequence.Add(1), nil
	}}
}

// BenchmarkFound tells how often faults that need two goroutines at the same time are found.
func BenchmarkFound(b *testing.B) {
	for name, open := range map[string]func() *source{
		"two-atomics": twoAtomics,
		"no-lock": func() *source {
			var last atomic.Int64
			return &source{next: func(context.Context) (int64, error) {
				n := last.Load() + 1
				last.Store(n)
				return n, nil
			}}
		},
	} {
		b.Run("fault="+name, func(b *testing.B) {
			found := 0
			for b.Loop() {
				v, err := verify.Run(b.Context(), apart(strategy.Unordered, open), strategy.Environment{Prefix: "sk_"}, none, verify.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if v.Checks[0].State == result.Failed {
					found++
				}
			}
			b.ReportMetric(float64(found)/float64(b.N), "found/op")
		})
	}
}

// none makes no tables.
func none(context.Context, strategy.Keys) (strategy.Table, error) {
	return nil, errors.New("no tables here")
}
