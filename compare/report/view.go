package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// view is a database as reports show it.
type view struct {
	measured  []result.Strategy
	failing   []result.Strategy // a check found them wrong
	skipped   []result.Strategy
	reference *result.Strategy // what others are set against; nil where nothing was inserted
	level     []string         // of a ranked view: the names whose rates the rounds do not tell from the fastest, if there are several
	rows      int              // of a ranked view: that the table got to that grew furthest
}

// look sorts the strategies of a database. The reference is autoincrement where it was measured, else the first that was.
func look(d result.Database) view {
	var v view
	for _, s := range d.Strategies {
		switch {
		case !s.Verify.OK():
			v.failing = append(v.failing, s)
		case s.Skipped != "":
			v.skipped = append(v.skipped, s)
		default:
			v.measured = append(v.measured, s)
		}
	}
	for i, s := range v.measured {
		if s.Growth.Overall().OK() && (v.reference == nil || s.Name == "autoincrement") {
			v.reference = &v.measured[i]
		}
	}
	return v
}

// rank looks at a database with the fastest inserts first. Tables that were given up for slowness stand behind the others, and what was not
// inserted at the end.
func rank(d result.Database) view {
	v := look(d)
	for _, s := range v.measured {
		v.rows = max(v.rows, s.Growth.Rows)
	}
	rest := func(s result.Strategy) int { // 0: its rate is of a whole table
		if s.Growth.Overall().OK() && !v.short(s) {
			return 0
		}
		return 1
	}
	v.measured = slices.SortedStableFunc(slices.Values(v.measured), func(a, b result.Strategy) int {
		return cmp.Or(cmp.Compare(rest(a), rest(b)), cmp.Compare(median(b.Growth.Overall()), median(a.Growth.Overall())))
	})
	for _, s := range v.measured {
		if rate := s.Growth.Overall(); rest(s) == 0 && len(rate.Samples) >= enough && apart(rate, v.measured[0].Growth.Overall()) == result.Same {
			v.level = append(v.level, s.Name)
		}
	}
	if len(v.level) == 1 {
		v.level = nil
	}
	return v
}

// short tells that a table grew to less than nine tenths of the furthest, so that its rate is of a smaller table.
func (v view) short(s result.Strategy) bool { return float64(s.Growth.Rows) < nearly*float64(v.rows) }

// rate is the median of the rows a second, with a mark on those that are level with the fastest.
func (v view) rate(s result.Strategy) string {
	text := result.Short(s.Growth.Overall().Median())
	if slices.Contains(v.level, s.Name) {
		return "= " + text
	}
	return text
}

// namesOf are the names of strategies.
func namesOf(strategies []result.Strategy) []string {
	names := make([]string, len(strategies))
	for i, s := range strategies {
		names[i] = line(s.Name)
	}
	return names
}

// times is the median rate over that of the reference, with "same" where the rounds show no difference.
func (v view) times(s result.Strategy) (text, note string) {
	f := s.Growth.Overall()
	switch {
	case !f.OK():
		return none, because(f)
	case v.reference == nil || s.Name == v.reference.Name:
		return "1", ""
	}
	d := result.Differ(f, v.reference.Growth.Overall())
	text = ratio(d.Ratio)
	if d.Verdict == result.Same {
		text += " same"
	}
	return text, d.Why
}

// partly says that fewer rows were inserted than planned, as it is with what is slow, where the last tenth says why, and where the time for the
// run was too little; "" where all were. Plan is 0 where it is not known.
func partly(g result.Growth, plan int) string {
	if g.Rows <= 0 || g.Rows >= plan {
		return ""
	}
	return fmt.Sprintf("%s of %s rows were inserted a round: figures of rows are of a table of that size", count(g.Rows), count(plan))
}

// tenth is one of a growth's tenths, from 0, with reasons where it is missing.
func tenth(g result.Growth, i int) result.Tenth {
	if i < 0 || i >= len(g.Tenths) {
		missing := result.Missing(cmp.Or(g.Why, "not measured"))
		return result.Tenth{RowsPerSecond: missing, P99: missing}
	}
	t := g.Tenths[i]
	for _, f := range []*result.Figure{&t.RowsPerSecond, &t.P99} {
		if !f.OK() {
			f.Why = cmp.Or(f.Why, g.Why)
		}
	}
	return t
}

// last is the rows a second in the last tenth.
func last(g result.Growth) result.Figure { return tenth(g, len(g.Tenths)-1).RowsPerSecond }

// bytesPerRow is table and indexes together, a sample a round.
func bytesPerRow(table, index result.Figure) result.Figure {
	for _, f := range []result.Figure{table, index} {
		if !f.OK() {
			return result.Missing(because(f))
		}
	}
	var f result.Figure
	for i := range min(len(table.Samples), len(index.Samples)) {
		f.Add(table.Samples[i] + index.Samples[i])
	}
	return f
}

// because is why a figure is missing.
func because(f result.Figure) string { return cmp.Or(line(f.Why), "not measured") }

// interval is where the median lies; not ok where a single sample, or none, says nothing of that.
func interval(f result.Figure) (low, high float64, ok bool) {
	if len(f.Samples) < 2 {
		return 0, 0, false
	}
	low, high, _ = f.Interval()
	return low, high, true
}

// speed is the figure of so many goroutines, or of so many keys a call.
func speed(all []result.Speed, goroutines, keys int) result.Figure {
	i := slices.IndexFunc(all, func(s result.Speed) bool { return s.Goroutines == goroutines && max(s.Keys, 1) == keys })
	if i < 0 {
		return result.Missing("not measured")
	}
	return all[i].Time
}

// pairsOf are the numbers of goroutines, and of keys a call, that there are speeds of, the least first.
func pairsOf(all ...[]result.Speed) [][2]int {
	var pairs [][2]int
	for _, sp := range slices.Concat(all...) {
		if pair := [2]int{sp.Goroutines, max(sp.Keys, 1)}; !slices.Contains(pairs, pair) {
			pairs = append(pairs, pair)
		}
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return pairs
}

// fleet is the strategy that is the same keys made by several processes: its name is that strategy's, or the first word of it, with "-fleet"
// and something behind it.
func (v view) fleet(name string) (result.Strategy, bool) {
	for _, s := range v.measured {
		if base, _, ok := strings.Cut(s.Name, "-fleet"); ok && s.Name != name && (base == name || strings.HasPrefix(name, base+"-")) {
			return s, true
		}
	}
	return result.Strategy{}, false
}

// doubled are the strategies that gave keys twice, and how many.
func (v view) doubled() []string {
	var all []string
	for _, s := range v.measured {
		if most(s.Crash.Twice) > 0 {
			all = append(all, line(s.Name)+": "+doubledText(s.Crash.Twice))
		}
	}
	return all
}

// isFleet tells that a strategy shows what several processes do to a table; it is evidence, and nothing to choose.
func isFleet(s result.Strategy) bool { return strings.Contains(s.Name, "-fleet") }
