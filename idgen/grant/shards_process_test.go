//go:build linux

package grant_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// shardsChildVariable holds the database of a process of TestShardsOfProcesses.
const shardsChildVariable = "SNOWKEY_SHARDS_CHILD"

// shardsRounds is how often a process opens its keeper and closes it.
const shardsRounds = 4

// Two processes, with grants in one database and no more numbers than two, make ids for the same shards at the same time and none twice,
// while each closes its keeper now and then, with a shard ahead of the clock, and acquires whichever number is free.
func TestShardsOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("no processes are started with -short")
	}
	for name, open := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			database := open(t)
			var children [2]*exec.Cmd
			var output, problems [2]bytes.Buffer
			ready, begin := newGate(t), newGate(t)
			for i := range children {
				children[i] = startShards(t, database, &output[i], &problems[i], begin.wait, ready.open)
			}
			ready.close(t)
			if _, err := io.Copy(io.Discard, ready.wait); err != nil { // until both have closed it
				t.Fatal(err)
			}
			begin.close(t)
			var errs [2]error
			var wg sync.WaitGroup
			for i, child := range children {
				wg.Go(func() { errs[i] = child.Wait() })
			}
			wg.Wait()
			var all []int64
			for i := range children {
				if errs[i] != nil {
					t.Fatalf("process %d: %v\n%s%s", i+1, errs[i], &output[i], &problems[i])
				}
				all = append(all, idsOf(t, &output[i])...)
			}
			if want := 2 * shardsRounds * (16*200 + 600); len(all) != want {
				t.Errorf("got %d ids, want %d", len(all), want)
			}
			requireUnique(t, all)
		})
	}
}

// gate is a pipe that nothing is written to: who reads it waits until all that could write to it have closed it.
type gate struct{ wait, open *os.File }

func newGate(t *testing.T) gate {
	t.Helper()
	wait, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = wait.Close(), open.Close() }) // one of them again
	return gate{wait, open}
}

func (g gate) close(t *testing.T) {
	t.Helper()
	if err := g.open.Close(); err != nil {
		t.Fatal(err)
	}
}

// startShards starts a process, which begins when its standard input ends and closes ready before that. The kernel kills it when the
// test's thread ends.
func startShards(t *testing.T, database dbtest.Database, output, problems *bytes.Buffer, begin, ready *os.File) *exec.Cmd {
	t.Helper()
	orders, err := json.Marshal([]string{database.Kind, database.DriverName, database.DriverDSN})
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/proc/self/exe", "-test.run=^TestProcessOfShards$", "-test.timeout=60s")
	child.Env = append(os.Environ(), shardsChildVariable+"="+string(orders), "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	child.Stdin, child.Stdout, child.Stderr = begin, output, problems
	child.ExtraFiles = []*os.File{ready}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	return child
}

// idsOf returns the ids that a process has printed, which are in lines that begin with "id".
func idsOf(t *testing.T, output *bytes.Buffer) (ids []int64) {
	t.Helper()
	for lines := bufio.NewScanner(output); lines.Scan(); {
		text, found := bytes.CutPrefix(lines.Bytes(), []byte("id "))
		if !found {
			continue
		}
		id, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// TestProcessOfShards is not a test, but what TestShardsOfProcesses runs in processes of its own.
func TestProcessOfShards(t *testing.T) {
	text := os.Getenv(shardsChildVariable)
	if text == "" {
		t.Skip("not a test: TestShardsOfProcesses runs it in processes of its own")
	}
	var orders [3]string
	if err := json.Unmarshal([]byte(text), &orders); err != nil {
		t.Fatal(err)
	}
	if orders[0] == "sqlite" {
		orders[2] = "file:" + orders[2] + "?_journal_mode=WAL&_busy_timeout=5000"
	}
	db, err := sql.Open(orders[1], orders[2])
	if err != nil {
		t.Fatal(err)
	}
	dialect, err := grant.LookupDialect(orders[0])
	if err != nil {
		t.Fatal(err)
	}
	layout, err := idgen.NewLayout(idgen.Sharded.Epoch(), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(1), idgen.Sequence.Bits(4), idgen.Shard.Bits(10))
	if err != nil {
		t.Fatal(err)
	}
	config := grant.Config{Generator: []idgen.Option{idgen.Sharded, layout, idgen.WithShards()}, Wait: 20 * time.Second}
	if err := os.NewFile(3, "ready").Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Fatal(err)
	}
	for range shardsRounds {
		ids, err := makeHotAndCold(t.Context(), grant.SQL(db, dialect), config)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			fmt.Println("id", id)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// makeHotAndCold opens a keeper, makes many ids for one shard and some for others, at the same time, and closes it.
func makeHotAndCold(ctx context.Context, store grant.Store, config grant.Config) ([]int64, error) {
	k, err := grant.Open(ctx, store, config)
	if err != nil {
		return nil, err
	}
	hot, cold := make([]int64, 16*200), make([]int64, 600)
	filled := make(chan error, 1)
	go func() { filled <- k.FillFor(ctx, 7, hot) }()
	for i := range cold {
		if cold[i], err = k.NextFor(ctx, int64(i%30)); err != nil {
			break
		}
	}
	for _, err := range []error{err, <-filled, k.Close()} {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(hot, cold), nil
}
