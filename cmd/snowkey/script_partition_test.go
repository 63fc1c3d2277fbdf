package main

import (
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard/partition"
)

// divided makes a database of a kind with the table orders, divided by days, and names it in SNOWKEY_DB: divided KIND.
func divided(ts *testscript.TestScript, _ bool, args []string) {
	server(ts, false, []string{args[0], databaseVariable})
	d, err := partition.LookupDialect(args[0])
	ts.Check(err)
	statements, err := partition.Table{Name: "orders", Every: partition.Day}.Create(d, "id bigint NOT NULL")
	ts.Check(err)
	for _, statement := range statements {
		execute(ts, statement)
	}
}

// rowAt adds a row to orders that is as old as is said: rowat 48h.
func rowAt(ts *testscript.TestScript, _ bool, args []string) {
	age, err := time.ParseDuration(args[0])
	ts.Check(err)
	id, err := idgen.Snowkey.MinID(time.Now().Add(-age))
	ts.Check(err)
	execute(ts, fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", id))
}

// execute runs a statement on the database of a script.
func execute(ts *testscript.TestScript, statement string) {
	_, err := openDSN(ts, ts.Getenv(databaseVariable)).Exec(statement)
	ts.Check(err)
}
