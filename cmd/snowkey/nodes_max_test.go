package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// The list is printed whole, and the exit status is 1 when more than the part given is held. Numbers that are free or ended do not count; those that are
// reserved do, and those without a row where rows are gone.
func TestNodesMaxHeld(t *testing.T) {
	database := dbtest.SQLite(t)
	pool := database.Open(t)
	store := grant.SQL(pool, grant.SQLite)
	layout, err := idgen.NewLayout(idgen.Snowkey.Epoch(), idgen.Snowkey.Unit(), idgen.Time.Bits(41), idgen.Node.Bits(3), idgen.Sequence.Bits(12))
	if err != nil {
		t.Fatal(err)
	}
	open := func(space string, options ...idgen.Option) *grant.Keeper {
		t.Helper()
		k, err := grant.Open(t.Context(), store, grant.Config{Space: space, Generator: options})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = k.Close() })
		return k
	}
	for range 4 {
		open("eight", layout)
	}
	if err := open("eight", layout).Close(); err != nil {
		t.Fatal(err)
	}
	for number, row := range map[int64]grant.Row{6: {Holder: "crashed#1", From: 1, Until: 2}, 7: {Holder: "legacy", From: 1, Until: grant.Forever}} {
		row.Number = number
		if done, err := store.Swap(t.Context(), "eight", grant.Row{Number: number, Holder: grant.Absent}, row); err != nil || !done {
			t.Fatal(done, err)
		}
	}
	single, err := idgen.NewLayout(idgen.Snowkey.Epoch(), idgen.Snowkey.Unit(), idgen.Time.Bits(41), idgen.Sequence.Bits(12))
	if err != nil {
		t.Fatal(err)
	}
	open("single", single)
	nodes := func(args ...string) (status int, stdout, stderr string) {
		var out, errOut bytes.Buffer
		status = run(t.Context(), append([]string{"nodes", "--db", database.DSN}, args...), nil, &out, &errOut)
		return status, out.String(), errOut.String()
	}
	for _, test := range []struct {
		most   string
		status int
	}{{"62.5%", 0}, {"100%", 0}, {"62.4%", 1}, {"1%", 1}, {"80", 2}, {"0.8", 2}, {"0%", 2}, {"-1%", 2}, {"101%", 2}, {"NaN%", 2}, {"%", 2}, {"", 2}} {
		for _, format := range [][]string{nil, {"--json"}} {
			status, stdout, stderr := nodes(append(format, "--max-held", test.most)...)
			if status != test.status || (status < 2) != strings.Contains(stdout, "eight") {
				t.Errorf("%q %q: got status %d, %q and %q, want status %d", test.most, format, status, stdout, stderr, test.status)
			}
			if want := "5 of 8 numbers are held, 62.5%, more than " + test.most; status == 1 && (!strings.Contains(stderr, want) || strings.Contains(stderr, "single")) {
				t.Errorf("%q: got %q, want %q", test.most, stderr, want)
			}
		}
	}
	if status, _, stderr := nodes(); status != 0 {
		t.Errorf("without --max-held: got status %d and %q", status, stderr)
	}
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := pool.ExecContext(context.Background(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("DELETE FROM snowkey_nodes WHERE space = 'eight' AND node = 6")
	if status, _, stderr := nodes("--max-held", "80%"); status != 1 || !strings.Contains(stderr, "7 of 8 numbers are held, 87.5%") {
		t.Errorf("with a row that is gone: got status %d and %q, want those without a row among the held", status, stderr)
	}
	exec("UPDATE snowkey_nodes SET layout = 'of a version to come' WHERE space = 'eight' AND node = -1")
	if status, _, stderr := nodes("--max-held", "80%"); status != 1 || !strings.Contains(stderr, "cannot be counted") {
		t.Errorf("with an unknown layout: got status %d and %q", status, stderr)
	}
}

// Errors of a space that cannot be listed come with those of a space that is too full.
func TestNodesMaxHeldBesideAnotherError(t *testing.T) {
	database := dbtest.SQLite(t)
	pool := database.Open(t)
	store := grant.SQL(pool, grant.SQLite)
	k, err := grant.Open(t.Context(), store, grant.Config{Space: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	row := fmt.Sprintf("INSERT INTO snowkey_nodes (space, node, holder, from_tick, until_tick, layout) VALUES ('name bad!', -1, '', %d, 0, 'none')", math.MaxInt32)
	if _, err := pool.ExecContext(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	status := run(t.Context(), []string{"nodes", "--db", database.DSN, "--max-held", "0.01%"}, nil, &out, &errOut)
	if text := errOut.String(); status != 1 || !strings.Contains(text, "name bad!") || !strings.Contains(text, `space "orders"`) {
		t.Errorf("got status %d and %q, want both spaces", status, text)
	}
}
