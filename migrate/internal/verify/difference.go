package verify

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// change is what became of a table's old rows since the digest was taken.
type change struct {
	digest
	since  time.Time      // when it was taken, by the database's clock
	differ map[int64]bool // by the sets' numbers
}

// explains reports whether a row of an old id may have been changed by the application, or has come since the digest.
func (c change) explains(old int64) bool { return old > c.Top || c.differ[old>>c.Shift] }

// difference is a set that is not as it was; a set of no rows where it is not there.
type difference struct{ before, now set }

// number returns the set's number.
func (d difference) number() int64 {
	if d.before.Sum == "" {
		return d.now.Number
	}
	return d.before.Number
}

// differences returns the sets that are not as they were.
func differences(before, now []set) (differ []difference) {
	for len(before) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(before) > 0 && before[0].Number < now[0].Number:
			differ = append(differ, difference{before: before[0]})
			before = before[1:]
		case len(before) == 0 || now[0].Number < before[0].Number:
			differ = append(differ, difference{now: now[0]})
			now = now[1:]
		default:
			if before[0] != now[0] {
				differ = append(differ, difference{before[0], now[0]})
			}
			before, now = before[1:], now[1:]
		}
	}
	return differ
}

// compareDigests notes the check of a table's other columns. The application may have changed and deleted any row, so that a difference is unknown; but where the
// database itself notes when a row was changed, one in a set that has lost no row and in which no row was changed since is a fault.
func (v *verifier) compareDigests(ctx context.Context, c Check, r *tableReader, taken time.Time, before, now digest) error {
	differ := differences(before.Sets, now.Sets)
	found := change{before, taken, map[int64]bool{}}
	for _, d := range differ {
		found.differ[d.number()] = true
	}
	v.changes[c.Table] = found
	want := fmt.Sprintf("%d rows as they were", before.rows())
	if len(differ) == 0 {
		v.judge(c, true, want, want, "")
		return nil
	}
	stamped, err := r.changedSets(ctx, before)
	if err != nil {
		return err
	}
	var gone, come int64
	var silent, lost, said []string // sets without a sign of a change, those with fewer rows, those with rows that say that they were changed
	for _, d := range differ {
		gone, come = gone+max(0, d.before.Rows-d.now.Rows), come+max(0, d.now.Rows-d.before.Rows)
		switch span := "old " + r.anchor + " " + before.span(d.number()); {
		case d.before.Rows > d.now.Rows:
			lost = append(lost, span)
		case stamped[d.number()]:
			said = append(said, span)
		default:
			silent = append(silent, span)
		}
	}
	got := fmt.Sprintf("%d of %d sets of rows differ", len(differ), max(len(before.Sets), len(now.Sets)))
	if r.changedAt != nil {
		got += fmt.Sprintf(", %d of them by %s", len(said), r.changedAt.name)
	}
	if gone > 0 {
		got += fmt.Sprintf(", %d rows are gone", gone)
	}
	if come > 0 {
		got += fmt.Sprintf(", %d rows have come", come)
	}
	if r.anchor != "" {
		c.Examples = slices.Concat(silent, lost, said)
	}
	if r.changedAt != nil && r.changedAt.automatic && len(silent) > 0 && come == 0 {
		c.Examples = silent
		v.judge(c, false, want, got, fmt.Sprintf("Rows have other values than before, though the database notes in %s when a statement changes a row, and has noted none there since. Compare them with a backup, and do not go on.", r.changedAt.name))
		return nil
	}
	text := "Since the digest was taken, rows among these were changed, deleted or added: by the application, or by a fault. Compare them with a backup; where nobody has written since the run began, it is a fault."
	if r.changedAt != nil && len(silent) > 0 {
		text = fmt.Sprintf("The sets named first have no row that says by %s that it was changed. ", r.changedAt.name) + text
	}
	v.unknown(c, want, got, text)
	return nil
}

// span returns the old ids of a set, for people.
func (d *digest) span(number int64) string {
	first := number << d.Shift
	if d.Shift == 0 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d to %d", first, min(first+(1<<d.Shift-1), d.Top))
}
