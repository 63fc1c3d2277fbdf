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
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Option is a setting of [Run].
type Option func(*store)

// DirtyReads is for a store on sessions that see what others have not committed yet, as under READ UNCOMMITTED. What it lists while others
// swap need not be of one moment.
func DirtyReads() Option { return func(s *store) { s.dirty = true } }

// SplitCommits is for a store on MariaDB, whose plain SELECT at REPEATABLE READ may see one row of a commit and not the other: about one in 30,000 on
// 10.11.19, beside six writers. Of the lists that are made while others swap, no two one after the other may be so.
func SplitCommits() Option { return func(s *store) { s.split = true } }

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
		{"Move", move},
		{"MoveAtOnce", moveAtOnce},
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
	split bool
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

// ascii has all letters of a text that can be printed.
var ascii = func() (text string) {
	for c := ' '; c <= '~'; c++ {
		text += string(c)
	}
	return text
}()

// atOnce calls a function with 0 to workers-1, each on a goroutine of its own, and returns when all have returned.
func atOnce(workers int, work func(w int)) {
	var group sync.WaitGroup
	begin := make(chan struct{})
	for w := range workers {
		group.Go(func() {
			<-begin
			work(w)
		})
	}
	close(begin)
	group.Wait()
}

// chainErrors is how many changes at once may fail with an error: some, not all.
const chainErrors = 500

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
		{"Move", func() error { _, err := s.s.Move(ctx, space, moved, layout, nextLayout, 20); return err }},
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
