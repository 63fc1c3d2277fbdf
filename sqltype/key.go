package sqltype

import (
	"database/sql/driver"
	"io"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
)

// Key is the [ID] of a model T: the compiler refuses a Key[Order] where a Key[User] belongs. T is nothing but the name; it may be the
// very struct that the Key is a field of.
//
//	type User struct {
//		ID sqltype.Key[User]
//	}
//
// In all else it is what an ID is, zero value included. Key[User](id) and ID(key) convert.
type Key[T any] int64

var (
	_ value   = Key[struct{}](0)
	_ pointer = (*Key[struct{}])(nil)
)

// ParseKey returns the Key that a decimal number is, as in a URL: its one text, so no plus sign and no zeros in front. The error wraps [ErrSyntax]
// or [ErrRange].
func ParseKey[T any](s string) (Key[T], error) {
	n, err := parse(s)
	return Key[T](n), err
}

// ParseShortKey returns the Key of a text of [Key.Short]. It reads what people mix up, as Crockford has it: small letters, o as 0, i and l as 1, zeros
// in front. Where only one text may stand for a Key, compare it with Short. The error wraps [ErrSyntax] or [ErrRange].
func ParseShortKey[T any](s string) (Key[T], error) {
	n, err := parseShort(s)
	return Key[T](n), err
}

// Int64 returns the Key as a number.
func (key Key[T]) Int64() int64 { return int64(key) }

// String returns the Key as a decimal number.
func (key Key[T]) String() string { return format(int64(key)) }

// Time returns when the Key was made, to the millisecond in UTC, by the layout [idgen.Snowkey], which is the plugin's default. A zero or negative
// Key has the zero time.
func (key Key[T]) Time() time.Time { return parts(int64(key)).Time }

// Parts returns the time, node and sequence of the Key by the layout [idgen.Snowkey], zero ones of a zero or negative Key. The Decode of another
// layout, such as that of plugin.Layout(), takes its keys apart.
func (key Key[T]) Parts() idgen.Parts { return parts(int64(key)) }

// Short returns the Key to Crockford's base 32, for people and short links: at most 13 digits and capital letters. A negative Key, which no layout
// makes, stays decimal.
func (key Key[T]) Short() string { return short(int64(key)) }

// Set parses a decimal number as [ParseKey] does, for use as a [flag.Value].
func (key *Key[T]) Set(s string) error { return set((*int64)(key), s) }

// Value gives the database driver an int64.
func (key Key[T]) Value() (driver.Value, error) { return int64(key), nil }

// Scan takes an int64, a uint64, or a decimal number as string or []byte from the database. NULL is [ErrNull]. After an error the Key
// is what it was.
func (key *Key[T]) Scan(src any) error { return scan((*int64)(key), src) }

// MarshalText gives the decimal number, also for the keys of JSON objects.
func (key Key[T]) MarshalText() ([]byte, error) { return appendText(nil, int64(key)) }

// AppendText appends the decimal number to b.
func (key Key[T]) AppendText(b []byte) ([]byte, error) { return appendText(b, int64(key)) }

// UnmarshalText parses a decimal number as [ParseKey] does. The error wraps [ErrSyntax] or [ErrRange].
func (key *Key[T]) UnmarshalText(text []byte) error { return set((*int64)(key), string(text)) }

// MarshalJSON gives the decimal number as a string.
func (key Key[T]) MarshalJSON() ([]byte, error) { return marshalJSON(int64(key)) }

// UnmarshalJSON takes a decimal number as a string or as a number, and null, which like in any Go value changes nothing. A number
// with a fraction or an exponent is [ErrSyntax]: it has lost digits on its way.
func (key *Key[T]) UnmarshalJSON(data []byte) error {
	return unmarshalJSON((*int64)(key), data, anyNumber)
}

// MarshalGQL writes the decimal number as a string, for gqlgen.
func (key Key[T]) MarshalGQL(w io.Writer) { marshalGQL(w, int64(key)) }

// UnmarshalGQL takes a decimal number as [ParseKey] does, a json.Number, or an integer. The error wraps [ErrSyntax], [ErrRange] or [ErrNull].
func (key *Key[T]) UnmarshalGQL(value any) error { return unmarshalGQL((*int64)(key), value) }

// GormDataType says that the Key is no auto-increment number.
func (Key[T]) GormDataType() string { return gormDataType }

// GormDBDataType gives the column's type: integer on SQLite, so that a primary key is the rowid, bigint elsewhere.
func (Key[T]) GormDBDataType(db *gorm.DB, _ *schema.Field) string { return gormDBDataType(db) }

// CreateClauses gives GORM what fails an INSERT of a row without a primary key, an [ErrNoKey], where package gormplugin's Plugin is not registered.
func (Key[T]) CreateClauses(field *schema.Field) []clause.Interface { return createClauses(field) }
