package verify

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// stamps are the names, without underlines and in small letters, of columns in which applications keep when a row was changed.
var stamps = []string{"updatedat", "updatedon", "updated", "updatetime", "modifiedat", "modifiedon", "modified", "changedat", "lastupdate", "lastupdated", "lastmodified"}

// stamp is a column that tells when a row was changed last.
type stamp struct {
	name   string
	column string // as statements have it
	typ    string
	sure   bool // the database sets it whenever a statement changes another column
}

// stampOf returns the table's column that tells when a row was changed, nil when there is none.
func (d *database) stampOf(ctx context.Context, t *catalog.Table) (*stamp, error) {
	var found *stamp
	for _, c := range t.Columns {
		name := strings.ToLower(strings.ReplaceAll(c.Name, "_", ""))
		if c.Class != catalog.Time || c.Generated != "" || c.OnUpdate == "" && !slices.Contains(stamps, name) || found != nil && found.sure {
			continue
		}
		if found == nil || c.OnUpdate != "" {
			found = &stamp{c.Name, "t." + d.catalog.Quote(c.Name), c.Type, c.OnUpdate != ""}
		}
	}
	if found == nil || !found.sure {
		return found, nil
	}
	references, err := d.catalog.References(ctx, t)
	for _, r := range references {
		if r.Child == t.Full && strings.HasPrefix(strings.ToUpper(r.OnDelete), "SET") { // which changes a row without its stamp
			found.sure = false
		}
	}
	return found, err
}

// latest returns the greatest stamp of a table, as later has it.
func (r *reading) latest(ctx context.Context) (text string, err error) {
	if r.stamp == nil {
		return "", nil
	}
	greatest := "MAX(" + r.stamp.column + ")"
	switch {
	case r.dialect == dialect.SQLite:
		greatest = "quote(" + greatest + ")"
	case r.dialect == dialect.MySQL && r.instant():
		greatest = "CAST(UNIX_TIMESTAMP(" + greatest + ") AS CHAR)"
	case r.dialect == dialect.MySQL:
		greatest = "CAST(" + greatest + " AS CHAR)"
	default:
		greatest = "CAST(" + greatest + " AS text)"
	}
	var value sql.NullString
	err = r.read(ctx, "SELECT "+greatest+" FROM "+r.table+" t", func(rows *sql.Rows) error { return rows.Scan(&value) })
	return value.String, err
}

// instant tells whether MySQL shows the stamp in the session's zone.
func (r *reading) instant() bool { return strings.HasPrefix(strings.ToLower(r.stamp.typ), "timestamp") }

// stamped returns the numbers of the sets that have rows whose stamp is later than the greatest was: the application has changed these rows.
func (r *reading) stamped(ctx context.Context, d digest) (map[int64]bool, error) {
	sets := map[int64]bool{}
	if r.stamp == nil || d.Latest == "" {
		return sets, nil
	}
	operator := " > "
	if r.stamp.sure { // a row may have been changed in the second of the last one
		operator = " >= "
	}
	literal := "'" + strings.ReplaceAll(d.Latest, "'", "''") + "'"
	column := r.stamp.column
	switch {
	case r.dialect == dialect.SQLite:
		literal = d.Latest // as quote has made it
	case r.dialect == dialect.MySQL && r.instant():
		column = "UNIX_TIMESTAMP(" + column + ")"
	case r.dialect == dialect.Postgres:
		literal = "CAST(" + literal + " AS " + r.stamp.typ + ")"
	}
	for _, p := range r.parts {
		var old int64
		err := r.read(ctx, "SELECT "+r.wide(p.old)+p.from+" WHERE "+column+operator+literal+p.where, func(rows *sql.Rows) error {
			if err := rows.Scan(&old); err != nil {
				return err
			}
			if old <= d.Top {
				sets[old>>d.Shift] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sets, nil
}
