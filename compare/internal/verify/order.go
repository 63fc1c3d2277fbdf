package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

const (
	// spots is how many times Ticks keys are drawn at, each time so many.
	spots, perSpot = 20, 16
	// longest is the longest tick that is waited for, where the strategy does not go by the place's clock.
	longest = 5 * time.Millisecond
)

// inversions are keys that are less than one that they should follow, or equal to it.
type inversions struct {
	pairs, n int
	first    string // evidence
}

func (v *inversions) add(ordered bool, evidence func() string) {
	if v.pairs++; ordered {
		return
	}
	if v.n++; v.n == 1 {
		v.first = evidence()
	}
}

func (v inversions) String() string { return fmt.Sprintf("%d inversions among %d pairs", v.n, v.pairs) }

// order checks what the strategy promises of the order of its keys, and that the database sorts rows in the order of the keys' bytes.
func (r *run) order(ctx context.Context, inserted, sorted []row) (result.Check, error) {
	calls := r.drawn
	if r.byRow {
		calls = nil
		for i, row := range inserted {
			calls = append(calls, call{who: fmt.Sprintf("row %d", i+1), nth: 1, began: int64(2 * i), ended: int64(2*i + 1), keys: []strategy.Key{row.key}})
		}
	}
	check := result.Check{Name: Order, State: result.Passed, Keys: count(calls)}
	seen := r.sequence(calls)
	detail := []string{}
	var evidence []string
	switch r.info.Order {
	case strategy.Increasing:
		detail = append(detail, "promises increasing keys: "+seen.String())
		if seen.pairs == 0 {
			check.State, detail = result.NotRun, []string{"there were no two keys to compare"}
		}
		if seen.n > 0 {
			evidence = append(evidence, seen.first)
		}
	case strategy.Ticks:
		said, inversion, err := r.ticks(ctx, &check)
		if err != nil {
			return r.failed(ctx, check, err)
		}
		detail = append(detail, said, "of all others nothing is promised: "+followed(calls).String())
		if inversion != "" {
			evidence = append(evidence, inversion)
		}
	default:
		check.State = result.NotRun
		detail = append(detail, "promises no order: "+followed(calls).String())
	}
	said, stored := r.stored(sorted)
	detail = append(detail, said)
	if stored != "" {
		evidence = append(evidence, stored)
	}
	if negative := r.negative(append(calls[:len(calls):len(calls)], asCall(inserted))); negative != "" {
		evidence = append(evidence, negative)
	}
	say(&check, detail...)
	if len(evidence) > 0 {
		check.State, check.Evidence = result.Failed, strings.Join(evidence, "; ")
	}
	return check, nil
}

// sequence compares the keys of each call with the greatest one of all calls that ended before it began, and with each other. The calls are in
// the order in which they began.
func (r *run) sequence(calls []call) (seen inversions) {
	ended := make([]int, len(calls)) // calls in the order in which they ended
	for i := range ended {
		ended[i] = i
	}
	slices.SortFunc(ended, func(a, b int) int { return int(calls[a].ended - calls[b].ended) })
	var greatest strategy.Key
	var by place
	known := false
	for i, c := range calls {
		for ; len(ended) > 0 && calls[ended[0]].ended < c.began; ended = ended[1:] {
			for j, key := range calls[ended[0]].keys {
				if !known || key > greatest {
					known, greatest, by = true, key, place{ended[0], j}
				}
			}
		}
		for j, key := range c.keys {
			before, at, ok := greatest, by, known
			if j > 0 {
				before, at, ok = c.keys[j-1], place{i, j - 1}, true
			}
			if ok {
				seen.add(key > before, func() string {
					return fmt.Sprintf("%s, given to %s, is not greater than %s, given before it to %s",
						show(r.keys, key), c.key(j), show(r.keys, before), calls[at.call].key(at.key))
				})
			}
		}
	}
	return seen
}

