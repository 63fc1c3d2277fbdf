//go:build linux

package redisgrant_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
)

var silent = slog.New(slog.DiscardHandler)

// few is a layout with 8 numbers and 16 ids a tick, so that two generators with one number would soon make an id twice.
func few(t *testing.T, unit time.Duration) idgen.Layout {
	t.Helper()
	layout, err := idgen.NewLayout(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), unit, idgen.Time.Bits(41), idgen.Node.Bits(3), idgen.Sequence.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// TestKeepersWhileRedisIsKilled has six keepers on eight numbers make ids while Redis is killed and started again, and finds no id twice.
func TestKeepersWhileRedisIsKilled(t *testing.T) {
	s := startServer(t, durable...)
	store := redisgrant.New(s.client())
	config := grant.Config{Generator: []idgen.Option{few(t, time.Millisecond)}, For: 400 * time.Millisecond, First: 100 * time.Millisecond, Wait: 10 * time.Second, Logger: silent}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var made, opened atomic.Int64
	var mu sync.Mutex
	var all []int64 // guarded by mu
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			var ids []int64
			for ctx.Err() == nil {
				keys, err := grant.Open(ctx, store, config)
				if err != nil {
					pause(ctx)
					continue
				}
				opened.Add(1)
				for range 2000 {
					id, err := keys.Next(ctx)
					if err != nil {
						pause(ctx)
						continue
					}
					ids = append(ids, id)
					made.Add(1)
				}
				_ = keys.Close() // fails while Redis does not answer
			}
			mu.Lock()
			all = append(all, ids...)
			mu.Unlock()
		})
	}
	for range 6 {
		before := made.Load()
		s.until("2000 ids are made", func() bool { return made.Load() > before+2000 })
		s.kill()
		pause(ctx)
		s.start()
	}
	stop()
	group.Wait()
	n := len(all)
	slices.Sort(all)
	if unique := len(slices.Compact(all)); unique != n {
		t.Errorf("%d of %d ids are different", unique, n)
	}
	t.Logf("%d ids by %d keepers", n, opened.Load())
}

// pause waits as long as grants of a young keeper last, or until the context ends.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

// TestKeeperNoticesLoss takes what Redis has acknowledged from it, in several ways: the keeper reports the loss, records it, and goes on.
func TestKeeperNoticesLoss(t *testing.T) {
	for name, lose := range map[string]func(s *server, number any){
		"FLUSHALL": func(s *server, _ any) { s.do("FLUSHALL") },
		"DEL":      func(s *server, _ any) { s.do("DEL", "snowkey:{default}") },
		"HDEL":     func(s *server, number any) { s.do("HDEL", "snowkey:{default}", number) },
		"empty data set": func(s *server, _ any) {
			s.kill()
			if err := os.RemoveAll(filepath.Join(s.dir, "appendonlydir")); err != nil {
				s.t.Fatal(err)
			}
			s.start()
		},
		"older copy": func(s *server, _ any) {
			s.kill()
			log, older := filepath.Join(s.dir, "appendonlydir"), filepath.Join(s.dir, "older")
			if err := errors.Join(os.RemoveAll(log), os.Rename(older, log)); err != nil {
				s.t.Fatal(err)
			}
			s.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, durable...)
			store := redisgrant.New(s.client())
			keys, err := grant.Open(t.Context(), store, grant.Config{For: 2 * time.Second, First: 2 * time.Second, Every: 20 * time.Millisecond, Logger: silent})
			if err != nil {
				t.Fatal(err)
			}
			defer keys.Close()
			if out, err := exec.Command("cp", "-r", filepath.Join(s.dir, "appendonlydir"), filepath.Join(s.dir, "older")).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			first := keys.State()
			s.until("the grant is renewed", func() bool { return keys.State().Renewed > first.Renewed+2 })
			if _, err := keys.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			lose(s, first.Number)
			s.until("the loss is reported", func() bool { return len(keys.State().Losses) > 0 })
			s.until("the loss is recorded", func() bool {
				losses, err := store.Losses(context.Background(), "default")
				return err == nil && len(losses) == 1 && losses[0].Number == first.Number
			})
			s.until("there are keys again", func() bool { _, err := keys.Next(context.Background()); return err == nil })
			if after := keys.State(); (after.ID == first.ID) != (name == "HDEL" || name == "older copy") {
				t.Errorf("the identity was %q, and is %q", first.ID, after.ID)
			}
		})
	}
}

// TestStateTellsThePlace has the state of a keeper name the server, and what is unsafe of it.
func TestStateTellsThePlace(t *testing.T) {
	s := startServer(t, "appendonly no")
	if _, err := grant.Open(t.Context(), redisgrant.New(s.client()), grant.Config{}); !errors.Is(err, grant.ErrUnsafe) {
		t.Errorf("got the error %v, want ErrUnsafe", err)
	}
	keys, err := grant.Open(t.Context(), redisgrant.New(s.client(func(o *redis.Options) { o.DB = 3 }), redisgrant.WithUnsafe()), grant.Config{Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	if state := keys.State(); state.Table != "redis "+s.socket()+"/3 snowkey:" || len(state.Warnings) != 2 {
		t.Errorf("got the place %q and the warnings %q, want the socket, database 3, and appendonly and appendfsync", state.Table, state.Warnings)
	}
}
