//go:build linux

package ticket_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// blockChildVariable holds the orders of a process of TestBlocksProcesses.
const blockChildVariable = "SNOWKEY_BLOCK_CHILD"

// blockOrders say where a process takes ids from, and the file that it writes them to, 8 bytes each.
type blockOrders struct {
	Databases []dbtest.Database
	File      string
}

// TestProcessOfBlocks is not a test, but what TestBlocksProcesses runs in processes of its own.
func TestProcessOfBlocks(t *testing.T) {
	text := os.Getenv(blockChildVariable)
	if text == "" {
		t.Skip("not a test: TestBlocksProcesses runs it in processes of its own")
	}
	var orders blockOrders
	noError(t, json.Unmarshal([]byte(text), &orders))
	file, err := os.OpenFile(orders.File, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	noError(t, err)
	defer file.Close()
	source := blocksSetUp(t, briskly(ticket.BlockConfig{}), orders.Databases...)
	for range 10_000_000 { // it is killed before
		keys := make([]int64, 1+rand.IntN(30))
		noError(t, fillOrNext(context.Background(), source, keys))
		var record []byte
		for _, id := range keys {
			record = binary.LittleEndian.AppendUint64(record, uint64(id))
		}
		_, err := file.Write(record)
		noError(t, err)
	}
}

// TestBlocksProcesses has three processes take ids, and be killed again and again, each by SIGKILL at any place.
func TestBlocksProcesses(t *testing.T) {
	t.Parallel()
	const processes, kills = 3, 5
	l := newBlockLedger(t)
	orders := blockOrders{Databases: []dbtest.Database{dbtest.MySQL(t), dbtest.Postgres(t), dbtest.SQLite(t)}}
	blocksSetUp(t, briskly(ticket.BlockConfig{}), orders.Databases...)
	done := make(chan struct{}, processes)
	folder := t.TempDir()
	for i := range processes {
		books := make([]*blockBook, kills)
		for n := range books {
			books[n] = l.book(fmt.Sprintf("process %d, life %d", i+1, n+1))
		}
		go func() {
			defer func() { done <- struct{}{} }()
			for n, book := range books {
				orders := orders
				orders.File = filepath.Join(folder, fmt.Sprintf("%d.%d", i, n))
				if err := blockLife(orders); err != nil {
					t.Error(err)
					return
				}
				written, err := os.ReadFile(orders.File)
				if err != nil {
					t.Error(err)
					return
				}
				for ; len(written) >= 8; written = written[8:] { // the last one may have been cut
					book.add(int64(binary.LittleEndian.Uint64(written)))
				}
			}
		}()
	}
	for range processes {
		<-done
	}
	l.draw("a process that is not killed", blocksOf(t, briskly(ticket.BlockConfig{}), orders.Databases...), 3000)
}

// blockLife runs a process until it has written a number of ids, and kills it.
func blockLife(orders blockOrders) error {
	text, err := json.Marshal(orders)
	if err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestProcessOfBlocks$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), blockChildVariable+"="+string(text), "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), blockPatience)
	defer cancel()
	for enough := 8 * (5000 + rand.Int64N(20_000)); ctx.Err() == nil; blockRest(ctx) {
		if info, err := os.Stat(orders.File); err == nil && info.Size() >= enough {
			break
		}
		select {
		case err := <-ended:
			return fmt.Errorf("a process ended by itself: %v", err)
		default:
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	<-ended
	return ctx.Err()
}
