package sqltype

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// ID is a 64-bit key. Its zero value is no key: a model with it gets one when it is created.
type ID int64

var (
	_ sql.Scanner                  = (*ID)(nil)
	_ driver.Valuer                = ID(0)
	_ json.Marshaler               = ID(0)
	_ json.Unmarshaler             = (*ID)(nil)
	_ encoding.TextMarshaler       = ID(0)
	_ encoding.TextAppender        = ID(0)
	_ encoding.TextUnmarshaler     = (*ID)(nil)
	_ flag.Value                   = (*ID)(nil)
	_ slog.LogValuer               = ID(0)
	_ schema.GormDataTypeInterface = ID(0)
)

// ParseID returns the ID that a decimal number is. The error wraps [ErrSyntax] or [ErrRange].
func ParseID(s string) (ID, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%w: %q, at most %d", ErrRange, s, int64(math.MaxInt64))
	case err != nil:
		return 0, fmt.Errorf("%w: %q, want a decimal number", ErrSyntax, s)
	}
	return ID(n), nil
}

// Int64 returns the ID as a number.
func (id ID) Int64() int64 { return int64(id) }

// String returns the ID as a decimal number.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// Set parses a decimal number into the ID, for use as a [flag.Value].
func (id *ID) Set(s string) error { return id.UnmarshalText([]byte(s)) }

// Value gives the database driver an int64.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan takes an int64, a uint64, or a decimal number as string or []byte from the database. NULL is [ErrNull]. After an error the ID
// is what it was.
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		*id = ID(v)
		return nil
	case uint64:
		if v > math.MaxInt64 {
			return fmt.Errorf("%w: %d, at most %d", ErrRange, v, int64(math.MaxInt64))
		}
		*id = ID(v)
		return nil
	case string:
		return id.Set(v)
	case []byte:
		if v == nil {
			return ErrNull
		}
		return id.UnmarshalText(v)
	case nil:
		return ErrNull
	}
	return fmt.Errorf("%w: %T %v, want an integer or a decimal number", ErrSyntax, src, src)
}

// MarshalText gives the decimal number, also for the keys of JSON objects.
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// AppendText appends the decimal number to b.
func (id ID) AppendText(b []byte) ([]byte, error) { return strconv.AppendInt(b, int64(id), 10), nil }

// UnmarshalText parses a decimal number. The error wraps [ErrSyntax] or [ErrRange].
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// MarshalJSON gives the decimal number as a string.
func (id ID) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, len(`"-9223372036854775808"`)), '"')
	b = strconv.AppendInt(b, int64(id), 10)
	return append(b, '"'), nil
}

// UnmarshalJSON takes a decimal number as a string or as a number, and null, which like in any Go value changes nothing. A number
// with a fraction or an exponent is [ErrSyntax]: it has lost digits on its way.
func (id *ID) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if n := len(data); n >= 2 && data[0] == '"' && data[n-1] == '"' {
		data = data[1 : n-1]
	}
	return id.UnmarshalText(data)
}

// LogValue gives [log/slog] the decimal number as a string, since a log's reader may be JavaScript too.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.String()) }

// GormDataType makes GORM take the key for no auto-increment one: it does so for its own types int and uint alone.
func (ID) GormDataType() string { return "bigint" }

// GormDBDataType gives the column's type: integer on SQLite, so that a primary key is the rowid, bigint elsewhere.
func (ID) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	if db.Name() == "sqlite" {
		return "integer"
	}
	return "bigint"
}
