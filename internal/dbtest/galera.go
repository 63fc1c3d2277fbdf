package dbtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// galera is the word of requireVariable for what a Galera cluster takes beside MariaDB's server.
const galera = "galera"

// galeraProviders are where packages put Galera's library.
var galeraProviders = []string{"/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib/libgalera_smm.so"}

// Galera is a Galera cluster of MariaDB, of a test's own. Node i is Nodes[i].
type Galera struct {
	Nodes []*Server
	args  [][]string // of each node, to join with
	asks  []*sql.DB  // of each node, for its state
}

// StartGalera starts a cluster of that many nodes, with args added to the command line of each. The first node makes the cluster. Each other one joins, and gets the data
// of one that is in it (SST, by rsync), as a node does that is started after a crash. The end of the nodes is that of [StartMySQL]. The nodes find out within about two
// seconds that one of them does not answer. The test is skipped where Galera's library, its scripts or rsync is missing, unless SNOWKEY_TEST_REQUIRE has the word galera.
func StartGalera(t testing.TB, nodes int, args ...string) *Galera {
	t.Helper()
	provider := findGalera(t)
	ports := freePorts(t, 3*nodes)
	var peers []string
	for i := range nodes {
		peers = append(peers, fmt.Sprintf("127.0.0.1:%d", ports[3*i]))
	}
	g := new(Galera)
	for i := range nodes {
		group, increment, state := ports[3*i], ports[3*i+1], ports[3*i+2]
		g.args = append(g.args, append([]string{
			"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
			"--wsrep-on=ON", "--wsrep-provider=" + provider, "--wsrep-cluster-name=snowkey", "--wsrep-cluster-address=gcomm://" + strings.Join(peers, ","),
			fmt.Sprintf("--wsrep-node-name=node%d", i), "--wsrep-node-address=" + peers[i],
			"--wsrep-sst-method=rsync", fmt.Sprintf("--wsrep-sst-receive-address=127.0.0.1:%d", state),
			"--wsrep-provider-options=" + fmt.Sprintf("base_host=127.0.0.1;base_port=%[1]d;gmcast.listen_addr=tcp://127.0.0.1:%[1]d;ist.recv_addr=127.0.0.1:%[2]d;gcache.size=16M;gcache.page_size=16M;", group, increment) +
				"evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.3S;evs.suspect_timeout=PT1S;evs.inactive_timeout=PT3S;evs.install_timeout=PT2S",
		}, args...))
		if i == 0 {
			g.Nodes = append(g.Nodes, StartMySQL(t, append([]string{"--wsrep-new-cluster"}, g.args[0]...)...))
			continue
		}
		g.Nodes = append(g.Nodes, StartMySQL(t, g.args[i]...))
	}
	for _, node := range g.Nodes {
		g.asks = append(g.asks, node.admin(t))
	}
	g.Await(t, nodes)
	return g
}

// Join starts a node again that was stopped or killed, and returns when it answers.
func (g *Galera) Join(t testing.TB, node int) {
	t.Helper()
	if err := g.Nodes[node].Start(g.args[node]...); err != nil {
		t.Fatal(err)
	}
}

// Isolate cuts a node off from the others, or connects it again, and returns when the node has noticed: then it is in no cluster, or has all that was committed meanwhile.
func (g *Galera) Isolate(t testing.TB, node int, off bool) {
	t.Helper()
	value, want := 0, "Primary Synced"
	if off {
		value, want = 1, "non-Primary Initialized"
	}
	if _, err := g.asks[node].ExecContext(t.Context(), fmt.Sprintf("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=%d'", value)); err != nil {
		t.Fatal(err)
	}
	g.until(t, node, want, func(s map[string]string) string {
		return s["wsrep_cluster_status"] + " " + s["wsrep_local_state_comment"]
	})
}

// Await returns when all nodes say that the cluster has that many, and have what was committed.
func (g *Galera) Await(t testing.TB, nodes int) {
	t.Helper()
	for i := range g.Nodes {
		g.until(t, i, fmt.Sprintf("%d Synced", nodes), func(s map[string]string) string {
			return s["wsrep_cluster_size"] + " " + s["wsrep_local_state_comment"]
		})
	}
}

