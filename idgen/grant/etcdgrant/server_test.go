//go:build linux

package etcdgrant_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// member is an etcd that a test has started, on ports of the loopback interface and a folder of its own. It ends with the test, and with the process.
type member struct {
	t           *testing.T
	name, dir   string
	client      string // URL
	peer        string // URL
	cluster     string // the option --initial-cluster
	state       string // the option --initial-cluster-state
	options     []string
	process     *testprocess.Process
	certificate *tls.Config // of a client, nil without TLS
}

func newMember(t *testing.T, name string, options ...string) *member {
	t.Helper()
	testprocess.Path(t, "etcd", "etcd")
	dir, err := os.MkdirTemp("", "snowkey-etcd-")
	if err != nil {
		t.Fatal(err)
	}
	m := &member{
		t: t, name: name, dir: dir, options: options, state: "new",
		client: fmt.Sprint("http://127.0.0.1:", testprocess.FreePort(t)), peer: fmt.Sprint("http://127.0.0.1:", testprocess.FreePort(t)),
	}
	m.cluster = name + "=" + m.peer
	t.Cleanup(func() {
		m.kill()
		if log, err := os.ReadFile(m.log()); t.Failed() && err == nil {
			t.Logf("the end of the log of %s:\n%s", name, log[max(0, len(log)-2000):])
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return m
}

func (m *member) log() string  { return filepath.Join(m.dir, "log") }
func (m *member) data() string { return filepath.Join(m.dir, "data") }

// launch starts the member on the data that it has.
func (m *member) launch() {
	m.t.Helper()
	log, err := os.OpenFile(m.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(testprocess.Path(m.t, "etcd", "etcd"), append([]string{
		"--name", m.name, "--data-dir", m.data(), "--listen-client-urls", m.client, "--advertise-client-urls", m.client, "--listen-peer-urls", m.peer,
		"--initial-advertise-peer-urls", m.peer, "--initial-cluster", m.cluster, "--initial-cluster-state", m.state,
		"--heartbeat-interval", "50", "--election-timeout", "500", "--logger", "zap", "--log-level", "warn",
	}, m.options...)...)
	command.Stdout, command.Stderr = log, log
	m.process = testprocess.Start(m.t, command)
}

// answers waits until the member answers, with a leader.
func (m *member) answers() {
	m.t.Helper()
	client := m.dial()
	m.until("the member answers", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := client.Get(ctx, "x")
		return err == nil || strings.Contains(err.Error(), "user name is empty") || strings.Contains(err.Error(), "learner") || strings.Contains(err.Error(), "corrupt")
	})
}

func (m *member) start() {
	m.t.Helper()
	m.launch()
	m.answers()
}

func (m *member) until(what string, done func() bool) {
	m.t.Helper()
	m.process.Until(what, done)
}

func (m *member) kill() {
	if m.process != nil {
		m.process.Kill()
	}
}

func (m *member) signal(signal syscall.Signal) {
	m.t.Helper()
	m.process.Signal(signal)
}

// dial returns a client of the member, with settings of its own.
func (m *member) dial(settings ...func(*clientv3.Config)) *clientv3.Client {
	m.t.Helper()
	return dial(m.t, append([]func(*clientv3.Config){func(c *clientv3.Config) { c.TLS = m.certificate }}, settings...), m)
}

// dial returns a client of some members.
func dial(t *testing.T, settings []func(*clientv3.Config), members ...*member) *clientv3.Client {
	t.Helper()
	config := clientv3.Config{Logger: zap.NewNop()}
	for _, m := range members {
		config.Endpoints = append(config.Endpoints, m.client)
	}
	for _, setting := range settings {
		setting(&config)
	}
	client, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return client
}

// startMember starts a cluster of one member.
func startMember(t *testing.T, options ...string) *member {
	t.Helper()
	m := newMember(t, "one", options...)
	m.start()
	return m
}

// startCluster starts one of three members.
func startCluster(t *testing.T) []*member {
	t.Helper()
	var members []*member
	var all []string
	for _, name := range []string{"one", "two", "three"} {
		m := newMember(t, name)
		members, all = append(members, m), append(all, m.cluster)
	}
	for _, m := range members {
		m.cluster = strings.Join(all, ",")
		m.launch()
	}
	for _, m := range members {
		m.answers()
	}
	return members
}

// leader returns the member that leads.
func leader(t *testing.T, members []*member) *member {
	t.Helper()
	for range 200 {
		for _, m := range members {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			status, err := m.dial().Status(ctx, m.client)
			cancel()
			if err == nil && status.Leader == status.Header.MemberId {
				return m
			}
		}
	}
	t.Fatal("no member leads")
	return nil
}
