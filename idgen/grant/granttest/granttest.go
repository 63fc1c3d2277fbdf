// Package granttest has the tests that a [grant.Store] must pass. One that passes them keeps the promises of the interface as far as a
// single process can see.
//
//	func TestStore(t *testing.T) {
//		granttest.Run(t, func(t *testing.T) grant.Store { return newStore(t) })
//	}
//
// Nothing in it sleeps or depends on how fast a store is. Of changes that are made at once some may fail with an error, as databases
// let them under the stricter isolation levels; everything else has to succeed.
package granttest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Option is a setting of [Run].
type Option func(*store)

// DirtyReads is for a store on sessions that see what others have not committed yet, as under READ UNCOMMITTED. What it lists while others
// swap need not be of one moment.
func DirtyReads() Option { return func(s *store) { s.dirty = true } }

// Run runs the tests as subtests of t. It calls open once for each; open returns a store on storage that is fresh, empty and the
// subtest's own, and which is used from many goroutines.
func Run(t *testing.T, open func(t *testing.T) grant.Store, options ...Option) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s store)
	}{
		{"PrepareIsRepeated", prepareIsRepeated},
		{"PrepareTellsTheFirstLayout", prepareTellsTheFirstLayout},
		{"PrepareAtOnce", prepareAtOnce},
		{"ListEmpty", listEmpty},
		{"ListClock", listClock},
		{"ListOrderAndBounds", listOrderAndBounds},
		{"SwapAdds", swapAdds},
		{"SwapReplaces", swapReplaces},
		{"SwapRefuses", swapRefuses},
		{"Numbers", numbers},
		{"Holders", holders},
		{"Layouts", layouts},
		{"SpacesApart", spacesApart},
		{"SwapChain", swapChain},
		{"FirstAtOnce", firstAtOnce},
		{"Mark", mark},
		{"MarkAndCountAtOnce", markAndCountAtOnce},
		{"Identity", identity},
		{"Losses", losses},
		{"LossesAtOnce", lossesAtOnce},
		{"CancelledContext", cancelledContext},
		{"AsMemory", asMemory},
		{"Keepers", keepers},
		{"KeepersRefused", keepersRefused},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := store{t: t, s: open(t)}
			for _, option := range options {
				option(&s)
			}
			test.run(t, s)
		})
	}
}

const space, layout = "default", "snowflake epoch=2020-01-01T00:00:00Z unit=1ms time=41 node=10 sequence=12"

// store fails the test where the store fails.
type store struct {
	t     *testing.T
	s     grant.Store
	dirty bool
}

func (s store) prepare(space, layout, want string) {
	s.t.Helper()
	got, err := s.s.Prepare(s.t.Context(), space, layout)
	if err != nil || got != want {
		s.t.Fatalf("Prepare %q with layout %q: got %q, %v, want %q", space, layout, got, err, want)
	}
}

func (s store) list(space string, least, most int64) grant.Listing {
	s.t.Helper()
	l, err := s.s.List(s.t.Context(), space, least, most)
	if err != nil {
		s.t.Fatalf("List %q from %d to %d: %v", space, least, most, err)
	}
	return l
}

// has fails the test when the space has other rows than these.
func (s store) has(space string, want ...grant.Row) {
	s.t.Helper()
	if got := s.list(space, 0, math.MaxInt64).Rows; !slices.Equal(got, want) {
		s.t.Fatalf("space %q: got the rows %+v, want %+v", space, got, want)
	}
}

func (s store) swap(space string, old, new grant.Row, want bool) {
	s.t.Helper()
	got, err := s.s.Swap(s.t.Context(), space, old, new)
	if err != nil || got != want {
		s.t.Fatalf("Swap in %q of %+v for %+v: got %t, %v, want %t", space, old, new, got, err, want)
	}
}

func (s store) add(space string, row grant.Row) {
	s.t.Helper()
	s.swap(space, none(row.Number), row, true)
}

