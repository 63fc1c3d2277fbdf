//go:build linux

package redisgrant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
	"github.com/snowkey-go/snowkey/internal/storeblocks"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// nodes is a cluster of three masters. The slot is that of the space "default", which has two keys: its hash and its losses.
type nodes struct {
	t    *testing.T
	all  []*server
	ids  map[*server]string
	slot any
}

const hash, list = "snowkey:{default}", "snowkey:{default}:losses"

// startNodes starts a cluster, with so many replicas of each master.
func startNodes(t *testing.T, replicas int) *nodes {
	t.Helper()
	n := &nodes{t: t, ids: map[*server]string{}}
	for i := range 3 * (1 + replicas) {
		s := startNode(t)
		n.all, n.ids[s] = append(n.all, s), s.do("CLUSTER", "MYID").(string)
		if i < 3 {
			s.do("CLUSTER", "ADDSLOTSRANGE", i*16384/3, (i+1)*16384/3-1)
		}
		if i > 0 {
			s.do("CLUSTER", "MEET", "127.0.0.1", n.all[0].port, n.all[0].bus)
		}
	}
	for _, s := range n.all {
		s.until("the server knows the others", s.isOK)
	}
	for i, s := range n.all[3:] {
		s.until("the server is a replica", func() bool {
			_, err := s.admin.ClusterReplicate(context.Background(), n.ids[n.all[i%3]]).Result() // fails while it does not know the master
			return err == nil
		})
		s.until("the replica follows", s.follows)
	}
	n.slot = n.all[0].do("CLUSTER", "KEYSLOT", hash)
	return n
}

// owner returns the server that has the slot, as far as another server than this one knows.
func (n *nodes) owner(but *server) *server {
	for _, s := range n.all {
		if s == but {
			continue
		}
		ranges, err := s.admin.ClusterSlots(context.Background()).Result()
		for _, r := range ranges {
			if err == nil && int64(r.Start) <= n.slot.(int64) && n.slot.(int64) <= int64(r.End) {
				return n.all[slices.IndexFunc(n.all, func(s *server) bool { return s.address() == r.Nodes[0].Addr })]
			}
		}
	}
	return nil
}

// other returns a master that has not the slot.
func (n *nodes) other() (other *server) {
	n.t.Helper()
	owner := n.owner(nil)
	until(n.t, "another master answers", func() bool {
		i := slices.IndexFunc(n.all, func(s *server) bool { return s != owner && s.is("master") })
		if i >= 0 {
			other = n.all[i]
		}
		return i >= 0
	})
	return other
}

// begin has the slot move to another server, without its keys.
func (n *nodes) begin(to *server) (from *server) {
	n.t.Helper()
	from = n.owner(nil)
	to.do("CLUSTER", "SETSLOT", n.slot, "IMPORTING", n.ids[from])
	from.do("CLUSTER", "SETSLOT", n.slot, "MIGRATING", n.ids[to])
	return from
}

func (n *nodes) end(to *server) {
	n.t.Helper()
	to.do("CLUSTER", "SETSLOT", n.slot, "NODE", n.ids[to])
	for _, s := range n.all {
		if s.is("master") {
			s.do("CLUSTER", "SETSLOT", n.slot, "NODE", n.ids[to])
		}
	}
}

func moveKey(from, to *server, key string) {
	from.t.Helper()
	from.do("MIGRATE", "127.0.0.1", to.port, key, 0, 5000)
}

// move has the slot move to another server, key by key. Between is called when one of two keys has moved.
func (n *nodes) move(keys []string, between func()) {
	n.t.Helper()
	to := n.other()
	from := n.begin(to)
	moveKey(from, to, keys[0])
	between()
	moveKey(from, to, keys[1])
	between()
	n.end(to)
}

