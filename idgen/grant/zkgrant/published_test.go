//go:build linux

package zkgrant_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/zkgrant"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// childVariable has, in a process that prints ids, where its number is from: the scheme, the server and the prefix.
const childVariable = "SNOWKEY_ZOOKEEPER_CHILD"

// startPrinter starts a process that prints ids.
func startPrinter(t *testing.T, scheme, address, prefix string) *testprocess.Printer {
	t.Helper()
	return testprocess.StartPrinter(t, "TestPrinter", fmt.Sprintf("%s=%s %s %s", childVariable, scheme, address, prefix))
}

// TestPrinter is that process.
func TestPrinter(t *testing.T) {
	var scheme, address, prefix string
	if n, _ := fmt.Sscan(os.Getenv(childVariable), &scheme, &address, &prefix); n != 3 {
		t.Skip("is for other tests")
	}
	layout, err := idgen.NewLayout(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), 10*time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(1), idgen.Sequence.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	conn, events, err := zk.Connect([]string{address}, session, zk.WithLogger(noLog{}))
	if err != nil {
		t.Fatal(err)
	}
	if scheme == "grants" {
		printGrants(zkgrant.New(conn, zkgrant.WithPrefix(prefix)), layout)
	}
	printEphemeral(t, conn, events, prefix, layout)
}

// printGrants prints ids until the process is killed.
func printGrants(store *zkgrant.Store, layout idgen.Layout) {
	for {
		keys, err := grant.Open(context.Background(), store, grant.Config{
			Generator: []idgen.Option{layout}, For: 300 * time.Millisecond, First: 300 * time.Millisecond, Wait: time.Minute, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			continue // ZooKeeper is killed, too
		}
		for range 200 {
			if id, err := keys.Next(context.Background()); err == nil {
				fmt.Println(id)
			} else {
				time.Sleep(time.Millisecond)
			}
		}
		_ = keys.Close() // fails while ZooKeeper does not answer
	}
}

// printEphemeral prints ids with a number of which an ephemeral node says that it is taken, as long as the client does not say that the session has ended.
func printEphemeral(t *testing.T, conn *zk.Conn, events <-chan zk.Event, prefix string, layout idgen.Layout) {
	number := int64(0)
	for {
		_, err := conn.Create(fmt.Sprint(prefix, "/", number), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err == nil {
			break
		} else if !errors.Is(err, zk.ErrNodeExists) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	gen, err := idgen.New(layout, idgen.WithNode(number))
	if err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case event := <-events:
			if event.State == zk.StateExpired || event.State == zk.StateDisconnected {
				return
			}
		default:
		}
		id, err := gen.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(id)
	}
}

// TestEphemeralNumbersRepeat has the common scheme give one id twice: a number is taken by an ephemeral node. Its process stands still until the session has
// expired, and another process has taken the number; then it goes on, and makes ids before it hears of the end of its session. The same with grants makes none twice.
func TestEphemeralNumbersRepeat(t *testing.T) {
	s, prefix := sharedServer(t)
	conn := connect(t, nil, s)
	for _, node := range []string{prefix[:strings.LastIndex(prefix, "/")], prefix} {
		if _, err := conn.Create(node, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	for scheme, repeats := range map[string]bool{"ephemeral": true, "grants": false} {
		var twice int
		for range 5 { // it nearly always repeats in the first
			first := startPrinter(t, scheme, s.address, prefix)
			s.until("the first process prints", func() bool { return first.Made() > 20 })
			first.Signal(syscall.SIGSTOP)
			second := startPrinter(t, scheme, s.address, prefix)
			if scheme == "grants" {
				third := startPrinter(t, scheme, s.address, prefix) // there are two numbers
				s.until("the third process prints", func() bool { return third.Made() > 20 })
				defer third.Kill()
			}
			s.until("the second process prints", func() bool { return second.Made() > 20 })
			before := second.Made()
			first.Signal(syscall.SIGCONT)
			s.until("both go on", func() bool { return second.Made() > before+50 })
			first.Kill()
			second.Kill()
			if twice = testprocess.Twice(first, second); twice > 0 || !repeats {
				break
			}
		}
		if (twice > 0) != repeats {
			t.Errorf("%s: %d ids came twice, want some: %t", scheme, twice, repeats)
		}
		t.Logf("%s: %d ids came twice", scheme, twice)
	}
}

// TestSequentialNumbersRepeat has the other common scheme give one number twice: a number is the counter of a sequential node, without its upper bits. With eight
// numbers, the ninth start gets that of the first process, which still runs.
func TestSequentialNumbersRepeat(t *testing.T) {
	s, prefix := sharedServer(t)
	conn := connect(t, nil, s)
	if _, err := conn.Create(prefix[:strings.LastIndex(prefix, "/")], nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	numbers := make([]int64, 9)
	for i := range numbers {
		path, err := conn.Create(prefix+"-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		counter, err := strconv.ParseInt(path[len(path)-10:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers[i] = counter % 8
	}
	if numbers[8] != numbers[0] {
		t.Errorf("got the numbers %d, want the first again", numbers)
	}
	// With grants, nobody gets a number that another one holds.
	store := zkgrant.New(conn, zkgrant.WithPrefix(prefix))
	layout, err := idgen.NewLayout(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(3), idgen.Sequence.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for i := range 9 {
		keys, err := grant.Open(t.Context(), store, grant.Config{Generator: []idgen.Option{layout}, Wait: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if i == 8 {
			if !errors.Is(err, grant.ErrTaken) {
				t.Errorf("the ninth: got the error %v, want ErrTaken; %s", err, &log)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer keys.Close()
	}
}
