package sqltype

import (
	"database/sql/driver"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// ID is a 64-bit key. Its zero value is no key: a model with it gets one when it is created. As any other Go value it must not be
// written while others use it.
type ID int64

var (
	_ value   = ID(0)
	_ pointer = (*ID)(nil)
)

// ParseID returns the ID that a decimal number is. The error wraps [ErrSyntax] or [ErrRange].
func ParseID(s string) (ID, error) {
	n, err := parse(s)
	return ID(n), err
}

// Int64 returns the ID as a number.
func (id ID) Int64() int64 { return int64(id) }

// String returns the ID as a decimal number.
func (id ID) String() string { return format(int64(id)) }

// Set parses a decimal number into the ID, for use as a [flag.Value].
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

// UnmarshalText parses a decimal number. The error wraps [ErrSyntax] or [ErrRange].
func (id *ID) UnmarshalText(text []byte) error { return set((*int64)(id), string(text)) }

// MarshalJSON gives the decimal number as a string.
func (id ID) MarshalJSON() ([]byte, error) { return marshalJSON(int64(id)) }

// UnmarshalJSON takes a decimal number as a string or as a number, and null, which like in any Go value changes nothing. A number
// with a fraction or an exponent is [ErrSyntax]: it has lost digits on its way.
func (id *ID) UnmarshalJSON(data []byte) error { return unmarshalJSON((*int64)(id), data, anyNumber) }

// GormDataType says that the ID is no auto-increment number.
func (ID) GormDataType() string { return gormDataType }

// GormDBDataType gives the column's type: integer on SQLite, so that a primary key is the rowid, bigint elsewhere.
func (ID) GormDBDataType(db *gorm.DB, _ *schema.Field) string { return gormDBDataType(db) }

// CreateClauses gives GORM what fails an INSERT of a row without a primary key, an [ErrNoKey], where package gormplugin's Plugin is not registered.
func (ID) CreateClauses(field *schema.Field) []clause.Interface { return createClauses(field) }
