//go:build linux

package redisgrant_test

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
	"github.com/snowkey-go/snowkey/internal/storeblocks"
	"github.com/snowkey-go/snowkey/internal/testprocess"
	"github.com/snowkey-go/snowkey/ticket"
)

// group is a master with replicas, and three sentinels that promote a replica when the master does not answer.
type group struct {
	t         *testing.T
	servers   []*server
	addresses []string // of the sentinels
	sentinels []*testprocess.Process
	clients   []*redis.SentinelClient
}

// startGroup starts a master, so many replicas, and sentinels that know of them all.
func startGroup(t *testing.T, replicas int) *group {
	t.Helper()
	g := &group{t: t, servers: []*server{startOnPort(t, append([]string{"repl-diskless-sync-delay 0"}, durable...)...)}}
	for range replicas {
		g.servers = append(g.servers, startReplica(t, g.servers[0]))
	}
	for i := range 3 {
		port, dir := testprocess.FreePort(t), t.TempDir()
		path := filepath.Join(dir, "sentinel.conf")
		if err := os.WriteFile(path, fmt.Appendf(nil, "port %d\nbind 127.0.0.1\ndir %s\nlogfile %s/log\nsentinel monitor keys 127.0.0.1 %d 2\nsentinel down-after-milliseconds keys 2000\nsentinel failover-timeout keys 3000\n",
			port, dir, dir, g.servers[0].port), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if log, err := os.ReadFile(filepath.Join(dir, "log")); t.Failed() && err == nil {
				t.Logf("the end of the log of sentinel %d:\n%s", i, log[max(0, len(log)-4000):])
			}
		})
		g.sentinels = append(g.sentinels, testprocess.Start(t, exec.Command(testprocess.Path(t, "redis-server", "redis"), path, "--sentinel")))
		g.addresses = append(g.addresses, fmt.Sprint("127.0.0.1:", port))
	}
	for i, address := range g.addresses {
		client := redis.NewSentinelClient(&redis.Options{Addr: address})
		t.Cleanup(func() { _ = client.Close() })
		g.sentinels[i].Until("the sentinel knows the others and the replicas", func() bool {
			state, err := client.Master(context.Background(), "keys").Result()
			return err == nil && state["num-other-sentinels"] == "2" && state["num-slaves"] == fmt.Sprint(replicas) && state["flags"] == "master"
		})
		g.clients = append(g.clients, client)
	}
	return g
}

// failover returns a client of the master that the sentinels name.
func (g *group) failover(dialer func(ctx context.Context, network, address string) (net.Conn, error)) *redis.Client {
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "keys", SentinelAddrs: g.addresses, Dialer: dialer})
	g.t.Cleanup(func() { _ = client.Close() })
	return client
}

// master returns the server that a sentinel names.
func (g *group) master(sentinel int) *server {
	address, err := g.clients[sentinel].GetMasterAddrByName(context.Background(), "keys").Result()
	if err != nil {
		return nil
	}
	for _, s := range g.servers {
		if s.address() == strings.Join(address, ":") {
			return s
		}
	}
	return nil
}

// settled reports whether the sentinels name one master and would promote any other server, and all others follow the master. A former master may be it again: a sentinel on a busy machine takes one for dead that is not.
func (g *group) settled() bool {
	m := g.master(0)
	for i, client := range g.clients {
		if m == nil || g.master(i) != m {
			return false
		}
		replicas, err := client.Replicas(context.Background(), "keys").Result()
		if err != nil || slices.ContainsFunc(replicas, func(r map[string]string) bool { return r["flags"] != "slave" || r["master-link-status"] != "ok" }) {
			return false
		}
	}
	role, err := m.admin.Do(context.Background(), "ROLE").Slice()
	if err != nil || role[0] != "master" || len(role[2].([]any)) != len(g.servers)-1 {
		return false
	}
	return !slices.ContainsFunc(g.servers, func(s *server) bool { return s != m && !s.is("slave") })
}

// until waits for something to come about, up to a minute: Sentinel itself waits for several seconds at a time.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("a minute, and not yet: %s", what)
		}
	}
}

