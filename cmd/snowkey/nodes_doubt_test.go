package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// doubtLayouts are those of the presets that have numbers, and others with the fields in other orders.
func doubtLayouts(t *testing.T) map[string]idgen.Layout {
	layouts := map[string]idgen.Layout{}
	for _, p := range idgen.Presets() {
		if p.Bits(idgen.Node)+p.Bits(idgen.Datacenter) > 0 {
			layouts[p.Name()] = p.Layout
		}
	}
	if len(layouts) != 15 {
		t.Errorf("got %d presets with numbers, want 15", len(layouts))
	}
	epoch := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, fields := range map[string][]idgen.Field{
		"node_above_time":    {idgen.Node.Bits(10), idgen.Time.Bits(41), idgen.Sequence.Bits(12)},
		"apart":              {idgen.Datacenter.Bits(5), idgen.Time.Bits(40), idgen.Node.Bits(5), idgen.Sequence.Bits(10)},
		"node_before_center": {idgen.Time.Bits(41), idgen.Node.Bits(5), idgen.Datacenter.Bits(5), idgen.Sequence.Bits(12)},
		"sequence_on_top":    {idgen.Sequence.Bits(6), idgen.Datacenter.Bits(4), idgen.Node.Bits(4), idgen.Shard.Bits(4), idgen.Time.Bits(45)},
		"datacenter_alone":   {idgen.Shard.Bits(3), idgen.Datacenter.Bits(8), idgen.Sequence.Bits(3), idgen.Time.Bits(41)},
		"few_bits":           {idgen.Time.Bits(20), idgen.Sequence.Bits(4), idgen.Node.Bits(3)},
		"bands":              {idgen.Shard.Bits(2), idgen.Time.Bits(30), idgen.Node.Bits(5), idgen.Stream.Bits(2), idgen.Time.Bits(10), idgen.Sequence.Bits(6)},
		"bands_of_bits":      {idgen.Time.Bits(30), idgen.Node.Bits(5), idgen.Time.Bits(3), idgen.Sequence.Bits(6)},
		"no_numbers":         {idgen.Shard.Bits(13), idgen.Time.Bits(40), idgen.Sequence.Bits(10)},
	} {
		layout, err := idgen.NewLayout(epoch, time.Millisecond, fields...)
		if err != nil {
			t.Fatal(err)
		}
		layouts[name] = layout
	}
	return layouts
}