// none is the old row of a number that has no row.
func none(number int64) grant.Row { return grant.Row{Number: number, Holder: grant.Absent} }

func prepareIsRepeated(_ *testing.T, s store) {
	row := grant.Row{Number: 3, Holder: "a", From: 1, Until: 2}
	s.prepare(space, layout, layout)
	s.prepare(space, layout, layout)
	s.add(space, row)
	s.prepare(space, layout, layout)
	s.has(space, row)
}

func prepareTellsTheFirstLayout(_ *testing.T, s store) {
	s.prepare(space, layout, layout)
	s.prepare(space, "another", layout)
	s.prepare(space, layout, layout)
	s.prepare("other", "another", "another")
	s.prepare("other", layout, "another")
}

func prepareAtOnce(t *testing.T, s store) {
	var told [10]string
	var errs [len(told)]error
	var group sync.WaitGroup
	begin := make(chan struct{})
	for i := range told {
		group.Go(func() {
			<-begin
			told[i], errs[i] = s.s.Prepare(t.Context(), space, fmt.Sprintf("layout %d", i))
		})
	}
	close(begin)
	group.Wait()
	for i := range told {
		if errs[i] != nil || told[i] != told[0] || !strings.HasPrefix(told[i], "layout ") {
			t.Errorf("process %d was told %q, %v, process 0 %q", i, told[i], errs[i], told[0])
		}
	}
	s.prepare(space, "late", told[0])
}

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
	for n := range int64(20) {
		now := s.list(space, 0, math.MaxInt64).Now
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

func swapAdds(_ *testing.T, s store) {
	s.prepare(space, layout, layout)
	first := grant.Row{Number: 7, Holder: "a", From: 10, Until: 20}
	s.add(space, first)
	s.has(space, first)
	s.swap(space, none(7), grant.Row{Number: 7, Holder: "b", From: 30, Until: 40}, false)
	s.swap(space, none(7), first, false)
	s.has(space, first)
	second := grant.Row{Number: 6, Holder: "a", From: 10, Until: 20}
	s.add(space, second)
	s.has(space, second, first)
}

func swapReplaces(_ *testing.T, s store) {
	s.prepare(space, layout, layout)
	other := grant.Row{Number: 8, Holder: "a", From: 10, Until: 20}
	s.add(space, other)
	row := none(7)
	for _, next := range []grant.Row{
		{Number: 7, Holder: "a", From: 10, Until: 20},
		{Number: 7, Holder: "a", From: 10, Until: 21}, // renewed
		{Number: 7, Holder: "", From: 10, Until: 15},  // released
		{Number: 7, Holder: "b", From: 15, Until: 15}, // acquired
		{Number: 7, Holder: "", From: 15, Until: 15},
		{Number: 7, Holder: "a", From: 16, Until: 20},
		{Number: 7, Holder: "c", From: 16, Until: 20}, // nothing but the holder
	} {
		s.swap(space, row, next, true)
		s.has(space, next, other)
		row = next
	}
}

func swapRefuses(t *testing.T, s store) {
	s.prepare(space, layout, layout)
	held := grant.Row{Number: 7, Holder: "a", From: 10, Until: 20}
	free := grant.Row{Number: 8, Holder: "", From: 10, Until: 20}
	s.add(space, held)
	s.add(space, free)
	for name, old := range map[string]grant.Row{
		"other holder":           {Number: 7, Holder: "b", From: 10, Until: 20},
		"holder in capitals":     {Number: 7, Holder: "A", From: 10, Until: 20},
		"holder and a space":     {Number: 7, Holder: "a ", From: 10, Until: 20},
		"no holder":              {Number: 7, Holder: "", From: 10, Until: 20},
		"other until":            {Number: 7, Holder: "a", From: 10, Until: 21},
		"smaller until":          {Number: 7, Holder: "a", From: 10, Until: 19},
		"no until":               {Number: 7, Holder: "a", From: 10},
		"holder of a free one":   {Number: 8, Holder: "a", From: 10, Until: 20},
		"blank for a free one":   {Number: 8, Holder: " ", From: 10, Until: 20},
		"until of a free one":    {Number: 8, Holder: "", From: 10, Until: 21},
		"missing row":            {Number: 9, Holder: "a", From: 10, Until: 20},
		"missing row, no holder": {Number: 9},
		"zero row":               {Number: 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := store{t: t, s: s.s}
			s.swap(space, old, grant.Row{Number: old.Number, Holder: "new", From: 20, Until: 30}, false)
			s.has(space, held, free)
		})
	}
	// From is not compared: the holder and the until tell rows apart.
	s.swap(space, grant.Row{Number: 7, Holder: "a", Until: 20}, grant.Row{Number: 7, Holder: "new", From: 20, Until: 30}, true)
}

