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

func (c mysqlCatalog) greatest(t *table, col *column) string { return greatestOf(c, t, col, "char") }

func (c mysqlCatalog) list(ctx context.Context) (names []tableName, err error) {
	found, err := c.texts(ctx, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1")
	for _, name := range found {
		names = append(names, tableName{name: name})
	}
	return names, err
}

func (c mysqlCatalog) read(ctx context.Context, name tableName) (*table, error) {
	var t *table
	err := c.each(ctx, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), TABLE_SCHEMA = DATABASE(), @@lower_case_table_names
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?`,
		[]any{name.schema, name.name}, func(scan func(...any) error) error {
			found := &table{}
			var kind string
			var current, fold int
			if err := scan(&found.full.schema, &found.full.name, &kind, &found.engine, &current, &fold); err != nil {
				return err
			}
			// The comparison of information_schema knows no case; that of the server may.
			if found.full.name == name.name || fold != 0 && strings.EqualFold(found.full.name, name.name) {
				t = found
				t.tableName = t.full
				if current != 0 {
					t.schema = ""
				}
				switch kind {
				case "BASE TABLE":
				case "SYSTEM VERSIONED":
					t.versioned = true
				default:
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
			COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), IS_NULLABLE = 'YES', COALESCE(COLUMN_DEFAULT, ''), EXTRA, COLUMN_COMMENT <> ''
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
		[]any{t.full.schema, t.full.name}, func(scan func(...any) error) error {
			col := &column{}
			var table, kind string
			var precision, scale, length int64
			if err := scan(&table, &col.name, &col.typ, &kind, &precision, &scale, &length, &col.nullable, &col.value, &col.extra, &col.comment); err != nil || table != t.full.name {
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
			case "date", "datetime", "timestamp":
				col.date = true
			}
			switch {
			case strings.Contains(strings.ToLower(col.extra), "auto_increment"):
				col.auto = "AUTO_INCREMENT"
			case callsNextval(col.value):
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
				k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME,
				COALESCE(CONCAT(' ON DELETE ', r.DELETE_RULE, ' ON UPDATE ', r.UPDATE_RULE), '')
			FROM information_schema.KEY_COLUMN_USAGE k LEFT JOIN information_schema.REFERENTIAL_CONSTRAINTS r
				ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME
			WHERE (k.TABLE_SCHEMA = ? OR k.REFERENCED_TABLE_SCHEMA = ?) AND k.REFERENCED_TABLE_NAME IS NOT NULL
			ORDER BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION`,
			[]any{schemas[i], schemas[i]}, func(scan func(...any) error) error {
				r := &reference{}
				var column, to string
				err := scan(&r.name, &r.child.schema, &r.child.name, &column, &r.parent.schema, &r.parent.name, &to, &r.rules)
				key := constraint{r.child.schema, r.child.name, r.name}
				if err != nil || once[key] {
					return err
				}
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
// statement that drops them, since their names are taken until its end. A list that stopped there would have lost them, so there is none
// where anything is known that makes a statement fail.
func (c mysqlCatalog) widen(ctx context.Context, k *checker, t *table, col *column) (mend, error) {
	tied, constraints := k.tiedTo(t, col)
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
			return mend{note: fmt.Sprintf("no statement is offered: a foreign key ties it to %s of %s, which this user cannot see", p.column, p.table)}, nil
		}
		if at.bits == 64 && (at.auto == "" || !k.isKey(of, at)) && !of.versioned {
			continue
		}
		definition, note, err := c.define(ctx, of, at, k.isKey(of, at))
		switch {
		case err != nil || note != "" || len(constraints) == 0:
		case k.isKey(of, at) && at.nullable && !of.hasKey: // ON DELETE SET NULL needs a column that may be
			note = "no statement is offered: the table has foreign keys and no primary key; give it one first, and check again"
		default:
			note, err = c.riskOf(ctx, of)
		}
		if err != nil {
			return mend{}, err
		}
		if note != "" {
			if of == t && at == col {
				return mend{note: note}, nil
			}
			return mend{note: fmt.Sprintf("a foreign key ties it to %s of %s, and there %s", at.name, of, note)}, nil
		}
		modify := " MODIFY " + c.quote(at.name) + " " + definition
		if of == last {
			change[len(change)-1] += "," + modify
		} else {
			change = append(change, "ALTER TABLE "+quoted(c, of.tableName)+modify)
		}
		last = of
	}
	var names []string
	for _, r := range constraints {
		child, err := k.table(ctx, r.child)
		if err != nil {
			return mend{}, err
		}
		if r.rules == "" {
			return mend{note: fmt.Sprintf("no statement is offered: it would have to drop the foreign key %s of %s and make it again, whose ON DELETE and ON UPDATE this user has no right to see", r.name, child)}, nil
		}
		note, err := c.orphans(ctx, k, child, r)
		if err != nil || note != "" {
			return mend{note: note}, err
		}
		parent := r.parent
		if child.schema == "" && r.child.schema == parent.schema { // a parent without a schema is looked for in that of the child
			parent.schema = ""
		}
		alter := "ALTER TABLE " + quoted(c, child.tableName)
		drop = append(drop, alter+" DROP FOREIGN KEY "+c.quote(r.name))
		add = append(add, alter+" ADD CONSTRAINT "+c.quote(r.name)+" FOREIGN KEY ("+quotedList(c, r.columns)+") REFERENCES "+
			quoted(c, parent)+" ("+quotedList(c, r.to)+")"+r.rules)
		names = append(names, r.name+" of "+child.String())
	}
	m := mend{statements: slices.Concat(drop, change, add)}
	switch {
	case k.isKey(t, col) && col.nullable && !t.hasKey:
		m.note = "it becomes NOT NULL too, which a primary key has to be"
	case len(names) > 0:
		m.note = fmt.Sprintf("the statements drop the foreign keys that tie columns to it and make them again (%s), each with its index under its own name where the database had made one",
			strings.Join(names, ", "))
	}
	return m, nil
}

// riskOf says what may keep the rows of a table from being copied, which MODIFY does, by whatever sql_mode.
func (c mysqlCatalog) riskOf(ctx context.Context, t *table) (note string, err error) {
	const offered = "no statement is offered, since it could fail after the foreign keys have been dropped: "
	if err := c.readCreate(ctx, t); err != nil {
		return "", err
	}
	create := mysqlNames.ReplaceAllString(t.create, "``")
	if strings.Count(create, " CHECK (") > strings.Count(create, " CHECK (json_valid(``))") || strings.Contains(create, " GENERATED ALWAYS AS ") {
		return offered + "the table has CHECKs or generated columns; change it by hand, the foreign keys last", nil
	}
	var zero []string
	for _, col := range t.columns {
		if !col.date {
			continue
		}
		if strings.Contains(col.value, "-00") {
			return offered + "the default of " + col.name + " is no date (sql_mode NO_ZERO_DATE); change that first", nil
		}
		zero = append(zero, fmt.Sprintf("MONTH(%[1]s) = 0 OR DAYOFMONTH(%[1]s) = 0", c.quote(col.name)))
	}
	if len(zero) == 0 {
		return "", nil
	}
	found, err := c.texts(ctx, "SELECT 1 FROM "+quoted(c, t.tableName)+" WHERE "+strings.Join(zero, " OR ")+" LIMIT 1")
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return fmt.Sprintf("%sthe rows cannot be read (%v)", offered, err), nil
	case len(found) > 0:
		return offered + "the table has dates with a zero in them (sql_mode NO_ZERO_DATE, NO_ZERO_IN_DATE); change those first", nil
	}
	return "", nil
}

