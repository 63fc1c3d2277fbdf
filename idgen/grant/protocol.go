package grant

import "math/rand/v2"

// The protocol is in these functions, from one row to the next. They know ticks and no clocks; the keeper tells them the time, and the
// store makes the change only if the row is still the one that they were given.

// terms are what grants are made by.
type terms struct {
	least, most   int64 // the numbers
	first, length int64 // ticks granted ahead of now, at first and at most
	lead          int64 // ticks ahead of now that a generator may make ids at
	skew          int64 // ticks that a number which was given back may begin in the future by, when no other is free
	end           int64 // the layout has no tick from there on
}

// begin is the tick at which a grant begins at the earliest: after all that anybody can have used by now, whatever the rows say. Of a
// store that was restored from an older copy they do not say all.
func (t terms) begin(now int64) int64 { return now + 1 + t.lead }

// acquired returns the row of a number that a new holder takes, whose generator has made ids before the tick used.
func (t terms) acquired(old Row, holder string, now, used int64) Row {
	from := max(old.Until, t.begin(now), used)
	return Row{Number: old.Number, Holder: holder, From: from, Until: min(from+t.first, t.end)}
}

// ahead returns how many ticks ahead of now a row is granted. It grows with the time that the holder has had it, so that the number of a
// process which dies young comes free soon.
func (t terms) ahead(row Row, now int64) int64 { return min(max(now-row.From, t.first), t.length) }

// enough reports whether a holder has all of the row that it would be granted now, or more.
func (t terms) enough(row Row, now int64) bool {
	return row.Until >= min(t.end, now+t.ahead(row, now))
}

// renewed returns the row of a number that its holder goes on with. Until always grows, as long as the layout has ticks, so that a swap
// that was applied can be told from one that was not.
func (t terms) renewed(row Row, now int64) Row {
	row.Until = min(max(row.Until+1, now+t.ahead(row, now)), t.end)
	return row
}

// released returns the row of a number that its holder gives back; end is the tick after the last one it has used.
func (t terms) released(row Row, end int64) Row {
	return Row{Number: row.Number, From: row.From, Until: min(row.Until, max(row.From, end))}
}

// choose returns the row of a number to acquire, from those that a listing has: one that is free; else one that has no row yet; else the
// one whose ticks before until were used and given back by a holder whose clock was ahead. It is a different one each time where there is
// a choice, lest all that ask at once choose the same; tries tells how often that has happened.
func (t terms) choose(l Listing, now int64, tries int) (Row, bool) {
	var free, ahead []Row
	for _, row := range l.Rows {
		switch {
		case row.Until <= now:
			free = append(free, row)
		case row.Holder == "" && row.Until <= now+max(1, t.skew) && (len(ahead) == 0 || row.Until < ahead[0].Until):
			ahead = []Row{row}
		}
	}
	if len(free) == 0 && l.held() <= now {
		free = t.absent(l, 1<<min(tries, 10))
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
func (t terms) absent(l Listing, n int) []Row {
	var missing []Row
	rows := l.Rows
	for number := t.least; number <= t.most && len(missing) < n; number++ {
		if len(rows) > 0 && rows[0].Number == number {
			rows = rows[1:]
			continue
		}
		missing = append(missing, Row{Number: number, Holder: Absent, Until: l.held()})
	}
	return missing
}

// taken returns what there is to say of numbers of which none is free: how many are held, how many of these by holders that do not renew
// them, how many have no row, and the least tick that one comes free at.
func (t terms) taken(l Listing, now int64) (held, silent, missing, next int64) {
	for i, row := range l.Rows {
		if row.Until > now {
			held++
			if t.silent(row, now) {
				silent++
			}
		}
		if i == 0 || row.Until < next {
			next = row.Until
		}
	}
	if missing = t.most - t.least + 1 - int64(len(l.Rows)); missing > 0 { // of rows that are gone
		held += missing
		if next > l.held() || len(l.Rows) == 0 {
			next = l.held()
		}
	}
	return held, silent, missing, next
}

// silent reports whether the holder of a row has not renewed it for three times as long as holders with these terms take. Then its process
// has most likely ended without giving the number back.
func (t terms) silent(row Row, now int64) bool {
	if row.Holder == "" {
		return false
	}
	// What was granted ahead at the last renewal: the row's Until is when that was, and this.
	had := row.Until - row.From
	ahead := min(max(had/2, t.first), t.length)
	return now-(row.Until-ahead) > 3*ahead/10
}
