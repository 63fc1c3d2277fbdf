package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// page is what the template of the page is filled with.
type page struct {
	Style              template.CSS
	Title              string
	Run, Machine, Plan string
	Alerts             []string // what the reader has to know before any figure
	Sides              []pageTable
	Databases          []pageDatabase
	Version            int
}

// pageDatabase is the part of a database.
type pageDatabase struct {
	ID, Kind, Name, Text, Settings, Failed string
	Decisions                              []result.Decision
	Doubled                                []string
	Failing, Skipped                       []result.Strategy
	Measured                               int
	Families                               []pageFamily
	Sections                               []pageSection
	Strategies                             []result.Strategy
}

// pageFamily is a family of strategies whose hue the charts have.
type pageFamily struct{ Hue, About, Names string }

// pageSection is a subject: a chart, in both widths, and tables.
type pageSection struct {
	ID, Title, Lead string
	Charts          []template.HTML
	Shards          []pageShards
	Tables          []pageTable
}

// pageShards is a small chart beside others.
type pageShards struct {
	Name, Text string
	Chart      template.HTML
	Uneven     bool
}

// pageTable is a table with a row a strategy.
type pageTable struct {
	ID, Caption string
	Intro       string
	Corner      string
	Heads       []pageCell
	Rows        []pageRow
	Notes       []string
	Folded      bool // shown when asked for
	Words       bool // texts, not figures
}

type pageRow struct {
	Name, Hue string
	Cells     []pageCell
}

// pageCell is a text, with a note on why it is missing or how it was taken, and the number of that below the table.
type pageCell struct {
	Text, Note string
	Number     int
}

// note puts a note below the table, unless it is there, and its number beside the text.
func (c *pageCell) note(below *notes, text, column, strategy string) {
	below.add(text, column, line(strategy))
	c.Note = cmp.Or(line(text), "no reason is given")
	c.Number = 1 + slices.IndexFunc(below.all, func(n note) bool { return n.text == c.Note })
}

func newPage(r result.Document) page {
	p := page{Style: style(), Title: "Which key?", Run: runText(r), Machine: machineText(r.Machine), Plan: planText(r.Plan), Version: r.Schema, Alerts: alerts(r)}
	titles := titlesOf(r.Databases)
	for i, d := range r.Databases {
		p.Databases = append(p.Databases, newPageDatabase(fmt.Sprintf("db%d", i+1), titles[i], d, r.Plan.Rows))
	}
	if len(r.Databases) > 0 {
		p.Sides = sides(r.Databases, p.Databases)
	}
	return p
}

func newPageDatabase(id, title string, d result.Database, plan int) pageDatabase {
	v := look(d)
	p := pageDatabase{ID: id, Kind: title, Name: line(d.Name), Text: databaseText(d), Settings: settingsText(d), Failed: line(d.Failed),
		Doubled: v.doubled(), Failing: v.failing, Skipped: v.skipped, Measured: len(v.measured), Strategies: d.Strategies}
	if len(v.measured) > 0 {
		p.Decisions, p.Families, p.Sections = decisions(d), pageFamilies(v.measured), pageSections(id, v, plan)
	}
	return p
}

// pageFamilies are the families that have strategies here.
func pageFamilies(strategies []result.Strategy) []pageFamily {
	var all []pageFamily
	for i, f := range families {
		var names []string
		for _, s := range strategies {
			if family(s.Name) == i {
				names = append(names, line(s.Name))
			}
		}
		if len(names) > 0 {
			all = append(all, pageFamily{shades[f.hue].name, f.about, strings.Join(names, ", ")})
		}
	}
	return all
}

