package measure

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"gonum.org/v1/gonum/mathext"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

const (
	mostShards   = 1024
	shownShards  = 16
	quietKeys    = 10 * mostShards     // ten a shard
	quietServers = fewest * mostShards // of a source whose keys cost a round trip each
	fewest       = 5                   // keys a shard that χ² is good for
)

// Shards counts how the keys of a quiet system fall on shards, by key modulo their number. A source whose clock can be set gets one of its own,
// which jumps by times that the seed decides, and a prefix of its own: the place's and "_q", to be dropped with it. The place's clock must
// be nil.
//
// When the limit is over, 0: never, the keys made until then count, and numbers of shards that had fewer than five keys each have no χ².
func Shards(ctx context.Context, s strategy.Strategy, at strategy.Place, seed uint64, limit time.Duration) (shards result.Shards, err error) {
	info := s.Info()
	clock, spaced := newQuietClock(seed, info.Limit), "made one right after the other, as its clock cannot be set"
	switch {
	case info.Clock:
		at.Clock, at.Prefix = clock, at.Prefix+"_q"
		spaced = fmt.Sprintf("made one by one, %s to %s apart by a clock that is set", clock.pause/2, clock.pause*3/2)
	case info.Unit == 0:
		spaced = "made one right after the other, as they carry no time"
	}
	defer func() {
		if err != nil {
			shards, err = result.Shards{}, fmt.Errorf("%s: make keys: %w", info.Name, err)
		}
	}()
	keys, err := s.Open(ctx, at)
	if err != nil {
		return shards, err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	most := quietKeys
	if info.RoundTrip {
		most = quietServers
	}
	counts, kind, err := quiet(ctx, keys, most, limit, clock)
	if errors.Is(err, errors.ErrUnsupported) {
		return result.Shards{Why: databaseMakes}, nil
	}
	if err != nil {
		return shards, err
	}
	made := int(folded(counts, 1)[0])
	if made < most {
		spaced += fmt.Sprintf("; %s were over after %d of %d keys", limit, made, most)
	}
	if made < fewest*shownShards {
		return result.Shards{Why: fmt.Sprintf("%s were over after %d keys, too few for %d shards", limit, made, shownShards)}, nil
	}
	shards = result.Shards{Method: fmt.Sprintf("%s modulo the number of shards; keys %s", kind, spaced), Keys: made, Counts: folded(counts, shownShards)}
	for n := 2; n <= mostShards && n*fewest <= made; n *= 2 {
		shards.Chi = append(shards.Chi, chiSquare(folded(counts, n)))
	}
	return shards, nil
}

// quiet makes keys one by one, moving the clock in between, and counts them on the most shards, which all numbers of shards divide. It says
// what of a key is its number.
func quiet(ctx context.Context, keys strategy.Keys, most int, limit time.Duration, clock *quietClock) (counts []int64, kind string, err error) {
	counts = make([]int64, mostShards)
	start := time.Now()
	for range most {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		if limit > 0 && time.Since(start) >= limit {
			break
		}
		clock.move()
		key, err := keys.Next(ctx)
		if err != nil {
			return nil, "", err
		}
		var number uint64
		number, kind = lowest(keys, key)
		counts[number%mostShards]++
	}
	return counts, kind, nil
}

// lowest returns the low bits of a key as a number, and says which they are.
func lowest(keys strategy.Keys, key strategy.Key) (uint64, string) {
	if number, ok := keys.Number(key); ok {
		return uint64(number), "the number"
	}
	end := []byte(key[max(0, len(key)-8):])
	return binary.BigEndian.Uint64(append(make([]byte, 8-len(end)), end...)), "the last eight bytes as a number"
}

// folded counts on fewer shards: n, which divides the number of counts.
func folded(counts []int64, n int) []int64 {
	all := make([]int64, n)
	for i, count := range counts {
		all[i%n] += count
	}
	return all
}

// chiSquare holds counts against equal ones: Pearson's sum, and the probability that equal shards have at least this one, which is the
// regularized upper incomplete gamma function of half the degrees of freedom and half the sum.
func chiSquare(counts []int64) result.Chi {
	var all int64
	for _, count := range counts {
		all += count
	}
	expected, sum := float64(all)/float64(len(counts)), 0.0
	for _, count := range counts {
		sum += (float64(count) - expected) * (float64(count) - expected) / expected
	}
	return result.Chi{Shards: len(counts), Value: sum, P: mathext.GammaIncRegComp(float64(len(counts)-1)/2, sum/2)}
}
