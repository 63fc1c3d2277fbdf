//go:build linux

package ticket_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// TestPatroni kills the leader of PostgreSQL under Patroni in synchronous_mode, with Patroni, has the old one come back as a replica, switches over, and cuts a leader off from
// all but its applications. No id comes twice, and no answer looks like a server that was set back.
func TestPatroni(t *testing.T) {
	dbtest.Long(t)
	cluster := dbtest.StartPatroni(t, true)
	d := cluster.Database(t)
	loads, recorders := map[string]*galeraLoad{}, map[string]*recorder{}
	sources := map[string]galeraSource{}
	for name, make := range oneServer {
		source, err := make(ticket.Server{DB: d.Open(t), Dialect: ticket.Postgres})
		must(t, err)
		t.Cleanup(func() { _ = source.Close() })
		must(t, source.Setup(t.Context()))
		r := newRecorder(t)
		load, stop := r.galeraLoad(name, source, 4)
		defer stop()
		loads[name], recorders[name], sources[name] = load, r, source
	}
	more := func() {
		t.Helper()
		for _, load := range loads {
			load.more(200)
		}
	}
	more()
	old := cluster.Leader(t, -1)
	must(t, cluster.Nodes[old].Kill())
	cluster.Leader(t, old)
	more()
	must(t, cluster.Nodes[old].Start())
	cluster.Await(t)
	cluster.Switch(t)
	more()
	leader := cluster.Await(t) // Patroni promotes none but a synchronous standby
	cluster.CutOff(leader, true)
	cluster.Leader(t, leader)
	more()
	cluster.CutOff(leader, false)
	cluster.Await(t)
	more()
	for name, source := range sources {
		if stats := statsOf(source); stats.State == ticket.Quarantined {
			t.Errorf("%s: %+v", name, stats)
		}
		t.Logf("%s: %d ids", name, recorders[name].count())
	}
}
