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
	process  *testprocess.Process
}

// durable are the settings with which Redis keeps what it has acknowledged.
var durable = []string{"appendonly yes", "appendfsync always"}

// startServer starts a server with the lines of a configuration.
func startServer(t *testing.T, settings ...string) *server {
	t.Helper()
	testprocess.Path(t, "redis-server", "redis")
	dir, err := os.MkdirTemp("", "snowkey-redis-")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: dir, settings: settings}
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
	value, err := s.client().Do(context.Background(), args...).Result()
	if err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return value
}

// startCluster starts a cluster of one server that has all slots.
func startCluster(t *testing.T) (*server, *redis.ClusterClient) {
	t.Helper()
	s := startServer(t, durable...)
	s.kill()
	s.port = testprocess.FreePort(t)
	s.settings = append(s.settings[:len(s.settings):len(s.settings)], "cluster-enabled yes", "cluster-announce-ip 127.0.0.1", fmt.Sprint("cluster-port ", testprocess.FreePort(t)))
	s.start()
	s.do("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	s.until("the cluster has its slots", func() bool {
		return strings.Contains(fmt.Sprint(s.do("CLUSTER", "INFO")), "cluster_state:ok")
	})
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{fmt.Sprint("127.0.0.1:", s.port)}})
	t.Cleanup(func() { _ = client.Close() })
	return s, client
}
