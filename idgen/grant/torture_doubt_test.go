//go:build linux

package grant_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tickRange is the ticks [from, until).
type tickRange struct{ from, until int64 }

// tortureLoss is a loss that a keeper has told of, or that stands in the table.
type tortureLoss struct {
	number int64
	holder string
	tickRange
}

// tortureHold is a grant that a keeper has.
type tortureHold struct {
	process    int
	number     int64
	holder     string
	known      int64 // the store's tick before the last swap that succeeded
	until      int64 // of the row that it made
	superseded bool  // the keeper has another grant, and has not said yet whether this one was forgotten
}

// doubts is which ids may exist twice. The zero value knows none. It is guarded by the torture's mu.
type doubts struct {
	told   map[int64][]tickRange // by number: what keepers have told of
	untold map[int64][]tickRange // what no keeper is left to tell of
}

func (d *doubts) add(to *map[int64][]tickRange, number int64, ticks tickRange) {
	if *to == nil {
		*to = map[int64][]tickRange{}
	}
	if ticks.from < ticks.until {
		(*to)[number] = append((*to)[number], ticks)
	}
}

// merge sorts the ranges and joins those that meet, for has.
func (d *doubts) merge() {
	for _, ranges := range []map[int64][]tickRange{d.told, d.untold} {
		for number, list := range ranges {
			slices.SortFunc(list, func(a, b tickRange) int { return cmp.Compare(a.from, b.from) })
			var merged []tickRange
			for _, next := range list {
				if n := len(merged); n > 0 && next.from <= merged[n-1].until {
					merged[n-1].until = max(merged[n-1].until, next.until)
				} else {
					merged = append(merged, next)
				}
			}
			ranges[number] = merged
		}
	}
}

// has reports whether a tick of a number is in one of the ranges, which are merged.
func has(ranges map[int64][]tickRange, number, tick int64) bool {
	list := ranges[number]
	i, found := slices.BinarySearchFunc(list, tick, func(r tickRange, tick int64) int { return cmp.Compare(r.from, tick) })
	return found || i > 0 && tick < list[i-1].until
}

// length returns how long the ranges are together.
func length(ranges map[int64][]tickRange) (sum time.Duration) {
	for _, list := range ranges {
		for _, r := range list {
			sum += time.Duration(r.until-r.from) * time.Millisecond
		}
	}
	return sum
}

// now returns the tick of the machine's clock, and with it the store's.
func (r *torture) now() int64 {
	layout := tortureLayout(r.bits)
	return int64(time.Now().Add(time.Duration(r.clock.base.Load())).Sub(layout.Epoch()) / layout.Unit())
}

// observe takes note of what a process says of a keeper. The caller holds mu.
func (r *torture) observe(c *tortureChild, e tortureEvent) {
	hold := r.holds[e.Keeper]
	switch e.Kind {
	case eventGranted:
		if n := len(hold); n > 0 && hold[n-1].holder == e.Holder {
			hold[n-1].known, hold[n-1].until = e.Known, e.Until
			return
		} else if n > 0 {
			hold[n-1].superseded = true
		}
		r.holds[e.Keeper] = append(hold, &tortureHold{process: c.number, number: e.Number, holder: e.Holder, known: e.Known, until: e.Until})
	case eventCloned:
		// Until one of the two is told that it has lost the number, both make ids.
		r.clones++
		for _, h := range hold {
			if h.holder == e.Holder {
				twin := *h
				twin.known = e.Known
				r.holds[e.Keeper+tortureTwin] = append(r.holds[e.Keeper+tortureTwin], &twin)
				r.pairs = append(r.pairs, &torturePair{process: c.number, number: e.Number, holder: e.Holder, ticks: tickRange{e.Known, h.until}})
			}
		}
	case eventLost:
		r.losses++
		loss := tortureLoss{e.Number, e.Holder, tickRange{e.From, e.Until}}
		r.reported[loss] = true
		r.doubts.add(&r.doubts.told, e.Number, loss.tickRange)
		r.holds[e.Keeper] = slices.DeleteFunc(hold, func(h *tortureHold) bool { return h.holder == e.Holder })
		r.unpair(c.number, e.Holder)
	case eventTold:
		// Of a grant before the present one the keeper had nothing to say.
		r.holds[e.Keeper] = slices.DeleteFunc(hold, func(h *tortureHold) bool {
			if h.superseded {
				r.cutOff(c.number, h.holder)
			}
			return h.superseded
		})
	case eventClosed:
		r.close(e.Keeper)
		r.closePairs(c.number)
	}
}

// torturePair is two keepers of a process with one grant, none of which has lost it yet.
type torturePair struct {
	process int
	number  int64
	holder  string
	ticks   tickRange // that both may have
}

