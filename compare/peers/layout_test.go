//go:build unix

package peers_test

import (
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/sony/sonyflake/v2"

	"github.com/snowkey-go/snowkey/idgen"
)

// TestPresetReadsSonyflake has idgen's preset read ids that the maker's own code has made, and compares with what that reads in them.
// The preset has the start time that version 1 has by default; version 2 begins in 2025.
func TestPresetReadsSonyflake(t *testing.T) {
	start := time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC)
	g, err := sonyflake.New(sonyflake.Settings{StartTime: start, MachineID: func() (int, error) { return 54321, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		id, err := g.NextID()
		if err != nil {
			t.Fatal(err)
		}
		theirs := g.Decompose(id)
		want := idgen.Parts{Time: start.Add(time.Duration(theirs["time"]) * 10 * time.Millisecond), Node: theirs["machine"], Sequence: theirs["sequence"]}
		if got, err := idgen.Sonyflake.Decode(id); err != nil || got != want || got.Node != 54321 {
			t.Fatalf("%d: got %+v, %v, want %+v", id, got, err, want)
		}
	}
}

// TestLeafReadsBwmarrin does the same for bwmarrin/snowflake, whose layout and epoch are those of the preset Leaf.
func TestLeafReadsBwmarrin(t *testing.T) {
	g, err := snowflake.NewNode(987)
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		id := g.Generate()
		want := idgen.Parts{Time: time.UnixMilli(id.Time()).UTC(), Node: id.Node(), Sequence: id.Step()}
		if got, err := idgen.Leaf.Decode(id.Int64()); err != nil || got != want || got.Node != 987 {
			t.Fatalf("%d: got %+v, %v, want %+v", id, got, err, want)
		}
	}
}
