package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestShop builds the service, starts it as a process on each database, uses it, and ends it in both ways.
func TestShop(t *testing.T) {
	program := filepath.Join(t.TempDir(), "shop")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, kind := range []struct {
		name string
		make func(testing.TB) dbtest.Database
	}{{"sqlite", dbtest.SQLite}, {"postgres", dbtest.Postgres}, {"mysql", dbtest.MySQL}} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			database := kind.make(t)
			t.Run("Use", func(t *testing.T) { use(t, start(t, program, database)) })
			t.Run("Stop", func(t *testing.T) { stop(t, start(t, program, database), database) })
			t.Run("Kill", func(t *testing.T) { kill(t, program, database) })
		})
	}
}

// process is a service that runs.
type process struct {
	*exec.Cmd
	address string
	done    chan error // the end of the process
}

// start starts the service on a port that it picks, and waits until it listens.
func start(t *testing.T, program string, database dbtest.Database) process {
	t.Helper()
	p := process{Cmd: exec.CommandContext(t.Context(), program), done: make(chan error, 1)}
	p.Env = append(os.Environ(), "SHOP_DB="+database.DSN, "SHOP_ADDR=127.0.0.1:0")
	p.Stderr = t.Output()
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, err2 := fmt.Sscanf(line, "listening on %s", &p.address); err != nil || err2 != nil {
		t.Fatalf("got %q: %v, %v", line, err, err2)
	}
	go func() { p.done <- p.Wait() }()
	t.Cleanup(func() {
		_ = p.Process.Kill() // it may have ended
	})
	return p
}

// line, customer and order are what clients read: ids are texts.
type line struct {
	ID       string `json:"id,omitempty"`
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

type customer struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Name  string `json:"name"`
}

type order struct {
	ID         string    `json:"id"`
	CustomerID string    `json:"customer_id"`
	Customer   *customer `json:"customer"`
	Lines      []line    `json:"lines"`
	CreatedAt  time.Time `json:"created_at"`
}

type page struct {
	Orders []order
	Next   *string
}

// client sends a body only when the service asks for it.
var client = &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}

