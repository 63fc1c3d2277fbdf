package ticket

import (
	"math"
	"testing"
	"time"
)

func newTestPace(t *testing.T, config BlockConfig) *rateMeter {
	t.Helper()
	config, err := config.complete(1)
	if err != nil {
		t.Fatal(err)
	}
	p := newRateMeter(config, time.Unix(0, 0))
	return &p
}

// window is what happens until an allocation.
type window struct {
	taken           int64
	lasts, waitedOf time.Duration
	troubled        bool
}

// play ends a window that begins where the last one ended. A wait is at its end.
func (p *rateMeter) play(w window) {
	end := p.since.Add(w.lasts)
	if w.waitedOf > 0 {
		p.block(end.Add(-w.waitedOf))
		p.unblock(end)
	}
	p.allocated(end, p.issued+w.taken, time.Millisecond, w.troubled)
}

// What one window makes of a rate of 1000/s and a step.
func TestPaceWindow(t *testing.T) {
	const ten = 10 * time.Second
	weight := 1 - 1/math.E // of ten seconds
	for _, test := range []struct {
		name string
		window
		before int64
		rate   float64
		step   int64
	}{
		{"as before", window{10_000, ten, 0, false}, 10_000, 1000, 10_000},
		{"as before, the step being less", window{10_000, ten, 0, false}, 2000, 1000, 4000},
		{"as before, the step being more", window{10_000, ten, 0, false}, 50_000, 1000, 25_000},
		{"a little more", window{11_000, ten, 0, false}, 10_000, 1000 + 100*weight, 10_632},
		{"less", window{1000, ten, 0, false}, 10_000, 1000 - 900*weight, 5000},
		{"nothing for a year", window{0, 365 * 24 * time.Hour, 0, false}, 10_000, 0, 5000},
		{"nothing for no time", window{0, 0, 0, false}, 10_000, 1000, 10_000},
		{"many at once", window{1e9, time.Millisecond, 0, false}, 10_000, 2000, 20_000},
		{"many in no time", window{1e9, 0, 0, false}, 10_000, 2000, 20_000},
		{"empty at the end", window{10_000, 2 * ten, ten, false}, 10_000, 1000, 20_000},
		{"less, and empty at the end", window{1000, 2 * ten, ten, false}, 10_000, 1000 - 900*weight, 20_000},
		{"all the time empty", window{0, ten, ten, false}, 10_000, 1000, 20_000},
		{"an outage", window{10_000, 2 * ten, ten, true}, 50_000, 1000, 50_000},
		{"an outage that nobody noticed", window{0, 2 * ten, 0, true}, 50_000, 1000, 50_000},
		{"more in an outage", window{20_000, ten, 0, true}, 10_000, 1000 + 1000*weight, 16_321},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newTestPace(t, BlockConfig{})
			p.rate, p.step = 1000, 10_000
			p.play(window{10_000, ten, 0, false})
			p.step = test.before
			p.play(test.window)
			if math.Abs(p.rate-test.rate) > 1e-6 || p.step != test.step {
				t.Errorf("got %g/s and steps of %d, want %g/s and %d", p.rate, p.step, test.rate, test.step)
			}
			if p.blocked != 0 || p.waited {
				t.Errorf("the next window begins with a wait of %s", p.blocked)
			}
		})
	}
}

// A wait that goes on belongs to both windows, and an empty buffer at the start makes the step no larger.
func TestPaceWaits(t *testing.T) {
	p := newTestPace(t, BlockConfig{MinStep: 1000})
	p.block(p.since)
	p.allocated(p.since.Add(time.Second), 1, time.Second, false)
	if p.step != 1000 {
		t.Errorf("the first allocation makes the step %d, want it as it was, 1000", p.step)
	}
	for _, want := range []int64{2000, 4000} {
		p.allocated(p.since.Add(time.Second), p.issued, time.Second, false)
		if p.step != want {
			t.Errorf("a call waits: step %d, want %d", p.step, want)
		}
	}
}

// Steps and the buffer have bounds, whatever the rate.
func TestPaceBounds(t *testing.T) {
	p := newTestPace(t, BlockConfig{MinStep: 300, MaxStep: 5000})
	for range 100 {
		p.play(window{1e12, time.Second, 0, false})
		if p.step < 300 || p.step > 5000 || p.low() > 15*5000 || p.reserve() > 15*5000 {
			t.Fatalf("step %d, low %d, reserve %d: want 300 to 5000, and up to 75,000", p.step, p.low(), p.reserve())
		}
	}
	if p.step != 5000 || p.low() != 75_000 || p.reserve() != 75_000 {
		t.Errorf("at %g/s: step %d, low %d, reserve %d: want 5000, and 75,000", p.rate, p.step, p.low(), p.reserve())
	}
	for range 100 {
		p.play(window{0, time.Hour, 0, false})
	}
	if low := p.low(); p.step != 300 || low < 135 || low > 165 || p.reserve() != 300 {
		t.Errorf("at %g/s: step %d, low %d, reserve %d: want 300, half of it, and 300", p.rate, p.step, low, p.reserve())
	}
	largest := newTestPace(t, BlockConfig{Rate: maxStep, Reserve: time.Hour, MaxStep: maxStep})
	if largest.low() != 15*maxStep || largest.step != maxStep {
		t.Errorf("the largest configuration: step %d, low %d", largest.step, largest.low())
	}
}

// A refill starts at what Reserve takes, give or take a tenth, or at what a slow allocation does.
func TestPaceLow(t *testing.T) {
	for _, test := range []struct {
		name    string
		latency time.Duration
		want    float64
	}{{"reserve", 100 * time.Millisecond, 2000}, {"slow", 5 * time.Second, 10_050}} {
		t.Run(test.name, func(t *testing.T) {
			p := newTestPace(t, BlockConfig{Rate: 1000, Reserve: 2 * time.Second})
			p.latencies.add(test.latency)
			for range 50 {
				p.latencies.add(time.Millisecond)
			}
			least, most := int64(math.MaxInt64), int64(0)
			for range 1000 {
				low := p.low()
				least, most = min(least, low), max(most, low)
			}
			if float64(least) < 0.9*test.want-1 || float64(most) > 1.1*test.want+1 || float64(most-least) < 0.15*test.want {
				t.Errorf("got %d to %d, want %g give or take a tenth", least, most, test.want)
			}
		})
	}
}
