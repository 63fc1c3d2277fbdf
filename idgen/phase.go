package idgen

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Phase is a layout of a key space, and the first tick whose ids have it.
type Phase struct {
	Layout Layout
	From   int64
}

// Phases are the layouts that a key space has had, one after the other, the first from tick 0 on. All have one epoch and one unit, and all ids of a phase
// are smaller than those of the next one: so an id tells its phase. They are made by [ParsePhases] and [Phases.Then].
type Phases []Phase

// String returns the text form, which [ParsePhases] reads: the layouts, each but the first after its tick and a colon.
//
//	time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z|59933720576:time=23,node=10,stream=4,time=18@1ms,sequence=8;epoch=2025-01-01T00:00:00Z
//
// Of one phase it is the text form of the layout.
func (p Phases) String() string {
	texts := make([]string, len(p))
	for i, phase := range p {
		texts[i] = phase.Layout.String()
		if i > 0 {
			texts[i] = strconv.FormatInt(phase.From, 10) + ":" + texts[i]
		}
	}
	return strings.Join(texts, "|")
}

// ParsePhases reads the text form. The error wraps [ErrLayout].
func ParsePhases(text string) (p Phases, err error) {
	for i, part := range strings.Split(text, "|") {
		from := int64(0)
		if i > 0 {
			tick, rest, _ := strings.Cut(part, ":")
			if from, err = strconv.ParseInt(tick, 10, 64); err != nil || strconv.FormatInt(from, 10) != tick {
				return nil, fmt.Errorf("%w: %q does not begin with a tick and a colon", ErrLayout, part)
			}
			part = rest
		}
		layout, err := ParseLayout(part)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			if err := p.check(layout, from); err != nil {
				return nil, err
			}
		}
		p = append(p, Phase{layout, from})
	}
	return p, nil
}

// check reports whether a layout may follow from a tick on.
func (p Phases) check(next Layout, from int64) error {
	last := p[len(p)-1]
	if err := last.Layout.CheckNext(next); err != nil {
		return err
	}
	band := max(last.Layout.bandTicks(), next.bandTicks())
	switch {
	case from <= last.From:
		return fmt.Errorf("%w: a change at tick %d, the last one is at tick %d; give a later one", ErrLayout, from, last.From)
	case from%band != 0:
		return fmt.Errorf("%w: a change at tick %d, want a multiple of %d, where a band begins", ErrLayout, from, band)
	case from > min(last.Layout.Max(Time), next.Max(Time)):
		return next.errExhausted(next.timeOf(uint64(from)))
	}
	return nil
}

// CheckNext returns an error that wraps [ErrLayout] and says why, when a key space of this layout can at no time change to the next one: both need one
// epoch, one unit, the time on top, and ids of the next one must be at least as great at the same tick.
func (l Layout) CheckNext(next Layout) error {
	switch {
	case l.unit == 0 || next.unit == 0:
		return fmt.Errorf("%w: the zero Layout has no fields", ErrLayout)
	case l == next:
		return fmt.Errorf("%w: %s follows itself; there is nothing to change", ErrLayout, l)
	case l.epoch != next.epoch || l.unit != next.unit:
		return fmt.Errorf("%w: %s cannot follow %s: both need one epoch and one unit", ErrLayout, next, l)
	case l.fields[0].kind != Time || next.fields[0].kind != Time:
		return fmt.Errorf("%w: %s cannot follow %s: both need the time on top, else a later id is not greater", ErrLayout, next, l)
	case l.weight() > next.weight():
		return fmt.Errorf("%w: %s cannot follow %s: its ids of a tick would be smaller: they begin at the tick times 2^%d, and those before at the tick times 2^%d",
			ErrLayout, next, l, next.weight(), l.weight())
	}
	return nil
}

// weight is the power of two that ids grow by in a tick, on the average of a band.
func (l Layout) weight() int { return int(l.span(Time).shift) - int(l.low.bits) }

func (l Layout) bandTicks() int64 { return 1 << l.low.bits }

// Then returns the phases with a further one, which begins at the first tick from an instant on that begins a band of the last layout and of the next.
// The error wraps [ErrLayout] where the next layout cannot follow, see [Layout.CheckNext], and [ErrExhausted] past the end of one of both.
func (p Phases) Then(next Layout, from time.Time) (Phases, error) {
	if len(p) == 0 {
		return nil, fmt.Errorf("%w: no layout that the other one could follow", ErrLayout)
	}
	last := p[len(p)-1].Layout
	if err := last.CheckNext(next); err != nil {
		return nil, err
	}
	tick, err := last.tickOf(from)
	if err != nil {
		return nil, err
	}
	if last.timeOf(uint64(tick)).Before(from) {
		tick++
	}
	band := max(last.bandTicks(), next.bandTicks())
	tick = (tick + band - 1) / band * band
	if err := p.check(next, tick); err != nil {
		return nil, err
	}
	return append(p[:len(p):len(p)], Phase{next, tick}), nil
}

// Begin returns the instant at which a phase begins.
func (p Phase) Begin() time.Time { return p.Layout.timeOf(uint64(p.From)) }

// FirstID returns the least id that a phase can have.
func (p Phase) FirstID() int64 { return p.Layout.placeTick(p.From) }

// Of returns the layout of an id.
func (p Phases) Of(id int64) Layout {
	for i := len(p) - 1; i > 0; i-- {
		if id >= p[i].FirstID() {
			return p[i].Layout
		}
	}
	if len(p) == 0 {
		return Layout{}
	}
	return p[0].Layout
}

// At returns the phase of an instant.
func (p Phases) At(t time.Time) Phase {
	for i := len(p) - 1; i > 0; i-- {
		if !t.Before(p[i].Begin()) {
			return p[i]
		}
	}
	if len(p) == 0 {
		return Phase{}
	}
	return p[0]
}
