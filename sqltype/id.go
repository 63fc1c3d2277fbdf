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

// ID is a 64-bit key. Its zero value is no key: a model with it gets one when it is created. As any other Go value it must not be
// written while others use it.
type ID int64

var (
	_ value   = ID(0)
	_ pointer = (*ID)(nil)
)

// ParseID returns the ID that a decimal number is, as in a URL: its one text, so no plus sign and no zeros in front. The error wraps [ErrSyntax]
// or [ErrRange].
func ParseID(s string) (ID, error) {
	n, err := parse(s)
	return ID(n), err
}

// ParseShortID returns the ID of a text of [ID.Short]. It reads what people mix up, as Crockford has it: small letters, o as 0, i and l as 1, zeros
// in front. Where only one text may stand for an ID, compare it with Short. The error wraps [ErrSyntax] or [ErrRange].
func ParseShortID(s string) (ID, error) {
	n, err := parseShort(s)
	return ID(n), err
}

// Int64 returns the ID as a number.
func (id ID) Int64() int64 { return int64(id) }

// String returns the ID as a decimal number.
func (id ID) String() string { return format(int64(id)) }

// Time returns when the ID was made, to the millisecond in UTC, by the layout [idgen.Snowkey], which is the plugin's default. A zero or negative
// ID has the zero time.
func (id ID) Time() time.Time { return parts(int64(id)).Time }

// Parts returns the time, node and sequence of the ID by the layout [idgen.Snowkey], zero ones of a zero or negative ID. The Decode of another
// layout, such as that of plugin.Layout(), takes its keys apart.
func (id ID) Parts() idgen.Parts { return parts(int64(id)) }

// Short returns the ID to Crockford's base 32, for people and short links: at most 13 digits and capital letters. A negative ID, which no layout
// makes, stays decimal.
func (id ID) Short() string { return short(int64(id)) }

// Set parses a decimal number as [ParseID] does, for use as a [flag.Value].
func (id *ID) Set(s string) error { return set((*int64)(id), s) }

// Value gives the database driver an int64.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan takes an int64, a uint64, or a decimal number as string or []byte from the database. NULL is [ErrNull]. After an error the ID
// is what it was.
func (id *ID) Scan(src any) error { return scan((*int64)(id), src) }

// MarshalText gives the decimal number, also for the keys of JSON objects.
func (id ID) MarshalText() ([]byte, error) { return appendText(nil, int64(id)) }

// AppendText appends the decimal number to b.
func (id ID) AppendText(b []byte) ([]byte, error) { return appendText(b, int64(id)) }

// UnmarshalText parses a decimal number as [ParseID] does. The error wraps [ErrSyntax] or [ErrRange].
func (id *ID) UnmarshalText(text []byte) error { return set((*int64)(id), string(text)) }

// MarshalJSON gives the decimal number as a string.
func (id ID) MarshalJSON() ([]byte, error) { return marshalJSON(int64(id)) }

// UnmarshalJSON takes a decimal number as a string or as a number, and null, which like in any Go value changes nothing. A number
// with a fraction or an exponent is [ErrSyntax]: it has lost digits on its way.
func (id *ID) UnmarshalJSON(data []byte) error { return unmarshalJSON((*int64)(id), data, anyNumber) }

// MarshalGQL writes the decimal number as a string, for gqlgen.
func (id ID) MarshalGQL(w io.Writer) { marshalGQL(w, int64(id)) }

// UnmarshalGQL takes a decimal number as [ParseID] does, a json.Number, or an integer. The error wraps [ErrSyntax], [ErrRange] or [ErrNull].
func (id *ID) UnmarshalGQL(value any) error { return unmarshalGQL((*int64)(id), value) }

// GormDataType says that the ID is no auto-increment number.
func (ID) GormDataType() string { return gormDataType }

// GormDBDataType gives the column's type: integer on SQLite, so that a primary key is the rowid, bigint elsewhere.
func (ID) GormDBDataType(db *gorm.DB, _ *schema.Field) string { return gormDBDataType(db) }

// CreateClauses gives GORM what fails an INSERT of a row without a primary key, an [ErrNoKey], where package gormplugin's Plugin is not registered.
func (ID) CreateClauses(field *schema.Field) []clause.Interface { return createClauses(field) }
