package dbserver_test

import (
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// printed counts what the MySQL driver would print to standard error.
type printed struct{ atomic.Int64 }

func (p *printed) Print(...any) { p.Add(1) }

// A server that goes away amid the answer is told by the error alone.
func TestNothingIsPrinted(t *testing.T) {
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
	_, err = dbserver.Connect(t.Context(), dbserver.MySQL, "u@unix("+listener.Addr().String()+")/")
	if n := log.Load(); err == nil || n > 0 {
		t.Errorf("got %v, and the driver printed %d times", err, n)
	}
}
