package gormplugin

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// sqliteCatalog reads SQLite's schema tables and pragmas.
type sqliteCatalog struct{ pool }

func (sqliteCatalog) quote(part string) string { return quoteWith(`"`, part) }

// greatest leaves out texts, which are greater than all numbers. A number with a point, as one becomes that does not fit, is cut to an
// integer's limit.
func (c sqliteCatalog) greatest(t *table, col *column) string {
	id := c.quote(col.name)
	return "SELECT CAST(CAST(" + id + " AS integer) AS text) FROM " + quoted(c, t.tableName) + " WHERE typeof(" + id + ") IN ('integer', 'real') ORDER BY " + id + " DESC LIMIT 1"
}

func (c sqliteCatalog) list(ctx context.Context) (names []tableName, err error) {
	// The rows of a virtual table are in shadow tables.
	found, err := c.texts(ctx, `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY 1`)
	for _, name := range found {
		names = append(names, tableName{name: name})
	}
	return names, err
}

func (c sqliteCatalog) read(ctx context.Context, name tableName) (*table, error) {
	var schemas []string
	if name.schema == "" { // in the order in which SQLite looks for a table
		found, err := c.texts(ctx, "SELECT name FROM pragma_database_list ORDER BY CASE seq WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE seq END")
		if err != nil {
			return nil, err
		}
		schemas = found
	} else {
		found, err := c.texts(ctx, "SELECT name FROM pragma_database_list WHERE lower(name) = lower(?)", name.schema)
		if err != nil || len(found) == 0 {
			return nil, err
		}
		schemas = found // as the database has it
	}
	for _, schema := range schemas {
		t := &table{full: tableName{schema: schema}}
		err := c.each(ctx, "SELECT type, name, sql FROM "+c.quote(schema)+".sqlite_master WHERE lower(name) = lower(?) AND type IN ('table', 'view')",
			[]any{name.name}, func(scan func(...any) error) error { return scan(&t.view, &t.full.name, &t.create) })
		if err != nil {
			return nil, err
		}
		if t.full.name == "" {
			continue
		}
		t.tableName = t.full
		if name.schema == "" || schema == "main" {
			t.schema = ""
		}
		if t.view == "table" {
			t.view = ""
		}
		if strings.HasPrefix(t.create, "CREATE VIRTUAL ") {
			t.view = "virtual table"
		}
		return t, c.readColumns(ctx, t)
	}
	return nil, nil
}

func (c sqliteCatalog) readColumns(ctx context.Context, t *table) error {
	var key []string
	err := c.each(ctx, "SELECT name, type, \"notnull\" = 0, coalesce(dflt_value, ''), pk FROM pragma_table_xinfo(?, ?)", []any{t.full.name, t.full.schema},
		func(scan func(...any) error) error {
			col := &column{}
			place := 0
			if err := scan(&col.name, &col.typ, &col.nullable, &col.value, &place); err != nil {
				return err
			}
			col.class, col.bits = sqliteClass(col.typ)
			if place > 0 {
				for len(key) < place {
					key = append(key, "")
				}
				key[place-1] = col.name
			}
			t.columns = append(t.columns, col)
			return nil
		})
	if err != nil || t.view != "" {
		return err
	}
	alias := len(key) == 1 // of the rowid, unless there is an index for the primary key
	if t.hasKey = len(key) > 0; t.hasKey {
		t.unique = append(t.unique, key)
	}
	last := ""
	err = c.each(ctx, `SELECT l.name, l.origin, coalesce(i.name, '') FROM pragma_index_list(?, ?) l, pragma_index_info(l.name, ?) i
		WHERE l."unique" AND NOT l.partial ORDER BY l.seq, i.seqno`, []any{t.full.name, t.full.schema, t.full.schema},
		func(scan func(...any) error) error {
			var index, origin, column string
			if err := scan(&index, &origin, &column); err != nil {
				return err
			}
			if origin == "pk" {
				alias = false
				return nil
			}
			t.unique = group(t.unique, index == last, column)
			last = index
			return nil
		})
	if alias {
		id := t.column(key[0], false)
		id.nullable = false // NULL becomes a number
		if sqliteAuto(t.create) {
			id.auto = "AUTOINCREMENT"
		}
	}
	return err
}