// orphans looks for rows whose foreign key points to none, which keep it from being made again. They are looked for once.
func (c mysqlCatalog) orphans(ctx context.Context, k *checker, child *table, r *reference) (note string, err error) {
	if note, ok := k.orphans[r]; ok {
		return note, nil
	}
	var on, where []string
	for i := range r.columns {
		column := "c." + c.quote(r.columns[i])
		on = append(on, "p."+c.quote(r.to[i])+" = "+column)
		where = append(where, column+" IS NOT NULL")
	}
	found, err := c.texts(ctx, fmt.Sprintf("SELECT 1 FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s) LIMIT 1",
		quoted(c, r.child), strings.Join(where, " AND "), quoted(c, r.parent), strings.Join(on, " AND ")))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		note = fmt.Sprintf("no statement is offered: it would have to drop the foreign key %s of %s and make it again, which fails when a row points to none, and the rows cannot be read (%v)", r.name, child, err)
	case len(found) > 0:
		note = fmt.Sprintf("no statement is offered: it would have to drop the foreign key %s of %s, which could not be made again, since %s has rows whose %s is in no row of %s; delete or change those first, and check again",
			r.name, child, child, strings.Join(r.columns, ", "), r.parent.name)
	}
	k.orphans[r] = note
	return note, nil
}

