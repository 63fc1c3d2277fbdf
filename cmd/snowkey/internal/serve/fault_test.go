//go:build linux

package serve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/cmd/snowkey/internal/serve"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// startRedis starts a Redis for grants, at a socket.
func startRedis(t *testing.T) (*testprocess.Process, *redis.Client) {
	t.Helper()
	path := testprocess.Path(t, "redis-server", "redis")
	dir, err := os.MkdirTemp("", "snowkey-serve-") // short enough for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	command := exec.Command(path, "-")
	socket := filepath.Join(dir, "socket")
	command.Stdin = strings.NewReader(fmt.Sprintf("port 0\nunixsocket %s\ndir %s\nlogfile %s/log\nsave \"\"\nappendonly yes\nappendfsync always\n", socket, dir, dir))
	process := testprocess.Start(t, command)
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, MaxRetries: -1, ReadTimeout: 200 * time.Millisecond, WriteTimeout: 200 * time.Millisecond})
	t.Cleanup(func() { _ = client.Close() })
	process.Until("the server answers", func() bool { return client.Ping(context.Background()).Err() == nil })
	return process, client
}

// While its store is paused, the service uses up its grant, then says that there are no keys, and never sends one twice; when the store is back it goes on.
func TestStoreGone(t *testing.T) {
	t.Parallel()
	process, client := startRedis(t)
	k, err := grant.Open(context.Background(), redisgrant.New(client), grant.Config{For: time.Second, Timeout: 500 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = k.Close() }()
	s := listen(t, settings(), k)

	var mu sync.Mutex
	seen, twice, failed := map[string]bool{}, 0, map[string]int{}
	add := func(protocol string, keys []string, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if !ok {
			failed[protocol]++
		}
		for _, key := range keys {
			if seen[key] {
				twice++
			}
			seen[key] = true
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for ctx.Err() == nil {
				answer, err := http.Get(fmt.Sprintf("http://%s/id?n=20", s.Addresses()[0]))
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				keys := strings.Fields(string(body))
				if answer.StatusCode != 200 {
					if answer.StatusCode != 503 || answer.Header.Get("Retry-After") != "1" || !strings.HasPrefix(string(body), "no key can be made now: the grant of the node number has ended") {
						t.Errorf("got %s, %v, %q", answer.Status, answer.Header, body)
					}
					keys = nil
					time.Sleep(10 * time.Millisecond)
				} else if len(keys) != 20 {
					t.Errorf("got %q", body)
				}
				add("http", keys, keys != nil)
			}
		})
		writers.Go(func() {
			user := redis.NewClient(&redis.Options{Addr: s.Addresses()[1].String(), MaxRetries: -1})
			defer user.Close()
			for ctx.Err() == nil {
				keys, err := user.Do(context.Background(), "NEXT", 20).StringSlice()
				if err != nil {
					if !strings.HasPrefix(err.Error(), "UNAVAILABLE no key can be made now: the grant of the node number has ended") {
						t.Errorf("got %v", err)
					}
					time.Sleep(10 * time.Millisecond)
				}
				add("redis", keys, err == nil)
			}
		})
	}
	states := func() string {
		answer, body := ask(t, s, "GET", "/ready")
		return fmt.Sprint(answer.StatusCode, " ", strings.TrimSpace(body))
	}
	until(t, "keys", func() bool { mu.Lock(); defer mu.Unlock(); return len(seen) > 1000 })
	process.Signal(syscall.SIGSTOP)
	until(t, "a renewal that fails", func() bool { return states() == "200 losing" })
	until(t, "the grant's end", func() bool { return states() == "503 ended" })
	until(t, "errors", func() bool { mu.Lock(); defer mu.Unlock(); return failed["http"] > 10 && failed["redis"] > 10 })
	if answer, _ := ask(t, s, "GET", "/live"); answer.StatusCode != 200 {
		t.Errorf("a restart would not help, and /live is %s", answer.Status)
	}
	process.Signal(syscall.SIGCONT)
	until(t, "ready again", func() bool { return states() == "200 ready" })
	mu.Lock()
	before := len(seen)
	mu.Unlock()
	until(t, "keys again", func() bool { mu.Lock(); defer mu.Unlock(); return len(seen) > before+1000 })
	cancel()
	writers.Wait()
	if twice > 0 {
		t.Errorf("%d of %d keys were sent twice", twice, len(seen))
	}
}