// sqliteClass follows the rules of a declared type's affinity. Every integer has 64 bits.
func sqliteClass(typ string) (class, int) {
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(strings.ToUpper(typ), word) {
				return true
			}
		}
		return false
	}
	switch {
	case has("INT"):
		return integer, 64
	case has("CHAR", "CLOB", "TEXT"):
		return text, 0
	case has("BLOB"):
		return other, 0
	case has("REAL", "FLOA", "DOUB"):
		return floating, 0
	}
	return decimal, 0
}

// sqliteQuoted is what is no keyword in a statement: texts, quoted names and comments.
var sqliteQuoted = regexp.MustCompile("(?s)'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\\[[^\\]]*\\]|--[^\n]*|/\\*.*?\\*/")

var sqliteAutoincrement = regexp.MustCompile(`(?i)\bAUTOINCREMENT\b`)

// sqliteAuto looks for the word in the statement that made a table, for no pragma tells. It is a reserved one.
func sqliteAuto(create string) bool {
	return sqliteAutoincrement.MatchString(sqliteQuoted.ReplaceAllString(create, " "))
}

func (c sqliteCatalog) references(ctx context.Context, tables []*table) (found []*reference, err error) {
	schemas := map[string]bool{}
	for _, t := range tables {
		if schemas[t.full.schema] {
			continue
		}
		schemas[t.full.schema] = true
		last := ""
		err := c.each(ctx, `SELECT t.name, f.id, f."table", f."from", coalesce(f."to", (SELECT name FROM pragma_table_xinfo(f."table", ?) WHERE pk = f.seq + 1), '')
			FROM `+c.quote(t.full.schema)+`.sqlite_master t, pragma_foreign_key_list(t.name, ?) f WHERE t.type = 'table' ORDER BY 1, 2, f.seq`,
			[]any{t.full.schema, t.full.schema}, func(scan func(...any) error) error {
				r := &reference{child: tableName{schema: t.full.schema}, parent: tableName{schema: t.full.schema}}
				var column, to string
				if err := scan(&r.child.name, &r.name, &r.parent.name, &column, &to); err != nil {
					return err
				}
				if this := r.child.name + "\x00" + r.name; this != last {
					found = append(found, r)
					last = this
				}
				r = found[len(found)-1]
				r.columns, r.to = append(r.columns, column), append(r.to, to)
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// rebuild is what there is instead of statements.
func (c sqliteCatalog) rebuild(declaration string) mend {
	return mend{note: "SQLite cannot change that in place: make a new table that declares " + declaration + ", copy the rows, drop the old table, and " +
		"rename the new one, with foreign_keys off (sqlite.org/lang_altertable.html says how)"}
}

func (c sqliteCatalog) widen(_ context.Context, _ *checker, t *table, col *column) (mend, error) {
	if key := t.key(); len(key) == 1 && key[0] == col.name {
		return c.rebuild(c.quote(col.name) + " integer PRIMARY KEY"), nil
	}
	if slices.Contains(t.key(), col.name) {
		return c.rebuild(c.quote(col.name) + " integer NOT NULL"), nil
	}
	return c.rebuild(c.quote(col.name) + " integer"), nil
}

func (c sqliteCatalog) stop(_ context.Context, _ *checker, _ *table, col *column) (mend, error) {
	id := c.quote(col.name)
	return c.rebuild(id + " bigint NOT NULL PRIMARY KEY, which refuses a row without a key (or " + id + " integer PRIMARY KEY, the rowid, which is smaller and still numbers it)"), nil
}

func (c sqliteCatalog) require(_ context.Context, _ *table, columns []string) (mend, error) {
	return c.rebuild("PRIMARY KEY (" + quotedList(c, columns) + ")"), nil
}
