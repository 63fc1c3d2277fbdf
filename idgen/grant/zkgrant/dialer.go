package zkgrant

import (
	"encoding/binary"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// Dialer returns a dialer for zk.WithDialer, whose connections do not say how far the client has read. ZooKeeper refuses a client that has read more than a server
// has. After a restore from an older copy that is each process of before: it would go on with its number until the grant ends, and neither notice nor record
// the loss. The store needs no such promise of the servers, since it compares what it reads. Whatever else an application reads by the connection may be older after a change
// of the server.
//
// The connections also wait no longer for the answer to the first packet than the client waits for later ones, two thirds of the session timeout. The client alone waits
// ten times as long: a server that starts accepts connections that it never answers. The connections are made by next, where it is not nil: by one that speaks TLS, for instance.
func Dialer(next zk.Dialer) zk.Dialer {
	if next == nil {
		next = net.DialTimeout
	}
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		conn, err := next(network, address, timeout)
		if err != nil {
			return nil, err
		}
		return &opening{Conn: conn}, nil
	}
}

// opening is a connection that changes its first packet, and bounds the wait for the first answer. One goroutine opens the session, before others use the connection.
type opening struct {
	net.Conn
	asked, answered bool
	patience        time.Duration // with the first answer, 0 where the first packet is of another protocol
}

// The first packet: its length, the version of the protocol, the last transaction, the session timeout in milliseconds, and more.
//
//	0       4         8      16        20
//	│ length │ version │ zxid │ timeout │ …
const (
	versionAt = 4
	zxidAt    = 8
	timeoutAt = 16
	timeoutTo = 20
)

func (c *opening) Write(packet []byte) (int, error) {
	if c.asked {
		return c.Conn.Write(packet)
	}
	c.asked = true
	if len(packet) >= timeoutTo && binary.BigEndian.Uint32(packet[versionAt:]) == 0 {
		clear(packet[zxidAt:timeoutAt]) // of the client's own buffer, which it makes for this packet
		c.patience = time.Duration(binary.BigEndian.Uint32(packet[timeoutAt:])) * time.Millisecond * 2 / 3
	}
	return c.Conn.Write(packet)
}

func (c *opening) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.answered = true
	}
	return n, err
}

func (c *opening) SetReadDeadline(t time.Time) error {
	if !c.answered && c.patience > 0 {
		if limit := time.Now().Add(c.patience); t.After(limit) {
			t = limit
		}
	}
	return c.Conn.SetReadDeadline(t)
}
