package nextid_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/internal/nextid"
)

func TestServerInACluster(t *testing.T) {
	if err := nextid.CheckServer(t.Context(), grant.MySQL, dbtest.MySQL(t).Open(t)); err != nil {
		t.Errorf("a server alone: got %v, want no error", err)
	}
	if err := nextid.CheckServer(t.Context(), grant.Postgres, nil); err != nil {
		t.Errorf("PostgreSQL: got %v, want no error", err)
	}
	node := dbtest.StartGalera(t, 1).Databases(t, "wsrep_sync_wait=7")[0]
	if err := nextid.CheckServer(t.Context(), grant.MySQL, node.Open(t)); !errors.Is(err, nextid.ErrDatabase) || !strings.Contains(err.Error(), "node of a Galera cluster") {
		t.Errorf("a node: got %v, want ErrDatabase", err)
	}
}

// TestGalera shows why the function is refused in a cluster: made by hand there, it makes keys twice, or a call never comes back, since a node waits for a lock that no one has.
func TestGalera(t *testing.T) {
	dbtest.Long(t)
	cluster := dbtest.StartGalera(t, 2, "--wsrep-auto-increment-control=OFF")
	databases := cluster.Databases(t, "wsrep_sync_wait=7")
	pools := []queryer{newFixture(t, databases[0], idgen.Snowkey.Layout, nil).pool, databases[1].Open(t)}
	const patience = 30 * time.Second
	keys, twice, hangs := map[int64]bool{}, 0, 0
	for end := time.Now().Add(time.Minute); twice == 0 && hangs == 0; {
		if time.Now().After(end) {
			t.Fatalf("%d keys, none twice, and all calls came back, so there is no reason to refuse the function", len(keys))
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		results := make(chan []int64, len(pools))
		for _, pool := range pools {
			go func() {
				found, _ := dialect.Within(ctx, func() ([]int64, error) { // a deadlock ends it, now and then
					return call(context.Background(), pool, "SELECT snowkey_next_id() FROM seq_1_to_50")
				})
				results <- found
			}()
		}
		for range pools {
			for _, key := range <-results {
				if keys[key] {
					twice++
				}
				keys[key] = true
			}
		}
		if ctx.Err() != nil {
			hangs++
		}
		cancel()
	}
	t.Logf("%d keys, %d twice, %d rounds that did not end in %v", len(keys), twice, hangs, patience)
	if hangs > 0 { // the driver waits for the end of an answer, whatever its context says
		for _, node := range cluster.Nodes {
			if err := node.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
}