func numbers(_ *testing.T, s store) {
	s.prepare(space, layout, layout)
	var rows []grant.Row
	for _, n := range []int64{0, 1, 1023, 1<<15 - 1, 1 << 15, 1<<24 - 1, 1<<31 - 1, 1 << 31, 1<<53 + 1, 1<<62 - 1} {
		rows = append(rows, grant.Row{Number: n, Holder: "a", From: n, Until: 1<<62 - 1})
		s.add(space, rows[len(rows)-1])
	}
	s.has(space, rows...)
	id := s.list(space, 0, 0).ID
	for i := range rows {
		next := grant.Row{Number: rows[i].Number, Holder: "a", From: 1 << 62, Until: 1 << 62}
		s.swap(space, rows[i], next, true)
		s.swap(space, rows[i], next, false)
		rows[i] = next
	}
	s.has(space, rows...)
	s.has(space, append(s.list(space, 0, 1<<31-1).Rows, s.list(space, 1<<31, 1<<62-1).Rows...)...)
	s.prepare(space, layout, layout)
	s.knows(space, id, 1<<62-1) // of those that are taken for good it is not
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

// markAndCountAtOnce adds and renews rows from many goroutines while others list: no list has a row beyond the mark, or lacks one.
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
			for {
				select {
				case <-done:
					return
				default:
				}
				l, err := s.s.List(t.Context(), space, 0, math.MaxInt64)
				if err != nil || s.dirty {
					continue
				}
				for _, row := range l.Rows {
					if row.Until > l.Mark {
						t.Errorf("the row %+v is beyond the mark %d", row, l.Mark)
						return
					}
				}
				if l.Gone != 0 {
					t.Errorf("%d rows are gone, of %d", l.Gone, len(l.Rows))
					return
				}
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

// identity is made up once for a space, whoever prepares it, and is another one for each.
func identity(t *testing.T, s store) {
	spaces := []string{"a", "A", "b"}
	const workers = 4
	var told [workers][]string
	var group sync.WaitGroup
	begin := make(chan struct{})
	for w := range workers {
		group.Go(func() {
			<-begin
			for _, space := range spaces {
				if _, err := s.s.Prepare(t.Context(), space, fmt.Sprint("layout ", w)); err != nil {
					t.Errorf("Prepare: %v", err)
				}
				l, err := s.s.List(t.Context(), space, 0, 9)
				if err != nil {
					t.Errorf("List: %v", err)
				}
				told[w] = append(told[w], l.ID)
			}
		})
	}
	close(begin)
	group.Wait()
	for w := range workers {
		if !slices.Equal(told[w], told[0]) {
			t.Errorf("process %d was told %q, process 0 %q", w, told[w], told[0])
		}
	}
	for i, id := range told[0] {
		if id == "" || slices.Contains(told[0][:i], id) {
			t.Errorf("got the identities %q, want different ones", told[0])
		}
	}
	for i, space := range spaces {
		s.add(space, grant.Row{Number: 7, Holder: "a", From: 10, Until: 20})
		s.prepare(space, "late", s.prepared(space))
		s.knows(space, told[0][i], 20)
	}
}

// prepared returns the layout in force.
func (s store) prepared(space string) string {
	s.t.Helper()
	return must(s.s.Prepare(s.t.Context(), space, "none"))(s.t)
}

func (s store) record(space string, losses ...grant.Loss) {
	s.t.Helper()
	for _, loss := range losses {
		if err := s.s.Record(s.t.Context(), space, loss); err != nil {
			s.t.Fatalf("Record in %q of %+v: %v", space, loss, err)
		}
	}
}

// lost fails the test when other losses of the space end the list. Those before may be there no more.
func (s store) lost(space string, want ...grant.Loss) {
	s.t.Helper()
	got, err := s.s.Losses(s.t.Context(), space)
	if err != nil || len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
		s.t.Fatalf("space %q: got the losses %+v, %v, want %+v", space, got, err, want)
	}
}

// losses are kept in their order, at least the last hundred, apart from the rows and from those of other spaces.
func losses(t *testing.T, s store) {
	var ascii strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		ascii.WriteByte(c)
	}
	s.prepare(space, layout, layout)
	s.prepare("other", layout, layout)
	row := grant.Row{Number: 7, Holder: "a", From: 10, Until: 20}
	s.add(space, row)
	id := s.list(space, 0, 0).ID
	for _, space := range []string{space, "other"} {
		if got := must(s.s.Losses(t.Context(), space))(t); len(got) != 0 {
			t.Fatalf("space %q: got the losses %+v, want none", space, got)
		}
	}
	all := []grant.Loss{
		{Number: 7, Holder: "a", From: 30, Until: 40},
		{Number: 7, Holder: "a", From: 30, Until: 40}, // once more
		{Number: 3, Holder: "", From: 0, Until: 0},
		{Number: 0, Holder: "a ", From: 5, Until: 6},
		{Number: 1<<62 - 1, Holder: ascii.String() + strings.Repeat("x", 128-ascii.Len()), From: 1<<62 - 1, Until: 1 << 62},
		{Number: 1, Holder: strings.Repeat(`'"\%`, 32), From: 1, Until: 2},
	}
	for i := range all {
		s.record(space, all[i])
		s.lost(space, all[:i+1]...)
	}
	theirs := grant.Loss{Number: 9, Holder: "b", From: 50, Until: 60}
	s.record("other", theirs)
	s.lost("other", theirs)
	s.lost(space, all...)
	for i := range int64(110) {
		loss := grant.Loss{Number: i % 9, Holder: fmt.Sprint("holder ", i), From: 1000 - i, Until: 2000 - i}
		s.record(space, loss)
		all = append(all, loss)
	}
	s.lost(space, all[len(all)-100:]...)
	if got := must(s.s.Losses(t.Context(), "other"))(t); !slices.Equal(got, []grant.Loss{theirs}) {
		t.Errorf("got the losses %+v of the other space, want %+v", got, theirs)
	}
	s.has(space, row)
	s.knows(space, id, 20)
	s.prepare(space, "another", layout)
}

