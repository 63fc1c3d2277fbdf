package verify_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/compare/internal/verify"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// What a planted source does with a clock that stepped back.
type behaviour int

const (
	repeats behaviour = iota // begins the tick anew
	rides                    // stays in its last tick
	refuses
	waits
)

var errBack = errors.New("the clock is behind")

// ticker makes keys of a clock's milliseconds, the process, and a sequence that begins anew with each of them. floors has the last tick of each
// process where they outlive it, else nil.
type ticker struct {
	clock    idgen.Clock
	does     behaviour
	process  int64
	floors   map[int64]int64
	mu       *sync.Mutex // of the floors too
	tick     int64
	sequence int64
}

func (g *ticker) next(ctx context.Context) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		now := g.clock.Wall().UnixMilli()
		if g.floors != nil {
			g.tick = max(g.tick, g.floors[g.process])
		}
		if now < g.tick {
			switch g.does {
			case rides:
				now = g.tick
			case refuses:
				return 0, errBack
			case waits:
				select {
				case <-ctx.Done():
					return 0, ctx.Err()
				case <-time.After(100 * time.Microsecond):
				}
				continue
			}
		}
		if now != g.tick {
			g.tick, g.sequence = now, 0
			if g.floors != nil {
				g.floors[g.process] = now
			}
		}
		g.sequence++
		return now<<22 | g.process<<14 | g.sequence, nil
	}
}

// tickers is a strategy of tickers. Where they are lasting, a process that is opened again knows its last tick and begins after it.
func tickers(does behaviour, lasting bool) planted {
	floors, mu := map[string]map[int64]int64{}, new(sync.Mutex)
	return planted{info: strategy.Info{Name: "planted", Order: strategy.Unordered, Unit: time.Millisecond, Clock: true},
		open: func(at strategy.Environment) (*source, error) {
			g := &ticker{clock: at.Clock, does: does, process: int64(at.Process), mu: mu}
			if g.clock == nil {
				g.clock, g.does = idgen.ClockFunc(time.Now), rides
			}
			mu.Lock()
			defer mu.Unlock()
			if lasting {
				if floors[at.Prefix] == nil {
					floors[at.Prefix] = map[int64]int64{}
				}
				g.floors = floors[at.Prefix]
				g.floors[g.process]++ // so that its first tick is a new one
			}
			return &source{next: g.next}, nil
		}}
}

func TestClockStepsBack(t *testing.T) {
	tests := []struct {
		name     string
		does     behaviour
		state    string
		detail   []string
		evidence []string
	}{
		{"repeats its keys", repeats, result.Failed, []string{"by 2s: went on with "},
			[]string{" was given to the process before a step back by ", " and to the process after a step back by "}},
		{"rides through", rides, result.Passed, []string{"by 3ms: went on with ", "by 2s: went on with ", "by 1h0m0s: went on with "}, nil},
		{"refuses", refuses, result.Passed, []string{"by 2s: refused: the clock is behind", "by 1h0m0s: refused: the clock is behind"}, nil},
		{"waits", waits, result.Passed, []string{"by 3ms: went on with ", "by 2s: waited", "by 1h0m0s: waited"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			options := small
			options.Keys, options.Rows, options.CallTimeout = 400, 20, 200*time.Millisecond // a step of 3 ms is waited for, also on a busy machine
			c := check(t, tickers(test.does, false), options)[verify.ClockBack]
			if c.State != test.state || (c.Evidence != "") != (test.evidence != nil) {
				t.Errorf("%+v", c)
			}
			for _, part := range test.detail {
				if !strings.Contains(c.Detail, part) {
					t.Errorf("the detail %q has not %q", c.Detail, part)
				}
			}
			for _, part := range test.evidence {
				if !strings.Contains(c.Evidence, part) {
					t.Errorf("the evidence %q has not %q", c.Evidence, part)
				}
			}
		})
	}
}

// A restart with the clock behind is a weakness of schemes with numbers set by hand; it is told with its evidence, and fails nothing.
func TestRestartWithTheClockBehind(t *testing.T) {
	t.Parallel()
	small := verify.Options{Keys: 400, Rows: 20, CallTimeout: small.CallTimeout}
	c := check(t, tickers(rides, false), small)[verify.Restart]
	if c.State != result.Passed || !strings.HasPrefix(c.Detail, "weakness: a process that is started again with the same node number") ||
		!strings.Contains(c.Evidence, " was given to the first process by call ") ||
		!strings.Contains(c.Evidence, " and to the one started after the clock had stepped back by 2s by call ") {
		t.Errorf("%+v", c)
	}
	c = check(t, tickers(rides, true), small)[verify.Restart]
	if c.State != result.Passed || c.Evidence != "" || strings.Contains(c.Detail, "weakness") || !strings.Contains(c.Detail, "with the clock 2s behind: went on") {
		t.Errorf("of one that knows its last tick: %+v", c)
	}
	c = check(t, tickers(refuses, true), small)[verify.Restart]
	if c.State != result.Passed || c.Evidence != "" || !strings.Contains(c.Detail, "with the clock 2s behind: refused: the clock is behind") {
		t.Errorf("of one that refuses: %+v", c)
	}
	granted := tickers(rides, false)
	granted.info.Granted = true
	c = check(t, granted, small)[verify.Restart]
	if c.State != result.NotRun || !strings.Contains(c.Detail, "granted") || c.Evidence != "" {
		t.Errorf("of one whose number is granted: %+v", c)
	}
}

// A restart that gives equal keys although the clock went on is a fault.
func TestRestartThatForgets(t *testing.T) {
	s := planted{info: strategy.Info{Name: "planted", Unit: time.Millisecond, Clock: true}, open: func(at strategy.Environment) (*source, error) {
		return above(counter(), int64(at.Process+1)<<40), nil
	}}
	c := check(t, s, small)[verify.Restart]
	if c.State != result.Failed || !strings.Contains(c.Evidence, " was given to the first process by call 1 (Next) and to the one started when the clock had gone on by call 1 (Next)") {
		t.Errorf("%+v", c)
	}
}
