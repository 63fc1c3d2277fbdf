package measure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/snowkey-go/snowkey/compare/internal/measure"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// counter is a server without a database: it counts, and what it knows when it starts again is up to the test. It also is the source that
// asks it.
type counter struct {
	restart  func(last int64) int64 // the last number as it is known after a restart
	survives bool                   // keys come from memory, whatever the server does
	never    bool                   // no keys come after a restart
	broken   error                  // of Start
	onKill   func()

	sync.Mutex
	last, greatest, step int64
	given, givenDead     int // all, and those while the server was down
	dead                 bool
	starts, kills        int
}

func (c *counter) Next(context.Context) (int64, error) {
	c.Lock()
	defer c.Unlock()
	if c.dead && !c.survives || c.never && c.starts > 0 {
		return 0, errors.New("nobody answers")
	}
	if c.dead {
		c.givenDead++
	}
	c.given++
	c.last += max(c.step, 1)
	c.greatest = max(c.greatest, c.last)
	return c.last, nil
}

func (c *counter) Fill(context.Context, []int64) error { return errors.ErrUnsupported }

func (c *counter) Kill() error {
	c.Lock()
	defer c.Unlock()
	c.dead = true
	c.kills++
	if c.onKill != nil {
		c.onKill()
	}
	return nil
}

func (c *counter) Start(...string) error {
	c.Lock()
	defer c.Unlock()
	if c.broken != nil {
		return c.broken
	}
	c.dead = false
	c.starts++
	if c.restart != nil {
		c.last = c.restart(c.last)
	}
	return nil
}

// strategy has the counter as the source of all processes.
func (c *counter) strategy(info strategy.Info) strategy.Strategy {
	info.Name, info.RoundTrip = "planted", true
	return strategy.New(info, func(context.Context, strategy.Environment) (idgen.Source[int64], error) { return c, nil })
}

// nowhere is an application without a database.
func nowhere(kind string) func(context.Context) (measure.Application, error) {
	return func(context.Context) (measure.Application, error) {
		return measure.Application{Environment: strategy.Environment{Kind: kind, Prefix: "planted"}}, nil
	}
}

// brief are options of short waits.
func brief(kills int) measure.CrashOptions {
	return measure.CrashOptions{
		Kills: kills, Before: 30 * time.Millisecond, Down: 100 * time.Millisecond, After: 30 * time.Millisecond, Timeout: 20 * time.Second,
	}
}

// crashText has the samples of the four figures.
func crashText(f result.Crash) string {
	return fmt.Sprintf("twice %v %s, lost %v %s, outage %v %s, down %v %s", f.Twice, f.Twice.Note, f.Lost, f.Lost.Note, f.Outage, f.Outage.Why, f.Down, f.Down.Why)
}

// TestCrashCounts kills counters of which it is known how many numbers they gave twice and lost.
func TestCrashCounts(t *testing.T) {
	for _, test := range []struct {
		name    string
		counter *counter
		info    strategy.Info
		lost    float64 // -1: missing
	}{
		{"nothing is forgotten", &counter{}, strategy.Info{}, 0},
		{"all is forgotten", &counter{restart: func(int64) int64 { return 0 }}, strategy.Info{}, 0},
		{"the last ten are forgotten", &counter{restart: func(last int64) int64 { return last - 10 }}, strategy.Info{}, 0},
		{"32 are skipped", &counter{restart: func(last int64) int64 { return last + 32 }}, strategy.Info{}, 32},
		{"32 steps of three are skipped", &counter{step: 3, restart: func(last int64) int64 { return last + 96 }}, strategy.Info{}, 32},
		{"it does not count", &counter{restart: func(last int64) int64 { return last + 32 }}, strategy.Info{Random: 8}, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			c := test.counter
			got, err := measure.Crash(t.Context(), c.strategy(test.info), nowhere("mysql"), c, brief(1))
			if err != nil {
				t.Fatal(err)
			}
			skipped := max(test.lost, 0)
			if test.lost < 0 {
				skipped = 32
			}
			distinct := int(c.greatest/max(c.step, 1)) - int(skipped)
			if want := c.given - distinct; len(got.Twice.Samples) != 1 || got.Twice.Samples[0] != float64(want) {
				t.Errorf("got %s, want %d twice, as %d of %d keys were different", crashText(got), want, distinct, c.given)
			} else if (want > 0) != strings.Contains(got.Twice.Note, "ms before the kill and again") {
				t.Errorf("got evidence %q of %d", got.Twice.Note, want)
			}
			if test.lost < 0 {
				if got.Lost.OK() || got.Lost.Why == "" {
					t.Errorf("got %s, want nothing lost and why", crashText(got))
				}
			} else if len(got.Lost.Samples) != 1 || got.Lost.Samples[0] != test.lost {
				t.Errorf("got %s, want %v lost", crashText(got), test.lost)
			}
			// Between Kill and Start nobody was given a key; all of those given before may have been noted a little late.
			if got.Outage.Samples[0] < 50 || got.Down.Samples[0] < 100 {
				t.Errorf("got %s, want an outage as long as the server was left down", crashText(got))
			}
		})
	}
}