// Status returns a number of a node's SHOW STATUS.
func (g *Galera) Status(t testing.TB, node int, name string) (n int64) {
	t.Helper()
	status, err := g.status(t.Context(), node)
	if err == nil {
		_, err = fmt.Sscan(status[name], &n)
	}
	if err != nil {
		t.Fatalf("dbtest: %s of node %d: %v", name, node, err)
	}
	return n
}

// galeraLimit bounds the wait for a state of a node.
const galeraLimit = time.Minute

// until waits for a state of a node. A node that was killed may have ended the connection that asks, so an error is a state as others are.
func (g *Galera) until(t testing.TB, node int, want string, of func(map[string]string) string) {
	t.Helper()
	for end := time.Now().Add(galeraLimit); ; time.Sleep(50 * time.Millisecond) {
		status, err := g.status(t.Context(), node)
		got := of(status)
		if err == nil && got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("dbtest: node %d is %q (%v) after %v, want %q; its log:\n%s", node, got, err, galeraLimit, want, g.Nodes[node].Log())
		}
	}
}

// status returns the status variables of Galera, those that a node tells also when it is in no cluster.
func (g *Galera) status(ctx context.Context, node int) (map[string]string, error) {
	rows, err := g.asks[node].QueryContext(ctx, "SHOW GLOBAL STATUS LIKE 'wsrep%'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		found[name] = value
	}
	return found, rows.Err()
}

// admin returns the pool of a node that the test asks for its state.
func (s *Server) admin(t testing.TB) *sql.DB {
	t.Helper()
	named, err := s.Named("mysql")
	if err != nil {
		t.Fatal(err)
	}
	return Database{Kind: named.Kind, DriverName: named.DriverName, DriverDSN: named.DriverDSN}.Open(t)
}

// Databases returns a new database as each node reaches it, with an account of its own. The parameters are added to the DSN: "wsrep_sync_wait=7".
func (g *Galera) Databases(t testing.TB, parameters string) (databases []Database) {
	t.Helper()
	made := g.Nodes[0].Database(t)
	account, err := mysql.ParseDSN(made.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range g.Nodes {
		named, err := node.Named(account.DBName)
		if err != nil {
			t.Fatal(err)
		}
		config, err := mysql.ParseDSN(named.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		config.User, config.Passwd = account.User, account.Passwd
		separator := "?"
		if strings.Contains(config.FormatDSN(), "?") {
			separator = "&"
		}
		dsn := config.FormatDSN() + separator + parameters
		databases = append(databases, Database{Kind: made.Kind, DSN: "mysql:" + dsn, DriverName: made.DriverName, DriverDSN: dsn, AdminDSN: named.DriverDSN})
	}
	return databases
}

// Roam returns a pool with each connection at another node than the one before, and with a new connection for each statement or transaction: as behind a proxy that
// has no favourite.
func Roam(t testing.TB, databases []Database) *sql.DB {
	t.Helper()
	r := &roaming{}
	for _, d := range databases {
		config, err := mysql.ParseDSN(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		config.Logger = &mysql.NopLogger{}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			t.Fatal(err)
		}
		r.nodes = append(r.nodes, connector)
	}
	db := sql.OpenDB(r)
	db.SetMaxIdleConns(-1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// roaming connects to one node after the other.
type roaming struct {
	nodes []driver.Connector
	last  atomic.Int64
}

func (r *roaming) Driver() driver.Driver { return r.nodes[0].Driver() }

func (r *roaming) Connect(ctx context.Context) (driver.Conn, error) {
	var errs []error
	for range r.nodes {
		conn, err := r.nodes[int(r.last.Add(1))%len(r.nodes)].Connect(ctx)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// findGalera returns the path of Galera's library.
func findGalera(t testing.TB) string {
	t.Helper()
	checkRequired(t)
	for _, program := range []string{"rsync", "wsrep_sst_rsync", "wsrep_sst_common"} {
		if _, err := exec.LookPath(program); err != nil {
			skip(t, galera, "no "+program+" found: `internal/dbtest/install.sh` installs it")
		}
	}
	for _, path := range galeraProviders {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	skip(t, galera, "no libgalera_smm.so found: `internal/dbtest/install.sh` installs it")
	return ""
}

// freePorts returns ports that nothing listens on.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
