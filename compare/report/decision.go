package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// few is how many reasons, and how many other strategies, terminals and pages show of each line of the decision table; Markdown has all.
const few = 3

// taken names the strategies of a decision, several of a tie, and says in words where there are none.
func taken(d result.Decision) string {
	if len(d.Take) == 0 {
		return d.State
	}
	names := make([]string, len(d.Take))
	for i, name := range d.Take {
		names[i] = line(name)
	}
	return who(names)
}

// tieText says what several names mean.
const tieText = "Several names tie: the measurements do not tell them apart."

// measured says how fast and how large the rows of a decision are, "" where that was not measured.
func measured(d result.Decision) string {
	var parts []string
	if d.Rate > 0 {
		parts = append(parts, result.Short(d.Rate)+" rows/s")
	}
	if d.Bytes > 0 {
		parts = append(parts, result.Short(d.Bytes)+" B/row")
	}
	return strings.Join(parts, ", ")
}

// Decide returns the result with the decision table of each database. It takes no strategy that failed a check or was not checked, and none
// whose keys were issued twice after a crash. Among the strategies that fit a criterion the order is that of [ranking.decide].
func Decide(r result.Document) result.Document {
	databases := make([]result.Database, len(r.Databases))
	for i, d := range r.Databases {
		d.Decisions = decisions(d)
		databases[i] = d
	}
	r.Databases = databases
	return r
}

// decisions are the lines of the decision table of one database.
func decisions(d result.Database) []result.Decision {
	c := newRanking(d)
	var table []result.Decision
	for _, w := range criteria {
		if !w.writers || len(c.ways()) > 0 {
			table = append(table, c.decide(w))
		}
	}
	return table
}

// enough is the fewest rounds that [result.Differ] can tell figures apart by.
const enough = 4

// decide fills a line of the decision table. Of the strategies that fit the criterion,
//
//  1. those whose tables grew about as far as the furthest stay: a strategy that was given up for slowness was measured while it was fast;
//  2. of these, those whose rows a second do not differ from the highest median;
//  3. of these, those whose bytes a row do not differ from the lowest median.
//
// The strategies that are left tie: all are named, those whose processes have the least to agree upon first. A single strategy that fits needs
// no rates when all others are known not to fit. Of several, none is named before the rates of [enough] rounds are there. See [apart] for what differs.
// The time to make a key does not decide: the rate has it.
func (c *ranking) decide(w criterion) result.Decision {
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
		return noneFits(w, others)
	}
	unjudged := slices.ContainsFunc(others, func(e candidate) bool { return e.verdict.unknown })
	if why := unmeasured(fit); why != "" && (len(fit) > 1 || unjudged) {
		names := make([]string, len(fit))
		for i, e := range fit {
			names[i] = line(e.Name)
		}
		return result.Decision{Want: w.want, State: result.NotMeasured, Because: []string{why, "what fits: " + who(names)}}
	}
	furthest := slices.MaxFunc(fit, func(a, b candidate) int { return cmp.Compare(a.rows, b.rows) })
	grown := slices.DeleteFunc(slices.Clone(fit), func(e candidate) bool { return e.short(furthest) })
	short := slices.DeleteFunc(fit, func(e candidate) bool { return !e.short(furthest) })
	fastest, slow := front(grown, func(e candidate) result.Figure { return e.rate }, true)
	smallest, large := front(fastest, func(e candidate) result.Figure { return e.bytes }, false)
	slices.SortStableFunc(smallest, func(a, b candidate) int { return cmp.Compare(effort(a.Coordination), effort(b.Coordination)) })
	d := result.Decision{Want: w.want, State: result.Taken, Because: c.reasons(w, smallest), Not: against(w, smallest[0], slices.Concat(large, slow, short), others)}
	for _, e := range smallest {
		d.Take = append(d.Take, e.Name)
	}
	d.Rate, d.Bytes = median(smallest[0].rate), median(smallest[0].bytes)
	if len(smallest) > 1 {
		d.State = result.Tie
	}
	return d
}

// median is that of a figure, 0 where it was not measured.
func median(f result.Figure) float64 {
	if !f.OK() {
		return 0
	}
	return f.Median()
}

// unmeasured says why the rates do not tell strategies apart, "" where they do.
func unmeasured(all []candidate) string {
	best := slices.MaxFunc(all, func(a, b candidate) int { return cmp.Compare(len(a.rate.Samples), len(b.rate.Samples)) }).rate
	switch n := len(best.Samples); {
	case n == 0:
		return "rows/s were not measured: " + because(best)
	case n < enough:
		return fmt.Sprintf("rounds: %d; rates are told apart from %d on", n, enough)
	}
	return ""
}

// nearly is the part of the rows of another table that a table must have for their figures to be compared.
const nearly = 0.9

// short tells that a table grew to less than [nearly] another.
func (e candidate) short(of candidate) bool { return float64(e.rows) < nearly*float64(of.rows) }

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

// apart compares figures for a choice. They are the same where [result.Differ] does not tell them apart and where the medians are within
// [notable]; Unknown where one was not measured.
func apart(a, b result.Figure) result.Verdict {
	d := result.Differ(a, b)
	if a.OK() && b.OK() && (near(a, b) || d.Verdict == result.Unknown) {
		return result.Same
	}
	return d.Verdict
}

// near reports whether the medians of two figures are within [notable].
func near(a, b result.Figure) bool {
	ratio := result.Differ(a, b).Ratio
	return ratio <= 1+notable && ratio >= 1/(1+notable)
}

// noneFits says why nothing is taken, what was not measured first.
func noneFits(w criterion, others []candidate) result.Decision {
	d := result.Decision{Want: w.want, State: result.NotMeasured}
	if len(others) == 0 {
		d.Because = []string{"no strategy was measured"}
		return d
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
		d.Because = []string{missing.all[0].text}
		return d
	}
	for _, n := range missing.all {
		d.Because = append(d.Because, fmt.Sprintf("not measured of %s: %s", who(n.strategies), n.text))
	}
	for _, n := range unfit.all {
		d.Because = append(d.Because, fmt.Sprintf("%s: %s", who(n.strategies), n.text))
	}
	if len(unfit.all) > 0 {
		d.State = result.NoneFits
	}
	return d
}

// who names strategies, and of many the first few.
func who(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:4], ", ") + fmt.Sprintf(" and %d others", len(names)-4)
	}
	return strings.Join(names, ", ")
}
