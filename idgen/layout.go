package idgen

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
)

// Kind says what a bit field of a layout holds.
type Kind uint8

// The kinds of fields. A layout has each at most once, and Time always.
const (
	Time       Kind = iota + 1 // ticks since the epoch
	Datacenter                 // upper half of a node number given in two parts, as in Twitter's layout
	Node                       // number of the generator, unique among all that write to one key space
	Sequence                   // number within one tick of one node
	Shard                      // logical shard that a row belongs to
	kinds      = int(Shard)
)

// String returns the kind's name as the text form of layouts has it.
func (k Kind) String() string {
	if k < Time || k > Shard {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return [...]string{"time", "datacenter", "node", "sequence", "shard"}[k-Time]
}

// Bits returns a field of this kind that is n bits wide.
func (k Kind) Bits(n int) Field { return Field{Kind: k, Bits: n} }

// Field is one bit field of a layout: what it holds and its width in bits, 1 to 63.
type Field struct {
	Kind Kind
	Bits int
}

const maxBits = 63 // an id is never negative

// Layout says how an id is put together: an epoch, a unit (the length of one tick) and an ordered list of bit fields from the top
// bit down. It is made by [NewLayout] or taken from a preset, immutable, comparable with ==, and safe for concurrent use. The zero
// Layout has no fields; every use of it returns [ErrLayout].
type Layout struct {
	epoch  int64 // nanoseconds since 1970-01-01 UTC
	unit   time.Duration
	fields [kinds]span // from the top down; unused ones at the end are zero
	spans  [kinds]span // by kind-1
}

// span is the place of a field in the id.
type span struct {
	kind  Kind
	bits  uint8
	shift uint8
}

func (s span) max() int64 { return 1<<s.bits - 1 }

func (s span) of(id int64) int64 { return id >> s.shift & s.max() }

// NewLayout returns the layout with the fields given from the top bit down.
//
// The error wraps [ErrLayout] when there is no time field, a kind is given twice, a width is not 1 to 63 bits, all widths together
// are above 63, the unit is not positive, the epoch is outside the years 1678 to 2262, or the time field reaches further than the
// year 1,000,000,000.
func NewLayout(epoch time.Time, unit time.Duration, fields ...Field) (Layout, error) {
	var l Layout
	if len(fields) > kinds {
		return Layout{}, fmt.Errorf("%w: %d fields, at most %d", ErrLayout, len(fields), kinds)
	}
	sum, widths := 0, make([]string, len(fields))
	for i, f := range fields {
		switch {
		case f.Kind < Time || f.Kind > Shard:
			return Layout{}, fmt.Errorf("%w: field %d has the unknown kind %d", ErrLayout, i+1, f.Kind)
		case f.Bits < 1 || f.Bits > maxBits:
			return Layout{}, fmt.Errorf("%w: %s=%d, a field has 1 to %d bits", ErrLayout, f.Kind, f.Bits, maxBits)
		case l.spans[f.Kind-1].bits != 0:
			return Layout{}, fmt.Errorf("%w: %s is given twice", ErrLayout, f.Kind)
		}
		l.spans[f.Kind-1] = span{kind: f.Kind, bits: uint8(f.Bits)}
		sum += f.Bits
		widths[i] = fmt.Sprint(f.Bits)
	}
	if sum > maxBits {
		return Layout{}, fmt.Errorf("%w: %s = %d bits, at most %d", ErrLayout, strings.Join(widths, "+"), sum, maxBits)
	}
	if l.span(Time).bits == 0 {
		return Layout{}, fmt.Errorf("%w: no time field", ErrLayout)
	}
	if unit <= 0 {
		return Layout{}, fmt.Errorf("%w: unit %s, must be positive", ErrLayout, unit)
	}
	if epoch.Before(time.Unix(0, math.MinInt64)) || epoch.After(time.Unix(0, math.MaxInt64)) {
		return Layout{}, fmt.Errorf("%w: epoch %s, must be between the years 1678 and 2262", ErrLayout, epoch.UTC().Format(time.RFC3339))
	}
	l.epoch, l.unit = epoch.UnixNano(), unit
	if hi, _ := bits.Mul64(uint64(l.span(Time).max()), uint64(unit)); hi > 1<<20 {
		return Layout{}, fmt.Errorf("%w: time=%d@%s reaches further than the year 1,000,000,000", ErrLayout, l.span(Time).bits, unit)
	}
	below := sum
	for i, f := range fields {
		below -= f.Bits
		l.spans[f.Kind-1].shift = uint8(below)
		l.fields[i] = l.spans[f.Kind-1]
	}
	return l, nil
}

// span returns the place of a kind; its width is 0 where the layout does not have it.
func (l Layout) span(k Kind) span { return l.spans[k-1] }

// Epoch returns the instant of tick 0, in UTC.
func (l Layout) Epoch() time.Time { return time.Unix(0, l.epoch).UTC() }

// Unit returns the length of one tick.
func (l Layout) Unit() time.Duration { return l.unit }

// Fields returns the fields from the top bit down.
func (l Layout) Fields() []Field {
	fields := make([]Field, 0, kinds)
	for _, s := range l.fields {
		if s.bits != 0 {
			fields = append(fields, s.kind.Bits(int(s.bits)))
		}
	}
	return fields
}

// Bits returns the width of a kind's field, 0 where the layout does not have it.
func (l Layout) Bits(k Kind) int {
	if k < Time || k > Shard {
		return 0
	}
	return int(l.span(k).bits)
}

// Max returns the greatest value that a kind's field can hold, 0 where the layout does not have it.
func (l Layout) Max(k Kind) int64 { return 1<<l.Bits(k) - 1 }

// ExhaustsAt returns the instant, in UTC, from which on no id can be made: the end of the last tick.
func (l Layout) ExhaustsAt() time.Time { return l.timeOf(uint64(l.span(Time).max()) + 1) }

// String returns the text form, for instance "time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z". Two layouts are equal
// if and only if their text forms are.
func (l Layout) String() string {
	if l.unit == 0 {
		return "no layout"
	}
	var b strings.Builder
	for i, f := range l.Fields() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%d", f.Kind, f.Bits)
		if f.Kind == Time {
			fmt.Fprintf(&b, "@%s", l.unit)
		}
	}
	return b.String() + ";epoch=" + l.Epoch().Format(time.RFC3339Nano)
}

