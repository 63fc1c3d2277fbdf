package check

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/table"
)

// mysqlFixer fixes tables of MySQL and MariaDB.
type mysqlFixer struct{ database }

// widen changes all columns that foreign keys tie to one at once: MySQL demands that they have the same type, and changes none while the
// foreign keys are there (errors 1832 and 1833; on MariaDB 10.11 also without foreign_key_checks). They cannot be made again in the
// statement that drops them, since their names are taken until its end. A list that stopped there would have lost them, so there is none
// where anything is known that makes a statement fail.
func (c mysqlFixer) widen(ctx context.Context, k *checker, t *catalog.Table, col *catalog.Column) (fix, error) {
	if col.Bits != 64 {
		if err := k.findTied(ctx); err != nil {
			return fix{}, err
		}
	}
	tied, constraints := k.tiedTo(t, col)
	var drop, change, add []string
	var last *catalog.Table
	for _, p := range tied {
		of, err := k.table(ctx, p.table)
		if err != nil {
			return fix{}, err
		}
		var at *catalog.Column
		if of != nil {
			at = of.Column(p.column, true)
		}
		if at == nil {
			return fix{note: fmt.Sprintf("no statement is offered: a foreign key ties it to %s of %s, which this user cannot see", p.column, p.table)}, nil
		}
		if at.Bits == 64 && (at.Auto == "" || !k.isKey(of, at)) && !of.Versioned {
			continue
		}
		definition, note, err := c.define(ctx, of, at, k.isKey(of, at))
		switch {
		case err != nil || note != "" || len(constraints) == 0:
		case k.isKey(of, at) && at.Nullable && of.Key() == nil: // ON DELETE SET NULL needs a column that may be
			note = "no statement is offered: the table has foreign keys and no primary key; give it one first, and check again"
		default:
			note, err = c.riskOf(ctx, of)
		}
		if err != nil {
			return fix{}, err
		}
		if note != "" {
			if of == t && at == col {
				return fix{note: note}, nil
			}
			return fix{note: fmt.Sprintf("a foreign key ties it to %s of %s, and there %s", at.Name, of, note)}, nil
		}
		modify := " MODIFY " + c.Quote(at.Name) + " " + definition
		if of == last {
			change[len(change)-1] += "," + modify
		} else {
			change = append(change, "ALTER TABLE "+c.Quoted(of.Name)+modify)
		}
		last = of
	}
	var names []string
	for _, r := range constraints {
		child, err := k.table(ctx, r.Child)
		if err != nil {
			return fix{}, err
		}
		if r.Definition == "" {
			return fix{note: fmt.Sprintf("no statement is offered: it would have to drop the foreign key %s of %s and make it again, whose ON DELETE and ON UPDATE this user has no right to see", r.Name, child)}, nil
		}
		note, err := c.orphans(ctx, k, child, r)
		if err != nil || note != "" {
			return fix{note: note}, err
		}
		alter := "ALTER TABLE " + c.Quoted(child.Name)
		drop = append(drop, alter+" DROP FOREIGN KEY "+c.Quote(r.Name))
		add = append(add, alter+" ADD CONSTRAINT "+c.Quote(r.Name)+" "+r.Definition)
		names = append(names, r.Name+" of "+child.String())
	}
	m := fix{statements: slices.Concat(drop, change, add)}
	switch {
	case k.isKey(t, col) && col.Nullable && t.Key() == nil:
		m.note = "it becomes NOT NULL too, which a primary key has to be"
	case len(names) > 0:
		m.note = fmt.Sprintf("the statements drop the foreign keys that tie columns to it and make them again (%s), each with its index under its own name where the database had made one",
			strings.Join(names, ", "))
	}
	return m, nil
}

