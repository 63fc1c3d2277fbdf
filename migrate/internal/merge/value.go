package merge

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// canonical returns a value that a driver gave as one that is written without loss, and that does not depend on whether the driver
// had it as a text: a driver of MySQL has numbers as texts in queries without parameters, and as numbers in others.
func canonical(d dialect.Dialect, c *catalog.Column, v any) (any, error) {
	if d == dialect.SQLite {
		return v, nil // of the classes of storage, a text is no blob
	}
	if d == dialect.MySQL && c.Class == catalog.Integer {
		return integer(v), nil
	}
	switch v := v.(type) {
	case []byte:
		switch {
		case d == dialect.MySQL && c.Class == catalog.Other && !plain(c):
			return v, nil
		case d == dialect.MySQL && c.Class == catalog.Floating:
			return strconv.ParseFloat(string(v), 64)
		}
		return string(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case uint64:
		return strconv.FormatUint(v, 10), nil
	case float32:
		return float64(v), nil
	}
	return v, nil
}

// integer returns an integer of MySQL's as a number: compared with a text both are taken for floating-point numbers, which tell no two
// neighbours above 2^53 apart. What is above 2^63 stays a text.
func integer(v any) any {
	switch number := v.(type) {
	case []byte:
		if n, err := strconv.ParseInt(string(number), 10, 64); err == nil {
			return n
		}
		return string(number)
	case uint64:
		if number > math.MaxInt64 {
			return strconv.FormatUint(number, 10)
		}
		return int64(number)
	}
	return v
}

// plain reports whether a column of MySQL that is of no class is a text nevertheless: a date, enum or set.
func plain(c *catalog.Column) bool {
	return len(c.Type) > 2 && (c.Type[0] == 'd' || c.Type[0] == 'e' || c.Type[:2] == "se" || c.Type[0] == 't' && c.Type[1] == 'i' && c.Type[2] == 'm' || c.Type[0] == 'y')
}

// same reports whether two values of one column are the same.
func same(a, b any) bool {
	x, isBytes := a.([]byte)
	y, areBytes := b.([]byte)
	if isBytes || areBytes {
		return isBytes && areBytes && string(x) == string(y)
	}
	return a == b
}

// weigh returns about how many bytes a row has.
func weigh(row []any) int {
	bytes := 0
	for _, v := range row {
		switch v := v.(type) {
		case string:
			bytes += len(v)
		case []byte:
			bytes += len(v)
		}
		bytes += 16
	}
	return bytes
}

// spell returns a key as a text that no other key of the table has.
func spell(key []any) string { return fmt.Sprintf("%#v", key) }

// show returns values as messages have them.
func show(values []any) string {
	if len(values) == 1 {
		return fmt.Sprint(text(values[0]))
	}
	var texts []any
	for _, v := range values {
		texts = append(texts, text(v))
	}
	return fmt.Sprint(texts)
}

// text returns bytes as a quoted text, and others as they are.
func text(v any) any {
	if b, ok := v.([]byte); ok {
		return strconv.Quote(string(b))
	}
	return v
}

// stored is a value in the journal's JSON.
type stored struct {
	Integer  *int64   `json:"i,omitempty"`
	Floating *float64 `json:"f,omitempty"`
	Text     *string  `json:"t,omitempty"`
	Bytes    []byte   `json:"b,omitempty"`
}

// store writes a key as the journal has it, an empty text for none.
func store(key []any) (string, error) {
	if key == nil {
		return "", nil
	}
	var list []stored
	for _, v := range key {
		switch v := v.(type) {
		case int64:
			list = append(list, stored{Integer: &v})
		case float64:
			list = append(list, stored{Floating: &v})
		case string:
			list = append(list, stored{Text: &v})
		case []byte:
			list = append(list, stored{Bytes: v})
		default:
			return "", fmt.Errorf("%w: a key has the value %v (%T)", ErrSchema, v, v)
		}
	}
	written, err := json.Marshal(list)
	return string(written), err
}

// restore reads what store wrote, nil of an empty text.
func restore(written string) (key []any, err error) {
	if written == "" {
		return nil, nil
	}
	var list []stored
	if err := json.Unmarshal([]byte(written), &list); err != nil {
		return nil, fmt.Errorf("%w: the journal has the key %q: %w", ErrCopied, written, err)
	}
	for _, s := range list {
		switch {
		case s.Integer != nil:
			key = append(key, *s.Integer)
		case s.Floating != nil:
			key = append(key, *s.Floating)
		case s.Text != nil:
			key = append(key, *s.Text)
		default:
			key = append(key, s.Bytes)
		}
	}
	return key, nil
}
