//go:build linux

package grant_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// changeChildVariable holds the orders of a process of TestTortureChange.
const changeChildVariable = "SNOWKEY_TORTURE_CHANGE"

type changeOrders struct {
	Kind, Driver, DSN string
	Knows             bool // both layouts
	Back              bool // they are the other way round
	Number            int
}

// tortureLayouts have few sequences, and bands of a quarter of a second.
func tortureLayouts() (plain, packed idgen.Layout) {
	plain = tortureLayout(5)
	packed, err := idgen.NewLayout(plain.Epoch(), time.Millisecond,
		idgen.Time.Bits(33), idgen.Node.Bits(5), idgen.Stream.Bits(2), idgen.Time.Bits(8), idgen.Sequence.Bits(3))
	if err != nil {
		panic(err) // it is the same each time
	}
	return plain, packed
}

// TestTortureChange has processes of both versions insert ids while the layout changes, and changes back; they are killed, stopped for longer than
// their grants, and started again, and so is the server. No id comes twice, those of each layout are where they belong,
// ids are made on both sides, and no keeper has a loss because of the change.
func TestTortureChange(t *testing.T) {
	dbtest.Long(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i, kind := range []string{"mysql", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			server := dbtest.StartMySQL
			if kind == "postgres" {
				server = dbtest.StartPostgres
			}
			tortureChange(t, server(t), rand.New(rand.NewPCG(seed, uint64(i))))
		})
	}
}

// changeChild is a process.
type changeChild struct {
	cmd   *exec.Cmd
	done  chan struct{}
	noise []string // to be read when done is closed
}