// call sends a request, and reads the answer into a value when the status is the one that is wanted.
func (p process) call(ctx context.Context, method, path string, body io.Reader, want int, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+p.address+path, body)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Expect", "100-continue")
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != want {
		return fmt.Errorf("%s %s: got the status %d, want %d: %s", method, path, answer.StatusCode, want, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (p process) get(t *testing.T, path string, want int, into any) {
	t.Helper()
	if err := p.call(t.Context(), http.MethodGet, path, nil, want, into); err != nil {
		t.Fatal(err)
	}
}

func (p process) post(t *testing.T, path, body string, want int, into any) {
	t.Helper()
	if err := p.call(t.Context(), http.MethodPost, path, strings.NewReader(body), want, into); err != nil {
		t.Fatal(err)
	}
}

// customer makes a customer, or finds the one who is there.
func (p process) customer(t *testing.T) customer {
	t.Helper()
	var c customer
	p.post(t, "/customers", `{"email": "ada@example.org", "name": "Ada"}`, http.StatusCreated, &c)
	return c
}

func orderOf(c customer) string {
	return `{"customer_id": "` + c.ID + `", "lines": [{"item": "tea", "quantity": 2}, {"item": "milk", "quantity": 1}]}`
}

func use(t *testing.T, p process) {
	p.get(t, "/ready", http.StatusOK, nil)
	ada := p.customer(t)
	if again := p.customer(t); again != ada || ada.ID == "" {
		t.Errorf("got the customers %+v and %+v by one email, want one", ada, again)
	}
	from := time.Now().Add(-time.Minute)
	var made []order
	for range 5 {
		var o order
		p.post(t, "/orders", orderOf(ada), http.StatusCreated, &o)
		made = append(made, o)
	}
	var got order
	p.get(t, "/orders/"+made[0].ID, http.StatusOK, &got)
	if got.Customer == nil || *got.Customer != ada || len(got.Lines) != 2 || got.Lines[0] != made[0].Lines[0] || got.Lines[1] != made[0].Lines[1] {
		t.Errorf("got the order %+v, want %+v of %+v", got, made[0], ada)
	}
	if got.CreatedAt.Before(from) || got.CreatedAt.After(time.Now().Add(time.Minute)) {
		t.Errorf("got an order of the time %s", got.CreatedAt)
	}

	// Pages of two, the newest first, end after three.
	var read []string
	for path, pages := "/orders?limit=2", 0; path != ""; pages++ {
		var one page
		p.get(t, path, http.StatusOK, &one)
		for _, o := range one.Orders {
			read = append(read, o.ID)
		}
		path = ""
		if one.Next != nil && pages < 5 {
			path = "/orders?limit=2&before=" + *one.Next
		}
	}
	if len(read) != 5 || read[0] != made[4].ID || read[4] != made[0].ID {
		t.Errorf("got the orders %q, want those of %+v, the newest first", read, made)
	}

	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	for path, want := range map[string]int{
		"/orders?from=" + at(from) + "&to=" + at(from.Add(time.Hour)): 5,
		"/orders?to=" + at(from): 0,
	} {
		var one page
		p.get(t, path, http.StatusOK, &one)
		if len(one.Orders) != want {
			t.Errorf("%s: got %d orders, want %d", path, len(one.Orders), want)
		}
	}

	p.get(t, "/orders/1", http.StatusNotFound, nil)
	p.get(t, "/orders/tea", http.StatusBadRequest, nil)
	p.get(t, "/orders?limit=0", http.StatusBadRequest, nil)
	p.post(t, "/orders", `{"customer_id": "1", "lines": [{"item": "tea"}]}`, http.StatusBadRequest, nil)
	p.post(t, "/orders", `{"id": "1", "customer_id": "`+ada.ID+`", "lines": [{"item": "tea"}]}`, http.StatusBadRequest, nil)
}

// stop sends SIGTERM while a request is under way: the request gets its keys, the process ends well, and its node number is free.
func stop(t *testing.T, p process, database dbtest.Database) {
	ada := p.customer(t)
	body, writer := io.Pipe()
	answered := make(chan error, 1)
	var made order
	go func() { answered <- p.call(t.Context(), http.MethodPost, "/orders", body, http.StatusCreated, &made) }()
	text := orderOf(ada)
	if _, err := io.WriteString(writer, text[:10]); err != nil { // returns once the service reads the body
		t.Fatal(err)
	}
	if !holds(t, database, p) {
		t.Error("the process holds no node number before SIGTERM")
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for { // until the server has closed its port
		connection, err := net.Dial("tcp", p.address)
		if err != nil {
			break
		}
		connection.Close()
	}
	if _, err := io.WriteString(writer, text[10:]); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	if err := <-answered; err != nil || made.ID == "" {
		t.Errorf("the request that was under way: got %+v, %v", made, err)
	}
	if err := <-p.done; err != nil {
		t.Errorf("the process ended with %v", err)
	}
	if holds(t, database, p) {
		t.Error("the process holds its node number after SIGTERM")
	}
}

// holds reports whether a process has a node number that it has not given back.
func holds(t *testing.T, database dbtest.Database, p process) bool {
	t.Helper()
	dialect, err := grant.LookupDialect(database.Kind)
	if err != nil {
		t.Fatal(err)
	}
	listing, err := grant.SQL(database.Open(t), dialect).List(t.Context(), grant.DefaultSpace, 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(listing.Rows, func(row grant.Row) bool { return strings.Contains(row.Holder, fmt.Sprintf(":%d#", p.Process.Pid)) })
}

// kill kills one of two processes that make orders, with -9, and starts it again: no key comes twice, and no order fails but those of the one that is killed.
func kill(t *testing.T, program string, database dbtest.Database) {
	const each = 20
	first, second := start(t, program, database), start(t, program, database)
	ada := first.customer(t)
	var (
		mu   sync.Mutex
		seen = map[string]bool{}
	)
	// create makes orders, and returns the first error.
	create := func(p process, orders int) error {
		for range orders {
			var o order
			if err := p.call(t.Context(), http.MethodPost, "/orders", strings.NewReader(orderOf(ada)), http.StatusCreated, &o); err != nil {
				return err
			}
			mu.Lock()
			for _, id := range []string{o.ID, o.Lines[0].ID, o.Lines[1].ID} {
				if seen[id] {
					t.Errorf("got the key %s twice", id)
				}
				seen[id] = true
			}
			mu.Unlock()
		}
		return nil
	}
	var group sync.WaitGroup
	group.Go(func() { _ = create(first, math.MaxInt) }) // until it is killed
	group.Go(func() {
		if err := create(second, each); err != nil {
			t.Error(err)
		}
		if err := first.Process.Kill(); err != nil {
			t.Error(err)
		}
	})
	group.Wait()
	<-first.done
	again := start(t, program, database)
	for _, p := range []process{again, second, again} {
		group.Go(func() {
			if err := create(p, each); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var rows int
	if err := database.Open(t).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM orders").Scan(&rows); err != nil || rows < 4*each {
		t.Errorf("got %d orders, %v, want at least %d", rows, err, 4*each)
	}
}