// newPageTable has a row a strategy. Columns in which nothing was measured are left out; their reasons are among the notes.
func newPageTable(id string, of section, strategies []result.Strategy) pageTable {
	t := pageTable{ID: id, Caption: of.title, Intro: of.intro, Words: of.texts, Corner: "strategy", Rows: make([]pageRow, len(strategies))}
	for i, s := range strategies {
		t.Rows[i].Name, t.Rows[i].Hue = line(s.Name), shades[families[family(s.Name)].hue].name
	}
	var below notes
	for _, c := range of.columns {
		cells, empty := make([]pageCell, len(strategies)), true
		for i, s := range strategies {
			text, why := c.cell(s)
			cells[i] = pageCell{Text: text}
			if empty = empty && text == none; text == none || why != "" {
				cells[i].note(&below, why, c.head, s.Name)
			}
		}
		if empty {
			continue
		}
		t.Heads = append(t.Heads, head(c.head, cells))
		for i := range cells {
			t.Rows[i].Cells = append(t.Rows[i].Cells, cells[i])
		}
	}
	t.Notes = below.lines(namesOf(strategies))
	return t
}

// head is the cell above others. A note that all of them have on how they were taken moves up to it.
func head(text string, cells []pageCell) pageCell {
	for _, c := range cells {
		if c.Text == none || c.Number == 0 || c.Number != cells[0].Number {
			return pageCell{Text: text}
		}
	}
	h := pageCell{text, cells[0].Note, cells[0].Number}
	for i := range cells {
		cells[i] = pageCell{Text: cells[i].Text}
	}
	return h
}

// sides are the keys to take, and the figures that matter most of several databases, beside each other.
func sides(all []result.Database, pages []pageDatabase) []pageTable {
	take := pageTable{ID: "take", Caption: "The key to take", Corner: "you want", Words: true}
	figures := pageTable{ID: "side", Caption: "Rows a second in the last tenth, and bytes a row with all indexes", Corner: "strategy"}
	var names []string
	for i, d := range all {
		take.Heads = append(take.Heads, pageCell{Text: pages[i].Kind})
		figures.Heads = append(figures.Heads, pageCell{Text: pages[i].Kind + ", rows/s"}, pageCell{Text: pages[i].Kind + ", B/row"})
		for _, s := range look(d).measured {
			if !slices.Contains(names, line(s.Name)) {
				names = append(names, line(s.Name))
			}
		}
	}
	for i, w := range criteria {
		row := pageRow{Name: w.want}
		for _, p := range pages {
			cell := pageCell{Text: result.NotMeasured}
			if len(p.Decisions) > 0 {
				cell.Text = taken(p.Decisions[i])
			}
			row.Cells = append(row.Cells, cell)
		}
		take.Rows = append(take.Rows, row)
	}
	var below notes
	for _, name := range names {
		row := pageRow{Name: name, Hue: shades[families[family(name)].hue].name}
		for i, d := range all {
			row.Cells = append(row.Cells, sideCells(&below, pages[i].Kind, name, look(d))...)
		}
		figures.Rows = append(figures.Rows, row)
	}
	figures.Notes = below.lines(names)
	if len(all) == 1 || len(figures.Rows) == 0 {
		return []pageTable{take}
	}
	return []pageTable{take, figures}
}

// sideCells are the figures of a strategy on one of several databases.
func sideCells(below *notes, kind, name string, v view) []pageCell {
	figures := []result.Figure{result.Missing("not among the strategies of this database"), result.Missing("not among the strategies of this database")}
	if i := slices.IndexFunc(v.database.Strategies, func(s result.Strategy) bool { return line(s.Name) == name }); i >= 0 {
		switch s := v.database.Strategies[i]; {
		case !s.Verify.OK():
			figures[0] = result.Missing("it failed its checks")
			figures[1] = figures[0]
		case s.Skipped != "":
			figures[0] = result.Missing("skipped: " + s.Skipped)
			figures[1] = figures[0]
		default:
			figures = []result.Figure{last(s.Growth), bytesPerRow(s.Storage)}
		}
	}
	cells := make([]pageCell, len(figures))
	for i, f := range figures {
		if f.OK() {
			cells[i].Text = result.Short(f.Median())
			continue
		}
		cells[i] = pageCell{Text: none}
		cells[i].note(below, because(f), kind, name)
	}
	return cells
}
