package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

var (
	//go:embed *.tmpl
	pageFiles embed.FS
	//go:embed page.css
	pageCSS string
)

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"line": line, "count": count[int], "check": checkText,
	"few": func(all []string) []string { return all[:min(len(all), few)] },
	// cut parts a figure from the interval behind it; words stay whole.
	"cut": func(text string, words bool) []string {
		if words {
			return []string{text, ""}
		}
		figure, interval, _ := strings.Cut(text, " (")
		return []string{figure, strings.TrimSuffix(interval, ")")}
	},
}).ParseFS(pageFiles, "*.tmpl"))

// HTML writes the result as one page that asks for nothing else: style and charts are in it, there are no scripts, and it forbids the browser
// to load anything. It goes by the reader's choice of light or dark and by the width of the screen. Texts of the document are shown as texts,
// whatever they hold. Its errors are those of w.
func HTML(w io.Writer, r result.Document) error {
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, "page", newPage(r)); err != nil {
		return fmt.Errorf("compare: writing the page: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// page is what the template of the page is filled with.
type page struct {
	Style              template.CSS
	Run, Machine, Plan string
	Alerts             []string // what the reader has to know before any figure
	Families           []pageFamily
	Databases          []pageDatabase
	Verdicts           []pageVerdict
	Tie                string // what several names mean
	Glossary           []entry
	Version            int
}

// pageFamily is a family of strategies whose hue the charts have.
type pageFamily struct{ Hue, About string }

// pageDatabase is the part of a database.
type pageDatabase struct {
	ID, Title, Text, Settings, Failed string
	Rate                              *chart
	Doubled                           []string
	Failing                           []result.Strategy
	Sections                          []pageSection
	Strategies                        []result.Strategy
}

// pageSection is a section with its table and figure.
type pageSection struct {
	ID, Title, Intro string
	Words            bool
	Figure           figure
	Table            table
}

// pageVerdict is what a team may want, and what to take on each database.
type pageVerdict struct {
	Want  string
	Takes []pageTake
}

type pageTake struct {
	Database string
	Names    []name
	Figures  string // of the first name, or in place of names why there are none
	result.Decision
}

// name is a strategy's name, with the place in the page that says what it means.
type name struct{ Text, ID, Hue string }

// names are those of all strategies of a document.
type names map[string]name

// entry says what a name means.
type entry struct {
	name
	Facts []cell // the head in Note
}

// newGlossary explains the strategies of databases, each once.
func newGlossary(databases ...result.Database) ([]entry, names) {
	var entries []entry
	all := names{}
	for _, d := range databases {
		for _, s := range d.Strategies {
			if _, ok := all[s.Name]; ok {
				continue
			}
			e := entry{name: name{line(s.Name), fmt.Sprintf("key-%d", len(all)+1), families[family(s.Name)].hue}}
			for _, c := range traits {
				if text, _ := c.cell(s); text != none {
					e.Facts = append(e.Facts, cell{Text: text, Note: c.head})
				}
			}
			entries, all[s.Name] = append(entries, e), e.name
		}
	}
	return entries, all
}

func newPage(r result.Document) page {
	p := page{Style: pageStyle(), Run: runText(r), Machine: machineText(r.Machine), Plan: planText(r.Plan), Version: r.Schema, Alerts: alerts(r), Tie: tieText}
	entries, all := newGlossary(r.Databases...)
	p.Glossary = entries
	for i, title := range titlesOf(r.Databases) {
		p.Databases = append(p.Databases, newPageDatabase(fmt.Sprintf("db%d", i+1), title, r.Databases[i], all, r.Plan.Rows))
	}
	for _, f := range families {
		for _, e := range entries {
			if e.Hue == f.hue {
				p.Families = append(p.Families, pageFamily{f.hue, f.about})
				break
			}
		}
	}
	for i, d := range r.Databases {
		if len(p.Databases[i].Sections) == 0 {
			continue
		}
		for j, decision := range decisions(d) {
			if j == len(p.Verdicts) {
				p.Verdicts = append(p.Verdicts, pageVerdict{Want: decision.Want})
			}
			t := pageTake{Database: p.Databases[i].Title, Decision: decision, Figures: measured(decision)}
			for _, n := range decision.Take {
				t.Names = append(t.Names, all[n])
			}
			if len(t.Names) == 0 {
				t.Figures = decision.State
			}
			p.Verdicts[j].Takes = append(p.Verdicts[j].Takes, t)
		}
	}
	return p
}

func newPageDatabase(id, title string, d result.Database, all names, plan int) pageDatabase {
	v := rank(d)
	p := pageDatabase{ID: id, Title: title, Text: databaseText(d), Settings: settingsText(d), Failed: line(d.Failed), Rate: rateChart(v, all, title),
		Doubled: v.doubled(), Failing: v.failing, Strategies: d.Strategies}
	if len(v.measured) == 0 {
		return p
	}
	for i, s := range sections(v, plan) {
		out := pageSection{ID: fmt.Sprintf("%s-%d", id, i+1), Title: s.title, Intro: s.intro, Words: s.texts, Table: newTable(s.columns, v.measured)}
		if s.draw != nil {
			out.Figure = s.draw(v, all)
		}
		p.Sections = append(p.Sections, out)
	}
	return p
}
