package granttest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// eight has 8 numbers, and few sequences, so that two generators with one number would soon make an id twice.
func eight(t *testing.T) idgen.Layout {
	return must(idgen.NewLayout(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(3), idgen.Sequence.Bits(4)))(t)
}

// keepers opens eight keepers at once on eight numbers, closes and opens them while all make ids, and finds no id twice.
func keepers(t *testing.T, s store) {
	config := grant.Config{Generator: []idgen.Option{eight(t)}, Timeout: 10 * time.Second, Wait: 10 * time.Second}
	var mu sync.Mutex
	var all []int64 // guarded by mu
	atOnce(8, func(int) {
		for range 3 {
			k, err := grant.Open(t.Context(), s.s, config)
			if err != nil {
				t.Error(err)
				return
			}
			ids := make([]int64, 50)
			if err := errors.Join(k.Fill(t.Context(), ids), k.Close()); err != nil {
				t.Error(err)
			}
			mu.Lock()
			all = append(all, ids...)
			mu.Unlock()
		}
	})
	n := len(all)
	slices.Sort(all)
	if unique := len(slices.Compact(all)); unique != n || n != 8*3*50 {
		t.Errorf("%d of %d ids are different, want %d", unique, n, 8*3*50)
	}
	for _, row := range s.list(grant.DefaultSpace, 0, 7).Rows {
		if row.Holder != "" || row.Until <= row.From {
			t.Errorf("got the row %+v, want it given back, with ticks that were used", row)
		}
	}
}

// keepersRefused holds all numbers, and has the next keeper refused; and one with another layout.
func keepersRefused(t *testing.T, s store) {
	config := grant.Config{Generator: []idgen.Option{eight(t)}, Wait: time.Nanosecond}
	for range 8 {
		k := must(grant.Open(t.Context(), s.s, config))(t)
		defer func() { _ = k.Close() }()
	}
	var taken *grant.TakenError
	if _, err := grant.Open(t.Context(), s.s, config); !errors.As(err, &taken) || taken.Held != 8 || taken.Of != 8 || taken.NextFree <= 0 {
		t.Errorf("got %v, want 8 of 8 taken", err)
	}
	if _, err := grant.Open(t.Context(), s.s, grant.Config{}); !errors.Is(err, grant.ErrLayout) {
		t.Errorf("got %v, want ErrLayout", err)
	}
}
