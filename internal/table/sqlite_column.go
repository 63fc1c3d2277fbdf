package table

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

func (s SQLite) readColumns(ctx context.Context, t *Table) error {
	var key []string
	var read Column
	place, generated := 0, false
	err := s.Each(ctx, "SELECT name, type, \"notnull\" = 0, coalesce(dflt_value, ''), pk, hidden IN (2, 3) FROM pragma_table_xinfo(?, ?)", []any{t.Full.Name, t.Full.Schema},
		[]any{&read.Name, &read.Type, &read.Nullable, &read.Default, &place, &generated}, func() error {
			col := read
			col.Class, col.Bits = sqliteClass(col.Type)
			if generated {
				col.Generated = sqliteGenerated(t.Create, col.Name)
			}
			if place > 0 {
				for len(key) < place {
					key = append(key, "")
				}
				key[place-1] = col.Name
			}
			t.Columns = append(t.Columns, &col)
			return nil
		})
	if len(key) > 0 && t.View == "" {
		primary := &Index{Primary: true, Unique: true, Columns: key, Valid: true}
		for _, column := range key {
			primary.Parts = append(primary.Parts, Part{Column: column})
		}
		t.Indexes = append(t.Indexes, primary)
	}
	return err
}

// ReadIndexes reads the indexes besides the primary key, which gets its index's name where it has one. A primary key of one column that
// has none is an alias of the rowid, unless the table has no rowid.
func (s SQLite) ReadIndexes(ctx context.Context, t *Table) error {
	primary := (*Index)(nil)
	if len(t.Indexes) > 0 {
		primary = t.Indexes[0]
	}
	read := Index{Valid: true}
	var origin, column string
	var place int
	err := s.Each(ctx, `SELECT l.name, l."unique", l.origin, i.seqno, coalesce(i.name, ''), coalesce(m.sql, '')
		FROM pragma_index_list(?, ?) l JOIN pragma_index_info(l.name, ?) i LEFT JOIN `+s.Quote(t.Full.Schema)+`.sqlite_master m ON m.type = 'index' AND m.name = l.name
		ORDER BY l.name, i.seqno`, []any{t.Full.Name, t.Full.Schema, t.Full.Schema},
		[]any{&read.Name, &read.Unique, &origin, &place, &column, &read.Definition}, func() error {
			i := read
			if origin == "pk" {
				primary.Name = i.Name
				return nil
			}
			if place == 0 {
				i.Where = sqliteWhere(i.Definition)
				t.Indexes = append(t.Indexes, &i)
			}
			last := t.Indexes[len(t.Indexes)-1]
			last.Columns, last.Parts = append(last.Columns, column), append(last.Parts, sqlitePart(i.Definition, place, column))
			return nil
		})
	if primary != nil && primary.Name == "" && len(primary.Columns) == 1 {
		id := t.Column(primary.Columns[0], false)
		id.Nullable = false // NULL becomes a number
		if sqliteAuto(t.Create) {
			id.Auto = "AUTOINCREMENT"
		}
	}
	return err
}

// sqliteClass follows the rules of a declared type's affinity, but for the names of times and JSON. Every integer has 64 bits.
func sqliteClass(typ string) (Class, int) {
	upper := strings.ToUpper(typ)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(upper, word) })
	}
	switch {
	case has("INT"):
		return Integer, 64
	case has("CHAR", "CLOB", "TEXT"):
		return Text, 0
	case has("BLOB"):
		return Other, 0
	case has("REAL", "FLOA", "DOUB"):
		return Floating, 0
	case has("DATETIME", "TIMESTAMP"):
		return Time, 0
	case has("JSON"):
		return JSON, 0
	}
	return Decimal, 0
}

// sqliteQuoted is what is no keyword in a statement: texts, quoted names and comments.
var sqliteQuoted = regexp.MustCompile("(?s)'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\\[[^\\]]*\\]|--[^\n]*|/\\*.*?\\*/")

var sqliteAutoincrement = regexp.MustCompile(`(?i)\bAUTOINCREMENT\b`)

// sqliteAuto looks for the word in the statement that made a table, for no pragma tells. It is a reserved one.
func sqliteAuto(create string) bool {
	return sqliteAutoincrement.MatchString(sqliteQuoted.ReplaceAllString(create, " "))
}