// kill kills the server that has the slot, waits for its replica to take over, and starts it again.
func (n *nodes) kill() {
	n.t.Helper()
	former := n.owner(nil)
	former.kill()
	until(n.t, "a replica takes over", func() bool {
		now := n.owner(former)
		return now != nil && now != former && now.is("master")
	})
	former.start()
	until(n.t, "the former master is a replica", func() bool { return former.is("slave") && former.follows() })
}

func (n *nodes) client() *redis.ClusterClient { return cluster(n.t, n.all...) }

// TestKeepersWhileClusterFailsOver has the master of the space killed while keepers make ids, and its replica take over. Each change waits for the replica: no id comes twice,
// and a keeper whose grant is longer than the failover has ids all the time and reports no loss.
func TestKeepersWhileClusterFailsOver(t *testing.T) {
	testprocess.Long(t)
	n := startNodes(t, 1)
	store := func() grant.Store { return redisgrant.New(n.client(), redisgrant.WithReplicas(1)) }
	fleet := granttest.StartFleet(t, store)
	long := startLong(t, n.client(), 1)
	failovers := 0
	for range testprocess.Rounds(2) {
		long.renewed()
		more(t, fleet, 2000, "before the failover")
		n.kill()
		long.next()
		failovers++
	}
	more(t, fleet, 2000, "after the failovers")
	long.stop()
	fleet.Stop()
	losses, err := store().Losses(t.Context(), grant.DefaultSpace)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d failovers, %d losses reported that are none", failovers, len(losses))
}

// TestKeepersWhileSlotMoves has the slot of the space move from one server to another while keepers make ids, with changes that wait for a replica and without. There are ids
// while one of the keys has moved and the other not. No id comes twice.
func TestKeepersWhileSlotMoves(t *testing.T) {
	testprocess.Long(t)
	for _, replicas := range []int{0, 1} {
		t.Run(fmt.Sprint("replicas=", replicas), func(t *testing.T) {
			n := startNodes(t, replicas)
			store := func() grant.Store {
				if replicas == 0 {
					return redisgrant.New(n.client())
				}
				return redisgrant.New(n.client(), redisgrant.WithReplicas(replicas))
			}
			fleet := granttest.StartFleet(t, store)
			more(t, fleet, 2000, "before the first loss")
			if err := store().Record(t.Context(), grant.DefaultSpace, grant.Loss{Holder: "the test"}); err != nil {
				t.Fatal(err)
			}
			moves := 0
			for i := range testprocess.Rounds(4) {
				more(t, fleet, 2000, "before the move")
				keys := []string{hash, list}
				if i%2 == 1 {
					keys = []string{list, hash}
				}
				n.move(keys, func() { more(t, fleet, 15_000, "while the slot moves") })
				moves++
			}
			more(t, fleet, 2000, "after the moves")
			fleet.Stop()
			losses, err := store().Losses(t.Context(), grant.DefaultSpace)
			if err != nil || len(losses) == 0 || len(losses) < grant.MostLosses && losses[0].Holder != "the test" {
				t.Errorf("got the losses %+v, %v, want that of the test", losses, err)
			}
			t.Logf("%d moves, %d losses reported that are none", moves, len(losses)-1)
		})
	}
}

// TestBlocksWhileClusterFailsOver has the same with blocks of ids.
func TestBlocksWhileClusterFailsOver(t *testing.T) {
	testprocess.Long(t)
	n := startNodes(t, 1)
	n.slot = n.all[0].do("CLUSTER", "KEYSLOT", "snowkey:{blocks.killed}")
	storeblocks.WhileKilled(t, func() grant.Store { return redisgrant.New(n.client(), redisgrant.WithReplicas(1)) }, 1, n.kill)
}

