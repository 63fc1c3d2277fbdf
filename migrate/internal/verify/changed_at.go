package verify

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// changedAtNames are the names, without underlines and in small letters, of columns in which applications keep when a row was changed.
var changedAtNames = []string{"updatedat", "updatedon", "updated", "updatetime", "modifiedat", "modifiedon", "modified", "changedat", "lastupdate", "lastupdated", "lastmodified"}

// changedAt is a column that tells when a row was changed last.
type changedAt struct {
	name      string
	column    string // as statements have it
	typ       string
	automatic bool // the database sets it whenever a statement changes another column
}

// findChangedAt returns the table's column that tells when a row was changed, nil when there is none.
func (d *database) findChangedAt(ctx context.Context, t *catalog.Table) (*changedAt, error) {
	var found *changedAt
	for _, c := range t.Columns {
		name := strings.ToLower(strings.ReplaceAll(c.Name, "_", ""))
		if c.Class != catalog.Time || c.Generated != "" || c.OnUpdate == "" && !slices.Contains(changedAtNames, name) || found != nil && found.automatic {
			continue
		}
		if found == nil || c.OnUpdate != "" {
			found = &changedAt{c.Name, "t." + d.catalog.Quote(c.Name), c.Type, c.OnUpdate != ""}
		}
	}
	if found == nil || !found.automatic {
		return found, nil
	}
	references, err := d.catalog.References(ctx, t)
	for _, r := range references {
		if r.Child == t.Full && strings.HasPrefix(strings.ToUpper(r.OnDelete), "SET") { // which changes a row without its stamp
			found.automatic = false
		}
	}
	return found, err
}

// latest returns the greatest stamp of a table, as changedSets has it.
func (r *tableReader) latest(ctx context.Context) (text string, err error) {
	if r.changedAt == nil {
		return "", nil
	}
	greatest := r.comparable("MAX(" + r.changedAt.column + ")")
	switch r.dialect {
	case dialect.SQLite:
		greatest = "quote(" + greatest + ")"
	case dialect.MySQL:
		greatest = "CAST(" + greatest + " AS CHAR)"
	case dialect.Postgres:
		greatest = "CAST(" + greatest + " AS text)"
	}
	var value sql.NullString
	err = r.read(ctx, "SELECT "+greatest+" FROM "+r.table+" t", func(rows *sql.Rows) error { return rows.Scan(&value) })
	return value.String, err
}

// comparable returns a stamp as it is compared, which is the same in all sessions: MySQL shows a TIMESTAMP in the session's zone.
func (r *tableReader) comparable(stamp string) string {
	if r.dialect == dialect.MySQL && strings.HasPrefix(strings.ToLower(r.changedAt.typ), "timestamp") {
		return "UNIX_TIMESTAMP(" + stamp + ")"
	}
	return stamp
}

// changedSets returns the numbers of the sets that have rows whose stamp is later than the greatest was: the application has changed these rows.
func (r *tableReader) changedSets(ctx context.Context, d digest) (map[int64]bool, error) {
	sets := map[int64]bool{}
	if r.changedAt == nil || d.Latest == "" {
		return sets, nil
	}
	operator := " > "
	if r.changedAt.automatic { // a row may have been changed in the second of the last one
		operator = " >= "
	}
	literal := dialect.Literal(d.Latest)
	switch r.dialect {
	case dialect.SQLite:
		literal = d.Latest // as quote has made it
	case dialect.Postgres:
		literal = "CAST(" + literal + " AS " + r.changedAt.typ + ")"
	}
	for _, p := range r.parts {
		var old int64
		err := r.read(ctx, "SELECT "+r.wide(p.old)+p.from+" WHERE "+r.comparable(r.changedAt.column)+operator+literal+p.where, func(rows *sql.Rows) error {
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
