package idgen_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// packed has bands of 512 ms, 3 bits of node, 2 of stream and 5 of sequence.
func packed(t testing.TB) idgen.Layout {
	t.Helper()
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(31), idgen.Node.Bits(3), idgen.Stream.Bits(2), idgen.Time.Bits(9), idgen.Sequence.Bits(5))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// Each writer has the lowest stream that is free, and shares one where none is.
func TestTakeStream(t *testing.T) {
	g := newGenerator(t, packed(t), idgen.WithNode(1), idgen.WithClock(newFakeClock(noon.Add(time.Hour))))
	if g.Streams() != 4 || g.Shards() != 0 {
		t.Errorf("got %d streams, %d shards, want 4 and none", g.Streams(), g.Shards())
	}
	take := func(want ...int64) {
		t.Helper()
		for _, want := range want {
			if got := g.TakeStream(); got != want {
				t.Errorf("got stream %d, want %d", got, want)
			}
		}
	}
	take(0, 1, 2)
	g.ReturnStream(1)
	take(1, 3)
	shared := map[int64]int{}
	for range 8 {
		shared[g.TakeStream()]++
	}
	for stream := range int64(4) {
		if shared[stream] != 2 {
			t.Errorf("stream %d is shared by %d of 8 more writers, want 2", stream, shared[stream])
		}
	}
	for range 2 { // a stream is free when the last of those who share it has given it back
		g.ReturnStream(2)
	}
	shared[g.TakeStream()]++
	g.ReturnStream(2)
	if got := g.TakeStream(); got != 2 {
		t.Errorf("got stream %d, want 2, which all three writers have given back", got)
	}
	for _, stream := range []int64{-1, 4, 1 << 40} {
		g.ReturnStream(stream) // of none
		_, err := g.NextIn(t.Context(), stream)
		for _, err := range []error{err, g.FillIn(t.Context(), stream, make([]int64, 2))} {
			if !errors.Is(err, idgen.ErrRange) {
				t.Errorf("stream %d: got %v, want ErrRange", stream, err)
			}
		}
	}
	plain := newGenerator(t, idgen.WithNode(1))
	stream := plain.TakeStream()
	if _, err := plain.NextIn(t.Context(), stream); stream != 0 || err != nil || plain.Streams() != 0 {
		t.Errorf("a layout without streams: got stream %d of %d, %v", stream, plain.Streams(), err)
	}
	plain.ReturnStream(stream)
}

// Next alone takes the lowest stream and gives it back, also where it fails.
func TestNextGivesItsStreamBack(t *testing.T) {
	clock := newFakeClock(noon.Add(time.Hour))
	g := newGenerator(t, packed(t), idgen.WithNode(1), idgen.WithClock(clock), idgen.RefuseFull(), idgen.StartZero())
	for range 3 {
		for i := range 32 {
			id, err := g.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if parts, err := g.Layout().Decode(id); err != nil || parts.Stream != 0 || parts.Sequence != int64(i) {
				t.Fatalf("got %+v, %v, want stream 0 and sequence %d", parts, err, i)
			}
		}
		if _, err := g.Next(t.Context()); !errors.Is(err, idgen.ErrFull) {
			t.Errorf("got %v, want ErrFull", err)
		}
		if err := g.Fill(t.Context(), make([]int64, 2)); !errors.Is(err, idgen.ErrFull) {
			t.Errorf("got %v, want ErrFull", err)
		}
		clock.pass(time.Millisecond)
	}
	if got := g.TakeStream(); got != 0 {
		t.Errorf("got stream %d, want 0", got)
	}
}

// Many goroutines on few streams, on a clock that walks: no id twice, each of the stream that its writer has, those of a stream increasing for each writer.
func TestStreamsAreUniqueAndIncrease(t *testing.T) {
	const goroutines, each = 8, 3000
	for name, full := range map[string]idgen.Option{"wait": idgen.WaitFull(), "borrow": idgen.BorrowFull(2)} {
		t.Run(name, func(t *testing.T) {
			clock := newFakeClock(noon.Add(time.Hour))
			g := newGenerator(t, packed(t), full, idgen.WithNode(5), idgen.WithClock(clock))
			ctx, cancel := context.WithCancel(t.Context())
			made := make([][]int64, goroutines)
			var writers, walker sync.WaitGroup
			walker.Go(func() {
				for r := rand.New(rand.NewPCG(3, 14)); ctx.Err() == nil; time.Sleep(10 * time.Microsecond) { // lets the writers in
					walk(r, clock)
				}
			})
			for i := range goroutines {
				writers.Go(func() { made[i] = fillStreams(t, g, uint64(i), each) })
			}
			writers.Wait()
			cancel()
			walker.Wait()
			all := slices.Concat(made...)
			if n := g.Stats().Issued; n != int64(len(all)) {
				t.Errorf("counts %d ids, made %d", n, len(all))
			}
			slices.Sort(all)
			if unique := len(slices.Compact(slices.Clone(all))); unique != goroutines*each {
				t.Errorf("%d different ids, want %d", unique, goroutines*each)
			}
		})
	}
}

