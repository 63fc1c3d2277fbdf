//go:build linux

package zkgrant_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/zkgrant"
)

// TestServerThatAnswersNothing has the first connection accepted and never answered, as by a server that starts. The client alone gives it up after 40 seconds.
func TestServerThatAnswersNothing(t *testing.T) {
	s := startServer(t)
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	var dialed atomic.Int32
	conn := connectFor(t, 6*time.Second, func(network, address string, timeout time.Duration) (net.Conn, error) {
		if dialed.Add(1) == 1 {
			address = mute.Addr().String()
		}
		return net.DialTimeout(network, address, timeout)
	}, s.address)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := zkgrant.New(conn).Prepare(ctx, grant.DefaultSpace, "a"); err != nil || dialed.Load() < 2 {
		t.Errorf("got %v after %d connections, want none after two", err, dialed.Load())
	}
}
