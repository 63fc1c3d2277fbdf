package granttest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Fleet is six keepers on eight numbers that make ids, for tests that kill the store's server meanwhile. The grants are short and there are few sequences, so that
// two generators with one number would soon make an id twice.
type Fleet struct {
	t            testing.TB
	stop         context.CancelFunc
	group        sync.WaitGroup
	made, opened atomic.Int64
	mu           sync.Mutex
	all          []int64 // guarded by mu
}

// StartFleet starts keepers in a store. It calls store once for each of them. Keepers are opened and closed all the time; their errors are expected.
func StartFleet(t testing.TB, store func() grant.Store) *Fleet {
	t.Helper()
	layout, err := idgen.NewLayout(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(3), idgen.Sequence.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	config := grant.Config{
		Generator: []idgen.Option{layout}, For: 400 * time.Millisecond, First: 100 * time.Millisecond, Wait: 10 * time.Second, Logger: slog.New(slog.DiscardHandler),
	}
	ctx, stop := context.WithCancel(context.Background())
	f := &Fleet{t: t, stop: stop}
	t.Cleanup(func() {
		stop()
		f.group.Wait()
	})
	for range 6 {
		s := store()
		f.group.Go(func() { f.run(ctx, s, config) })
	}
	return f
}

func (f *Fleet) run(ctx context.Context, s grant.Store, config grant.Config) {
	var ids []int64
	for ctx.Err() == nil {
		keys, err := grant.Open(ctx, s, config)
		if err != nil {
			f.pause(ctx)
			continue
		}
		f.opened.Add(1)
		for range 2000 {
			id, err := keys.Next(ctx)
			if err != nil {
				f.pause(ctx)
				continue
			}
			ids = append(ids, id)
			f.made.Add(1)
		}
		_ = keys.Close() // fails while the store does not answer
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, ids...)
}

// pause waits as long as grants of a young keeper last, or until the context ends.
func (f *Fleet) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

// Made returns how many ids were made so far.
func (f *Fleet) Made() int64 { return f.made.Load() }

// Stop ends the keepers, and fails the test where an id was made twice.
func (f *Fleet) Stop() {
	f.t.Helper()
	f.stop()
	f.group.Wait()
	n := len(f.all)
	slices.Sort(f.all)
	twice := n - len(slices.Compact(f.all))
	if twice > 0 || n == 0 {
		f.t.Errorf("%d of %d ids came twice", twice, n)
	}
	f.t.Logf("%d ids by %d keepers, %d twice", n, f.opened.Load(), twice)
}
