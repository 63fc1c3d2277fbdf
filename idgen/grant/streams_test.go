package grant_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// A keeper's restart, again and again, while one of its streams is ahead of the clock by what it may borrow: no id comes twice, and those of each
// stream increase, over all holders of the number.
func TestHandOverOfStreams(t *testing.T) {
	layout, err := idgen.NewLayout(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), idgen.Packed.Unit(), idgen.Packed.Fields()...)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		store := grant.Memory(nil)
		last, seen := map[int64]int64{}, map[int64]bool{}
		for round := range 4 {
			k := open(t, store, grant.Config{Generator: []idgen.Option{idgen.Packed, layout, idgen.WithNode(3)}})
			if k.Streams() != 16 {
				t.Fatalf("got %d streams, want 16", k.Streams())
			}
			for want := range int64(3) {
				stream := k.TakeStream()
				ids := make([]int64, 1)
				if want == 1 {
					ids = make([]int64, 256*220)
				}
				if err := k.FillIn(t.Context(), stream, ids); err != nil {
					t.Fatal(err)
				}
				for _, id := range ids {
					if parts, err := layout.Decode(id); err != nil || stream != want || parts.Stream != want || parts.Node != 3 || seen[id] || id <= last[stream] {
						t.Fatalf("round %d, stream %d: got %d, %+v, %v after %d", round, stream, id, parts, err, last[stream])
					}
					seen[id], last[stream] = true, id
				}
			}
			if err := k.Close(); err != nil {
				t.Fatal(err)
			}
			if err := k.FillIn(t.Context(), 0, make([]int64, 1)); !errors.Is(err, grant.ErrClosed) {
				t.Fatalf("after Close: got %v, want ErrClosed", err)
			}
		}
	})
}
