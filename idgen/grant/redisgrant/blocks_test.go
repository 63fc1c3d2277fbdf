//go:build linux

package redisgrant_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
	"github.com/snowkey-go/snowkey/internal/storeblocks"
)

// TestBlocks has ids in blocks from Redis, also while it is killed.
func TestBlocks(t *testing.T) {
	s := startServer(t, durable...)
	store := func() grant.Store { return redisgrant.New(s.client()) }
	storeblocks.Run(t, store)
	t.Run("killed", func(t *testing.T) {
		storeblocks.WhileKilled(t, store, 3, func() {
			s.kill()
			s.start()
		})
	})
}
