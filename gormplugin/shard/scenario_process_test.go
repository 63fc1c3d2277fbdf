//go:build linux

package shard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// scenarioVariable holds the database of a process of TestScenarioProcesses, and the number of the process.
const scenarioVariable = "SNOWKEY_SCENARIO_CHILD"

type scenarioOrders struct {
	Database dbtest.Database
	Process  int64
}

// scenarioRows is how many rows a process makes: some for sharding keys that the other one has too.
const scenarioRows = 300

// TestScenarioProcesses has two processes write to one sharded table at the same time, for the same sharding keys: no id is made twice.
func TestScenarioProcesses(t *testing.T) {
	for kind, database := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := patient(database(t))
			db := openGORM(t, d)
			r := routed(t, db, 8, &purchase{})
			readyWait, ready, err := os.Pipe()
			must(t, err)
			begin, beginOpen, err := os.Pipe()
			must(t, err)
			t.Cleanup(func() { _, _, _ = readyWait.Close(), begin.Close(), beginOpen.Close() })
			var children [2]*exec.Cmd
			var outputs [2]bytes.Buffer
			for i := range children {
				text, err := json.Marshal(scenarioOrders{d, int64(i)})
				must(t, err)
				c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestScenarioChild$", "-test.timeout=60s")
				c.Env = append(os.Environ(), scenarioVariable+"="+string(text), "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
				c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
				c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles = begin, &outputs[i], &outputs[i], []*os.File{ready}
				must(t, c.Start())
				children[i] = c
			}
			must(t, ready.Close())
			_, err = io.Copy(io.Discard, readyWait) // until both have closed it
			must(t, err)
			must(t, beginOpen.Close())
			made := map[int64]int{}
			nodes := map[int64]bool{}
			for i, c := range children {
				if err := c.Wait(); err != nil {
					t.Fatalf("process %d: %v\n%s", i, err, &outputs[i])
				}
				for _, line := range strings.Split(outputs[i].String(), "\n") {
					var id int64
					if n, _ := fmt.Sscanf(line, "id %d", &id); n == 1 {
						made[id]++
						nodes[id>>14&255] = true
					}
				}
			}
			got := everywhere(t, db, r, "purchases", "item") // fails for an id that is there twice
			if len(made) != 2*scenarioRows || len(got) != len(made) || len(nodes) != 2 {
				t.Errorf("got %d ids of %d nodes and %d rows, want %d of two", len(made), len(nodes), len(got), 2*scenarioRows)
			}
			for id := range made {
				if _, there := got[id]; !there {
					t.Errorf("the row %d is not there", id)
				}
			}
		})
	}
}

// TestScenarioChild is not a test, but what TestScenarioProcesses runs in processes of its own.
func TestScenarioChild(t *testing.T) {
	text := os.Getenv(scenarioVariable)
	if text == "" {
		t.Skip("not a test: TestScenarioProcesses runs it in processes of its own")
	}
	var orders scenarioOrders
	must(t, json.Unmarshal([]byte(text), &orders))
	db := openGORM(t, orders.Database)
	use(t, db, shard.Config{Shards: idshard.Tables(8)})
	must(t, os.NewFile(3, "ready").Close())
	_, err := io.Copy(io.Discard, os.Stdin)
	must(t, err)
	var ids []sqltype.ID
	for i := 0; i < scenarioRows; i += 3 {
		rows := make([]purchase, 3)
		for j := range rows {
			rows[j] = purchase{UserID: int64((i + j) % 10), Item: fmt.Sprint("of process ", orders.Process)}
			if rows[j].UserID == 0 {
				rows[j].UserID = 7 // a hot one
			}
		}
		must(t, db.Create(&rows).Error)
		for _, row := range rows {
			ids = append(ids, row.ID)
		}
	}
	for _, id := range ids {
		fmt.Println("id", id.Int64())
	}
}
