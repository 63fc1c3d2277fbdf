package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// On a node of a Galera cluster the command prints no function, and reserves no number for one.
func TestFunctionInACluster(t *testing.T) {
	node := dbtest.StartGalera(t, 1).Databases(t, "wsrep_sync_wait=7")[0]
	store := grant.SQL(node.Open(t), grant.MySQL)
	keys, err := grant.Open(t.Context(), store, grant.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"ddl", "function", "--db", node.DSN, "--table", "orders"}, nil, &stdout, &stderr); status != 1 || !strings.Contains(stderr.String(), "node of a Galera cluster") {
		t.Errorf("got status %d and %q, want 1 and the reason", status, &stderr)
	}
	if stdout.Len() > 0 {
		t.Errorf("got %q, want no statements", &stdout)
	}
	l, err := store.List(t.Context(), grant.DefaultSpace, 0, grant.Forever)
	if err != nil || len(l.Rows) != 1 {
		t.Errorf("got %+v, %v, want the keeper's row alone", l.Rows, err)
	}
}
