package serve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// listen listens at an address. A socket of Unix whose process has ended without removing it is replaced.
func listen(address string) (net.Listener, error) {
	network, place := splitAddress(address)
	listener, err := net.Listen(network, place)
	if network != "unix" {
		return listener, err
	}
	if errors.Is(err, syscall.EADDRINUSE) && isLeft(place) {
		if err := os.Remove(place); err != nil {
			return nil, err
		}
		listener, err = net.Listen(network, place)
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(place, 0o660); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// isLeft reports whether nobody listens at a socket.
func isLeft(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close() // nothing was sent
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// limit counts the open connections of all listeners of a server.
type limit struct {
	most    int64
	open    atomic.Int64
	refused atomic.Int64
}

// limited is a listener that refuses connections beyond a limit, with a text unless that is empty.
type limited struct {
	net.Listener
	limit   *limit
	refusal string
	open    atomic.Int64 // of this listener's
	closing sync.Once
	closed  error // of the first Close, written under closing
}

// Close closes the listener. It may be called again: [Server.Stop] and net/http both do.
func (l *limited) Close() error {
	l.closing.Do(func() { l.closed = l.Listener.Close() })
	return l.closed
}

// Accept returns the next connection within the limit.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.limit.open.Add(1) <= l.limit.most {
			l.open.Add(1)
			return &counted{Conn: conn, of: l}, nil
		}
		l.limit.open.Add(-1)
		l.limit.refused.Add(1)
		if l.refusal != "" {
			_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) // the text has room in the buffer of a new connection
			_, _ = conn.Write([]byte(l.refusal))
		}
		_ = conn.Close()
	}
}

// counted is a connection that counts as open until it is closed.
type counted struct {
	net.Conn
	of   *limited
	once sync.Once
}

// Close closes the connection. It may be called again.
func (c *counted) Close() error {
	c.once.Do(func() {
		c.of.open.Add(-1)
		c.of.limit.open.Add(-1)
	})
	return c.Conn.Close()
}

const tooManyRedis = "-ERR max number of clients reached\r\n"

var tooManyHTTP = func() string {
	const text = "too many connections; close some, or give the service a greater --max-connections\n"
	return fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nCache-Control: no-store\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
}()
