package grant_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// forShards returns the options of a generator like that of the preset, but for its epoch: the clock of a synctest bubble begins in the
// year 2000.
func forShards(t testing.TB, options ...idgen.Option) []idgen.Option {
	t.Helper()
	layout, err := idgen.NewLayout(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), idgen.Sharded.Unit(), idgen.Sharded.Fields()...)
	if err != nil {
		t.Fatal(err)
	}
	return append([]idgen.Option{idgen.Sharded, layout, idgen.WithShards()}, options...)
}

func timeOf(t testing.TB, layout idgen.Layout, id int64) time.Time {
	t.Helper()
	parts, err := layout.Decode(id)
	if err != nil {
		t.Fatal(err)
	}
	return parts.Time
}

// A keeper's restart, again and again, while a shard is ahead of the clock by what it may borrow: the next holder of the number begins
// after the greatest tick of any shard, makes no id twice and none smaller, and is no further ahead than the one before.
func TestHandOverOfBorrowedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := grant.Memory(nil)
		last, seen := map[int64]int64{}, map[int64]bool{}
		for round := range 4 {
			k := open(t, store, grant.Config{Generator: forShards(t, idgen.WithNode(3))})
			for _, shard := range []int64{9, 10, 9} {
				ids := make([]int64, 16*220)
				if shard == 10 {
					ids = ids[:1]
				}
				if err := k.FillFor(t.Context(), shard, ids); err != nil {
					t.Fatal(err)
				}
				id, err := k.NextFor(t.Context(), shard)
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range append(ids, id) {
					if seen[id] || id <= last[shard] || id&1023 != shard {
						t.Fatalf("round %d, shard %d: got %d after %d", round, shard, id, last[shard])
					}
					seen[id], last[shard] = true, id
				}
				if ahead := time.Until(timeOf(t, k.Layout(), id)); ahead > time.Second {
					t.Fatalf("round %d, shard %d: an id is %s ahead, want at most a second", round, shard, ahead)
				}
			}
			if err := k.Close(); err != nil {
				t.Fatal(err)
			}
			listing, err := store.List(t.Context(), grant.DefaultSpace, 3, 3)
			if err != nil || len(listing.Rows) != 1 || listing.Rows[0].Until != last[9]>>22+1 {
				t.Fatalf("round %d: got %+v, %v, want the tick after the last one of shard 9, %d", round, listing, err, last[9]>>22+1)
			}
		}
	})
}

// No shard borrows a tick beyond the grant, which is what somebody else may have when the process is killed.
func TestNoShardBorrowsBeyondTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, grant.Config{Generator: forShards(t), For: 400 * time.Millisecond})
		store.set(errDown, false, 0)
		until, n := k.State().Until, 0
		for {
			id, err := k.NextFor(t.Context(), 5)
			if errors.Is(err, grant.ErrEnded) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if at := timeOf(t, k.Layout(), id); !at.Before(until) {
				t.Fatalf("an id of %s, granted until %s", at, until)
			}
			n++
		}
		if n < 16*390 || time.Now().Before(until) {
			t.Errorf("got %d ids until %s, granted until %s", n, time.Now(), until)
		}
	})
}

// Calls for a shard wait for a renewal as others do, and tell the same errors.
func TestShardsWaitForTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, grant.Config{Generator: forShards(t)})
		ids := make([]int64, 5)
		for _, shard := range []int64{-1, 1024} {
			_, err := k.NextFor(t.Context(), shard)
			if fill := k.FillFor(t.Context(), shard, ids); !errors.Is(err, idgen.ErrRange) || !errors.Is(fill, idgen.ErrRange) {
				t.Errorf("shard %d: got %v and %v, want ErrRange", shard, err, fill)
			}
		}
		if _, err := k.Next(t.Context()); !errors.Is(err, idgen.ErrNode) {
			t.Errorf("no shard: got %v, want ErrNode", err)
		}
		store.set(errDown, false, 0)
		time.Sleep(11 * time.Minute)
		_, err := k.NextFor(t.Context(), 7)
		if fill := k.FillFor(t.Context(), 7, ids); !errors.Is(err, errDown) || !errors.Is(err, grant.ErrEnded) || !errors.Is(fill, grant.ErrEnded) {
			t.Errorf("past the grant: got %v and %v, want ErrEnded with its cause", err, fill)
		}
		store.set(nil, false, 0)
		time.Sleep(time.Minute)
		if _, err = k.NextFor(t.Context(), 7); err != nil {
			t.Errorf("the store is back: %v", err)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = k.NextFor(t.Context(), 7)
		if fill := k.FillFor(t.Context(), 7, ids); !errors.Is(err, grant.ErrClosed) || !errors.Is(fill, grant.ErrClosed) {
			t.Errorf("closed: got %v and %v, want ErrClosed", err, fill)
		}
	})
}

