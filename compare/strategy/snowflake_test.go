package strategy_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// layouts are those of the snowflake strategies.
var layouts = map[string]idgen.Layout{
	"twitter": idgen.Twitter.Layout, "shardingjdbc": idgen.ShardingJDBC.Layout, "leaf": idgen.Leaf.Layout, "k8sip": idgen.K8sIP.Layout, "game": idgen.Game.Layout,
	"snowkey": idgen.Snowkey.Layout, "snowkey-fleet16": idgen.Snowkey.Layout,
	"snowkey-sharded": idgen.Sharded.Layout, "snowkey-scattered": idgen.Scattered.Layout,
}

// decoded takes a key apart.
func decoded(t testing.TB, name string, keys strategy.Keys, key strategy.Key) idgen.Parts {
	t.Helper()
	n, ok := keys.Number(key)
	parts, err := layouts[name].Decode(n)
	if !ok || err != nil {
		t.Fatalf("%s: %x: %v", name, key, err)
	}
	return parts
}

// TestSnowflakes has 40 processes with numbers of their own, by a clock that is given.
func TestSnowflakes(t *testing.T) {
	at := time.Date(2027, 3, 4, 5, 6, 7, 0, time.UTC)
	clock := idgen.ClockFunc(func() time.Time { return at })
	for name, layout := range layouts {
		nodes := map[[2]int64]int{}
		for process := range 40 {
			keys := opened(t, name, process, clock)
			parts := decoded(t, name, keys, next(t, keys))
			if !parts.Time.Equal(at.Truncate(layout.Unit())) && !parts.Time.Equal(at) {
				t.Fatalf("%s: got the time %s, want the clock's %s", name, parts.Time, at)
			}
			nodes[[2]int64{parts.Datacenter, parts.Node}]++
		}
		if len(nodes) != 40 {
			t.Errorf("%s: %d node numbers of 40 processes", name, len(nodes))
		}
	}
	keys := opened(t, "k8sip", 3, clock)
	if got := decoded(t, "k8sip", keys, next(t, keys)).Node; got != 244<<16|5 {
		t.Errorf("k8sip: got the node %d, want that of 10.244.0.5", got)
	}
	keys = opened(t, "twitter", 33, clock)
	if got := decoded(t, "twitter", keys, next(t, keys)); got.Datacenter != 1 || got.Node != 1 {
		t.Errorf("twitter: got datacenter %d and worker %d, want 1 and 1", got.Datacenter, got.Node)
	}
	if keys, err := byName(t, "twitter").Open(t.Context(), strategy.Environment{Prefix: prefix, Process: 1024, Processes: 2000}); err == nil {
		t.Errorf("the 1,025th process: got %v, want an error", keys)
	}
}

// TestFleet shows that sixteen nodes take turns, and that no key has an earlier tick than the one before.
func TestFleet(t *testing.T) {
	keys := opened(t, "snowkey-fleet16", 2, nil)
	nodes, decreases := map[int64]bool{}, 0
	var last idgen.Parts
	var before strategy.Key
	for range 50_000 {
		key := next(t, keys)
		parts := decoded(t, "snowkey-fleet16", keys, key)
		if parts.Time.Before(last.Time) {
			t.Fatalf("the tick %s comes after %s", parts.Time, last.Time)
		}
		if key < before {
			decreases++
		}
		last, before = parts, key
		nodes[parts.Node] = true
	}
	if len(nodes) != 16 || !nodes[32] || !nodes[47] || decreases == 0 {
		t.Errorf("got %d nodes and %d keys below the one before, want 32 to 47, and some", len(nodes), decreases)
	}
	filled, err := keys.Fill(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range filled {
		if got, want := decoded(t, "snowkey-fleet16", keys, key).Node, 32+(decoded(t, "snowkey-fleet16", keys, filled[0]).Node+int64(i))%16; got != want {
			t.Fatalf("Fill: row %d is of node %d, want %d: a row each", i, got, want)
		}
	}
}

// TestIncreasing makes many keys by each strategy that promises an order and asks no server, from one goroutine and from several.
func TestIncreasing(t *testing.T) {
	for _, s := range strategy.All() {
		info := s.Info()
		if _, snowflake := layouts[info.Name]; info.Order != strategy.Increasing || !snowflake && info.Name != "uuidv7" {
			continue
		}
		n := 40_000
		if info.Limit > 0 && info.Limit < 1e5 {
			n = 500
		}
		keys := opened(t, info.Name, 0, nil)
		var work sync.WaitGroup
		parts := make([][]strategy.Key, 4)
		for i := range parts {
			work.Go(func() {
				for range n / len(parts) {
					key, err := keys.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					parts[i] = append(parts[i], key)
				}
			})
		}
		work.Wait()
		for i, part := range parts {
			if !slices.IsSorted(part) {
				t.Errorf("%s: the keys of goroutine %d do not increase", info.Name, i)
			}
		}
		all := slices.Concat(parts...)
		slices.Sort(all)
		if got := len(slices.Compact(all)); got != n/4*4 {
			t.Errorf("%s: %d different keys of %d", info.Name, got, n)
		}
	}
}

// TestGrant shows that the nodes of snowkey come from the database, and are given back.
func TestGrant(t *testing.T) {
	t.Parallel()
	pool := open(t, dbtest.SQLite(t))
	at := strategy.Environment{DB: pool, Kind: "sqlite", Prefix: prefix, Processes: 2}
	nodes := map[int64]bool{}
	for process := range 2 {
		at.Process = process
		keys, err := byName(t, "snowkey").Open(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		defer keys.Close()
		nodes[decoded(t, "snowkey", keys, next(t, keys)).Node] = true
		var held int
		if err := pool.QueryRow("SELECT count(*) FROM " + prefix + "_nodes WHERE node >= 0 AND holder <> ''").Scan(&held); err != nil || held != process+1 {
			t.Errorf("%d numbers are held, %v, want %d", held, err, process+1)
		}
		if process == 1 {
			if err := keys.Close(); err != nil {
				t.Error(err)
			}
			if err := pool.QueryRow("SELECT count(*) FROM " + prefix + "_nodes WHERE node >= 0 AND holder <> ''").Scan(&held); err != nil || held != 1 {
				t.Errorf("%d numbers are held after Close, %v, want 1", held, err)
			}
		}
	}
	if len(nodes) != 2 {
		t.Errorf("two processes have %d numbers", len(nodes))
	}
	year := time.Now().AddDate(1, 0, 0) // a clock that grants would be refused for
	at.Clock = idgen.ClockFunc(func() time.Time { return year })
	keys, err := byName(t, "snowkey").Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if got := decoded(t, "snowkey", keys, next(t, keys)); got.Node != 1 || !got.Time.Equal(year.Truncate(time.Millisecond)) {
		t.Errorf("with a clock: got node %d at %s, want 1 at %s", got.Node, got.Time, year)
	}
}
