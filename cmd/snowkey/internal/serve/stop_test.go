package serve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/cmd/snowkey/internal/serve"
	"github.com/snowkey-go/snowkey/idgen"
)

// slow is a layout with 16 keys a millisecond: a batch of 20,000 takes more than a second.
func slow(t *testing.T) idgen.Option {
	t.Helper()
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(10), idgen.Sequence.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// Before Use the service lives, is not ready, and makes no keys.
func TestStarting(t *testing.T) {
	t.Parallel()
	s := listen(t, settings(), nil)
	for path, want := range map[string]string{"/live": "200 live\n", "/ready": "503 starting\n", "/id": "503 no key can be made now: the service is starting and has no node number yet\n"} {
		answer, body := ask(t, s, "GET", path)
		if got := fmt.Sprint(answer.StatusCode, " ", body); got != want || (answer.StatusCode == 503) != (answer.Header.Get("Retry-After") == "1") {
			t.Errorf("%s: got %q, %v", path, got, answer.Header)
		}
	}
	if got := talk(t, s, "NEXT\r\nNEXT 5\r\nINFO\r\nQUIT\r\n"); strings.Count(got, "-UNAVAILABLE no key can be made now: the service is starting") != 2 || !strings.Contains(got, "state:starting\r\n# Persistence\r\nloading:1\r\n") {
		t.Errorf("got %q", got)
	}
	if err := s.Use(keeper(t)); err != nil {
		t.Fatal(err)
	}
	if _, body := ask(t, s, "GET", "/ready"); body != "ready\n" {
		t.Errorf("got %q", body)
	}
}

// A stop answers what has arrived in both protocols, is not ready from its beginning, takes connections during the drain and none after it.
func TestStop(t *testing.T) {
	t.Parallel()
	source := keeper(t, slow(t))
	config := settings()
	config.MaxBatch = 20_000 // they take longer than the drain
	s, err := serve.Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Use(source); err != nil {
		t.Fatal(err)
	}
	type got struct {
		text string
		err  error
	}
	overHTTP, overRedis := make(chan got, 1), make(chan got, 1)
	go func() {
		answer, err := http.Get(fmt.Sprintf("http://%s/id?n=20000", s.Addresses()[0]))
		if err != nil {
			overHTTP <- got{"", err}
			return
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		overHTTP <- got{string(text), err}
	}()
	idle, err := net.Dial("tcp", s.Addresses()[1].String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	go func() {
		conn, err := net.Dial("tcp", s.Addresses()[1].String())
		if err != nil {
			overRedis <- got{"", err}
			return
		}
		defer conn.Close()
		_, sent := io.WriteString(conn, "NEXT 20000\r\nNEXT\r\n")
		text, err := io.ReadAll(conn)
		overRedis <- got{string(text), errors.Join(sent, err)}
	}()
	until(t, "both batches", func() bool { return source.Stats().Waits >= 2 })
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.Background(), time.Second) }()
	until(t, "not ready", func() bool {
		answer, body := ask(t, s, "GET", "/ready")
		return answer.StatusCode == 503 && body == "stopping\n"
	})
	if answer, body := ask(t, s, "GET", "/id"); answer.StatusCode != 200 || !answer.Close {
		t.Errorf("during the drain: got %s, %q", answer.Status, body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("got %v", err)
	}
	if h := <-overHTTP; h.err != nil || strings.Count(h.text, "\n") != 20_000 {
		t.Errorf("got %d keys, %v", strings.Count(h.text, "\n"), h.err)
	}
	if r := <-overRedis; r.err != nil || strings.Count(r.text, "$") != 20_001 {
		t.Errorf("got %d keys, %v", strings.Count(r.text, "$"), r.err)
	}
	if n, err := idle.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d bytes and %v of a connection that was idle, want its end", n, err)
	}
	for _, address := range s.Addresses() {
		if conn, err := net.Dial("tcp", address.String()); err == nil {
			_ = conn.Close()
			t.Errorf("%s still takes connections", address)
		}
	}
	if n := serve.Open(s); n != 0 {
		t.Errorf("%d connections are open", n)
	}
}

// What takes longer than the stop may is cut off, and the error says so.
func TestStopCutsOff(t *testing.T) {
	t.Parallel()
	source := keeper(t, slow(t))
	config := settings()
	config.MaxBatch = serve.MostBatch
	s, err := serve.Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Use(source); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.Addresses()[1].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "NEXT 1000000\r\n"); err != nil { // a minute
		t.Fatal(err)
	}
	until(t, "the batch", func() bool { return source.Stats().Waits > 0 })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if got, err := io.ReadAll(conn); len(got) > 0 && !strings.HasPrefix(string(got), "-UNAVAILABLE") {
		t.Errorf("got %q, %v, want no keys", got, err)
	}
}

