package reshard_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// job is what a child process moves, and when it is killed.
type job struct {
	Kind   idshard.Dialect
	Places []dbtest.Database // the own one first
	Plan   string
	Kill   kill
	Abort  bool
}

// kill says when: at so many calls of the progress function with a state; none when N is 0.
type kill struct {
	State string
	N     int
}

const jobVariable = "SNOWKEY_RESHARD_TEST_JOB"

// TestChild is what a child process does.
func TestChild(t *testing.T) {
	text := os.Getenv(jobVariable)
	if text == "" {
		return // this is no child
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	var places []*place
	for _, d := range j.Places {
		db, err := sql.Open(d.DriverName, d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, &place{Database: d, db: db, dialect: j.Kind})
	}
	var plan reshard.Plan
	if text, err := os.ReadFile(j.Plan); err != nil || json.Unmarshal(text, &plan) != nil {
		t.Fatal("the plan cannot be read", err)
	}
	calls := 0
	options := fast(func(p reshard.Progress) {
		if p.State != j.Kill.State && j.Kill.State != "" {
			return
		}
		if calls++; calls == j.Kill.N {
			fmt.Printf("killed at %s of %s/%s\n", p.State, p.Table, p.Shard)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	do := reshard.Move
	if j.Abort {
		do = reshard.Abort
	}
	if err := do(t.Context(), world(places[0], places[1:]...), &plan, options); err != nil {
		t.Fatal(err)
	}
}

// child runs a move in a process, and tells whether it has ended by itself.
func child(t *testing.T, p *reshard.Plan, kill kill, abort bool, places ...*place) bool {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	j := job{Kind: places[0].dialect, Plan: path, Kill: kill, Abort: abort}
	for _, p := range places {
		j.Places = append(j.Places, p.Database)
	}
	if text, err = json.Marshal(j); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.timeout=60s")
	command.Env = append(os.Environ(), jobVariable+"="+string(text))
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled():
		t.Logf("%s", output)
		return false
	}
	t.Fatalf("the child: %v: %s", err, output)
	return false
}

// kills are those given, or many with SNOWKEY_TORTURE set: when children are killed, one after another: each goes on where the one before was killed.
func kills(few ...kill) []kill {
	if os.Getenv("SNOWKEY_TORTURE") == "" {
		return few
	}
	var list []kill
	for _, state := range []string{"capture", "fence", "copy", "catch up", "compare", "fence", "drain", "verify", "flip", "fence", "lease", "remove"} {
		for i := range 12 {
			list = append(list, kill{state, 1 + i})
		}
	}
	return list
}

// TestKilledMoves kills processes that move, under writers, and wants all rows to be there once when one has come to its end.
func TestKilledMoves(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		shards := idshard.Tables(4)
		m := setup(t, own, shards[:2]...)
		writing := startWriters(t, 2, fill(t, m, 120, own), own)
		w := world(own)
		next, err := m.Grow(shards[2:]...)
		if err != nil {
			t.Fatal(err)
		}
		p := plan(t, w, next)
		list := append(kills(kill{"fence", 1}, kill{"copy", 2}, kill{"catch up", 2}, kill{"compare", 3}, kill{"drain", 1}, kill{"verify", 2}, kill{"flip", 1}, kill{"lease", 1}, kill{"remove", 3}), kill{})
		for i, kill := range list {
			if p == nil { // one that was to be killed later has come to its end
				if next, err = m.Move(shards[i%4].Name, int64(i)%16, int64(i+1)%16, int64(i+2)%16, int64(i+7)%16); err != nil {
					t.Fatal(err)
				}
				p = plan(t, w, next)
			}
			if child(t, p, kill, false, own) {
				m, p = next, nil
			}
		}
		if p != nil {
			t.Error("the move has not come to its end")
		}
		ledger := writing.end()
		t.Logf("%d writes, %d refused", writing.wrote.Load(), writing.fenced.Load())
		check(t, ledger, m, own)
	})
}
