package main

import (
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// server makes a database on a server, and sets a variable to its DSN: server mysql NAME.
func server(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value("t").(testing.TB)
	database := map[string]func(testing.TB) dbtest.Database{"mysql": dbtest.MySQL, "postgres": dbtest.Postgres}[args[0]](t)
	ts.Setenv(args[1], database.DSN)
}

// whose finds the server's name in a comment of the command.
var whose = regexp.MustCompile(`^-- On (\w+)=`)

// paste runs the last output as a client does into which it is pasted: paste DSN, or paste DSN NAME=DSN… for what is under a comment that names another
// server.
func paste(ts *testscript.TestScript, _ bool, args []string) {
	// DELIMITER is for clients alone: the driver sends all statements at once, and the server knows where a function ends.
	text := strings.NewReplacer("DELIMITER $$\n", "", "$$\nDELIMITER ;\n", ";\n").Replace(ts.ReadFile("stdout"))
	sections := strings.Split(text, "\n\n")
	for _, section := range sections {
		if regexp.MustCompile(`^(-- .*\n)*$`).MatchString(section + "\n") {
			continue // notes, which the servers' clients skip
		}
		at := args[0]
		if m := whose.FindStringSubmatch(section); m != nil {
			for _, other := range args[1:] {
				if rest, ok := strings.CutPrefix(other, m[1]+"="); ok {
					at = rest
				}
			}
			if at == args[0] {
				ts.Fatalf("no DSN for %s", m[1])
			}
		}
		if _, err := openDSN(ts, at).Exec(section); err != nil {
			ts.Fatalf("%s: %v", section, err)
		}
	}
}

// rows fails unless the rows of a query, with a space between their columns, are the lines given: rows DSN QUERY LINE….
func rows(ts *testscript.TestScript, _ bool, args []string) {
	found, err := openDSN(ts, args[0]).Query(args[1])
	ts.Check(err)
	defer found.Close()
	columns, err := found.Columns()
	ts.Check(err)
	var lines []string
	for found.Next() {
		values, into := make([]string, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		ts.Check(found.Scan(into...))
		lines = append(lines, strings.Join(values, " "))
	}
	ts.Check(found.Err())
	if got, want := fmt.Sprint(lines), fmt.Sprint(args[2:]); got != want {
		ts.Fatalf("%s: got %s, want %s", args[1], got, want)
	}
}

// openDSN opens a database, for several statements at once.
func openDSN(ts *testscript.TestScript, text string) *sql.DB {
	parsed, err := dsn.Parse(text)
	ts.Check(err)
	if parsed.Kind == dsn.MySQL {
		config, err := mysql.ParseDSN(parsed.Source)
		ts.Check(err)
		config.MultiStatements = true
		parsed.Source = config.FormatDSN()
	}
	db, err := parsed.Open()
	ts.Check(err)
	ts.Defer(func() { ts.Check(db.Close()) })
	return db
}

// lines writes a file with a line for each text: lines FILE TEXT….
func lines(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(args[1:], "\n")), 0o600))
}