var (
	// mysqlNames are names in quotes, and texts, which may have all but the quote in them.
	mysqlNames = regexp.MustCompile("(?s)`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\"|'(?:[^'\\\\]|''|\\\\.)*'")
	// mysqlDefinition is all that a column may have after its type: whether it may be NULL, a default, AUTO_INCREMENT, a comment. A
	// comment with a backslash is another one in a session with sql_mode NO_BACKSLASH_ESCAPES.
	mysqlDefinition = regexp.MustCompile(`^( NOT NULL)?( DEFAULT (?:NULL|-?\d+|'-?\d+'|nextval\(.+\)))?( AUTO_INCREMENT)?( COMMENT '(?:[^'\\]|'')*')?$`)
	// mysqlNextval is a default that is the next number of a sequence, and nothing else.
	mysqlNextval = regexp.MustCompile("(?i)^ DEFAULT nextval\\((?:(?:`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\")\\.)?(?:`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\")\\)$")
	// mysqlIndexes begin the lines of SHOW CREATE TABLE in which a column may stand besides its own.
	mysqlIndexes = regexp.MustCompile("^  (?:(?:PRIMARY |UNIQUE )?KEY|CONSTRAINT (?:`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\") FOREIGN KEY) ")
)

func (c mysqlCatalog) readCreate(ctx context.Context, t *table) error {
	if t.create != "" {
		return nil
	}
	return c.each(ctx, "SHOW CREATE TABLE "+quoted(c, t.tableName), nil, func(scan func(...any) error) error {
		var name string
		return scan(&name, &t.create)
	})
}

