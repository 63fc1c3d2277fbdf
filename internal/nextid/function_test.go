package nextid_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/nextid"
)

// Sixteen sessions insert by the default, beside two processes with grants, in statements of one row and of several, committed and rolled back.
func TestBesideGenerators(t *testing.T) {
	onServers(t, func(t *testing.T, database dbtest.Database) {
		f := newFixture(t, database, idgen.Snowkey.Layout, nil)
		limit := 700 * time.Millisecond
		if dbtest.IsLong() {
			limit = time.Minute
		}
		var keepers []*grant.Keeper
		for range 2 {
			k, err := grant.Open(t.Context(), f.store, grant.Config{})
			if err != nil {
				t.Fatal(err)
			}
			keepers = append(keepers, k)
		}
		var all seen
		var wg sync.WaitGroup
		end := time.Now().Add(limit)
		for i := range 16 {
			session := f.session(t)
			wg.Go(func() {
				who, last := fmt.Sprint("session ", i), int64(0)
				for n := 0; n < 6 || time.Now().Before(end); n++ {
					tx, err := session.BeginTx(t.Context(), nil)
					if err != nil {
						t.Error(err)
						return
					}
					statement := "INSERT INTO orders (item) VALUES (1) RETURNING id"
					if n%2 == 1 {
						statement = "INSERT INTO orders (item) VALUES (1), (2), (3), (4), (5) RETURNING id"
					}
					keys, err := call(t.Context(), tx, statement)
					if err == nil && n%3 == 2 {
						err = tx.Rollback()
					} else if err == nil {
						err = tx.Commit()
					}
					if err != nil {
						t.Errorf("%s: %v", who, err)
						return
					}
					all.add(t, who, keys...)
					for _, key := range keys {
						if parts, err := f.function.Layout.Decode(key); err != nil || parts.Node != f.function.Number.Number || key <= last {
							t.Errorf("%s: got the key %d after %d, with %+v (error %v)", who, key, last, parts, err)
						}
						last = key
					}
				}
			})
		}
		for i, k := range keepers {
			wg.Go(func() {
				for n := 0; n < 6 || time.Now().Before(end); n++ {
					keys := make([]int64, 5)
					if err := k.Fill(t.Context(), keys); err != nil {
						t.Error(err)
						return
					}
					for _, key := range keys {
						if _, err := f.pool.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO orders (id, item) VALUES (%d, 0)", key)); err != nil {
							t.Error(err)
							return
						}
					}
					all.add(t, fmt.Sprint("generator ", i), keys...)
				}
				if err := k.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		count := map[string]int{}
		for _, who := range all.by {
			count[strings.Fields(who)[0]]++
		}
		if count["session"] < 16*6 || count["generator"] < 2*6*5 {
			t.Errorf("got %v keys, want six statements of each", count)
		}
		t.Logf("%v keys, none twice", count)
	})
}

// A transaction that stays open, with keys, lets other sessions go on, also those that open a tick beside it; a key that was rolled back does not come again.
func TestOpenTransaction(t *testing.T) {
	onServers(t, func(t *testing.T, database dbtest.Database) {
		f := newFixture(t, database, idgen.Snowkey.Layout, stepped)
		ahead, other := f.session(t), f.session(t)
		tx, err := ahead.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var all []int64
		for i := range 100 {
			at := float64(i) / 100 // both open ticks
			f.step(t, ahead, at)
			f.step(t, other, at+0.005)
			for _, db := range []queryer{tx, other} {
				keys, err := call(ctx, db, nextKey)
				if err != nil {
					t.Fatalf("key %d: %v", len(all), err)
				}
				all = append(all, keys...)
			}
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		increase(t, append(all, mustCall(t, other, nextKey)...))
	})
}

// Keys increase whatever the clock does, and have its time as soon as it is later than all keys.
func TestClockSteps(t *testing.T) {
	onServers(t, func(t *testing.T, database dbtest.Database) {
		f := newFixture(t, database, idgen.Snowkey.Layout, stepped)
		session := f.session(t)
		var all []int64
		for _, seconds := range []float64{0, -3600, 7200, 0, -1e8, 7300} {
			f.step(t, session, seconds)
			begin := time.Now()
			for range 20 {
				all = append(all, mustCall(t, session, nextKey)...)
			}
			parts, err := f.function.Layout.Decode(all[len(all)-1])
			want := begin.Add(time.Duration(seconds) * time.Second)
			if off := parts.Time.Sub(want); err != nil || (seconds == 7200 || seconds == 7300) && off.Abs() > 10*time.Second {
				t.Errorf("after a step by %v s: got the time %s, %s off (error %v)", seconds, parts.Time, off, err)
			}
		}
		increase(t, all)
	})
}

// At one key a tick, all rests of a division by 8 and by 1024 come equally often.
func TestUniform(t *testing.T) {
	onServers(t, func(t *testing.T, database dbtest.Database) {
		f := newFixture(t, database, idgen.Snowkey.Layout, stepped)
		session := f.session(t)
		rests := map[int64]int{}
		for i := range 256 {
			f.step(t, session, 10+float64(i)/10)
			rests[mustCall(t, session, nextKey)[0]%8]++
		}
		for rest := range int64(8) {
			if rests[rest] != 32 {
				t.Errorf("%d keys have the rest %d, want 32 of 256: %v", rests[rest], rest, rests)
			}
		}
	})
}

// A statement of many rows has keys that increase, none twice, in the order of its rows.
func TestManyRows(t *testing.T) {
	onServers(t, func(t *testing.T, database dbtest.Database) {
		f := newFixture(t, database, idgen.Snowkey.Layout, nil)
		rows, source := 5000, "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n"
		if dbtest.IsLong() {
			rows = 100_000
		}
		if database.Kind == "mysql" {
			f.pool.SetMaxOpenConns(1)
			f.exec(t, "SET max_recursive_iterations = 1000000")
		}
		f.exec(t, "INSERT INTO orders (item) "+fmt.Sprintf(source, rows))
		keys := mustCall(t, f.pool, "SELECT id FROM orders ORDER BY item")
		if len(keys) != rows {
			t.Errorf("got %d keys, want %d", len(keys), rows)
		}
		increase(t, keys)
	})
}

// A key that is given stays; none, NULL on MySQL and 0 on MySQL are filled in.
func TestGivenKey(t *testing.T) {
	onServers(t, func(t *testing.T, database dbtest.Database) {
		f := newFixture(t, database, idgen.Snowkey.Layout, nil)
		f.exec(t, "INSERT INTO orders (id, item) VALUES (5, 1)")
		if database.Kind == "mysql" {
			f.exec(t, "INSERT INTO orders (id, item) VALUES (NULL, 2), (0, 2)")
		} else {
			f.exec(t, "INSERT INTO orders (id, item) VALUES (DEFAULT, 2), (DEFAULT, 2)")
		}
		if keys := mustCall(t, f.pool, "SELECT id FROM orders ORDER BY id"); len(keys) != 3 || keys[0] != 5 || keys[1] < 1<<50 {
			t.Errorf("got %d", keys)
		}
	})
}

// After kill -9 of the server in the middle of inserts, and with a clock that is an hour behind, keys go on after those in the table.
func TestServerKilled(t *testing.T) {
	for kind, start := range map[string]func(testing.TB, ...string) *dbtest.Server{"mysql": dbtest.StartMySQL, "postgres": dbtest.StartPostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			f := newFixture(t, server.Database(t), idgen.Snowkey.Layout, stepped)
			rounds := 1
			if dbtest.IsLong() {
				rounds = 10
			}
			for range rounds {
				var all seen
				var wg sync.WaitGroup
				for i := range 8 {
					wg.Go(func() {
						for {
							keys, err := call(t.Context(), f.pool, "INSERT INTO orders (item) VALUES (1), (2) RETURNING id")
							if err != nil {
								if all.count() < 100 {
									t.Error(err)
								}
								return // the server was killed
							}
							all.add(t, fmt.Sprint("session ", i), keys...)
						}
					})
				}
				for all.count() < 100 && !t.Failed() {
					time.Sleep(5 * time.Millisecond)
				}
				if err := server.Kill(); err != nil {
					t.Fatal(err)
				}
				wg.Wait()
				if err := server.Start(); err != nil {
					t.Fatal(err)
				}
				f.pool.SetMaxIdleConns(0) // none of before
				f.pool.SetMaxIdleConns(8)
				greatest := mustCall(t, f.pool, "SELECT MAX(id) FROM orders")
				session := f.session(t)
				f.step(t, session, -3600)
				keys := mustCall(t, session, nextKey)
				increase(t, append(greatest, keys...))
				all.add(t, "the session after", keys...)
			}
		})
	}
}

// Without its row the function fails, at the next tick and where keys are ahead of a clock that was set back, and says what to do. Printed again it has another number, and goes on with the same word.
func TestRowGone(t *testing.T) {
	onServers(t, func(t *testing.T, database dbtest.Database) {
		f := newFixture(t, database, idgen.Snowkey.Layout, stepped)
		session := f.session(t)
		f.step(t, session, 60)
		before := mustCall(t, session, nextKey)
		f.step(t, session, 0)
		before = append(before, mustCall(t, session, nextKey)...)
		f.exec(t, fmt.Sprintf("DELETE FROM snowkey_nodes WHERE space = 'default' AND node = %d", f.function.Number.Number))
		for _, step := range []float64{0, 30, 120, 120} {
			f.step(t, session, step)
			if keys, err := call(t.Context(), session, nextKey); err == nil || !strings.Contains(err.Error(), "run snowkey ddl function again") {
				t.Errorf("the clock stepped by %v s: got %d and the error %v", step, keys, err)
			}
		}
		f.install(t, idgen.Snowkey.Layout, stepped)
		f.step(t, session, -60)
		increase(t, append(before, mustCall(t, session, nextKey)...))
	})
}

// A change of the space's layout is not announced over the function, unless it is forced. Then the function stops, and its number goes over to the new layout at the time of the change.
func TestLayoutChanges(t *testing.T) {
	onServers(t, func(t *testing.T, database dbtest.Database) {
		f := newFixture(t, database, idgen.Snowkey.Layout, stepped)
		session := f.session(t)
		mustCall(t, session, nextKey)
		change, err := grant.PlanChange(t.Context(), f.store, grant.DefaultSpace, idgen.Packed.Layout)
		if err != nil {
			t.Fatal(err)
		}
		if err := change.Announce(t.Context(), false); !errors.Is(err, grant.ErrChange) || !strings.Contains(err.Error(), "function test") {
			t.Errorf("announced over the function: %v", err)
		}
		if err := change.Announce(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		f.step(t, session, 1)
		if _, err := call(t.Context(), session, nextKey); err == nil {
			t.Error("the function makes keys after the announcement")
		}
		if _, err := grant.Reserve(t.Context(), f.store, grant.DefaultSpace, idgen.Snowkey.Layout, "function test"); !errors.Is(err, grant.ErrLayout) {
			t.Errorf("the former layout: got the error %v", err)
		}
		if time.Until(change.At()) > time.Second {
			if _, err := grant.Reserve(t.Context(), f.store, grant.DefaultSpace, idgen.Packed.Layout, "function test"); !errors.Is(err, grant.ErrChange) {
				t.Errorf("before the time of the change: got the error %v", err)
			}
		}
	})
}

// A layout's keys decode to the number, the time and increasing sequences, up to the layout's end, after which calls fail.
func TestLayouts(t *testing.T) {
	small, err := idgen.ParseLayout("time=30@1s,sequence=2,node=4;epoch=2025-01-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	onServers(t, func(t *testing.T, database dbtest.Database) {
		for name, layout := range map[string]idgen.Layout{"twitter": idgen.Twitter.Layout, "sonyflake": idgen.Sonyflake.Layout, "packed": idgen.Packed.Layout, "js53": idgen.JS53.Layout, "small": small} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, servers[database.Kind](t), layout, stepped)
				session := f.session(t)
				var keys []int64
				for range 40 {
					keys = append(keys, mustCall(t, session, nextKey)...)
				}
				if name != "packed" || time.Now().Second() < 59 { // keys of a minute are in order
					increase(t, keys)
				}
				for _, key := range keys {
					parts, err := layout.Decode(key)
					if err != nil || parts.Datacenter<<layout.Bits(idgen.Node)|parts.Node != f.function.Number.Number || time.Since(parts.Time).Abs() > 30*time.Second {
						t.Fatalf("key %d has %+v (error %v), want number %d and the time", key, parts, err, f.function.Number.Number)
					}
				}
				if name == "small" { // ends in 2059
					if database.Kind == "mysql" { // a session's time ends in 2038
						f.exec(t, fmt.Sprintf("INSERT INTO snowkey_next_id_word2 (counter, connection) VALUES (%d, 0)", layout.Max(idgen.Time)<<2|3))
					} else {
						f.exec(t, fmt.Sprintf("SELECT setval('snowkey_next_id_word2', %d)", layout.Max(idgen.Time)<<2|3))
					}
					if keys, err := call(t.Context(), session, nextKey); err == nil {
						t.Errorf("after the last tick: got %d", keys)
					}
				}
			})
		}
	})
}

