package inspect

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// createdNames are what a column is called that tells when a row was made, without underlines and in small letters; the first is the best.
var createdNames = []string{"createdat", "created", "creationtime", "insertedat", "createdon", "createdate", "createddate", "datecreated", "creationdate", "createtime",
	"createdtime", "insertedon", "addedat", "addedon", "dateadded"}

// createdEnds follow the name of what a row is, in a column that tells when it was made: invoice_date of invoices.
var createdEnds = []string{"date", "time", "at", "on", "timestamp"}

var dateAtBegin = regexp.MustCompile(`^\d{4}-\d\d-\d\d(?:[Tt ]|$)`)

var zoneAtEnd = regexp.MustCompile(`(?:[Zz]|[+-]\d\d(?::?\d\d)?)$`)

// findCreated finds the column that tells when a row was made: that of a model, or one of a usual name and a type of time, or an integer. On SQLite, where
// no type is one of time, it may be a text: the values tell then, see readCreated.
func (i *inspector) findCreated(s *subject) {
	if name, ok := i.models.created[s.Full]; ok {
		if col := i.column(s, name); col != nil && (holdsTime(col) || i.writesTime(col)) {
			s.created = col
			return
		}
	}
	i.guessCreated(s, holdsTime, func(col *catalog.Column) bool { return col.Class == catalog.Time })
	if s.created == nil {
		i.guessCreated(s, i.writesTime, i.writesTime)
	}
}

// guessCreated takes the column of the best name whose type fits, or the one that is named after what a row is, with a type for that.
func (i *inspector) guessCreated(s *subject, fits, fitsOne func(*catalog.Column) bool) {
	plain := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
	for _, name := range createdNames {
		for _, col := range s.Columns {
			if plain(col.Name) == name && fits(col) && col != s.key {
				s.created, s.guessed = col, true
				return
			}
		}
	}
	one := plain(i.singular(s.words))
	for _, col := range s.Columns {
		if end, ok := strings.CutPrefix(plain(col.Name), one); !ok || !slices.Contains(createdEnds, end) || !fitsOne(col) {
			continue
		}
		if s.created != nil { // there are two
			s.created, s.guessed = nil, false
			return
		}
		s.created, s.guessed = col, true
	}
}

func holdsTime(col *catalog.Column) bool {
	return col.Class == catalog.Time || strings.EqualFold(col.Type, "date") || col.Class == catalog.Integer && (col.Bits == 0 || col.Bits >= 32)
}

// writesTime reports whether times may be in a column of SQLite as texts: 2026-01-02T03:04:05Z.
func (i *inspector) writesTime(col *catalog.Column) bool {
	return i.dialect == dialect.SQLite && (col.Class == catalog.Text || col.Class == catalog.Decimal || col.Class == catalog.Other)
}

// readCreated reads what the values tell: of integers, which unit they have; on SQLite, whether they are times, and have a zone.
func (i *inspector) readCreated(ctx context.Context, s *subject) error {
	col := s.created
	c := &Created{Column: col.Name, Type: col.Type, Zoned: col.Zoned, Nulls: col.Nullable, Guessed: s.guessed}
	s.report.Created = c
	if col.Class != catalog.Integer && i.dialect != dialect.SQLite {
		return nil
	}
	var values []string
	if s.key != nil && !s.beyond {
		for _, end := range []string{" DESC", ""} {
			name, key := i.quote(col.Name), i.quote(s.key.Name)
			found, err := i.texts(ctx, "SELECT v FROM (SELECT "+i.text(name)+" AS v FROM "+i.quoted(s)+" ORDER BY "+key+end+" LIMIT 100) last WHERE v IS NOT NULL LIMIT 10")
			if err != nil {
				return err
			}
			values = append(values, found...)
		}
	}
	integers := len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { _, err := strconv.ParseInt(v, 10, 64); return err != nil })
	dates := len(slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !dateAtBegin.MatchString(v) }))
	switch unit := i.models.units[s.Full]; {
	case col.Class == catalog.Integer || integers:
		c.Zoned = true // since 1970 in UTC
		if integers && unit == "" {
			n, _ := strconv.ParseInt(values[0], 10, 64) // the check above has parsed it
			if n < 1e8 {                                // before 1973: a flag, or who created it
				s.created, s.report.Created = nil, nil
				return nil
			}
			unit, _ = unixUnit(n)
		}
		if unit != "" {
			c.Type = fmt.Sprintf("%s, unix %s", col.Type, unit)
		}
	case i.writesTime(col) && len(values) > 0 && dates <= len(values)/2: // who created it, for one
		s.created, s.report.Created = nil, nil
	case len(values) > 0:
		c.Zoned = !slices.ContainsFunc(values, func(v string) bool { return !zoneAtEnd.MatchString(v) || len(v) <= len("2006-01-02") })
	}
	return nil
}

