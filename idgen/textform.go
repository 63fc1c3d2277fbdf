package idgen

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The most characters before the placeholder of a text form, and the greatest offset of its dates from UTC.
const (
	maxPrefix = 32
	maxOffset = 14 * time.Hour
)

const day = 24 * time.Hour

// TextForm is a text form of ids with a prefix, the date or both in front, for texts such as order numbers. It has a name:
//
//	base58             1541815603606036480 is 4aaW4SzAyQK: the name of an [Encoding]
//	ORD-{base58}       ORD-4aaW4SzAyQK: letters of your own, and an encoding in braces
//	{date}             20220628243521732190208: the date in UTC, and the rest of the id, here of the layout [Twitter]
//	ORD-{date+08:00}   ORD-20220629001929821790208: the date in a time zone of a fixed offset
//
// Every id has one text, and every text is of one id. Texts of one form with a date all have the same length, and sort as their ids do. Their rest counts the ids
// of the layout from the day's first one, in as many decimal digits as a day needs: 15 of [Snowkey]. Nothing is hidden: who knows the layout reads the id.
//
// A TextForm is made by [ParseTextForm], immutable, comparable with ==, and safe for concurrent use.
type TextForm struct {
	name     string
	prefix   string
	encoding Encoding // of a form without the date
	layout   Layout   // of a form with the date
	offset   time.Duration
	width    int // digits after the date
}

// ParseTextForm returns the text form of a name, for ids of the layout, which is of no account without a date.
//
// The error wraps [ErrEncoding] when the placeholder is unknown, or when the prefix has more than 32 characters, or one that is not printable ASCII, a space or a
// brace. It wraps [ErrLayout] for a date of a layout whose time is not one field on top, since ids of a day are no range then.
func ParseTextForm(name string, layout Layout) (TextForm, error) {
	prefix, placeholder, found := strings.Cut(name, "{")
	if !found || strings.HasPrefix(name, alphabetName) {
		encoding, err := LookupEncoding(name)
		if err != nil {
			return TextForm{}, fmt.Errorf("%w; or text and a placeholder in braces, such as ORD-{date} and ORD-{base58}", err)
		}
		return TextForm{name: name, encoding: encoding}, nil
	}
	placeholder, found = strings.CutSuffix(placeholder, "}")
	if !found || strings.Contains(placeholder, "}") && !strings.HasPrefix(placeholder, alphabetName) {
		return TextForm{}, fmt.Errorf("%w: the text form %s must end with the brace of its one placeholder, as ORD-{date} and ORD-{base58} do", ErrEncoding, clip(name))
	}
	for i, c := range prefix {
		if c <= ' ' || c > '~' || c == '}' {
			return TextForm{}, fmt.Errorf("%w: the text form %s has %q at place %d, must be printable ASCII, no space and no brace", ErrEncoding, clip(name), c, i+1)
		}
	}
	if len(prefix) > maxPrefix {
		return TextForm{}, fmt.Errorf("%w: the text form %s has %d characters before its placeholder, at most %d", ErrEncoding, clip(name), len(prefix), maxPrefix)
	}
	offset, found := strings.CutPrefix(placeholder, "date")
	if !found {
		encoding, err := LookupEncoding(placeholder)
		if err != nil {
			return TextForm{}, fmt.Errorf("%w; {date} or {date+08:00} is a placeholder, too", err)
		}
		return TextForm{name: name, prefix: prefix, encoding: encoding}, nil
	}
	f := TextForm{name: name, prefix: prefix, layout: layout}
	if offset != "" {
		zoned, err := time.Parse("-07:00", offset)
		_, seconds := zoned.Zone()
		if f.offset = time.Duration(seconds) * time.Second; err != nil || f.offset.Abs() > maxOffset || zoned.Format("-07:00") != offset {
			return TextForm{}, fmt.Errorf("%w: the text form %s has the offset %s, must be -14:00 to +14:00", ErrEncoding, clip(name), clip(offset))
		}
	}
	switch {
	case layout.unit == 0:
		return TextForm{}, fmt.Errorf("%w: the text form %s needs the layout of the ids, and there is none", ErrLayout, clip(name))
	case layout.fields[0].kind != Time || layout.low.bits > 0:
		return TextForm{}, fmt.Errorf("%w: %s has no single field of time on top, which a text form with a date needs", ErrLayout, layout)
	}
	ticks := min((day-1)/layout.unit+1, time.Duration(layout.Max(Time))+1)
	f.width = len(strconv.FormatUint(uint64(ticks)<<layout.Shift(Time)-1, 10))
	return f, nil
}