// What cannot be is refused with its value, the limit, and what to do.
func TestCheck(t *testing.T) {
	layout := func(text string) idgen.Layout {
		l, err := idgen.ParseLayout(text)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	valid := idgen.Snowkey.Layout
	for _, test := range []struct {
		dialect grant.Dialect
		name    string
		layout  idgen.Layout
		table   string
		is      error
		want    string
	}{
		{grant.SQLite, "f", valid, "t", nextid.ErrDatabase, "let a program with the plugin insert the rows"},
		{0, "f", valid, "t", nextid.ErrDatabase, "want postgres or mysql"},
		{grant.Postgres, "", valid, "t", nextid.ErrName, "digits and underlines"},
		{grant.Postgres, "a.b", valid, "t", nextid.ErrName, "in the schema of the table of grants"},
		{grant.MySQL, strings.Repeat("f", 49), valid, "t", nextid.ErrName, "up to 48"},
		{grant.MySQL, "f", valid, "a b", nextid.ErrName, `"a b"`},
		{grant.MySQL, "f", idgen.Sharded.Layout, "t", nextid.ErrLayout, "has a shard"},
		{grant.MySQL, "f", layout("time=41@1ms,node=10;epoch=2025-01-01T00:00:00Z"), "t", nextid.ErrLayout, "has no sequence"},
		{grant.Postgres, "f", layout("time=50@100ns,node=5,sequence=4;epoch=2025-01-01T00:00:00Z"), "t", nextid.ErrLayout, "ticks of 100ns"},
	} {
		err := nextid.Check(test.dialect, test.name, test.layout, []nextid.Column{{Table: test.table, Column: "id"}})
		if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, %q, %s: got the error %v, want %q", test.dialect, test.name, test.layout, err, test.want)
		}
	}
	for _, d := range []grant.Dialect{grant.Postgres, grant.MySQL} {
		if err := nextid.Check(d, nextid.DefaultName, valid, []nextid.Column{{Table: "shop.orders", Column: "id"}}); err != nil {
			t.Error(err)
		}
	}
}
