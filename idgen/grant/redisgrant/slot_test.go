//go:build linux

package redisgrant_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
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

// printer is a child, and the ids that it has printed.
type printer struct {
	*exec.Cmd
	mu   sync.Mutex
	ids  map[int64]bool // guarded by mu
	done chan struct{}  // closed when it has ended
}

func startPrinter(t *testing.T, scheme string, s *server) *printer {
	t.Helper()
	p := &printer{Cmd: exec.Command(os.Args[0], "-test.run=^TestPausedHolder$"), ids: map[int64]bool{}, done: make(chan struct{})}
	p.Env = append(os.Environ(), childVariable+"="+scheme, childVariable+"_SOCKET="+s.socket())
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if id, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				p.mu.Lock()
				p.ids[id] = true
				p.mu.Unlock()
			}
		}
	}()
	t.Cleanup(p.end)
	return p
}

func (p *printer) made() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ids)
}

// end kills the child, and returns when all that it has printed was read.
func (p *printer) end() {
	_ = p.Process.Kill() // fails when it has ended
	<-p.done
	_ = p.Wait()
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
				s.until("the first makes ids", func() bool { return first.made() > 100 })
				if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				second := startPrinter(t, scheme, s)
				s.until("the second has the number", func() bool { return second.made() > 0 })
				if err := first.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				then := second.made()
				s.until("both have been at work for half a second", func() bool { return second.made() > then+800 })
				first.end()
				second.end()
				for id := range first.ids {
					if second.ids[id] {
						twice++
					}
				}
				t.Logf("%d ids and %d, %d of them twice so far", len(first.ids), len(second.ids), twice)
			}
			if (twice > 0) != (scheme == "slots") {
				t.Errorf("%d ids came twice", twice)
			}
		})
	}
}
