package dialect

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// sqliteEngine is SQLite, by the drivers of mattn and modernc.
type sqliteEngine struct{}

func (sqliteEngine) name() string { return "sqlite" }

func (sqliteEngine) mark() string { return `"` }

// clock is exact to a millisecond, as SQLite's is. A day of julianday is a float64, exact to 40 µs.
func (sqliteEngine) clock() string {
	return "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000"
}

// begin has a writer take the lock at once: a transaction that has read fails without a wait where another one writes.
func (sqliteEngine) begin(write bool) string {
	if write {
		return "BEGIN IMMEDIATE"
	}
	return "BEGIN"
}

func (sqliteEngine) end(statement string) string { return statement }

func (sqliteEngine) exactText(bool) string { return "" }

// lock is nothing: a transaction locks the whole database.
func (sqliteEngine) lock(Lock) (try, free, holder string) { return "", "", "" }

func (sqliteEngine) code(err error) string {
	if e, ok := err.(interface{ Code() int }); ok { // modernc's
		return primary(int64(e.Code()))
	}
	if code := field(err, "Code"); code.CanInt() && field(err, "ExtendedCode").CanInt() { // mattn's
		return primary(code.Int())
	}
	return ""
}

// primary returns the result code that an extended one has in its lowest byte. It is empty for 0, which is no error.
func primary(code int64) string {
	if code &= 0xff; code != 0 {
		return strconv.FormatInt(code, 10)
	}
	return ""
}

func (sqliteEngine) class(code string, said error) Class {
	if code == "1" { // all that is wrong with a statement; SQLite has one language
		if text := said.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "no such column") {
			return Missing
		}
	}
	return sqliteClasses[code]
}

func (sqliteEngine) locate(ctx context.Context, conn *sql.Conn, schema, table string) (Location, error) {
	l := Location{At: Place{Schema: schema, Table: table}}
	if schema == "" {
		l.At.Schema = "main"
	}
	files := map[string]string{}
	err := Each(ctx, conn, "SELECT name, COALESCE(file, '') FROM pragma_database_list WHERE name <> 'temp'", nil, func(rows *sql.Rows) error {
		var name, file string
		err := rows.Scan(&name, &file)
		files[name] = file
		return err
	})
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
	var all []Place
	for name, file := range files {
		found, err := places(ctx, conn, Place{Catalog: file}, fmt.Sprintf("SELECT %s, name FROM %s.sqlite_master WHERE type = 'table' AND name = '%s' COLLATE NOCASE",
			Literal(name), SQLite.QuoteAny(name), table), 2)
		if err != nil {
			return l, err
		}
		for _, p := range found {
			if p.Schema == l.At.Schema {
				l.At.Table = p.Table
			}
		}
		all = append(all, found...)
	}
	l.settle(all)
	return l, nil
}

func (sqliteEngine) durability(ctx context.Context, conn *sql.Conn, schema string) (findings []Finding, err error) {
	if schema == "" {
		schema = "main"
	}
	var synchronous, queryOnly int64
	var journal, file string
	for _, pragma := range []struct {
		name string
		into any
	}{{"synchronous", &synchronous}, {"journal_mode", &journal}, {"query_only", &queryOnly}} {
		if err := One(ctx, conn, "PRAGMA "+SQLite.Quote(schema)+"."+pragma.name, nil, pragma.into); err != nil {
			return nil, fmt.Errorf("reading the pragma %s: %w", pragma.name, err)
		}
	}
	if err := One(ctx, conn, "SELECT file FROM pragma_database_list WHERE name = ?", []any{schema}, &file); err != nil {
		return nil, fmt.Errorf("asking for the file: %w", err)
	}
	journal = strings.ToLower(journal)
	switch {
	case file == "":
		findings = append(findings, unsafe("the database is in memory: its numbers are forgotten with it, and each connection may have one of its own").warning())
	case journal == "off" || journal == "memory":
		findings = append(findings, unsafe("journal_mode is %s: a crash may leave a file that is broken or was set back; set it to wal or delete", journal))
	case synchronous == 0:
		findings = append(findings, unsafe("synchronous is off: what is committed is lost when the machine crashes, and its numbers are given out again; set it to full"))
	case synchronous == 1 && journal == "wal":
		findings = append(findings, unsafe("synchronous is normal with journal_mode wal: the latest commits are lost when the machine crashes, and their numbers are given "+
			"out again; set it to full").warning())
	}
	if queryOnly == 1 {
		findings = append(findings, readOnly("query_only is on, so that nothing can be written; set it to off, also in the DSN"))
	}
	return findings, nil
}

// sqliteClasses are SQLite's primary result codes, https://www.sqlite.org/rescode.html.
var sqliteClasses = map[string]Class{
	// Another connection was in the way.
	"5":  Conflict, // BUSY
	"6":  Conflict, // LOCKED
	"17": Again,    // SCHEMA: it has changed since the statement was prepared

	// The machine, the disk, or who interrupted it.
	"7":  Unavailable, // NOMEM
	"9":  Unavailable, // INTERRUPT
	"10": Unavailable, // IOERR
	"13": Unavailable, // FULL
	"14": Unavailable, // CANTOPEN
	"15": Unavailable, // PROTOCOL: locks of the write-ahead log

	"8": ReadOnly, // READONLY

	// A number beyond 2^63-1 is a REAL, which an INTEGER PRIMARY KEY or a STRICT table refuses.
	"20": Exhausted, // MISMATCH

	"3":  Denied, // PERM
	"23": Denied, // AUTH

	"1":  Other, // ERROR, see class
	"11": Other, // CORRUPT
	"26": Other, // NOTADB
}
