package shard_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/shard"
)

// more returns the shards that Tables(n) has more than Tables(from).
func more(from, n int) []shard.Shard { return shard.Tables(n)[from:] }

// sizes returns the least and the greatest share of shards with buckets.
func sizes(t testing.TB, m *shard.Map) (least, most int) {
	t.Helper()
	var all []int
	for _, own := range owned(t, m) {
		all = append(all, len(own))
	}
	return slices.Min(all), slices.Max(all)
}

// moves returns what moves between two versions, and fails when that is not what the maps say.
func moves(t testing.TB, m, next *shard.Map) []shard.Move {
	t.Helper()
	got, err := m.Moves(next)
	if err != nil {
		t.Fatal(err)
	}
	var want []shard.Move
	for b := range m.Buckets() {
		i, _ := m.OfBucket(b)
		j, _ := next.OfBucket(b)
		if from, to := m.Shard(i).Name, next.Shard(j).Name; from != to {
			want = append(want, shard.Move{Bucket: b, From: from, To: to})
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("moves %v, want %v", got, want)
	}
	return got
}

// TestGrowTwofold: bucket b stays in shard s or moves to s+N, so that id % 2N is the shard for other middleware.
func TestGrowTwofold(t *testing.T) {
	for n := 1; n <= 512; n *= 2 {
		m := made(t)(shard.NewMap(sharded, shard.Tables(n)...))
		next := made(t)(m.Grow(nameAfter(n)...))
		if next.Version() != 2 {
			t.Errorf("version %d, want 2", next.Version())
		}
		for b := range m.Buckets() {
			from, _ := m.OfBucket(b)
			to, _ := next.OfBucket(b)
			if to != from && to != from+n || to != int(b%int64(2*n)) {
				t.Fatalf("%d to %d shards: bucket %d moves from %d to %d", n, 2*n, b, from, to)
			}
			id := idOf(t, sharded, b)
			if got, err := next.OfID(id); err != nil || got != int(id%int64(2*n)) {
				t.Fatalf("OfID(%d) = %d, %v", id, got, err)
			}
		}
		if got := len(moves(t, m, next)); got != 512 {
			t.Errorf("%d to %d shards: %d buckets move, want the half", n, 2*n, got)
		}
	}
}

// nameAfter returns n shards whose names are not those of Tables(n).
func nameAfter(n int) []shard.Shard {
	shards := make([]shard.Shard, n)
	for i := range shards {
		shards[i] = shard.Shard{Name: fmt.Sprint("more", i), Suffix: fmt.Sprint("_more", i)}
	}
	return shards
}

// TestMovesOfFacts: 4 to 5 moves a fifth, 4 to 8 the half; hashing modulo the number of shards would move 80 % from 4 to 5.
func TestMovesOfFacts(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	for n, want := range map[int]float64{5: 0.2, 8: 0.5, 6: 1. / 3, 12: 2. / 3} {
		next := made(t)(m.Grow(more(4, n)...))
		got := float64(len(moves(t, m, next))) / 1024
		if got > want || got < want-4./1024 { // 1,024 is not divisible by all
			t.Errorf("4 to %d shards: %.2f %% of the buckets move, want %.2f %%", n, 100*got, 100*want)
		}
		if least, most := sizes(t, next); most-least > 1 {
			t.Errorf("4 to %d shards: shares of %d to %d", n, least, most)
		}
	}
}

// TestGrowTakesFromAllOver: a key over 4 buckets, which follow each other, is not in one shard after a change.
func TestGrowTakesFromAllOver(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	next := made(t)(m.Grow(more(4, 5)...))
	last := int64(-10)
	for _, b := range owned(t, next)["04"] {
		if b-last < 3 {
			t.Errorf("the new shard has the buckets %d and %d", last, b)
		}
		last = b
	}
}

func TestGrowUneven(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	m = made(t)(m.Move("00", owned(t, m)["01"][:200]...)) // 456, 56, 256, 256
	next := made(t)(m.Grow(more(4, 5)...))
	if least, most := sizes(t, next); most-least > 1 {
		t.Errorf("shares of %d to %d", least, most)
	}
	if got, want := len(moves(t, m, next)), 456-205+2*(256-205); got != want {
		t.Errorf("%d buckets move, want %d", got, want)
	}
}

func TestGrowErrors(t *testing.T) {
	small := must(t, idgen.Time.Bits(41), idgen.Shard.Bits(2))
	m := made(t)(shard.NewMap(small, shard.Tables(3)...))
	for name, shards := range map[string][]shard.Shard{
		"none": nil, "more than buckets": nameAfter(2), "one that there is": shard.Tables(1), "one twice": {{Name: "x", Suffix: "_x"}, {Name: "x", Suffix: "_x"}},
		"one without a name": {{}},
	} {
		if next, err := m.Grow(shards...); !errors.Is(err, shard.ErrMap) || next != nil {
			t.Errorf("%s: %v, %v, want ErrMap", name, next, err)
		}
	}
	if next := made(t)(m.Grow(nameAfter(1)...)); len(owned(t, next)) != 4 {
		t.Errorf("a bucket for each: %v", owned(t, next))
	}
}

func TestShrink(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(8)...))
	next := made(t)(m.Shrink("04", "05", "06", "07"))
	for b := range m.Buckets() {
		if i, _ := next.OfBucket(b); i != int(b%4) {
			t.Errorf("bucket %d is in shard %d, want %d, as in a map of 4", b, i, b%4)
		}
	}
	first := made(t)(m.Shrink("00")) // all others have other indexes then
	if got := len(moves(t, m, first)); got != 128 {
		t.Errorf("%d buckets move, want the 128 of the shard", got)
	}
	if least, most := sizes(t, first); most-least > 1 {
		t.Errorf("shares of %d to %d", least, most)
	}
	m = made(t)(m.WithLegacy(shard.Legacy{Below: 1000, Shard: "02"}))
	for name, names := range map[string][]string{
		"none": nil, "one that there is not": {"00", "08"}, "the one with the rows from before": {"02"}, "all": {"00", "01", "02", "03", "04", "05", "06", "07"},
	} {
		if _, err := m.Shrink(names...); !errors.Is(err, shard.ErrMap) {
			t.Errorf("%s: %v, want ErrMap", name, err)
		}
	}
	two := made(t)(shard.NewMap(sharded, shard.Tables(2)...))
	if _, err := two.Shrink("00", "01"); !errors.Is(err, shard.ErrMap) {
		t.Errorf("all: %v, want ErrMap", err)
	}
	if next := made(t)(m.Shrink("00", "00", "01")); len(next.Shards()) != 6 {
		t.Errorf("one named twice: %v", next.Shards())
	} else if got, _ := next.OfID(5); next.Shard(got).Name != "02" {
		t.Errorf("the rows from before are in %q, want 02", next.Shard(got).Name)
	}
}