// fillStreams returns n ids, of one stream after another.
func fillStreams(t *testing.T, g *idgen.Snowflake, seed uint64, n int) (all []int64) {
	r, last := rand.New(rand.NewPCG(seed, 15)), map[int64]int64{}
	for len(all) < n {
		ids := make([]int64, min(n-len(all), 1+r.IntN(2)*r.IntN(40)))
		stream := g.TakeStream()
		var err error
		if len(ids) == 1 {
			ids[0], err = g.NextIn(t.Context(), stream)
		} else {
			err = g.FillIn(t.Context(), stream, ids)
		}
		g.ReturnStream(stream)
		if err != nil {
			t.Error(err)
			return nil
		}
		for _, id := range ids {
			if parts, err := g.Layout().Decode(id); err != nil || parts.Stream != stream || parts.Node != 5 {
				t.Errorf("got %+v, %v, want stream %d of node 5", parts, err, stream)
				return nil
			}
			if was, found := last[stream]; found && id <= was {
				t.Errorf("stream %d: got %d after %d", stream, id, was)
				return nil
			}
			last[stream] = id
		}
		all = append(all, ids...)
	}
	return all
}

// MinID and MaxID enclose the ids of a tick of every node and stream, and those of the ticks around it in the same band.
func TestBoundsOfATickInABand(t *testing.T) {
	layout := packed(t)
	at := noon.Add(time.Hour + 100*time.Millisecond)
	least, err := layout.MinID(at)
	if err != nil {
		t.Fatal(err)
	}
	greatest, err := layout.MaxID(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id   int64
		want idgen.Parts
	}{{least, idgen.Parts{}}, {greatest, idgen.Parts{Node: 7, Stream: 3, Sequence: 31}}} {
		tt.want.Time = at
		if parts, err := layout.Decode(tt.id); err != nil || parts != tt.want {
			t.Errorf("got %+v, %v, want %+v", parts, err, tt.want)
		}
	}
	if got := layout.Band(); got != 512*time.Millisecond {
		t.Errorf("got a band of %s, want 512ms", got)
	}
	if got := idgen.Snowkey.Band(); got != time.Millisecond {
		t.Errorf("got a band of %s, want a tick", got)
	}
}

// The ids of a generator with a floor are above it in every stream, also where the floor is the id of a lower node early in the same band.
func TestFloorOfABand(t *testing.T) {
	layout := packed(t)
	now := noon.Add(time.Hour + 100*time.Millisecond)
	floor, err := layout.Compose(idgen.Parts{Time: now.Add(-50 * time.Millisecond), Node: 6, Stream: 3, Sequence: 1})
	if err != nil {
		t.Fatal(err)
	}
	g := newGenerator(t, layout, idgen.WithNode(1), idgen.WithClock(newFakeClock(now)), idgen.WithFloor(floor))
	for range 5 {
		stream := g.TakeStream()
		if id, err := g.NextIn(t.Context(), stream); err != nil || id <= floor {
			t.Errorf("stream %d: got %d, %v, want above %d", stream, id, err, floor)
		}
	}
}

func TestStreamsRefuse(t *testing.T) {
	both, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(30), idgen.Shard.Bits(4), idgen.Stream.Bits(2), idgen.Time.Bits(9), idgen.Sequence.Bits(5))
	if err != nil {
		t.Fatal(err)
	}
	wide, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(40), idgen.Stream.Bits(7), idgen.Sequence.Bits(5))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		options []idgen.Option
		want    error
	}{
		"shards and streams":           {[]idgen.Option{both, idgen.WithShards()}, idgen.ErrRange},
		"more streams than are looked": {[]idgen.Option{wide}, idgen.ErrRange},
		"spare nodes":                  {[]idgen.Option{packed(t), idgen.WithNode(1), idgen.SwitchBack(2)}, idgen.ErrLayout},
	} {
		if g, err := idgen.New(append(tt.options, idgen.WithClock(newFakeClock(noon.Add(time.Hour))))...); !errors.Is(err, tt.want) || g != nil {
			t.Errorf("%s: got %v, %v, want %v", name, g, err, tt.want)
		}
	}
}
