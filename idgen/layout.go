package idgen

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// Kind says what a bit field of a layout holds.
type Kind uint8

// The kinds of fields. A layout has each at most once, and Time always; Time may be given twice, see [NewLayout].
const (
	Time       Kind = iota + 1 // ticks since the epoch
	Datacenter                 // upper half of a node number given in two parts, as in Twitter's layout
	Node                       // number of the generator, unique among all that write to one key space
	Sequence                   // number within one tick of one node
	Shard                      // logical shard that a row belongs to
	Stream                     // writer within a node whose rows arrive in the order of their keys, see [Snowflake.TakeStream]
	kinds      = int(Stream)
)

// maxFields is one more than there are kinds, since the time may stand in two places.
const maxFields = kinds + 1

// String returns the kind's name as the text form of layouts has it.
func (k Kind) String() string {
	if k < Time || k > Stream {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return [...]string{"time", "datacenter", "node", "sequence", "shard", "stream"}[k-Time]
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
// Layout has no fields; its methods that return an error return [ErrLayout].
type Layout struct {
	epoch  int64 // nanoseconds since 1970-01-01 UTC
	unit   time.Duration
	fields [maxFields]span // from the top down; unused ones at the end are zero
	spans  [kinds]span     // by kind-1; of the time the upper part
	low    span            // the lower part of the time; its width is 0 where the time stands in one place
}

// span is the place of a field in the id.
type span struct {
	kind  Kind
	bits  uint8
	shift uint8
}

func (s span) max() int64 { return 1<<s.bits - 1 }

func (s span) of(id int64) int64 { return id >> s.shift & s.max() }

func (s span) place(value int64) int64 { return value & s.max() << s.shift }

// NewLayout returns the layout with the fields given from the top bit down. Time may be given twice: the first field has the high bits of the tick, the
// second one the low bits. Ids of one band, the ticks with the same high bits, are then in the order of the fields between the two.
//
// The error wraps [ErrLayout] when there is no time field, the time is given three times or another kind twice, a width is not 1 to 63 bits,
// all widths together are above 63, the unit is not positive, the epoch is outside the years 1900 to 2200, or the time field reaches further than the
// year 1,000,000,000.
func NewLayout(epoch time.Time, unit time.Duration, fields ...Field) (Layout, error) {
	if len(fields) > maxFields {
		return Layout{}, fmt.Errorf("%w: %d fields, at most %d", ErrLayout, len(fields), maxFields)
	}
	var given [kinds]int
	sum, widths := 0, make([]string, len(fields))
	for i, f := range fields {
		switch {
		case f.Kind < Time || f.Kind > Stream:
			return Layout{}, fmt.Errorf("%w: field %d has the unknown kind %d", ErrLayout, i+1, f.Kind)
		case f.Bits < 1 || f.Bits > maxBits:
			return Layout{}, fmt.Errorf("%w: %s=%d, a field has 1 to %d bits", ErrLayout, f.Kind, f.Bits, maxBits)
		case f.Kind == Time && given[0] == 2:
			return Layout{}, fmt.Errorf("%w: time is given three times, at most twice", ErrLayout)
		case f.Kind == Time && i > 0 && fields[i-1].Kind == Time:
			return Layout{}, fmt.Errorf("%w: time=%d next to time=%d; give one field of %d bits", ErrLayout, fields[i-1].Bits, f.Bits, fields[i-1].Bits+f.Bits)
		case f.Kind != Time && given[f.Kind-1] == 1:
			return Layout{}, fmt.Errorf("%w: %s is given twice", ErrLayout, f.Kind)
		}
		given[f.Kind-1]++
		sum += f.Bits
		widths[i] = fmt.Sprint(f.Bits)
	}
	if sum > maxBits {
		return Layout{}, fmt.Errorf("%w: %s = %d bits, at most %d", ErrLayout, strings.Join(widths, "+"), sum, maxBits)
	}
	if given[0] == 0 {
		return Layout{}, fmt.Errorf("%w: no time field", ErrLayout)
	}
	if unit <= 0 {
		return Layout{}, fmt.Errorf("%w: unit %s, must be positive", ErrLayout, unit)
	}
	if year := epoch.UTC().Year(); year < 1900 || year > 2200 {
		return Layout{}, fmt.Errorf("%w: the epoch %s, must be in the years 1900 to 2200", ErrLayout, epoch.UTC().Format(time.RFC3339))
	}
	l := Layout{epoch: epoch.UnixNano(), unit: unit}
	below := sum
	for i, f := range fields {
		below -= f.Bits
		l.fields[i] = span{kind: f.Kind, bits: uint8(f.Bits), shift: uint8(below)}
		if f.Kind == Time && l.span(Time).bits > 0 {
			l.low = l.fields[i]
		} else {
			l.spans[f.Kind-1] = l.fields[i]
		}
	}
	if hi, _ := bits.Mul64(uint64(l.Max(Time)), uint64(unit)); hi > 1<<20 {
		return Layout{}, fmt.Errorf("%w: time=%d@%s reaches further than the year 1,000,000,000", ErrLayout, l.Bits(Time), unit)
	}
	return l, nil
}

// span returns the place of a kind; its width is 0 where the layout does not have it. Of the time it is the upper part.
func (l Layout) span(k Kind) span { return l.spans[k-1] }

// tick returns the tick of an id.
func (l Layout) tick(id int64) int64 { return l.span(Time).of(id)<<l.low.bits | l.low.of(id) }

// placeTick returns a tick in the bits of an id that are the time's.
func (l Layout) placeTick(tick int64) int64 {
	return l.span(Time).place(tick>>l.low.bits) | l.low.place(tick)
}

// Epoch returns the instant of tick 0, in UTC.
func (l Layout) Epoch() time.Time { return time.Unix(0, l.epoch).UTC() }

// Unit returns the length of one tick.
func (l Layout) Unit() time.Duration { return l.unit }

// Band returns the length of time whose ids are in the order of the fields between the two parts of the time; one tick where the time stands in one place.
func (l Layout) Band() time.Duration { return l.unit << l.low.bits }

// Fields returns the fields from the top bit down.
func (l Layout) Fields() []Field {
	fields := make([]Field, 0, maxFields)
	for _, s := range l.fields {
		if s.bits != 0 {
			fields = append(fields, s.kind.Bits(int(s.bits)))
		}
	}
	return fields
}

// Bits returns the width of a kind's field, of both fields of a time that stands in two places; 0 where the layout does not have it.
func (l Layout) Bits(k Kind) int {
	switch {
	case k < Time || k > Stream:
		return 0
	case k == Time:
		return int(l.span(Time).bits + l.low.bits)
	}
	return int(l.span(k).bits)
}

// Width returns how many bits an id has, those of all fields together.
func (l Layout) Width() int { return int(l.fields[0].bits + l.fields[0].shift) }

// Shift returns how many bits of an id are below a kind's field, of a time in two places below the upper part; 0 where the layout does not have it.
func (l Layout) Shift(k Kind) int {
	if k < Time || k > Stream {
		return 0
	}
	return int(l.span(k).shift)
}

// LowTime returns how many bits of an id are below the lower part of a time that stands in two places, and the width of that part; 0 where it stands in one.
func (l Layout) LowTime() (shift, bits int) { return int(l.low.shift), int(l.low.bits) }

// Max returns the greatest value that a kind's field can hold, 0 where the layout does not have it.
func (l Layout) Max(k Kind) int64 { return 1<<l.Bits(k) - 1 }

// ExhaustsAt returns the instant, in UTC, from which on no id can be made: the end of the last tick.
func (l Layout) ExhaustsAt() time.Time { return l.timeOf(uint64(l.Max(Time)) + 1) }

// Lifetime returns how long the layout lasts from its epoch on, at most the 292 years that a [time.Duration] holds.
func (l Layout) Lifetime() time.Duration { return l.ExhaustsAt().Sub(l.Epoch()) }

// Generators returns how many generators can make ids of the layout at the same time: the number of different values of the
// datacenter, node and shard fields together.
func (l Layout) Generators() int64 {
	return 1 << (l.Bits(Datacenter) + l.Bits(Node) + l.Bits(Shard))
}

// PerSecond returns the most ids a second that one generator can make, in all its streams. All together can make [Layout.Generators] times as many.
func (l Layout) PerSecond() float64 {
	if l.unit == 0 {
		return 0
	}
	return float64((l.Max(Sequence)+1)*(l.Max(Stream)+1)) / l.unit.Seconds()
}

// Fingerprint returns a text that two layouts have in common if and only if they are equal: the text form, see [Layout.String].
func (l Layout) Fingerprint() string { return l.String() }

// MinID returns the least id of the tick that an instant lies in, for queries by time: rows made at t or later have an id of at
// least MinID(t). Where the time stands in two places, ids of the same band and an earlier tick can be greater, too; see [Layout.Band]. The error wraps
// [ErrBeforeEpoch] or [ErrExhausted] for an instant outside of the layout's time, and [ErrLayout] when the time is not the top field, since a range of
// time is no range of ids then.
func (l Layout) MinID(t time.Time) (int64, error) {
	tick, err := l.tickOf(t)
	if err != nil {
		return 0, err
	}
	if l.fields[0].kind != Time {
		return 0, fmt.Errorf("%w: %s has the time below another field, so a range of time is no range of ids", ErrLayout, l)
	}
	return l.placeTick(tick), nil
}

// MaxID returns the greatest id of the tick that an instant lies in: rows made at t or before have an id of at most MaxID(t). Its
// errors are those of [Layout.MinID].
func (l Layout) MaxID(t time.Time) (int64, error) {
	least, err := l.MinID(t)
	if err != nil {
		return 0, err
	}
	return least | (1<<l.fields[0].shift-1)&^l.low.place(-1), nil
}