// Name returns the name that [ParseTextForm] knows, and "" for the zero TextForm.
func (f TextForm) Name() string { return f.name }

// CaseSensitive reports whether two texts may differ in nothing but the case of a letter.
func (f TextForm) CaseSensitive() bool { return f.encoding.CaseSensitive() }

// Encode returns the text of an id. The error wraps [ErrRange] when the id is negative, or not one of the layout with a date before the year 10000.
func (f TextForm) Encode(id int64) (string, error) {
	var buffer [128]byte
	b, err := f.AppendText(buffer[:0], id)
	return string(b), err
}

// AppendText appends the text of an id to b, at most 95 bytes, and allocates nothing when b has room for it. Its errors are those of [TextForm.Encode]; b
// is returned as it was then.
func (f TextForm) AppendText(b []byte, id int64) ([]byte, error) {
	if f.width == 0 {
		text, err := f.encoding.AppendText(append(b, f.prefix...), id)
		if err != nil {
			return b, err
		}
		return text, nil
	}
	parts, err := f.layout.Decode(id)
	if err != nil {
		return b, err
	}
	date := parts.Time.Add(f.offset).Truncate(day)
	if year := date.Year(); year > 9999 {
		return b, fmt.Errorf("%w: the id %d is of the year %d, a text form with a date ends with 9999", ErrRange, id, year)
	}
	first, err := f.first(date)
	if err != nil {
		return b, err
	}
	b = date.AppendFormat(append(b, f.prefix...), dateDigits)
	var buffer [20]byte
	rest := strconv.AppendInt(buffer[:0], id-first, 10)
	for range f.width - len(rest) {
		b = append(b, '0')
	}
	return append(b, rest...), nil
}

const dateDigits = "20060102"

// first returns the least id of a date, which is given as its begin in UTC.
func (f TextForm) first(date time.Time) (int64, error) {
	begin := date.Add(-f.offset)
	if begin.Before(f.layout.Epoch()) {
		begin = f.layout.Epoch()
	}
	tick, err := f.layout.tickOf(begin.Add(f.layout.unit - 1)) // the first one that does not begin before
	return f.layout.placeTick(tick), err
}

// Parse returns the id that a text stands for. The error wraps [ErrSyntax] when the text has not the form, and [ErrRange] when no id of the layout
// has its date and its rest.
func (f TextForm) Parse(s string) (int64, error) {
	rest, found := strings.CutPrefix(s, f.prefix)
	if !found {
		return 0, fmt.Errorf("%w: %s does not begin with %s", ErrSyntax, clip(s), f.prefix)
	}
	if f.width == 0 {
		return f.encoding.Parse(rest)
	}
	if len(rest) != len(dateDigits)+f.width {
		return 0, fmt.Errorf("%w: %s has %d characters after its prefix, must be %d: 8 of the date and %d of the rest", ErrSyntax, clip(s), len(rest), len(dateDigits)+f.width, f.width)
	}
	date, err := time.Parse(dateDigits, rest[:len(dateDigits)])
	if err != nil {
		return 0, fmt.Errorf("%w: %s has %q for its date, must be YYYYMMDD", ErrSyntax, clip(s), rest[:len(dateDigits)])
	}
	count, err := strconv.ParseUint(rest[len(dateDigits):], 10, maxBits)
	if err != nil {
		return 0, fmt.Errorf("%w: %s has %q after its date, must be %d digits", ErrSyntax, clip(s), rest[len(dateDigits):], f.width)
	}
	id, err := f.first(date)
	if err == nil {
		id += int64(count)
		var parts Parts
		if parts, err = f.layout.Decode(id); err == nil && parts.Time.Add(f.offset).Truncate(day).Equal(date) {
			return id, nil
		}
	}
	return 0, fmt.Errorf("%w: no id of %s has the date and the rest of %s", ErrRange, f.layout, clip(s))
}
