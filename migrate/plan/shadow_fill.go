package plan

import (
	"fmt"
	"strings"
)

// whole returns a table as statements have it, with its schema: functions and triggers run with other search paths.
func (b *shadowBuilder) whole(t *moving) string { return b.catalog.Quoted(t.of.Full) }

// follows returns f of a value, an expression; see shadow.go.
func (b *shadowBuilder) follows(m *moved, value string) string {
	found := fmt.Sprintf("(SELECT m.new_id FROM %s m WHERE m.old_id = %s)", b.mapped(m.key), value)
	if !m.strict {
		found = fmt.Sprintf("COALESCE(%s, %s)", found, value)
	}
	return fmt.Sprintf("CASE WHEN %s >= %d THEN %s ELSE %s END", value, m.key.Below, value, found)
}

// missing returns a condition: that a row's second column is not what it has to be.
func (b *shadowBuilder) missing(m *moved) string {
	first, second := b.quote(m.column.Name), b.quote(m.second)
	if m.own {
		return second + " IS NULL"
	}
	condition := fmt.Sprintf("(%s IS NOT NULL AND %s IS NULL)", first, second)
	if !m.strict {
		condition += fmt.Sprintf(" OR (%s = %s AND %s < %d AND EXISTS (SELECT 1 FROM %s m WHERE m.old_id = %s))",
			second, first, first, m.key.Below, b.mapped(m.key), b.whole(m.table)+"."+first)
	}
	return condition
}

// lacking returns a query for the number of rows that some second column is missing of.
func (b *shadowBuilder) lacking(t *moving) string {
	return fmt.Sprintf("SELECT count(*) FROM %s WHERE %s", b.whole(t), b.any(t))
}

// any returns the condition that one of a table's second columns is missing.
func (b *shadowBuilder) any(t *moving) string {
	var conditions []string
	for _, m := range t.columns {
		conditions = append(conditions, b.missing(m))
	}
	return strings.Join(conditions, " OR ")
}

// fill adds the batches that fill a table's second columns: all of a row at once, so that a row is written once.
func (b *shadowBuilder) fill(t *moving, phase, title string) {
	table, through := b.whole(t), b.quote(t.through)
	var set []string
	for _, m := range t.columns {
		set = append(set, fmt.Sprintf("%s = %s", b.quote(m.second), b.follows(m, table+"."+b.quote(m.column.Name))))
	}
	b.add(Step{
		Title: title, Names: []string{t.name}, Phase: phase, Tables: []string{t.name}, Algorithm: "batches", Rows: t.of.Rows, Bytes: t.of.Bytes, Disk: t.of.Bytes,
		Lock: Lock{Waits: rowWrites, Text: "the rows of a batch, against other changes of the same rows; readers and new rows are not held up"},
		Do: Action{
			Kind: Batch, Session: b.silence(),
			SQL:       []string{fmt.Sprintf("UPDATE %s SET %s WHERE %s > :after AND %s <= :upto AND (%s)", table, strings.Join(set, ", "), through, through, b.any(t))},
			Cursor:    fmt.Sprintf("SELECT max(r.x) FROM (SELECT %s AS x FROM %s WHERE %s > :after ORDER BY %s LIMIT :rows) r", through, table, through, through),
			Remaining: b.lacking(t),
		},
		Kept: "second columns go with the step that has added them",
	})
}

// filled adds the step that expects no second column to be missing.
func (b *shadowBuilder) filled(tables []*moving) {
	var c counting
	for _, t := range tables {
		c.ask(b.builder, t.name, Query{About: "rows of … without their second columns", Names: []string{t.name}, SQL: b.lacking(t)})
	}
	c.step(b.builder, "check", "make sure that each row has its second columns", Action{Kind: Assert, OnFailure: "Rows have no new ids: a writer has changed the triggers or the map, or rows are held by a " +
		"long transaction. End that, and run again."})
}