// TestCrashLocal kills a server that the keys do not need.
func TestCrashLocal(t *testing.T) {
	defer goleak.VerifyNone(t)
	c := &counter{survives: true}
	got, err := measure.Crash(t.Context(), c.strategy(strategy.Info{}), nowhere("postgres"), c, brief(3))
	if err != nil {
		t.Fatal(err)
	}
	if c.kills != 3 || c.starts != 3 || c.givenDead == 0 {
		t.Fatalf("%d kills, %d starts and %d keys while the server was down, want 3, 3 and some", c.kills, c.starts, c.givenDead)
	}
	for i := range 3 {
		if got.Twice.Samples[i] != 0 || got.Lost.Samples[i] != 0 {
			t.Errorf("got %s, want nothing twice or lost", crashText(got))
		}
	}
	if slices.Min(got.Outage.Samples) >= slices.Min(got.Down.Samples) { // one may be long because the machine is busy
		t.Errorf("got %s, want outages shorter than the server's", crashText(got))
	}
	if !strings.Contains(got.Outage.Note, "before the kills no goroutine waited longer than ") {
		t.Errorf("got note %q, want the longest wait without a kill", got.Outage.Note)
	}
}

// TestCrashTwoServers kills one of two servers that give odd and even numbers: those of the other do not count as holes.
func TestCrashTwoServers(t *testing.T) {
	defer goleak.VerifyNone(t)
	odd, even := &counter{step: 2, last: -1}, &counter{step: 2}
	s := strategy.New(strategy.Info{Name: "planted", RoundTrip: true}, func(context.Context, strategy.Environment) (idgen.Source[int64], error) {
		return either{odd, even}, nil
	})
	got, err := measure.Crash(t.Context(), s, nowhere("mysql"), odd, brief(1))
	if err != nil {
		t.Fatal(err)
	}
	if got.Twice.Samples[0] != 0 || got.Lost.Samples[0] != 0 || odd.given == 0 || even.given == 0 {
		t.Errorf("got %s of %d odd and %d even numbers, want nothing lost although they are not equally many", crashText(got), odd.given, even.given)
	}
}

// either asks the first counter, and where it does not answer the other.
type either struct{ first, second *counter }

func (e either) Next(ctx context.Context) (int64, error) {
	if n, err := e.first.Next(ctx); err == nil {
		return n, nil
	}
	return e.second.Next(ctx)
}

func (either) Fill(context.Context, []int64) error { return errors.ErrUnsupported }

// TestCrashKeysStayAway has a source that gives up for good.
func TestCrashKeysStayAway(t *testing.T) {
	defer goleak.VerifyNone(t)
	c, o := &counter{never: true}, brief(3)
	o.Timeout = 200 * time.Millisecond
	got, err := measure.Crash(t.Context(), c.strategy(strategy.Info{}), nowhere("mysql"), c, o)
	if err != nil {
		t.Fatal(err)
	}
	if got.Outage.OK() || !strings.Contains(got.Outage.Why, "no key for 200ms: nobody answers") || c.kills != 1 || len(got.Twice.Samples) != 1 {
		t.Errorf("got %s after %d kills, want one, and why there is no outage", crashText(got), c.kills)
	}
}

