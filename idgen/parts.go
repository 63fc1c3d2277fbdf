package idgen

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Parts are the values of an id's fields. Those that a layout has no field for are 0.
type Parts struct {
	Time       time.Time // start of the tick, in UTC
	Datacenter int64
	Node       int64
	Sequence   int64
	Shard      int64
	Stream     int64
}

// Decode takes an id apart. The error wraps [ErrRange] when the id is negative or has bits above the layout's fields.
func (l Layout) Decode(id int64) (Parts, error) {
	if l.unit == 0 {
		return Parts{}, fmt.Errorf("%w: the zero Layout has no fields", ErrLayout)
	}
	if limit := int64(math.MaxInt64) >> (maxBits - l.Width()); id < 0 || id > limit {
		return Parts{}, fmt.Errorf("%w: id %d, the layout's are 0 to %d", ErrRange, id, limit)
	}
	return Parts{
		Time:       l.timeOf(uint64(l.tick(id))),
		Datacenter: l.span(Datacenter).of(id),
		Node:       l.span(Node).of(id),
		Sequence:   l.span(Sequence).of(id),
		Shard:      l.span(Shard).of(id),
		Stream:     l.span(Stream).of(id),
	}, nil
}

// Compose puts an id together from its parts; the time is cut to its tick. The error wraps [ErrBeforeEpoch] or [ErrExhausted] for a
// time outside the layout, and [ErrRange] for a value that its field, or a missing field, cannot hold.
func (l Layout) Compose(p Parts) (int64, error) {
	tick, err := l.tickOf(p.Time)
	if err != nil {
		return 0, err
	}
	id := l.placeTick(tick)
	for _, v := range []struct {
		kind  Kind
		value int64
	}{{Datacenter, p.Datacenter}, {Node, p.Node}, {Sequence, p.Sequence}, {Shard, p.Shard}, {Stream, p.Stream}} {
		placed, err := l.place(v.kind, v.value)
		if err != nil {
			return 0, err
		}
		id |= placed
	}
	return id, nil
}

// place returns a value shifted to the field of its kind.
func (l Layout) place(k Kind, value int64) (int64, error) {
	s := l.span(k)
	if value < 0 || value > s.max() {
		if s.bits == 0 {
			return 0, fmt.Errorf("%w: %s %d, the layout %s has no such field", ErrRange, k, value, l)
		}
		return 0, fmt.Errorf("%w: %s %d, the layout's are 0 to %d", ErrRange, k, value, s.max())
	}
	return value << s.shift, nil
}

// timeOf returns the start of a tick. In 128 bits, since ticks reach beyond the 292 years that an int64 of nanoseconds holds.
func (l Layout) timeOf(tick uint64) time.Time {
	hi, lo := bits.Mul64(tick, uint64(l.unit))
	sec, nsec := bits.Div64(hi, lo, uint64(time.Second))
	epoch := l.Epoch()
	return time.Unix(epoch.Unix()+int64(sec), int64(epoch.Nanosecond())+int64(nsec)).UTC()
}

// tickOf returns the tick that an instant lies in.
func (l Layout) tickOf(t time.Time) (int64, error) {
	if l.unit == 0 {
		return 0, fmt.Errorf("%w: the zero Layout has no fields", ErrLayout)
	}
	epoch := l.Epoch()
	if t.Before(epoch) {
		return 0, l.errBeforeEpoch(t)
	}
	if !t.Before(l.ExhaustsAt()) {
		return 0, l.errExhausted(t)
	}
	sec, nsec := t.Unix()-epoch.Unix(), int64(t.Nanosecond()-epoch.Nanosecond())
	if nsec < 0 {
		sec, nsec = sec-1, nsec+int64(time.Second)
	}
	hi, lo := bits.Mul64(uint64(sec), uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(nsec), 0)
	tick, _ := bits.Div64(hi+carry, lo, uint64(l.unit))
	return int64(tick), nil
}

func (l Layout) errBeforeEpoch(t time.Time) error {
	return fmt.Errorf("%w: %s is before %s", ErrBeforeEpoch, t.UTC().Format(time.RFC3339Nano), l.Epoch().Format(time.RFC3339Nano))
}

func (l Layout) errExhausted(t time.Time) error {
	return fmt.Errorf("%w: %s is past its last tick, which ends at %s; choose a layout with a later epoch or more time bits",
		ErrExhausted, t.UTC().Format(time.RFC3339Nano), l.ExhaustsAt().Format(time.RFC3339Nano))
}
