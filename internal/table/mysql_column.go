package table

import (
	"context"
	"regexp"
	"strings"
)

var mysqlBits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

func (s MySQL) readColumns(ctx context.Context, tables []*Table) error {
	var read Column
	var kind string
	var precision, scale, length int64
	return s.EachOf(ctx, tables, `SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, COALESCE(NUMERIC_PRECISION, 0), COALESCE(NUMERIC_SCALE, 0),
			COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), IS_NULLABLE = 'YES', COALESCE(COLUMN_DEFAULT, ''), EXTRA, COLUMN_COMMENT, COALESCE(GENERATION_EXPRESSION, ''), COALESCE(COLLATION_NAME, '')
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN (?) ORDER BY TABLE_NAME, ORDINAL_POSITION`,
		[]any{&read.Name, &read.Type, &kind, &precision, &scale, &length, &read.Nullable, &read.Default, &read.Extra, &read.Comment, &read.Generated, &read.Collation}, func(t *Table) error {
			col := read
			t.Columns = append(t.Columns, &col)
			switch kind = strings.ToLower(kind); kind {
			case "tinyint", "smallint", "mediumint", "int", "bigint":
				col.Class, col.Bits, col.Unsigned = Integer, mysqlBits[kind], strings.Contains(col.Type, "unsigned")
			case "decimal":
				col.Class, col.Digits = Decimal, int(precision-scale)
			case "float", "double":
				col.Class = Floating
			case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
				col.Class, col.Digits = Text, int(length)
			case "datetime", "timestamp":
				col.Class, col.Zoned = Time, kind == "timestamp"
			case "json":
				col.Class = JSON
			}
			switch {
			case strings.Contains(strings.ToLower(col.Extra), "auto_increment"):
				col.Auto = "AUTO_INCREMENT"
			case callsNextval(col.Default):
				col.Default = Backticks(col.Default)
				col.Auto = "DEFAULT " + col.Default
				col.Sequence = mysqlSequence(col.Default, t.Full.Schema)
				if col.Sequence != (Name{}) {
					col.SequenceBits = 64
				}
			}
			if i := strings.Index(strings.ToLower(col.Extra), "on update "); i >= 0 {
				col.OnUpdate = col.Extra[i+len("on update "):]
			}
			return nil
		})
}

var mysqlNextval = regexp.MustCompile("(?i)^\\(?nextval\\((?:(`(?:[^`]|``)*`)\\.)?(`(?:[^`]|``)*`)\\)\\)?$")

// mysqlSequence returns the sequence of a default that is the next number of one and nothing else.
func mysqlSequence(value, schema string) Name {
	parts := mysqlNextval.FindStringSubmatch(value)
	if parts == nil {
		return Name{}
	}
	n := Name{Schema: schema, Name: mysqlUnquote(parts[2])}
	if parts[1] != "" {
		n.Schema = mysqlUnquote(parts[1])
	}
	return n
}

func mysqlUnquote(name string) string {
	return strings.ReplaceAll(name[1:len(name)-1], "``", "`")
}
