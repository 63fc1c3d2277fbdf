package idgen_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// First use: a generator for one node number.
func Example() {
	gen, err := idgen.New(idgen.WithNode(7))
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := gen.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	more := make([]int64, 100)
	if err := gen.Fill(context.Background(), more); err != nil {
		fmt.Println(err)
		return
	}
	parts, err := gen.Layout().Decode(first)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first < more[0], more[0] < more[99], parts.Node, time.Since(parts.Time) < time.Minute)
	// Output: true true 7 true
}

// A layout of one's own: seconds, many nodes, a wide sequence, with policies beside it.
func ExampleNewLayout() {
	layout, err := idgen.NewLayout(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Second,
		idgen.Time.Bits(32), idgen.Node.Bits(14), idgen.Sequence.Bits(17))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(layout)
	fmt.Println("nodes:", layout.Generators(), "ids a second and node:", layout.PerSecond())
	fmt.Println("until:", layout.ExhaustsAt().Format(time.DateOnly))
	gen, err := idgen.New(layout, idgen.WithNode(9000), idgen.RefuseFull())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(gen.Number(idgen.Node).Value)

	_, err = idgen.NewLayout(time.Unix(0, 0), 10*time.Millisecond, idgen.Time.Bits(37), idgen.Node.Bits(20), idgen.Sequence.Bits(16))
	fmt.Println(err)
	// Output:
	// time=32@1s,node=14,sequence=17;epoch=2026-01-01T00:00:00Z
	// nodes: 16384 ids a second and node: 131072
	// until: 2162-02-07
	// 9000
	// idgen: invalid layout: 37+20+16 = 73 bits, at most 63
}

// What a published id carries.
func ExampleLayout_Decode() {
	parts, err := idgen.Discord.Decode(175928847299117063)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(parts.Time.Format(time.RFC3339Nano), parts.Datacenter, parts.Node, parts.Sequence)
	// Output: 2016-04-30T11:18:25.796Z 1 0 7
}

// The rows of one day, by the primary key alone: WHERE id BETWEEN least AND most.
func ExampleLayout_MinID() {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	least, err := idgen.Snowkey.MinID(day)
	if err != nil {
		fmt.Println(err)
		return
	}
	most, err := idgen.Snowkey.MaxID(day.Add(24*time.Hour - 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(least, most)
	// Output: 153652455014400000 154014842879999999
}

// A fake clock in a test of one's own: the ids are the same each time.
func ExampleClockFunc() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	gen, err := idgen.New(idgen.WithNode(7), idgen.StartZero(), idgen.WithClock(idgen.ClockFunc(func() time.Time { return now })))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		now = now.Add(time.Second)
		id, err := gen.Next(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(id)
	}
	// Output:
	// 153833653141532672
	// 153833657335836672
	// 153833661530140672
}

// Sequences that do not tell how many ids were made: random starts, here with a seed so that they are the same each time, beside those
// that carry on.
func ExampleStartRandom() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := idgen.ClockFunc(func() time.Time { return now })
	for _, start := range []idgen.Option{idgen.StartSpread(0), idgen.StartRandom(0)} {
		seed := rand.New(rand.NewPCG(1, 2))
		gen, err := idgen.New(idgen.WithNode(7), start, idgen.WithClock(clock), idgen.WithRandom(seed.Uint64))
		if err != nil {
			fmt.Println(err)
			return
		}
		var sequences []int64
		for range 5 {
			now = now.Add(time.Minute)
			id, err := gen.Next(context.Background())
			if err != nil {
				fmt.Println(err)
				return
			}
			sequences = append(sequences, id&4095)
		}
		fmt.Println(sequences)
	}
	// Output:
	// [174 175 176 177 178]
	// [272 108 136 410 336]
}

// A clock that steps back, under the policy that makes no ids then.
func ExampleRefuseBack() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	gen, err := idgen.New(idgen.WithNode(7), idgen.RefuseBack(), idgen.WithClock(idgen.ClockFunc(func() time.Time { return now })))
	if err != nil {
		fmt.Println(err)
		return
	}
	now = now.Add(-2 * time.Second)
	_, err = gen.Next(context.Background())
	fmt.Println(err)
	// Output: idgen: the clock stepped back by 2s; no ids until it reaches 2026-03-01T12:00:00Z again
}
