package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// goroutines draws the keys of several goroutines from one source.
func (r *run) goroutines(ctx context.Context) ([]result.Check, error) {
	check := result.Check{Name: Goroutines, State: result.Passed}
	drawers := make([]drawer, r.o.Goroutines)
	for i := range drawers {
		drawers[i] = drawer{who: fmt.Sprintf("goroutine %d", i), keys: r.keys}
	}
	calls, cut, err := r.draw(ctx, drawers, r.share(r.limited(1), len(drawers)))
	if errors.Is(err, errors.ErrUnsupported) && len(calls) == 0 {
		r.byRow = true // checked when there are rows
		return nil, nil
	}
	if err == nil && cut == "" {
		var more []call
		more, err = r.large(ctx)
		calls = append(calls, more...)
	}
	r.drawn = calls
	check, err = r.unique(ctx, check, r.keys, calls, err)
	r.sound = check.State == result.Passed
	say(&check, fmt.Sprintf("%d goroutines, %s", len(drawers), kinds(calls)), cut)
	return []result.Check{check}, err
}

// processes draws the keys of several sources that know of each other only by what they have agreed upon, and, where more than a clock tells them
// what was before, of one that is closed and opened again.
func (r *run) processes(ctx context.Context) (checks []result.Check, err error) {
	check := result.Check{Name: Processes, State: result.Passed}
	if r.byRow {
		check.State, check.Detail = result.NotRun, "the database makes the key when a row is inserted, whichever process inserts it"
		return []result.Check{check}, nil
	}
	drawers := []drawer{{who: "process 0", keys: r.keys}}
	defer func() {
		for _, d := range drawers[1:] {
			if closing := d.keys.Close(); closing != nil && err == nil {
				checks[0], err = r.failed(ctx, checks[0], fmt.Errorf("close the keys of %s: %w", d.who, closing))
			}
		}
	}()
	for i := 1; i < r.o.Processes; i++ {
		keys, failed := r.open(ctx, r.at, i)
		if failed != nil {
			check, err = r.failed(ctx, check, fmt.Errorf("open the keys of process %d: %w", i, failed))
			return []result.Check{check}, err
		}
		drawers = append(drawers, drawer{who: fmt.Sprintf("process %d", i), keys: keys})
	}
	calls, cut, err := r.draw(ctx, drawers, r.share(r.limited(len(drawers)), len(drawers)))
	detail := fmt.Sprintf("%d processes", len(drawers))
	if err == nil && r.reopens() && len(drawers) > 1 {
		var more []call
		if more, err = r.again(ctx, &drawers); err == nil {
			detail += ", and one of them closed and opened again"
		}
		calls = append(calls, more...)
	}
	if r.sound { // equal keys of process 0 alone have been told
		calls = slices.Concat(earlier(r.drawn), calls)
		detail += ", beside the goroutines of process 0"
	}
	check, err = r.unique(ctx, check, r.keys, calls, err)
	say(&check, detail+", "+kinds(calls), cut)
	return []result.Check{check}, err
}

// reopens reports whether a process that is opened again can be told from the one before by something else than the clock.
func (r *run) reopens() bool { return !r.info.Clock || r.info.Granted && r.at.DB != nil }

// earlier are the calls of the goroutines, as those of their process.
func earlier(calls []call) []call {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].who = "process 0, " + calls[i].who + ","
	}
	return calls
}

// again closes the last of the drawers, opens it again, and lets it draw alone.
func (r *run) again(ctx context.Context, drawers *[]drawer) ([]call, error) {
	last := len(*drawers) - 1
	keys := (*drawers)[last].keys
	*drawers = (*drawers)[:last]
	if err := keys.Close(); err != nil {
		return nil, fmt.Errorf("close the keys of process %d: %w", last, err)
	}
	keys, err := r.open(ctx, r.at, last)
	if err != nil {
		return nil, fmt.Errorf("open the keys of process %d again: %w", last, err)
	}
	d := drawer{who: fmt.Sprintf("process %d, opened again,", last), keys: keys}
	*drawers = append(*drawers, d)
	calls, _, err := r.draw(ctx, []drawer{d}, r.share(r.limited(1), last+1))
	return calls, err
}

func (r *run) open(ctx context.Context, at strategy.Environment, process int) (strategy.Keys, error) {
	at.Process = process
	return r.s.Open(ctx, at)
}

// limited is how many keys are drawn: what so many processes can make in a second, where that is less than the options say.
func (r *run) limited(processes int) int {
	if most := r.info.Limit * float64(processes); most > 0 && most < float64(r.o.Keys) {
		return max(int(most), 1)
	}
	return r.o.Keys
}

// share divides keys among drawers, at least ten for each.
func (r *run) share(n, drawers int) int { return max((n+drawers-1)/drawers, 10) }

// place is where a key was drawn.
type place struct{ call, key int }

// equal finds the first key that is in calls twice.
func equal(keys strategy.Keys, calls []call) (evidence string, twice int) {
	seen := make(map[strategy.Key]place, count(calls))
	for i, c := range calls {
		for j, key := range c.keys {
			first, found := seen[key]
			if !found {
				seen[key] = place{i, j}
				continue
			}
			if twice++; twice == 1 {
				evidence = fmt.Sprintf("%s was given to %s and to %s", show(keys, key), calls[first.call].key(first.key), c.key(j))
			}
		}
	}
	if twice > 1 {
		evidence += fmt.Sprintf("; %d keys in all had been given before", twice)
	}
	return evidence, twice
}

// unique fails a check whose calls have equal keys or keys that are none, or ended with an error.
func (r *run) unique(ctx context.Context, check result.Check, keys strategy.Keys, calls []call, err error) (result.Check, error) {
	check.Keys = count(calls)
	var evidence []string
	if twice, n := equal(keys, calls); n > 0 {
		evidence = append(evidence, twice)
	}
	if none := blank(keys, calls); none != "" {
		evidence = append(evidence, none)
	}
	if err != nil {
		var fatal error
		if check, fatal = r.failed(ctx, check, err); fatal != nil && len(evidence) == 0 {
			return check, fatal
		}
		evidence, err = append(evidence, err.Error()), fatal
	}
	if len(evidence) > 0 {
		check.State, check.Evidence = result.Failed, strings.Join(evidence, "; ")
	}
	return check, err
}

// blank finds a key whose bytes are all zero, or that has none: a call has left it unset.
func blank(keys strategy.Keys, calls []call) string {
	for _, c := range calls {
		for j, key := range c.keys {
			if strings.Trim(string(key), "\x00") == "" {
				return fmt.Sprintf("an empty key, %s, was given to %s", show(keys, key), c.key(j))
			}
		}
	}
	return ""
}

// kinds counts the calls, and those during which another one began or ended.
func kinds(calls []call) string {
	fills, beside := 0, 0
	for _, c := range calls {
		if c.fill {
			fills++
		}
		if c.ended-c.began > 1 {
			beside++
		}
	}
	made := fmt.Sprintf("%d calls of Next", len(calls))
	if fills > 0 {
		made = fmt.Sprintf("%d calls of Next and %d of Fill", len(calls)-fills, fills)
	}
	return fmt.Sprintf("%s, %d of them while others were under way", made, beside)
}

// say puts what was seen before the detail there is.
func say(check *result.Check, parts ...string) {
	said := slices.DeleteFunc(slices.Concat(parts, []string{check.Detail}), func(part string) bool { return part == "" })
	check.Detail = strings.Join(said, "; ")
}
