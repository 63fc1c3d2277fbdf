package measure_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/compare/internal/measure"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// sources is a strategy of sources, each of which is kept.
func sources(info strategy.Info, make func(at strategy.Environment) *source) (*planted, *[]*source) {
	var all []*source
	return &planted{info: info, open: func(at strategy.Environment) (strategy.Keys, error) {
		all = append(all, make(at))
		return all[len(all)-1], nil
	}}, &all
}

// samples are the samples of speeds, by goroutines and keys a call.
func samples(t *testing.T, speeds []result.Speed) map[[2]int][]float64 {
	t.Helper()
	all := map[[2]int][]float64{}
	for _, s := range speeds {
		if at := [2]int{s.Goroutines, s.Keys}; all[at] != nil {
			t.Errorf("%d goroutines, %d keys a call: there are two figures", s.Goroutines, s.Keys)
		} else {
			all[at] = s.Time.Samples
		}
		if s.Time.OK() == (s.Time.Why != "") {
			t.Errorf("%d goroutines, %d keys a call: %d samples and the reason %q", s.Goroutines, s.Keys, len(s.Time.Samples), s.Time.Why)
		}
	}
	return all
}

// each is what every number of goroutines has the same samples of.
func each(samples ...float64) map[[2]int][]float64 {
	all := map[[2]int][]float64{}
	for n := 1; n <= max(4, runtime.GOMAXPROCS(0)); n *= 2 {
		all[[2]int{n, 1}] = samples
	}
	return all
}

// TestGenerationLimit has sources whose code takes a microsecond a key and whose layout has so many keys a tick: capped figures show the
// layout's limit, uncapped ones the code. Samples shorter than a tick would show the code twice.
func TestGenerationLimit(t *testing.T) {
	for _, test := range []struct {
		name    string
		unit    time.Duration
		perTick int
		ahead   time.Duration
		capped  float64 // ns a key
	}{
		{"milliseconds", time.Millisecond, 100, 0, 10_000},
		{"milliseconds, a second ahead", time.Millisecond, 100, time.Second, 10_000},
		{"tens of milliseconds", 10 * time.Millisecond, 64, 0, 156_250},
		{"seconds", time.Second, 2048, 0, 488_281.25},
		{"seconds, many keys", time.Second, 200_000, 0, 5000},
		{"out of reach", time.Millisecond, 4096, 0, 1000},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := float64(test.perTick) / test.unit.Seconds()
				s, opened := sources(strategy.Info{Limit: limit, Unit: test.unit, Ahead: test.ahead, Clock: true}, func(at strategy.Environment) *source {
					s := newSource(time.Microsecond)
					s.unit, s.perTick, s.ahead, s.clock = test.unit, test.perTick, test.ahead, at.Clock
					return s
				})
				var got result.Generation
				start := time.Now()
				for range 2 {
					if err := measure.Generation(t.Context(), s, place, &got); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(start); test.perTick >= 100_000 && took > time.Second {
					t.Errorf("two rounds took %s, want no wait for ticks of %s with so many keys", took, test.unit)
				}
				want := each(test.capped, test.capped)
				if test.unit == time.Second && test.perTick < 100_000 { // one sample of a whole tick stands for all
					want = map[[2]int][]float64{{1, 1}: {test.capped}, {2, 1}: nil, {4, 1}: nil}
				}
				if capped := samples(t, got.Capped); !reflect.DeepEqual(capped, want) {
					t.Errorf("capped: got %v, want %v", capped, want)
				}
				if uncapped := samples(t, got.Uncapped); !reflect.DeepEqual(uncapped, each(1000, 1000)) {
					t.Errorf("uncapped: got %v, want 1000", uncapped)
				}
				if note := got.Uncapped[0].Time.Note; !strings.HasSuffix(note, "at the most this") {
					t.Errorf("uncapped: got the note %q, want that the clock costs, too", note)
				}
				batch := map[[2]int][]float64{{1, 10}: {1000, 1000}, {1, 100}: {1000, 1000}, {1, 1000}: {1000, 1000}}
				if got := samples(t, got.Batch); !reflect.DeepEqual(got, batch) {
					t.Errorf("batch: got %v, want %v", got, batch)
				}
				if got.Limit != limit || len(got.Floor.Samples) != 2 {
					t.Errorf("got the limit %v and floors %v, want %v and two", got.Limit, got.Floor, limit)
				}
				prefixes := map[string]bool{}
				for i, at := range s.places {
					if (*opened)[i].closed.Load() != 1 {
						t.Errorf("the keys of %s were closed %d times", at.Prefix, (*opened)[i].closed.Load())
					}
					if at.Clock != nil && (prefixes[at.Prefix] || at.Prefix == place.Prefix || !strings.HasPrefix(at.Prefix, place.Prefix+"_")) {
						t.Errorf("a fast clock has the prefix %s, want one of its own", at.Prefix)
					}
					prefixes[at.Prefix] = true
				}
			})
		})
	}
}

