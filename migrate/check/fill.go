package check

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

const (
	leastTable = 16 << 20 // bytes of a table that is worth a rebuild
	longestRow = 2000     // bytes; of longer ones a page has too few for the order of arrival to matter
	leastFill  = 0.65     // random keys leave pages 69 % full in the long run

	// A rebuild leaves a sixteenth of each page free, and the table has free pages. A row has a header, the number of its transaction and
	// the place of its former version.
	fullPage, rowHeader = 0.8, 5 + 6 + 7
)

// checkFill looks for pages of InnoDB that are half empty. The rows of a table lie in the pages of its primary key, so it looks at keys that the primary key begins
// with. How long rows are it learns from some hundred of them, spread over the range of the keys.
func (c *checker) checkFill(ctx context.Context, t *catalog.Table, k targetKey) error {
	if c.database.Dialect() != dialect.MySQL || len(t.Key()) == 0 || t.Key()[0] != k.at.Name {
		return nil
	}
	var rows, bytes sql.NullFloat64
	err := c.database.Each(ctx, "SELECT TABLE_ROWS, DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"+
		" AND ENGINE = 'InnoDB' AND ROW_FORMAT IN ('Compact', 'Dynamic') AND CREATE_OPTIONS NOT LIKE '%page_compressed%'",
		[]any{t.Full.Schema, t.Full.Name}, []any{&rows, &bytes}, nil)
	if err != nil || bytes.Float64 < leastTable || rows.Float64 == 0 {
		return err
	}
	length, err := c.rowLength(ctx, t, k.at)
	if err != nil || length == 0 || length > longestRow {
		return err
	}
	taken := bytes.Float64 / rows.Float64
	fill := length / taken
	if fill >= leastFill {
		return nil
	}
	m := fix{statements: []string{fmt.Sprintf("ALTER TABLE %s FORCE", c.database.Quoted(t.Name))}}
	if k.layout.Bits(idgen.Stream) == 0 {
		m.note = "the layout packed keeps the pages of new rows full, see docs/page-splits.md"
	}
	c.add(t, k.at.Name, HalfEmpty, m, "its pages are %.0f %% full: a row has about %.0f bytes and takes %.0f. Rows that arrived out of the order of their keys have split pages "+
		"in the middle, or rows were deleted. A rebuild makes the table of %.0f MB about %.0f MB", 100*fill, length, taken, bytes.Float64/1e6,
		rows.Float64*length/fullPage/1e6)
	return nil
}

// rowLength returns how many bytes the rows of a table have on average, 0 where that cannot be told.
func (c *checker) rowLength(ctx context.Context, t *catalog.Table, key *catalog.Column) (float64, error) {
	var name, kind, nullable string
	var octets, precision, scale, fraction sql.NullInt64
	fixed, nullables, varying := rowHeader, 0, []string{"0"}
	known := true
	err := c.database.Each(ctx, "SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION"+
		" FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND EXTRA NOT LIKE '%VIRTUAL%'",
		[]any{t.Full.Schema, t.Full.Name}, []any{&name, &kind, &nullable, &octets, &precision, &scale, &fraction}, func() error {
			bytes, isFixed := fixedBytes(kind, precision.Int64, scale.Int64, fraction.Int64)
			if nullable == "YES" {
				nullables++
			}
			switch quoted := c.database.Quote(name); {
			case isFixed && nullable == "YES":
				varying = append(varying, fmt.Sprintf("IF(%s IS NULL, 0, %d)", quoted, bytes))
			case isFixed:
				fixed += bytes
			case octets.Valid && octets.Int64 <= 255:
				varying = append(varying, fmt.Sprintf("COALESCE(LENGTH(%s) + 1, 0)", quoted))
			case octets.Valid || kind == "json":
				varying = append(varying, fmt.Sprintf("COALESCE(LENGTH(%s) + 2, 0)", quoted))
			default: // of a kind that this does not know, such as a point
				known = false
			}
			return nil
		})
	if err != nil || !known {
		return 0, err
	}
	column, table := c.database.Quote(key.Name), c.database.Quoted(t.Name)
	var least, most sql.NullString
	if err := c.database.Each(ctx, fmt.Sprintf("SELECT CAST(MIN(%[1]s) AS char), CAST(MAX(%[1]s) AS char) FROM %[2]s", column, table), nil, []any{&least, &most}, nil); err != nil {
		return 0, err
	}
	from, err := strconv.ParseInt(least.String, 10, 64)
	to, failed := strconv.ParseInt(most.String, 10, 64)
	if err != nil || failed != nil || from < 0 {
		return 0, nil
	}
	const places, each = 8, 50
	var found, sum float64
	for i := range int64(places) {
		var rows, bytes sql.NullFloat64
		err := c.database.Each(ctx, fmt.Sprintf("SELECT COUNT(*), SUM(bytes) FROM (SELECT %s AS bytes FROM %s WHERE %s >= ? ORDER BY %[3]s LIMIT %d) AS some",
			strings.Join(varying, " + "), table, column, each), []any{from + (to-from)/places*i}, []any{&rows, &bytes}, nil)
		if err != nil {
			return 0, err
		}
		found, sum = found+rows.Float64, sum+bytes.Float64
	}
	if found == 0 {
		return 0, nil
	}
	return float64(fixed+(nullables+7)/8) + sum/found, nil
}

// fixedBytes returns how many bytes InnoDB stores a value of a type in, if each has as many.
func fixedBytes(kind string, precision, scale, fraction int64) (int, bool) {
	digits := func(n int64) int { return int(n/9*4) + []int{0, 1, 1, 2, 2, 3, 3, 4, 4}[n%9] }
	switch kind {
	case "tinyint", "year", "enum":
		return 1, true
	case "smallint":
		return 2, true
	case "mediumint", "date":
		return 3, true
	case "int", "float":
		return 4, true
	case "bigint", "double", "set":
		return 8, true
	case "bit":
		return int(precision+7) / 8, true
	case "decimal":
		return digits(precision-scale) + digits(scale), true
	case "timestamp":
		return 4 + int(fraction+1)/2, true
	case "time":
		return 3 + int(fraction+1)/2, true
	case "datetime":
		return 5 + int(fraction+1)/2, true
	case "uuid", "inet6":
		return 16, true
	case "inet4":
		return 4, true
	}
	return 0, false
}
