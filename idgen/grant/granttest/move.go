package granttest

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

const moved, nextLayout = space + "~1", "another layout"

func (s store) move(space, to, old, new string, most int64, want bool) {
	s.t.Helper()
	got, err := s.s.Move(s.t.Context(), space, to, old, new, most)
	if err != nil || got != want {
		s.t.Fatalf("Move of %q with layout %q to %q with %q, up to %d: got %t, %v, want %t", space, old, to, new, most, got, err, want)
	}
}

func move(t *testing.T, s store) {
	s.prepare("other", layout, layout)
	s.move(space, moved, layout, nextLayout, math.MaxInt64, false) // it is not there
	s.prepare(space, layout, layout)
	row, free := grant.Row{Number: 7, Holder: "a", From: 10, Until: 20}, grant.Row{Number: 9, From: 3, Until: 5}
	s.add(space, row)
	s.add(space, free)
	s.add("other", row)
	loss := grant.Loss{Number: 7, Holder: "a", From: 1, Until: 2}
	s.record(space, loss)
	id := s.list(space, 0, -1).ID

	s.move(space, moved, nextLayout, nextLayout, math.MaxInt64, false)
	s.move(space, moved, layout, nextLayout, 19, false)
	s.prepare(space, "none", layout)
	s.has(space, row, free)

	s.move(space, moved, layout, nextLayout, 20, true)
	s.move(space, moved, layout, nextLayout, 20, false)
	s.move(space, space+"~2", layout, nextLayout, 20, false)
	s.prepare(space, "none", nextLayout)
	s.prepare(moved, "none", nextLayout)
	s.prepare("other", "none", layout)
	s.has(space)
	s.has(moved, row, free)
	s.has("other", row)
	s.lost(space)
	s.lost(moved, loss)
	if l := s.list(moved, 0, -1); l.ID != id || l.Mark != 20 || l.Gone != 0 || l.Absent != 0 {
		t.Errorf("got %+v of the rows, want the identity %q, the mark 20, and none gone", l, id)
	}
	if l := s.list(space, 0, -1); l.ID != id || l.Gone != 0 || l.Absent != grant.Forever {
		t.Errorf("got %+v of what is left, want the identity %q, and numbers without a row held forever", l, id)
	}
	// Whoever does not know changes nothing: not the rows, and none is added, however late its grant is.
	s.swap(space, row, grant.Row{Number: 7, Holder: "a", From: 10, Until: 30}, false)
	s.swap(space, free, grant.Row{Number: 9, Holder: "b", From: 5, Until: 30}, false)
	s.swap(space, none(1), grant.Row{Number: 1, Holder: "b", From: 30, Until: 40}, false)
	s.swap(space, none(7), grant.Row{Number: 7, Holder: "b", From: grant.Forever - 2, Until: grant.Forever - 1}, false)
	s.has(space)

	s.swap(moved, row, grant.Row{Number: 7, Holder: "b", From: 20, Until: 30}, true)
	s.add(moved, grant.Row{Number: 1, Holder: "c", From: 30, Until: 40})
	s.prepare(space+"~2", "x", "x")
	s.move(moved, space+"~2", nextLayout, layout, 40, false) // the name is taken
	s.prepare(moved, "none", nextLayout)
	s.move(moved, space+"~3", nextLayout, layout, 40, true)
	s.prepare(space, "none", nextLayout)
	s.prepare(moved, "none", layout)
	s.has(moved)
	if got := len(s.list(space+"~3", 0, math.MaxInt64).Rows); got != 3 {
		t.Errorf("got %d rows after another move, want 3", got)
	}
}

// moveAtOnce adds and renews rows while the space moves: what was reported is under the new name, below the mark that Move was told, and nothing comes after.
func moveAtOnce(t *testing.T, s store) {
	const workers, most = 8, 1000
	s.prepare(space, layout, layout)
	rows := make([]grant.Row, workers)
	for w := range rows {
		rows[w] = grant.Row{Number: int64(w), Holder: "a", From: 1, Until: 2}
		s.add(space, rows[w])
	}
	var done atomic.Bool
	var swapping atomic.Int64
	swapping.Store(workers)
	var mu sync.Mutex
	var added []grant.Row // guarded by mu
	atOnce(workers+1, func(w int) {
		if w == workers {
			// A store whose transactions fail where others were first, such as a Galera cluster, may not move before the swaps have ended.
			for alone := 0; alone < 50; {
				if swapping.Load() == 0 {
					alone++
				}
				if ok, err := s.s.Move(t.Context(), space, moved, layout, nextLayout, most); err == nil && ok {
					done.Store(true)
					return
				}
			}
			t.Error("the space did not move")
			done.Store(true)
			return
		}
		defer swapping.Add(-1)
		failed := 0
		for try := int64(1); failed < 2 && try < 200; try++ {
			after := done.Load()
			next := rows[w]
			next.Until++
			if ok, err := s.s.Swap(context.WithoutCancel(t.Context()), space, rows[w], next); err == nil && ok {
				rows[w] = next
				if after {
					t.Errorf("a swap of %+v was made after the space had moved", next)
				}
			} else if err == nil {
				failed++
			}
			fresh := grant.Row{Number: try*workers + int64(w), Holder: "b", From: 1, Until: 2}
			if ok, err := s.s.Swap(context.WithoutCancel(t.Context()), space, none(fresh.Number), fresh); err == nil && ok {
				mu.Lock()
				added = append(added, fresh)
				mu.Unlock()
			}
		}
	})
	if t.Failed() {
		return
	}
	s.has(space)
	l := s.list(moved, 0, math.MaxInt64)
	for _, want := range append(rows, added...) {
		if !slices.Contains(l.Rows, want) {
			t.Errorf("the row %+v is not under the new name", want)
		}
	}
	if l.Mark > most || l.Gone != 0 || len(l.Rows) != workers+len(added) {
		t.Errorf("got the mark %d, %d rows, and %d gone, want at most %d, %d, and none", l.Mark, len(l.Rows), l.Gone, most, workers+len(added))
	}
}
