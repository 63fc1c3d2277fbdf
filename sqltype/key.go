package sqltype

import (
	"database/sql/driver"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
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

// ParseKey returns the Key that a decimal number is. The error wraps [ErrSyntax] or [ErrRange].
func ParseKey[T any](s string) (Key[T], error) {
	n, err := parse(s)
	return Key[T](n), err
}

// Int64 returns the Key as a number.
func (key Key[T]) Int64() int64 { return int64(key) }

// String returns the Key as a decimal number.
func (key Key[T]) String() string { return format(int64(key)) }

// Set parses a decimal number into the Key, for use as a [flag.Value].
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

// UnmarshalText parses a decimal number. The error wraps [ErrSyntax] or [ErrRange].
func (key *Key[T]) UnmarshalText(text []byte) error { return set((*int64)(key), string(text)) }

// MarshalJSON gives the decimal number as a string.
func (key Key[T]) MarshalJSON() ([]byte, error) { return marshalJSON(int64(key)) }

// UnmarshalJSON takes a decimal number as a string or as a number, and null, which like in any Go value changes nothing. A number
// with a fraction or an exponent is [ErrSyntax]: it has lost digits on its way.
func (key *Key[T]) UnmarshalJSON(data []byte) error {
	return unmarshalJSON((*int64)(key), data, anyNumber)
}

// GormDataType says that the Key is no auto-increment number.
func (Key[T]) GormDataType() string { return gormDataType }

// GormDBDataType gives the column's type: integer on SQLite, so that a primary key is the rowid, bigint elsewhere.
func (Key[T]) GormDBDataType(db *gorm.DB, _ *schema.Field) string { return gormDBDataType(db) }

// CreateClauses gives GORM what fails an INSERT of a row without a primary key, an [ErrNoKey], where package gormplugin's Plugin is not registered.
func (Key[T]) CreateClauses(field *schema.Field) []clause.Interface { return createClauses(field) }
