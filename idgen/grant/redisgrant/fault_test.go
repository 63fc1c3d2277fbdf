//go:build linux

package redisgrant_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
)

// TestKillKeepsWhatWasAcknowledged kills Redis while eight callers change a row each. A Redis without a log has to lose changes in the same test.
func TestKillKeepsWhatWasAcknowledged(t *testing.T) {
	for name, test := range map[string]struct {
		settings []string
		keeps    bool
	}{
		"always": {durable, true},
		"no log": {[]string{"appendonly no"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, test.settings...)
			store := redisgrant.New(s.client(func(o *redis.Options) { o.MaxRetries = -1 }), redisgrant.WithUnsafe())
			prepare(t, store)
			lost := 0
			for range 5 {
				told := make([]grant.Row, 8)
				var acknowledged atomic.Int64
				var group sync.WaitGroup
				for w := range told {
					group.Go(func() {
						l, err := store.List(context.WithoutCancel(t.Context()), "default", int64(w), int64(w))
						if err != nil {
							t.Error(err)
							return
						}
						row := none(int64(w))
						if len(l.Rows) > 0 {
							row = l.Rows[0]
						}
						for {
							next := grant.Row{Number: int64(w), Holder: fmt.Sprint("worker ", w), Until: max(row.Until, l.Mark) + 1}
							next.From = next.Until
							if ok, err := store.Swap(context.WithoutCancel(t.Context()), "default", row, next); err != nil || !ok {
								return
							}
							row, told[w] = next, next
							acknowledged.Add(1)
						}
					})
				}
				s.until("500 changes are made", func() bool { return acknowledged.Load() > 500 })
				s.kill()
				group.Wait()
				s.start()
				prepare(t, store)
				l, err := store.List(t.Context(), "default", 0, 7)
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range told {
					if i := slices.IndexFunc(l.Rows, func(r grant.Row) bool { return r.Number == row.Number }); i < 0 || l.Rows[i].Until < row.Until || l.Mark < row.Until {
						lost++
					}
				}
			}
			if (lost == 0) != test.keeps {
				t.Errorf("%d rows of 40 have lost acknowledged changes, want them kept: %t", lost, test.keeps)
			}
		})
	}
}

func prepare(t *testing.T, store *redisgrant.Store) {
	t.Helper()
	if _, err := store.Prepare(t.Context(), "default", "a"); err != nil {
		t.Fatal(err)
	}
}

// TestContextEndsWhileRedisStandsStill has each method return with its context, though the client waits for an answer without a limit.
func TestContextEndsWhileRedisStandsStill(t *testing.T) {
	s := startServer(t, durable...)
	store := redisgrant.New(s.client(func(o *redis.Options) { o.ReadTimeout = -1 }))
	prepare(t, store)
	s.signal(syscall.SIGSTOP)
	defer s.signal(syscall.SIGCONT)
	granttest.ReturnsWithContext(t, store)
	s.signal(syscall.SIGCONT)
	s.until("the swap is made that was given up", func() bool {
		l, err := store.List(context.Background(), "default", 1, 1)
		return err == nil && len(l.Rows) == 1 && l.Rows[0].Until == 5
	})
}

// deaf makes connections of which each that is armed ends when the server has answered, before anybody reads the answer.
type deaf struct{ armed atomic.Bool }

func (d *deaf) dial(ctx context.Context, _, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", address)
	return &deafConn{conn, d}, err
}

type deafConn struct {
	net.Conn
	*deaf
}

func (c *deafConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.armed.CompareAndSwap(true, false) {
		return 0, errors.Join(io.EOF, c.Close())
	}
	return n, err
}

// TestLostAnswer loses the answer to a change: the client asks again, and the store reports what happened the first time.
func TestLostAnswer(t *testing.T) {
	s := startServer(t, durable...)
	var d deaf
	store := redisgrant.New(s.client(func(o *redis.Options) { o.Dialer = d.dial }))
	prepare(t, store)
	granttest.LostAnswers(t, store, func() func() bool {
		d.armed.Store(true)
		return func() bool { return !d.armed.Load() }
	})
}

// TestReplicasAcknowledge makes a change that a replica has, and two that it has not.
func TestReplicasAcknowledge(t *testing.T) {
	s := startOnPort(t, append([]string{"repl-diskless-sync-delay 0"}, durable...)...)
	replica := startReplica(t, s)
	var d deaf
	store := redisgrant.New(s.client(func(o *redis.Options) { o.Dialer = d.dial }), redisgrant.WithReplicas(1))
	prepare(t, store)
	rows := []grant.Row{none(1), {Number: 1, Holder: "a", Until: 1}, {Number: 1, Holder: "a", Until: 2}, {Number: 1, Holder: "a", Until: 3}}
	if ok, err := store.Swap(t.Context(), "default", rows[0], rows[1]); !ok || err != nil {
		t.Errorf("with a replica: got %t, %v", ok, err)
	}
	if got := fmt.Sprint(replica.do("HGET", "snowkey:{default}", "1")); !strings.HasSuffix(got, " a") {
		t.Errorf("the replica has %q", got)
	}
	if ok, err := store.Swap(t.Context(), "default", rows[0], rows[1]); ok || err != nil {
		t.Errorf("a change that is not made: got %t, %v", ok, err)
	}
	replica.signal(syscall.SIGSTOP)
	defer replica.signal(syscall.SIGCONT)
	for i, lost := range []bool{false, true} { // the second time the client asks again, on another connection
		d.armed.Store(lost)
		ok, err := store.Swap(t.Context(), "default", rows[i+1], rows[i+2])
		if ok || err == nil || !strings.Contains(err.Error(), "0 of 1 replicas") || !strings.Contains(err.Error(), "may have been made") {
			t.Errorf("without a replica: got %t, %v, want an error", ok, err)
		}
	}
	if l, err := store.List(t.Context(), "default", 1, 1); err != nil || !slices.Equal(l.Rows, rows[3:]) {
		t.Errorf("got %+v, %v, want %+v", l.Rows, err, rows[3:])
	}
	if _, err := store.Move(t.Context(), "default", "default~1", "a", "b", 9); err == nil {
		t.Error("Move without a replica: got no error")
	}
}