// compose returns the ids of a number at a tick, with the least and the greatest of the other fields.
func compose(t *testing.T, l idgen.Layout, number, tick int64) (ids []int64) {
	t.Helper()
	for _, other := range []int64{0, 1} {
		id, err := l.Compose(idgen.Parts{
			Time: l.Epoch().Add(time.Duration(tick) * l.Unit()), Node: number & l.Max(idgen.Node), Datacenter: number >> l.Bits(idgen.Node),
			Sequence: other * l.Max(idgen.Sequence), Shard: other * l.Max(idgen.Shard), Stream: other * l.Max(idgen.Stream),
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// queryIDs runs statements that select ids, in their first column.
func queryIDs(t *testing.T, pool *sql.DB, statement string) (ids []int64) {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var id int64
		if err := rows.Scan([]any{&id, new(any)}[:len(columns)]...); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestNodesDoubt runs the SQL that is printed, on tables with rows in doubt, at the ticks beside, and of other numbers.
func TestNodesDoubt(t *testing.T) {
	layouts := doubtLayouts(t)
	for kind, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(kind, func(t *testing.T) {
			database := make(t)
			pool := database.Open(t)
			dialect, err := grant.LookupDialect(kind)
			if err != nil {
				t.Fatal(err)
			}
			store := grant.SQL(pool, dialect)
			exec := func(statement string) {
				t.Helper()
				if _, err := pool.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			exec("CREATE TABLE other (a int)") // a file too
			doubt := func(args ...string) string {
				t.Helper()
				var out, errOut bytes.Buffer
				if status := run(t.Context(), append([]string{"nodes", "doubt", "--db", database.DSN}, args...), nil, &out, &errOut); status != 0 {
					t.Fatalf("%q: got status %d: %s", args, status, &errOut)
				}
				return out.String()
			}
			other := dialect.QuoteAny("Order")
			exec("CREATE TABLE " + other + " (" + dialect.QuoteAny("my id") + " bigint, a int)")
			for _, name := range slices.Sorted(maps.Keys(layouts)) {
				t.Run(name, func(t *testing.T) {
					l := layouts[name]
					most := int64(1)<<(l.Bits(idgen.Datacenter)+l.Bits(idgen.Node)) - 1
					number := most / 3 // has bits of 0 and 1 in all fields, and is 0 where there are none
					first := l.Max(idgen.Time) / 3 & 0xFFFFF
					last := first + 999
					if _, err := store.Prepare(t.Context(), name, l.String()); err != nil {
						t.Fatal(err)
					}
					if err := store.Record(t.Context(), name, grant.Loss{Number: number, Holder: "web-1#abc", From: first, Until: last + 1}); err != nil {
						t.Fatal(err)
					}
					var inside, outside []int64
					for _, tick := range []int64{first, first + 1, first + 512, last} {
						inside = append(inside, compose(t, l, number, tick)...)
						for bit := range l.Bits(idgen.Datacenter) + l.Bits(idgen.Node) {
							outside = append(outside, compose(t, l, number^1<<bit, tick)...)
						}
					}
					for _, tick := range []int64{0, first - 1, last + 1, first ^ 1<<12, l.Max(idgen.Time)} {
						if tick*int64(l.Unit())/int64(l.Unit()) != tick || tick >= 1<<42 {
							continue // beyond what a duration holds
						}
						outside = append(outside, compose(t, l, number, tick)...)
					}
					outside = append(outside, 0, -1, -inside[0], 1<<63-1)
					slices.Sort(inside)
					inside = slices.Compact(inside)
					outside = slices.DeleteFunc(outside, func(id int64) bool { return slices.Contains(inside, id) && id == 0 })

					exec("CREATE TABLE " + name + "_rows (id bigint)")
					defer exec("DELETE FROM " + other)
					var rows, others []string
					for i, id := range slices.Concat(inside, outside, outside) { // those outside are twice in one table
						rows = append(rows, fmt.Sprintf("(%d)", id))
						if i%2 == 0 { // and each second one in the other
							others = append(others, fmt.Sprintf("(%d, 1)", id))
						}
					}
					exec("INSERT INTO " + name + "_rows VALUES " + strings.Join(rows, ", "))
					exec("INSERT INTO " + other + " VALUES " + strings.Join(others, ", "))
					var twice []int64
					for i, id := range inside {
						if i%2 == 0 {
							twice = append(twice, id)
						}
					}
					in := []string{"--space", name, "--table", name + "_rows", "--column", "id", "--table", "Order", "--column", "my id"}
					var line doubtLine
					if err := json.Unmarshal([]byte(doubt(append(in, "--json")...)), &line); err != nil {
						t.Fatal(err)
					}
					if line.Node != number || line.FromTick != first || line.UntilTick != last+1 || len(line.Rows) != 2 ||
						line.Least != fmt.Sprint(inside[0]) || line.Greatest != fmt.Sprint(inside[len(inside)-1]) {
						t.Errorf("got %+v, want the ids %d to %d", line, inside[0], inside[len(inside)-1])
					}
					if got := queryIDs(t, pool, line.Rows[0]); !slices.Equal(got, inside) {
						t.Errorf("%s\ngot  %d\nwant %d", line.Rows[0], got, inside)
					}
					if got := queryIDs(t, pool, line.Rows[1]); !slices.Equal(got, twice) {
						t.Errorf("%s\ngot  %d\nwant %d", line.Rows[1], got, twice)
					}
					if got := queryIDs(t, pool, line.Twice); !slices.Equal(got, twice) {
						t.Errorf("%s\ngot  %d\nwant %d", line.Twice, got, twice)
					}
					// The same time can be asked for, of one number or of all.
					timeOf := func(tick int64) string { return l.Epoch().Add(time.Duration(tick) * l.Unit()).Format(time.RFC3339Nano) }
					asked := append(in, "--json", "--from", timeOf(first), "--until", timeOf(last+1))
					var one, any doubtLine
					if err := json.Unmarshal([]byte(doubt(append(asked, "--number", fmt.Sprint(number))...)), &one); err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(one.Rows, line.Rows) || one.Twice != line.Twice || one.FromTick != first || one.UntilTick != last+1 {
						t.Errorf("asked for: got %+v\nwant %+v", one, line)
					}
					if err := json.Unmarshal([]byte(doubt(asked...)), &any); err != nil {
						t.Fatal(err)
					}
					var ofAll []int64
					for _, id := range slices.Concat(inside, outside, outside) {
						parts, err := l.Decode(id)
						if tick := parts.Time.Sub(l.Epoch()) / l.Unit(); err == nil && first <= int64(tick) && int64(tick) <= last {
							ofAll = append(ofAll, id)
						}
					}
					slices.Sort(ofAll)
					if got := queryIDs(t, pool, any.Rows[0]); any.Node != anyNumber || !slices.Equal(got, ofAll) {
						t.Errorf("%s\ngot  %d\nwant %d", any.Rows[0], got, ofAll)
					}
					// The text has the same statements, and comments beside them.
					text := doubt(in...)
					statements := regexp.MustCompile(`(?m)^(SELECT.*);$`).FindAllStringSubmatch(text, -1)
					if len(statements) != 3 || statements[0][1] != line.Rows[0] || statements[1][1] != line.Rows[1] || statements[2][1] != line.Twice {
						t.Errorf("got\n%s\nwant the statements of\n%+v", text, line)
					}
					for rest := range strings.Lines(text) {
						if rest != "\n" && !strings.HasPrefix(rest, "-- ") && !strings.HasPrefix(rest, "SELECT") {
							t.Errorf("%q is no comment", rest)
						}
					}
				})
			}
		})
	}
}

// TestNodesDoubtOfKeepers has a database forget the grants of keepers, and finds the keys that they made with the numbers since.
func TestNodesDoubtOfKeepers(t *testing.T) {
	for name, statement := range map[string]string{
		"deleted":  "DELETE FROM snowkey_nodes WHERE node >= 0 AND holder <> ''",
		"set back": "UPDATE snowkey_nodes SET holder = '', until_tick = from_tick + 1 WHERE node >= 0 AND holder <> ''",
		"dropped":  "DROP TABLE snowkey_nodes",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := dbtest.SQLite(t)
			database.DriverDSN += "?_busy_timeout=10000"
			pool := database.Open(t)
			exec := func(statement string) {
				t.Helper()
				if _, err := pool.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			exec("CREATE TABLE orders (id integer)")
			noted := make(chan struct{}, 1000)
			config := grant.Config{Name: "web-1", Logger: slog.New(slog.DiscardHandler), Notify: func(s grant.State) {
				if len(s.Losses) > 0 {
					noted <- struct{}{}
				}
			}}
			k, err := grant.Open(t.Context(), grant.SQL(pool, grant.SQLite), config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = k.Close() }()
			spare, err := grant.Open(t.Context(), grant.SQL(pool, grant.SQLite), grant.Config{}) // leaves a number that is free
			if err != nil {
				t.Fatal(err)
			}
			if err := spare.Close(); err != nil {
				t.Fatal(err)
			}
			keys := func(k *grant.Keeper) (made []int64) {
				for range 20 {
					id, err := k.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					made = append(made, id)
				}
				return made
			}
			lost := k.State().Number
			keys(k)
			exec(statement)
			since := keys(k) // by a keeper that does not know yet
			select {
			case <-noted:
			case <-time.After(time.Minute):
				t.Fatal("the keeper notices nothing")
			}
			after := keys(k)
			for _, id := range slices.Concat(since, after) {
				exec(fmt.Sprintf("INSERT INTO orders VALUES (%d)", id))
			}
			var out, errOut bytes.Buffer
			args := []string{"nodes", "doubt", "--db", database.DSN, "--table", "orders", "--json"}
			if status := run(t.Context(), args, nil, &out, &errOut); status != 0 {
				t.Fatalf("got status %d: %s", status, &errOut)
			}
			var line doubtLine
			if err := json.Unmarshal(out.Bytes(), &line); err != nil {
				t.Fatalf("%v: %s", err, &out)
			}
			if got := queryIDs(t, pool, line.Rows[0]); line.Node != lost || !slices.Equal(got, since) {
				t.Errorf("number %d, %s\ngot  %d\nwant %d, of number %d", line.Node, line.Rows[0], got, since, lost)
			}
		})
	}
}

// What there is to say without ids in doubt, and of what is asked for in a wrong way.
func TestNodesDoubtOfNone(t *testing.T) {
	database := dbtest.SQLite(t)
	store := grant.SQL(database.Open(t), grant.SQLite)
	if _, err := store.Prepare(t.Context(), "orders", idgen.Snowkey.String()); err != nil {
		t.Fatal(err)
	}
	doubt := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errOut bytes.Buffer
		if got := run(context.Background(), append([]string{"nodes", "doubt", "--db", database.DSN}, args...), nil, &out, &errOut); got != want {
			t.Errorf("%q: got status %d, want %d: %s", args, got, want, &errOut)
		}
		return out.String(), errOut.String()
	}
	if text, _ := doubt(0); text != "-- no ids in doubt\n" {
		t.Errorf("got %q", text)
	}
	if text, _ := doubt(0, "--json"); text != "" {
		t.Errorf("got %q", text)
	}
	for _, args := range [][]string{
		{"--column", "a", "--column", "b"}, {"--table", ""}, {"--table", "a.b.c"}, {"--table", "a\nb"}, {"--column", ""}, {"--grants", "a-b"}, {"extra"},
		{"--number", "1"}, {"--from", "2026-03-01T12:00:00Z"}, {"--from", "2026-03-01T12:00:00Z", "--until", "2026-03-01T12:00:00Z"},
		{"--from", "2026-03-01T12:00:00Z", "--until", "2026-03-01T12:07:00Z", "--number", "-2"},
	} {
		doubt(2, args...)
	}
	doubt(1, "--space", "nosuch")
	doubt(1, "--grants", "nosuch")

	asked := []string{"--from", "2020-01-01T00:00:00Z", "--until", "2025-01-01T00:00:00.0005Z"}
	if text, _ := doubt(0, asked...); !strings.Contains(text, `WHERE "id" BETWEEN 0 AND 4194303 ORDER`) || !strings.Contains(text, ": all numbers\n") {
		t.Errorf("a part of the first tick: got %q", text)
	}
	if text, _ := doubt(0, append(asked, "--number", "1024")...); !strings.Contains(text, "-- no ids in doubt\n") {
		t.Errorf("a number that there is not: got %q", text)
	}

	// No id was made since the grant was last seen.
	if err := store.Record(t.Context(), "orders", grant.Loss{Number: 3, Holder: "a\x1b#b", From: 10, Until: 10}); err == nil {
		if text, _ := doubt(0); !strings.Contains(text, "\n-- no ids in doubt\n") || strings.Contains(text, "SELECT") || strings.Contains(text, "\x1b") {
			t.Errorf("got %q", text)
		}
	} else {
		t.Error(err)
	}
	if err := store.Record(t.Context(), "orders", grant.Loss{Number: 3, Holder: "a", From: 0, Until: 1}); err != nil {
		t.Fatal(err)
	}
	if text, _ := doubt(0, "--table", "app.orders"); !strings.Contains(text, `SELECT "id" FROM "app"."orders" WHERE "id" BETWEEN 12288 AND 16383 AND "id" & 4190208 = 12288 ORDER BY "id";`) {
		t.Errorf("got %q", text)
	}
	// The help says how to forget them.
	if _, err := database.Open(t).ExecContext(t.Context(), "DELETE FROM snowkey_nodes WHERE space = 'orders' AND node < -2"); err != nil {
		t.Fatal(err)
	}
	if text, _ := doubt(0); text != "-- no ids in doubt\n" {
		t.Errorf("got %q", text)
	}
	// A layout of a version to come.
	if _, err := store.Prepare(t.Context(), "later", "time=41@1ms,color=3"); err != nil {
		t.Fatal(err)
	}
	if err := store.Record(t.Context(), "later", grant.Loss{Number: 3, Holder: "a", From: 0, Until: 1}); err != nil {
		t.Fatal(err)
	}
	if _, stderr := doubt(1); !strings.Contains(stderr, "color=3") {
		t.Errorf("got %q", stderr)
	}
}

// A store that may have forgotten losses is named, and its losses are listed.
func TestDoubtsBeyondWhatStoresKeep(t *testing.T) {
	for n, want := range map[int]string{grant.MostLosses - 1: "", grant.MostLosses: `space "default" has 1024 losses, and its store keeps no more`} {
		var space nodeSpace
		space.Space, space.kind, space.known = grant.Space{Name: "default"}, "store", true
		space.layout = idgen.Snowkey.Layout
		space.losses = make([]grant.Loss, n)
		_, err := listDoubts(grant.SQLite, nodeList{spaces: []nodeSpace{space}}, nil)
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("with %d losses: got the error %v, want %q", n, err, want)
		}
	}
}
