package main

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/internal/migratetest"
)

// openScript opens a file of SQLite in the folder of a script, and makes it when there is none.
func openScript(ts *testscript.TestScript, file string) *sql.DB {
	db, err := dsn.DSN{Kind: dsn.SQLite, Source: ts.MkAbs(file)}.Open()
	ts.Check(err)
	ts.Defer(func() { ts.Check(db.Close()) })
	return db
}

// shop makes the sample shop in a new file: shop FILE ROWS SEED, with the numbers of auto-increment, or shop FILE ROWS SEED NODE, with
// snowflakes.
func shop(ts *testscript.TestScript, _ bool, args []string) {
	var numbers []int64
	for _, arg := range args[1:] {
		n, err := strconv.ParseInt(arg, 10, 64)
		ts.Check(err)
		numbers = append(numbers, n)
	}
	db := openScript(ts, args[0])
	for _, statement := range migratetest.Schema("sqlite") {
		_, err := db.Exec(statement)
		ts.Check(err)
	}
	rows, seed := int(numbers[0]), uint64(numbers[1])
	if len(numbers) == 2 {
		ts.Check(migratetest.Fill(context.Background(), db, "sqlite", rows, seed))
		return
	}
	sequence := int64(0)
	ts.Check(migratetest.FillKeys(context.Background(), db, "sqlite", rows, seed, func(_ string, created time.Time) int64 {
		sequence++
		id, err := idgen.Snowkey.Layout.Compose(idgen.Parts{Time: created.Add(time.Duration(sequence/4096) * time.Millisecond), Node: numbers[2], Sequence: sequence % 4096})
		ts.Check(err)
		return id
	}))
}

// query runs a statement on a file of SQLite: query FILE STATEMENT, or one for one value, query FILE STATEMENT VALUE.
func query(ts *testscript.TestScript, _ bool, args []string) {
	db := openScript(ts, args[0])
	if len(args) == 2 {
		_, err := db.Exec(args[1])
		ts.Check(err)
		return
	}
	var got string
	ts.Check(db.QueryRow(args[1]).Scan(&got))
	if got != args[2] {
		ts.Fatalf("%s: got %s, want %s", args[1], got, args[2])
	}
}

// same fails unless two shops hold the same, whatever their ids are.
func same(ts *testscript.TestScript, _ bool, args []string) {
	var sums [2]string
	for i := range sums {
		var err error
		sums[i], err = migratetest.Checksum(context.Background(), openScript(ts, args[i]), "sqlite")
		ts.Check(err)
	}
	if sums[0] != sums[1] {
		ts.Fatalf("%s and %s hold different things", args[0], args[1])
	}
}

// status fails unless a command ends with a status: status 2 snowkey check.
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if ended, ok := err.(interface{ ExitCode() int }); ok {
		got = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("got the exit status %d, want %d", got, want)
	}
}
