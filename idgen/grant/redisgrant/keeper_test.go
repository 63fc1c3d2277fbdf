//go:build linux

package redisgrant_test

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
	"github.com/snowkey-go/snowkey/internal/testprocess"
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
	fleet := granttest.StartFleet(t, func() grant.Store { return store })
	for range testprocess.Rounds(6) {
		before := fleet.Made()
		s.until("2000 ids are made", func() bool { return fleet.Made() > before+2000 })
		s.kill()
		time.Sleep(100 * time.Millisecond) // as long as grants of a young keeper last
		s.start()
	}
	fleet.Stop()
}

// TestKeeperNoticesLoss takes what Redis has acknowledged from it, in several ways: the keeper reports the loss, records it, and goes on.
func TestKeeperNoticesLoss(t *testing.T) {
	for name, lose := range map[string]func(s *server, number int64){
		"FLUSHALL": func(s *server, _ int64) { s.do("FLUSHALL") },
		"DEL":      func(s *server, _ int64) { s.do("DEL", "snowkey:{default}") },
		"HDEL":     func(s *server, number int64) { s.do("HDEL", "snowkey:{default}", number) },
		"empty data set": func(s *server, _ int64) {
			s.kill()
			if err := os.RemoveAll(filepath.Join(s.dir, "appendonlydir")); err != nil {
				s.t.Fatal(err)
			}
			s.start()
		},
		"older copy": func(s *server, _ int64) {
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
			granttest.NoticesLoss(t, redisgrant.New(s.client()), name != "HDEL" && name != "older copy", func() {
				if out, err := exec.Command("cp", "-r", filepath.Join(s.dir, "appendonlydir"), filepath.Join(s.dir, "older")).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}, func(number int64) { lose(s, number) })
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
