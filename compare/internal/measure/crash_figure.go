package measure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// crashed is what one kill did.
type crashed struct {
	twice    int
	evidence string // of one
	lost     uint64
	noLost   string // why there is none
	blocks   bool   // the rest of blocks counts as lost
	outage   time.Duration
	calm     time.Duration // the longest gap before the kill
	down     time.Duration
	stuck    string // why there is no outage
}

// reckon says what the kill did, by what all drawers have received; the old ones are those that went through it.
func (k *kill) reckon(old []*drawer) crashed {
	info := k.strategy.Info()
	seen := crashed{down: k.at.up - k.at.killed, blocks: !info.RoundTrip && old[0].table == nil}
	seen.twice, seen.evidence = k.twice()
	if info.Random > 0 || info.Clock || info.Unit > 0 {
		seen.noLost = "its keys do not count"
	} else {
		seen.lost, seen.noLost = k.lost()
	}
	for _, d := range old {
		calm, outage := gaps(d.got, k.at)
		seen.calm, seen.outage = max(seen.calm, calm), max(seen.outage, outage)
	}
	return seen
}

// twice counts the receipts after the kill of keys that had been received before.
func (k *kill) twice() (n int, evidence string) {
	for _, all := range k.received() {
		slices.SortFunc(all.drawn, func(a, b drawn) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
		for i := 1; i < len(all.drawn); i++ {
			first, second := all.drawn[i-1], all.drawn[i]
			if first.key != second.key || second.at < k.at.killed {
				continue
			}
			if n++; n == 1 {
				evidence = fmt.Sprintf("such as the key %s, received %s the kill and again %s it", all.keys.Text(first.key), k.when(first.at), k.when(second.at))
			}
		}
	}
	return n, evidence
}

// when tells a moment by its distance from the kill.
func (k *kill) when(at time.Duration) string {
	if at < k.at.killed {
		return fmt.Sprintf("%.1f ms before", milliseconds(k.at.killed-at))
	}
	return fmt.Sprintf("%.1f ms after", milliseconds(at-k.at.killed))
}

// scope has the keys that are to be different from each other.
type scope struct {
	keys  strategy.Keys
	drawn []drawn
}

// received has all that was received, by scopes.
func (k *kill) received() []scope {
	scopes := make([]scope, k.Goroutines)
	scopes[0].drawn = slices.Clip(k.first) // what is made of it is sorted
	for _, d := range k.drawers {
		scopes[d.scope].keys = d.keys
		scopes[d.scope].drawn = append(scopes[d.scope].drawn, d.got...)
	}
	return slices.DeleteFunc(scopes, func(s scope) bool { return len(s.drawn) == 0 })
}

// lost counts the numbers that nobody has received.
func (k *kill) lost() (n uint64, why string) {
	for _, all := range k.received() {
		numbers := make([]int64, len(all.drawn))
		for i, d := range all.drawn {
			var ok bool
			if numbers[i], ok = all.keys.Number(d.key); !ok {
				return 0, "its keys are no numbers"
			}
		}
		n += holes(numbers)
	}
	return n, ""
}

// holes counts the numbers that are missing between the least and the greatest, for odd and even ones apart, by the step in which
// they count. It sorts the numbers.
func holes(numbers []int64) uint64 {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	var step uint64
	for i := 1; i < len(numbers); i++ {
		step = divisor(step, uint64(numbers[i])-uint64(numbers[i-1]))
	}
	if step == 0 {
		return 0 // one number
	}
	var missing uint64
	for parity := range uint64(2) {
		var before uint64 // steps from the least number
		found := false
		for _, number := range numbers {
			steps := (uint64(number) - uint64(numbers[0])) / step
			if steps%2 != parity {
				continue
			}
			if found {
				missing += (steps-before)/2 - 1
			}
			before, found = steps, true
		}
	}
	return missing
}

// divisor is the greatest that both have; with 0, the other.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// gaps returns the longest time from a key to the next, of those that end before the kill and of those that end after it.
func gaps(got []drawn, m timestamps) (before, after time.Duration) {
	for i := 1; i < len(got); i++ {
		gap := got[i].at - got[i-1].at
		if got[i].at < m.killed {
			before = max(before, gap)
		} else {
			after = max(after, gap)
		}
	}
	return before, after
}

// add adds a kill to the figures; calm is the longest gap before this and all earlier kills.
func (c crashed) add(to *result.Crash, calm time.Duration) {
	to.Twice.Add(float64(c.twice))
	if to.Twice.Note == "" {
		to.Twice.Note = c.evidence
	}
	if c.noLost != "" {
		to.Lost = result.Missing(c.noLost)
	} else {
		to.Lost.Add(float64(c.lost))
		if c.blocks {
			to.Lost.Note = "with what the processes had left of their blocks when they were closed"
		}
	}
	to.Down.Add(milliseconds(c.down))
	if c.stuck != "" {
		to.Outage.Why = c.stuck
		return
	}
	to.Outage.Add(milliseconds(c.outage))
	to.Outage.Note = fmt.Sprintf("before the kills no goroutine waited longer than %.1f ms", milliseconds(calm))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
