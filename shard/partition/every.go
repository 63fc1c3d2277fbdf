package partition

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Every is how much time a partition holds, by the calendar of a time zone.
type Every int

// The lengths of a partition's time. A day has 23 or 25 hours where the clocks change. A week begins on Monday.
const (
	Day Every = iota + 1
	Week
	Month
)

var everyNames = map[Every]string{Day: "day", Week: "week", Month: "month"}

// String returns "day", "week" or "month".
func (e Every) String() string {
	if name, ok := everyNames[e]; ok {
		return name
	}
	return fmt.Sprintf("Every(%d)", int(e))
}

// ParseEvery reads what [Every.String] returns. The error wraps [ErrTable].
func ParseEvery(text string) (Every, error) { return named(everyNames, "period", text) }

// named returns the value of a name.
func named[T ~int](names map[T]string, what, text string) (T, error) {
	var all []string
	for _, value := range slices.Sorted(maps.Keys(names)) {
		if names[value] == text {
			return value, nil
		}
		all = append(all, names[value])
	}
	return 0, fmt.Errorf("%w: unknown %s %q; there are %s", ErrTable, what, text, strings.Join(all, ", "))
}

// start returns the first instant of the period that an instant lies in.
func (e Every) start(t time.Time, in *time.Location) time.Time { return e.shift(t, 0, in) }

// shift returns the first instant of the period that comes n periods after the one that an instant lies in.
func (e Every) shift(t time.Time, n int, in *time.Location) time.Time {
	year, month, day := t.In(in).Date()
	switch e {
	case Month:
		return first(year, month+time.Month(n), 1, in)
	case Week:
		since := (int(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()) + 6) % 7
		return first(year, month, day-since+7*n, in)
	}
	return first(year, month, day+n, in)
}

// next returns the first instant of the period after the one that an instant lies in. A zone may leave out a day, as Samoa did in 2011.
func (e Every) next(t time.Time, in *time.Location) time.Time {
	start := e.start(t, in)
	for n := 1; n < 3; n++ {
		if next := e.shift(t, n, in); next.After(start) {
			return next
		}
	}
	return e.shift(t, 3, in)
}

// first returns the first instant of a date. Midnight is not there in a zone that changes its clock forward at midnight, and comes twice where
// one changes it back to midnight: time.Date promises neither end of the one nor an order of the other.
func first(year int, month time.Month, day int, in *time.Location) time.Time {
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC) // the date, with months of 13 and days of 0 put right
	t := time.Date(date.Year(), date.Month(), date.Day(), 0, 0, 0, 0, in)
	if before(t, date) {
		_, t = t.ZoneBounds()
		t = t.In(in)
	}
	if begin, _ := t.ZoneBounds(); !begin.IsZero() {
		last := begin.Add(-1).In(in)
		if year, month, day := last.Date(); year == date.Year() && month == date.Month() && day == date.Day() {
			hour, minute, second := last.Clock()
			t = last.Add(-time.Duration(hour)*time.Hour - time.Duration(minute)*time.Minute - time.Duration(second)*time.Second - time.Duration(last.Nanosecond()))
		}
	}
	return t
}

// before reports whether an instant has an earlier date than the one whose midnight in UTC is given.
func before(t, date time.Time) bool {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Before(date)
}
