package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// section is what a table shows of the strategies of a database, with its words, and what the page draws above it.
type section struct {
	title, intro string
	texts        bool // all columns are texts
	columns      []column
	draw         func(view, names) figure // nil: nothing
}

// table is a section with its figures: a row a strategy. Columns in which nothing was measured are left out, and named below.
type table struct {
	Heads   []cell
	Rows    []tableRow
	Notes   []string // of cells, which have their numbers
	Missing []string // why columns were left out
}

type tableRow struct {
	Name  string
	Cells []cell
}

// cell is a text, with a note on why it is missing or how it was taken, and the number of that below the table; 0 for none.
type cell struct {
	Text, Note string
	Number     int
}

func newTable(columns []column, strategies []result.Strategy) table {
	t := table{Rows: make([]tableRow, len(strategies))}
	for i, s := range strategies {
		t.Rows[i].Name = line(s.Name)
	}
	var below, missing notes
	for _, c := range columns {
		cells := make([]cell, len(strategies))
		for i, s := range strategies {
			cells[i].Text, cells[i].Note = c.cell(s)
		}
		to := &below
		if !slices.ContainsFunc(cells, func(c cell) bool { return c.Text != none }) {
			to = &missing
		}
		for i := range cells {
			if cell := &cells[i]; cell.Text == none || cell.Note != "" {
				cell.Number = to.add(cell.Note, c.head, t.Rows[i].Name)
				cell.Note = to.all[cell.Number-1].text
			}
		}
		if to == &missing {
			continue
		}
		t.Heads = append(t.Heads, head(c.head, cells))
		for i := range cells {
			t.Rows[i].Cells = append(t.Rows[i].Cells, cells[i])
		}
	}
	t.Notes, t.Missing = below.lines(namesOf(strategies)), missing.lines(namesOf(strategies))
	return t
}

// head is the cell above others. A note that all of them have on how they were taken moves up to it.
func head(text string, cells []cell) cell {
	for _, c := range cells {
		if c.Text == none || c.Number == 0 || c.Number != cells[0].Number {
			return cell{Text: text}
		}
	}
	h := cell{text, cells[0].Note, cells[0].Number}
	for i := range cells {
		cells[i] = cell{Text: cells[i].Text}
	}
	return h
}

// texts are the heads and the rows.
func (t table) texts() [][]string {
	all := [][]string{{"strategy"}}
	for _, h := range t.Heads {
		all[0] = append(all[0], h.Text)
	}
	for _, r := range t.Rows {
		row := []string{r.Name}
		for _, c := range r.Cells {
			row = append(row, c.Text)
		}
		all = append(all, row)
	}
	return all
}

// note is a reason why figures are missing, or how they were taken, with what it concerns.
type note struct {
	text       string
	columns    []string
	strategies []string
}

// notes are the notes below a table: each text once, in the order in which they came up.
type notes struct{ all []note }

// add notes a text about a column of a strategy, and returns its number.
func (n *notes) add(text, column, strategy string) int {
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
	return i + 1
}

// lines are the notes as text. All are the strategies of the table: a note on most of them names the others.
func (n *notes) lines(all []string) []string {
	out := make([]string, 0, len(n.all))
	for _, o := range n.all {
		who := strings.Join(o.strategies, ", ")
		if len(o.strategies) == len(all) && len(all) > 1 {
			who = "all"
		} else if 2*len(o.strategies) > len(all) && len(o.strategies) > 3 {
			others := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(o.strategies, name) })
			who = "all but " + strings.Join(others, ", ")
		}
		what := strings.Join(o.columns, ", ")
		if len(o.columns) > 3 { // they stand beside each other
			what = o.columns[0] + " to " + o.columns[len(o.columns)-1]
		}
		out = append(out, what+" of "+who+": "+o.text)
	}
	return out
}
