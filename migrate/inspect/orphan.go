package inspect

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// countOrphans counts the rows of a reference whose value is no key.
func (i *inspector) countOrphans(ctx context.Context, c *candidate) error {
	if c.child.huge() {
		c.Why += "; orphans were not counted, since " + c.Table + " has too many rows, about " + group(c.child.rows)
		return nil
	}
	var present, equal []string
	var args []any
	columns, to := c.Columns, c.ToColumns
	if len(columns) == 0 {
		columns, to = []string{c.column.Name}, []string{c.to.Name}
	}
	for n := range columns {
		value := "c." + i.quote(columns[n])
		present = append(present, value+" IS NOT NULL")
		if columns[n] == c.column.Name {
			value = i.id(c)
			present = append(present, i.present(c)...)
		}
		equal = append(equal, "p."+i.quote(to[n])+" = "+value)
	}
	if c.ownerType != nil {
		present = append(present, "c."+i.quote(c.ownerType.Name)+" = "+i.mark(1))
		args = []any{c.Owner}
	}
	var err error
	c.Orphans, err = i.number(ctx, "SELECT COUNT(*) FROM "+i.quoted(c.child)+" c WHERE "+strings.Join(present, " AND ")+
		" AND NOT EXISTS (SELECT 1 FROM "+i.quoted(c.parent)+" p WHERE "+strings.Join(equal, " AND ")+")", args...)
	return err
}

// present returns the conditions for a row that refers to something; a declared reference refers with 0, too.
func (i *inspector) present(c *candidate) []string {
	switch value := i.value(c, "c."); {
	case c.Origin == Declared:
		return nil
	case c.Path != "":
		return []string{value + " IS NOT NULL", value + " NOT IN ('', '0')", value + " NOT LIKE '{%'", value + " NOT LIKE '[%'"} // an object is no id
	case c.column.Class == catalog.Text:
		return []string{value + " NOT IN ('', '0')"}
	default:
		return []string{value + " <> 0"}
	}
}

// id is a reference's value as a number, NULL for a text that is none: only the text that a number is written as is one, so 007 is not.
func (i *inspector) id(c *candidate) string {
	value := i.value(c, "c.")
	if c.Path == "" && c.column.Class != catalog.Text {
		return value
	}
	const form = "'^(0|-?[1-9][0-9]{0,18})$'"
	switch i.dialect {
	case dialect.MySQL:
		return "CASE WHEN " + value + " REGEXP " + form + " THEN CAST(" + value + " AS SIGNED) END"
	case dialect.Postgres: // 19 digits can be beyond 64 bits
		return "CASE WHEN " + value + " ~ " + form + " AND (length(" + value + ") < 19 OR length(" + value + ") = 19 AND " + value +
			` COLLATE "C" <= '9223372036854775807' AND ` + value + " NOT LIKE '-%') THEN CAST(" + value + " AS bigint) END"
	}
	return "CASE WHEN CAST(CAST(" + value + " AS INTEGER) AS TEXT) = CAST(" + value + " AS TEXT) THEN CAST(" + value + " AS INTEGER) END"
}

// value is a reference's value, as the column has it, or out of the JSON document as a text.
func (i *inspector) value(c *candidate, alias string) string {
	name := alias + i.quote(c.column.Name)
	if c.Path == "" {
		return name
	}
	path := dialect.Literal(c.Path)
	switch i.dialect {
	case dialect.MySQL:
		return "CASE WHEN JSON_VALID(" + name + ") THEN NULLIF(JSON_UNQUOTE(JSON_EXTRACT(" + name + ", " + path + ")), 'null') END"
	case dialect.Postgres:
		return "(CAST(" + name + " AS jsonb) #>> " + pathArray(c.Path) + ")"
	}
	return "CASE WHEN json_valid(" + name + ") THEN CAST(json_extract(" + name + ", " + path + ") AS TEXT) END"
}

// raw is a reference's value as a text; out of a JSON document as it is there, so a text is in quotes.
func (i *inspector) raw(c *candidate) string {
	name := i.quote(c.column.Name)
	switch {
	case c.Path == "":
		return i.text(name)
	case i.dialect == dialect.MySQL:
		return "CASE WHEN JSON_VALID(" + name + ") THEN " + i.text("JSON_EXTRACT("+name+", "+dialect.Literal(c.Path)+")") + " END"
	case i.dialect == dialect.Postgres:
		return "CAST(CAST(" + name + " AS jsonb) #> " + pathArray(c.Path) + " AS text)"
	}
	return "CASE WHEN json_valid(" + name + ") THEN json_quote(json_extract(" + name + ", " + dialect.Literal(c.Path) + ")) END"
}

var pathPart = regexp.MustCompile(`\.([A-Za-z_][A-Za-z0-9_]*)|\."([^"]+)"|\[([0-9]+)\]`)

// pathArray is a path as PostgreSQL has it.
func pathArray(path string) string {
	var parts []string
	for _, m := range pathPart.FindAllStringSubmatch(path, -1) {
		parts = append(parts, dialect.Literal(m[1]+m[2]+m[3]))
	}
	return fmt.Sprintf("CAST(ARRAY[%s] AS text[])", strings.Join(parts, ", "))
}
