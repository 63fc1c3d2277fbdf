package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// steps are how far the clock steps back.
var steps = []time.Duration{3 * time.Millisecond, 2 * time.Second, time.Hour}

// visit is what a source did at the instants of one passage through a stretch of time.
type visit struct {
	keys    int
	refused int   // calls
	why     error // of the first of these
	cut     bool  // a call waited for longer than its limit
	longest time.Duration
}

func (v visit) String() string {
	switch {
	case v.cut && v.keys == 0:
		return "waited"
	case v.cut:
		return fmt.Sprintf("made %d keys, then waited", v.keys)
	case v.refused > 0 && v.keys == 0:
		return fmt.Sprintf("refused: %v", v.why)
	case v.refused > 0:
		return fmt.Sprintf("made %d keys, and refused %d calls: %v", v.keys, v.refused, v.why)
	}
	return fmt.Sprintf("went on with %d keys", v.keys)
}

// stepper draws keys by a clock that is moved.
type stepper struct {
	r     *run
	clock *clock
	keys  strategy.Keys
	who   string
	burst int // keys at each instant
	nth   int
	calls []call
	fatal error
}

// clock looks at what a source does when its wall clock steps back, and when it is started anew then.
func (r *run) clock(ctx context.Context) ([]result.Check, error) {
	back, restart := result.Check{Name: ClockBack, State: result.Passed}, result.Check{Name: Restart, State: result.Passed}
	if !r.info.Clock || r.byRow {
		back.State, back.Detail = result.NotRun, "the keys do not go by the clock of their process"
		restart.State, restart.Detail = back.State, back.Detail
		return []result.Check{back, restart}, nil
	}
	// The steps end at about the present, so that a source that was granted a stretch of time by its database is inside of it then.
	clock := newClock(time.Now().Add(-steps[len(steps)-1] - 2*steps[len(steps)-2]))
	at := r.at
	at.Prefix, at.Clock, at.Processes = r.prefix("c"), clock, 1
	keys, err := r.open(ctx, at, 0)
	if err != nil {
		back, err = r.failed(ctx, back, fmt.Errorf("open keys with a clock that is moved: %w", err))
		restart.State, restart.Detail = result.NotRun, "see "+ClockBack
		return []result.Check{back, restart}, err
	}
	s := &stepper{r: r, clock: clock, keys: keys, burst: r.burst()}
	back, err = s.back(ctx, back)
	closing := s.keys.Close()
	if err != nil {
		return []result.Check{back}, err
	}
	if closing != nil {
		restart, err = r.failed(ctx, restart, fmt.Errorf("close the keys: %w", closing))
		return []result.Check{back, restart}, err
	}
	if r.info.Granted {
		restart.State = result.NotRun
		restart.Detail = "node numbers are granted for stretches of the database's time, which is not moved; by a clock that is, the number is fixed, " +
			"and a restart would say nothing about grants"
		if r.reopens() {
			restart.Detail += "; under " + Processes + " one was started again by the machine's clock"
		}
		return []result.Check{back, restart}, nil
	}
	restart, err = s.restart(ctx, at, restart)
	return []result.Check{back, restart}, err
}

// burst is how many keys are drawn at each instant: of a small tick more than half, so that two bursts meet wherever in it they start, and of a
// tick of 4,096 more than the quarter in which the sequences of this module start.
func (r *run) burst() int {
	most := 1100
	if r.info.RoundTrip {
		most = 4
	}
	if tick := r.info.Limit * r.info.Unit.Seconds(); tick > 0 {
		return min(max(int(tick/2)+1, 1), most)
	}
	return min(64, most)
}

// back draws keys before and after each step.
func (s *stepper) back(ctx context.Context, check result.Check) (result.Check, error) {
	var said []string
	for _, by := range steps {
		s.clock.forward(time.Second) // into a stretch where no keys were made yet
		from := s.clock.Wall()
		s.who = fmt.Sprintf("the process before a step back by %v", by)
		before := s.pass(ctx, from, by, false)
		s.clock.step(from)
		s.who = fmt.Sprintf("the process after a step back by %v", by)
		after := s.pass(ctx, from, by, true)
		s.clock.until(from.Add(by + s.r.info.Unit + time.Second))
		s.who = fmt.Sprintf("the process when the clock had caught up with a step back by %v", by)
		caught := s.pass(ctx, s.clock.Wall(), 0, false)
		line := fmt.Sprintf("by %v: %v", by, after)
		if before.refused > 0 || before.cut {
			line = fmt.Sprintf("before %v: %v; ", by, before) + line
		}
		if after.longest > 2*before.longest+time.Millisecond {
			line += fmt.Sprintf(", its longest call took %.1f ms", after.longest.Seconds()*1e3)
		}
		if caught.refused > 0 || caught.cut {
			line += fmt.Sprintf(", and when the clock had caught up: %v", caught)
		}
		said = append(said, line)
		if s.fatal != nil {
			break
		}
	}
	check, err := s.r.unique(ctx, check, s.r.keys, s.calls, s.fatal)
	if err == nil && check.State == result.Passed && check.Keys == 0 {
		check.State = result.NotRun
		said = append([]string{"no keys were made by a clock that is moved"}, said...)
	}
	say(&check, said...)
	return check, err
}

