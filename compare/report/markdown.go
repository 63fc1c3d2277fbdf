package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// Markdown writes all that was measured as GitHub-flavoured Markdown: a chapter a database, with the decision table first. What was not
// measured is a dash, with the reason below its table. Its errors are those of w.
func Markdown(w io.Writer, r result.Document) error {
	var out strings.Builder
	out.WriteString("# Keys compared\n\n")
	for _, text := range alerts(r) {
		what, text, _ := strings.Cut(text, ": ")
		fmt.Fprintf(&out, "**%s:** %s\n\n", what, escape(text))
	}
	bullets(&out, []string{runText(r), machineText(r.Machine), planText(r.Plan), "strategies: " + list(r.Plan.Strategies)})
	out.WriteString("Figures are medians of the rounds, with the interval that the median lies in behind them.\n\n")
	titles := titlesOf(r.Databases)
	for i, d := range r.Databases {
		markdownDatabase(&out, r, titles[i], d)
	}
	markdownNames(&out, r.Databases)
	if len(r.Databases) == 0 {
		out.WriteString("No database was measured.\n")
	}
	_, err := io.WriteString(w, strings.TrimRight(out.String(), "\n")+"\n")
	return err
}

// markdownDatabase writes the chapter of one database.
func markdownDatabase(out *strings.Builder, r result.Document, title string, d result.Database) {
	v := rank(d)
	all := sections(v, r.Plan.Rows)
	fmt.Fprintf(out, "## %s\n\n", escape(title))
	lines := []string{databaseText(d), settingsText(d)}
	if d.Failed != "" {
		lines = append(lines, "measuring it ended early: "+d.Failed)
	}
	bullets(out, lines)
	if len(v.measured) == 0 {
		out.WriteString("No strategy was measured.\n\n")
	} else {
		writeTable(out, all[0], v.measured)
		markdownDecisions(out, decisions(d))
	}
	if len(v.failing) > 0 {
		out.WriteString("### Strategies that fail\n\nThey are wrong, so they were not timed.\n\n")
		g := grid{head: []string{"strategy", "check", "evidence"}, left: 3}
		for _, s := range v.failing {
			for _, c := range s.Verify.Checks {
				if c.State == result.Failed {
					g.rows = append(g.rows, []string{s.Name, c.Name, list(filled(c.Evidence, c.Detail))})
				}
			}
		}
		g.write(out)
	}
	if len(v.skipped) > 0 {
		out.WriteString("### Strategies left out\n\n")
		var lines []string
		for _, s := range v.skipped {
			lines = append(lines, s.Name+": "+s.Skipped)
		}
		bullets(out, lines)
	}
	for _, s := range all[1:] {
		writeTable(out, s, v.measured)
	}
	markdownChecks(out, d)
}

// markdownNames says what the names of the strategies mean, of each once.
func markdownNames(out *strings.Builder, databases []result.Database) {
	var all []result.Strategy
	for _, d := range databases {
		for _, s := range d.Strategies {
			if !slices.ContainsFunc(all, func(o result.Strategy) bool { return o.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	if len(all) > 0 {
		out.WriteString("## What the names mean\n\n")
	}
	writeTable(out, section{texts: true, columns: traits}, all)
}

// filled are the texts that are not empty.
func filled(texts ...string) []string {
	var out []string
	for _, text := range texts {
		if text = line(text); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// markdownDecisions writes the decision table: criteria, names and reasons first, then what speaks against the others.
func markdownDecisions(out *strings.Builder, all []result.Decision) {
	if len(all) == 0 {
		return
	}
	out.WriteString("### Which key?\n\n")
	g := grid{head: []string{"you want", "take", "figures", "because"}, left: 4}
	for _, a := range all {
		g.rows = append(g.rows, []string{a.Want, taken(a), cmp.Or(measured(a), none), strings.Join(a.Because, "; ")})
	}
	g.write(out)
	out.WriteString(tieText + " [What the names mean](#what-the-names-mean).\n\n")
	out.WriteString("Why not another?\n\n")
	for _, a := range all {
		if len(a.Not) == 0 {
			continue
		}
		fmt.Fprintf(out, "- %s:\n", escape(a.Want))
		for _, not := range a.Not {
			fmt.Fprintf(out, "  - not %s\n", escape(not))
		}
	}
	out.WriteByte('\n')
}

// markdownChecks writes what the checks saw, the same once.
func markdownChecks(out *strings.Builder, d result.Database) {
	g := grid{head: []string{"strategy", "check", "outcome", "keys", "seen"}, left: 5}
	for _, s := range d.Strategies {
		for _, c := range s.Verify.Checks {
			g.rows = append(g.rows, []string{s.Name, c.Name, c.State, count(c.Keys), list(filled(c.Evidence, c.Detail))})
		}
	}
	if len(g.rows) == 0 {
		return
	}
	out.WriteString("### Checks\n\n")
	g.write(out)
}
