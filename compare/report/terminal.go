package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/compare/result"
)

// wide is how many characters a line of text has at most; tables with long names of strategies are wider.
const wide = 110

// Table writes the result as text for a terminal: for each database the figures, what failed and what was left out, and at the end which key to
// take. What was not measured is a dash, with the reason below. Its errors are those of w.
func Table(w io.Writer, r result.Document) error { return terminal(w, r, false) }

// Explained writes what [Table] does, and the reasons for each key at the end.
func Explained(w io.Writer, r result.Document) error { return terminal(w, r, true) }

func terminal(w io.Writer, r result.Document, why bool) error {
	var out strings.Builder
	tableHead(&out, r)
	explained := ""
	for _, d := range r.Databases {
		out.WriteByte('\n')
		explained = tableDatabase(&out, r, d, explained)
	}
	if len(r.Databases) == 0 {
		out.WriteString("\nNo database was measured.\n")
	}
	tableNames(&out, r.Databases)
	for i, title := range titlesOf(r.Databases) {
		if d := r.Databases[i]; len(look(d).measured) > 0 {
			fmt.Fprintf(&out, "\nWhich key on %s?\n\n", title)
			if all := decisions(d); why {
				tableWhy(&out, all)
			} else {
				tableTake(&out, all)
			}
		}
	}
	for _, c := range criteria {
		if c.also != "" && strings.Contains(out.String(), c.want) && !why {
			out.WriteByte('\n')
			wrap(&out, wide, "   ", c.want+": "+c.also+".")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// tableHead says first whether the run was broken off, then what ran where.
func tableHead(out *strings.Builder, r result.Document) {
	for _, text := range alerts(r) {
		wrap(out, wide, "", text)
	}
	wrap(out, wide, "", runText(r))
	wrap(out, wide, "", machineText(r.Machine))
	wrap(out, wide, "", planText(r.Plan))
}

// runText says what made the document, and when.
func runText(r result.Document) string {
	return fmt.Sprintf("%s, %s, took %s", line(r.Tool), r.Made.UTC().Format("2006-01-02 15:04 UTC"),
		time.Duration(min(r.Seconds, 1e9)*float64(time.Second)).Round(time.Second))
}

// machineText says where the program ran.
func machineText(m result.Machine) string {
	parts := []string{m.OS + "/" + m.Arch, fmt.Sprintf("%d CPUs", m.CPUs)}
	if m.CPU != "" {
		parts = append(parts, line(m.CPU))
	}
	if m.Memory > 0 {
		parts = append(parts, size(float64(m.Memory))+" of memory")
	}
	if m.Load > 0 {
		parts = append(parts, fmt.Sprintf("load %.1f before the run", m.Load))
	}
	return strings.Join(append(parts, m.Go), ", ")
}

// alerts are what a reader has to know before any figure.
func alerts(r result.Document) (all []string) {
	if r.Interrupted != "" {
		all = append(all, "NOT COMPLETE: "+line(r.Interrupted)+". What was measured until then follows.")
	}
	for _, d := range r.Databases {
		if d.Failed != "" {
			all = append(all, "FAILED: "+line(d.Name)+": "+line(d.Failed))
		}
	}
	if m := r.Machine; m.Load > float64(m.CPUs) {
		all = append(all, fmt.Sprintf("BUSY: the load was %.1f on %d CPUs before the run. Other programs took their part: figures are lower and less certain "+
			"than on an idle machine.", m.Load, m.CPUs))
	}
	return all
}

// planText says what the run set out to do.
func planText(p result.Plan) string {
	text := fmt.Sprintf("profile %s: %s rows a table and round, %s an INSERT, %d rounds in turns, seed %d",
		p.Profile, count(p.Rows), count(p.Batch), p.Rounds, p.Seed)
	if p.Budget > 0 {
		text += fmt.Sprintf(", budget %s", time.Duration(min(p.Budget, 1e9)*float64(time.Second)).Round(time.Second))
	}
	return text
}

// tableDatabase writes the part of one database. It explains the columns unless the same explanation stands above, and returns the explanation.
func tableDatabase(out *strings.Builder, r result.Document, d result.Database, explained string) string {
	v := rank(d)
	wrap(out, wide, "== ", databaseText(d))
	if d.Failed != "" {
		wrap(out, wide, "   ", "Measuring it ended early: "+d.Failed)
	}
	wrap(out, wide, "   ", settingsText(d))
	out.WriteByte('\n')
	if len(v.measured) > 0 {
		tableMeasured(out, v, r.Plan.Rows)
		if text := legend(v); text != explained {
			wrap(out, wide, "   ", text)
			explained = text
		}
	} else {
		out.WriteString("   No strategy was measured.\n")
	}
	before := "\n"
	say := func(first, text string) {
		out.WriteString(before)
		wrap(out, wide, "   "+first+"  ", text)
		before = ""
	}
	for _, s := range v.failing {
		for _, c := range s.Verify.Checks {
			if c.State == result.Failed {
				say("FAILS", line(s.Name)+", "+checkText(c))
			}
		}
	}
	for _, text := range v.doubled() {
		say("UNSAFE", text)
	}
	for _, s := range v.skipped {
		say("skipped", line(s.Name)+": "+s.Skipped)
	}
	return explained
}

// databaseText names a database.
func databaseText(d result.Database) string {
	text := kindText(d) + " (" + line(d.Name) + ")"
	if d.Private {
		return text + ", started for this run alone"
	}
	if d.Kind == "sqlite" {
		return text
	}
	return text + ", a server that others may use too"
}

// kindText is the product and its version.
func kindText(d result.Database) string { return line(cmp.Or(d.Version, d.Kind)) }

// shortText is the product and its version, without what a distribution has put behind it.
func shortText(d result.Database) string {
	text, _, _ := strings.Cut(kindText(d), " (")
	text, _, _ = strings.Cut(text, "-")
	return text
}

// titlesOf are the products and versions of databases, with the names where these do not tell them apart.
func titlesOf(databases []result.Database) []string {
	titles, seen := make([]string, len(databases)), map[string]int{}
	for _, d := range databases {
		seen[shortText(d)]++
	}
	for i, d := range databases {
		if titles[i] = shortText(d); seen[titles[i]] > 1 {
			titles[i] += " (" + line(d.Name) + ")"
		}
	}
	return titles
}

// settingsText has the settings that the figures depend on, the cache, and how many rounds and rows were planned.
func settingsText(d result.Database) string {
	text := settings(d)
	if d.Cache.OK() {
		text += ", cache of " + size(d.Cache.Median())
	} else {
		text += ", cache unknown: " + because(d.Cache)
	}
	if d.Plan != "" {
		text += "; planned: " + line(d.Plan)
	}
	return text
}

// checkText says what a check has found.
func checkText(c result.Check) string {
	text := fmt.Sprintf("%s, %s keys", line(c.Name), count(c.Keys))
	for _, more := range []string{line(c.Evidence), line(c.Detail)} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// tableMeasured writes the figures, the fastest first, and the notes below them.
func tableMeasured(out *strings.Builder, v view, plan int) {
	columns := append(rateColumns(v, plan),
		medians("B/row", func(s result.Strategy) result.Figure { return bytesPerRow(s.Storage.Table, s.Storage.Index) }, result.Short),
		medians("ns/key", func(s result.Strategy) result.Figure { return speed(s.Generation.Capped, 1, 1) }, result.Short),
		medians("uncapped", func(s result.Strategy) result.Figure { return speed(s.Generation.Uncapped, 1, 1) }, result.Short),
		percentileColumn("p99", 99),
	)
	t, names, most := newTable(columns, v.measured), 0, 0.0
	for i, s := range v.measured {
		_, high, _ := interval(s.Growth.Overall())
		names, most = max(names, utf8.RuneCountInString(t.Rows[i].Name)), max(most, high, median(s.Growth.Overall()))
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, row := range t.texts() {
		bar := ""
		if i > 0 {
			bar = tableBar(v.measured[i-1].Growth.Overall(), most)
		}
		fmt.Fprintf(table, "   %-*s  %-*s\t%s\t\n", names, row[0], barWidth, bar, strings.Join(row[1:], "\t"))
	}
	_ = table.Flush() // into a strings.Builder, which never fails
	out.WriteByte('\n')
	for _, text := range slices.Concat(t.Notes, t.Missing) {
		wrap(out, wide, "   "+none+" ", text)
	}
	for _, s := range v.measured {
		if text := tenantsText(s.Shards); text != "" {
			wrap(out, wide, "   "+none+" ", "shards of "+line(s.Name)+": "+text)
		}
	}
}

const barWidth = 16

// tableBar draws a rate: full up to the low end of its interval, light up to the high one.
func tableBar(rate result.Figure, most float64) string {
	if median(rate) <= 0 {
		return ""
	}
	low, high, ok := interval(rate)
	if !ok {
		low, high = rate.Median(), rate.Median()
	}
	full, end := int(math.Round(low/most*barWidth)), int(math.Round(high/most*barWidth))
	return strings.Repeat("█", full) + strings.Repeat("░", end-full)
}

// legend explains the columns.
func legend(v view) string {
	text := "rows/s, through GORM with the keys made on the way, and bytes, of the table with its indexes, are medians of the rounds"
	if len(v.level) > 0 {
		text += "; the rounds do not tell rates with = from the fastest"
	}
	if v.reference != nil {
		text += "; × is the rate over that of " + line(v.reference.Name) + " in the same rounds, \"same\" where the rounds show no difference"
	}
	if v.reference != nil {
		if _, _, ok := interval(v.reference.Growth.Overall()); ok {
			_, _, chance := v.reference.Growth.Overall().Interval()
			text += "; the interval, light in the bar, holds the true median with a chance of " + percent(chance)
		}
	}
	return text + "; last/first is the rate in the last tenth of the rows over that in the first. ns/key is the time a key in one goroutine, " +
		"its layout's limit counted; uncapped is that of the code alone: never compare one with the other. p99 is the 99th percentile of the " +
		"time for one key at a fixed rate."
}

// tableNames says what the names of the verdicts mean, in the first sentence of what they are.
func tableNames(out *strings.Builder, databases []result.Database) {
	about, names := map[string]string{}, []string(nil)
	for _, d := range databases {
		for _, s := range d.Strategies {
			about[s.Name] = cmp.Or(about[s.Name], line(s.About))
		}
		for _, a := range decisions(d) {
			for _, name := range a.Take {
				if !slices.Contains(names, name) && about[name] != "" {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	for i, name := range names {
		if i == 0 {
			out.WriteString("\nThe names of the verdicts; the page of the report has all.\n\n")
		}
		first, _, _ := strings.Cut(about[name], ". ")
		first, _, _ = strings.Cut(first, ": ")
		wrap(out, wide, "   "+line(name)+"  ", strings.TrimSuffix(first, "."))
	}
}

// tableTake writes which key to take for each criterion, with its figures.
func tableTake(out *strings.Builder, all []result.Decision) {
	table, tie := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), false
	for _, d := range all {
		row := "   " + d.Want + "\t" + taken(d)
		if figures := measured(d); figures != "" {
			row += "\t" + figures
		}
		fmt.Fprintln(table, row)
		tie = tie || d.State == result.Tie
	}
	_ = table.Flush() // into a strings.Builder, which never fails
	if tie {
		out.WriteString("\n   " + tieText + "\n")
	}
}

// tableWhy writes the same with reasons.
func tableWhy(out *strings.Builder, all []result.Decision) {
	for _, d := range all {
		wrap(out, wide, "   ● ", d.Want+": "+taken(d))
		wrap(out, wide, "       ", strings.Join(d.Because[:min(len(d.Because), few)], "; "))
		for _, not := range d.Not[:min(len(d.Not), few)] {
			wrap(out, wide, "       – not ", not)
		}
	}
}