// TestGenerationSlow checks that a source of 0.2 s a key is not asked for many.
func TestGenerationSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, opened := sources(strategy.Info{RoundTrip: true}, func(strategy.Environment) *source { return newSource(200 * time.Millisecond) })
		var got result.Generation
		if err := measure.Generation(t.Context(), s, place, &got); err != nil {
			t.Fatal(err)
		}
		if capped := samples(t, got.Capped); !reflect.DeepEqual(capped, each(2e8)) {
			t.Errorf("capped: got %v, want 200 ms", capped)
		}
		if batch := samples(t, got.Batch); len(batch) != 3 || batch[[2]int{1, 10}] == nil || batch[[2]int{1, 100}] != nil || batch[[2]int{1, 1000}] != nil {
			t.Errorf("batch: got %+v, want those of 10 keys alone", got.Batch)
		}
		if made := (*opened)[0].made.Load(); made > 150 {
			t.Errorf("%d keys were asked for", made)
		}
	})
}

func TestGenerationMissing(t *testing.T) {
	t.Parallel()
	const database = "the database makes the keys when rows are inserted"
	const clock, exhausted = "its clock cannot be set, so its limit always counts", "a clock that runs faster than the layout's limit runs past its last tick"
	for _, test := range []struct {
		name                    string
		info                    strategy.Info
		change                  func(*source, strategy.Environment)
		capped, uncapped, batch string // the reasons
	}{
		{"of the database", strategy.Info{}, func(s *source, _ strategy.Environment) { s.fail = errors.ErrUnsupported }, database, database, database},
		{"of the database, with a limit", strategy.Info{Limit: 1e6, Unit: time.Second, Clock: true}, func(s *source, _ strategy.Environment) { s.fail = errors.ErrUnsupported }, database, database, database},
		{"clock not to be set", strategy.Info{Limit: 1e6, Unit: time.Millisecond}, func(*source, strategy.Environment) {}, "", clock, ""},
		{"lasts not long", strategy.Info{Limit: 1e6, Unit: time.Millisecond, Clock: true}, func(s *source, at strategy.Environment) {
			if at.Clock != nil {
				s.fail = idgen.ErrExhausted
			}
		}, "", exhausted, exhausted},
		{"lasts for single keys alone", strategy.Info{Limit: 1e6, Unit: time.Millisecond, Clock: true}, func(s *source, at strategy.Environment) {
			if strings.HasSuffix(at.Prefix, "_b0") {
				s.fail = idgen.ErrExhausted
			}
		}, "", "", exhausted},
		{"too fast for the clock", strategy.Info{Limit: 1e6, Unit: time.Millisecond, Clock: true}, func(s *source, at strategy.Environment) {
			if strings.HasSuffix(at.Prefix, "_u0") {
				s.cost = 8
			}
		}, "", "the keys came so fast that the layout's limit could have counted in spite of the fast clock", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := sources(test.info, func(at strategy.Environment) *source {
					s := newSource(time.Microsecond)
					test.change(s, at)
					return s
				})
				var got result.Generation
				if err := measure.Generation(t.Context(), s, place, &got); err != nil {
					t.Fatal(err)
				}
				for _, part := range []struct {
					name   string
					speeds []result.Speed
					why    string
				}{{"capped", got.Capped, test.capped}, {"uncapped", got.Uncapped, test.uncapped}, {"batch", got.Batch, test.batch}} {
					samples(t, part.speeds)
					for _, s := range part.speeds {
						if s.Time.Why != part.why {
							t.Errorf("%s by %d goroutines, %d keys: got %q, want %q", part.name, s.Goroutines, s.Keys, s.Time.Why, part.why)
						}
					}
					if len(part.speeds) < 3 {
						t.Errorf("%s: got %d figures", part.name, len(part.speeds))
					}
				}
			})
		})
	}
}

