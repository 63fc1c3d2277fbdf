//go:build linux

package etcdgrant_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/etcdgrant"
	"github.com/snowkey-go/snowkey/internal/storeblocks"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// TestBlocks has ids in blocks from etcd, in the long form also while it is killed.
func TestBlocks(t *testing.T) {
	m := startMember(t)
	client := m.dial()
	store := func() grant.Store { return etcdgrant.New(client) }
	storeblocks.Run(t, store)
	if testprocess.IsLong() {
		t.Run("killed", func(t *testing.T) {
			storeblocks.WhileKilled(t, store, 3, func() {
				m.kill()
				m.start()
			})
		})
	}
}
