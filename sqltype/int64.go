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
	"math"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// What the types of keys have in common is here, as functions on the int64 that each of them is. Other packages know a type of keys by
// reflection: it is declared in this package and its kind is int64. So nothing else may be.

// maxExact is 2^53-1, the greatest integer up to which JavaScript has every one.
const maxExact = 1<<53 - 1

// What a type of keys and the pointer to it must have.
type (
	value interface {
		driver.Valuer
		json.Marshaler
		encoding.TextMarshaler
		encoding.TextAppender
		fmt.Stringer
		schema.GormDataTypeInterface
		schema.CreateClausesInterface
		GormDBDataType(*gorm.DB, *schema.Field) string
		Int64() int64
	}
	pointer interface {
		value
		sql.Scanner
		json.Unmarshaler
		encoding.TextUnmarshaler
		flag.Value
	}
)

// parse takes the one text of a number, for which caches, signatures and logs of URLs need no second: no plus sign and no zeros in front.
func parse(text string) (int64, error) {
	digits := strings.TrimPrefix(text, "-")
	if strings.HasPrefix(text, "+") || text == "-0" || len(digits) > 1 && digits[0] == '0' {
		return 0, fmt.Errorf("%w: %q, want a decimal number without a plus sign or zeros in front", ErrSyntax, strings.Clone(text))
	}
	return parseAny(text)
}

// parseAny takes signs and zeros too, as columns with ZEROFILL have them. It keeps nothing of text, so that the string of what a driver has read need
// not be allocated.
func parseAny(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && strings.Trim(text[1:], "0123456789") == "": // strconv looks no further than to where the number is too great
		return 0, fmt.Errorf("%w: %q, want %d to %d", ErrRange, strings.Clone(text), int64(math.MinInt64), int64(math.MaxInt64))
	case err != nil:
		return 0, fmt.Errorf("%w: %q, want a decimal number", ErrSyntax, strings.Clone(text))
	}
	return n, nil
}

func set(key *int64, text string) error {
	n, err := parse(text)
	return keep(key, n, err)
}

// keep sets a key to what was read, and leaves it as it is after an error.
func keep(key *int64, n int64, err error) error {
	if err == nil {
		*key = n
	}
	return err
}

func scan(key *int64, src any) error {
	switch v := src.(type) {
	case int64:
		*key = v
		return nil
	case uint64:
		if v > math.MaxInt64 {
			return fmt.Errorf("%w: %d, at most %d", ErrRange, v, int64(math.MaxInt64))
		}
		*key = int64(v)
		return nil
	case string:
		n, err := parseAny(v)
		return keep(key, n, err)
	case []byte:
		if v == nil {
			return ErrNull
		}
		n, err := parseAny(string(v))
		return keep(key, n, err)
	case nil:
		return ErrNull
	}
	return fmt.Errorf("%w: %T %v, want an integer or a decimal number", ErrSyntax, src, src)
}

func format(key int64) string { return strconv.FormatInt(key, 10) }

func appendText(b []byte, key int64) ([]byte, error) { return strconv.AppendInt(b, key, 10), nil }

// marshalJSON gives a string.
func marshalJSON(key int64) ([]byte, error) {
	b := append(make([]byte, 0, len(`"-9223372036854775808"`)), '"')
	b = strconv.AppendInt(b, key, 10)
	return append(b, '"'), nil
}

// unmarshalJSON takes a string, null, or a number, which number checks.
func unmarshalJSON(key *int64, data []byte, number func(int64) error) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if n := len(data); n >= 2 && data[0] == '"' && data[n-1] == '"' {
		if bytes.IndexByte(data, '\\') < 0 {
			return set(key, string(data[1:n-1]))
		}
		var text string // a digit may be written \u0031; no one does it, so it may allocate
		if err := json.Unmarshal(data, &text); err != nil {
			return fmt.Errorf("%w: %w", ErrSyntax, err)
		}
		return set(key, text)
	}
	n, err := parseAny(string(data))
	if err == nil {
		err = number(n)
	}
	return keep(key, n, err)
}

func anyNumber(int64) error { return nil }

func exactNumber(n int64) error {
	if n < -maxExact || n > maxExact {
		return fmt.Errorf("%w: %d, want %d to %d (2^53-1); make it a string, as sqltype.ID and sqltype.Key are, or make keys with the layout js53",
			ErrPrecision, n, int64(-maxExact), int64(maxExact))
	}
	return nil
}

// gormDataType makes GORM take a key for no auto-increment one: it does so for its own types int and uint alone.
const gormDataType = "bigint"

func gormDBDataType(db *gorm.DB) string {
	if db.Name() == "sqlite" {
		return "integer"
	}
	return "bigint"
}