// A client that speaks either version of the protocol, with and without TLS, has keys, their parts, and errors.
func TestGoRedis(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pair := testprocess.Certificate(t, dir, "service", nil)
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	socket := filepath.Join("/tmp", fmt.Sprintf("snowkey-serve-%d.sock", os.Getpid()))
	t.Cleanup(func() { _ = os.Remove(socket) })
	config := settings()
	config.TLS, config.Token = &tls.Config{Certificates: []tls.Certificate{*pair}}, token
	config.Redis = append(config.Redis, "unix:"+socket)
	s := listen(t, config, keeper(t))
	for _, version := range []int{2, 3} {
		for _, address := range s.Addresses()[1:] {
			options := &redis.Options{Network: address.Network(), Addr: address.String(), Password: token, Protocol: version, MaxRetries: -1}
			if address.Network() == "tcp" {
				options.TLSConfig = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
			}
			client := redis.NewClient(options)
			defer client.Close()
			id, err := client.Do(t.Context(), "NEXT").Int64()
			if err != nil || id <= 0 {
				t.Errorf("got %d, %v", id, err)
			}
			pipe := client.Pipeline()
			for range 100 {
				pipe.Do(t.Context(), "NEXT")
			}
			answers, err := pipe.Exec(t.Context())
			for _, answer := range answers {
				next, wrong := answer.(*redis.Cmd).Int64()
				if wrong != nil || next <= id {
					t.Errorf("got %d after %d, %v", next, id, wrong)
				}
				id = next
			}
			if all, wrong := client.Do(t.Context(), "NEXT", 3).Int64Slice(); err != nil || wrong != nil || len(all) != 3 || all[0] <= id {
				t.Errorf("got %v, %v, %v", all, err, wrong)
			}
			if parts, err := client.Do(t.Context(), "DECODE", id).Text(); err != nil || parts != fmt.Sprintf(`{"id":"%d"}`, id) {
				t.Errorf("got %q, %v", parts, err)
			}
			if err := client.Incr(t.Context(), "x").Err(); err == nil || !strings.HasPrefix(err.Error(), "ERR unknown command") {
				t.Errorf("got %v", err)
			}
		}
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequest("GET", fmt.Sprintf("https://%s/id", s.Addresses()[0]), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || answer.ProtoMajor != 2 || answer.StatusCode != 200 {
		t.Errorf("got %s %s, %q, %v", answer.Proto, answer.Status, body, err)
	}
}

// A socket that a killed service has left is replaced; one that is in use, and a file, are not. Others than its owner and group have no access.
func TestSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "snowkey-serve-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "socket")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	config := settings()
	config.HTTP, config.Redis = nil, []string{"unix:" + path}
	listen(t, config, keeper(t))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("got %v, %v", info, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []string{path, file} {
		config.Redis = []string{"unix:" + taken}
		if _, err := serve.Listen(config); err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("%s: got %v", taken, err)
		}
	}
	if text, err := os.ReadFile(file); string(text) != "mine" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

// Metrics have the keeper's, and requests by their result.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := listen(t, settings(), keeper(t))
	ask(t, s, "GET", "/id?n=3")
	ask(t, s, "GET", "/id?n=0")
	talk(t, s, "NEXT 2\r\nNEXT 0\r\nPING\r\nQUIT\r\n")
	const alone = "snowkey_serve_connections 1\n" // the others end when the server has seen their end
	_, body := ask(t, s, "GET", "/metrics")
	for end := time.Now().Add(10 * time.Second); !strings.Contains(body, alone) && time.Now().Before(end); {
		_, body = ask(t, s, "GET", "/metrics")
	}
	for _, want := range []string{
		`snowkey_ids_total{source="serve"} 5`, `snowkey_grant_held{source="serve"} 1`,
		`snowkey_serve_requests_total{protocol="http",result="answered"} 1`, `snowkey_serve_requests_total{protocol="http",result="wrong"} 1`,
		`snowkey_serve_requests_total{protocol="redis",result="answered"} 3`, `snowkey_serve_requests_total{protocol="redis",result="wrong"} 1`, strings.TrimSpace(alone),
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, body)
		}
	}
}
