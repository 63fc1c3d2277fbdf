package ticket_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// galeraSource is what the two schemes with one server have in common.
type galeraSource interface {
	Next(context.Context) (int64, error)
	Setup(context.Context) error
	Restore(ctx context.Context, name string, after int64) error
	Close() error
}

// galeraLoad draws from a source until the test ends.
type galeraLoad struct {
	name   string
	r      *recorder
	given  atomic.Int64
	failed atomic.Pointer[error]
}

func (r *recorder) galeraLoad(name string, source galeraSource, goroutines int) (l *galeraLoad, stop func()) {
	l = &galeraLoad{name: name, r: r}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, goroutines)
	for range goroutines {
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				if id, err := source.Next(ctx); err == nil {
					r.add(name, id)
					l.given.Add(1)
				} else if ctx.Err() == nil {
					l.failed.Store(&err)
				}
				rest(ctx)
			}
		}()
	}
	return l, func() {
		cancel()
		for range goroutines {
			<-done
		}
	}
}

// more waits until the source has given n more ids.
func (l *galeraLoad) more(n int64) {
	l.r.t.Helper()
	from := l.given.Load()
	for end := time.Now().Add(2 * retryFactor); l.given.Load() < from+n; rest(context.Background()) {
		if time.Now().After(end) {
			text := "none"
			if err := l.failed.Load(); err != nil {
				text = (*err).Error()
			}
			l.r.t.Fatalf("%s: %d more ids did not come in %v; the last error is %s", l.name, n, 2*retryFactor, text)
		}
	}
}

// TestGalera has tickets drawn at all nodes of a Galera cluster at once, while nodes are cut off, paused, killed, and join again with the data of another one. No id comes
// twice, no answer of a node looks like a server that was set back, and commits that fail certification are part of it.
func TestGalera(t *testing.T) {
	dbtest.Long(t)
	cluster := dbtest.StartGalera(t, 3)
	t.Run("refused", func(t *testing.T) { galeraRefused(t, cluster) })
	for name, make := range oneServer {
		t.Run(name, func(t *testing.T) {
			databases := cluster.Databases(t, "wsrep_sync_wait=7")
			r := newRecorder(t)
			var loads []*galeraLoad
			var sources []galeraSource
			for i, server := range []ticket.Server{serverOf(t, databases[0]), serverOf(t, databases[1]), serverOf(t, databases[2]), {DB: dbtest.Roam(t, databases), Dialect: ticket.MySQL}} {
				source, err := make(server)
				must(t, err)
				t.Cleanup(func() { _ = source.Close() })
				must(t, source.Setup(t.Context()))
				load, stop := r.galeraLoad(fmt.Sprintf("source %d", i), source, 2)
				defer stop()
				loads, sources = append(loads, load), append(sources, source)
			}
			node := func(i int, n int64) { loads[i].more(n) }
			all := func(n int64) {
				for i := range loads {
					node(i, n)
				}
			}
			failures := func() (n int64) {
				for i := range 3 {
					n += cluster.Status(t, i, "wsrep_local_cert_failures") + cluster.Status(t, i, "wsrep_local_bf_aborts")
				}
				return n
			}
			before := failures()
			all(100)
			if n := failures() - before; n == 0 {
				t.Error("no commit has failed certification, so nothing was tried")
			} else {
				t.Logf("%d statements have failed because of another node's, of %d ids", n, r.count())
			}

			cluster.Isolate(t, 2, true)
			given := loads[2].given.Load()
			node(0, 50)
			node(1, 50)
			if more := loads[2].given.Load() - given; name == "Replace" && more > 0 {
				t.Errorf("a node that is cut off gave %d ids", more)
			}
			cluster.Isolate(t, 2, false)
			all(50)

			must(t, cluster.Nodes[1].Pause())
			node(0, 50)
			node(2, 50)
			must(t, cluster.Nodes[1].Resume())
			cluster.Await(t, 3)
			all(50)

			for range rounds(1, 2) {
				must(t, cluster.Nodes[0].Kill())
				node(1, 50)
				node(2, 50)
				cluster.Join(t, 0)
				cluster.Await(t, 3)
				all(50)
			}
			for i, source := range sources {
				if stats := statsOf(source); stats.State == ticket.Quarantined || errors.Is(stats.Err, ticket.ErrRegression) {
					t.Errorf("source %d: %v", i, stats)
				}
			}
		})
	}
}

func statsOf(source galeraSource) ticket.ServerStats {
	if blocks, ok := source.(*ticket.BlockSource); ok {
		return blocks.Stats().Servers[0]
	}
	return source.(*ticket.Tickets).Stats().Servers[0]
}

// galeraRefused has what would go wrong in a cluster refused, with what to do.
func galeraRefused(t *testing.T, cluster *dbtest.Galera) {
	for _, test := range []struct {
		parameters string
		want       string
	}{
		{"", "wsrep_sync_wait is 0 on a node of a Galera cluster"},
		{"wsrep_sync_wait=1", "without the bits of 6"},
	} {
		databases := cluster.Databases(t, test.parameters)
		source := sourceOf(t, quick(ticket.Config{}), databases[0])
		wantFinding(t, source, ticket.ErrUnsafe, test.want)
		mustSetUp(t, source)
		_ = reasonOf(t, ticket.ErrUnsafe, source.Next, none(t))
	}
	databases := cluster.Databases(t, "wsrep_sync_wait=7")
	nodes := []ticket.Server{serverOf(t, databases[0]), serverOf(t, databases[1]), serverOf(t, databases[2])}
	for name, source := range map[string]galeraSource{
		"Flickr": flickr(t, quick(ticket.Config{}), nodes...),
		"Blocks": func() galeraSource {
			s, err := ticket.Blocks(ticket.BlockConfig{Config: quick(ticket.Config{Table: "blocks_of_nodes"})}, nodes...)
			must(t, err)
			t.Cleanup(func() { _ = s.Close() })
			return s
		}(),
	} {
		if err := source.Setup(t.Context()); err == nil || !strings.Contains(err.Error(), "all nodes of a Galera cluster are one server") {
			t.Errorf("%s with the three nodes as three servers: got %v, want an error that says to list the cluster once", name, err)
		}
	}
}