// TestSettingsOfSlot has the settings examined of the server that has the space at that time: while its slot moves there, and afterwards by a client that does not know.
func TestSettingsOfSlot(t *testing.T) {
	n := startNodes(t, 0)
	store := redisgrant.New(n.client())
	prepare(t, store)
	to := n.other()
	to.do("CONFIG", "SET", "appendfsync", "everysec")
	from := n.begin(to)
	prepare(t, store)
	for _, when := range []string{"the key has moved", "the slot has moved"} {
		if when == "the key has moved" {
			moveKey(from, to, hash)
		} else {
			n.end(to)
		}
		if _, err := store.Prepare(t.Context(), grant.DefaultSpace, "a"); !errors.Is(err, grant.ErrUnsafe) {
			t.Errorf("%s: got the error %v, want ErrUnsafe", when, err)
		}
		to.do("CONFIG", "SET", "appendfsync", "always")
		prepare(t, store)
		to.do("CONFIG", "SET", "appendfsync", "everysec")
	}
}

// TestAccountOfCluster has the account of the documentation follow a slot that moves. Without the right to ask for the slots, a cluster's client knows no server.
func TestAccountOfCluster(t *testing.T) {
	n := startNodes(t, 0)
	withRights := func(more ...any) *redisgrant.Store {
		for _, s := range n.all {
			s.do(append(account("snowkey:"), more...)...)
		}
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{n.all[0].address()}, Username: "app", Password: "secret"})
		t.Cleanup(func() { _ = client.Close() })
		return redisgrant.New(client)
	}
	if _, err := withRights("+asking").Prepare(t.Context(), grant.DefaultSpace, "a"); !redis.HasErrorPrefix(err, "NOPERM") {
		t.Errorf("without CLUSTER SLOTS: got the error %v, want NOPERM", err)
	}
	store := withRights("+asking", "+cluster|slots")
	row := none(1)
	swap := func() {
		t.Helper()
		prepare(t, store)
		next := grant.Row{Number: 1, Holder: "a", Until: row.Until + 1}
		if ok, err := store.Swap(t.Context(), grant.DefaultSpace, row, next); err != nil || !ok {
			t.Fatalf("got %t, %v", ok, err)
		}
		row = next
		if err := store.Record(t.Context(), grant.DefaultSpace, grant.Loss{}); err != nil {
			t.Fatal(err)
		}
	}
	swap()
	to := n.other()
	from := n.begin(to)
	swap()
	moveKey(from, to, list)
	moveKey(from, to, hash)
	swap()
	n.end(to)
	swap()
}

// TestMoveIsLostInFailover has a server fail that has the slot, before its replica has the keys: MIGRATE waits for no replica, so the space is lost, and has another identity.
func TestMoveIsLostInFailover(t *testing.T) {
	testprocess.Long(t)
	n := startNodes(t, 1)
	store := redisgrant.New(n.client(), redisgrant.WithReplicas(1))
	prepare(t, store)
	identity := func() (id string) {
		t.Helper()
		until(t, "the space is listed", func() bool {
			l, err := store.List(t.Context(), grant.DefaultSpace, 0, 0)
			id = l.ID
			return err == nil
		})
		return id
	}
	first := identity()
	to := n.other()
	replica := n.all[slices.IndexFunc(n.all, func(s *server) bool {
		return strings.Contains(fmt.Sprint(s.do("ROLE")), fmt.Sprint("127.0.0.1 ", to.port))
	})]
	forget(to, replica)
	from := n.begin(to)
	moveKey(from, to, hash)
	for _, s := range []*server{to, from} {
		s.do("CLUSTER", "SETSLOT", n.slot, "NODE", n.ids[to])
	}
	if id := identity(); id != first {
		t.Errorf("after the move: got the identity %q, want %q", id, first)
	}
	to.kill()
	replica.signal(syscall.SIGCONT)
	until(t, "the replica takes over", func() bool { return n.owner(to) == replica && replica.is("master") })
	until(t, "the space is prepared", func() bool { _, err := store.Prepare(t.Context(), grant.DefaultSpace, "a"); return err == nil })
	if id := identity(); id == first || id == "" {
		t.Errorf("after the failover: got the identity %q, want another one than %q", id, first)
	}
}
