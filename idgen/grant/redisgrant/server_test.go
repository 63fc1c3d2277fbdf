//go:build linux

package redisgrant_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a redis-server that a test has started, on a Unix socket in a folder of its own. It ends with the test, and with the process.
type server struct {
	t        *testing.T
	dir      string
	settings []string
	port     int // 0 without one
	process  *os.Process
	ended    chan struct{} // closed when the process has ended
}

// durable are the settings with which Redis keeps what it has acknowledged.
var durable = []string{"appendonly yes", "appendfsync always"}

// startServer starts a server with the lines of a configuration.
func startServer(t *testing.T, settings ...string) *server {
	t.Helper()
	program(t)
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

// program returns the path of redis-server, and skips the test where it is missing, unless it is required.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		const missing = "no redis-server found: install redis-server, as `make test` does"
		for word := range strings.SplitSeq(os.Getenv("SNOWKEY_TEST_REQUIRE"), ",") {
			if strings.TrimSpace(word) == "redis" {
				t.Fatal("SNOWKEY_TEST_REQUIRE requires redis, but " + missing)
			}
		}
		t.Skip(missing)
	}
	return path
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
	command := exec.Command(program(s.t), "-")
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the kernel ends the server with the thread that started it
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // killed
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		s.t.Fatal(err)
	}
	s.process, s.ended = command.Process, ended
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket(), MaxRetries: -1})
	defer client.Close()
	s.until("the server answers", func() bool { return client.Ping(context.Background()).Err() == nil })
}

// until waits for something to come about.
func (s *server) until(what string, done func() bool) {
	s.t.Helper()
	for range 2000 {
		if done() {
			return
		}
		select {
		case <-s.ended:
			s.t.Fatalf("the server has ended before %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
	s.t.Fatalf("ten seconds, and not yet: %s", what)
}

// kill kills the server, and returns when it has ended.
func (s *server) kill() {
	if s.process != nil {
		_ = s.process.Kill() // fails when it has ended
		<-s.ended
		s.process = nil
	}
}

func (s *server) signal(signal syscall.Signal) {
	s.t.Helper()
	if err := s.process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
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

// freePort returns a port on which nobody listens.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// startCluster starts a cluster of one server that has all slots.
func startCluster(t *testing.T) (*server, *redis.ClusterClient) {
	t.Helper()
	s := startServer(t, durable...)
	s.kill()
	s.port = freePort(t)
	s.settings = append(s.settings[:len(s.settings):len(s.settings)], "cluster-enabled yes", "cluster-announce-ip 127.0.0.1", fmt.Sprint("cluster-port ", freePort(t)))
	s.start()
	s.do("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	s.until("the cluster has its slots", func() bool {
		return strings.Contains(fmt.Sprint(s.do("CLUSTER", "INFO")), "cluster_state:ok")
	})
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{fmt.Sprint("127.0.0.1:", s.port)}})
	t.Cleanup(func() { _ = client.Close() })
	return s, client
}