// lossesAtOnce records losses from many goroutines: none is forgotten, and those of each are in their order.
func lossesAtOnce(t *testing.T, s store) {
	const workers, each = 8, 6
	s.prepare(space, layout, layout)
	var group sync.WaitGroup
	begin := make(chan struct{})
	for w := range int64(workers) {
		group.Go(func() {
			<-begin
			for i := range int64(each) {
				if err := s.s.Record(t.Context(), space, grant.Loss{Number: w, Holder: fmt.Sprint("worker ", w), From: i, Until: i + 1}); err != nil {
					t.Errorf("Record: %v", err)
				}
			}
		})
	}
	close(begin)
	group.Wait()
	var next [workers]int64
	all := must(s.s.Losses(t.Context(), space))(t)
	for _, loss := range all {
		if loss.Number < 0 || loss.Number >= workers || loss.From != next[loss.Number] || loss.Holder != fmt.Sprint("worker ", loss.Number) {
			t.Fatalf("got %+v after %d of that worker, in %+v", loss, next[loss.Number], all)
		}
		next[loss.Number]++
	}
	if len(all) != workers*each {
		t.Errorf("got %d losses, want %d", len(all), workers*each)
	}
}

func holders(t *testing.T, s store) {
	s.prepare(space, layout, layout)
	var ascii strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		ascii.WriteByte(c)
	}
	for i, holder := range []string{
		ascii.String() + strings.Repeat("x", 128-ascii.Len()),
		strings.Repeat(`'"`, 64), strings.Repeat(`\`, 128), strings.Repeat("%", 128), strings.Repeat("_", 128),
		"a", "A", "a ", " a", "  ", "null", "NULL", "0", "00", "1e2", "-1", "--", `a'; DROP TABLE snowkey_nodes; --`, "?", "$1", "@p1", ":a", "{d}", "~",
	} {
		t.Run(fmt.Sprintf("%.12q", holder), func(t *testing.T) {
			s := store{t: t, s: s.s}
			row := grant.Row{Number: int64(i), Holder: holder, From: 5, Until: 6}
			s.add(space, row)
			for _, like := range []string{
				strings.ToUpper(holder), strings.ToLower(holder), holder + " ", strings.TrimSpace(holder), holder[:len(holder)-1], "%", "_", "",
			} {
				if like != holder && len(like) <= 128 {
					s.swap(space, grant.Row{Number: row.Number, Holder: like, From: 5, Until: 6}, grant.Row{Number: row.Number, Holder: "new", From: 6, Until: 7}, false)
				}
			}
			renewed := grant.Row{Number: row.Number, Holder: holder, From: 5, Until: 7}
			s.swap(space, row, renewed, true)
			if got := s.list(space, row.Number, row.Number).Rows; !slices.Equal(got, []grant.Row{renewed}) {
				t.Errorf("got %+v, want %+v", got, renewed)
			}
		})
	}
}

