package main

import (
	"context"
	"database/sql"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// undivided makes a database of a kind, runs statements in it, and names it in SNOWKEY_DB: undivided KIND STATEMENT…
func undivided(ts *testscript.TestScript, _ bool, args []string) {
	t, ok := ts.Value(scriptTest{}).(testing.TB)
	if !ok {
		ts.Fatalf("the script has no test")
	}
	database := map[string]func(testing.TB) dbtest.Database{"postgres": dbtest.Postgres, "mysql": dbtest.MySQL}[args[0]](t)
	ts.Setenv(databaseVariable, database.DSN)
	onServer(ts, func(ctx context.Context, db *sql.DB) error {
		for _, statement := range args[1:] {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}
