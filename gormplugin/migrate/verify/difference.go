package verify

import (
	"fmt"
	"strings"
)

// mostShown is how many sets that differ a check names.
const mostShown = 5

// compareDigests notes the check of a table's other columns. A difference is never certain to be a fault: the application may change and delete any row.
func (v *verifier) compareDigests(c Check, r *reading, before, now digest) {
	type pair struct{ before, now set }
	var differ []pair
	i, j := 0, 0
	for i < len(before.Sets) || j < len(now.Sets) {
		switch {
		case j == len(now.Sets) || i < len(before.Sets) && before.Sets[i].Number < now.Sets[j].Number:
			differ = append(differ, pair{before.Sets[i], set{Number: before.Sets[i].Number}})
			i++
		case i == len(before.Sets) || now.Sets[j].Number < before.Sets[i].Number:
			differ = append(differ, pair{set{Number: now.Sets[j].Number}, now.Sets[j]})
			j++
		default:
			if before.Sets[i] != now.Sets[j] {
				differ = append(differ, pair{before.Sets[i], now.Sets[j]})
			}
			i, j = i+1, j+1
		}
	}
	if len(differ) == 0 {
		v.judge(c, true, fmt.Sprintf("%d rows", before.rows()), fmt.Sprintf("%d rows", now.rows()), "")
		return
	}
	fewer, more := int64(0), int64(0)
	var shown []string
	for n, d := range differ {
		fewer, more = fewer+max(0, d.before.Rows-d.now.Rows), more+max(0, d.now.Rows-d.before.Rows)
		if n < mostShown {
			shown = append(shown, before.span(d.before.Number))
		}
	}
	if len(differ) > mostShown {
		shown = append(shown, fmt.Sprintf("and %d more", len(differ)-mostShown))
	}
	got := fmt.Sprintf("%d of %d sets of rows differ", len(differ), max(len(before.Sets), len(now.Sets)))
	if fewer > 0 {
		got += fmt.Sprintf(", %d rows are gone", fewer)
	}
	if more > 0 {
		got += fmt.Sprintf(", %d rows have come", more)
	}
	text := "Since the digest was taken, rows among these were changed, deleted or added in columns that the plan does not change: by the application, or by a fault. "
	if r.anchor != "" {
		c.Example = "old " + r.anchor + " " + strings.Join(shown, ", ")
	}
	v.doubt(c, fmt.Sprintf("%d rows as they were", before.rows()), got, text+"Compare these rows with a backup; where nobody has written since the run began, it is a fault.")
}

// span returns the old ids of a set, for people.
func (d *digest) span(number int64) string {
	first := number << d.Shift
	if d.Shift == 0 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d to %d", first, min(first+(1<<d.Shift-1), d.Top))
}
