package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
)

// wide is how many characters a line of text has at most; tables with long names of strategies are wider.
const wide = 110

// Table writes the result as text for a terminal: which key to take, and for each database the figures, what failed, what was left out, and why
// to take that key. What was not measured is a dash, with the reason below. Its errors are those of w.
func Table(w io.Writer, r result.Document) error {
	var out strings.Builder
	tableHead(&out, r)
	if slices.ContainsFunc(r.Databases, func(d result.Database) bool { return len(look(d).measured) > 0 }) {
		out.WriteByte('\n')
		tableTake(&out, r.Databases)
	}
	explained := ""
	for _, d := range r.Databases {
		out.WriteByte('\n')
		explained = tableDatabase(&out, r, d, explained)
	}
	if len(r.Databases) == 0 {
		out.WriteString("\nNo database was measured.\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// tableHead says first whether the run was broken off, then what ran where.
func tableHead(out *strings.Builder, r result.Document) {
	if r.Interrupted != "" {
		wrap(out, wide, "NOT COMPLETE: ", r.Interrupted+". What was measured until then follows.")
	}
	for _, d := range r.Databases {
		if d.Failed != "" {
			wrap(out, wide, "FAILED: ", line(d.Name)+": "+d.Failed)
		}
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
	return strings.Join(append(parts, m.Go), ", ")
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
	v := look(d)
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
		out.WriteByte('\n')
	} else {
		out.WriteString("   No strategy was measured.\n\n")
	}
	for _, s := range v.failing {
		for _, c := range s.Verify.Checks {
			if c.State == result.Failed {
				wrap(out, wide, "   FAILS  ", line(s.Name)+", "+checkText(c))
			}
		}
	}
	for _, text := range v.doubled() {
		wrap(out, wide, "   UNSAFE  ", text)
	}
	for _, s := range v.skipped {
		wrap(out, wide, "   skipped  ", line(s.Name)+": "+s.Skipped)
	}
	if len(v.failing)+len(v.doubled())+len(v.skipped) > 0 {
		out.WriteByte('\n')
	}
	if len(v.measured) > 0 {
		tableWhy(out, Advise(d))
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

// settingsText has the settings that the figures depend on, and the cache.
func settingsText(d result.Database) string {
	text := settings(d)
	if d.Cache.OK() {
		return text + ", cache of " + size(d.Cache.Median())
	}
	return text + ", cache unknown: " + because(d.Cache)
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

// tableMeasured writes the figures, and the notes below them.
func tableMeasured(out *strings.Builder, v view, plan int) {
	columns := append(rateColumns(v, plan),
		medians("table B/row", func(s result.Strategy) result.Figure { return s.Storage.Table }, result.Short),
		medians("index B/row", func(s result.Strategy) result.Figure { return s.Storage.Index }, result.Short),
		medians("ns/key", func(s result.Strategy) result.Figure { return speed(s.Generation.Capped, 1, 1) }, result.Short),
		medians("uncapped", func(s result.Strategy) result.Figure { return speed(s.Generation.Uncapped, 1, 1) }, result.Short),
		percentileColumn("p99", 99),
	)
	grid, below := fill(columns, v.measured)
	names := 0
	for _, row := range grid {
		names = max(names, len([]rune(row[0])))
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range grid {
		fmt.Fprintf(table, "   %-*s\t%s\t\n", names, row[0], strings.Join(row[1:], "\t"))
	}
	for _, s := range v.measured {
		if text := tenantsText(s.Shards); text != "" {
			below.add(text, "shards", line(s.Name))
		}
	}
	_ = table.Flush() // into a strings.Builder, which never fails
	out.WriteByte('\n')
	for _, text := range below.lines(namesOf(v.measured)) {
		wrap(out, wide, "   "+none+" ", text)
	}
}

// legend explains the columns.
func legend(v view) string {
	text := "rows/s, through GORM with the keys made on the way, and bytes are medians of the rounds"
	if v.reference != nil {
		text += "; × is the rate over that of " + line(v.reference.Name) + " in the same rounds, \"same\" where the rounds show no difference"
	}
	if v.reference != nil {
		if _, _, ok := interval(v.reference.Growth.Overall()); ok {
			_, _, chance := v.reference.Growth.Overall().Interval()
			text += "; the interval holds the true median with a chance of " + percent(chance)
		}
	}
	return text + "; last/first is the rate in the last tenth of the rows over that in the first. ns/key is the time a key in one goroutine, " +
		"its layout's limit counted; uncapped is that of the code alone: never compare one with the other. p99 is the 99th percentile of the " +
		"time for one key at a fixed rate."
}

// tableTake writes which key to take for each criterion, with the databases beside each other: for those who want no more.
func tableTake(out *strings.Builder, databases []result.Database) {
	out.WriteString("Which key?\n\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(databases) > 1 {
		fmt.Fprint(table, "   You want")
		for _, title := range titlesOf(databases) {
			fmt.Fprintf(table, "\t%s", title)
		}
		fmt.Fprintln(table)
	}
	advice := make([][]Advice, len(databases))
	for i, d := range databases {
		advice[i] = Advise(d)
	}
	for i := range criteria {
		fmt.Fprintf(table, "   %s", criteria[i].want)
		for _, a := range advice {
			fmt.Fprintf(table, "\t%s", a[i].take())
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush() // into a strings.Builder, which never fails
}

// tableWhy writes the reasons.
func tableWhy(out *strings.Builder, all []Advice) {
	out.WriteString("   Why?\n\n")
	for _, a := range all {
		wrap(out, wide, "   ● ", a.Want+": "+a.take())
		wrap(out, wide, "       ", strings.Join(a.Because[:min(len(a.Because), few)], "; "))
		for _, not := range a.Not[:min(len(a.Not), few)] {
			wrap(out, wide, "       – not ", not)
		}
	}
}
