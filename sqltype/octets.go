package sqltype

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/binary"
	"flag"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm/schema"
)

// What UUID and ULID have in common is here, as functions on the 16 bytes that each of them is. Other packages know the two by their kind and length, as
// they know the types of integers.

// octetPointer is what a pointer to a type of 16 bytes must have.
type octetPointer interface {
	driver.Valuer
	sql.Scanner
	encoding.TextMarshaler
	encoding.TextAppender
	encoding.TextUnmarshaler
	flag.Value
	schema.GormDataTypeInterface
	schema.CreateClausesInterface
}

// setOctets sets a key to what parse makes of a text, and leaves it as it is after an error.
func setOctets[K ~[16]byte](key *K, text string, parse func(string) (K, error)) error {
	parsed, err := parse(text)
	if err == nil {
		*key = parsed
	}
	return err
}

// scanOctets takes 16 bytes, or a text.
func scanOctets[K ~[16]byte](key *K, src any, parse func(string) (K, error)) error {
	switch src := src.(type) {
	case []byte:
		if src == nil {
			return ErrNull
		}
		if len(src) == 16 {
			*key = K([16]byte(src))
			return nil
		}
		return setOctets(key, string(src), parse)
	case string:
		return setOctets(key, src, parse)
	case [16]byte:
		*key = src
		return nil
	case nil:
		return ErrNull
	}
	return fmt.Errorf("%w: %T %v, want 16 bytes or a text", ErrSyntax, src, src)
}

// unmarshalOctetsGQL takes a text.
func unmarshalOctetsGQL[K ~[16]byte](key *K, v any, parse func(string) (K, error)) error {
	switch v := v.(type) {
	case string:
		return setOctets(key, v, parse)
	case nil:
		return ErrNull
	}
	return fmt.Errorf("%w: %T %v, want a text", ErrSyntax, v, v)
}

// tagged is the type that the field's tag gives the column, "" for none.
func tagged(field *schema.Field) string {
	if field == nil {
		return ""
	}
	return field.TagSettings["TYPE"]
}

// onSQLite is the type of a column on SQLite, which takes NULL in a primary key that is no integer unless the column says otherwise.
func onSQLite(column string, field *schema.Field) string {
	if field != nil && field.PrimaryKey && !field.NotNull {
		return column + " NOT NULL"
	}
	return column
}

// millisecond is the first 8 bytes of the least key of a time, cut to its range.
func millisecond(t time.Time) uint64 { return uint64(min(max(t.UnixMilli(), 0), 1<<48-1)) << 16 }

func timeOf(key [16]byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(key[:]) >> 16)).UTC()
}

// clipped is a copy of a text as an error shows it, so that the text itself need not be allocated.
func clipped(s string) string {
	if len(s) > 50 {
		return s[:50] + "…"
	}
	return strings.Clone(s)
}
