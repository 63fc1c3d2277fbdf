package compare_test

import (
	"context"
	"sync/atomic"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// counting is a source of own keys, which a test tells what to do.
type counting struct {
	n    *atomic.Int64
	next func(n int64) (int64, error)
}

func (c counting) Next(context.Context) (int64, error) { return c.next(c.n.Add(1)) }

func (c counting) Fill(ctx context.Context, keys []int64) (err error) {
	for i := range keys {
		if keys[i], err = c.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// own returns a strategy of a counter that all its processes share.
func own(name string, next func(n int64) (int64, error)) strategy.Strategy {
	n := new(atomic.Int64)
	info := strategy.Info{Name: name, About: "a counter of the test", Order: strategy.Unordered, Random: 1}
	return strategy.New(info, func(context.Context, strategy.Environment) (idgen.Source[int64], error) {
		return counting{n, next}, nil
	})
}
