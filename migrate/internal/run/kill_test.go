package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// ordersVariable holds the orders of a process of TestKilled.
const ordersVariable = "SNOWKEY_RUN_ORDERS"

// orders say what a process does, and at which of its statements it is killed.
type orders struct {
	Driver, DSN string
	Plan        string // file
	Undo        bool
	Statement   int64 // from 1; 0: it is not killed
	After       bool  // the statement, not before
}

// obey is what a process does; it returns its exit status.
func obey(text string) int {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Println(err)
		return 3
	}
	encoded, err := os.ReadFile(o.Plan)
	if err != nil {
		fmt.Println(err)
		return 3
	}
	var p plan.Plan
	if err := json.Unmarshal(encoded, &p); err != nil {
		fmt.Println(err)
		return 3
	}
	var count atomic.Int64
	db, err := dbtest.Hooked(o.Driver, o.DSN, func(query string, do func() error) error {
		n := count.Add(1)
		if n == o.Statement && !o.After {
			die()
		}
		err := do()
		if n == o.Statement && o.After {
			die()
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
		return 3
	}
	defer db.Close()
	do := run.Plan
	if o.Undo {
		do = run.Rollback
	}
	if _, err = passing(do)(context.Background(), db, &p, fast); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(count.Load())
	return 0
}

// die ends this process as nothing can prepare for.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// command runs a process with orders. It reports whether it was killed.
func (w *world) command(t *testing.T, o orders) (killed bool, output string) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0])
	command.Env = append(os.Environ(), ordersVariable+"="+string(text))
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("a process hangs: %s", out)
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false, strings.TrimSpace(string(out))
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled():
		return true, string(out)
	}
	t.Fatalf("%v: %s", err, out)
	return false, ""
}

// A run, and a rollback, that are killed again and again come to the same contents as ones that are not.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("no process is killed with -short")
	}
	seed := uint64(20260501)
	t.Logf("seed %d", seed)
	t.Parallel()
	for i, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			dbtest.LongOn(t, kind, "postgres")
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			calm := newWorld(t, kind)
			before := calm.contents(t)
			calm.run(t)
			after := calm.contents(t)
			w := newWorld(t, kind)
			kills := 0
			for _, undo := range []bool{false, true} {
				kills += w.killing(t, random, undo)
				want := after
				if undo {
					want = before
				}
				w.want(t, want)
			}
			t.Logf("killed %d times", kills)
			if kills < 7 {
				t.Errorf("killed %d times, want more", kills)
			}
		})
	}
}

// killing runs processes until one comes to the end, and returns how many were killed.
func (w *world) killing(t *testing.T, random *rand.Rand, undo bool) (kills int) {
	t.Helper()
	encoded, err := json.Marshal(w.plan)
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/plan.json"
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		// A process reads and takes the plan over before it does something, and once more behind a hold: each has to get further than that at last.
		o := orders{w.base.DriverName, w.base.DriverDSN, file, undo, 20 + random.Int64N(60) + 5*int64(kills), random.IntN(2) == 0}
		killed, output := w.command(t, o)
		if !killed {
			t.Logf("ended, undo %t, within %s statements", undo, output)
			return kills
		}
		kills++
	}
}
