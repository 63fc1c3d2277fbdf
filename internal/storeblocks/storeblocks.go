// Package storeblocks has the tests that blocks of ids in a store of grants pass, whichever store it is.
package storeblocks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/testprocess"
	"github.com/snowkey-go/snowkey/ticket"
)

// Run tests blocks in the store that a function returns: the same one at each call, for another process. The store has no blocks yet.
func Run(t *testing.T, store func() grant.Store) {
	t.Run("Unique", func(t *testing.T) { unique(t, store) })
	t.Run("OtherUse", func(t *testing.T) { otherUse(t, store) })
	t.Run("Restore", func(t *testing.T) { restore(t, store) })
	t.Run("SetBack", func(t *testing.T) { setBack(t, store) })
}

// Source returns a source of the store that is closed with the test.
func Source(t *testing.T, sequence string, store grant.Store) *ticket.StoreSource {
	t.Helper()
	source, err := ticket.BlocksIn(ticket.BlockConfig{Config: ticket.Config{Sequence: sequence, Timeout: 20 * time.Second, ServerTimeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)},
		Unit: 16, MinStep: 16, MaxStep: 64}, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

// Ids are ids of several processes, of which none may come twice, and each process's increase. It is safe for concurrent use.
type Ids struct {
	mu   sync.Mutex
	by   map[int64]string
	last map[string]int64
}

// Add adds ids of a process in their order.
func (s *Ids) Add(t testing.TB, process string, ids ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by, s.last = map[int64]string{}, map[string]int64{}
	}
	for _, id := range ids {
		if other, twice := s.by[id]; twice {
			t.Errorf("id %d comes twice: of %s and of %s", id, other, process)
		}
		if id <= s.last[process] {
			t.Errorf("%s: id %d after %d", process, id, s.last[process])
		}
		s.by[id], s.last[process] = process, id
	}
}

// Count returns how many there are.
func (s *Ids) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.by)
}

// unique has processes set up and take blocks at once.
func unique(t *testing.T, store func() grant.Store) {
	var ids Ids
	var wg sync.WaitGroup
	for i := range 4 {
		source := Source(t, "unique", store())
		wg.Go(func() {
			if err := source.Setup(t.Context()); err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				keys := make([]int64, 10)
				if err := source.Fill(t.Context(), keys); err != nil {
					t.Error(err)
					return
				}
				ids.Add(t, fmt.Sprint("process ", i), keys...)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	if n := ids.Count(); n != 4*200 {
		t.Errorf("got %d ids", n)
	}
	if greatest := max(ids.last["process 0"], ids.last["process 1"], ids.last["process 2"], ids.last["process 3"]); greatest > 4*(200+3*64) {
		t.Errorf("got the id %d: blocks were taken in vain", greatest)
	}
	listing, err := store().List(t.Context(), "blocks.unique", 0, 0)
	if err != nil || len(listing.Rows) != 1 || (listing.Rows[0].Until-1)%16 != 0 {
		t.Errorf("got %+v and the error %v, want a row that ends where a unit does", listing, err)
	}
}

// otherUse begins a sequence whose space is one of nodes.
func otherUse(t *testing.T, store func() grant.Store) {
	if _, err := store().Prepare(t.Context(), "blocks.nodes", "time=41@1ms"); err != nil {
		t.Fatal(err)
	}
	if err := Source(t, "nodes", store()).Setup(t.Context()); !errors.Is(err, ticket.ErrLayout) {
		t.Errorf("a space of nodes: got the error %v", err)
	}
}

// restore has a second process go on after a number, while the first one still has a block below it.
func restore(t *testing.T, store func() grant.Store) {
	first, second := Source(t, "restore", store()), Source(t, "restore", store())
	var ids Ids
	for _, do := range []func(context.Context) error{first.Setup, second.Setup, func(ctx context.Context) error { return second.Restore(ctx, 1000) }, first.Setup,
		func(ctx context.Context) error { return Source(t, "restore", store()).Restore(ctx, 500) }} {
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 40 {
		for name, source := range map[string]*ticket.StoreSource{"first": first, "second": second} {
			id, err := source.Next(t.Context())
			if err != nil || id <= 1000 {
				t.Fatalf("%s: got %d and the error %v, want more than 1000", name, id, err)
			}
			ids.Add(t, name, id)
		}
	}
}

// setBack has the store set back, as by a failover, while a process holds a stock of ids, and a second one go past that. The first one notices by itself.
func setBack(t *testing.T, store func() grant.Store) {
	first, second := Source(t, "back", store()), Source(t, "back", store())
	if err := first.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := store().List(t.Context(), "blocks.back", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ids Ids
	id, err := first.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids.Add(t, "first", id)
	for wait := 0; first.Stats().Refilling; wait++ {
		if wait == 10_000 {
			t.Fatal("the first process allocates for ten seconds")
		}
		time.Sleep(time.Millisecond)
	}
	now, err := store().List(t.Context(), "blocks.back", 0, 0)
	if err != nil || first.Stats().Buffered == 0 {
		t.Fatalf("got %+v and the error %v, want a stock", first.Stats(), err)
	}
	if swapped, err := store().Swap(t.Context(), "blocks.back", now.Rows[0], before.Rows[0]); err != nil || !swapped {
		t.Fatal(swapped, err)
	}
	for wait := 0; first.Stats().Buffered > 0; wait++ {
		if wait == 2000 {
			t.Fatal("the first process keeps its stock for twenty seconds")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if id, err := first.Next(t.Context()); !errors.Is(err, ticket.ErrRegression) {
		t.Fatalf("got %d and the error %v, want ErrRegression", id, err)
	}
	for range 200 { // which gives the id of the first process again, as nobody has called Restore
		if _, err := second.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if id, err := first.Next(t.Context()); !errors.Is(err, ticket.ErrRegression) {
		t.Errorf("got %d and the error %v after the second process has gone past, want ErrRegression", id, err)
	}
	if err := first.Restore(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if id, err := first.Next(t.Context()); err != nil || id <= 200 {
		t.Errorf("got %d and the error %v after Restore", id, err)
	}
}

// WhileKilled has processes take ids while the store's server is killed and started again, so many times, or as long as [testprocess.Rounds] says.
func WhileKilled(t *testing.T, store func() grant.Store, rounds int, kill func()) {
	var ids Ids
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer wg.Wait()
	defer cancel()
	for i := range 3 {
		source := Source(t, "killed", store())
		if err := source.Setup(ctx); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				keys := make([]int64, 10)
				if err := source.Fill(ctx, keys); err == nil {
					ids.Add(t, fmt.Sprint("process ", i), keys...)
				} else if ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	more := func() {
		before, end := ids.Count(), time.Now().Add(30*time.Second)
		for ids.Count() < before+2000 {
			if time.Now().After(end) || t.Failed() {
				t.Fatalf("no more ids than %d", before)
			}
			time.Sleep(time.Millisecond)
		}
	}
	kills := 0
	for range testprocess.Rounds(rounds) {
		more()
		kill()
		kills++
	}
	more()
	if !t.Failed() {
		t.Logf("%d ids by 3 processes and %d kills, none twice", ids.Count(), kills)
	}
}