// A process that was suspended past its grant gets it renewed when the first call for a shard sees that the clock has stepped.
func TestShardsAfterASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &steppedClock{}
		k := open(t, grant.Memory(func() time.Time { return clock.Wall() }), grant.Config{Generator: forShards(t, idgen.WithClock(clock))})
		if _, err := k.NextFor(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		clock.step(time.Hour)
		time.Sleep(time.Second) // the generator compares its clocks
		if err := k.FillFor(t.Context(), 1, make([]int64, 3)); err != nil {
			t.Error(err)
		}
		synctest.Wait() // the keeper asks what time it is
		id, err := k.NextFor(t.Context(), 2)
		if err != nil || timeOf(t, k.Layout(), id).Before(clock.Wall().Add(-time.Second)) {
			t.Errorf("got %d of %s, %v, want one of now, %s", id, timeOf(t, k.Layout(), id), err, clock.Wall())
		}
	})
}

// Keepers that come and go over two numbers, all making ids for the same few shards, make none twice.
func TestShardsOfKeepersThatComeAndGo(t *testing.T) {
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(1), idgen.Sequence.Bits(4), idgen.Shard.Bits(2))
	if err != nil {
		t.Fatal(err)
	}
	store := grant.Memory(nil)
	config := grant.Config{Generator: []idgen.Option{idgen.Sharded, layout, idgen.WithShards()}}
	made := make([][]int64, 2)
	var wg sync.WaitGroup
	for i := range made {
		wg.Go(func() {
			for range 15 {
				ids, err := makeForShards(t.Context(), store, config)
				if err != nil {
					t.Error(err)
					return
				}
				made[i] = append(made[i], ids...)
			}
		})
	}
	wg.Wait()
	requireUnique(t, slices.Concat(made...))
}

// makeForShards opens a keeper, makes ids for its first four shards by two goroutines, and closes it while they do.
func makeForShards(ctx context.Context, store grant.Store, config grant.Config) ([]int64, error) {
	k, err := grant.Open(ctx, store, config)
	if err != nil {
		return nil, err
	}
	made, errs := make([][]int64, 2), make([]error, 2)
	enough := make(chan struct{})
	var wg sync.WaitGroup
	for i := range made {
		wg.Go(func() {
			for n := int64(0); errs[i] == nil; n++ {
				if i == 0 && n == 60 {
					close(enough)
				}
				ids := make([]int64, 1+n%8)
				if errs[i] = k.FillFor(ctx, (n/3)%4*(n%2), ids); errs[i] == nil {
					made[i] = append(made[i], ids...)
				}
			}
			if errors.Is(errs[i], grant.ErrClosed) {
				errs[i] = nil
			}
			if i == 0 {
				select {
				case <-enough:
				default:
					close(enough)
				}
			}
		})
	}
	<-enough
	err = k.Close()
	wg.Wait()
	return slices.Concat(made...), errors.Join(err, errs[0], errs[1])
}

func requireUnique(t *testing.T, ids []int64) {
	t.Helper()
	n := len(ids)
	slices.Sort(ids)
	if unique := len(slices.Compact(ids)); n == 0 || unique != n {
		t.Errorf("%d of %d ids came twice", n-unique, n)
	}
}