func layouts(_ *testing.T, s store) {
	for i, layout := range []string{
		strings.Repeat("x", 255), strings.Repeat(`'"\%_ ~`, 36), "", " ", "a ", " a", "null",
	} {
		space := fmt.Sprint("space-", i)
		s.prepare(space, layout, layout)
		s.prepare(space, "another", layout)
	}
}

func spacesApart(_ *testing.T, s store) {
	spaces := []string{
		"a", "A", "a_", "a.", "a-", "ab", "b", ".", "-", "_", "__", "0", "00", "null",
		strings.Repeat("a", 64), strings.Repeat("a", 63), strings.Repeat("a", 63) + "A",
	}
	for i, space := range spaces {
		layout := fmt.Sprint("layout ", i)
		s.prepare(space, layout, layout)
	}
	row := func(i int) grant.Row {
		return grant.Row{Number: 7, Holder: fmt.Sprint("holder ", i), From: 10, Until: 20}
	}
	for i, space := range spaces {
		s.has(space)
		s.add(space, row(i))
	}
	for i, space := range spaces {
		s.prepare(space, "another", fmt.Sprint("layout ", i))
		s.has(space, row(i))
		s.swap(space, row((i+1)%len(spaces)), grant.Row{Number: 7, Holder: "new", From: 20, Until: 30}, false)
	}
	for i, space := range spaces[1:] {
		s.swap(space, row(i+1), grant.Row{Number: 7, Holder: "new", From: 20, Until: 30}, true)
	}
	s.has(spaces[0], row(0))
}

// chainErrors is how many changes at once may fail with an error: some, not all.
const chainErrors = 500

