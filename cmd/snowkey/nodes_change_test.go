package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A change is shown, refused while a holder does not know the layout, announced, and listed with its time; a doubt over it has the ids of each layout.
func TestNodesChange(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			database := make(t)
			dialect, err := grant.LookupDialect(name)
			if err != nil {
				t.Fatal(err)
			}
			nodes := func(want int, args ...string) (stdout, stderr string) {
				t.Helper()
				var out, errOut bytes.Buffer
				if status := run(t.Context(), append(append([]string{"nodes"}, args...), "--db", database.DSN), nil, &out, &errOut); status != want {
					t.Fatalf("nodes %q: got status %d, want %d\n%s\n%s", args, status, want, &out, &errOut)
				}
				return out.String(), errOut.String()
			}
			has := func(text string, wants ...string) {
				t.Helper()
				for _, want := range wants {
					if !strings.Contains(text, want) {
						t.Errorf("%q is missing in\n%s", want, text)
					}
				}
			}
			store := grant.SQL(database.Open(t), dialect)
			open := func(config grant.Config) *grant.Keeper {
				t.Helper()
				k, err := grant.Open(t.Context(), store, config)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = k.Close() }) // once more
				return k
			}
			former := open(grant.Config{Name: "former"})
			open(grant.Config{Name: "new", Generator: []idgen.Option{idgen.Packed}, Before: []idgen.Option{idgen.Snowkey}})

			_, stderr := nodes(2, "change")
			has(stderr, "--to is missing")
			_, stderr = nodes(1, "change", "--to", "packed", "--space", "nosuch")
			has(stderr, `no space "nosuch"`)
			_, stderr = nodes(1, "change", "--to", "twitter")
			has(stderr, "both need one epoch and one unit")
			shown, _ := nodes(0, "change", "--to", "packed", "--dry-run")
			has(shown, "space default\nfrom "+idgen.Snowkey.String()+"\nto "+idgen.Packed.String()+"\nat 20", " on have the new layout\n",
				"former, does not know the new layout, and has the number until 20", "nothing is changed, without --dry-run it is announced\n")
			if strings.Contains(shown, "new, does not") {
				t.Errorf("a holder that knows the new layout is named in\n%s", shown)
			}
			shown, stderr = nodes(1, "change", "--to", "packed")
			has(shown, "former, does not know", "nothing is changed\n")
			has(stderr, "holders that do not know the new layout: 1, such as", "Before")
			before, _ := nodes(0)
			if strings.Contains(before, "packed") || strings.Contains(before, "stream") {
				t.Errorf("the layout has changed in\n%s", before)
			}
			if err := former.Close(); err != nil {
				t.Fatal(err)
			}
			shown, _ = nodes(0, "change", "--to", "packed")
			has(shown, "to "+idgen.Packed.String(), "\nannounced\n")
			_, stderr = nodes(1, "change", "--to", "snowkey", "--force")
			has(stderr, "wait until then")

			table, _ := nodes(0)
			has(table, "space default, 1 of 1024 held at ", "\nlayout "+idgen.Snowkey.String()+"\n", ": "+idgen.Packed.String()+"\n", "new")
			if strings.Contains(table, "~") {
				t.Errorf("the name of the rows is shown in\n%s", table)
			}
			lines, _ := nodes(0, "--json")
			var space spaceLine
			if err := json.Unmarshal([]byte(strings.Split(lines, "\n")[0]), &space); err != nil {
				t.Fatal(err)
			}
			if len(space.Layouts) != 2 || space.Layout != idgen.Snowkey.String() || space.Layouts[1].Layout != idgen.Packed.String() || space.Space != "default" || space.Held != 1 {
				t.Fatalf("got %+v", space)
			}
			at, err := time.Parse(time.RFC3339Nano, space.Layouts[1].From)
			if err != nil {
				t.Fatal(err)
			}
			if first, err := idgen.Packed.MinID(at); err != nil || first != space.Layouts[1].FirstID {
				t.Errorf("got the first id %d, %v, want %d", space.Layouts[1].FirstID, err, first)
			}
			doubt, _ := nodes(0, "doubt", "--from", at.Add(-time.Minute).Format(time.RFC3339Nano), "--until", at.Add(time.Minute).Format(time.RFC3339Nano))
			last, _ := idgen.Snowkey.MaxID(at.Add(time.Minute - 1))
			least, _ := idgen.Packed.MinID(at.Add(-time.Minute))
			has(doubt, "ids of "+idgen.Snowkey.String()+" made", "ids of "+idgen.Packed.String()+" made", jsonNumber(last), jsonNumber(least))

			// One loss was moved with the rows, the other was recorded after.
			for rows, number := range map[string]int64{"default~1": 3, "default": 4} {
				if err := store.Record(t.Context(), rows, grant.Loss{Number: number, Holder: "lost", From: 1 << 30, Until: 1<<30 + 1000}); err != nil {
					t.Fatal(err)
				}
			}
			lines, _ = nodes(0, "--json")
			has(lines, `"losses":2`, `"kind":"loss","space":"default"`)
			doubt, _ = nodes(0, "doubt")
			has(doubt, "number 3, lost by lost", "number 4, lost by lost")
			if n := strings.Count(doubt, " are in doubt"); n != 4 {
				t.Errorf("got %d ranges, want one of each loss in each layout, in\n%s", n, doubt)
			}
		})
	}
}

func jsonNumber(n int64) string {
	text, _ := json.Marshal(n)
	return string(text)
}