// unixUnit tells what a number since 1970 counts: the unit in which it is between 1973 and 5138.
func unixUnit(n int64) (string, time.Duration) {
	switch {
	case n < 1e11:
		return "seconds", time.Second
	case n < 1e14:
		return "milliseconds", time.Millisecond
	case n < 1e17:
		return "microseconds", time.Microsecond
	}
	return "nanoseconds", time.Nanosecond
}

// aged is a row with its age by the database's clock. A time that says no zone is taken for the session's: a week is seldom a day off.
type aged struct {
	key     int64
	age     time.Duration
	unknown bool
}

// age is an expression for the seconds since a row was made; of integers, for their value.
func (i *inspector) age(col *catalog.Column) string {
	c := "t." + i.quote(col.Name)
	switch {
	case col.Class == catalog.Integer && i.dialect != dialect.SQLite:
		return c
	case i.dialect == dialect.MySQL:
		return "TIMESTAMPDIFF(SECOND, " + c + ", CURRENT_TIMESTAMP)"
	case i.dialect == dialect.SQLite:
		return "CASE typeof(" + c + ") WHEN 'integer' THEN " + c + " WHEN 'text' THEN (julianday('now') - julianday(" + c + ")) * 86400 END"
	case col.Zoned:
		return "CAST(CASE WHEN isfinite(" + c + ") THEN EXTRACT(EPOCH FROM (CURRENT_TIMESTAMP - " + c + ")) END AS float8)"
	}
	return "CAST(CASE WHEN isfinite(" + c + ") THEN EXTRACT(EPOCH FROM (LOCALTIMESTAMP - " + c + ")) END AS float8)"
}

// from returns the first row whose key is at least the one given.
func (i *inspector) from(ctx context.Context, s *subject, key int64) (row aged, err error) {
	name := i.quote(s.key.Name)
	numbers := "0"
	switch {
	case i.dialect == dialect.SQLite:
		numbers = "CASE typeof(t." + i.quote(s.created.Name) + ") WHEN 'integer' THEN 1 ELSE 0 END"
	case s.created.Class == catalog.Integer:
		numbers = "1"
	}
	row.unknown = true
	query := "SELECT t." + name + ", " + i.age(s.created) + ", " + numbers + " FROM " + i.quoted(s) + " t WHERE t." + name + " >= " + decimal(key) + " ORDER BY t." + name + " LIMIT 1"
	var value sql.NullFloat64
	var number bool
	err = i.catalog.Each(ctx, query, nil, []any{&row.key, &value, &number}, func() error {
		if !value.Valid || math.Abs(value.Float64) > 9e18 {
			return nil
		}
		seconds := value.Float64
		if number {
			if seconds == 0 {
				return nil
			}
			_, unit := unixUnit(int64(seconds))
			seconds = float64(time.Now().Unix()) - seconds*unit.Seconds()
		}
		if math.Abs(seconds) < math.MaxInt64/1e9 {
			row.age, row.unknown = time.Duration(seconds*1e9), false
		}
		return nil
	})
	return row, err
}

// rate returns how many keys a day are used: those since a week ago, or, when there are none, a month, a year, or the first row. That is
// found by halving the range of keys, so with one look at the index for each of at most 64 halvings, whether times have an index or not;
// keys and times are taken to grow together. It is 0 when it is unknown.
func (i *inspector) rate(ctx context.Context, s *subject) (float64, error) {
	const day = 24 * time.Hour
	for _, window := range []time.Duration{7 * day, 30 * day, 365 * day, math.MaxInt64} {
		first, before, err := i.since(ctx, s, window)
		if err != nil {
			return 0, err
		}
		if first.unknown || first.key >= s.greatest { // none, or the last row alone
			continue
		}
		span := first.age
		if before { // the rows of the whole window are there
			span = window
		}
		if span < time.Hour { // too short to tell of days
			return 0, nil
		}
		return (float64(s.greatest) - float64(first.key) + 1) / (float64(span) / float64(day)), nil
	}
	return 0, nil
}

// since returns the first row that is not older than an age, and whether there are rows before it.
func (i *inspector) since(ctx context.Context, s *subject, age time.Duration) (first aged, before bool, err error) {
	first.unknown = true
	for low, high := s.least, s.greatest; low <= high; {
		row, err := i.from(ctx, s, low+int64(uint64(high-low)/2))
		if err != nil {
			return first, false, err
		}
		if !row.unknown && row.age <= age {
			first = row
			high = min(low+int64(uint64(high-low)/2), row.key)
			if high == math.MinInt64 {
				break
			}
			high--
			continue
		}
		if row.key >= high || row.key < low { // none after it, or it was deleted meanwhile
			break
		}
		low = row.key + 1
	}
	return first, first.key > s.least, nil
}