// restart closes nothing: the process of before has ended. It opens the keys of the same process anew, once when the clock went on, and once when it
// is back where it was.
func (s *stepper) restart(ctx context.Context, at strategy.Environment, check result.Check) (result.Check, error) {
	s.calls, s.nth = nil, 0
	const by = 2 * time.Second
	begin := s.clock.Wall().Add(time.Second + 2*s.r.info.Unit)
	s.clock.until(begin)
	first, err := s.life(ctx, at, "the first process", begin, by, false)
	if err != nil {
		return s.r.failed(ctx, check, err)
	}
	s.clock.forward(time.Second + 2*s.r.info.Unit)
	second, err := s.life(ctx, at, "the one started when the clock had gone on", s.clock.Wall(), 0, false)
	if err != nil {
		return s.r.failed(ctx, check, err)
	}
	check.Detail = fmt.Sprintf("started: %v; started again by a clock that had gone on: %v", first, second)
	if check, err = s.r.unique(ctx, check, s.r.keys, s.calls, nil); check.State == result.Failed || err != nil {
		return check, err
	}
	s.clock.step(begin)
	third, err := s.life(ctx, at, fmt.Sprintf("the one started after the clock had stepped back by %v", by), begin, by, true)
	check.Keys = count(s.calls)
	switch {
	case err != nil && s.r.fatal(ctx, err) != nil:
		return s.r.failed(ctx, check, err)
	case err != nil:
		check.Detail += fmt.Sprintf("; started again with the clock %v behind: refused: %v", by, err)
	default:
		check.Detail += fmt.Sprintf("; started again with the clock %v behind: %v", by, third)
	}
	if twice, n := equal(s.r.keys, s.calls); n > 0 {
		check.Evidence = twice
		check.Detail = fmt.Sprintf("weakness: a process that is started again with the same node number while its clock is %v behind makes %d keys again; ",
			by, n) + check.Detail
	}
	return check, nil
}

// life opens the keys of the process, draws through a stretch of time, and closes them.
func (s *stepper) life(ctx context.Context, at strategy.Environment, who string, from time.Time, length time.Duration, behind bool) (visit, error) {
	keys, err := s.r.open(ctx, at, 0)
	if err != nil {
		return visit{}, fmt.Errorf("open %s: %w", who, err)
	}
	s.keys, s.who, s.nth, s.fatal = keys, who, 0, nil
	seen := s.pass(ctx, from, length, behind)
	return seen, errors.Join(s.fatal, keys.Close())
}

// pass draws keys at instants of a stretch of time from where the clock is, ticks beside each other at first and then far apart. After a call that
// waits for too long it goes to the end of the stretch. A clock that is behind does not get to its end.
func (s *stepper) pass(ctx context.Context, from time.Time, length time.Duration, behind bool) (seen visit) {
	for _, instant := range instants(s.r.info.Unit, length) {
		if behind && instant == length {
			break // where the clock has caught up
		}
		s.clock.until(from.Add(instant))
		if s.fatal != nil || seen.cut {
			continue
		}
		s.draw(ctx, &seen)
	}
	return seen
}

// instants of a stretch of time, from its beginning.
func instants(unit, length time.Duration) []time.Duration {
	at := []time.Duration{0}
	for i := time.Duration(1); i <= 8; i++ {
		at = append(at, min(i*unit, length), i*length/8)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// draw draws the keys of one instant: one, and the rest of the burst at once where the source can.
func (s *stepper) draw(ctx context.Context, seen *visit) {
	fills := true
	for left := s.burst; left > 0; {
		call := call{who: s.who, nth: s.nth + 1, fill: fills && left < s.burst}
		bounded, cancel := context.WithTimeout(ctx, s.r.o.CallTimeout)
		started := time.Now()
		err := call.make(bounded, s.keys, left)
		took := time.Since(started)
		late := bounded.Err() != nil
		cancel()
		switch {
		case call.fill && errors.Is(err, errors.ErrUnsupported):
			fills = false
			continue
		case ctx.Err() != nil:
			s.fatal = context.Cause(ctx)
			return
		case err != nil && late:
			seen.cut = true
			return
		}
		seen.longest = max(seen.longest, took)
		if err != nil {
			if seen.refused++; seen.refused == 1 {
				seen.why, s.fatal = err, s.r.fatal(ctx, err)
			}
			return
		}
		if len(call.keys) == 0 {
			s.fatal = fmt.Errorf("%w: Fill of %d gave none", errCount, left)
			return
		}
		s.nth++
		s.calls = append(s.calls, call)
		seen.keys += len(call.keys)
		left -= len(call.keys)
	}
}