// swapChain adds one to the until of one row from many goroutines. Each value may be won once, and none be left out.
func swapChain(t *testing.T, s store) {
	const workers, each = 8, 25
	s.prepare(space, layout, layout)
	s.add(space, grant.Row{Number: 7, Holder: "start"})
	type attempt struct {
		until int64
		err   error
	}
	var attempts [workers][]attempt // that were answered with success or an error
	var group sync.WaitGroup
	begin := make(chan struct{})
	for w := range workers {
		group.Go(func() {
			<-begin
			var lost int
			for won := 0; won < each; {
				if len(attempts[w])-won > chainErrors || lost > 1000*workers*each {
					return
				}
				l, err := s.s.List(t.Context(), space, 7, 7)
				if err != nil || len(l.Rows) != 1 {
					attempts[w] = append(attempts[w], attempt{err: errors.Join(errors.New("List"), err)})
					continue
				}
				old := l.Rows[0]
				done, err := s.s.Swap(t.Context(), space, old, grant.Row{Number: 7, Holder: fmt.Sprint("worker ", w), Until: old.Until + 1})
				switch {
				case err != nil:
					attempts[w] = append(attempts[w], attempt{old.Until + 1, err})
				case done:
					attempts[w] = append(attempts[w], attempt{old.Until + 1, nil})
					won++
				default:
					lost++
				}
			}
		})
	}
	close(begin)
	group.Wait()
	won, failed := map[int64]int{}, map[int64]bool{}
	for w := range workers {
		successes := 0
		var last error
		for _, a := range attempts[w] {
			if a.err != nil {
				failed[a.until], last = true, a.err
				continue
			}
			successes++
			won[a.until]++
		}
		if successes != each {
			t.Errorf("worker %d made %d of %d changes, with %d errors, the last of them %v", w, successes, each, len(attempts[w])-successes, last)
		}
	}
	rows := s.list(space, 7, 7).Rows
	if len(rows) != 1 {
		t.Fatalf("got the rows %+v", rows)
	}
	final := rows[0].Until
	for until, n := range won {
		if n > 1 {
			t.Errorf("until %d was won %d times", until, n)
		}
		if until > final {
			t.Errorf("until %d was won, and is lost: the row has %d", until, final)
		}
	}
	for until := int64(1); until <= final; until++ {
		// A change that was answered with an error may have been made.
		if won[until] == 0 && !failed[until] {
			t.Errorf("the row has until %d, and nobody was told to have won %d", final, until)
		}
	}
}

// firstAtOnce adds the first row of some numbers from many goroutines.
func firstAtOnce(t *testing.T, s store) {
	const workers = 8
	s.prepare(space, layout, layout)
	for number := range int64(5) {
		var won [workers]bool
		var errs [workers]error
		var group sync.WaitGroup
		begin := make(chan struct{})
		for w := range workers {
			group.Go(func() {
				<-begin
				won[w], errs[w] = s.s.Swap(t.Context(), space, none(number), grant.Row{Number: number, Holder: fmt.Sprint("worker ", w), Until: 5})
			})
		}
		close(begin)
		group.Wait()
		rows := s.list(space, number, number).Rows
		if len(rows) != 1 {
			t.Fatalf("got the rows %+v, errors %v", rows, errs)
		}
		for w := range workers {
			holds := rows[0].Holder == fmt.Sprint("worker ", w)
			if won[w] && !holds || holds && !won[w] && errs[w] == nil {
				t.Errorf("worker %d was told %t, %v, and the row is %+v", w, won[w], errs[w], rows[0])
			}
		}
	}
}

