package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteTable writes the result as text for a terminal. What was not measured is a dash, with the reason below the table.
func (r Result) WriteTable(w io.Writer) error {
	var out strings.Builder
	for i, d := range r.Database {
		if i > 0 {
			out.WriteByte('\n')
		}
		d.write(&out, r)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (d DatabaseResult) write(out *strings.Builder, r Result) {
	settings := make([]string, len(d.Settings))
	for i, s := range d.Settings {
		settings[i] = s.Name + "=" + s.Value
	}
	fmt.Fprintf(out, "%s (%s)\n%s\n%d rows a table, %d an INSERT, %d rounds in turns; %s/%s, %d CPUs, %s\n\n", d.Version, d.DSN,
		strings.Join(settings, " "), r.Rows, r.Batch, r.Rounds, r.Machine.OS, r.Machine.Arch, r.Machine.CPUs, r.Machine.Go)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "strategy\trows/s\tslowest\tfastest\t×\ttable B/row\tindex B/row\tns/key\tkeys/s at most\t")
	var notes []string
	for _, s := range d.Strategies {
		_, _ = fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.0f\t%.2f\t%s\t%s\t%s\t%s\t\n", s.Name,
			s.RowsPerSecond.Median(), slices.Min(s.RowsPerSecond), slices.Max(s.RowsPerSecond), s.RowsPerSecond.RatioTo(d.Strategies[0].RowsPerSecond),
			s.bytes(s.TableBytes, r.Rows), s.bytes(s.IndexBytes, r.Rows), s.generation(), s.limit())
		if s.NoSize != "" {
			notes = append(notes, fmt.Sprintf("%s: no sizes, %s", s.Name, s.NoSize))
		}
	}
	_ = table.Flush() // into a strings.Builder, which never fails
	fmt.Fprintln(out)
	for _, note := range notes {
		fmt.Fprintln(out, note)
	}
	fmt.Fprintf(out, `rows/s is the median of the rounds, through GORM with the key made on the way; × is the median of its ratios to %s in
the same round, which a noisy machine disturbs less. ns/key is the generator alone, in bursts below its limit; keys/s at most
is that limit for one process, where the layout sets one.
`, d.Strategies[0].Name)
}

func (s StrategyResult) bytes(n int64, rows int) string {
	if s.NoSize != "" {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(n)/float64(rows))
}

func (s StrategyResult) generation() string {
	if len(s.GenerationNS) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", s.GenerationNS.Median())
}

func (s StrategyResult) limit() string {
	if s.Limit == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", s.Limit)
}