// Who sends nothing, no whole command, or no token is cut off after a time, and who sends commands is not.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		token string
		send  string // at the start, and every second
		every string
		want  time.Duration
	}{
		"idle":              {"", "PING\r\n", "", time.Minute},
		"half a command":    {"", "*1\r\n$4\r\nNE", "", serve.TimeToSend},
		"byte by byte":      {"", "*1\r\n$9000\r\n", "x", serve.TimeToSend},
		"after commands":    {"", "PING\r\nPING\r\n*1\r\n$9000\r\n", "x", serve.TimeToSend},
		"no token":          {token, "", "", serve.TimeToSend},
		"commands, unknown": {token, "PING\r\n", "PING\r\n", serve.TimeToSend},
		"commands":          {"", "PING\r\n", "PING\r\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := settings()
				config.Token = tt.token
				client, server := net.Pipe()
				begin := time.Now()
				ended := make(chan struct{})
				go func() {
					serve.Converse(config, server)
					close(ended)
				}()
				go func() { _, _ = io.Copy(io.Discard, client) }()
				var writer sync.WaitGroup
				writer.Go(func() {
					_, err := io.WriteString(client, tt.send)
					for ; err == nil && tt.every != ""; _, err = io.WriteString(client, tt.every) {
						time.Sleep(time.Second)
					}
				})
				if tt.want == 0 {
					time.Sleep(10 * time.Minute)
					synctest.Wait()
					select {
					case <-ended:
						t.Error("it was cut off")
					default:
					}
					_ = client.Close()
				}
				<-ended
				if took := time.Since(begin); tt.want != 0 && (took < tt.want || took > tt.want+time.Second) {
					t.Errorf("it was cut off after %s, want %s", took, tt.want)
				}
				_ = client.Close()
				writer.Wait()
			})
		})
	}
}

// Who does not take its answers is cut off, and holds no more of them than it may.
func TestClientTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		begin := time.Now()
		go func() { _, _ = io.WriteString(client, strings.Repeat("PING\r\n", 1000)) }()
		serve.Converse(settings(), server)
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("it was cut off after %s", took)
		}
	})
}

// A pipeline is answered in the order of its commands, however long it is.
func TestPipeline(t *testing.T) {
	t.Parallel()
	s := listen(t, settings(), keeper(t))
	conn, err := net.Dial("tcp", s.Addresses()[1].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const commands = 20_000
	go func() {
		w := bufio.NewWriterSize(conn, 777) // commands in pieces
		for i := range commands {
			_, _ = fmt.Fprintf(w, "*2\r\n$4\r\nECHO\r\n$5\r\n%05d\r\n", i)
		}
		_ = w.Flush()
	}()
	r := bufio.NewReader(conn)
	for i := range commands {
		length, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		text, err := r.ReadString('\n')
		if want := fmt.Sprintf("%05d\r\n", i); err != nil || length != "$5\r\n" || text != want {
			t.Fatalf("got %q, %q, %v, want %q", length, text, err, want)
		}
	}
}

// A stop just after the start is no error: net/http closes listeners too.
func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	for range 300 {
		s, err := serve.Listen(settings())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
}
