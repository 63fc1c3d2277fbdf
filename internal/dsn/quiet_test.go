package dsn_test

import (
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dsn"
)

// printed counts what the MySQL driver would print to standard error.
type printed struct{ atomic.Int64 }

func (p *printed) Print(...any) { p.Add(1) }

// A server that goes away is told by the error alone.
func TestOpenLogsNothing(t *testing.T) {
	var log printed
	if err := mysql.SetLogger(&log); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	parsed, err := dsn.Parse("mysql:u@unix(" + listener.Addr().String() + ")/d")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	if err := pool.PingContext(t.Context()); err == nil || log.Load() > 0 {
		t.Errorf("got %v, and the driver printed %d times", err, log.Load())
	}
}