// followed compares each key with the one before it of the same goroutine, without a promise that it is greater.
func followed(calls []call) (seen inversions) {
	last := map[string]strategy.Key{}
	for _, c := range calls {
		for _, key := range c.keys {
			if before, ok := last[c.who]; ok {
				seen.add(key > before, func() string { return "" })
			}
			last[c.who] = key
		}
	}
	return seen
}

// ticks draws keys at times more than two ticks apart, and compares each with the greatest of all times before.
func (r *run) ticks(ctx context.Context, check *result.Check) (detail, inversion string, err error) {
	keys, step := r.keys, 2*r.info.Unit+r.info.Unit/2
	var pass func(int) error
	switch {
	case r.info.Clock:
		clock := newClock(time.Now())
		at := r.at
		at.Prefix, at.Clock, at.Processes = r.prefix("o"), clock, 1
		if keys, err = r.open(ctx, at, 0); err != nil {
			return "", "", fmt.Errorf("open keys with a clock that is moved on: %w", err)
		}
		defer func() {
			if closing := keys.Close(); closing != nil {
				err = errors.Join(err, fmt.Errorf("close the keys with a clock that is moved on: %w", closing))
			}
		}()
		pass = func(int) error { clock.forward(step); return nil }
	case r.byRow || r.info.Unit <= 0 || r.info.Unit > longest:
		check.State = result.NotRun
		return fmt.Sprintf("promises the order of ticks of %v alone, which are too long to wait for, and goes by no clock that could be moved on",
			r.info.Unit), "", nil
	default:
		pass = func(int) error { return dialect.Sleep(ctx, step) }
	}
	seen, before, by := inversions{}, strategy.Key(""), 0
	for i := range spots {
		drawn, err := r.single(ctx, keys, perSpot)
		if err != nil {
			return "", "", err
		}
		check.Keys += len(drawn)
		for _, key := range drawn {
			if i == 0 {
				break
			}
			seen.add(key > before, func() string {
				return fmt.Sprintf("%s is not greater than %s, though drawn %v later", show(keys, key), show(keys, before), time.Duration(i-by)*step)
			})
		}
		if greatest := slices.Max(drawn); i == 0 || greatest > before {
			before, by = greatest, i
		}
		if err := pass(i); err != nil {
			return "", "", err
		}
	}
	return fmt.Sprintf("promises the order of ticks of %v: at %d times %v apart, %v", r.info.Unit, spots, step, seen), seen.first, nil
}

// single draws n keys by single calls.
func (r *run) single(ctx context.Context, keys strategy.Keys, n int) ([]strategy.Key, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.Bound, errLate)
	defer cancel()
	drawn := make([]strategy.Key, n)
	for i := range drawn {
		var err error
		if drawn[i], err = keys.Next(ctx); err != nil {
			return nil, err
		}
	}
	return drawn, nil
}

// stored compares the rows that the database gave in its order.
func (r *run) stored(sorted []row) (detail, inversion string) {
	if len(sorted) < 2 {
		return "the database's order was not seen", ""
	}
	seen := inversions{}
	for i := 1; i < len(sorted); i++ {
		seen.add(sorted[i-1].key < sorted[i].key, func() string {
			return fmt.Sprintf("the database has %s before %s", show(r.keys, sorted[i-1].key), show(r.keys, sorted[i].key))
		})
	}
	return fmt.Sprintf("the database's order of %d rows: %v", len(sorted), seen), seen.first
}

// negative finds a key whose number is negative: it is sorted before all others.
func (r *run) negative(calls []call) string {
	for _, c := range calls {
		for j, key := range c.keys {
			if n, ok := r.keys.Number(key); ok && n < 0 {
				return fmt.Sprintf("the negative key %s was given to %s", show(r.keys, key), c.key(j))
			}
		}
	}
	return ""
}

// prefix is that of checks that have keys of their own: what is made under it is dropped with what is made under the place's.
func (r *run) prefix(use string) string {
	if len(r.at.Prefix)+len(use) > 40 {
		return r.at.Prefix
	}
	return r.at.Prefix + use
}
