package idgen_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// A generator that starts again after its clock was set back makes greater ids than before, and none twice.
func TestFloorAfterTheClockWasSetBack(t *testing.T) {
	for _, back := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond, 20 * time.Second, 59 * time.Minute} {
		t.Run(back.String(), func(t *testing.T) {
			clock := newFakeClock(noon.Add(2 * time.Hour))
			before := newGenerator(t, narrow(t), idgen.WithNode(3), idgen.WithClock(clock))
			floor := next(t, before)
			clock = newFakeClock(noon.Add(2*time.Hour - back))
			after := newGenerator(t, narrow(t), idgen.WithNode(3), idgen.WithClock(clock), idgen.WithFloor(floor))
			id := next(t, after)
			if id <= floor || timeOf(t, after, id).Sub(timeOf(t, before, floor)) > time.Millisecond {
				t.Errorf("got %d of %s after %d of %s", id, timeOf(t, after, id), floor, timeOf(t, before, floor))
			}
			clock.pass(time.Second)
			if later := next(t, after); timeOf(t, after, later).Sub(timeOf(t, after, id)) != time.Second {
				t.Errorf("a second later the time is %s after %s", timeOf(t, after, later), timeOf(t, after, id))
			}
		})
	}
}

// A generator with grants, whose time is its grantor's, makes no ids of the floor's tick, be that an even or an odd one.
func TestFloorUnderGrants(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		for past := range int64(4) {
			layout := idgen.Sharded.Layout
			now := layout.Epoch().Add(time.Hour)
			floor, err := layout.MaxID(now.Add(time.Duration(past) * time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			options := []idgen.Option{layout, idgen.WithGrants(), idgen.WithClock(newFakeClock(now.Add(time.Minute))), idgen.WithFloor(floor)}
			if sharded {
				options = append(options, idgen.WithShards())
			} else {
				options = append(options, idgen.WithShard(5))
			}
			g := newGenerator(t, options...)
			tick := int64(now.Sub(layout.Epoch()) / layout.Unit())
			if err := g.SetGrant(idgen.Grant{Number: 3, From: tick, Until: tick + 100, Now: now}); err != nil {
				t.Fatal(err)
			}
			var id int64
			if sharded {
				id, err = g.NextFor(t.Context(), 5)
			} else {
				id, err = g.Next(t.Context())
			}
			if id <= floor || err != nil {
				t.Errorf("sharded %v, %d ticks past the grantor's time: got %d, %v, at or below the floor %d", sharded, past, id, err, floor)
			}
		}
	}
}

// A floor in the past changes nothing.
func TestFloorBehindTheClock(t *testing.T) {
	clock := newFakeClock(noon.Add(time.Hour))
	g := newGenerator(t, narrow(t), idgen.WithNode(3), idgen.WithClock(clock), idgen.WithFloor(0))
	if id := next(t, g); timeOf(t, g, id) != noon.Add(time.Hour) {
		t.Errorf("got an id of %s", timeOf(t, g, id))
	}
}

// Under the policies that follow the wall clock they decide about a floor ahead of it.
func TestFloorUnderRefuseBack(t *testing.T) {
	clock := newFakeClock(noon.Add(time.Hour))
	floor := next(t, newGenerator(t, narrow(t), idgen.WithNode(3), idgen.WithClock(clock)))
	clock = newFakeClock(noon.Add(time.Hour - time.Minute))
	g := newGenerator(t, narrow(t), idgen.WithNode(3), idgen.WithClock(clock), idgen.RefuseBack(), idgen.WithFloor(floor))
	var back *idgen.ClockError
	if id, err := g.Next(t.Context()); !errors.As(err, &back) || back.By.Round(time.Second) != time.Minute {
		t.Errorf("got %d, %v, want a ClockError of a minute", id, err)
	}
	clock.pass(time.Minute + 2*time.Millisecond)
	if id := next(t, g); id <= floor {
		t.Errorf("got %d after %d", id, floor)
	}
}

func TestFloorRefused(t *testing.T) {
	clock := newFakeClock(noon.Add(3 * time.Hour))
	late := next(t, newGenerator(t, narrow(t), idgen.WithNode(3), idgen.WithClock(clock)))
	below, err := idgen.NewLayout(noon, time.Millisecond, idgen.Node.Bits(3), idgen.Time.Bits(40), idgen.Sequence.Bits(5))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		layout idgen.Layout
		floor  int64
		want   error
	}{
		"an hour and more ahead": {narrow(t), late, idgen.ErrClockBack},
		"negative":               {narrow(t), -1, idgen.ErrRange},
		"of no layout":           {narrow(t), 1 << 50, idgen.ErrRange},
		"last tick":              {narrow(t), 1<<48 - 1, idgen.ErrExhausted},
		"time below":             {below, 5, idgen.ErrLayout},
	} {
		clock := newFakeClock(noon.Add(time.Hour))
		if _, err := idgen.New(tt.layout, idgen.WithNode(3), idgen.WithClock(clock), idgen.WithFloor(tt.floor)); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
}
