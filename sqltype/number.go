package sqltype

import (
	"database/sql/driver"
	"log/slog"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// Number is an [ID] that is a number in JSON, not a string, for clients that insist on it. Above 2^53-1 JavaScript has no longer every
// integer, and reads a key as a neighbour of it; such a Number is not written at all: that is [ErrPrecision]. Only what is JSON has the
// limit. The keys of JSON objects are strings, also here.
//
// The option ",string" of encoding/json is not for a Number: Go does not write the quotes that it then wants to read. Use an ID, which
// has them.
//
// It has no Time and no Parts, since keys below 2^53 are of another layout than the default one, such as js53 of package idgen, whose Decode
// takes them apart. It has no MarshalGQL either: GraphQL's Int has 32 bits, and its scalar ID is a string.
//
// In all else it is what an ID is, zero value included. Number(id) and ID(number) convert.
type Number int64

var (
	_ value   = Number(0)
	_ pointer = (*Number)(nil)

	_ slog.LogValuer = Number(0)
)

// ParseNumber returns the Number that a decimal number is, as in a URL: its one text, so no plus sign and no zeros in front. The error wraps [ErrSyntax]
// or [ErrRange].
func ParseNumber(s string) (Number, error) {
	n, err := parse(s)
	return Number(n), err
}

// ParseShortNumber returns the Number of a text of [Number.Short]. It reads what people mix up, as Crockford has it: small letters, o as 0, i and
// l as 1, zeros in front. Where only one text may stand for a Number, compare it with Short. The error wraps [ErrSyntax] or [ErrRange].
func ParseShortNumber(s string) (Number, error) {
	n, err := parseShort(s)
	return Number(n), err
}

// Int64 returns the Number as a number.
func (n Number) Int64() int64 { return int64(n) }

// String returns the Number as a decimal number.
func (n Number) String() string { return format(int64(n)) }

// Short returns the Number to Crockford's base 32, for people and short links: at most 13 digits and capital letters. A negative Number, which no layout
// makes, stays decimal.
func (n Number) Short() string { return short(int64(n)) }

// Set parses a decimal number as [ParseNumber] does, for use as a [flag.Value].
func (n *Number) Set(s string) error { return set((*int64)(n), s) }

// Value gives the database driver an int64.
func (n Number) Value() (driver.Value, error) { return int64(n), nil }

// Scan takes an int64, a uint64, or a decimal number as string or []byte from the database. NULL is [ErrNull]. After an error the Number
// is what it was.
func (n *Number) Scan(src any) error { return scan((*int64)(n), src) }

// MarshalText gives the decimal number, also for the keys of JSON objects.
func (n Number) MarshalText() ([]byte, error) { return appendText(nil, int64(n)) }

// AppendText appends the decimal number to b.
func (n Number) AppendText(b []byte) ([]byte, error) { return appendText(b, int64(n)) }

// UnmarshalText parses a decimal number as [ParseNumber] does. The error wraps [ErrSyntax] or [ErrRange].
func (n *Number) UnmarshalText(text []byte) error { return set((*int64)(n), string(text)) }

// MarshalJSON gives the decimal number as a number, or [ErrPrecision] when it is below -9007199254740991 or above 9007199254740991,
// which is 2^53-1.
func (n Number) MarshalJSON() ([]byte, error) {
	if err := exactNumber(int64(n)); err != nil {
		return nil, err
	}
	return appendText(nil, int64(n))
}

// UnmarshalJSON takes a decimal number as a string or as a number, and null, which like in any Go value changes nothing. A number
// with a fraction or an exponent is [ErrSyntax], and one below -9007199254740991 or above 9007199254740991 [ErrPrecision]: who sent it
// may have lost digits. A string has all of them, and may be any 64-bit number.
func (n *Number) UnmarshalJSON(data []byte) error {
	return unmarshalJSON((*int64)(n), data, exactNumber)
}

// LogValue gives [log/slog] the decimal number as a string, since a log's reader may be JavaScript too, and so that no Number is too great
// for a log. A *Number that is nil must not be logged: slog writes that LogValue panicked.
func (n Number) LogValue() slog.Value { return slog.StringValue(format(int64(n))) }

// GormDataType says that the Number is no auto-increment number.
func (Number) GormDataType() string { return gormDataType }

// GormDBDataType gives the column's type: integer on SQLite, so that a primary key is the rowid, bigint elsewhere.
func (Number) GormDBDataType(db *gorm.DB, _ *schema.Field) string { return gormDBDataType(db) }

// CreateClauses gives GORM what fails an INSERT of a row without a primary key, an [ErrNoKey], where package gormplugin's Plugin is not registered.
func (Number) CreateClauses(field *schema.Field) []clause.Interface { return createClauses(field) }
