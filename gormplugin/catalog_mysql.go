package gormplugin

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mysqlCatalog reads the information_schema of MySQL and MariaDB, which shows what the user has some right on.
type mysqlCatalog struct{ pool }

func (mysqlCatalog) quote(part string) string { return quoteWith("`", part) }
func (mysqlCatalog) text() string             { return "char" }

func (c mysqlCatalog) list(ctx context.Context) (names []tableName, err error) {
	found, err := c.texts(ctx, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1")
	for _, name := range found {
		names = append(names, tableName{name: name})
	}
	return names, err
}

func (c mysqlCatalog) read(ctx context.Context, name tableName) (*table, error) {
	var t *table
	err := c.each(ctx, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_SCHEMA = DATABASE(), @@lower_case_table_names
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?`,
		[]any{name.schema, name.name}, func(scan func(...any) error) error {
			found := &table{}
			var kind string
			var current, fold int
			if err := scan(&found.full.schema, &found.full.name, &kind, &current, &fold); err != nil {
				return err
			}
			// The comparison of information_schema knows no case; that of the server may.
			if found.full.name == name.name || fold != 0 && strings.EqualFold(found.full.name, name.name) {
				t = found
				t.tableName = t.full
				if current != 0 {
					t.schema = ""
				}
				if kind != "BASE TABLE" && kind != "SYSTEM VERSIONED" {
					t.view = strings.ToLower(kind)
				}
			}
			return nil
		})
	if err != nil || t == nil || t.view != "" {
		return t, err
	}
	if err := c.readColumns(ctx, t); err != nil {
		return nil, err
	}
	last := ""
	err = c.each(ctx, `SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART IS NULL AND COLUMN_NAME IS NOT NULL FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND NON_UNIQUE = 0 ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`,
		[]any{t.full.schema, t.full.name}, func(scan func(...any) error) error {
			var table, index string
			var column *string
			var whole bool
			if err := scan(&table, &index, &column, &whole); err != nil || table != t.full.name {
				return err
			}
			name := ""
			if whole {
				name = *column
			}
			t.unique, t.hasKey = group(t.unique, index == last, name), t.hasKey || index == "PRIMARY"
			last = index
			return nil
		})
	return t, err
}

var mysqlBits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

func (c mysqlCatalog) readColumns(ctx context.Context, t *table) error {
	return c.each(ctx, `SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, COALESCE(NUMERIC_PRECISION, 0), COALESCE(NUMERIC_SCALE, 0),
			COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), IS_NULLABLE = 'YES', COALESCE(COLUMN_DEFAULT, ''), EXTRA
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
		[]any{t.full.schema, t.full.name}, func(scan func(...any) error) error {
			col := &column{}
			var table, kind, extra string
			var precision, scale, length int64
			if err := scan(&table, &col.name, &col.typ, &kind, &precision, &scale, &length, &col.nullable, &col.value, &extra); err != nil || table != t.full.name {
				return err
			}
			t.columns = append(t.columns, col)
			switch kind = strings.ToLower(kind); kind {
			case "tinyint", "smallint", "mediumint", "int", "bigint":
				col.class, col.bits = integer, mysqlBits[kind]
			case "decimal":
				col.class, col.digits = decimal, int(precision-scale)
			case "float", "double":
				col.class = floating
			case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
				col.class, col.digits = text, int(length)
			}
			switch {
			case strings.Contains(strings.ToLower(extra), "auto_increment"):
				col.auto = "AUTO_INCREMENT"
			case strings.Contains(strings.ToLower(col.value), "nextval("):
				col.auto = "DEFAULT " + col.value
			}
			return nil
		})
}

