//go:build linux

package etcdgrant_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/etcdgrant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// rounds is how often a test does what it does: more often in the long form.
func rounds(n int) int {
	if testprocess.IsLong() {
		return 10 * n
	}
	return n
}

// TestKeepersWhileMembersFail has keepers on eight numbers make ids while a member is killed, and while the leader stands still and goes on: each time the others
// elect one and go on. Compaction and defragmentation run beside them. No id comes twice.
func TestKeepersWhileMembersFail(t *testing.T) {
	members := startCluster(t)
	client := dial(t, nil, members...)
	fleet := granttest.StartFleet(t, func() grant.Store { return etcdgrant.New(client) })
	goOn := func(what string, m *member) {
		time.Sleep(600 * time.Millisecond) // grants of before have ended
		before := fleet.Made()
		m.until("ids are made, "+what, func() bool { return fleet.Made() > before+1000 })
	}
	for range testprocess.Rounds(rounds(1)) {
		goOn("at first", members[0])
		lost := members[rand.IntN(3)]
		lost.kill()
		goOn("with two members", members[(indexOf(members, lost)+1)%3])
		lost.start()
		first := leader(t, members)
		first.signal(syscall.SIGSTOP)
		goOn("with another leader", first)
		first.signal(syscall.SIGCONT)
		goOn("with the former leader", first)
		maintain(t, client, members)
	}
	fleet.Stop()
}

func indexOf(members []*member, m *member) int {
	for i := range members {
		if members[i] == m {
			return i
		}
	}
	return -1
}

// maintain forgets what is past, and gives its space back.
func maintain(t *testing.T, client *clientv3.Client, members []*member) {
	t.Helper()
	now, err := client.Get(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if _, err := client.Defragment(t.Context(), m.client); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeepersWhileEtcdIsKilled has the same with a single member, which keepers have to wait for.
func TestKeepersWhileEtcdIsKilled(t *testing.T) {
	m := startMember(t)
	fleet := granttest.StartFleet(t, func() grant.Store { return etcdgrant.New(m.dial()) })
	for range testprocess.Rounds(rounds(3)) {
		before := fleet.Made()
		m.until("1000 ids are made", func() bool { return fleet.Made() > before+1000 })
		m.kill()
		time.Sleep(100 * time.Millisecond) // as long as grants of a young keeper last
		m.launch()
	}
	fleet.Stop()
}

const childVariable = "SNOWKEY_ETCD_CHILD" // the endpoint, in a process that prints ids

// child prints ids until it is killed.
func child(t *testing.T, endpoint string) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	layout, err := idgen.NewLayout(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), 10*time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(1), idgen.Sequence.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	for {
		keys, err := grant.Open(context.Background(), etcdgrant.New(client), grant.Config{
			Generator: []idgen.Option{layout}, For: 300 * time.Millisecond, First: 300 * time.Millisecond, Wait: time.Minute, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			continue // etcd is killed, too
		}
		for range 200 {
			if id, err := keys.Next(context.Background()); err == nil {
				fmt.Println(id)
			} else {
				time.Sleep(time.Millisecond)
			}
		}
		_ = keys.Close() // fails while etcd does not answer
	}
}

// TestKilledProcesses has three processes compete for two numbers. They are killed, and stopped for longer than their grants last, at random times; so is etcd.
// No id that any of them has printed was printed before.
func TestKilledProcesses(t *testing.T) {
	if endpoint := os.Getenv(childVariable); endpoint != "" {
		child(t, endpoint)
	}
	m := startMember(t)
	testprocess.KillPrinters(t, rounds(6), func() *testprocess.Printer {
		return testprocess.StartPrinter(t, "TestKilledProcesses", childVariable+"="+m.client)
	}, func() {
		m.kill()
		m.start()
	})
}

// TestKeeperNoticesLoss takes what etcd has acknowledged from it, in several ways.
func TestKeeperNoticesLoss(t *testing.T) {
	remove := func(t *testing.T, m *member, key string, options ...clientv3.OpOption) {
		if _, err := m.dial().Delete(t.Context(), key, options...); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		another, back bool // the identity is another one, the revision goes back
		lose          func(t *testing.T, m *member, id string, number int64)
	}{
		"all keys deleted": {true, false, func(t *testing.T, m *member, _ string, _ int64) { remove(t, m, "snowkey/", clientv3.WithPrefix()) }},
		"space deleted":    {true, false, func(t *testing.T, m *member, _ string, _ int64) { remove(t, m, "snowkey/default/space") }},
		"row deleted": {false, false, func(t *testing.T, m *member, id string, number int64) {
			remove(t, m, fmt.Sprintf("snowkey/default/%s/node/%019d", id, number))
		}},
		"empty folder": {true, true, func(t *testing.T, m *member, _ string, _ int64) {
			m.kill()
			run(t, "rm", "-r", m.data())
			m.start()
		}},
		"older copy": {false, true, func(t *testing.T, m *member, _ string, _ int64) {
			m.kill()
			run(t, "rm", "-r", m.data())
			run(t, "mv", m.data()+".older", m.data())
			m.start()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startMember(t)
			store := etcdgrant.New(m.dial())
			granttest.NoticesLoss(t, store, test.another, func() {
				m.kill()
				run(t, "cp", "-r", m.data(), m.data()+".older")
				m.start()
			}, func(number int64) {
				l, err := store.List(t.Context(), "default", 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				test.lose(t, m, l.ID, number)
			})
			if warnings := strings.Join(store.Warnings(), "\n"); strings.Contains(warnings, "etcd has forgotten changes: its revision was ") != test.back {
				t.Errorf("got the warnings %q, want one that the revision went back: %t", warnings, test.back)
			}
		})
	}
}

// TestStateTellsThePlace has the state of a keeper name the endpoints, and that there is one member alone.
func TestStateTellsThePlace(t *testing.T) {
	m := startMember(t)
	keys, err := grant.Open(t.Context(), etcdgrant.New(m.dial()), grant.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	if state := keys.State(); state.Table != "etcd "+m.client+" snowkey/" || len(state.Warnings) != 1 || !strings.Contains(state.Warnings[0], "one member") {
		t.Errorf("got the place %q and the warnings %q", state.Table, state.Warnings)
	}
}
