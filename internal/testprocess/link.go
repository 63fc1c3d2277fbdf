package testprocess

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// Link hands connections of one port to another, as a network does that can be cut: what is sent meanwhile does not arrive, and nobody is told. It arrives
// later where both ends have waited.
type Link struct {
	Port int // of the loopback interface

	to  string
	end chan struct{} // closed at the end of the test
	mu  sync.Mutex
	up  chan struct{} // closed while the link is not cut; guarded by mu
}

// NewLink returns a link to a port of the loopback interface. It ends with the test.
func NewLink(t testing.TB, to int) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{Port: listener.Addr().(*net.TCPAddr).Port, to: fmt.Sprint("127.0.0.1:", to), end: make(chan struct{}), up: make(chan struct{})}
	close(l.up)
	var group sync.WaitGroup
	t.Cleanup(func() {
		close(l.end)
		_ = listener.Close()
		group.Wait()
	})
	group.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			group.Go(func() { l.serve(from) })
		}
	})
	return l
}

// Cut cuts the link, or heals it.
func (l *Link) Cut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.up:
		if cut {
			l.up = make(chan struct{})
		}
	default:
		if !cut {
			close(l.up)
		}
	}
}

// wait returns when the link is not cut, and whether the test goes on.
func (l *Link) wait() bool {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	select {
	case <-l.end:
		return false
	case <-up:
		return true
	}
}

func (l *Link) serve(from net.Conn) {
	defer from.Close()
	if !l.wait() {
		return
	}
	to, err := net.Dial("tcp", l.to)
	if err != nil {
		return // as a port that nobody listens on
	}
	defer to.Close()
	ended := make(chan struct{}, 2)
	for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			l.hand(ends[0], ends[1])
			ended <- struct{}{}
		}()
	}
	select {
	case <-ended:
	case <-l.end:
	}
}

// hand sends on what arrives, until an end hangs up.
func (l *Link) hand(from io.Reader, to io.Writer) {
	part := make([]byte, 32<<10)
	for {
		n, err := from.Read(part)
		if !l.wait() {
			return
		}
		if n > 0 {
			if _, err := to.Write(part[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
