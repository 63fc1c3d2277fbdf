//go:build linux

package dbtest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbserver"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// Patroni is a cluster of three nodes of PostgreSQL under Patroni, with an etcd, of a test's own. Node i is Nodes[i].
type Patroni struct {
	Nodes       []*Server
	synchronous bool
	ports       []int     // of PostgreSQL
	rests       []int     // of Patroni's interface
	asks        []*sql.DB // for a node's state
	links       [][]*testprocess.Link
}

// patroniNodes is how many nodes a cluster has.
const patroniNodes = 3

// StartPatroni starts a cluster, and returns when it has a leader that the other nodes follow, one of them synchronously where that is wanted. The end of the nodes is
// that of [StartPostgres]. Patroni gives a leader up after eight seconds without a sign of life. The test is skipped where Patroni or etcd is missing, unless SNOWKEY_TEST_REQUIRE has the word patroni.
func StartPatroni(t testing.TB, synchronous bool) *Patroni {
	t.Helper()
	checkRequired(t)
	program := testprocess.Path(t, "patroni", "patroni")
	ports := freePorts(t, 2+2*patroniNodes)
	client, peer := fmt.Sprint("http://127.0.0.1:", ports[0]), fmt.Sprint("http://127.0.0.1:", ports[1])
	testprocess.Start(t, exec.Command(testprocess.Path(t, "etcd", "patroni"), "--data-dir", t.TempDir(), "--log-level", "error", "--logger", "zap",
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer))
	p := &Patroni{Nodes: make([]*Server, patroniNodes), synchronous: synchronous, ports: ports[2 : 2+patroniNodes], rests: ports[2+patroniNodes:]}
	for i := range p.Nodes {
		p.links = append(p.links, []*testprocess.Link{testprocess.NewLink(t, ports[0]), testprocess.NewLink(t, p.ports[i]), testprocess.NewLink(t, p.rests[i])})
	}
	begin := func(i int) error {
		node, err := dbserver.StartPatroni(t.Context(), program, p.ports[i], func(dir, data, bin string) string {
			links := p.links[i]
			return fmt.Sprintf(patroniText, i, dir, data, bin, links[0].Port, p.ports[i], links[1].Port, p.rests[i], links[2].Port, synchronous)
		})
		if err == nil {
			p.Nodes[i] = &Server{Server: node, kind: dbserver.Postgres}
		}
		return err
	}
	t.Cleanup(func() {
		for i, node := range p.Nodes {
			if node == nil {
				continue
			}
			if t.Failed() {
				t.Logf("dbtest: the end of the log of node %d:\n%s", i, node.Log())
			}
			if err := node.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	if err := begin(0); err != nil {
		giveUp(t, dbserver.Postgres, err)
	}
	var group sync.WaitGroup
	errs := make([]error, patroniNodes)
	for i := 1; i < patroniNodes; i++ {
		group.Go(func() { errs[i] = begin(i) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range p.Nodes {
		p.asks = append(p.asks, node.postgres(t))
	}
	p.Await(t)
	return p
}

// patroniText is the configuration of a node.
const patroniText = `scope: snowkey
name: node%[1]d
restapi: {listen: "127.0.0.1:%[8]d", connect_address: "127.0.0.1:%[9]d"}
etcd3: {hosts: ["127.0.0.1:%[5]d"], use_proxies: true}
bootstrap:
  dcs:
    ttl: 8
    loop_wait: 1
    retry_timeout: 3
    synchronous_mode: %[10]t
    postgresql:
      use_pg_rewind: true
      use_slots: true
      pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
      parameters: {shared_buffers: 16MB, max_connections: 100, wal_keep_size: 64MB}
  initdb: [{encoding: UTF8}, {locale: C}, {auth: trust}, no-sync, data-checksums]
postgresql:
  listen: 127.0.0.1:%[6]d
  connect_address: 127.0.0.1:%[7]d
  data_dir: %[3]s
  bin_dir: %[4]s
  pgpass: %[2]s/pgpass
  authentication: {superuser: {username: postgres}, replication: {username: postgres}}
  basebackup: [{checkpoint: fast}, no-sync]
  parameters: {unix_socket_directories: "%[2]s", dynamic_shared_memory_type: mmap}
`

// patroniLimit bounds the wait for a state of the cluster.
const patroniLimit = 3 * time.Minute

// until waits for a state of the cluster. A node that is killed answers nothing, and is asked again.
func (p *Patroni) until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patroniLimit); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("dbtest: after %v it is not so: %s; the nodes are %v", patroniLimit, what, p.roles(t))
		}
	}
}

// roles returns what Patroni says of each node, by its name, such as "leader" or "sync_standby".
func (p *Patroni) roles(t testing.TB) map[string]string {
	t.Helper()
	client := http.Client{Timeout: 3 * time.Second}
	defer client.CloseIdleConnections()
	for _, port := range p.rests {
		answer, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/cluster", port))
		if err != nil {
			continue
		}
		var cluster struct {
			Members []struct{ Name, Role string }
		}
		err = json.NewDecoder(answer.Body).Decode(&cluster)
		_ = answer.Body.Close()
		if err != nil {
			continue
		}
		roles := map[string]string{}
		for _, m := range cluster.Members {
			roles[m.Name] = m.Role
		}
		return roles
	}
	return nil
}

// Leader returns the node that leads, when there is one that takes writes and is not the one given; -1 is none.
func (p *Patroni) Leader(t testing.TB, not int) (leader int) {
	t.Helper()
	p.until(t, "another node leads", func() bool {
		roles := p.roles(t)
		for leader = range p.Nodes {
			if leader != not && roles[nodeName(leader)] == "leader" && p.is(t, leader, "SELECT NOT pg_is_in_recovery()") {
				return true
			}
		}
		return false
	})
	return leader
}

func nodeName(node int) string { return fmt.Sprint("node", node) }

// is reports whether a node answers a query with true.
func (p *Patroni) is(t testing.TB, node int, query string) (is bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	return p.asks[node].QueryRowContext(ctx, query).Scan(&is) == nil && is
}

// Await returns when one node leads and all others follow it, one of them synchronously where that is wanted, and returns the leader.
func (p *Patroni) Await(t testing.TB) (leader int) {
	t.Helper()
	streaming := fmt.Sprintf("SELECT COUNT(*) = %d FROM pg_stat_replication WHERE state = 'streaming' AND application_name LIKE 'node_'", patroniNodes-1)
	p.until(t, "all nodes are in the cluster", func() bool {
		leader = p.Leader(t, -1)
		return p.is(t, leader, streaming) && (!p.synchronous || slices.Contains(slices.Collect(maps.Values(p.roles(t))), "sync_standby"))
	})
	return leader
}

// CutOff cuts a leader off from etcd and the other nodes, and not from applications, or connects it again.
func (p *Patroni) CutOff(leader int, cut bool) {
	for _, link := range p.links[leader] {
		link.Cut(cut)
	}
}

// Switch has another node lead, and returns it when it takes writes.
func (p *Patroni) Switch(t testing.TB) (leader int) {
	t.Helper()
	before := p.Leader(t, -1)
	var said []byte
	p.until(t, "Patroni switches over", func() bool {
		answer, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/switchover", p.rests[before]), "application/json", strings.NewReader(fmt.Sprintf(`{"leader": %q}`, nodeName(before))))
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		said, _ = io.ReadAll(answer.Body) // for the log alone
		return answer.StatusCode == http.StatusOK
	})
	t.Logf("dbtest: %s", said)
	return p.Leader(t, before)
}

// Database returns a new database as applications reach it: at whichever node takes writes.
func (p *Patroni) Database(t testing.TB) Database {
	t.Helper()
	made := p.Nodes[p.Leader(t, -1)].Database(t)
	var name string
	if err := made.Open(t).QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, port := range p.ports {
		hosts = append(hosts, fmt.Sprint("127.0.0.1:", port))
	}
	dsn := "postgres://postgres@" + strings.Join(hosts, ",") + "/" + name + "?target_session_attrs=read-write&connect_timeout=5&sslmode=disable"
	return Database{Kind: made.Kind, DSN: dsn, DriverName: made.DriverName, DriverDSN: dsn}
}
