//go:build linux

package zkgrant_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/zkgrant"
	"github.com/snowkey-go/snowkey/internal/storeblocks"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// TestBlocks has ids in blocks from ZooKeeper, in the long form also while it is killed.
func TestBlocks(t *testing.T) {
	s, prefix := sharedServer(t)
	conn := connect(t, nil, s)
	storeblocks.Run(t, func() grant.Store { return zkgrant.New(conn, zkgrant.WithPrefix(prefix+"/blocks")) })
	if testprocess.IsLong() {
		t.Run("killed", func(t *testing.T) {
			s := startServer(t)
			conn := connect(t, zkgrant.Dialer(nil), s)
			storeblocks.WhileKilled(t, func() grant.Store { return zkgrant.New(conn) }, 3, func() {
				s.kill()
				s.start()
			})
		})
	}
}
