package idgen_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// All ids before a change are smaller than all ids from it on, also where the parts of an id are all ones before and all zeros after.
func TestPhasesOrder(t *testing.T) {
	at := time.Date(2026, 11, 26, 19, 0, 0, 1, time.UTC)
	presets := append(idgen.Presets(), idgen.Preset{})
	pairs := 0
	for _, a := range presets {
		for _, b := range presets {
			phases, err := idgen.Phases{{Layout: a.Layout}}.Then(b.Layout, at)
			if err != nil {
				if !errors.Is(err, idgen.ErrLayout) && !errors.Is(err, idgen.ErrExhausted) {
					t.Errorf("%s, then %s: got %v", a.Name(), b.Name(), err)
				}
				continue
			}
			pairs++
			begin := phases[1].Begin()
			if begin.Before(at) || begin.Sub(at) > max(a.Band(), b.Band()) {
				t.Errorf("%s, then %s: got a change at %s, want the first band from %s on", a.Name(), b.Name(), begin, at)
			}
			band := max(a.Band(), b.Band())
			for range 1000 {
				before := full(t, a.Layout, begin.Add(-a.Unit()-time.Duration(rand.Int64N(int64(2*band)))))
				after, err := b.Layout.Compose(idgen.Parts{Time: begin.Add(time.Duration(rand.Int64N(int64(2 * band))))})
				if err != nil {
					t.Fatal(err)
				}
				if before >= after || phases.Of(before) != a.Layout || phases.Of(after) != b.Layout {
					t.Fatalf("%s, then %s: id %d of before is of %s, id %d of after of %s", a.Name(), b.Name(), before, phases.Of(before), after, phases.Of(after))
				}
			}
		}
	}
	if pairs < 4 {
		t.Errorf("got %d pairs of presets, want snowkey, packed and packed1s in any order at least", pairs)
	}
}

// full returns the greatest id of a tick.
func full(t *testing.T, l idgen.Layout, at time.Time) int64 {
	t.Helper()
	id, err := l.MaxID(at)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestPhasesText(t *testing.T) {
	at := time.Date(2026, 11, 26, 19, 0, 0, 0, time.UTC)
	phases := idgen.Phases{{Layout: idgen.Snowkey.Layout}}
	for i, next := range []idgen.Layout{idgen.Packed.Layout, idgen.Snowkey.Layout} {
		var err error
		if phases, err = phases.Then(next, at.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := idgen.ParsePhases(phases.String())
	if err != nil || got.String() != phases.String() || len(got) != 3 || got[1] != phases[1] {
		t.Errorf("got %v, %v, want %v", got, err, phases)
	}
	for moment, want := range map[time.Time]idgen.Layout{
		{}: idgen.Snowkey.Layout, phases[1].Begin().Add(-1): idgen.Snowkey.Layout, phases[1].Begin(): idgen.Packed.Layout, phases[2].Begin(): idgen.Snowkey.Layout,
	} {
		if got := phases.At(moment).Layout; got != want {
			t.Errorf("at %s: got %s, want %s", moment, got, want)
		}
	}
	if one, err := idgen.ParsePhases(idgen.Packed.Layout.String()); err != nil || len(one) != 1 || one.String() != idgen.Packed.Layout.String() {
		t.Errorf("one layout: got %v, %v", one, err)
	}
	if got := (idgen.Phases{}).Of(1); got != (idgen.Layout{}) {
		t.Errorf("no phases: got %s", got)
	}
}

func TestPhasesRefused(t *testing.T) {
	snowkey, packed := idgen.Snowkey.Layout.String(), idgen.Packed.Layout.String()
	wide, err := idgen.NewLayout(idgen.Snowkey.Epoch(), time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(10), idgen.Sequence.Bits(11))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"": "no epoch", snowkey + "|" + packed: "tick and a colon", snowkey + "|+262144:" + packed: "tick and a colon",
		snowkey + "|0262144:" + packed: "tick and a colon", snowkey + "|262145:" + packed: "multiple of 262144", snowkey + "|0:" + packed: "later one",
		snowkey + "|-262144:" + packed: "later one", snowkey + "|262144:" + snowkey: "nothing to change", snowkey + "|262144:": "no epoch",
		snowkey + "|2199023255552:" + packed:                             "past its last tick",
		snowkey + "|262144:" + packed + "|262144:" + snowkey:             "later one",
		snowkey + "|262144:" + wide.String():                             "would be smaller",
		snowkey + "|262144:" + idgen.Twitter.String():                    "one epoch and one unit",
		idgen.Scattered.String() + "|262144:" + idgen.Sharded.String():   "the time on top",
		idgen.Sharded.String() + "|262144:" + idgen.Scattered.String():   "the time on top",
		snowkey + "|262144:" + packed + "|524288:" + idgen.JS53.String(): "one epoch and one unit",
	} {
		if got, err := idgen.ParsePhases(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want an error with %q", text, got, err, want)
		}
	}
	if _, err := (idgen.Phases{}).Then(idgen.Packed.Layout, idgen.Packed.Epoch()); !errors.Is(err, idgen.ErrLayout) {
		t.Errorf("after nothing: got %v", err)
	}
	if _, err := (idgen.Phases{{Layout: idgen.Snowkey.Layout}}).Then(idgen.Packed.Layout, idgen.Packed.ExhaustsAt().Add(-time.Second)); !errors.Is(err, idgen.ErrExhausted) {
		t.Errorf("at the end: got %v", err)
	}
	if err := wide.CheckNext(idgen.Snowkey.Layout); err != nil {
		t.Errorf("to wider ids: got %v", err)
	}
}
