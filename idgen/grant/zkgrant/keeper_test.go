//go:build linux

package zkgrant_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/idgen/grant/zkgrant"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// TestKeepersWhileServersFail has keepers on eight numbers make ids while a server is killed, and while the leader stands still and goes on: each time the others
// elect one and go on. No id comes twice.
func TestKeepersWhileServersFail(t *testing.T) {
	long(t)
	servers := startEnsemble(t)
	fleet := granttest.StartFleet(t, func() grant.Store { return zkgrant.New(connect(t, nil, servers...)) })
	goOn := func(what string, s *server) {
		time.Sleep(600 * time.Millisecond) // grants of before have ended
		before := fleet.Made()
		s.until("ids are made, "+what, func() bool { return fleet.Made() > before+1000 })
	}
	for range testprocess.Rounds(2) {
		goOn("at first", servers[0])
		lost := rand.IntN(3)
		servers[lost].kill()
		goOn("with two servers", servers[(lost+1)%3])
		servers[lost].start()
		first := leader(t, servers)
		first.signal(syscall.SIGSTOP)
		goOn("with another leader", first)
		first.signal(syscall.SIGCONT)
		goOn("with the former leader", first)
	}
	fleet.Stop()
}

// TestKeepersWhileZooKeeperIsKilled has the same with a single server, which keepers have to wait for.
func TestKeepersWhileZooKeeperIsKilled(t *testing.T) {
	long(t)
	s := startServer(t)
	fleet := granttest.StartFleet(t, func() grant.Store { return zkgrant.New(connect(t, nil, s)) })
	for range testprocess.Rounds(4) {
		before := fleet.Made()
		s.until("1000 ids are made", func() bool { return fleet.Made() > before+1000 })
		s.kill()
		time.Sleep(100 * time.Millisecond) // as long as grants of a young keeper last
		s.launch()
	}
	before := fleet.Made()
	s.until("ids are made at the end", func() bool { return fleet.Made() > before+1000 })
	fleet.Stop()
}

// TestKilledProcesses has three processes compete for two numbers. They are killed, and stopped for longer than their grants last, at random times; so is
// ZooKeeper. No id that any of them has printed was printed before.
func TestKilledProcesses(t *testing.T) {
	long(t)
	s := startServer(t)
	testprocess.KillPrinters(t, 24, func() *testprocess.Printer { return startPrinter(t, "grants", s.address, "/snowkey") }, func() {
		s.kill()
		s.start()
	})
}

