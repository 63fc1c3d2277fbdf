package grant_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// four is a layout with four numbers.
var four, _ = idgen.ParseLayout("time=41@1ms,node=2,sequence=12;epoch=2025-01-01T00:00:00Z")

// A reserved number is the greatest free one, is found again by its name, and is acquired by no keeper.
func TestReserve(t *testing.T) {
	store := grant.Memory(time.Now)
	config := grant.Config{Generator: []idgen.Option{four}}
	reserve := func(name string) (grant.Reservation, error) {
		return grant.Reserve(t.Context(), store, grant.DefaultSpace, four, name)
	}
	first, err := reserve("function a")
	if err != nil || first.Number != 3 || first.Until != grant.Forever || first.From <= 0 || first.StoredAs != grant.DefaultSpace || !strings.HasPrefix(first.Holder, "function a#") {
		t.Fatalf("got %+v and the error %v", first, err)
	}
	if again, err := reserve("function a"); err != nil || again != first {
		t.Errorf("again: got %+v and the error %v, want %+v", again, err, first)
	}
	var keepers []*grant.Keeper
	for range 2 {
		k, err := grant.Open(t.Context(), store, config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = k.Close() }) // once more
		keepers = append(keepers, k)
	}
	second, err := reserve("function b")
	if err != nil || second.Number == first.Number {
		t.Fatalf("got %+v and the error %v", second, err)
	}
	if _, err := reserve("function c"); !errors.Is(err, grant.ErrTaken) || !strings.Contains(err.Error(), "of the 4 numbers") {
		t.Errorf("with all numbers taken: got the error %v", err)
	}
	if _, err := grant.Open(t.Context(), store, config); !errors.Is(err, grant.ErrTaken) {
		t.Errorf("a keeper with all numbers taken: got the error %v", err)
	}
	given := keepers[0].State()
	if err := keepers[0].Close(); err != nil {
		t.Fatal(err)
	}
	var third grant.Reservation
	for third.Until == 0 { // the number given back is free from the next tick on
		if third, err = reserve("function c"); err != nil && !errors.Is(err, grant.ErrTaken) {
			t.Fatal(err)
		}
	}
	if third.Number != given.Number || third.From <= int64(given.From.Sub(four.Epoch())/four.Unit()) {
		t.Errorf("got %+v, want the number of %+v after its grant", third, given)
	}
}

// Of commands that reserve at once under different names, each gets a number of its own.
func TestReserveAtOnce(t *testing.T) {
	store := grant.Memory(time.Now)
	var wg sync.WaitGroup
	var mu sync.Mutex
	numbers := map[int64]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			r, err := grant.Reserve(t.Context(), store, grant.DefaultSpace, four, name)
			mu.Lock()
			defer mu.Unlock()
			if other, twice := numbers[r.Number]; err != nil || twice {
				t.Errorf("%s: got %+v, the number of %q, and the error %v", name, r, other, err)
			}
			numbers[r.Number] = name
		})
	}
	wg.Wait()
}

// What cannot be reserved is refused.
func TestReserveRefused(t *testing.T) {
	store := grant.Memory(time.Now)
	for _, name := range []string{"", "a#b", "a\n", strings.Repeat("a", 65)} {
		if _, err := grant.Reserve(t.Context(), store, grant.DefaultSpace, four, name); !errors.Is(err, grant.ErrConfig) {
			t.Errorf("the name %q: got the error %v", name, err)
		}
	}
	if _, err := grant.Reserve(t.Context(), store, grant.DefaultSpace, four, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := grant.Reserve(t.Context(), store, grant.DefaultSpace, idgen.Snowkey.Layout, "b"); !errors.Is(err, grant.ErrLayout) {
		t.Errorf("another layout: got the error %v", err)
	}
	future, err := idgen.ParseLayout("time=41@1ms,node=2,sequence=12;epoch=2100-01-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grant.Reserve(t.Context(), store, "future", future, "a"); !errors.Is(err, idgen.ErrBeforeEpoch) {
		t.Errorf("before the epoch: got the error %v", err)
	}
}