func tortureChange(t *testing.T, server *dbtest.Server, random *rand.Rand) {
	database := server.Database(t)
	db := database.Open(t)
	if _, err := db.Exec("CREATE TABLE ids (id BIGINT PRIMARY KEY, pid INT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	d, err := grant.LookupDialect(database.Kind)
	if err != nil {
		t.Fatal(err)
	}
	store := grant.SQL(db, d)
	plain, packed := tortureLayouts()
	first, err := grant.Open(t.Context(), store, grant.Config{Generator: []idgen.Option{plain}})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // the kernel kills a process when the thread that has started it ends
	defer runtime.UnlockOSThread()
	started := 0
	start := func(knows, back bool) *changeChild {
		started++
		orders, err := json.Marshal(changeOrders{database.Kind, database.DriverName, database.DriverDSN, knows, back, started})
		if err != nil {
			t.Fatal(err)
		}
		c := &changeChild{done: make(chan struct{}), cmd: exec.Command("/proc/self/exe", "-test.run=^TestProcessOfChange$", "-test.timeout=0")}
		c.cmd.Env = append(os.Environ(), changeChildVariable+"="+string(orders))
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := c.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			defer close(c.done)
			for lines := bufio.NewScanner(out); lines.Scan(); {
				c.noise = append(c.noise, lines.Text())
			}
			_ = c.cmd.Wait()
		}()
		return c
	}
	end := func(c *changeChild) {
		_ = c.cmd.Process.Kill()
		<-c.done
		for _, line := range c.noise {
			t.Error(line)
		}
	}
	var children []*changeChild
	for i := range 6 {
		children = append(children, start(i > 1, false))
	}
	defer func() {
		for _, c := range children {
			end(c)
		}
	}()
	hurt := func(until time.Time, back bool) {
		t.Helper()
		for time.Now().Before(until) {
			i := random.IntN(len(children))
			switch random.IntN(8) {
			case 0, 1, 2:
				end(children[i])
				children[i] = start(i > 1 || back, back)
			case 3, 4, 5:
				stopped := children[i].cmd.Process
				_ = stopped.Signal(syscall.SIGSTOP)
				time.Sleep(between(random, 10*time.Millisecond, tortureFor*3/2))
				_ = stopped.Signal(syscall.SIGCONT)
			case 6:
				if err := errors.Join(server.Kill(), server.Start()); err != nil {
					t.Fatal(err)
				}
			default:
				time.Sleep(between(random, 10*time.Millisecond, 500*time.Millisecond))
			}
		}
	}
	announce := func(to idgen.Layout) *grant.Change {
		t.Helper()
		for {
			change, err := grant.PlanChange(t.Context(), store, grant.DefaultSpace, to)
			if err == nil {
				if err = change.Announce(t.Context(), true); err == nil {
					return change
				}
			}
			if !errors.Is(err, grant.ErrChange) && d.Class(err) == dialect.Other {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	hurt(time.Now().Add(2*time.Second), false)
	change := announce(packed)
	hurt(change.At().Add(3*time.Second), false)
	for i := range children {
		end(children[i])
		children[i] = start(true, true)
	}
	hurt(time.Now().Add(time.Second), true)
	change = announce(plain)
	hurt(change.At().Add(2*time.Second), true)
	time.Sleep(tortureFor) // all is well
	for _, c := range children {
		end(c)
	}
	children = nil
	counts := map[int]int{}
	rows, err := db.QueryContext(t.Context(), "SELECT id FROM ids")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		layout := change.Phases.Of(id)
		parts, err := layout.Decode(id)
		if err != nil || change.Phases.At(parts.Time).Layout != layout {
			t.Errorf("the id %d is of %s, and of %s: %v", id, layout, parts.Time, err)
		}
		phase := 0
		for i, p := range change.Phases {
			if !parts.Time.Before(p.Begin()) {
				phase = i
			}
		}
		counts[phase]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for phase := range 3 {
		if counts[phase] < 100 {
			t.Errorf("got %d ids of the layouts %s, want some of each", counts, change.Phases)
			break
		}
	}
	t.Logf("%d processes, ids by layout %v", started, counts)
}

// TestProcessOfChange is not a test, but what TestTortureChange runs in processes of its own. It says what must not happen.
func TestProcessOfChange(t *testing.T) {
	text := os.Getenv(changeChildVariable)
	if text == "" {
		t.Skip("not a test: TestTortureChange runs it in processes of its own")
	}
	var orders changeOrders
	if err := json.Unmarshal([]byte(text), &orders); err != nil {
		t.Fatal(err)
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(lossWriter{}, nil)))
	db, err := sql.Open(orders.Driver, orders.DSN)
	if err != nil {
		t.Fatal(err)
	}
	d, err := grant.LookupDialect(orders.Kind)
	if err != nil {
		t.Fatal(err)
	}
	plain, packed := tortureLayouts()
	config := grant.Config{
		Generator: []idgen.Option{plain, idgen.BorrowFull(tortureBorrow)}, For: tortureFor, First: tortureFirst, Every: tortureEvery, MaxSkew: tortureMaxSkew,
	}
	if orders.Knows {
		config.Generator, config.Before = []idgen.Option{packed, idgen.BorrowFull(tortureBorrow)}, config.Generator
		if orders.Back {
			config.Generator, config.Before = config.Before, config.Generator
		}
	}
	for ctx := t.Context(); ctx.Err() == nil; {
		keeper, err := grant.Open(ctx, grant.SQL(db, d), config)
		if err != nil {
			time.Sleep(50 * time.Millisecond) // the server is down, or the layout is another one
			continue
		}
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for range 100 {
					insertInStream(ctx, keeper, db, orders.Number)
				}
			})
		}
		group.Wait()
		_ = keeper.Close() // its number comes free by itself else
	}
}

// lossWriter says which losses a keeper logs, but for those of a process that was stopped for longer than its grant: it cannot know that it has lost nothing.
type lossWriter struct{}

func (lossWriter) Write(line []byte) (int, error) {
	if text := string(line); strings.Contains(text, "why=") && !strings.Contains(text, "others have had it since") {
		fmt.Print(text)
	}
	return len(line), nil
}

// insertInStream makes three ids of a stream and inserts them.
func insertInStream(ctx context.Context, keeper *grant.Keeper, db *sql.DB, number int) {
	stream := keeper.TakeStream()
	defer keeper.ReturnStream(stream)
	ids := make([]int64, 3)
	err := keeper.FillIn(ctx, stream, ids)
	if err == nil {
		_, err = db.ExecContext(ctx, fmt.Sprintf("INSERT INTO ids VALUES (%d, %d), (%d, %[2]d), (%[4]d, %[2]d)", ids[0], number, ids[1], ids[2]))
	}
	if err != nil {
		if text := strings.ToLower(err.Error()); strings.Contains(text, "duplicate") {
			fmt.Printf("process %d: an id of %v comes twice: %v\n", number, ids, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
