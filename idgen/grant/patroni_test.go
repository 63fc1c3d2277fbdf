//go:build linux

package grant_test

import (
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// TestPatroni kills the leader of PostgreSQL under Patroni, with Patroni, has the old one come back as a replica, switches over, and cuts a leader off. The pools find the node that takes writes by
// target_session_attrs. With synchronous_mode no id comes twice, and a keeper whose grant lasts longer than the failover notices nothing. Without it, and with replicas that were
// behind, the ids that come twice are all in the range that is reported.
func TestPatroni(t *testing.T) {
	dbtest.Long(t)

	t.Run("synchronous_mode", func(t *testing.T) {
		cluster := dbtest.StartPatroni(t, true)
		d := cluster.Database(t)
		pool := d.Open(t)
		pool.SetMaxIdleConns(10) // a connection asks up to three nodes
		store := grant.SQL(pool, grant.Postgres)
		lasting := open(t, store, grant.Config{Space: "lasting", For: time.Hour, First: 20 * time.Minute, Every: time.Second, Timeout: 10 * time.Second})
		var ids []int64
		fleet := granttest.StartFleet(t, func() grant.Store { return store })
		goOn := func() {
			t.Helper()
			more(t, fleet, 2000)
			renewed := lasting.State().Renewed
			for end := time.Now().Add(3 * time.Minute); lasting.State().Renewed < renewed+2; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("no two renewals in three minutes: %+v", lasting.State())
				}
				id, err := lasting.Next(t.Context())
				must(t, err)
				ids = append(ids, id)
			}
		}
		for range testprocess.Rounds(1) {
			goOn()
			old := cluster.Leader(t, -1)
			must(t, cluster.Nodes[old].Kill())
			begin := time.Now()
			cluster.Leader(t, old)
			t.Logf("another node leads after %v", time.Since(begin).Round(time.Second))
			goOn()
			must(t, cluster.Nodes[old].Start())
			cluster.Await(t)
			goOn()
			cluster.Switch(t)
			cluster.Await(t)
			goOn()
		}
		fleet.Stop()

		// A leader that is cut off from all but its applications takes writes for some seconds more, and acknowledges none. Half of the keepers know only that one.
		leader := cluster.Leader(t, -1)
		alone := grant.SQL(cluster.Nodes[leader].At(t, d).Open(t), grant.Postgres)
		stores := []grant.Store{store, alone}
		next := 0
		fleet = granttest.StartFleet(t, func() grant.Store {
			next++
			return stores[next%2]
		})
		goOn()
		cluster.CutOff(leader, true)
		if late, err := grant.Open(t.Context(), alone, grant.Config{Space: "late", Timeout: time.Second}); err == nil {
			t.Errorf("a leader that is cut off has granted a number: %+v", late.State())
			_ = late.Close()
		}
		cluster.Leader(t, leader)
		goOn()
		cluster.CutOff(leader, false)
		cluster.Await(t)
		goOn()
		fleet.Stop()
		state := lasting.State()
		if state.Lost > 0 || state.Acquired != 1 || len(state.Losses) > 0 {
			t.Errorf("the keeper whose grant has lasted: %+v", state)
		}
		slices.Sort(ids)
		if n := len(slices.Compact(slices.Clone(ids))); n < len(ids) {
			t.Errorf("the keeper whose grant has lasted made %d of %d ids twice", len(ids)-n, len(ids))
		}
	})

	t.Run("asynchronous", func(t *testing.T) {
		cluster := dbtest.StartPatroni(t, false)
		d := cluster.Database(t)
		leader := cluster.Leader(t, -1)
		pool := dbtest.OpenSwitch(t, cluster.Nodes[leader].At(t, d), d) // which goes to another node late, so that ids come twice
		pool.SetMaxIdleConns(-1)                                        // each transaction has a connection of its own
		config := grant.Config{Generator: twoNumbers(t), For: 20 * time.Minute, First: 10 * time.Minute, Every: time.Second, Timeout: 10 * time.Second}
		store := grant.SQL(pool.DB, grant.Postgres)
		must(t, open(t, store, config).Close()) // the replicas have the table
		cluster.Nodes[leader].CaughtUp(t)
		for i, node := range cluster.Nodes {
			if i != leader {
				must(t, node.Stop()) // what is granted from here on it never gets
			}
		}
		before := open(t, store, config)
		must(t, cluster.Nodes[leader].Kill())
		for i, node := range cluster.Nodes {
			if i != leader {
				must(t, node.Start())
			}
		}
		cluster.Leader(t, leader)
		var after []*grant.Keeper
		for range 2 {
			after = append(after, open(t, grant.SQL(d.Open(t), grant.Postgres), config))
		}
		must(t, cluster.Nodes[leader].Start())
		if again := cluster.Await(t); again == leader {
			t.Error("the old leader leads again")
		}
		if _, err := before.Next(t.Context()); err != nil || len(before.State().Losses) > 0 {
			t.Errorf("a keeper that meets a replica, in place of the leader: %v, %+v", err, before.State())
		}
		pool.To(1)
		reportsDoubt(t, grant.SQL(d.Open(t), grant.Postgres), before, after, nil, nil)
	})
}