// TestWithShards: the table from before has its rows, and no buckets, whatever the map becomes.
func TestWithShards(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	m = made(t)(m.WithShards(shard.Shard{Name: "before"}))
	m = made(t)(m.WithLegacy(shard.Legacy{Below: 1000, Shard: "before"}))
	twice := made(t)(m.Grow(more(4, 8)...))
	for b := range twice.Buckets() {
		if i, _ := twice.OfBucket(b); twice.Shard(i).Name != fmt.Sprintf("%02d", b%8) {
			t.Errorf("bucket %d is in shard %s", b, twice.Shard(i).Name)
		}
	}
	for name, next := range map[string]*shard.Map{"5": made(t)(m.Grow(more(4, 5)...)), "8": twice, "3": made(t)(m.Shrink("01"))} {
		if got := owned(t, next)["before"]; got != nil {
			t.Errorf("with %s shards: the table from before has the buckets %v", name, got)
		}
		if least, most := sizes(t, next); most-least > 1 {
			t.Errorf("with %s shards: shares of %d to %d", name, least, most)
		}
	}
	back := made(t)(m.Shrink("00", "01", "02", "03"))
	if got := len(owned(t, back)["before"]); got != 1024 {
		t.Errorf("the last shard has %d buckets, want all", got)
	}
	for name, shards := range map[string][]shard.Shard{"none": nil, "one that there is": {{Name: "00"}}, "the place of another": {{Name: "x", Suffix: "_00"}}} {
		if _, err := m.WithShards(shards...); !errors.Is(err, shard.ErrMap) {
			t.Errorf("%s: %v, want ErrMap", name, err)
		}
	}
}

