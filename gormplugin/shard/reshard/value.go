package reshard

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// expressions are those that give columns as values that can be written again without loss: of PostgreSQL texts; of SQLite what is stored, which
// drivers do not give for columns that are declared as times.
func expressions(c *catalog.Catalog, columns []*catalog.Column) string {
	list := make([]string, len(columns))
	for i, column := range columns {
		e := c.Quote(column.Name)
		kind := strings.ToLower(column.Type)
		switch {
		case c.Dialect() == dialect.Postgres:
			e += "::text"
		case c.Dialect() == dialect.SQLite:
			e = "+" + e
		case column.Class == catalog.Floating:
			e += " + 0e0" // a FLOAT's text has six digits
		case strings.HasPrefix(kind, "date"), strings.HasPrefix(kind, "time"), strings.HasPrefix(kind, "year"):
			e = "CAST(" + e + " AS CHAR)" // drivers make times of them, which have no 0000-00-00
		}
		list[i] = e
	}
	return strings.Join(list, ", ")
}

// canonical returns a value that a driver gave as one that is written without loss, and that does not depend on whether the driver had it as a text.
func canonical(d dialect.Dialect, c *catalog.Column, v any) (any, error) {
	if d == dialect.SQLite {
		return v, nil // of the classes of storage, a text is no blob
	}
	switch x := v.(type) {
	case []byte:
		switch {
		case d == dialect.MySQL && c.Class == catalog.Integer:
			return string(x), nil
		case d == dialect.MySQL && c.Class == catalog.Other && !plain(c):
			return x, nil
		case d == dialect.MySQL && c.Class == catalog.Floating:
			return strconv.ParseFloat(string(x), 64)
		}
		return string(x), nil
	case int64:
		return strconv.FormatInt(x, 10), nil
	case uint64:
		return strconv.FormatUint(x, 10), nil
	case float32:
		return float64(x), nil
	}
	return v, nil
}

// plain tells whether a column of MySQL that is of no class is a text nevertheless: a date, enum or set.
func plain(c *catalog.Column) bool {
	kind := strings.ToLower(c.Type)
	for _, prefix := range []string{"d", "e", "se", "tim", "y"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

// fingerprint returns a sum of a row's values that another row's do not have.
func fingerprint(values []any) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	for _, v := range values {
		var tag byte
		var text []byte
		switch v := v.(type) {
		case nil:
			tag = 'n'
		case string:
			tag, text = 't', []byte(v)
		case []byte:
			tag, text = 'b', v
		case int64:
			tag, text = 'i', strconv.AppendInt(nil, v, 10)
		case float64:
			tag, text = 'f', binary.BigEndian.AppendUint64(nil, math.Float64bits(v))
		case bool:
			tag, text = 'l', strconv.AppendBool(nil, v)
		default:
			return sum, fmt.Errorf("reshard: a value of the type %T, which the driver gave, cannot be compared", v)
		}
		_, _ = h.Write(append(binary.BigEndian.AppendUint64([]byte{tag}, uint64(len(text))), text...)) // never fails
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// sum64 returns 16 letters that another text does not have.
func sum64(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