func TestGenerationOfSingleKeys(t *testing.T) {
	t.Parallel()
	var got result.Generation
	s := numbers(strategy.Info{}, func(strategy.Environment) func() int64 { return func() int64 { return 1 } })
	if err := measure.Generation(t.Context(), s, place, &got); err != nil {
		t.Fatal(err)
	}
	for _, s := range got.Batch {
		if want := "the source makes single keys only"; s.Time.Why != want {
			t.Errorf("%d keys a call: got %q, want %q", s.Keys, s.Time.Why, want)
		}
	}
	if len(got.Capped) == 0 || len(samples(t, got.Uncapped)[[2]int{1, 1}]) != 1 {
		t.Errorf("got %v and %v, want figures", got.Capped, got.Uncapped)
	}
}

// TestGenerationErrors checks that an error of one goroutine ends the others, that it comes back, and that nothing of the round is kept.
func TestGenerationErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, at := range []int64{1, 3, 1000, 22_000, 60_000, 90_000, 110_000} {
		synctest.Test(t, func(t *testing.T) {
			good, _ := sources(strategy.Info{}, func(strategy.Environment) *source { return newSource(time.Microsecond) })
			var got result.Generation
			if err := measure.Generation(t.Context(), good, place, &got); err != nil {
				t.Fatal(err)
			}
			before := copied(got)
			s, opened := sources(strategy.Info{}, func(strategy.Environment) *source {
				s := newSource(time.Microsecond)
				s.fail, s.stallAt = broken, at
				return s
			})
			if err := measure.Generation(t.Context(), s, place, &got); !errors.Is(err, broken) {
				t.Errorf("key %d: got %v, want the source's error", at, err)
			}
			if !reflect.DeepEqual(got, before) {
				t.Errorf("key %d: got %+v, want what there was, %+v", at, got, before)
			}
			if (*opened)[0].closed.Load() != 1 {
				t.Error("the keys are open")
			}
		})
	}
}

// copied is a figure whose samples nobody changes.
func copied(g result.Generation) result.Generation {
	for _, speeds := range []*[]result.Speed{&g.Capped, &g.Uncapped, &g.Batch} {
		*speeds = append([]result.Speed(nil), *speeds...)
		for i := range *speeds {
			(*speeds)[i].Time.Samples = append([]float64(nil), (*speeds)[i].Time.Samples...)
		}
	}
	return g
}

func TestGenerationCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, _ := sources(strategy.Info{}, func(strategy.Environment) *source { return newSource(time.Hour) })
		start := time.Now()
		if err := measure.Generation(ctx, s, place, new(result.Generation)); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("got %v after %s, want the end of the context after a minute", err, time.Since(start))
		}
	})
}

// TestGenerationSnowflake has real generators, with a layout that lasts and with one that ends in a minute and a half.
func TestGenerationSnowflake(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		lasts time.Duration
		why   string
	}{
		{"lasts", 5 * 24 * time.Hour, ""},
		{"ends soon", 90 * time.Second, "a clock that runs faster than the layout's limit runs past its last tick"},
	} {
		t.Run(test.name, func(t *testing.T) {
			epoch := time.Now().Add(test.lasts - time.Millisecond<<30)
			layout, err := idgen.NewLayout(epoch, time.Millisecond, idgen.Time.Bits(30), idgen.Node.Bits(1), idgen.Sequence.Bits(4))
			if err != nil {
				t.Fatal(err)
			}
			s := strategy.New(strategy.Info{Name: "short", Limit: layout.PerSecond(), Unit: layout.Unit(), Clock: true},
				func(_ context.Context, at strategy.Environment) (idgen.Source[int64], error) {
					options := []idgen.Option{layout, idgen.WithNode(0)}
					if at.Clock != nil {
						options = append(options, idgen.WithClock(at.Clock))
					}
					return idgen.New(options...)
				})
			var got result.Generation
			if err := measure.Generation(t.Context(), s, place, &got); err != nil {
				t.Fatal(err)
			}
			limit := 1e9 / layout.PerSecond()
			for _, s := range got.Capped {
				// The first tick's keys are not all there, as it begins anywhere; a machine that is busy is slower.
				if s.Time.Samples[0] < limit*0.9 {
					t.Errorf("%d goroutines: got %v ns a key, less than the layout's limit of %v", s.Goroutines, s.Time.Samples[0], limit)
				}
			}
			for _, s := range got.Uncapped {
				if s.Time.Why != test.why {
					t.Errorf("%d goroutines: got %q, want %q", s.Goroutines, s.Time.Why, test.why)
				}
			}
		})
	}
}