func TestMove(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	next := made(t)(m.Move("03", 0, 4, 4, 7))
	want := []shard.Move{{Bucket: 0, From: "00", To: "03"}, {Bucket: 4, From: "00", To: "03"}}
	if got := moves(t, m, next); !slices.Equal(got, want) || next.Version() != 2 {
		t.Errorf("moves %v of version %d, want %v", got, next.Version(), want)
	}
	if got := moves(t, next, m); len(got) != 2 || got[0] != (shard.Move{Bucket: 0, From: "03", To: "00"}) {
		t.Errorf("moves back %v", got)
	}
	if _, err := m.Move("04", 1); !errors.Is(err, shard.ErrMap) {
		t.Errorf("to no shard: %v, want ErrMap", err)
	}
	if _, err := m.Move("03"); !errors.Is(err, shard.ErrMap) {
		t.Errorf("no buckets: %v, want ErrMap", err)
	}
	for _, b := range []int64{-1, 1024} {
		if _, err := m.Move("03", 1, b); !errors.Is(err, shard.ErrMap) {
			t.Errorf("bucket %d: %v, want ErrMap", b, err)
		}
	}
}

// TestMovesOfNamesAndPlaces: rows would be copied onto themselves, or be looked for where they are not.
func TestMovesOfNamesAndPlaces(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(2)...))
	other := made(t)(shard.NewMap(sharded, shard.Shard{Name: "00", Suffix: "_00"}, shard.Shard{Name: "01", Suffix: "_x"}))
	if _, err := m.Moves(other); !errors.Is(err, shard.ErrMap) {
		t.Errorf("a shard in another place: %v, want ErrMap", err)
	}
	renamed := made(t)(shard.NewMap(sharded, shard.Shard{Name: "00", Suffix: "_00"}, shard.Shard{Name: "b", Suffix: "_01"}))
	if _, err := m.Moves(renamed); !errors.Is(err, shard.ErrMap) {
		t.Errorf("a shard with another name: %v, want ErrMap", err)
	}
	if _, err := m.Moves(nil); !errors.Is(err, shard.ErrMap) {
		t.Errorf("no map: %v, want ErrMap", err)
	}
}

// TestChanges makes changes at random: every version has each bucket once, moves no more buckets than it has to, is read as it was written, and leaves
// the version before as it was; and an id is in one of the shards of its key all the time.
func TestChanges(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 9))
			m := made(t)(shard.NewMap(must(t, idgen.Time.Bits(41), idgen.Sequence.Bits(4), idgen.Shard.Bits(6)), shard.Tables(1+random.IntN(8))...))
			ids := map[string]int64{} // of rows, by their sharding keys
			for i := range 50 {
				key := fmt.Sprint("tenant ", i)
				bucket, err := m.Place(key, random.Uint64())
				if err != nil {
					t.Fatal(err)
				}
				ids[key] = idOf(t, m.Layout(), bucket)
			}
			for step := range 25 {
				before := string(text(t, m))
				next, change := changed(t, m, random, step)
				if got := string(text(t, m)); got != before {
					t.Fatalf("%s has changed the version before:\n%s\n%s", change, before, got)
				}
				if next == nil {
					continue
				}
				if next.Version() != m.Version()+1 {
					t.Errorf("%s: version %d after %d", change, next.Version(), m.Version())
				}
				total := 0
				for _, own := range owned(t, next) {
					total += len(own)
				}
				if total != 64 {
					t.Fatalf("%s: %d buckets in shards", change, total)
				}
				moves(t, m, next)
				for key, id := range ids {
					if err := next.Check(id, key); err != nil {
						t.Fatalf("%s: %v", change, err)
					}
					byID, err := next.OfID(id)
					byKey, errKey := next.OfKey(nil, key)
					if err != nil || errKey != nil || !slices.Contains(byKey, byID) || !slices.IsSorted(byKey) || len(slices.Compact(byKey)) != len(byKey) {
						t.Fatalf("%s: id %d in %d, %v, key %s in %v, %v", change, id, byID, err, key, byKey, errKey)
					}
				}
				again, err := shard.ParseMap(text(t, next))
				if err != nil || string(text(t, again)) != string(text(t, next)) {
					t.Fatalf("%s: read again: %v\n%s", change, err, text(t, next))
				}
				m = again
			}
		})
	}
}

