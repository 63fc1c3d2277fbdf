//go:build !race

package uid_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/uid"
)

// No call allocates. The race detector has a sync.Pool drop what it was given now and then, so that there are generators to make.
func TestAllocations(t *testing.T) {
	keys, objects := make([][16]byte, 100), make([][12]byte, 100)
	for name, source := range map[string]idgen.Source[[16]byte]{"v4": uid.V4(), "v7": uid.V7(), "ulid": uid.ULID()} {
		if n := testing.AllocsPerRun(1000, func() { _, _ = source.Next(t.Context()); _ = source.Fill(t.Context(), keys) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	source := uid.ObjectID()
	if n := testing.AllocsPerRun(1000, func() { _, _ = source.Next(t.Context()); _ = source.Fill(t.Context(), objects) }); n > 0 {
		t.Errorf("objectid: %v allocations", n)
	}
}
