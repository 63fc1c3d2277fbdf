//go:build linux

package zkgrant_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/zkgrant"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// server is a ZooKeeper that a test has started, on ports of the loopback interface and a folder of its own. It ends with the test, and with the process.
type server struct {
	t       testing.TB
	dir     string
	address string
	lines   []string // of the configuration
	java    []string // options of the virtual machine
	process *testprocess.Process
}

// session is the timeout of the tests' sessions. With tickTime 200 a
// server takes 400 ms at least.
const session = 600 * time.Millisecond

func newServer(t testing.TB, lines ...string) *server {
	t.Helper()
	testprocess.ZooKeeper(t, "")
	dir, err := os.MkdirTemp("", "snowkey-zookeeper-")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: dir, address: fmt.Sprint("127.0.0.1:", testprocess.FreePort(t)), lines: lines}
	t.Cleanup(func() {
		s.kill()
		if log, err := os.ReadFile(s.path("log")); t.Failed() && err == nil {
			t.Logf("the end of the log of %s:\n%s", s.address, log[max(0, len(log)-2000):])
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Mkdir(s.path("data"), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) path(name string) string { return filepath.Join(s.dir, name) }

// launch starts the server on the data that it has.
func (s *server) launch() {
	s.t.Helper()
	_, port, _ := strings.Cut(s.address, ":")
	lines := append([]string{"dataDir=" + s.path("data"), "clientPortAddress=127.0.0.1", "clientPort=" + port, "tickTime=200", "initLimit=50", "syncLimit=5", "maxClientCnxns=0", "maxSessionTimeout=60000"}, s.lines...)
	config := s.path("zoo.cfg")
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	command := testprocess.ZooKeeper(s.t, config)
	command.Args = append(append([]string{command.Args[0], "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.cnxTimeout=1000"}, s.java...), command.Args[1:]...)
	command.Stdout, command.Stderr = log, log
	s.process = testprocess.Start(s.t, command)
}

// answers waits until the server answers, with a leader.
func (s *server) answers() {
	s.t.Helper()
	conn := connect(s.t, nil, s)
	s.process.Until("the server answers", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		got := make(chan error, 1)
		go func() {
			_, _, err := conn.Exists("/")
			got <- err
		}()
		select {
		case err := <-got:
			return err == nil
		case <-ctx.Done():
			return false
		}
	})
}

func (s *server) start() {
	s.t.Helper()
	s.launch()
	s.answers()
}

func (s *server) until(what string, done func() bool) {
	s.t.Helper()
	s.process.Until(what, done)
}

func (s *server) kill() {
	if s.process != nil {
		s.process.Kill()
	}
}

func (s *server) signal(signal syscall.Signal) {
	s.t.Helper()
	s.process.Signal(signal)
}

// connect returns a connection to some servers.
func connect(t testing.TB, dial zk.Dialer, servers ...*server) *zk.Conn {
	t.Helper()
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.address)
	}
	return connectFor(t, session, dial, addresses...)
}

// connectFor returns a connection with a session of its own timeout.
func connectFor(t testing.TB, session time.Duration, dial zk.Dialer, addresses ...string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(addresses, session, zk.WithLogger(noLog{}), zk.WithLogInfo(false), zk.WithDialer(zkgrant.Dialer(dial)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}

// shared is a server for all tests that neither stop it nor look at all it has. It ends with the process.
var shared struct {
	sync.Once
	server *server
	tests  int
	sync.Mutex
}

// whole is the test that outlives all others: the process.
type whole struct {
	testing.TB
	cleanups []func()
}

func (w *whole) Cleanup(f func()) { w.cleanups = append(w.cleanups, f) }
func (w *whole) Helper()          {}
func (w *whole) Failed() bool     { return false }
func (w *whole) Logf(string, ...any) {
}

var process = &whole{}

func TestMain(m *testing.M) {
	status := m.Run()
	for i := range process.cleanups {
		process.cleanups[len(process.cleanups)-1-i]()
	}
	os.Exit(status)
}

// sharedServer returns the shared server, and a prefix of the test's own in it.
func sharedServer(t *testing.T) (*server, string) {
	t.Helper()
	testprocess.ZooKeeper(t, "")
	shared.Do(func() {
		process.TB = t // whom a failure to start ends
		shared.server = newServer(process)
		shared.server.start()
	})
	if shared.server == nil {
		t.Fatal("the shared server did not start")
	}
	shared.Lock()
	defer shared.Unlock()
	shared.tests++
	return shared.server, fmt.Sprintf("/test-%d/snowkey", shared.tests)
}

// startServer starts a server of the test's own.
func startServer(t *testing.T, lines ...string) *server {
	t.Helper()
	s := newServer(t, lines...)
	s.start()
	return s
}

// startEnsemble starts three servers.
func startEnsemble(t *testing.T) []*server {
	t.Helper()
	var servers []*server
	var lines []string
	for id := range 3 {
		s := newServer(t)
		servers = append(servers, s)
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", id+1, testprocess.FreePort(t), testprocess.FreePort(t)))
		if err := os.WriteFile(s.path("data/myid"), []byte(fmt.Sprint(id+1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range servers {
		s.lines = append(lines, "4lw.commands.whitelist=srvr")
		s.launch()
	}
	for _, s := range servers {
		s.answers()
	}
	return servers
}

// mode returns what the server says it is.
func (s *server) mode() string {
	conn, err := net.DialTimeout("tcp", s.address, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // fails when it has ended, and then the next line does
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return ""
	}
	text, _ := io.ReadAll(conn) // as far as it comes
	_, mode, _ := strings.Cut(string(text), "Mode: ")
	mode, _, _ = strings.Cut(mode, "\n")
	return mode
}

// leader returns the server that leads.
func leader(t *testing.T, servers []*server) *server {
	t.Helper()
	var found *server
	servers[0].until("a server leads", func() bool {
		i := slices.IndexFunc(servers, func(s *server) bool { return s.mode() == "leader" })
		if i >= 0 {
			found = servers[i]
		}
		return i >= 0
	})
	return found
}

func run(t testing.TB, command ...string) {
	t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", command, out)
	}
}

func prepare(t testing.TB, store *zkgrant.Store) {
	t.Helper()
	if _, err := store.Prepare(t.Context(), "default", "a"); err != nil {
		t.Fatal(err)
	}
}

func none(number int64) grant.Row { return grant.Row{Number: number, Holder: grant.Absent} }

// long skips a test that takes long, unless the long tests run.
func long(t *testing.T) {
	t.Helper()
	if !testprocess.IsLong() {
		t.Skip("a long test: " + testprocess.LongVariable + "=1 runs it")
	}
}