// promoted waits until the sentinels have made another server than this one the master, and returns it.
func (g *group) promoted(former *server) (now *server) {
	g.t.Helper()
	until(g.t, "a replica was promoted", func() bool {
		now = g.master(0)
		return now != nil && now != former && now.is("master")
	})
	return now
}

// is reports whether the server answers, and has a role.
func (s *server) is(role string) bool {
	answer, err := s.admin.Do(context.Background(), "ROLE").Slice()
	return err == nil && answer[0] == role
}

// forget has replicas miss what the master is told from here on: they stand still, and the master ends their connections.
func forget(master *server, replicas ...*server) {
	for _, r := range replicas {
		r.signal(syscall.SIGSTOP)
	}
	master.do("CLIENT", "KILL", "TYPE", "replica")
}

// more waits until a fleet has made more ids.
func more(t *testing.T, fleet *granttest.Fleet, n int64, when string) {
	t.Helper()
	from := fleet.Made()
	until(t, fmt.Sprintf("%d more ids %s", n, when), func() bool { return fleet.Made() > from+n })
}

// long is a keeper whose grants are longer than a failover takes, with keys of its own in the slot of the space "default".
type long struct {
	t      *testing.T
	keeper *grant.Keeper
	number int64
}

func startLong(t *testing.T, client redis.UniversalClient, replicas int) *long {
	t.Helper()
	_, config := two(t)
	config.First, config.For, config.Every = 2*time.Minute, 2*time.Minute, 100*time.Millisecond
	k := open(t, redisgrant.New(client, redisgrant.WithReplicas(replicas), redisgrant.WithPrefix("long:")), config)
	return &long{t, k, k.State().Number}
}

// renewed waits for a renewal.
func (l *long) renewed() {
	l.t.Helper()
	then := l.keeper.State().Renewed
	until(l.t, "the long grant is renewed", func() bool { return l.keeper.State().Renewed > then+1 })
}

// next fails the test where there is no id.
func (l *long) next() {
	l.t.Helper()
	if _, err := l.keeper.Next(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// stop fails the test where the keeper does not have its number any more, or has reported a loss.
func (l *long) stop() {
	l.t.Helper()
	l.renewed()
	l.next()
	if state := l.keeper.State(); len(state.Losses) > 0 || state.Number != l.number {
		l.t.Errorf("got number %d and the losses %+v, want number %d and none", state.Number, state.Losses, l.number)
	}
}

// TestKeepersWhileSentinelFailsOver has the master killed, or stand still and come back, while keepers make ids. Each change waits for all replicas. No id comes twice. A
// keeper whose grant is longer than the failover has ids all the time, and reports no loss. The short grants of the others end meanwhile, and others have their numbers, so that they may report losses that are
// none. Some keepers ask one server all the time, also one that has come back and does not know that it is no master any more.
func TestKeepersWhileSentinelFailsOver(t *testing.T) {
	testprocess.Long(t)
	for name, test := range map[string]struct {
		replicas, direct int // how many keepers ask one server
		signal           syscall.Signal
	}{
		"killed":                      {1, 0, syscall.SIGKILL},
		"killed, asked all the time":  {2, 3, syscall.SIGKILL},
		"stopped, asked all the time": {1, 2, syscall.SIGSTOP},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGroup(t, test.replicas)
			var opened int // one after the other
			store := func() grant.Store {
				opened++
				client := g.failover(nil)
				if opened <= test.direct {
					client = g.servers[opened-1].client(func(o *redis.Options) { o.Network, o.Addr = "tcp", g.servers[opened-1].address() })
				}
				return redisgrant.New(client, redisgrant.WithReplicas(test.replicas))
			}
			fleet := granttest.StartFleet(t, store)
			long := startLong(t, g.failover(nil), test.replicas)
			failovers := 0
			for range testprocess.Rounds(1) {
				long.renewed()
				more(t, fleet, 2000, "before the failover")
				former := g.master(0)
				if test.signal == syscall.SIGKILL {
					former.kill()
					g.promoted(former)
					former.start()
				} else {
					former.signal(syscall.SIGSTOP)
					g.promoted(former)
					former.signal(syscall.SIGCONT)
				}
				failovers++
				until(t, "the former master is a replica", func() bool {
					long.next()
					return g.settled()
				})
			}
			more(t, fleet, 2000, "after the failovers")
			long.stop()
			fleet.Stop()
			losses, err := redisgrant.New(g.failover(nil)).Losses(t.Context(), grant.DefaultSpace)
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d failovers, %d losses reported that are none", failovers, len(losses))
		})
	}
}

