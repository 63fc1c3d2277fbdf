package grant

import "math/rand/v2"

// The protocol is in these functions, from one row to the next. They know ticks and no clocks; the keeper tells them the time, and the
// store makes the change only if the row is still the one that they were given.

// terms are what grants are made by.
type terms struct {
	least, most int64 // the numbers
	length      int64 // ticks granted ahead of now
	skew        int64 // ticks that a holder's clock may be ahead and have its range extended by
	end         int64 // the layout has no tick from there on
}

// acquired returns the row of a number that a new holder takes.
func (t terms) acquired(old Row, holder string, now int64) Row {
	from := max(old.Until, now)
	if old.Holder == Absent {
		// A number without a row may have been in use before there were grants, up to this moment.
		from = now + 1
	}
	return Row{Number: old.Number, Holder: holder, From: from, Until: min(from+t.length, t.end)}
}

// enough tells whether a holder whose clock shows own has all of the row that it would be granted now, or more.
func (t terms) enough(row Row, now, own int64) bool {
	return row.Until >= min(t.end, t.length+max(now, min(own, now+t.skew)))
}

// renewed returns the row of a number that its holder, whose clock shows own, goes on with. Until always grows, as long as the layout has
// ticks, so that a swap that was applied can be told from one that was not.
func (t terms) renewed(row Row, now, own int64) Row {
	now = max(now, min(own, now+t.skew))
	row.Until = min(max(row.Until+1, now+t.length), t.end)
	return row
}

// released returns the row of a number that its holder gives back; end is the tick after the last one it has used.
func (t terms) released(row Row, end int64) Row {
	return Row{Number: row.Number, From: row.From, Until: min(row.Until, max(row.From, end))}
}

// choose returns the row of a number to acquire, from those that there are: one that is free; else one that has no row yet; else the one
// whose ticks before until were used and given back by a holder whose clock was ahead. It is a different one each time where there is a
// choice, lest all that ask at once choose the same; tries tells how often that has happened.
func (t terms) choose(rows []Row, now int64, tries int) (Row, bool) {
	var free, ahead []Row
	for _, row := range rows {
		switch {
		case row.Until <= now:
			free = append(free, row)
		case row.Holder == "" && row.Until <= now+max(1, t.skew) && (len(ahead) == 0 || row.Until < ahead[0].Until):
			ahead = []Row{row}
		}
	}
	if len(free) == 0 {
		free = t.absent(rows, 1<<min(tries, 10))
	}
	if len(free) == 0 {
		free = ahead
	}
	if len(free) == 0 {
		return Row{}, false
	}
	return free[rand.IntN(len(free))], true
}

// absent returns up to n numbers that have no row.
func (t terms) absent(rows []Row, n int) []Row {
	var missing []Row
	for number := t.least; number <= t.most && len(missing) < n; number++ {
		if len(rows) > 0 && rows[0].Number == number {
			rows = rows[1:]
			continue
		}
		missing = append(missing, Row{Number: number, Holder: Absent})
	}
	return missing
}

// taken counts the rows that are held, and returns the least until of them.
func (t terms) taken(rows []Row, now int64) (held, next int64) {
	for i, row := range rows {
		if row.Until > now {
			held++
		}
		if i == 0 || row.Until < next {
			next = row.Until
		}
	}
	return held, next
}
