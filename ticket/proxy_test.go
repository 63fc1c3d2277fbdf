package ticket_test

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// proxy is between a client and a server's Unix socket. When it is armed, the next statement with a text goes to the server, and the answer to it is cut off together
// with the connection, after the server has given it: the commit is done, and nobody knows.
type proxy struct {
	listener net.Listener
	to, text string
	armed    atomic.Bool
	cuts     atomic.Int64
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn // guarded by mu
}

// newProxy listens at a socket with the server's name, in a folder of its own.
func newProxy(t *testing.T, to, text string) (p *proxy, folder string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "snowkey-proxy-") // short enough for a socket's name
	must(t, err)
	p = &proxy{to: to, text: text}
	p.listener, err = net.Listen("unix", filepath.Join(folder, filepath.Base(to)))
	must(t, err)
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
		_ = os.RemoveAll(folder)
	})
	p.wg.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(client) })
		}
	})
	return p, folder
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	var cut atomic.Bool // the answer to come
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil {
				return
			}
			if cut.Load() {
				p.cuts.Add(1)
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			break
		}
		if bytes.Contains(buffer[:n], []byte(p.text)) && p.armed.CompareAndSwap(true, false) {
			cut.Store(true)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			break
		}
	}
	_ = server.Close()
	<-done
}

// through returns the database as it is reached through a proxy.
func through(t *testing.T, d dbtest.Database) (*proxy, dbtest.Database) {
	t.Helper()
	if d.Kind == "mysql" {
		config, err := mysql.ParseDSN(d.DriverDSN)
		must(t, err)
		if config.Net != "unix" {
			t.Skip("the server that the environment names is not at a Unix socket")
		}
		p, folder := newProxy(t, config.Addr, "REPLACE INTO")
		config.Addr = filepath.Join(folder, filepath.Base(config.Addr))
		d.DriverDSN = config.FormatDSN()
		return p, d
	}
	u, err := url.Parse(d.DriverDSN)
	must(t, err)
	query := u.Query()
	if !strings.HasPrefix(query.Get("host"), "/") {
		t.Skip("the server that the environment names is not at a Unix socket")
	}
	p, folder := newProxy(t, filepath.Join(query.Get("host"), ".s.PGSQL."+query.Get("port")), "nextval")
	query.Set("host", folder)
	query.Set("default_query_exec_mode", "exec") // the text comes with each statement
	u.RawQuery = query.Encode()
	d.DriverDSN = u.String()
	return p, d
}

// TestAnswerLostAfterCommit cuts connections between the commit and its answer. The ticket is lost, counted, and not given again.
func TestAnswerLostAfterCommit(t *testing.T) {
	t.Parallel()
	for _, k := range []system{mysqlKind, postgresKind} {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			cuts := int64(rounds(12, 100))
			r, config := newRecorder(t), quick(ticket.Config{Timeout: retryFactor, ServerTimeout: retryFactor, Failures: 1000})
			direct := k.database(t)
			p, d := through(t, direct)
			source := setUp(t, config, d)
			r.draw("before", source, 10)
			first, admin := position(t, open(t, direct), k.dialect), open(t, direct)
			before := int64(r.count())
			for i := range cuts {
				p.armed.Store(true)
				r.draw("through the cut", source, 3)
				if got := p.cuts.Load(); got != int64(i+1) {
					t.Fatalf("%d answers were cut off, want %d", got, i+1)
				}
				if i%5 == 0 {
					r.draw("a new process", sourceOf(t, config, direct), 2)
				}
			}
			drawn, given := position(t, admin, k.dialect)-first, int64(r.count())-before
			if lost := drawn - given; lost != cuts {
				t.Errorf("%d numbers were drawn, %d given out, so that %d were lost, want %d", drawn, given, lost, cuts)
			}
			if s := source.Stats().Servers[0]; s.Discarded != cuts || s.Failures[ticket.Next]+s.Failures[ticket.Retry] != cuts {
				t.Errorf("got %+v, want %d discarded", s, cuts)
			}
			// And with many at it.
			load := r.load("at once", source, 8)
			for range cuts {
				p.armed.Store(true)
				load.more(20)
			}
			load.stop()
			p.armed.Store(false)
			r.draw("a new process", sourceOf(t, config, direct), 20)
			if id, err := source.Next(context.Background()); err != nil {
				t.Error(err)
			} else {
				r.add("after", id)
			}
		})
	}
}
