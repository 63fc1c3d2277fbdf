package report

import (
	"slices"

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
	// The rate and the bytes of the reference.
	ofReference [2]result.Figure
}

// enter judges a strategy. What was not checked, and what gave keys twice, cannot fit.
func (c *ranking) enter(w criterion, s result.Strategy) candidate {
	e := candidate{Strategy: s, rows: s.Growth.Rows, rate: s.Growth.Overall(), last: last(s.Growth), bytes: bytesPerRow(s.Storage.Table, s.Storage.Index)}
	if c.reference != nil {
		e.ofReference = [2]result.Figure{c.reference.Growth.Overall(), bytesPerRow(c.reference.Storage.Table, c.reference.Storage.Index)}
	}
	switch {
	case w.fleet:
		c.crowd(&e)
	case w.writers:
		f := waysOf(s, c.crowded())
		e.rows, e.rate, e.last, e.bytes = f.Rows, f.RowsPerSecond, f.Last, bytesPerRow(f.Table, f.Index)
		if c.reference != nil {
			f := waysOf(*c.reference, c.crowded())
			e.ofReference = [2]result.Figure{f.RowsPerSecond, bytesPerRow(f.Table, f.Index)}
		}
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
		e.by, e.rows, e.rate, e.last, e.bytes = f.Name, f.Growth.Rows, f.Growth.Overall(), last(f.Growth), bytesPerRow(f.Storage.Table, f.Storage.Index)
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
