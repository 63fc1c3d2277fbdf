package inspect

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Write writes the report for people: keys, those with the least room first, references, and what stands in the way. What a plan
// needs is said by migrate.Advise. Control characters in names are replaced, so that none reaches a terminal. The error is the writer's.
func (r *Report) Write(w io.Writer) error {
	var b bytes.Buffer
	d := r.Database
	fmt.Fprintf(&b, "%s, %s\n", printable(d.Version), printable(d.Name))
	if len(r.Tables) == 0 {
		b.WriteString("\nThere are no tables.\n")
	}
	r.writeKeys(&b)
	r.writeReferences(&b)
	r.writeObstacles(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// table writes rows of cells below each other, after a title.
func table(b *bytes.Buffer, title string, rows [][]string) {
	if len(rows) < 2 { // the head alone
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for n := range row {
			row[n] = printable(row[n])
		}
		_, _ = fmt.Fprintln(t, "  "+strings.TrimRight(strings.Join(row, "\t"), "\t")) // a buffer's writes do not fail
	}
	_ = t.Flush()
}

func (r *Report) writeKeys(b *bytes.Buffer) {
	tables := slices.Clone(r.Tables)
	slices.SortStableFunc(tables, func(a, b Table) int {
		used := func(t Table) float64 {
			if t.Key == nil {
				return -1
			}
			return t.Key.Used
		}
		return cmp.Compare(used(b), used(a))
	})
	rows := [][]string{{"TABLE", "KEY", "TYPE", "MADE BY", "ROWS", "GREATEST", "USED", "A DAY", "DAYS LEFT", "CREATED"}}
	none := [][]string{{"TABLE", "ROWS", "WHY"}}
	for _, t := range tables {
		count := "~" + group(t.Rows)
		switch {
		case t.Rows < 0:
			count = "unknown"
		case t.Exact:
			count = group(t.Rows)
		}
		if t.Key == nil {
			none = append(none, []string{t.Name, count, t.NoKey})
			continue
		}
		k := t.Key
		perDay, left, created := "", "", ""
		if k.PerDay > 0 {
			perDay, left = fmt.Sprintf("%.0f", k.PerDay), days(k.DaysLeft)
		}
		if t.Created != nil {
			created = t.Created.Column
		}
		rows = append(rows, []string{t.Name, k.Column, k.Type, cmp.Or(k.Auto, "-"), count, group(k.Greatest), fmt.Sprintf("%.1f%%", 100*k.Used), cmp.Or(perDay, "-"), cmp.Or(left, "-"), cmp.Or(created, "-")})
	}
	table(b, "KEYS", rows)
	table(b, "TABLES WITHOUT A KEY THAT CAN BE MIGRATED", none)
}

func days(n float64) string {
	switch {
	case n >= 365*1000:
		return "over 1,000 years"
	case n >= 3650:
		return fmt.Sprintf("%.0f years", n/365)
	}
	return fmt.Sprintf("%.0f", n)
}

func (r *Report) writeReferences(b *bytes.Buffer) {
	rows := [][]string{{"REFERENCE", "TO", "SURE", "ORPHANS", "WHY"}}
	for _, f := range r.References {
		from := f.Table + "." + f.Column
		if f.Path != "" {
			from += ":" + f.Path
		}
		if f.OwnerType != "" {
			from += " where " + f.OwnerType + " is " + f.Owner
		}
		orphans := group(f.Orphans)
		if f.Orphans < 0 {
			orphans = "-"
		}
		rows = append(rows, []string{from, f.To + "." + f.ToColumn, string(f.Confidence), orphans, f.Why})
	}
	table(b, "REFERENCES", rows)
}

func (r *Report) writeObstacles(b *bytes.Buffer) {
	rows := [][]string{{"TABLE", "KIND", "NAME", "BLOCKS", "WHAT IT DOES"}}
	for _, o := range r.Obstacles {
		rows = append(rows, []string{cmp.Or(o.Table, "-"), o.Kind, cmp.Or(o.Name, o.Column, "-"), cmp.Or(strings.Join(o.Blocks, ", "), "-"), o.Text})
		if o.Do != "" {
			rows = append(rows, []string{"", "", "", "", "→ " + o.Do})
		}
	}
	table(b, "WHAT STANDS IN THE WAY, OR IS TO BE KNOWN", rows)
}

// Accept is how an obstacle is named to say that it is accepted: KIND:TABLE.NAME, KIND:TABLE when it has no name, and KIND:NAME when it is of no table.
func (o Obstacle) Accept() string {
	name := o.Table
	if o.Table != "" && o.Name != "" {
		name += "."
	}
	return o.Kind + ":" + name + o.Name
}

// printable replaces what a terminal could take for more than letters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
