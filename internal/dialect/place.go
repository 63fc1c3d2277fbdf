package dialect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
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

// QuoteAny quotes a name that may hold anything, as names that come from a catalogue do.
func (d Dialect) QuoteAny(name string) string {
	mark := `"`
	if d == MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// Literal returns the text as SQL.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

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

// kinds are what a [Dialect] locates.
type kinds struct{ postgres string }

var (
	tables    = kinds{postgres: "'r', 'p'"}
	sequences = kinds{postgres: "'S'"}
)

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
	return d.locatePostgres(ctx, conn, schema, name, sequences)
}

// LocateAt is [Dialect.Locate] for a place that is known.
func (d Dialect) LocateAt(ctx context.Context, conn *sql.Conn, at Place) (Location, error) {
	switch d {
	case MySQL:
		return d.locateMySQL(ctx, conn, at.Schema, at.Table)
	case Postgres:
		return d.locatePostgres(ctx, conn, at.Schema, at.Table, tables)
	case SQLite:
		return d.locateSQLite(ctx, conn, at.Schema, at.Table)
	}
	return Location{}, fmt.Errorf("no place in %v", d)
}

func (d Dialect) locatePostgres(ctx context.Context, conn *sql.Conn, schema, table string, kind kinds) (Location, error) {
	l := Location{At: Place{Schema: schema, Table: table}}
	// The place of a table to come: of the schemas on the search path first those in which the role may make one, its own last.
	var home string
	err := conn.QueryRowContext(ctx, `SELECT current_database(), quote_ident(current_user), COALESCE((SELECT CAST(s.name AS text) FROM unnest(current_schemas(false)) WITH ORDINALITY AS s(name, at)`+
		` ORDER BY NOT has_schema_privilege(s.name, 'CREATE'), s.name = current_user, s.at LIMIT 1), 'public')`).
		Scan(&l.At.Catalog, &l.Role, &home)
	if err != nil {
		return l, fmt.Errorf("asking for the search path: %w", err)
	}
	// Those of other sessions' temporary tables begin with pg_ too.
	places, err := d.places(ctx, conn, l.At, fmt.Sprintf(`SELECT CAST(n.nspname AS text) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace`+
		` WHERE c.relname = '%s' AND c.relkind IN (%s) AND left(n.nspname, 3) <> 'pg_' AND n.nspname <> 'information_schema'`+
		` ORDER BY COALESCE(array_position(current_schemas(false), n.nspname), 2147483647), n.nspname`, strings.ReplaceAll(table, "'", "''"), kind.postgres))
	if err != nil {
		return l, err
	}
	switch {
	case schema != "":
	case len(places) > 0:
		l.At = places[0]
	default:
		l.At.Schema = home
	}
	l.settle(places)
	return l, nil
}

func (d Dialect) locateMySQL(ctx context.Context, conn *sql.Conn, schema, table string) (Location, error) {
	l := Location{At: Place{Schema: schema, Table: table}}
	var selected sql.NullString
	var folded int
	if err := conn.QueryRowContext(ctx, "SELECT DATABASE(), CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), ''''), @@lower_case_table_names").Scan(&selected, &l.Role, &folded); err != nil {
		return l, fmt.Errorf("asking for the database: %w", err)
	}
	if schema == "" {
		if !selected.Valid {
			return l, fmt.Errorf("%w: no database is selected; name one in the DSN, or before the table and a dot", ErrNoPlace)
		}
		l.At.Schema = selected.String
	}
	places, err := d.places(ctx, conn, l.At, fmt.Sprintf("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME = '%s' AND TABLE_TYPE = 'BASE TABLE'"+
		" AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') ORDER BY TABLE_SCHEMA", table))
	if err != nil {
		return l, err
	}
	for i, p := range places {
		if folded == 0 && p.Table != table { // the catalogue compares without case, the server does not
			places[i] = Place{}
		} else if folded != 0 && strings.EqualFold(p.Schema, l.At.Schema) {
			l.At, places[i].Table = p, p.Table
		}
	}
	l.settle(slices.DeleteFunc(places, func(p Place) bool { return p == Place{} }))
	return l, nil
}

func (d Dialect) locateSQLite(ctx context.Context, conn *sql.Conn, schema, table string) (Location, error) {
	l := Location{At: Place{Schema: schema, Table: table}}
	if schema == "" {
		l.At.Schema = "main"
	}
	files := map[string]string{}
	rows, err := conn.QueryContext(ctx, "SELECT name, COALESCE(file, '') FROM pragma_database_list WHERE name <> 'temp'")
	if err == nil {
		for rows.Next() {
			var name, file string
			if err = rows.Scan(&name, &file); err != nil {
				break
			}
			files[name] = file
		}
		err = errors.Join(err, rows.Err(), rows.Close())
	}
	if err != nil {
		return l, fmt.Errorf("asking for the files: %w", err)
	}
	file, attached := files[l.At.Schema]
	if !attached {
		return l, fmt.Errorf("%w: no database is attached as %q", ErrNoPlace, l.At.Schema)
	}
	l.At.Catalog = file
	if file != "" {
		l.File, _ = os.Stat(file)
	}
	var places []Place
	for name, file := range files {
		found, err := d.places(ctx, conn, Place{Catalog: file}, fmt.Sprintf("SELECT '%s', name FROM %s.sqlite_master WHERE type = 'table' AND name = '%s' COLLATE NOCASE",
			strings.ReplaceAll(name, "'", "''"), d.QuoteAny(name), table))
		if err != nil {
			return l, err
		}
		for _, p := range found {
			if p.Schema == l.At.Schema {
				l.At.Table = p.Table
			}
		}
		places = append(places, found...)
	}
	l.settle(places)
	return l, nil
}

// places reads schemas, and tables where the query has a second column.
func (d Dialect) places(ctx context.Context, conn *sql.Conn, like Place, query string) (found []Place, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("asking for tables called %s: %w", like.Table, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	for err == nil && rows.Next() {
		p := like
		err = rows.Scan([]any{&p.Schema, &p.Table}[:len(columns)]...)
		found = append(found, p)
	}
	return found, errors.Join(err, rows.Err())
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

// LockTables keeps others who make tables of a name by LockTables from doing so at the same time, and returns what ends that. On PostgreSQL it is to be called in a
// transaction, and lasts until its end. SQLite's transactions do it already.
func (d Dialect) LockTables(ctx context.Context, conn *sql.Conn, name string) (unlock func(), err error) {
	_, table := SplitName(name)
	unlock = func() {}
	switch d {
	case Postgres:
		sum := fnv.New64a()
		_, _ = sum.Write([]byte("snowkey: making " + table))
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(sum.Sum64()))); err != nil {
			return unlock, fmt.Errorf("waiting for others who make %s: %w", table, err)
		}
	case MySQL:
		text := fmt.Sprintf("'snowkey: making %.40s'", table) // names of locks have 64 characters at most
		var locked sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+text+", 10)").Scan(&locked); err != nil || locked.Int64 != 1 {
			return unlock, errors.Join(fmt.Errorf("waiting for others who make %s", table), err)
		}
		unlock = func() { // which the end of the connection does too
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonLimit)
			defer cancel()
			_, _ = conn.ExecContext(ctx, "DO RELEASE_LOCK("+text+")")
		}
	}
	return unlock, nil
}