func TestCrashServerStaysAway(t *testing.T) {
	defer goleak.VerifyNone(t)
	c := &counter{}
	c.restart = func(last int64) int64 {
		c.broken = errors.New("its data is gone")
		return last
	}
	got, err := measure.Crash(t.Context(), c.strategy(strategy.Info{}), nowhere("mysql"), c, brief(3))
	if !errors.Is(err, measure.ErrServer) || !strings.Contains(err.Error(), "planted: kill 2: ") || !strings.Contains(err.Error(), "its data is gone") {
		t.Errorf("got error %v, want ErrServer of the second kill", err)
	}
	if len(got.Twice.Samples) != 1 || len(got.Down.Samples) != 1 {
		t.Errorf("got %s, want the figures of the first kill", crashText(got))
	}
}

// TestCrashInterrupted ends the context while the server is down.
func TestCrashInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, o := &counter{onKill: cancel}, brief(3)
	o.Down = time.Hour
	got, err := measure.Crash(ctx, c.strategy(strategy.Info{}), nowhere("mysql"), c, o)
	if !errors.Is(err, context.Canceled) || got.Down.OK() {
		t.Errorf("got %s, %v, want no figures and the context's error", crashText(got), err)
	}
	if c.starts != 1 {
		t.Errorf("the server was started %d times, want it to run again", c.starts)
	}
}

// TestCrashCloses wants errors of closing, but not those of processes that went through the kill.
func TestCrashCloses(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, always := range map[string]bool{"its connection died": false, "it never can": true} {
		c := &counter{}
		s := strategy.New(strategy.Info{Name: "planted"}, func(context.Context, strategy.Environment) (idgen.Source[int64], error) {
			return connected{c, c.kills, always}, nil
		})
		if _, err := measure.Crash(t.Context(), s, nowhere("mysql"), c, brief(1)); (err != nil) != always {
			t.Errorf("%s: got error %v, want one: %t", name, err, always)
		}
	}
}

// connected is a counter with a connection of its own, whose closing fails when it has died, or always.
type connected struct {
	*counter
	since  int // kills before
	always bool
}

func (c connected) Close() error {
	if c.always || c.kills > c.since {
		return errors.New("broken pipe")
	}
	return nil
}

func TestCrashNotHere(t *testing.T) {
	c := &counter{}
	away := strategy.New(strategy.Info{Name: "planted"}, func(context.Context, strategy.Environment) (idgen.Source[int64], error) {
		return nil, fmt.Errorf("%w: no second server", strategy.ErrUnavailable)
	})
	for name, test := range map[string]struct {
		strategy   strategy.Strategy
		kind, want string
	}{
		"sqlite":           {c.strategy(strategy.Info{}), "sqlite", "SQLite runs inside the application: there is no server to kill"},
		"no second server": {away, "mysql", "no second server"},
	} {
		got, err := measure.Crash(t.Context(), test.strategy, nowhere(test.kind), c, brief(1))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range []result.Figure{got.Twice, got.Lost, got.Outage, got.Down} {
			if f.OK() || !strings.Contains(f.Why, test.want) {
				t.Errorf("%s: got %+v, want why: %s", name, f, test.want)
			}
		}
	}
	if c.kills != 0 {
		t.Errorf("%d kills, want none", c.kills)
	}
}

func TestCrashRefuses(t *testing.T) {
	c := &counter{}
	for _, o := range []measure.CrashOptions{{Kills: -1}, {Goroutines: 1}, {Down: -1}, {Before: -1}, {After: -1}, {Timeout: -1}} {
		if _, err := measure.Crash(t.Context(), c.strategy(strategy.Info{}), nowhere("mysql"), c, o); !errors.Is(err, measure.ErrOption) || c.given > 0 {
			t.Errorf("%+v: got error %v after %d keys, want ErrOption at once", o, err, c.given)
		}
	}
}