// define returns the definition of a column as MODIFY takes it, of 64 bits with the sign that it has, for that is what foreign keys and
// comparisons rely on; when the column is a key, without AUTO_INCREMENT or the default of a sequence. MODIFY loses what it does not
// repeat, so where the column has anything else than mysqlDefinition, and where something else in the table is of it, the note says so.
func (c mysqlCatalog) define(ctx context.Context, t *table, col *column, key bool) (definition, note string, err error) {
	switch {
	case col.class != integer:
		return "", otherType, nil
	case t.versioned:
		return "", "no statement is offered: the table has system versioning, and MariaDB refuses to change it (error 4119) unless system_versioning_alter_history says KEEP, which changes its history too; decide on that, and change it to bigint by hand", nil
	case t.engine != "InnoDB" && t.engine != "MyISAM" && t.engine != "Aria":
		return "", fmt.Sprintf("no statement is offered for the engine %s; change it to bigint by hand", t.engine), nil
	case strings.Contains(col.typ, "zerofill"):
		return "", "no statement is offered: it is ZEROFILL, and how wide numbers are shown changes with the type; choose a width, such as bigint(20) zerofill, and change it by hand", nil
	}
	if err := c.readCreate(ctx, t); err != nil {
		return "", "", err
	}
	rest, found := "", 0
	name := c.quote(col.name)
	if !strings.Contains(t.create, "\n  "+name+" ") { // sql_mode ANSI_QUOTES
		name = quoteWith(`"`, col.name)
	}
	for line := range strings.Lines(t.create) {
		line = strings.TrimSuffix(strings.TrimRight(line, "\n"), ",")
		after, ok := strings.CutPrefix(line, "  "+name+" ")
		switch {
		case ok:
			rest, ok = strings.CutPrefix(after, col.typ)
			if found++; !ok {
				found++
			}
		// MySQL writes an index of an expression in a second pair of parentheses.
		case strings.Contains(line, name) && !strings.HasPrefix(line, "CREATE TABLE ") && (!mysqlIndexes.MatchString(line) || strings.Contains(mysqlNames.ReplaceAllString(line, ""), "((")):
			return "", "no statement is offered: something else in the table's definition is made of it (a CHECK, a generated column, an expression, partitions), which might mean something else afterwards, or refuse; change it by hand", nil
		}
	}
	parts := mysqlDefinition.FindStringSubmatch(rest)
	if found != 1 || parts == nil {
		return "", "no statement is offered: it has more in its definition than a type, a number as its default and a plain comment, which a statement would have to repeat to the letter; see SHOW CREATE TABLE, and change it by hand", nil
	}
	null, value, auto, comment := parts[1], parts[2], parts[3], parts[4]
	extra := ""
	if auto != "" {
		extra = "auto_increment"
	}
	// By some an sql_mode SHOW CREATE TABLE leaves out what there is.
	if (null == "") != col.nullable || strings.ToLower(col.extra) != extra || (comment != "") != col.comment {
		return "", "no statement is offered: SHOW CREATE TABLE does not show all of it; change it by hand", nil
	}
	if strings.Contains(value, "nextval") && !mysqlNextval.MatchString(value) {
		return "", "no statement is offered: its default is more than the next number of a sequence; drop that by hand", nil
	}
	typ := "bigint"
	switch {
	case col.bits == 64:
		typ = col.typ
	case strings.Contains(col.typ, "unsigned"):
		typ = "bigint unsigned"
	}
	if key {
		auto = ""
		if strings.Contains(value, "nextval") {
			value = ""
		}
		if col.nullable && !t.hasKey { // it becomes the primary key, and a definition that lets it be NULL would be refused then
			note, err := c.withoutNull(ctx, t, []string{col.name})
			if err != nil || note != "" {
				return "", note, err
			}
			null, value = " NOT NULL", strings.TrimPrefix(value, " DEFAULT NULL")
		}
	}
	return typ + null + value + auto + comment, "", nil
}

// withoutNull looks for rows whose key is NULL. Without a strict sql_mode they would get the key 0.
func (c mysqlCatalog) withoutNull(ctx context.Context, t *table, columns []string) (note string, err error) {
	var where []string
	for _, column := range columns {
		where = append(where, c.quote(column)+" IS NULL")
	}
	found, err := c.texts(ctx, "SELECT 1 FROM "+quoted(c, t.tableName)+" WHERE "+strings.Join(where, " OR ")+" LIMIT 1")
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return fmt.Sprintf("no statement is offered: it is not known whether rows have NULL there, since they cannot be read (%v)", err), nil
	case len(found) > 0:
		return "no statement is offered: rows have NULL there; give them keys, or delete them, and check again", nil
	}
	return "", nil
}

func (c mysqlCatalog) stop(ctx context.Context, k *checker, t *table, col *column) (mend, error) {
	return c.widen(ctx, k, t, col)
}

func (c mysqlCatalog) require(ctx context.Context, t *table, columns []string) (mend, error) {
	if err := c.readCreate(ctx, t); err != nil {
		return mend{}, err
	}
	note := ""
	switch {
	case t.versioned:
		note = "no statement is offered: the table has system versioning, and MariaDB refuses to change it (error 4119)"
	case strings.Contains(mysqlNames.ReplaceAllString(t.create, ""), "PARTITION BY "):
		note = "no statement is offered: the table is partitioned, and a primary key has to have the columns that it is partitioned by"
	}
	var nullable []string
	for _, col := range t.columns {
		switch {
		case !slices.Contains(columns, col.name):
		case col.class != integer:
			note = cmp.Or(note, "no statement is offered: "+col.name+" is no integer; change that first")
		case col.nullable:
			nullable = append(nullable, col.name)
		}
	}
	if note == "" && len(nullable) > 0 {
		var err error
		if note, err = c.withoutNull(ctx, t, nullable); err != nil {
			return mend{}, err
		}
	}
	if note != "" {
		return mend{note: note}, nil
	}
	return mend{statements: []string{"ALTER TABLE " + quoted(c, t.tableName) + " ADD PRIMARY KEY (" + quotedList(c, columns) + ")"}}, nil
}
