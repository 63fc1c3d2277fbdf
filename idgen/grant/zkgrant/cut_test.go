//go:build linux

package zkgrant_test

import (
	"errors"
	"net"
	"sync"
	"time"
)

// cuts makes connections that end when it holds, and none until it releases.
type cuts struct {
	mu   sync.Mutex
	held bool       // guarded by mu
	all  []net.Conn // guarded by mu
}

func (c *cuts) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		return nil, errors.New("the network is cut")
	}
	conn, err := net.DialTimeout(network, address, timeout)
	if err == nil {
		c.all = append(c.all, conn)
	}
	return conn, err
}

func (c *cuts) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
	for _, conn := range c.all {
		_ = conn.Close() // may have ended
	}
}

func (c *cuts) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
}
