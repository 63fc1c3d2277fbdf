package measure

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aclements/go-moremath/mathx"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

const (
	mostShards   = 1024
	mostBits     = 16 // of a bucket
	shownShards  = 16
	hottest      = 3
	quietKeys    = 10 * mostShards     // ten a shard
	quietServers = fewest * mostShards // of a source whose keys cost a round trip each
	fewest       = 5                   // keys a shard that χ² is good for
)

// Shards counts how the keys of a quiet system fall on shards, by key modulo their number, or by the bucket of a sharding key where they carry
// one. A source whose clock can be set gets one of its own,
// which jumps by times that the seed decides, and a prefix of its own: the place's and "_q", to be dropped with it. The place's clock must
// be nil.
//
// When the limit is over, 0: never, the keys made until then count, and numbers of shards that had fewer than five keys each have no χ².
func Shards(ctx context.Context, s strategy.Strategy, at strategy.Environment, seed uint64, limit time.Duration) (shards result.Shards, err error) {
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
	number, buckets := lowest, mostShards
	if info.Sharding != nil {
		number, buckets = carried(info.Sharding.Layout), max(mostShards, 1<<min(info.Sharding.Layout.Bits(idgen.Shard), mostBits))
	}
	counts, kind, err := quiet(ctx, keys, most, limit, clock, number, buckets)
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
	if info.Sharding != nil {
		err = tenants(*info.Sharding, counts, &shards)
	}
	return shards, err
}

// tenants adds what falls on shards where all tenants have equally many rows, and the buckets that have the most keys.
func tenants(of strategy.Sharding, counts []int64, to *result.Shards) error {
	with := make([]int64, len(counts))
	for tenant := range of.Tenants {
		bucket, err := shard.Bucket(of.Layout, tenant+1)
		if err != nil {
			return err
		}
		with[bucket%int64(len(with))]++
	}
	to.Tenants, to.Uniform = of.Drawn, folded(with, shownShards)
	for bucket, count := range counts {
		to.Hot = append(to.Hot, result.Bucket{Bucket: bucket, Share: float64(count) / float64(to.Keys), Tenants: int(with[bucket])})
	}
	slices.SortStableFunc(to.Hot, func(a, b result.Bucket) int { return cmp.Compare(b.Share, a.Share) })
	to.Hot = slices.Clip(to.Hot[:hottest])
	return nil
}

// carried returns the bucket that a key carries.
func carried(layout idgen.Layout) func(strategy.Keys, strategy.Key) (uint64, string, error) {
	return func(keys strategy.Keys, key strategy.Key) (uint64, string, error) {
		number, ok := keys.Number(key)
		if !ok {
			return 0, "", fmt.Errorf("the key %s, which is to carry a bucket, is no number", keys.Text(key))
		}
		parts, err := layout.Decode(number)
		return uint64(parts.Shard), "the bucket", err
	}
}

// quiet makes keys one by one, moving the clock in between, and counts their numbers on the most shards, which all numbers of shards divide. It
// says what of a key is its number.
func quiet(ctx context.Context, keys strategy.Keys, most int, limit time.Duration, clock *quietClock,
	of func(strategy.Keys, strategy.Key) (uint64, string, error), shards int) (counts []int64, kind string, err error) {
	counts = make([]int64, shards)
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
		number, what, err := of(keys, key)
		if err != nil {
			return nil, "", err
		}
		kind = what
		counts[number%uint64(shards)]++
	}
	return counts, kind, nil
}

// lowest returns the low bits of a key as a number, and says which they are.
func lowest(keys strategy.Keys, key strategy.Key) (uint64, string, error) {
	if number, ok := keys.Number(key); ok {
		return uint64(number), "the number", nil
	}
	end := []byte(key[max(0, len(key)-8):])
	return binary.BigEndian.Uint64(append(make([]byte, 8-len(end)), end...)), "the last eight bytes as a number", nil
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
	return result.Chi{Shards: len(counts), Value: sum, P: mathx.GammaIncComp(float64(len(counts)-1)/2, sum/2)}
}
