package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/cmd/snowkey/internal/serve"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

const token = "0123456789abcdef"

// settings are those that most tests have. DECODE answers with the text, and public ids are prefixed hexadecimal numbers.
func settings() serve.Config {
	return serve.Config{
		HTTP: []string{"127.0.0.1:0"}, Redis: []string{"127.0.0.1:0"}, MaxBatch: 5000, MaxConnections: 100, Idle: time.Minute, Version: "v1",
		Decode: func(text string) (string, error) {
			if text == "bad" {
				return "", errors.New("no id\r\nat all")
			}
			return fmt.Sprintf("{\"id\":%q}\n", text), nil
		},
		Encode: func(prefix string, id int64) (string, error) {
			if prefix != "ord" {
				return "", errors.New("no prefix")
			}
			return fmt.Sprintf("%s_%x", prefix, id), nil
		},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// keeper returns one of a store in memory.
func keeper(t testing.TB, options ...idgen.Option) *grant.Keeper {
	t.Helper()
	k, err := grant.Open(context.Background(), grant.Memory(nil), grant.Config{Generator: options, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

// listen starts a server, which ends with the test.
func listen(t testing.TB, config serve.Config, source serve.Source) *serve.Server {
	t.Helper()
	s, err := serve.Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	if source != nil {
		if err := s.Use(source); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_ = s.Stop(ctx, 0) // connections of the test may be open
	})
	return s
}

// ask sends a request to the first address, and returns the answer with its body.
func ask(t testing.TB, s *serve.Server, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(method, fmt.Sprintf("http://%s%s", s.Addresses()[0], path), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// talk sends bytes to the second address, and returns what comes until the server closes the connection.
func talk(t testing.TB, s *serve.Server, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addresses()[1].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("after %q: %v", got, err)
	}
	return string(got)
}

// The keys of all forms are new and increase, and nobody on the way may keep them.
func TestForms(t *testing.T) {
	t.Parallel()
	source := keeper(t)
	s := listen(t, settings(), source)
	last := int64(0)
	isNext := func(what string, id int64) {
		t.Helper()
		if id <= last {
			t.Errorf("%s: got %d after %d", what, id, last)
		}
		last = id
	}
	parse := func(text string) int64 {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Error(err)
		}
		return id
	}
	for _, tt := range []struct {
		method, path, accept, kind string
		want                       int
		read                       func(string) []int64
	}{
		{"GET", "/id", "", "text/plain; charset=utf-8", 1, func(b string) []int64 { return []int64{parse(strings.TrimSuffix(b, "\n"))} }},
		{"POST", "/id?n=1", "*/*", "text/plain; charset=utf-8", 1, func(b string) []int64 { return []int64{parse(strings.TrimSuffix(b, "\n"))} }},
		{"GET", "/id?n=5000", "text/html, text/*;q=0.5", "text/plain; charset=utf-8", 5000, func(b string) (ids []int64) {
			for line := range strings.Lines(b) {
				ids = append(ids, parse(strings.TrimSuffix(line, "\n")))
			}
			return ids
		}},
		{"GET", "/id", "application/json, text/plain, */*", "application/json", 1, func(b string) []int64 {
			var one struct{ ID string }
			if err := json.Unmarshal([]byte(b), &one); err != nil {
				t.Error(err)
			}
			return []int64{parse(one.ID)}
		}},
		{"GET", "/id?n=1500", "application/json", "application/json", 1500, func(b string) (ids []int64) {
			var all struct{ IDs []string }
			if err := json.Unmarshal([]byte(b), &all); err != nil {
				t.Error(err)
			}
			for _, text := range all.IDs {
				ids = append(ids, parse(text))
			}
			return ids
		}},
		{"GET", "/id?n=1500", "application/octet-stream", "application/octet-stream", 1500, func(b string) (ids []int64) {
			for b := []byte(b); len(b) > 0; b = b[8:] {
				ids = append(ids, int64(binary.BigEndian.Uint64(b)))
			}
			return ids
		}},
	} {
		header := []string{"X-None", ""}
		if tt.accept != "" {
			header = []string{"Accept", tt.accept}
		}
		answer, body := ask(t, s, tt.method, tt.path, header...)
		ids := tt.read(body)
		if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != tt.kind || answer.Header.Get("Cache-Control") != "no-store" || len(ids) != tt.want {
			t.Errorf("%s %s: got %s, %v and %d keys, want %d", tt.method, tt.path, answer.Status, answer.Header, len(ids), tt.want)
		}
		for _, id := range ids {
			isNext(tt.path, id)
		}
	}
	lines := strings.Split(talk(t, s, "*1\r\n$4\r\nNEXT\r\nnext 1500\r\n*1\r\n$4\r\nQUIT\r\n"), "\r\n")
	if lines[0] != "$18" || lines[2] != "*1500" || lines[len(lines)-2] != "+OK" || len(lines) != 3+3000+2 {
		t.Fatalf("got %d lines, %q to %q", len(lines), lines[:4], lines[len(lines)-3:])
	}
	isNext("NEXT", parse(lines[1]))
	for i := 4; i < 3004; i += 2 {
		isNext("NEXT 1500", parse(lines[i]))
	}
	if _, text := ask(t, s, "GET", "/id?n=2&prefix=ord"); strings.Count(text, "\nord_") != 1 || !strings.HasPrefix(text, "ord_") {
		t.Errorf("got the public ids %q", text)
	}
	if _, text := ask(t, s, "GET", "/id?prefix=ord", "Accept", "application/json"); !strings.HasPrefix(text, `{"id":"ord_`) {
		t.Errorf("got the public id %q", text)
	}
	if text := talk(t, s, "NEXT 2 ord\r\nQUIT\r\n"); !strings.HasPrefix(text, "*2\r\n$") || strings.Count(text, "\r\nord_") != 2 {
		t.Errorf("got the public ids %q", text)
	}
}

// What is asked for in a wrong way is answered with what to do, and takes no keys.
func TestWrongRequests(t *testing.T) {
	t.Parallel()
	source := keeper(t)
	s := listen(t, settings(), source)
	for _, tt := range []struct {
		method, path, accept string
		status               int
		want                 string
	}{
		{"GET", "/id?n=0", "", 400, `n is "0": want 1 to 5000`},
		{"GET", "/id?n=5001", "", 400, `n is "5001": want 1 to 5000, in several requests for more`},
		{"GET", "/id?n=-1", "", 400, `n is "-1"`},
		{"GET", "/id?n=%2B1", "", 400, `n is "+1"`},
		{"GET", "/id?n=", "", 400, `n is ""`},
		{"GET", "/id?n=99999999999999999999", "", 400, "want 1 to 5000"},
		{"GET", "/id?n=1&n=2", "", 400, `the parameter "n" is there 2 times`},
		{"GET", "/id?count=5", "", 400, `unknown parameter "count"; there are n and prefix`},
		{"GET", "/id?n=1;prefix=x", "", 400, "cannot be read"},
		{"GET", "/id?prefix=usr", "", 400, "no prefix"},
		{"GET", "/id?prefix=", "", 400, "no prefix"},
		{"GET", "/id?prefix=ord", "application/octet-stream", 400, "public ids are texts"},
		{"GET", "/id", "image/png", 406, "no form that the header Accept names"},
		{"GET", "/id?n=0", "application/json", 400, `{"error":"n is \"0\": want`},
		{"HEAD", "/id?n=10", "", 405, ""},
		{"DELETE", "/id", "", 405, "want GET or POST"},
		{"POST", "/id/5", "", 405, "want GET"},
		{"GET", "/id/bad", "", 400, "no id"},
		{"GET", "/", "", 404, ""},
		{"GET", "/id/", "", 404, ""},
	} {
		header := []string{"X-None", ""}
		if tt.accept != "" {
			header = []string{"Accept", tt.accept}
		}
		if answer, body := ask(t, s, tt.method, tt.path, header...); answer.StatusCode != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: got %s and %q, want %d and %q", tt.method, tt.path, answer.Status, body, tt.status, tt.want)
		}
	}
	for line, want := range map[string]string{
		"NEXT 0":               `-ERR n is "0": want 1 to 5000`,
		"NEXT 5001":            `-ERR n is "5001": want 1 to 5000`,
		"NEXT +1":              `-ERR n is "+1"`,
		"NEXT 1 usr":           "-ERR no prefix",
		"NEXT 1 ord x":         "-ERR wrong number of arguments for 'next' command",
		"DECODE":               "-ERR wrong number of arguments for 'decode' command",
		"DECODE bad":           "-ERR no id  at all",
		"INCR x":               "-ERR unknown command 'INCR'; there are NEXT, DECODE, PING",
		"SELECT 1":             "-ERR DB index is out of range",
		"HELLO 4":              "-NOPROTO unsupported protocol version",
		"HELLO 3 NAME":         "-ERR syntax error in HELLO",
		"AUTH " + token:        "-ERR this service has no token",
		"CLIENT KILL":          "-ERR unknown subcommand 'KILL'",
		strings.Repeat("X", 8): "-ERR unknown command 'XXXXXXXX'",
	} {
		if got := talk(t, s, line+"\r\nQUIT\r\n"); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "\r\n+OK\r\n") || strings.Count(got, "\n") != 2 {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
	if n := source.Stats().Issued; n != 0 {
		t.Errorf("%d keys were made", n)
	}
}

// Bytes that are no commands get an error and end the connection, and no other one.
func TestMalformedCommands(t *testing.T) {
	t.Parallel()
	s := listen(t, settings(), keeper(t))
	for _, bytes := range []string{
		"*1\r\n$-2\r\n", "*-1\r\n", "*1\r\n$4\r\nNEXTxx", "*1\r\n:5\r\n", "*x\r\n", "*1\n", "$4 NEXT\r\n", "'\"\r\n",
		"*1\r\n$99999999999\r\n" + strings.Repeat("x", serve.LongestCommand), strings.Repeat("*1000000000000\r\n", serve.LongestCommand/16+1), strings.Repeat("x", serve.LongestCommand+1),
	} {
		if got := talk(t, s, "PING\r\n"+bytes); !strings.HasPrefix(got, "+PONG\r\n-ERR Protocol error: ") {
			t.Errorf("%.40q: got %q", bytes, got)
		}
	}
	if got := talk(t, s, "\r\n*0\r\nPING\r\nPING '\"'\r\nQUIT\r\nNEXT\r\n"); got != "+PONG\r\n$1\r\n\"\r\n+OK\r\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzReadCommand(f *testing.F) {
	for _, text := range []string{"*1\r\n$4\r\nNEXT\r\n", "NEXT 5\r\n", "*1\r\n$-2\r\n", "*2\r\n$4\r\nNEXT\r\n$1\r\n5\r\nPING\r\n", "*100000000000\r\n", "$4 NEXT\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		given := bytes.Clone(packet)
		whole, args, rest, err := serve.ReadCommand(packet, nil)
		if !bytes.Equal(given, packet) {
			t.Error("the bytes were changed")
		}
		if whole && (err != nil || len(rest) >= len(packet)) || !whole && len(rest) != len(packet) || !bytes.HasSuffix(packet, rest) {
			t.Errorf("got %t, %q, %d bytes of %d, %v", whole, args, len(rest), len(packet), err)
		}
	})
}

// Who does not show the token gets no keys, parts or metrics.
func TestToken(t *testing.T) {
	t.Parallel()
	config := settings()
	config.Token = token
	source := keeper(t)
	s := listen(t, config, source)
	for _, path := range []string{"/id", "/id?n=5", "/id/5", "/metrics"} {
		for _, shown := range []string{"", "Bearer", "Bearer " + token[1:], "Bearer " + token + "x", "Basic " + token, token} {
			answer, body := ask(t, s, "GET", path, "Authorization", shown)
			if answer.StatusCode != 401 || answer.Header.Get("WWW-Authenticate") != "Bearer" || !strings.HasPrefix(body, "want the header Authorization") {
				t.Errorf("%s with %q: got %s and %q", path, shown, answer.Status, body)
			}
		}
		if answer, body := ask(t, s, "GET", path, "Authorization", "bearer "+token); answer.StatusCode != 200 {
			t.Errorf("%s: got %s and %q", path, answer.Status, body)
		}
	}
	for _, path := range []string{"/live", "/ready"} {
		if answer, _ := ask(t, s, "GET", path); answer.StatusCode != 200 {
			t.Errorf("%s: got %s", path, answer.Status)
		}
	}
	made := source.Stats().Issued
	for _, line := range []string{"NEXT", "PING", "DECODE 5", "INFO", "NEXT 5", "HELLO 3", "AUTH x", "AUTH default x", "AUTH other " + token, "HELLO 2 AUTH default x", "AUTH " + token + "\r\nAUTH x"} {
		got := talk(t, s, line+"\r\nNEXT\r\nQUIT\r\n")
		if !strings.HasSuffix(got, "-NOAUTH Authentication required.\r\n+OK\r\n") || strings.Contains(got, "$") {
			t.Errorf("%s: got %q", line, got)
		}
	}
	if n := source.Stats().Issued; n != made {
		t.Errorf("%d keys were made", n-made)
	}
	for _, line := range []string{"AUTH " + token, "AUTH default " + token} {
		if got := talk(t, s, line+"\r\nNEXT\r\nQUIT\r\n"); !strings.HasPrefix(got, "+OK\r\n$18\r\n") {
			t.Errorf("%s: got %q", line, got)
		}
	}
	for line, want := range map[string]string{"HELLO 2 AUTH default " + token: "*14\r\n", "HELLO 3 AUTH default " + token + " SETNAME me": "%7\r\n$6\r\nserver\r\n$7\r\nsnowkey\r\n"} {
		if got := talk(t, s, line+"\r\nCLIENT GETNAME\r\nQUIT\r\n"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q", line, got)
		}
	}
}

// Only what this machine alone reaches goes without a token.
func TestConfig(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, "127.8.8.8:0": true, "unix:x": true,
		":0": false, "0.0.0.0:0": false, "[::]:0": false, "10.0.0.1:0": false, "localhost.example:0": false, "unix:": false, "127.0.0.1": false, "": false,
	} {
		config := settings()
		config.HTTP, config.Redis = nil, []string{address}
		if err := serve.Check(config); (err == nil) != want || err != nil && !errors.Is(err, serve.ErrConfig) {
			t.Errorf("%s: got %v", address, err)
		}
	}
	for name, change := range map[string]func(*serve.Config){
		"short token": func(c *serve.Config) { c.Token = token[1:] }, "token with a space": func(c *serve.Config) { c.Token = token + " x" },
		"no address": func(c *serve.Config) { c.HTTP, c.Redis = nil, nil }, "batch": func(c *serve.Config) { c.MaxBatch = 0 },
		"greater batch": func(c *serve.Config) { c.MaxBatch = serve.MostBatch + 1 }, "connections": func(c *serve.Config) { c.MaxConnections = 0 }, "idle": func(c *serve.Config) { c.Idle = 0 },
	} {
		config := settings()
		if change(&config); !errors.Is(serve.Check(config), serve.ErrConfig) {
			t.Errorf("%s: got %v", name, serve.Check(config))
		}
	}
	config := settings()
	config.HTTP = []string{":0"}
	config.WithoutToken = true
	if err := serve.Check(config); err != nil {
		t.Errorf("got %v", err)
	}
}

// Beyond the limit a connection gets an error, whichever protocol the others have; when one ends there is room again.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	config := settings()
	config.MaxConnections = 2
	s := listen(t, config, keeper(t))
	var open []net.Conn
	for _, address := range s.Addresses() {
		conn, err := net.Dial("tcp", address.String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
	}
	if _, err := io.WriteString(open[1], "PING\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(open[1]).ReadString('\n'); line != "+PONG\r\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	until(t, "two connections", func() bool { return serve.Open(s) == 2 })
	for i, want := range []string{"HTTP/1.1 503 Service Unavailable\r\n", "-ERR max number of clients reached\r\n"} {
		conn, err := net.Dial("tcp", s.Addresses()[i].String())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); !strings.HasPrefix(string(got), want) || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		_ = conn.Close()
	}
	_ = open[0].Close()
	until(t, "room", func() bool { return serve.Open(s) == 1 })
	if got := talk(t, s, "PING\r\nQUIT\r\n"); got != "+PONG\r\n+OK\r\n" {
		t.Errorf("got %q", got)
	}
}

// until waits for something to come about.
func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not seen: %s", what)
		}
	}
}
