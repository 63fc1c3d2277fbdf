package measure_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/compare/internal/measure"
)

// TestLatencyStall has a source stall once, for 50 ms at 1,000 keys a second. Where the stall holds up all goroutines, the 50 keys that were
// due meanwhile are late, each by what was left of it; counting from the call's beginning would show eight of them.
func TestLatencyStall(t *testing.T) {
	for _, test := range []struct {
		name  string
		alone bool
		late  int
	}{{"all", false, 50}, {"alone", true, 1}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource(0)
				s.alone, s.stallAt, s.stall = test.alone, 101, 50*time.Millisecond // warming up takes some
				got, err := measure.Latency(t.Context(), s, measure.LatencyOptions{Calls: 300})
				if err != nil || got.Why != "" {
					t.Fatal(err, got.Why)
				}
				var late []int64
				for _, ns := range got.Samples {
					if ns > 0 {
						late = append(late, ns)
					}
				}
				if len(late) != test.late || len(got.Samples) != 300 {
					t.Fatalf("got %d late of %d samples, want %d of 300: %v", len(late), len(got.Samples), test.late, late)
				}
				for i, ns := range late {
					if want := int64(50-i) * 1e6; ns != want {
						t.Errorf("late sample %d: got %d ns, want %d", i, ns, want)
					}
				}
				if got.Rate != 1000 || got.Goroutines != 8 || math.Abs(got.Achieved-1000) > 1 {
					t.Errorf("got a rate of %v by %d goroutines, achieved %v, want 1000, 8, 1000", got.Rate, got.Goroutines, got.Achieved)
				}
			})
		})
	}
}

// TestLatencyLateTimer checks that a timer that fires late is not the source's fault, not in its own call and not in those that it holds up,
// and that the source's own time still counts.
func TestLatencyLateTimer(t *testing.T) {
	for _, late := range []time.Duration{0, 3 * time.Millisecond, 30 * time.Millisecond} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timer := func(ctx context.Context, wait time.Duration) error {
					if wait > 0 {
						wait += late
					}
					return measure.Sleep(ctx, wait)
				}
				got, err := measure.LatencyBy(t.Context(), costly{cost: time.Millisecond}, measure.LatencyOptions{Calls: 200}, timer)
				if err != nil {
					t.Fatal(err)
				}
				if want := slices.Repeat([]int64{1e6}, 200); !slices.Equal(got.Samples, want) {
					t.Errorf("got %v, want %d times 1 ms; %s", got.Samples, len(want), got.Why)
				}
			})
		})
	}
}

// costly makes keys that take a time, any number of them at once.
type costly struct {
	*source
	cost time.Duration
}

func (c costly) Generate(ctx context.Context, n int) error { return pass(ctx, time.Duration(n)*c.cost) }

func TestLatencyBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := measure.Latency(t.Context(), newSource(4*time.Millisecond), measure.LatencyOptions{Calls: 1e6})
		if err != nil {
			t.Fatal(err)
		}
		// 250 a second for 1,000 asked for: after 2.7 s it is 2 s behind.
		if got.Samples != nil || !strings.Contains(got.Why, "could not hold 1000 keys a second") || !strings.Contains(got.Why, "made 250 a second") {
			t.Errorf("got %d samples and %q, want none and 250 a second", len(got.Samples), got.Why)
		}
		if math.Abs(got.Achieved-250) > 2 {
			t.Errorf("got %v achieved, want 250", got.Achieved)
		}
	})
}

func TestLatencyBusyMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := func(ctx context.Context, wait time.Duration) error { return measure.Sleep(ctx, wait+3*time.Second) }
		got, err := measure.LatencyBy(t.Context(), newSource(0), measure.LatencyOptions{Calls: 100}, timer)
		if err != nil || got.Samples != nil || !strings.Contains(got.Why, "this machine was too busy") {
			t.Errorf("got %d samples, %q, %v, want that the machine was too busy", len(got.Samples), got.Why, err)
		}
	})
}

func TestLatencyErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		pace measure.LatencyOptions
		fail error
		at   int64
		want error
		why  string
	}{
		{"negative rate", measure.LatencyOptions{Rate: -1}, nil, 0, measure.ErrOption, ""},
		{"no number", measure.LatencyOptions{Rate: math.NaN()}, nil, 0, measure.ErrOption, ""},
		{"negative calls", measure.LatencyOptions{Calls: -1}, nil, 0, measure.ErrOption, ""},
		{"warming up", measure.LatencyOptions{}, broken, 1, broken, ""},
		{"amid", measure.LatencyOptions{}, broken, 200, broken, ""},
		{"of the database", measure.LatencyOptions{}, errors.ErrUnsupported, 1, nil, "the database makes the keys when rows are inserted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource(0)
				s.fail, s.stallAt = test.fail, test.at
				got, err := measure.Latency(t.Context(), s, test.pace)
				if !errors.Is(err, test.want) || got.Why != test.why || got.Samples != nil {
					t.Errorf("got %+v, %v, want %q, %v", got, err, test.why, test.want)
				}
			})
		})
	}
}

// TestLatencyCanceled ends the context while goroutines sleep and while they are in the source; the bubble checks that none is left.
func TestLatencyCanceled(t *testing.T) {
	for _, cost := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Microsecond)
			defer cancel()
			start := time.Now()
			got, err := measure.Latency(ctx, newSource(cost), measure.LatencyOptions{Behind: 10 * time.Hour})
			if !errors.Is(err, context.DeadlineExceeded) || got.Samples != nil {
				t.Errorf("got %d samples, %v, want the context's error", len(got.Samples), err)
			}
			if took := time.Since(start); took != time.Second+time.Microsecond {
				t.Errorf("a cost of %s: returned after %s, want at once", cost, took)
			}
		})
	}
}
