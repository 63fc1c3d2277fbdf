package report

import (
	"cmp"
	"slices"
	"strings"
)

// note is a reason why figures are missing, or how they were taken, with what it concerns.
type note struct {
	text       string
	columns    []string
	strategies []string
}

// notes are the notes below a table: each text once, in the order in which they came up.
type notes struct{ all []note }

// add notes a text about a column of a strategy.
func (n *notes) add(text, column, strategy string) {
	text = cmp.Or(line(text), "no reason is given")
	i := slices.IndexFunc(n.all, func(o note) bool { return o.text == text })
	if i < 0 {
		i = len(n.all)
		n.all = append(n.all, note{text: text})
	}
	o := &n.all[i]
	if !slices.Contains(o.columns, column) {
		o.columns = append(o.columns, column)
	}
	if !slices.Contains(o.strategies, strategy) {
		o.strategies = append(o.strategies, strategy)
	}
}

// lines are the notes as text. All are the strategies of the table: a note on most of them names the others.
func (n *notes) lines(all []string) []string {
	out := make([]string, 0, len(n.all))
	for _, o := range n.all {
		who := strings.Join(o.strategies, ", ")
		if len(o.strategies) == len(all) && len(all) > 1 {
			who = "all"
		} else if 2*len(o.strategies) > len(all) && len(o.strategies) > 3 {
			who = "all but " + strings.Join(without(all, o.strategies), ", ")
		}
		what := strings.Join(o.columns, ", ")
		if len(o.columns) > 3 { // they stand beside each other
			what = o.columns[0] + " to " + o.columns[len(o.columns)-1]
		}
		out = append(out, what+" of "+who+": "+o.text)
	}
	return out
}

// without are the words that are not among some.
func without(words, some []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(some, w) })
}
