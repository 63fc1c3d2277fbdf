package main

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard/partition"
)

// scriptTest is the key of a script's test among its values.
type scriptTest struct{}

// divided makes a database of a kind with the table orders, divided by days, and names it in SNOWKEY_DB: divided KIND.
func divided(ts *testscript.TestScript, _ bool, args []string) {
	t, ok := ts.Value(scriptTest{}).(testing.TB)
	if !ok {
		ts.Fatalf("the script has no test")
	}
	database := map[string]func(testing.TB) dbtest.Database{"postgres": dbtest.Postgres, "mysql": dbtest.MySQL}[args[0]](t)
	ts.Setenv(databaseVariable, database.DSN)
	d, err := partition.LookupDialect(database.Kind)
	ts.Check(err)
	statements, err := partition.Table{Name: "orders", Every: partition.Day}.Create(d, "id bigint NOT NULL")
	ts.Check(err)
	for _, statement := range statements {
		onServer(ts, func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, statement)
			return err
		})
	}
}

// rowAt adds a row to orders that is as old as is said: rowat 48h.
func rowAt(ts *testscript.TestScript, _ bool, args []string) {
	age, err := time.ParseDuration(args[0])
	ts.Check(err)
	id, err := idgen.Snowkey.MinID(time.Now().Add(-age))
	ts.Check(err)
	onServer(ts, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", id))
		return err
	})
}

// onServer does something with the database of a script.
func onServer(ts *testscript.TestScript, do func(context.Context, *sql.DB) error) {
	d, err := namedDSN{text: ts.Getenv(databaseVariable), from: databaseVariable}.parse()
	ts.Check(err)
	db, err := d.Open()
	ts.Check(err)
	ts.Check(do(context.Background(), db))
	ts.Check(db.Close())
}