// changed makes a change of a map at random; the map is nil for one that is refused, as the error says with ErrMap.
func changed(t *testing.T, m *shard.Map, random *rand.Rand, step int) (next *shard.Map, change string) {
	t.Helper()
	before, shards := owned(t, m), m.Shards()
	var err error
	switch random.IntN(5) {
	case 0:
		fresh := make([]shard.Shard, 1+random.IntN(3))
		for i := range fresh {
			fresh[i] = shard.Shard{Name: fmt.Sprintf("s%d.%d", step, i), Suffix: fmt.Sprintf("_%d_%d", step, i)}
		}
		change = fmt.Sprint("Grow by ", len(fresh))
		if next, err = m.Grow(fresh...); err == nil {
			least, most := sizes(t, next)
			if most-least > 1 || len(owned(t, next)) != len(before)+len(fresh) {
				t.Fatalf("%s: shares of %d to %d, %d shards with buckets after %d", change, least, most, len(owned(t, next)), len(before))
			}
			if got, want := len(moves(t, m, next)), fewest(slices.Collect(maps.Values(before)), len(fresh)); got != want {
				t.Fatalf("%s: %d buckets move, the fewest are %d", change, got, want)
			}
		}
	case 1:
		name := shards[random.IntN(len(shards))].Name
		change = "Shrink by " + name
		if next, err = m.Shrink(name); err == nil {
			if got, want := len(moves(t, m, next)), len(before[name]); got != want {
				t.Fatalf("%s: %d buckets move, it had %d", change, got, want)
			}
		}
	case 2:
		to, buckets := shards[random.IntN(len(shards))].Name, []int64{random.Int64N(64), random.Int64N(64)}
		change = fmt.Sprint("Move to ", to, buckets)
		next, err = m.Move(to, buckets...)
	case 3:
		key, k := fmt.Sprint("tenant ", random.IntN(5)), 1<<random.IntN(7)
		change = fmt.Sprint("Spread ", key, k)
		next, err = m.Spread(key, k)
	default:
		name := fmt.Sprint("w", step)
		change = "WithShards " + name
		next, err = m.WithShards(shard.Shard{Name: name, Suffix: "_" + name})
	}
	if err != nil && !errors.Is(err, shard.ErrMap) {
		t.Fatalf("%s: %v, want ErrMap", change, err)
	}
	return next, change
}

// fewest returns how many buckets have to move so that shares are even with some more shards, by trying all: the greatest shares keep most.
func fewest(shares [][]int64, more int) int {
	sizes := make([]int, more)
	total := 0
	for _, own := range shares {
		sizes = append(sizes, len(own))
		total += len(own)
	}
	least, rest, leave := total/len(sizes), total%len(sizes), 0
	slices.Sort(sizes)
	for _, size := range sizes {
		leave += max(0, size-least)
	}
	for _, size := range slices.Backward(sizes) { // those that may keep one more
		if rest > 0 && size > least {
			rest--
			leave--
		}
	}
	return leave
}

func text(t testing.TB, m *shard.Map) []byte {
	t.Helper()
	text, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(text), "}\n") {
		t.Fatalf("no end of a line: %s", text)
	}
	return text
}
