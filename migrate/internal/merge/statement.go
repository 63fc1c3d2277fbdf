package merge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// statement is a statement in the making.
type statement struct {
	strings.Builder
	dialect dialect.Dialect
	args    []any
}

// add appends texts.
func (q *statement) add(texts ...string) *statement {
	for _, text := range texts {
		q.WriteString(text)
	}
	return q
}

// arg appends a parameter.
func (q *statement) arg(v any) {
	q.args = append(q.args, v)
	if q.dialect == dialect.Postgres {
		q.add("$", strconv.Itoa(len(q.args)))
		return
	}
	q.WriteByte('?')
}

// bind appends a text with a parameter in place of each ?.
func (q *statement) bind(text string, values ...any) {
	for i, part := range strings.Split(text, "?") {
		if i > 0 {
			q.arg(values[i-1])
		}
		q.add(part)
	}
}

// tuple appends parameters in parentheses.
func (q *statement) tuple(values []any) {
	q.bind("(?"+strings.Repeat(", ?", len(values)-1)+")", values...)
}

// after appends the condition that a row comes after another in the order of columns. It is one that MySQL uses an index for.
func (q *statement) after(columns []string, values []any) {
	if len(columns) == 1 {
		q.add(columns[0])
		q.bind(" > ?", values[0])
		return
	}
	q.add(columns[0])
	q.bind(" >= ? AND (", values[0])
	q.add(columns[0])
	q.bind(" > ? OR (", values[0])
	q.add(columns[0])
	q.bind(" = ? AND (", values[0])
	q.after(columns[1:], values[1:])
	q.add(")))")
}

// by appends the order of columns of the table r. Without the table's name PostgreSQL would order by the text that is selected of a number.
func (q *statement) by(columns []string, limit int) {
	q.add(" ORDER BY r.", strings.Join(columns, ", r."), " LIMIT ", strconv.Itoa(limit))
}

// in appends the condition that columns have one of several tuples of values.
func (q *statement) in(columns []string, tuples [][]any) {
	q.add("(", strings.Join(columns, ", "), ") IN (")
	if len(columns) > 1 && q.dialect == dialect.SQLite {
		q.add("VALUES ") // a list of tuples is none of SQLite's
	}
	for i, values := range tuples {
		if i > 0 {
			q.add(", ")
		}
		if len(columns) == 1 {
			q.arg(values[0])
		} else {
			q.tuple(values)
		}
	}
	q.add(")")
}

// statement begins a statement for a side.
func (s *side) statement(texts ...string) *statement {
	q := &statement{dialect: s.dialect}
	return q.add(texts...)
}

// quote returns the names of columns as statements have them.
func (s *side) quote(columns ...string) []string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = s.catalog.Quote(c)
	}
	return quoted
}

// read returns the expressions that give columns as values that can be written again without loss. PostgreSQL's are texts; of SQLite they
// are what is stored, which drivers do not give for columns that are declared as times.
func (s *side) read(columns []*catalog.Column) []string {
	var expressions []string
	for _, c := range columns {
		e := s.catalog.Quote(c.Name)
		switch {
		case s.dialect == dialect.Postgres:
			e += "::text"
		case s.dialect == dialect.SQLite:
			e = "+" + e
		case c.Class == catalog.Floating:
			e += " + 0e0" // a FLOAT's text has six digits
		case slices.ContainsFunc([]string{"date", "time", "year"}, func(kind string) bool { return strings.HasPrefix(strings.ToLower(c.Type), kind) }):
			e = "CAST(" + e + " AS CHAR)" // drivers make times of them, which have no 0000-00-00
		}
		expressions = append(expressions, e)
	}
	return expressions
}
