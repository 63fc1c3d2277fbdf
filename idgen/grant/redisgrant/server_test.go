//go:build linux

package redisgrant_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// server is a redis-server that a test has started, on a Unix socket in a folder of its own. It ends with the test, and with the process.
type server struct {
	t        *testing.T
	dir      string
	settings []string
	port     int // 0 without one
	bus      int // the port of a node of a cluster, for the others
	process  *testprocess.Process
	admin    *redis.Client
}

// durable are the settings with which Redis keeps what it has acknowledged.
var durable = []string{"appendonly yes", "appendfsync always"}

// startServer starts a server with the lines of a configuration.
func startServer(t *testing.T, settings ...string) *server {
	t.Helper()
	return startAt(t, 0, settings...)
}

// startOnPort starts a server that listens on a port of the loopback interface too.
func startOnPort(t *testing.T, settings ...string) *server {
	t.Helper()
	return startAt(t, testprocess.FreePort(t), settings...)
}

func startAt(t *testing.T, port int, settings ...string) *server {
	t.Helper()
	testprocess.Path(t, "redis-server", "redis")
	dir, err := os.MkdirTemp("", "snowkey-redis-")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: dir, settings: settings, port: port}
	s.admin = s.client()
	t.Cleanup(func() {
		s.kill()
		if log, err := os.ReadFile(filepath.Join(dir, "log")); t.Failed() && err == nil {
			t.Logf("the end of the server's log:\n%s", log[max(0, len(log)-4000):])
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s.start()
	return s
}

func (s *server) socket() string { return filepath.Join(s.dir, "socket") }

func (s *server) address() string { return fmt.Sprint("127.0.0.1:", s.port) }

// startReplica starts a replica of a server on a port, and returns when it follows.
func startReplica(t *testing.T, master *server) *server {
	t.Helper()
	replica := startOnPort(t, append([]string{fmt.Sprint("replicaof 127.0.0.1 ", master.port), "repl-diskless-sync-delay 0"}, durable...)...)
	replica.until("the replica follows", replica.follows)
	master.until("the master knows it", func() bool { // a moment later
		return strings.Contains(fmt.Sprint(master.do("ROLE")), fmt.Sprint("127.0.0.1 ", replica.port))
	})
	return replica
}

// follows reports whether the server is a replica that has what its master has.
func (s *server) follows() bool {
	return strings.Contains(fmt.Sprint(s.do("ROLE")), "connected")
}

// start starts the server on the data that it has, and returns when it answers.
func (s *server) start() {
	s.t.Helper()
	lines := append([]string{"unixsocket " + s.socket(), "dir " + s.dir, "logfile " + filepath.Join(s.dir, "log"), "save \"\""}, s.settings...)
	if s.port == 0 {
		lines = append(lines, "port 0")
	} else {
		lines = append(lines, fmt.Sprint("port ", s.port), "bind 127.0.0.1")
	}
	command := exec.Command(testprocess.Path(s.t, "redis-server", "redis"), "-")
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	s.process = testprocess.Start(s.t, command)
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket(), MaxRetries: -1})
	defer client.Close()
	s.until("the server answers", func() bool { return client.Ping(context.Background()).Err() == nil })
}

// until waits for something to come about.
func (s *server) until(what string, done func() bool) {
	s.t.Helper()
	s.process.Until(what, done)
}

// kill kills the server, and returns when it has ended.
func (s *server) kill() {
	if s.process != nil {
		s.process.Kill()
	}
}

func (s *server) signal(signal syscall.Signal) {
	s.t.Helper()
	s.process.Signal(signal)
}

// client returns a client of the server, with options of its own.
func (s *server) client(options ...func(*redis.Options)) *redis.Client {
	o := &redis.Options{Network: "unix", Addr: s.socket()}
	for _, option := range options {
		option(o)
	}
	client := redis.NewClient(o)
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// do runs a command.
func (s *server) do(args ...any) any {
	s.t.Helper()
	value, err := s.admin.Do(context.Background(), args...).Result()
	if err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return value
}

// startNode starts a server of a cluster, which has no slots and knows no others.
func startNode(t *testing.T) *server {
	t.Helper()
	bus := testprocess.FreePort(t)
	s := startOnPort(t, append([]string{"cluster-enabled yes", "cluster-announce-ip 127.0.0.1", fmt.Sprint("cluster-port ", bus),
		"cluster-node-timeout 1000", "repl-diskless-sync-delay 0"}, durable...)...)
	s.bus = bus
	return s
}

// startCluster starts a cluster of one server that has all slots.
func startCluster(t *testing.T) (*server, *redis.ClusterClient) {
	t.Helper()
	s := startNode(t)
	s.do("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	s.until("the cluster has its slots", s.isOK)
	return s, cluster(t, s)
}

// isOK reports whether the server says of its cluster that all slots are served.
func (s *server) isOK() bool {
	return strings.Contains(fmt.Sprint(s.do("CLUSTER", "INFO")), "cluster_state:ok")
}

// cluster returns a client of the cluster of these servers.
func cluster(t *testing.T, servers ...*server) *redis.ClusterClient {
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.address())
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses})
	t.Cleanup(func() { _ = client.Close() })
	return client
}