func cancelledContext(t *testing.T, s store) {
	s.prepare(space, layout, layout)
	row := grant.Row{Number: 7, Holder: "a", From: 10, Until: 20}
	s.add(space, row)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, call := range []struct {
		name string
		err  func() error
	}{
		{"Prepare", func() error { _, err := s.s.Prepare(ctx, "other", "other layout"); return err }},
		{"Prepare again", func() error { _, err := s.s.Prepare(ctx, space, layout); return err }},
		{"List", func() error { _, err := s.s.List(ctx, space, 0, 9); return err }},
		{"Swap", func() error {
			done, err := s.s.Swap(ctx, space, row, grant.Row{Number: 7, Holder: "b", From: 20, Until: 30})
			if done {
				t.Error("Swap reports success")
			}
			return err
		}},
		{"Swap of none", func() error {
			_, err := s.s.Swap(ctx, space, none(8), grant.Row{Number: 8, Holder: "b", From: 20, Until: 30})
			return err
		}},
		{"Record", func() error { return s.s.Record(ctx, space, grant.Loss{Number: 7, Holder: "a", From: 1, Until: 2}) }},
		{"Losses", func() error { _, err := s.s.Losses(ctx, space); return err }},
	} {
		if err := call.err(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got the error %v, want context.Canceled", call.name, err)
		}
	}
	s.has(space, row)
	if got := must(s.s.Losses(t.Context(), space))(t); len(got) != 0 {
		t.Errorf("got the losses %+v, want none", got)
	}
	s.prepare("other", layout, layout)
	s.swap(space, row, grant.Row{Number: 7, Holder: "b", From: 20, Until: 30}, true)
}

// asMemory makes the same random calls to the store and to one in memory.
func asMemory(t *testing.T, s store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	memory := grant.Memory(nil)
	spaces, holders := []string{"a", "A", "b"}, []string{"", "a", "A", "a ", "b", grant.Absent}
	row := func() grant.Row {
		from := random.Int64N(3)
		return grant.Row{Number: random.Int64N(4), Holder: holders[random.IntN(len(holders))], From: from, Until: from + random.Int64N(3)}
	}
	for _, space := range spaces {
		for _, s := range []grant.Store{memory, s.s} {
			if _, err := s.Prepare(t.Context(), space, space); err != nil {
				t.Fatal(err)
			}
		}
	}
	for call := range 1000 {
		space := spaces[random.IntN(len(spaces))]
		switch op := random.IntN(20); {
		case op == 0:
			layout := fmt.Sprint("layout ", call)
			want, wantErr := memory.Prepare(t.Context(), space, layout)
			got, err := s.s.Prepare(t.Context(), space, layout)
			if err != nil || wantErr != nil || got != want {
				t.Fatalf("call %d: Prepare %q: got %q, %v, want %q, %v", call, space, got, err, want, wantErr)
			}
		case op < 8:
			least, most := random.Int64N(5), random.Int64N(5)
			want, got := must(memory.List(t.Context(), space, least, most))(t), s.list(space, least, most)
			if !slices.Equal(got.Rows, want.Rows) || got.Mark != want.Mark || got.Gone != want.Gone {
				t.Fatalf("call %d: List %q from %d to %d: got %+v, want %+v", call, space, least, most, got, want)
			}
		case op == 8:
			loss := grant.Loss{Number: random.Int64N(4), Holder: holders[random.IntN(len(holders))], From: random.Int64N(3), Until: 3}
			s.record(space, loss)
			if err := memory.Record(t.Context(), space, loss); err != nil {
				t.Fatal(err)
			}
		default:
			old, new := row(), row()
			if rows := must(memory.List(t.Context(), space, old.Number, old.Number))(t).Rows; len(rows) == 1 && random.IntN(2) == 0 {
				old = rows[0]
			}
			new.Number = old.Number
			if new.Holder == grant.Absent || new.Holder == old.Holder && new.Until == old.Until {
				continue // is no change that a keeper makes
			}
			want, wantErr := memory.Swap(t.Context(), space, old, new)
			got, err := s.s.Swap(t.Context(), space, old, new)
			if err != nil || wantErr != nil || got != want {
				t.Fatalf("call %d: Swap in %q of %+v for %+v: got %t, %v, want %t, %v", call, space, old, new, got, err, want, wantErr)
			}
		}
	}
	for _, space := range spaces {
		s.has(space, must(memory.List(t.Context(), space, 0, math.MaxInt64))(t).Rows...)
		s.lost(space, must(memory.Losses(t.Context(), space))(t)...)
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