// unpair is of two keepers of which one has lost the number. The caller holds mu.
func (r *torture) unpair(process int, holder string) {
	r.pairs = slices.DeleteFunc(r.pairs, func(p *torturePair) bool { return p.process == process && p.holder == holder })
}

// cutOff is of two keepers with one grant of which none was told that it has lost the number before the grant had ended: neither notices, as doc.go
// says. The caller holds mu.
func (r *torture) cutOff(process int, holder string) {
	for _, p := range r.pairs {
		if p.process == process && p.holder == holder {
			r.doubts.add(&r.doubts.untold, p.number, tickRange{p.ticks.from, min(p.ticks.until, r.now()+tortureLead)})
			r.unheard++
		}
	}
	r.unpair(process, holder)
}

// close is of a keeper that has ended: what the store has forgotten of its grants without the keeper knowing it is in doubt until now. The
// caller holds mu.
func (r *torture) close(keeper string) {
	until := r.now() + tortureLead
	for _, h := range r.holds[keeper] {
		for _, f := range r.forgotten {
			if h.known <= f.until {
				r.doubts.add(&r.doubts.untold, h.number, tickRange{f.from, min(until, h.until)})
				r.unheard++
				break
			}
		}
	}
	delete(r.holds, keeper)
}

// closePairs is of keepers that have ended: of what two of them have made nobody is told. The caller holds mu.
func (r *torture) closePairs(process int) {
	r.pairs = slices.DeleteFunc(r.pairs, func(p *torturePair) bool {
		if p.process != process {
			return false
		}
		for _, holds := range r.holds {
			for _, h := range holds {
				if h.holder == p.holder {
					return false // one of the two goes on
				}
			}
		}
		r.doubts.add(&r.doubts.untold, p.number, tickRange{p.ticks.from, min(p.ticks.until, r.now()+tortureLead)})
		r.unheard++
		return true
	})
}

// silence is of a process that has ended.
func (r *torture) silence(c *tortureChild) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for keeper, holds := range r.holds {
		if len(holds) > 0 && holds[0].process == c.number {
			r.close(keeper)
		}
	}
	r.closePairs(c.number)
}

// tortureVerdict is how many ids came twice.
type tortureVerdict struct {
	twins        int      // by keepers with one memory; of those in doubt
	told, untold int      // in ranges that were said to be in doubt, and in those of which nobody was left to say it
	wrong        int      // the others
	examples     []string // of these, one for two keepers
}

// judge looks at all ids that came twice. The caller holds mu, and has merged the doubts.
func (r *torture) judge() (v tortureVerdict) {
	seen := map[string]bool{}
	wrong := func(d tortureDuplicate, why string) {
		v.wrong++
		if pair := d.First + " " + d.Second; !seen[pair] {
			seen[pair] = true
			v.examples = append(v.examples, fmt.Sprintf("%s: %s; in doubt are from there the number's ticks %s", why, d.Text, r.near(d.Number, d.Tick)))
		}
	}
	for _, d := range r.duplicates {
		wrongs := v.wrong
		switch {
		case r.apart(d):
			wrong(d, "made by a process that had ended before the table was restored, and by one that started after that")
		case has(r.doubts.told, d.Number, d.Tick):
			v.told++
		case has(r.doubts.untold, d.Number, d.Tick):
			v.untold++
		default:
			wrong(d, "twice outside of doubt")
		}
		if v.wrong == wrongs && processOf(d.First) == processOf(d.Second) {
			v.twins++
		}
	}
	return v
}

// near lists the ranges in doubt next to a tick, and when the store forgot, counted from the tick.
func (r *torture) near(number, tick int64) string {
	var parts []string
	for kind, ranges := range map[string]map[int64][]tickRange{"told": r.doubts.told, "untold": r.doubts.untold} {
		for _, t := range ranges[number] {
			if t.until > tick-20_000 && t.from < tick+20_000 {
				parts = append(parts, fmt.Sprintf("%s %+d to %+d", kind, t.from-tick, t.until-tick))
			}
		}
	}
	for _, f := range r.forgotten {
		if f.until > tick-20_000 && f.from < tick+20_000 {
			parts = append(parts, fmt.Sprintf("forgotten %+d to %+d", f.from-tick, f.until-tick))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// apart reports whether a restore lies between the processes of an id for which all had ended.
func (r *torture) apart(d tortureDuplicate) bool {
	first, second := processOf(d.First), processOf(d.Second)
	for _, last := range r.ended {
		if (first <= last) != (second <= last) {
			return true
		}
	}
	return false
}

// processOf returns the number of the process in a label.
func processOf(label string) int {
	text, _, _ := strings.Cut(label, ".")
	n, _ := strconv.Atoi(text)
	return n
}
