package main

import "github.com/rogpeppe/go-internal/testscript"

// undivided makes a database of a kind, runs statements in it, and names it in SNOWKEY_DB: undivided KIND STATEMENT…
func undivided(ts *testscript.TestScript, _ bool, args []string) {
	server(ts, false, []string{args[0], databaseVariable})
	for _, statement := range args[1:] {
		execute(ts, statement)
	}
}