// gate makes connections that end when it is shut, and none until it opens.
type gate struct {
	mu   sync.Mutex
	shut bool       // guarded by mu
	all  []net.Conn // guarded by mu
}

func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return nil, errors.New("the network is cut")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		g.all = append(g.all, conn)
	}
	return conn, err
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for _, conn := range g.all {
		_ = conn.Close() // may have ended
	}
	g.all = nil
}

// two is a layout with two numbers, and a configuration of keepers that renew every two seconds.
func two(t *testing.T) (idgen.Layout, grant.Config) {
	t.Helper()
	layout, err := idgen.NewLayout(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(1), idgen.Sequence.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	return layout, grant.Config{Generator: []idgen.Option{layout}, For: time.Minute, First: 40 * time.Second, Every: 2 * time.Second, Logger: silent}
}

func open(t *testing.T, store grant.Store, config grant.Config) *grant.Keeper {
	t.Helper()
	k, err := grant.Open(t.Context(), store, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

// TestFailoverForgetsGrants has a replica that was behind take over, where no change waits for it. The ids that come twice are all in the range that the keeper reports.
func TestFailoverForgetsGrants(t *testing.T) {
	testprocess.Long(t)
	g := startGroup(t, 1)
	layout, config := two(t)
	var cut gate
	if err := open(t, redisgrant.New(g.failover(nil), redisgrant.WithReplicas(1)), config).Close(); err != nil { // the replica has the space
		t.Fatal(err)
	}
	former, replica := g.servers[0], g.servers[1]
	forget(former, replica)
	store := redisgrant.New(g.failover(cut.dial))
	before := open(t, store, config) // what it is granted the replica never gets
	cut.set(true)                    // it meets the new master once its number was given away
	former.kill()
	replica.signal(syscall.SIGCONT)
	g.promoted(former)
	var after []*grant.Keeper // they have both numbers, and so that of before
	for range 2 {
		after = append(after, open(t, redisgrant.New(g.failover(nil)), config))
	}
	made := map[int64]bool{}
	var others []int64
	each := func() {
		for _, k := range append(after[:2:2], before) {
			id, err := k.Next(t.Context())
			switch {
			case k == before && err == nil:
				made[id] = true
			case k == before && !errors.Is(err, grant.ErrTaken) && !errors.Is(err, grant.ErrEnded):
				t.Fatal(err)
			case err == nil:
				others = append(others, id)
			}
		}
	}
	for range 1000 {
		each()
	}
	cut.set(false)
	until(t, "the keeper reports a loss", func() bool {
		each()
		return len(before.State().Losses) > 0
	})
	loss := before.State().Losses[0]
	twice := 0
	for _, id := range others {
		if !made[id] {
			continue
		}
		twice++
		parts, err := layout.Decode(id)
		if err != nil {
			t.Fatal(err)
		}
		if at := parts.Time; at.Before(loss.From) || !at.Before(loss.Until) {
			t.Errorf("id %d of %v came twice, outside of %v to %v", id, at, loss.From, loss.Until)
		}
	}
	if twice == 0 {
		t.Error("no id came twice, so there was nothing in doubt")
	}
	t.Logf("%d ids twice of %d, all in doubt", twice, len(made))
	recorded, err := store.Losses(t.Context(), grant.DefaultSpace)
	if err != nil || len(recorded) != 1 || recorded[0] != loss.Loss {
		t.Errorf("recorded %+v, %v, want %+v", recorded, err, loss.Loss)
	}
}

// TestBlocksWhileSentinelFailsOver has blocks of ids, and a failover: with changes that wait for the replica no id comes twice; without, and with a replica that
// was behind, a source that runs on gives no id twice and refuses to go on until Restore.
func TestBlocksWhileSentinelFailsOver(t *testing.T) {
	testprocess.Long(t)
	t.Run("waits", func(t *testing.T) {
		g := startGroup(t, 1)
		storeblocks.WhileKilled(t, func() grant.Store { return redisgrant.New(g.failover(nil), redisgrant.WithReplicas(1)) }, 1, func() {
			former := g.master(0)
			former.kill()
			former.settings = append(former.settings, fmt.Sprint("replicaof 127.0.0.1 ", g.promoted(former).port)) // Sentinel would take longer than a source waits
			former.start()
			until(t, "the former master is a replica", g.settled)
		})
	})
	t.Run("forgets", func(t *testing.T) {
		g := startGroup(t, 1)
		source := storeblocks.Source(t, "forgets", redisgrant.New(g.failover(nil)))
		if err := source.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		var ids storeblocks.Ids
		var greatest int64
		fill := func() error {
			keys := make([]int64, 10)
			err := source.Fill(t.Context(), keys)
			if err == nil {
				ids.Add(t, "the source", keys...)
				greatest = keys[9]
			}
			return err
		}
		some := func() {
			t.Helper()
			for range 100 {
				if err := fill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		some()
		g.servers[0].until("the replica has all", func() bool { return g.servers[0].do("WAIT", 1, 1000) == int64(1) })
		forget(g.servers[0], g.servers[1])
		some()
		g.servers[0].kill()
		g.servers[1].signal(syscall.SIGCONT)
		g.promoted(g.servers[0])
		var err error
		until(t, "the source refuses", func() bool { err = fill(); return errors.Is(err, ticket.ErrRegression) })
		if err := source.Restore(t.Context(), greatest); err != nil {
			t.Fatal(err)
		}
		some()
		t.Logf("%d ids, none twice", ids.Count())
	})
}

// TestFormerMaster has a former master come back while no sentinel tells it that it is none: it grants numbers of its own, unless each change waits for a replica, or the
// server itself wants one.
func TestFormerMaster(t *testing.T) {
	testprocess.Long(t)
	g := startGroup(t, 1)
	layout, config := two(t)
	former := g.servers[0]
	if err := open(t, redisgrant.New(g.failover(nil), redisgrant.WithReplicas(1)), config).Close(); err != nil {
		t.Fatal(err)
	}
	former.signal(syscall.SIGSTOP)
	now := g.promoted(former)
	for _, s := range g.sentinels {
		s.Signal(syscall.SIGSTOP)
	}
	former.signal(syscall.SIGCONT)
	former.until("the former master has no replica", func() bool { return strings.HasSuffix(fmt.Sprint(former.do("ROLE")), " []]") })
	swap := func(number int64, options ...redisgrant.Option) error {
		store := redisgrant.New(former.client(), append(options, redisgrant.WithPrefix("x"))...)
		_, err := store.Swap(t.Context(), grant.DefaultSpace, none(number), grant.Row{Number: number, Holder: "a", From: 1, Until: 2})
		return err
	}
	prepare(t, redisgrant.New(former.client(), redisgrant.WithPrefix("x")))
	if err := swap(1, redisgrant.WithReplicas(1)); err == nil || !strings.Contains(err.Error(), "0 of 1 replicas") {
		t.Errorf("WithReplicas: got the error %v", err)
	}
	former.do("CONFIG", "SET", "min-replicas-to-write", "1")
	_, prepared := redisgrant.New(former.client(), redisgrant.WithPrefix("x")).Prepare(t.Context(), grant.DefaultSpace, "a")
	for _, err := range []error{prepared, swap(2)} {
		if err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
			t.Errorf("min-replicas-to-write 1: got the error %v", err)
		}
	}
	former.do("CONFIG", "SET", "min-replicas-to-write", "0")
	config.Generator = []idgen.Option{layout, idgen.WithNode(1)}
	a := open(t, redisgrant.New(former.client()), config)
	b := open(t, redisgrant.New(now.client()), config)
	made, twice := map[int64]bool{}, 0
	until(t, "an id comes twice", func() bool {
		for range 100 {
			for _, k := range []*grant.Keeper{a, b} {
				id, err := k.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if made[id] {
					twice++
				}
				made[id] = true
			}
		}
		return twice > 0
	})
	t.Logf("%d ids twice of %d of two masters", twice, len(made))
}