// Parts are the values of an id's fields. Those that a layout has no field for are 0.
type Parts struct {
	Time       time.Time // start of the tick, in UTC
	Datacenter int64
	Node       int64
	Sequence   int64
	Shard      int64
}

// Decode takes an id apart. The error wraps [ErrRange] when the id is negative or has bits above the layout's fields.
func (l Layout) Decode(id int64) (Parts, error) {
	if l.unit == 0 {
		return Parts{}, fmt.Errorf("%w: the zero Layout has no fields", ErrLayout)
	}
	top := l.fields[0]
	if limit := int64(math.MaxInt64) >> (maxBits - top.bits - top.shift); id < 0 || id > limit {
		return Parts{}, fmt.Errorf("%w: id %d, the layout's are 0 to %d", ErrRange, id, limit)
	}
	return Parts{
		Time:       l.timeOf(uint64(l.span(Time).of(id))),
		Datacenter: l.span(Datacenter).of(id),
		Node:       l.span(Node).of(id),
		Sequence:   l.span(Sequence).of(id),
		Shard:      l.span(Shard).of(id),
	}, nil
}

// Compose puts an id together from its parts; the time is cut to its tick. The error wraps [ErrBeforeEpoch] or [ErrExhausted] for a
// time outside the layout, and [ErrRange] for a value that its field, or a missing field, cannot hold.
func (l Layout) Compose(p Parts) (int64, error) {
	tick, err := l.tickOf(p.Time)
	if err != nil {
		return 0, err
	}
	id := tick << l.span(Time).shift
	for _, v := range []struct {
		kind  Kind
		value int64
	}{{Datacenter, p.Datacenter}, {Node, p.Node}, {Sequence, p.Sequence}, {Shard, p.Shard}} {
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
