package merge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/migratetest"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/internal/merge"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// settle merges databases that numbered their rows apart: it wants plans that make their ids differ, runs them, and merges.
func settle(t *testing.T, into *place, others []*place, o merge.Options) merge.Outcome {
	t.Helper()
	got, err := merge.Run(t.Context(), into.db, all(others), o)
	if !errors.Is(err, merge.ErrClash) || len(got.Rekeys) != len(others) || got.Copied != 0 {
		t.Fatalf("got %d plans, %v", len(got.Rekeys), err)
	}
	for i, p := range append(got.Rekeys, got.Widen) {
		for outcome := (run.Outcome{Done: p == nil}); !outcome.Done; {
			var err error
			if outcome, err = run.Plan(t.Context(), append(slices.Clone(others), into)[i].pool, p, run.Options{Continue: outcome.Hold}); err != nil {
				t.Fatal(err)
			}
		}
	}
	again, err := merge.Run(t.Context(), into.db, all(others), o)
	if err != nil {
		t.Fatal(err)
	}
	if again.Rekeys != nil || again.Copied == 0 {
		t.Errorf("got %+v of the second merge", again)
	}
	return got
}

// TestRekeysShop merges three shops, and wants what the rows of all make together. It is on SQLite, for the time that it takes on servers.
func TestRekeysShop(t *testing.T) {
	t.Parallel()
	var places []*place
	want := anew(t, "sqlite", migratetest.Schema("sqlite")...)
	last := int64(0)
	for seed := range uint64(3) {
		p := anew(t, "sqlite", migratetest.Schema("sqlite")...)
		if err := migratetest.Fill(t.Context(), p.pool, p.kind, 10, seed); err != nil {
			t.Fatal(err)
		}
		places = append(places, p)
		if err := migratetest.FillKeys(t.Context(), want.pool, p.kind, 10, seed, func(string, time.Time) int64 { last++; return last }); err != nil {
			t.Fatal(err)
		}
	}
	got := settle(t, places[0], places[1:], merge.Options{
		Inspect: inspect.Options{References: []string{"events.data:$.user.id=users.id", "audit_log.user_id=users.id"}},
		Plan:    plan.Options{Zone: "UTC", Window: 1},
	})
	if a, b := got.Rekeys[0], got.Rekeys[1]; a.Node != 1023 || b.Node != 1022 || a.Mode != plan.Rekey || b.Mode != plan.Rekey || got.Widen != nil {
		t.Errorf("got the nodes %d and %d of %s, want 1023 and 1022, and nothing to widen", a.Node, b.Node, a.Mode)
	}
	if places[0].checksum(t) != want.checksum(t) {
		t.Error("the merged shop is not what all rows make together")
	}
}

// guild returns a database of players and what they scored, with keys of the database's own.
func guild(t *testing.T, kind, name string) *place {
	key := map[string]string{"sqlite": "integer PRIMARY KEY AUTOINCREMENT", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "postgres": "serial PRIMARY KEY"}[kind]
	at := map[string]string{"sqlite": "datetime", "mysql": "DATETIME", "postgres": "timestamptz"}[kind]
	return anew(t, kind, "CREATE TABLE players (id "+key+", name VARCHAR(40) NOT NULL, created_at "+at+" NOT NULL)",
		"CREATE TABLE scores (id "+key+", player_id integer NOT NULL, points integer, created_at "+at+" NOT NULL, FOREIGN KEY (player_id) REFERENCES players (id))",
		fmt.Sprintf("INSERT INTO players (name, created_at) VALUES ('%s a', '2025-05-05 05:05:05'), ('%[1]s b', '2025-05-05 05:05:05')", name),
		"INSERT INTO scores (player_id, points, created_at) VALUES (1, 10, '2025-05-05 05:05:06'), (2, 20, '2025-05-05 05:05:07'), (1, 11, '2025-05-05 05:05:07')")
}

const scored = "SELECT CONCAT(name, ' ', points) FROM players JOIN scores ON players.id = player_id ORDER BY 1"