// riskOf says what may keep the rows of a table from being copied, which MODIFY does, by whatever sql_mode.
func (c mysqlFixer) riskOf(ctx context.Context, t *catalog.Table) (note string, err error) {
	const offered = "no statement is offered, since it could fail after the foreign keys have been dropped: "
	if err := c.Create(ctx, t); err != nil {
		return "", err
	}
	if slices.ContainsFunc(t.Checks, func(k catalog.Check) bool { return !strings.HasPrefix(k.Text, "json_valid(`") }) ||
		slices.ContainsFunc(t.Columns, func(col *catalog.Column) bool { return col.Generated != "" }) {
		return offered + "the table has CHECKs or generated columns; change it by hand, the foreign keys last", nil
	}
	var zero []string
	for _, col := range t.Columns {
		if kind, _, _ := strings.Cut(col.Type, "("); kind != "date" && kind != "datetime" && kind != "timestamp" {
			continue
		}
		if strings.Contains(col.Default, "-00") {
			return offered + "the default of " + col.Name + " is no date (sql_mode NO_ZERO_DATE); change that first", nil
		}
		zero = append(zero, fmt.Sprintf("MONTH(%[1]s) = 0 OR DAYOFMONTH(%[1]s) = 0", c.Quote(col.Name)))
	}
	if len(zero) == 0 {
		return "", nil
	}
	found, err := c.Texts(ctx, "SELECT 1 FROM "+c.Quoted(t.Name)+" WHERE "+strings.Join(zero, " OR ")+" LIMIT 1")
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
func (c mysqlFixer) orphans(ctx context.Context, k *checker, child *catalog.Table, r *catalog.Reference) (note string, err error) {
	if note, ok := k.orphans[r]; ok {
		return note, nil
	}
	found, err := c.Texts(ctx, "SELECT 1 "+c.Orphans(r, r.Child, r.Parent)+" LIMIT 1")
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		note = fmt.Sprintf("no statement is offered: it would have to drop the foreign key %s of %s and make it again, which fails when a row points to none, and the rows cannot be read (%v)", r.Name, child, err)
	case len(found) > 0:
		note = fmt.Sprintf("no statement is offered: it would have to drop the foreign key %s of %s, which could not be made again, since %s has rows whose %s is in no row of %s; delete or change those first, and check again",
			r.Name, child, child, strings.Join(r.Columns, ", "), r.Parent.Name)
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
	// mysqlIndexes begin the lines of SHOW CREATE TABLE in which a column may stand besides its own.
	mysqlIndexes = regexp.MustCompile("^  (?:(?:PRIMARY |UNIQUE )?KEY|CONSTRAINT `(?:[^`]|``)*` FOREIGN KEY) ")
)

// define returns the definition of a column as MODIFY takes it, of 64 bits with the sign that it has, for that is what foreign keys and
// comparisons rely on; when the column is a key, without AUTO_INCREMENT or the default of a sequence. MODIFY loses what it does not
// repeat, so where the column has anything else than mysqlDefinition, and where something else in the table is of it, the note says so.
func (c mysqlFixer) define(ctx context.Context, t *catalog.Table, col *catalog.Column, key bool) (definition, note string, err error) {
	switch {
	case col.Class != catalog.Integer:
		return "", otherType, nil
	case t.Versioned:
		return "", "no statement is offered: the table has system versioning, and MariaDB refuses to change it (error 4119) unless system_versioning_alter_history says KEEP, which changes its history too; decide on that, and change it to bigint by hand", nil
	case t.Engine != "InnoDB" && t.Engine != "MyISAM" && t.Engine != "Aria":
		return "", fmt.Sprintf("no statement is offered for the engine %s; change it to bigint by hand", t.Engine), nil
	case strings.Contains(col.Type, "zerofill"):
		return "", "no statement is offered: it is ZEROFILL, and how wide numbers are shown changes with the type; choose a width, such as bigint(20) zerofill, and change it by hand", nil
	}
	if err := c.Create(ctx, t); err != nil {
		return "", "", err
	}
	name := c.Quote(col.Name)
	for line := range strings.Lines(table.Backticks(t.Create)) {
		line = strings.TrimRight(line, ",\n")
		// MySQL writes an index of an expression in a second pair of parentheses.
		if strings.Contains(line, name) && !strings.HasPrefix(line, "CREATE TABLE ") && !strings.HasPrefix(line, "  "+name+" ") &&
			(!mysqlIndexes.MatchString(line) || strings.Contains(mysqlNames.ReplaceAllString(line, ""), "((")) {
			return "", "no statement is offered: something else in the table's definition is made of it (a CHECK, a generated column, an expression, partitions), which might mean something else afterwards, or refuse; change it by hand", nil
		}
	}
	if col.Define == "" {
		return "", "no statement is offered: SHOW CREATE TABLE does not show all of it; change it by hand", nil
	}
	rest := strings.TrimPrefix(col.Define, col.Type)
	parts := mysqlDefinition.FindStringSubmatch(rest)
	if parts == nil {
		return "", "no statement is offered: it has more in its definition than a type, a number as its default and a plain comment, which a statement would have to repeat to the letter; see SHOW CREATE TABLE, and change it by hand", nil
	}
	typ, null, value, auto, comment := strings.TrimSuffix(catalog.Wide(col), rest), parts[1], parts[2], parts[3], parts[4]
	if strings.Contains(value, "nextval") && col.Sequence == (catalog.Name{}) {
		return "", "no statement is offered: its default is more than the next number of a sequence; drop that by hand", nil
	}
	if key {
		auto = ""
		if strings.Contains(value, "nextval") {
			value = ""
		}
		if col.Nullable && t.Key() == nil { // it becomes the primary key, and a definition that lets it be NULL would be refused then
			note, err := c.withoutNull(ctx, t, []string{col.Name})
			if err != nil || note != "" {
				return "", note, err
			}
			null, value = " NOT NULL", strings.TrimPrefix(value, " DEFAULT NULL")
		}
	}
	return typ + null + value + auto + comment, "", nil
}

// withoutNull looks for rows whose key is NULL. Without a strict sql_mode they would get the key 0.
func (c mysqlFixer) withoutNull(ctx context.Context, t *catalog.Table, columns []string) (note string, err error) {
	var where []string
	for _, column := range columns {
		where = append(where, c.Quote(column)+" IS NULL")
	}
	found, err := c.Texts(ctx, "SELECT 1 FROM "+c.Quoted(t.Name)+" WHERE "+strings.Join(where, " OR ")+" LIMIT 1")
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

func (c mysqlFixer) stop(ctx context.Context, k *checker, t *catalog.Table, col *catalog.Column) (fix, error) {
	return c.widen(ctx, k, t, col)
}

func (c mysqlFixer) require(ctx context.Context, t *catalog.Table, columns []string) (fix, error) {
	if err := c.Create(ctx, t); err != nil {
		return fix{}, err
	}
	note := ""
	switch {
	case t.Versioned:
		note = "no statement is offered: the table has system versioning, and MariaDB refuses to change it (error 4119)"
	case strings.Contains(mysqlNames.ReplaceAllString(t.Create, ""), "PARTITION BY "):
		note = "no statement is offered: the table is partitioned, and a primary key has to have the columns that it is partitioned by"
	}
	var nullable []string
	for _, col := range t.Columns {
		switch {
		case !slices.Contains(columns, col.Name):
		case col.Class != catalog.Integer:
			note = cmp.Or(note, "no statement is offered: "+col.Name+" is no integer; change that first")
		case col.Nullable:
			nullable = append(nullable, col.Name)
		}
	}
	if note == "" && len(nullable) > 0 {
		var err error
		if note, err = c.withoutNull(ctx, t, nullable); err != nil {
			return fix{}, err
		}
	}
	if note != "" {
		return fix{note: note}, nil
	}
	return fix{statements: []string{"ALTER TABLE " + c.Quoted(t.Name) + " ADD PRIMARY KEY (" + c.List(columns) + ")"}}, nil
}
