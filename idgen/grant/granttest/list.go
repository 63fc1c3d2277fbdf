package granttest

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

func listEmpty(t *testing.T, s store) {
	s.prepare(space, layout, layout)
	for _, bounds := range [][2]int64{{0, 1<<62 - 1}, {0, 0}, {1023, 1023}, {-1, 5}, {math.MinInt64, math.MaxInt64}, {5, 4}} {
		if l := s.list(space, bounds[0], bounds[1]); len(l.Rows) != 0 || l.Now.IsZero() {
			t.Errorf("from %d to %d: got %+v, want no rows and a time", bounds[0], bounds[1], l)
		}
	}
}

func listClock(t *testing.T, s store) {
	s.prepare(space, layout, layout)
	var last time.Time
	whole := 0
	for n := range int64(20) {
		now := s.list(space, 0, math.MaxInt64).Now
		if now.Nanosecond() == 0 {
			whole++
		}
		if d := time.Since(now).Abs(); d > time.Hour {
			t.Fatalf("the store's time is %s, %s off the machine's", now, d)
		}
		if now.Location() != time.UTC {
			t.Fatalf("the store's time %s is not in UTC", now)
		}
		if now.Before(last.Add(-5 * time.Millisecond)) {
			t.Fatalf("the store's time went from %s to %s", last, now)
		}
		last = now
		if n < 3 {
			s.add(space, grant.Row{Number: n, Holder: "a"})
		}
	}
	if whole == 20 {
		t.Fatal("the store's time has whole seconds alone, want milliseconds")
	}
}

func listOrderAndBounds(t *testing.T, s store) {
	s.prepare(space, layout, layout)
	all := []int64{0, 1, 2, 9, 10, 11, 99, 100, 1023}
	for i := range all {
		n := all[i*5%len(all)]
		s.add(space, grant.Row{Number: n, Holder: "a", From: n, Until: n + 1})
	}
	for _, bounds := range [][2]int64{{0, math.MaxInt64}, {-1, 1023}, {0, 0}, {1, 1}, {2, 10}, {3, 8}, {3, 9}, {10, 100}, {100, 99}, {1023, 1023}, {1024, 4000}} {
		var want, got []int64
		for _, n := range all {
			if bounds[0] <= n && n <= bounds[1] {
				want = append(want, n)
			}
		}
		for _, row := range s.list(space, bounds[0], bounds[1]).Rows {
			got = append(got, row.Number)
			if row.From != row.Number || row.Until != row.Number+1 || row.Holder != "a" {
				t.Errorf("got the row %+v", row)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("from %d to %d: got %v, want %v", bounds[0], bounds[1], got, want)
		}
	}
}

// knows fails the test when the space is another one, has another mark, or lacks a row.
func (s store) knows(space, id string, mark int64) {
	s.t.Helper()
	if l := s.list(space, 0, 0); l.ID == "" || l.ID != id || l.Mark != mark || l.Gone != 0 {
		s.t.Fatalf("space %q: got the identity %q, the mark %d and %d rows gone, want %q, %d and none", space, l.ID, l.Mark, l.Gone, id, mark)
	}
}

// mark raises the mark by acquisitions and renewals, and never lowers it.
func mark(_ *testing.T, s store) {
	s.prepare(space, layout, layout)
	s.prepare("other", layout, layout)
	id, other := s.list(space, 0, 0).ID, s.list("other", 0, 0).ID
	s.knows(space, id, 0)
	row := none(7)
	for _, step := range []struct {
		next grant.Row
		mark int64
	}{
		{grant.Row{Number: 7, Holder: "a", From: 10, Until: 20}, 20},
		{grant.Row{Number: 7, Holder: "a", From: 10, Until: 25}, 25}, // renewed
		{grant.Row{Number: 7, Holder: "", From: 10, Until: 22}, 25},  // released
		{grant.Row{Number: 7, Holder: "b", From: 22, Until: 24}, 25}, // acquired
		{grant.Row{Number: 7, Holder: "b", From: 22, Until: 31}, 31},
		{grant.Row{Number: 7, Holder: "", From: 22, Until: 22}, 31},
	} {
		s.swap(space, row, step.next, true)
		row = step.next
		s.knows(space, id, step.mark)
	}
	s.add(space, grant.Row{Number: 3, Holder: "c", From: 1, Until: 5})
	s.knows(space, id, 31)
	// What is refused raises nothing.
	s.swap(space, none(7), grant.Row{Number: 7, Holder: "d", From: 40, Until: 50}, false)
	s.swap(space, grant.Row{Number: 7, Holder: "d", Until: 22}, grant.Row{Number: 7, Holder: "d", From: 40, Until: 50}, false)
	s.swap(space, grant.Row{Number: 8, Holder: "d", Until: 22}, grant.Row{Number: 8, Holder: "d", From: 40, Until: 50}, false)
	s.knows(space, id, 31)
	s.add(space, grant.Row{Number: 1, Holder: "c", From: 31, Until: 32})
	s.knows(space, id, 32)
	s.prepare(space, "another", layout)
	s.knows(space, id, 32)
	s.knows("other", other, 0)
}

// markAndCountAtOnce adds and renews rows from many goroutines while others list: no list has a row beyond the mark, or lacks one, but for [SplitCommits].
func markAndCountAtOnce(t *testing.T, s store) {
	const workers, each = 6, 15
	s.prepare(space, layout, layout)
	var greatest atomic.Int64 // so that each swap is to raise the mark
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range workers {
		writers.Go(func() {
			errs := 0
			for i := int64(0); i < each && errs < chainErrors; {
				row := grant.Row{Number: int64(w*each) + i, Holder: fmt.Sprint("worker ", w), Until: greatest.Add(1)}
				old, added := none(row.Number), false
				if l, err := s.s.List(t.Context(), space, row.Number, row.Number); err == nil && len(l.Rows) == 1 {
					old, added = l.Rows[0], true // before, perhaps with an error
				}
				switch swapped, err := s.s.Swap(t.Context(), space, old, row); {
				case err != nil:
					errs++
				case !swapped:
					t.Errorf("worker %d: nobody else has the row %+v, and it was refused", w, old)
					return
				case added:
					i++
				}
			}
			if errs == chainErrors {
				t.Errorf("worker %d: %d errors", w, errs)
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for before := ""; ; {
				select {
				case <-done:
					return
				default:
				}
				l, err := s.s.List(t.Context(), space, 0, math.MaxInt64)
				if err != nil || s.dirty {
					continue
				}
				wrong := ""
				for _, row := range l.Rows {
					if row.Until > l.Mark {
						wrong = fmt.Sprintf("the row %+v is beyond the mark %d", row, l.Mark)
					}
				}
				if l.Gone != 0 {
					wrong = fmt.Sprintf("%d rows are gone, of %d", l.Gone, len(l.Rows))
				}
				if wrong != "" && (before != "" || !s.split) {
					t.Errorf("%s, and one list before %q", wrong, before)
					return
				}
				before = wrong
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	l, last := s.list(space, 0, math.MaxInt64), int64(0)
	for _, row := range l.Rows {
		last = max(last, row.Until)
	}
	if l.Mark != last || l.Gone != 0 || len(l.Rows) != workers*each {
		t.Errorf("got the mark %d, %d rows gone and %d there, want %d, none and %d", l.Mark, l.Gone, len(l.Rows), last, workers*each)
	}
}