func (c mysqlCatalog) references(ctx context.Context, tables []*table) (found []*reference, err error) {
	var schemas []string
	for _, t := range tables {
		if !slices.Contains(schemas, t.full.schema) {
			schemas = append(schemas, t.full.schema)
		}
	}
	type constraint struct{ schema, table, name string }
	known := map[constraint]*reference{}
	for i := 0; i < len(schemas); i++ { // it grows: what has to change with a column may be in any schema
		once := map[constraint]bool{}
		for k := range known {
			once[k] = true
		}
		err := c.each(ctx, `SELECT k.CONSTRAINT_NAME, k.TABLE_SCHEMA, k.TABLE_NAME, k.COLUMN_NAME,
				k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, r.DELETE_RULE, r.UPDATE_RULE
			FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r
				ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME
			WHERE (k.TABLE_SCHEMA = ? OR k.REFERENCED_TABLE_SCHEMA = ?) AND k.REFERENCED_TABLE_NAME IS NOT NULL
			ORDER BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION`,
			[]any{schemas[i], schemas[i]}, func(scan func(...any) error) error {
				r := &reference{}
				var column, to, onDelete, onUpdate string
				err := scan(&r.name, &r.child.schema, &r.child.name, &column, &r.parent.schema, &r.parent.name, &to, &onDelete, &onUpdate)
				key := constraint{r.child.schema, r.child.name, r.name}
				if err != nil || once[key] {
					return err
				}
				r.rules = " ON DELETE " + onDelete + " ON UPDATE " + onUpdate
				if known[key] == nil {
					known[key] = r
					found = append(found, r)
				}
				known[key].columns, known[key].to = append(known[key].columns, column), append(known[key].to, to)
				for _, schema := range []string{r.child.schema, r.parent.schema} {
					if !slices.Contains(schemas, schema) {
						schemas = append(schemas, schema)
					}
				}
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// widen changes all columns that foreign keys tie to one at once: MySQL demands that they have the same type, and changes none while the
// foreign keys are there (errors 1832 and 1833; on MariaDB 10.11 also without foreign_key_checks). They cannot be made again in the
// statement that drops them, since their names are taken until its end.
func (c mysqlCatalog) widen(ctx context.Context, k *checker, t *table, col *column) (mend, error) {
	tied := []place{{t.full, col.name}}
	var constraints []*reference
	for i := 0; i < len(tied) && col.bits != 64; i++ { // without AUTO_INCREMENT alone the type stays, which foreign keys allow
		for _, r := range k.references {
			for n := range r.columns {
				child, parent := place{r.child, r.columns[n]}, place{r.parent, r.to[n]}
				if !tied[i].same(child) && !tied[i].same(parent) {
					continue
				}
				for _, end := range []place{child, parent} {
					if !slices.ContainsFunc(tied, end.same) {
						tied = append(tied, end)
					}
				}
				if !slices.Contains(constraints, r) {
					constraints = append(constraints, r)
				}
			}
		}
	}
	// All findings of columns that are tied to each other get the same statements.
	slices.SortFunc(tied, func(a, b place) int {
		return cmp.Or(strings.Compare(a.table.schema, b.table.schema), strings.Compare(a.table.name, b.table.name), strings.Compare(a.column, b.column))
	})
	slices.SortFunc(constraints, func(a, b *reference) int {
		return cmp.Or(strings.Compare(a.child.schema, b.child.schema), strings.Compare(a.child.name, b.child.name), strings.Compare(a.name, b.name))
	})
	var drop, change, add []string
	var last *table
	for _, p := range tied {
		of, err := k.table(ctx, p.table)
		if err != nil {
			return mend{}, err
		}
		var at *column
		if of != nil {
			at = of.column(p.column, true)
		}
		if at == nil {
			return mend{note: fmt.Sprintf("a foreign key ties it to %s of %s, which this user cannot see", p.column, p.table)}, nil
		}
		if at.bits == 64 && (at.auto == "" || !k.isKey(of, at)) {
			continue
		}
		definition, err := c.define(ctx, of, at, k.isKey(of, at))
		if err != nil {
			return mend{}, err
		}
		if definition == "" {
			return mend{note: "its definition cannot be read; change it to bigint by hand"}, nil
		}
		modify := " MODIFY " + c.quote(at.name) + " " + definition
		if of == last {
			change[len(change)-1] += "," + modify
		} else {
			change = append(change, "ALTER TABLE "+quoted(c, of.tableName)+modify)
		}
		last = of
	}
	for _, r := range constraints {
		child, err := k.table(ctx, r.child)
		if err != nil {
			return mend{}, err
		}
		parent := r.parent
		if child.schema == "" && r.child.schema == parent.schema { // a parent without a schema is looked for in that of the child
			parent.schema = ""
		}
		alter := "ALTER TABLE " + quoted(c, child.tableName)
		drop = append(drop, alter+" DROP FOREIGN KEY "+c.quote(r.name))
		add = append(add, alter+" ADD CONSTRAINT "+c.quote(r.name)+" FOREIGN KEY ("+quotedList(c, r.columns)+") REFERENCES "+
			quoted(c, parent)+" ("+quotedList(c, r.to)+")"+r.rules)
	}
	return mend{statements: slices.Concat(drop, change, add)}, nil
}

var (
	mysqlCharset = regexp.MustCompile(`^(?: (?:CHARACTER SET|COLLATE) \w+)+`)
	mysqlAuto    = regexp.MustCompile("^([^'\"`]*?) AUTO_INCREMENT")
	mysqlNextval = regexp.MustCompile("(?i) DEFAULT \\(?nextval\\((?:`(?:[^`]|``)*`|[^`)])*\\)\\)?")
)

// define returns the definition of a column as MODIFY takes it, of 64 bits with the sign that it has, for that is what foreign keys and
// comparisons rely on; when the column is a key, without AUTO_INCREMENT, and never NULL. All else is as SHOW CREATE TABLE has it. It is empty where
// that cannot be read.
func (c mysqlCatalog) define(ctx context.Context, t *table, col *column, key bool) (string, error) {
	if t.create == "" {
		err := c.each(ctx, "SHOW CREATE TABLE "+quoted(c, t.tableName), nil, func(scan func(...any) error) error {
			var name string
			return scan(&name, &t.create)
		})
		if err != nil {
			return "", err
		}
	}
	for line := range strings.Lines(t.create) {
		rest, ok := strings.CutPrefix(line, "  "+c.quote(col.name)+" "+col.typ)
		if !ok {
			if rest, ok = strings.CutPrefix(line, "  "+quoteWith(`"`, col.name)+" "+col.typ); !ok { // sql_mode ANSI_QUOTES
				continue
			}
		}
		rest = strings.TrimSuffix(strings.TrimRight(rest, "\n"), ",")
		rest = rest[len(mysqlCharset.FindString(rest)):]
		if key {
			if after, ok := strings.CutPrefix(rest, " DEFAULT NULL"); ok {
				rest = " NOT NULL" + after
			}
			rest = mysqlNextval.ReplaceAllString(mysqlAuto.ReplaceAllString(rest, "$1"), "")
		}
		typ := "bigint"
		for _, attribute := range []string{" unsigned", " zerofill"} {
			if strings.Contains(col.typ, attribute) {
				typ += attribute
			}
		}
		return typ + rest, nil
	}
	return "", nil
}

func (c mysqlCatalog) stop(ctx context.Context, k *checker, t *table, col *column) (mend, error) {
	return c.widen(ctx, k, t, col)
}

func (c mysqlCatalog) require(t *table, columns []string) mend {
	return mend{statements: []string{"ALTER TABLE " + quoted(c, t.tableName) + " ADD PRIMARY KEY (" + quotedList(c, columns) + ")"}}
}
