package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// ranking is what the strategies of a database are compared by.
type ranking struct {
	view
	kills bool // some database was killed while keys were drawn
}

func newRanking(d result.Database) *ranking {
	c := &ranking{view: look(d)}
	c.kills = slices.ContainsFunc(c.measured, func(s result.Strategy) bool { return s.Crash.Twice.OK() })
	return c
}

// candidate is a strategy that may be taken, with the figures that speak for it.
type candidate struct {
	result.Strategy
	verdict verdict
	by      string // the strategy that the figures of inserting are from, where it is another one
	alone   bool   // the figures are of one process, where those of many would be needed
	rows    int    // that its table grew to
	rate    result.Figure
	last    result.Figure
	bytes   result.Figure
}

// enter judges a strategy. What was not checked, and what gave keys twice, cannot fit.
func (c *ranking) enter(w criterion, s result.Strategy) candidate {
	e := candidate{Strategy: s, rows: s.Growth.Rows, rate: s.Growth.Overall(), last: last(s.Growth), bytes: bytesPerRow(s.Storage)}
	if w.fleet {
		c.crowd(&e)
	}
	passed := slices.ContainsFunc(s.Verify.Checks, func(c result.Check) bool { return c.State == result.Passed })
	switch {
	case !passed:
		e.verdict = unknown("its keys were not checked")
	case most(s.Crash.Twice) > 0:
		e.verdict = unfit("%s", doubledText(s.Crash.Twice))
	default:
		e.verdict = w.judge(c, s)
	}
	return e
}

// crowd sets the figures for rows that come from many processes. Keys that are far from each other fall apart by themselves, whoever makes
// them. Of others one process says nothing of many: their figures are those of their fleet, and where others have a fleet and they have none,
// theirs are missing. Keys that carry a bucket are not those of a fleet of keys without.
func (c *ranking) crowd(e *candidate) {
	if f, ok := c.fleet(e.Name); ok && len(e.Shards.Hot) == 0 {
		e.by, e.rows, e.rate, e.last, e.bytes = f.Name, f.Growth.Rows, f.Growth.Overall(), last(f.Growth), bytesPerRow(f.Storage)
		return
	}
	if e.Key.Gap.OK() && e.Key.Gap.Median() >= secret {
		return
	}
	if i := slices.IndexFunc(c.measured, isFleet); i >= 0 {
		m := result.Missing("no rows of many processes, as " + line(c.measured[i].Name) + " has them")
		e.rows, e.rate, e.last, e.bytes = 0, m, m, m
		return
	}
	e.alone = true
}

// decide fills a line of the decision table. Of the strategies that fit the criterion,
//
//  1. those whose tables grew about as far as the furthest stay, as who was given up for slowness was measured while it was still fast;
//  2. of these, those whose rows a second cannot be told apart from the highest median;
//  3. of these, those whose bytes a row cannot be told apart from the lowest median;
//  4. of these, the first of the document of those whose processes have the least to agree upon.
//
// A strategy without a rate, or without bytes, is behind those that have them. See [apart] for what can be told apart. The time that making a
// key takes does not decide: it is within the rate, and what is too little to be seen there does not matter.
func (c *ranking) decide(w criterion) Advice {
	var fit, others []candidate
	for _, s := range c.measured {
		switch e := c.enter(w, s); {
		case isFleet(s):
		case e.verdict.fits:
			fit = append(fit, e)
		default:
			others = append(others, e)
		}
	}
	if len(fit) == 0 {
		a := Advice{Want: w.want}
		a.Because, a.open = noneFits(others)
		return a
	}
	furthest := slices.MaxFunc(fit, func(a, b candidate) int { return cmp.Compare(a.rows, b.rows) })
	grown := slices.DeleteFunc(slices.Clone(fit), func(e candidate) bool { return e.short(furthest) })
	short := slices.DeleteFunc(fit, func(e candidate) bool { return !e.short(furthest) })
	fastest, slow := front(grown, func(e candidate) result.Figure { return e.rate }, true)
	smallest, large := front(fastest, func(e candidate) result.Figure { return e.bytes }, false)
	taken := slices.MinFunc(smallest, func(a, b candidate) int { return cmp.Compare(effort(a.Coordination), effort(b.Coordination)) })
	return Advice{Want: w.want, Take: taken.Name, Because: c.reasons(taken, smallest), Not: against(w, taken, slices.Concat(large, slow, short), others)}
}

// short tells that a table grew to less than nine tenths of another.
func (e candidate) short(of candidate) bool { return float64(e.rows) < 0.9*float64(of.rows) }

// front keeps what cannot be told apart from the best by a figure, and returns the rest from the best to the worst; all stay where none has it.
func front(all []candidate, figure func(candidate) result.Figure, highest bool) (kept, rest []candidate) {
	sorted := slices.SortedStableFunc(slices.Values(all), func(a, b candidate) int {
		fa, fb := figure(a), figure(b)
		switch {
		case fa.OK() && fb.OK() && highest:
			return cmp.Compare(fb.Median(), fa.Median())
		case fa.OK() && fb.OK():
			return cmp.Compare(fa.Median(), fb.Median())
		case fa.OK():
			return -1
		case fb.OK():
			return 1
		}
		return 0
	})
	if len(sorted) == 0 || !figure(sorted[0]).OK() {
		return all, nil
	}
	worse := func(e candidate) bool { return apart(figure(e), figure(sorted[0])) != result.Same }
	kept = slices.DeleteFunc(slices.Clone(all), worse)
	rest = slices.DeleteFunc(slices.Clone(sorted), func(e candidate) bool { return !worse(e) })
	return kept, rest
}

// notable is how far figures have to be from each other before a choice goes by them: closer ones differ by less than from machine to machine.
const notable = 0.03

// apart compares figures for a choice. They are the same where [result.Differ] says so and where the medians are within [notable]. Where there
// are too few samples for a test, they differ if all samples of one are beyond all of the other and the medians are a tenth from each other.
func apart(a, b result.Figure) result.Verdict {
	d := result.Differ(a, b)
	far := func(bound float64) bool { return d.Ratio > 1+bound || d.Ratio < 1/(1+bound) }
	if d.Verdict != result.Unknown {
		if !far(notable) {
			return result.Same
		}
		return d.Verdict
	}
	if !a.OK() || !b.OK() {
		return result.Unknown
	}
	lowA, highA := a.Range()
	lowB, highB := b.Range()
	switch {
	case highA < lowB && far(0.1):
		return result.Less
	case lowA > highB && far(0.1):
		return result.Greater
	}
	return result.Same
}

// noneFits is why nothing is taken, what was not measured first. Open tells that it is for nothing else.
func noneFits(others []candidate) (because []string, open bool) {
	if len(others) == 0 {
		return []string{"no strategy was measured"}, true
	}
	var missing, unfit notes
	for _, e := range others {
		if e.verdict.unknown {
			missing.add(e.verdict.reason, "", e.Name)
		} else {
			unfit.add(e.verdict.reason, "", e.Name)
		}
	}
	if len(unfit.all) == 0 && len(missing.all) == 1 {
		return []string{missing.all[0].text}, true
	}
	for _, n := range missing.all {
		because = append(because, fmt.Sprintf("not measured of %s: %s", who(n.strategies), n.text))
	}
	for _, n := range unfit.all {
		because = append(because, fmt.Sprintf("%s: %s", who(n.strategies), n.text))
	}
	return because, len(unfit.all) == 0
}

// who names strategies, and of many the first few.
func who(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:4], ", ") + fmt.Sprintf(" and %d others", len(names)-4)
	}
	return strings.Join(names, ", ")
}
