package measure_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/compare/internal/measure"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// TestChiSquare has sums reckoned by hand, and probabilities in closed form: of one degree of freedom erfc(√(x/2)), of two exp(-x/2), of
// three erfc(√(x/2)) + √(2x/π)·exp(-x/2), of 2m Poisson's sum of m terms.
func TestChiSquare(t *testing.T) {
	many := make([]int64, 1023)
	for i := range many {
		many[i] = 10
	}
	many[0], many[1] = 81, 139
	for _, test := range []struct {
		name   string
		counts []int64
		value  float64
		p      float64
	}{
		{"equal", []int64{5, 5}, 0, 1},
		{"two", []int64{60, 40}, 4, math.Erfc(math.Sqrt2)},
		{"three", []int64{30, 20, 10}, 10, math.Exp(-5)},
		{"four", []int64{10, 20, 30, 40}, 20, math.Erfc(math.Sqrt(10)) + math.Sqrt(40/math.Pi)*math.Exp(-10)},
		{"all on one", []int64{0, 5120}, 5120, 0},
		{"many", many, chi(many), poisson(chi(many)/2, 511)},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := measure.ChiSquare(test.counts)
			if got.Shards != len(test.counts) || math.Abs(got.Value-test.value) > 1e-9*(1+test.value) || math.Abs(got.P-test.p) > 1e-9 {
				t.Errorf("got %+v, want χ² %v and p %v", got, test.value, test.p)
			}
		})
	}
}

// chi is n·Σ(c/all)²·all - all, Pearson's sum in another form.
func chi(counts []int64) float64 {
	var all, squares float64
	for _, c := range counts {
		all += float64(c)
		squares += float64(c) * float64(c)
	}
	return squares*float64(len(counts))/all - all
}

// poisson is the probability of fewer than m events where x are expected.
func poisson(x float64, m int) float64 {
	sum := 0.0
	for k := range m {
		lg, _ := math.Lgamma(float64(k + 1))
		sum += math.Exp(-x + float64(k)*math.Log(x) - lg)
	}
	return sum
}

func TestShards(t *testing.T) {
	random := func() func() int64 {
		r := rand.New(rand.NewPCG(1, 1))
		return func() int64 { return r.Int64() }
	}
	for _, test := range []struct {
		name   string
		keys   func() func() int64
		info   strategy.Info
		made   int
		uneven []int // numbers of shards
		method string
	}{
		{"random", random, strategy.Info{}, 10_240, nil, "carry no time"},
		{"random over a round trip", random, strategy.Info{RoundTrip: true}, 5120, nil, "carry no time"},
		{"even numbers", func() func() int64 {
			r := random()
			return func() int64 { return r() &^ 1 }
		}, strategy.Info{Unit: time.Second}, 10_240, []int{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, "its clock cannot be set"},
		{"the top bit of 1,024", func() func() int64 {
			r := random()
			return func() int64 { return r() &^ 512 }
		}, strategy.Info{}, 10_240, []int{1024}, ""},
		{"counter", func() func() int64 {
			n := int64(0)
			return func() int64 { n++; return n }
		}, strategy.Info{}, 10_240, nil, "the number modulo the number of shards"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := numbers(test.info, func(strategy.Environment) func() int64 { return test.keys() })
			got, err := measure.Shards(t.Context(), s, place, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got.Keys != test.made || len(got.Counts) != 16 || sum(got.Counts) != int64(test.made) || !strings.Contains(got.Method, test.method) {
				t.Errorf("got %d keys, the counts %v and the method %q", got.Keys, got.Counts, got.Method)
			}
			if len(got.Chi) != 10 || got.Chi[0].Shards != 2 || got.Chi[9].Shards != 1024 {
				t.Fatalf("got %+v, want 2 to 1024", got.Chi)
			}
			for _, chi := range got.Chi {
				if slices.Contains(test.uneven, chi.Shards) != (chi.P < 1e-9) {
					t.Errorf("got %+v", chi)
				}
			}
		})
	}
}

func sum(counts []int64) (all int64) {
	for _, c := range counts {
		all += c
	}
	return all
}

// TestShardsQuiet has the published fault, a sequence that begins at 0 in every tick, which shows with little traffic only, and this
// module's default, which does not have it.
func TestShardsQuiet(t *testing.T) {
	for _, test := range []struct {
		preset idgen.Preset
		uneven bool
	}{{idgen.Twitter, true}, {idgen.Snowkey, false}} {
		t.Run(test.preset.Name(), func(t *testing.T) {
			var times []time.Time
			s := strategy.New(strategy.Info{Name: "planted", Clock: true, Unit: time.Millisecond}, func(_ context.Context, at strategy.Environment) (idgen.Source[int64], error) {
				if at.Clock == nil || at.Prefix == place.Prefix {
					t.Errorf("opened with the clock %v and the prefix %s, want a clock and a prefix of its own", at.Clock, at.Prefix)
				}
				r := rand.New(rand.NewPCG(1, 2))
				options := []idgen.Option{test.preset, idgen.WithNode(1), idgen.WithClock(at.Clock), idgen.WithRandom(r.Uint64)}
				if test.preset == idgen.Twitter {
					options = append(options, idgen.WithDatacenter(1))
				}
				made, err := idgen.New(options...)
				return spying{made, func() { times = append(times, at.Clock.Wall()) }}, err
			})
			got, err := measure.Shards(t.Context(), s, place, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			if p := got.Chi[3].P; (p < 1e-9) != test.uneven {
				t.Errorf("16 shards: got p = %v of %v", p, got.Counts)
			}
			for i := range times[1:] {
				if apart := times[i+1].Sub(times[i]); apart < 10*time.Millisecond || apart > 30*time.Millisecond {
					t.Fatalf("keys %d and %d are %s apart", i, i+1, apart)
				}
			}
			if mean := times[len(times)-1].Sub(times[0]) / time.Duration(len(times)-1); mean < 19*time.Millisecond || mean > 21*time.Millisecond {
				t.Errorf("the keys are %s apart on average, want 20 ms", mean)
			}
			if again, err := measure.Shards(t.Context(), s, place, 1, 0); test.uneven && (err != nil || !reflect.DeepEqual(got, again)) {
				t.Errorf("the same seed gave %+v and %+v, %v", got, again, err)
			}
		})
	}
}

// TestShardsOfFewKeys has a layout of so few keys a tick that with 50 a second a source would wait for a tick that never comes.
func TestShardsOfFewKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout, err := idgen.NewLayout(time.Now().Add(-time.Hour), time.Second, idgen.Time.Bits(30), idgen.Node.Bits(1), idgen.Sequence.Bits(3))
		if err != nil {
			t.Fatal(err)
		}
		s := strategy.New(strategy.Info{Name: "planted", Clock: true, Unit: layout.Unit(), Limit: layout.PerSecond()},
			func(_ context.Context, at strategy.Environment) (idgen.Source[int64], error) {
				return idgen.New(layout, idgen.WithNode(1), idgen.WithClock(at.Clock))
			})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		got, err := measure.Shards(ctx, s, place, 1, 0)
		if err != nil || got.Keys != 10_240 || !strings.Contains(got.Method, "250ms to 750ms apart") {
			t.Errorf("got %d keys, %q, %v", got.Keys, got.Method, err)
		}
	})
}

