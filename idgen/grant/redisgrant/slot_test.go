//go:build linux

package redisgrant_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// The scheme that many articles describe: who sets the key of a slot first has its number, as long as heartbeats keep the key from expiring.
type slots struct {
	client    *redis.Client
	holder    string
	layout    idgen.Layout
	generator atomic.Pointer[idgen.Snowflake] // nil while there is no slot
}

const expiry = 300 * time.Millisecond

// beat keeps the slot, or takes one when there is none. A holder that was paused finds that its slot is another's, and takes another.
func (s *slots) beat(ctx context.Context) error {
	const keep = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`
	const slot = "slot:0"
	if s.generator.Load() != nil {
		kept, err := s.client.Eval(ctx, keep, []string{slot}, s.holder, expiry.Milliseconds()).Int()
		if kept == 0 && err == nil {
			s.generator.Store(nil)
		}
		return err
	}
	taken, err := s.client.SetNX(ctx, slot, s.holder, expiry).Result()
	if !taken {
		return err
	}
	g, err := idgen.New(s.layout, idgen.WithNode(0))
	if err == nil {
		s.generator.Store(g)
	}
	return err
}

// Next is that of the generator.
func (s *slots) Next(ctx context.Context) (int64, error) {
	if g := s.generator.Load(); g != nil {
		return g.Next(ctx)
	}
	return 0, grant.ErrEnded
}

const childVariable = "SNOWKEY_REDIS_CHILD" // the scheme and the socket, in a process that prints ids

// child prints ids with number 0 until it is killed.
func child(t *testing.T, scheme, socket string) {
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	ctx, layout := context.Background(), few(t, 10*time.Millisecond)
	var next func(context.Context) (int64, error)
	if scheme == "slots" {
		s := &slots{client: client, holder: strconv.Itoa(os.Getpid()), layout: layout}
		go func() {
			for {
				if err := s.beat(ctx); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
				time.Sleep(expiry / 3)
			}
		}()
		next = s.Next
	} else {
		keys, err := grant.Open(ctx, redisgrant.New(client), grant.Config{
			Generator: []idgen.Option{layout, idgen.WithNode(0)}, For: expiry, First: expiry, Wait: time.Minute, Logger: silent,
		})
		if err != nil {
			t.Fatal(err)
		}
		next = keys.Next
	}
	for {
		if id, err := next(ctx); err == nil {
			fmt.Println(id)
		} else {
			time.Sleep(time.Millisecond)
		}
	}
}

func startPrinter(t *testing.T, scheme string, s *server) *testprocess.Printer {
	t.Helper()
	return testprocess.StartPrinter(t, "TestPausedHolder", childVariable+"="+scheme, childVariable+"_SOCKET="+s.socket())
}

// TestPausedHolder pauses the holder of number 0 until another process has the number, and lets it go on. With slots that expire both make the same ids:
// the test has to see them. With grants no id comes twice.
func TestPausedHolder(t *testing.T) {
	if scheme := os.Getenv(childVariable); scheme != "" {
		child(t, scheme, os.Getenv(childVariable+"_SOCKET"))
	}
	for _, scheme := range []string{"slots", "grants"} {
		t.Run(scheme, func(t *testing.T) {
			rounds, twice := 0, 0
			for rounds < 5 && (rounds < 2 || scheme == "slots" && twice == 0) {
				rounds++
				s := startServer(t, durable...)
				first := startPrinter(t, scheme, s)
				s.until("the first makes ids", func() bool { return first.Made() > 100 })
				first.Signal(syscall.SIGSTOP)
				second := startPrinter(t, scheme, s)
				s.until("the second has the number", func() bool { return second.Made() > 0 })
				first.Signal(syscall.SIGCONT)
				then := second.Made()
				s.until("both have been at work for half a second", func() bool { return second.Made() > then+800 })
				first.Kill()
				second.Kill()
				twice += testprocess.Twice(first, second)
				t.Logf("%d ids and %d, %d of them twice so far", first.Made(), second.Made(), twice)
			}
			if (twice > 0) != (scheme == "slots") {
				t.Errorf("%d ids came twice", twice)
			}
		})
	}
}