// TestKeeperNoticesLoss takes what ZooKeeper has acknowledged from it, in several ways. Those with a server of their own are long.
func TestKeeperNoticesLoss(t *testing.T) {
	remove := func(t *testing.T, conn *zk.Conn, folder, begin string) {
		nodes, _, err := conn.Children(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range nodes {
			if strings.HasPrefix(node, begin) {
				_ = conn.Delete(folder+"/"+node, -1) // a row may have been renewed: then it is gone in the next round
			}
		}
	}
	for name, test := range map[string]struct {
		another, back, alone bool // the identity is another one, the transactions go back, the server is the test's own
		lose                 func(t *testing.T, s *server, conn *zk.Conn, folder, id string, number int64)
	}{
		"folder deleted": {true, false, false, func(t *testing.T, _ *server, conn *zk.Conn, folder, id string, _ int64) {
			for there := true; there; there, _, _ = conn.Exists(folder) {
				nodes, _, err := conn.Children(folder)
				if err != nil {
					t.Fatal(err)
				}
				var all []any
				for _, node := range nodes {
					all = append(all, &zk.DeleteRequest{Path: folder + "/" + node, Version: -1})
				}
				_, err = conn.Multi(append(all, &zk.DeleteRequest{Path: folder, Version: -1})...)
				if err == nil {
					return // and it may be there again
				}
			}
		}},
		"space deleted": {true, false, false, func(t *testing.T, _ *server, conn *zk.Conn, folder, _ string, _ int64) {
			remove(t, conn, folder, "space,")
		}},
		"row deleted": {false, false, false, func(t *testing.T, s *server, conn *zk.Conn, folder, id string, number int64) {
			row := fmt.Sprintf("node,%s,%d,", id, number)
			s.until("the row is deleted", func() bool {
				remove(t, conn, folder, row)
				nodes, _, err := conn.Children(folder)
				return err == nil && !strings.Contains(strings.Join(nodes, "\n"), row)
			})
		}},
		"empty folder": {true, true, true, func(t *testing.T, s *server, _ *zk.Conn, _, _ string, _ int64) {
			s.kill()
			run(t, "rm", "-r", s.path("data"))
			run(t, "mkdir", s.path("data"))
			s.start()
		}},
		"older copy": {false, true, true, func(t *testing.T, s *server, _ *zk.Conn, _, _ string, _ int64) {
			s.kill()
			run(t, "rm", "-r", s.path("data"))
			run(t, "mv", s.path("older"), s.path("data"))
			s.start()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, prefix := (*server)(nil), "/snowkey"
			if test.alone {
				long(t)
				s = startServer(t)
			} else {
				s, prefix = sharedServer(t)
			}
			conn := connect(t, nil, s)
			store := zkgrant.New(conn, zkgrant.WithPrefix(prefix))
			granttest.NoticesLoss(t, store, test.another, func() {
				if test.alone {
					s.kill()
					run(t, "cp", "-r", s.path("data"), s.path("older"))
					s.start()
				}
			}, func(number int64) {
				l, err := store.List(t.Context(), "default", 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				test.lose(t, s, conn, prefix+"/default", l.ID, number)
			})
			if warnings := strings.Join(store.Warnings(), "\n"); strings.Contains(warnings, "ZooKeeper has forgotten changes: its zxid was ") != test.back {
				t.Errorf("got the warnings %q, want one that the zxid went back: %t", warnings, test.back)
			}
		})
	}
}

// TestStateTellsThePlace has the state of a keeper name the server, and that there is one server alone.
func TestStateTellsThePlace(t *testing.T) {
	s, prefix := sharedServer(t)
	keys, err := grant.Open(t.Context(), zkgrant.New(connect(t, nil, s), zkgrant.WithPrefix(prefix)), grant.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	if state := keys.State(); state.Table != "zookeeper "+s.address+" "+prefix || len(state.Warnings) != 1 || !strings.Contains(state.Warnings[0], "one server") {
		t.Errorf("got the place %q and the warnings %q", state.Table, state.Warnings)
	}
}

// TestEnsemble has no warning of three servers, a store go on with a server that did not take its writes, and a server that is alone in read-only mode refused.
func TestEnsemble(t *testing.T) {
	long(t)
	servers := startEnsemble(t)
	store := zkgrant.New(connect(t, nil, servers...))
	prepare(t, store)
	if got := store.Warnings(); len(got) > 0 {
		t.Errorf("got the warnings %q, want none", got)
	}
	row := none(1)
	for i := range 30 { // each swap by another server, with reads that may be behind
		next := grant.Row{Number: 1, Holder: "a", From: 0, Until: int64(i + 1)}
		by := zkgrant.New(connect(t, nil, servers[i%3]))
		if ok, err := by.Swap(t.Context(), "default", row, next); err != nil || !ok {
			t.Fatalf("swap %d: got %t, %v", i, ok, err)
		}
		row = next
	}
	for _, s := range servers[1:] {
		s.kill()
	}
	servers[0].kill()
	servers[0].java = []string{"-Dreadonlymode.enabled=true"}
	servers[0].launch()
	servers[0].until("the server is in read-only mode", func() bool { return servers[0].mode() == "read-only" })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := zkgrant.New(connect(t, nil, servers[0])).Prepare(ctx, "default", "a"); err == nil || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("a server in read-only mode: got the error %v, want no answer", err)
	}
}
