package grant_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// fleetOf makes ids with keepers at each node of the cluster, and with some that go to another node for each transaction.
func fleetOf(t *testing.T, databases []dbtest.Database, options ...grant.SQLOption) (*granttest.Fleet, *grant.SQLStore) {
	t.Helper()
	pools := []*sql.DB{databases[0].Open(t), databases[1].Open(t), databases[2].Open(t), dbtest.Roam(t, databases)}
	n := 0
	return granttest.StartFleet(t, func() grant.Store {
		n++
		return grant.SQL(pools[n%len(pools)], grant.MySQL, options...)
	}), grant.SQL(pools[1], grant.MySQL, options...)
}

// more waits until the fleet has made n more ids.
func more(t *testing.T, fleet *granttest.Fleet, n int64) {
	t.Helper()
	from := fleet.Made()
	for end := time.Now().Add(3 * time.Minute); fleet.Made() < from+n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d more ids did not come within three minutes", n)
		}
	}
}

func lossesIn(t *testing.T, store *grant.SQLStore) []grant.Loss {
	t.Helper()
	losses, err := store.Losses(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	return losses
}

// TestGalera has processes make ids with numbers that are granted at all nodes of a Galera cluster, while nodes are cut off, paused, killed, and join again with the data of
// another one. No id comes twice, and none is in doubt while the nodes are up.
func TestGalera(t *testing.T) {
	dbtest.Long(t)
	cluster := dbtest.StartGalera(t, 3)

	t.Run("conformance", func(t *testing.T) {
		granttest.Run(t, func(t *testing.T) grant.Store {
			return grant.SQL(dbtest.Roam(t, cluster.Databases(t, "wsrep_sync_wait=7")), grant.MySQL)
		})
	})

	t.Run("faults", func(t *testing.T) {
		before := cluster.Status(t, 1, "wsrep_local_cert_failures")
		fleet, store := fleetOf(t, cluster.Databases(t, "wsrep_sync_wait=7"))
		more(t, fleet, 20_000)
		if losses := lossesIn(t, store); len(losses) > 0 {
			t.Errorf("losses while all nodes are up: %+v", losses)
		}
		for range testprocess.Rounds(1) {
			cluster.Isolate(t, 2, true)
			more(t, fleet, 5000)
			cluster.Isolate(t, 2, false)
			more(t, fleet, 5000)
			for node, fault := range []func(*dbtest.Server) error{(*dbtest.Server).Kill, (*dbtest.Server).Pause} {
				if err := fault(cluster.Nodes[node]); err != nil {
					t.Fatal(err)
				}
				more(t, fleet, 5000)
				if node == 0 {
					cluster.Join(t, node)
				} else if err := cluster.Nodes[node].Resume(); err != nil {
					t.Fatal(err)
				}
				cluster.Await(t, 3)
				more(t, fleet, 5000)
			}
		}
		fleet.Stop()
		t.Logf("%d commits of one node have failed certification; losses %+v", cluster.Status(t, 1, "wsrep_local_cert_failures")-before, lossesIn(t, store))
	})

	// Without the wait a node answers with what it had before another node's commit, so that a grant seems to be forgotten. No id comes twice for that.
	t.Run("wsrep_sync_wait", func(t *testing.T) {
		for _, parameters := range []string{"", "wsrep_sync_wait=1"} {
			store := grant.SQL(cluster.Databases(t, parameters)[1].Open(t), grant.MySQL)
			if _, err := grant.Open(t.Context(), store, grant.Config{}); !errors.Is(err, grant.ErrUnsafe) || !strings.Contains(err.Error(), "set it to 7, in the DSN") {
				t.Errorf("%q: got %v, want ErrUnsafe with what to set", parameters, err)
			}
		}
		if stale := staleReads(t, cluster.Databases(t, "wsrep_sync_wait=7"), 100); stale > 0 {
			t.Errorf("%d of 100 rows were not seen at another node, although the wait is on", stale)
		}
		stale, tried := 0, 0
		for end := time.Now().Add(time.Minute); stale == 0 && time.Now().Before(end); tried += 100 { // a busy writer may be slower than the other node
			stale = staleReads(t, cluster.Databases(t, ""), 100)
		}
		if stale == 0 {
			t.Error("without the wait each row was seen at once, so nothing was tried")
		}
		t.Logf("without the wait %d of %d rows were not seen at another node at once", stale, tried)
		fleet, store := fleetOf(t, cluster.Databases(t, ""), grant.WithUnsafe())
		more(t, fleet, 20_000)
		fleet.Stop()
		t.Logf("without the wait, losses that are none: %d", len(lossesIn(t, store)))
	})
}

// staleReads swaps a row at one node, lists it at another one right after, and returns how often that was not there. The other one is busy with rows that were changed just before.
func staleReads(t *testing.T, databases []dbtest.Database, times int) (stale int) {
	t.Helper()
	ctx := context.Background()
	writer, reader := grant.SQL(databases[0].Open(t), grant.MySQL, grant.WithUnsafe()), grant.SQL(databases[2].Open(t), grant.MySQL, grant.WithUnsafe())
	for _, s := range []*grant.SQLStore{writer, reader} {
		for end := time.Now().Add(time.Minute); ; {
			_, err := s.Prepare(ctx, "stale", "layout")
			if err == nil {
				break
			} else if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	row, beside := grant.Row{Number: 3, Holder: grant.Absent}, databases[0].Open(t)
	mustExec(t, beside, "CREATE TABLE many (id int PRIMARY KEY, n int NOT NULL) ENGINE = InnoDB", "INSERT INTO many SELECT seq, 0 FROM seq_1_to_2000")
	for i := range times {
		mustExec(t, beside, "UPDATE many SET n = n + 1")
		next := grant.Row{Number: 3, Holder: "a", From: 1, Until: int64(i) + 2}
		if done, err := writer.Swap(ctx, "stale", row, next); err != nil || !done {
			t.Fatal(done, err)
		}
		row = next
		l, err := reader.List(ctx, "stale", 3, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Rows) != 1 || l.Rows[0] != row {
			stale++
		}
	}
	return stale
}