// TestRekeys merges two databases with one numbering.
func TestRekeys(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		into, from := guild(t, kind, "A"), guild(t, kind, "B")
		got := settle(t, into, []*place{from}, merge.Options{Plan: plan.Options{Zone: "UTC", Window: 1}})
		if (got.Widen == nil) != (kind == "sqlite") || got.Rekeys[0].Node != 1023 {
			t.Errorf("got node %d, and the plan %v to widen Into", got.Rekeys[0].Node, got.Widen)
		}
		query := scored
		if kind == "sqlite" {
			query = strings.Replace(scored, "CONCAT(name, ' ', points)", "name || ' ' || points", 1)
		}
		want := []string{"A a 10", "A a 11", "A b 20", "B a 10", "B a 11", "B b 20"}
		if found := into.texts(t, query); !slices.Equal(found, want) {
			t.Errorf("got %q, want %q", found, want)
		}
	})
}

// TestGameServers is the published case: servers of a game that each numbered its players from 1 on become one, again and again, and an empty
// database takes all of them as well. No merge changes a row of those that are merged but for its ids.
func TestGameServers(t *testing.T) {
	dbtest.Long(t)
	eachKind(t, func(t *testing.T, kind string) {
		servers := []*place{guild(t, kind, "A"), guild(t, kind, "B"), guild(t, kind, "C")}
		o := merge.Options{Plan: plan.Options{Zone: "UTC", Window: 1}}
		into := guild(t, kind, "none")
		into.execute(t, "DELETE FROM scores", "DELETE FROM players")
		got := settle(t, into, servers, o)
		var nodes []int64
		for _, p := range got.Rekeys {
			if p != nil {
				nodes = append(nodes, p.Node)
			}
		}
		if !slices.Equal(nodes, []int64{1023, 1022}) { // the first may keep its ids
			t.Errorf("got the nodes %d, want 1023 and 1022", nodes)
		}
		query := scored
		if kind == "sqlite" {
			query = strings.Replace(scored, "CONCAT(name, ' ', points)", "name || ' ' || points", 1)
		}
		want := []string{"A a 10", "A a 11", "A b 20", "B a 10", "B a 11", "B b 20", "C a 10", "C a 11", "C b 20"}
		if found := into.texts(t, query); !slices.Equal(found, want) {
			t.Errorf("got %q, want %q", found, want)
		}
		again, err := merge.Run(t.Context(), into.db, all(servers), o)
		if err != nil || again.Copied != 0 {
			t.Errorf("a second merge copied %d rows: %v", again.Copied, err)
		}
		one, err := merge.Run(t.Context(), servers[2].db, all(servers[1:2]), o)
		if err != nil || one.Copied != 5 {
			t.Errorf("two of the servers: copied %d rows, %v, want 5: their ids differ now", one.Copied, err)
		}
	})
}

// TestRekeysSnowflakes wants ids that are snowflakes already, of the same node, to count as old.
func TestRekeysSnowflakes(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dbtest.LongOn(t, kind, "sqlite", "postgres")
		at := map[string]string{"sqlite": "datetime", "mysql": "DATETIME", "postgres": "timestamptz"}[kind]
		id := snowflakes(7)("", time.Date(2025, 5, 5, 5, 5, 5, 0, time.UTC))
		statements := []string{"CREATE TABLE players (id BIGINT PRIMARY KEY, created_at " + at + " NOT NULL)",
			fmt.Sprintf("INSERT INTO players VALUES (%d, '2025-05-05 05:05:05'), (%d, '2025-05-05 05:05:05')", id, id+1)}
		into, from := anew(t, kind, statements...), anew(t, kind, statements...)
		got := settle(t, into, []*place{from}, merge.Options{Plan: plan.Options{Zone: "UTC", Window: 1}})
		p := got.Rekeys[0]
		if p.Keys[0].Below != id+2 || !strings.Contains(strings.Join(p.Notes, "\n"), fmt.Sprintf("Ids up to %d count as old", id+1)) {
			t.Errorf("got the key %+v and the notes %q, want ids below %d to be old", p.Keys[0], p.Notes, id+2)
		}
		if n := into.count(t, "SELECT COUNT(*) FROM players"); n != 4 {
			t.Errorf("got %d players, want 4", n)
		}
	})
}
