package dialect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ErrNoPlace says that a table is in no database that the session has.
var ErrNoPlace = errors.New("no place for the table")

// Place is where a table is, by names that are the same on every connection, whatever its search_path or USE.
type Place struct {
	Catalog string // PostgreSQL's database; SQLite's file, empty in memory; empty on MySQL
	Schema  string // PostgreSQL's schema, MySQL's database; "main" on SQLite, or the name of an attached database
	Table   string
}

// String returns the names with dots between them, without SQLite's file.
func (p Place) String() string {
	if p.Catalog == "" || strings.ContainsAny(p.Catalog, `/\.`) {
		return p.Schema + "." + p.Table
	}
	return p.Catalog + "." + p.Schema + "." + p.Table
}

// QuotePlace returns the table's name as SQL, with its schema's.
func (d Dialect) QuotePlace(p Place) string {
	if p.Schema == "" {
		return d.QuoteAny(p.Table)
	}
	return d.QuoteAny(p.Schema) + "." + d.QuoteAny(p.Table)
}

// InCatalog returns the condition that picks a table from information_schema of MySQL.
func InCatalog(p Place) string {
	return "TABLE_SCHEMA = " + Literal(p.Schema) + " AND TABLE_NAME = " + Literal(p.Table)
}

// Location is what a catalogue says about the tables of a name.
type Location struct {
	At     Place       // where the table is, or is to be made
	Exists bool        // it is there
	Others []Place     // all other tables of the name that the account can see
	Role   string      // the account, as GRANT takes it; empty on SQLite
	File   fs.FileInfo // SQLite's, nil in memory, and where a VFS keeps it that is none of the operating system
}

// Locate asks the catalogue for a table, by its name alone or with its schema's, both [ValidName]. The search path and USE do not matter
// where the table is there:
//
//   - PostgreSQL: a name alone is that of the only table in the database that is called so, in whichever schema, whatever rights the role
//     has on it. Of several, the first on the search path is taken. One that is missing belongs in the first schema of the search path
//     in which the role may make tables and which is not called like the role; else in the one that is; else where somebody else has to
//     make it, in the first of the search path, or public.
//   - MySQL: a name alone is that of a table in the session's database. The others are in the databases that the account sees.
//   - SQLite: a name alone is that of a table in main.
//
// The error says that the catalogue could not be read, or wraps [ErrNoPlace] where no database is selected.
func (d Dialect) Locate(ctx context.Context, conn *sql.Conn, name string) (Location, error) {
	schema, table := SplitName(name)
	return d.LocateAt(ctx, conn, Place{Schema: schema, Table: table})
}

// LocateSequence is [Dialect.Locate] for a SEQUENCE of PostgreSQL, whose name may have dots; the schema is given apart, empty for none.
func (d Dialect) LocateSequence(ctx context.Context, conn *sql.Conn, schema, name string) (Location, error) {
	return locatePostgres(ctx, conn, schema, name, "'S'")
}

// LocateAt is [Dialect.Locate] for a place that is known.
func (d Dialect) LocateAt(ctx context.Context, conn *sql.Conn, at Place) (Location, error) {
	if e := d.engine(); e != nil {
		return e.locate(ctx, conn, at.Schema, at.Table)
	}
	return Location{}, fmt.Errorf("no place in %v", d)
}

// places reads the schemas of tables called alike, and where the query has two columns how each is called itself.
func places(ctx context.Context, conn *sql.Conn, like Place, query string, columns int) (found []Place, err error) {
	err = Each(ctx, conn, query, nil, func(rows *sql.Rows) error {
		p := like
		err := rows.Scan([]any{&p.Schema, &p.Table}[:columns]...)
		found = append(found, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("asking for tables called %s: %w", like.Table, err)
	}
	return found, nil
}

// settle tells the table from the others.
func (l *Location) settle(found []Place) {
	for _, p := range found {
		if p == l.At {
			l.Exists = true
		} else {
			l.Others = append(l.Others, p)
		}
	}
	slices.SortFunc(l.Others, func(a, b Place) int { return strings.Compare(a.String(), b.String()) })
}