// spying calls a function with every key.
type spying struct {
	idgen.Source[int64]
	see func()
}

func (s spying) Next(ctx context.Context) (int64, error) { s.see(); return s.Source.Next(ctx) }

func TestShardsErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		fail error
		want error
		why  string
	}{{"source", broken, broken, ""}, {"database", errors.ErrUnsupported, nil, "the database makes the keys when rows are inserted"}} {
		s := strategy.New(strategy.Info{Name: "planted"}, func(context.Context, strategy.Environment) (idgen.Source[int64], error) {
			return failing{test.fail}, nil
		})
		got, err := measure.Shards(t.Context(), s, place, 1, 0)
		if !errors.Is(err, test.want) || !reflect.DeepEqual(got, result.Shards{Why: test.why}) {
			t.Errorf("%s: got %+v, %v, want %v", test.name, got, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := numbers(strategy.Info{}, func(strategy.Environment) func() int64 { return func() int64 { cancel(); return 1 } })
	if _, err := measure.Shards(ctx, s, place, 1, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

// failing is a source that makes no keys.
type failing struct{ err error }

func (f failing) Next(context.Context) (int64, error) { return 0, f.err }

func (f failing) Fill(context.Context, []int64) error { return f.err }

func TestShardsBytes(t *testing.T) {
	n := byte(0)
	s := strategy.New(strategy.Info{Name: "planted"}, func(context.Context, strategy.Environment) (idgen.Source[[16]byte], error) {
		return counting{&n}, nil
	})
	got, err := measure.Shards(t.Context(), s, place, 1, 0)
	if err != nil || !strings.HasPrefix(got.Method, "the last eight bytes as a number") {
		t.Fatal(got.Method, err)
	}
	// The last byte counts, the one before stands still.
	if got.Chi[7].P < 0.999 || got.Chi[8].P > 1e-9 {
		t.Errorf("got %+v, want 256 shards even and 512 not", got.Chi)
	}
}

// counting makes UUIDs whose last byte counts.
type counting struct{ n *byte }

func (c counting) Next(context.Context) (key [16]byte, err error) {
	*c.n++
	key[0], key[15] = byte(rand.Int()), *c.n
	return key, nil
}

func (c counting) Fill(context.Context, [][16]byte) error { return errors.ErrUnsupported }

// TestShardsLimit has a source of 10 ms a key: the shards are judged by as many keys as there was time for, unless they are too few.
func TestShardsLimit(t *testing.T) {
	for _, test := range []struct {
		limit  time.Duration
		keys   int
		shards int // the most
	}{{0, 5120, 1024}, {time.Minute, 5120, 1024}, {25 * time.Second, 2500, 256}, {800 * time.Millisecond, 80, 16}, {790 * time.Millisecond, 0, 0}} {
		synctest.Test(t, func(t *testing.T) {
			n := int64(0)
			s := numbers(strategy.Info{RoundTrip: true}, func(strategy.Environment) func() int64 {
				return func() int64 { time.Sleep(10 * time.Millisecond); n++; return n }
			})
			got, err := measure.Shards(t.Context(), s, place, 1, test.limit)
			if err != nil || got.Keys != test.keys || (got.Why == "") != (test.keys > 0) {
				t.Fatalf("%s: got %d keys, %q, %v, want %d", test.limit, got.Keys, got.Why, err, test.keys)
			}
			if said := strings.Contains(got.Method, "were over after"); said != (test.keys > 0 && test.keys < 5120) {
				t.Errorf("%s: got the method %q", test.limit, got.Method)
			}
			if last := len(got.Chi) - 1; test.keys > 0 && got.Chi[last].Shards != test.shards {
				t.Errorf("%s: got %+v, want up to %d", test.limit, got.Chi, test.shards)
			}
		})
	}
}

// TestShardsOfTenants has keys that carry the buckets of four tenants, one of whom has half of the rows; by key modulo n they would be even.
func TestShardsOfTenants(t *testing.T) {
	of := &strategy.Sharding{Layout: idgen.Scattered.Layout, Tenants: 4, Drawn: "4 tenants, one with half of the rows"}
	var buckets [4]int
	for tenant := range buckets {
		bucket, err := shard.Bucket(of.Layout, tenant+1)
		if err != nil {
			t.Fatal(err)
		}
		buckets[tenant] = int(bucket)
	}
	rows, n := [...]int{0, 1, 0, 2, 0, 1, 0, 3}, int64(0)
	s := numbers(strategy.Info{Sharding: of}, func(strategy.Environment) func() int64 {
		return func() int64 { n++; return int64(buckets[rows[n%8]])<<53 | n }
	})
	got, err := measure.Shards(t.Context(), s, place, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	hot := []result.Bucket{{Bucket: buckets[0], Share: 0.5, Tenants: 1}, {Bucket: buckets[1], Share: 0.25, Tenants: 1}}
	if len(got.Hot) != 3 || !slices.Equal(got.Hot[:2], hot) || got.Hot[2].Share != 0.125 || got.Tenants != of.Drawn {
		t.Errorf("got the hot buckets %+v of %q, want %+v and one of an eighth", got.Hot, got.Tenants, hot)
	}
	counts, uniform := make([]int64, 16), make([]int64, 16)
	for i, share := range []int64{8, 4, 2, 2} {
		counts[buckets[i]%16] += 640 * share
		uniform[buckets[i]%16]++
	}
	if !slices.Equal(got.Counts, counts) || !slices.Equal(got.Uniform, uniform) {
		t.Errorf("got the counts %v and %v of uniform tenants, want %v and %v", got.Counts, got.Uniform, counts, uniform)
	}
	if !strings.HasPrefix(got.Method, "the bucket modulo") || got.Chi[3].P > 1e-9 {
		t.Errorf("got %q, %+v", got.Method, got.Chi[3])
	}
}

// TestShardsWithoutABucket has keys that are to carry a bucket and cannot.
func TestShardsWithoutABucket(t *testing.T) {
	of := &strategy.Sharding{Layout: idgen.JS53.Layout, Tenants: 4}
	s := numbers(strategy.Info{Sharding: of}, func(strategy.Environment) func() int64 { return func() int64 { return 1 } })
	if got, err := measure.Shards(t.Context(), s, place, 1, 0); !errors.Is(err, shard.ErrLayout) || got.Keys != 0 {
		t.Errorf("of a layout without a shard: got %+v, %v, want ErrLayout", got, err)
	}
	bytes := strategy.New(strategy.Info{Sharding: of}, func(context.Context, strategy.Environment) (idgen.Source[[16]byte], error) {
		return counting{new(byte)}, nil
	})
	if _, err := measure.Shards(t.Context(), bytes, place, 1, 0); err == nil || !strings.Contains(err.Error(), "is no number") {
		t.Errorf("of bytes: got %v, want an error", err)
	}
}
