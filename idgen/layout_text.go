package idgen

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String returns the text form, which [ParseLayout] reads, for instance
//
//	time=41@1ms,datacenter=5,node=5,sequence=12;epoch=2010-11-04T01:42:54.657Z
//	time=23,node=10,stream=4,time=18@1ms,sequence=8;epoch=2025-01-01T00:00:00Z
//
// The fields stand from the top bit down with their widths in bits, the time with the unit after the @, of two fields of time the second one, the epoch in
// UTC. Two layouts are equal if and only if their text forms are.
func (l Layout) String() string {
	if l.unit == 0 {
		return "no layout"
	}
	var b strings.Builder
	for i, s := range l.fields {
		if s.bits == 0 {
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%d", s.kind, s.bits)
		if s.kind == Time && (s == l.low || l.low.bits == 0) {
			fmt.Fprintf(&b, "@%s", l.unit)
		}
	}
	return b.String() + ";epoch=" + l.Epoch().Format(time.RFC3339Nano)
}

// The longest text form that ParseLayout reads.
const maxLayoutText = 256

// ParseLayout reads the text form of a layout. The unit is a duration such as 1ms, 10ms or 1s, the epoch a time of RFC 3339, with any
// offset. The error wraps [ErrLayout] and says what is wrong in the text, or with the layout as [NewLayout] does.
func ParseLayout(text string) (Layout, error) {
	if len(text) > maxLayoutText {
		return Layout{}, fmt.Errorf("%w: the text has %d bytes, at most %d", ErrLayout, len(text), maxLayoutText)
	}
	const form = "want time=BITS@UNIT,KIND=BITS,…;epoch=TIME"
	var upper string // the last field of time without a unit
	var hasUnit bool
	list, epochText, found := strings.Cut(text, ";epoch=")
	if !found {
		return Layout{}, fmt.Errorf("%w: %q has no epoch; %s", ErrLayout, text, form)
	}
	epoch, err := time.Parse(time.RFC3339Nano, epochText)
	if err != nil {
		return Layout{}, fmt.Errorf("%w: the epoch %q is no time like 2025-01-01T00:00:00Z", ErrLayout, epochText)
	}
	var unit time.Duration
	var fields []Field
	for _, part := range strings.Split(list, ",") {
		name, width, found := strings.Cut(part, "=")
		if !found {
			return Layout{}, fmt.Errorf("%w: %q is no field; %s", ErrLayout, part, form)
		}
		kind, err := parseKind(name)
		if err != nil {
			return Layout{}, err
		}
		if kind == Time {
			if hasUnit {
				return Layout{}, fmt.Errorf("%w: %q comes after the unit, which stands behind the last time field", ErrLayout, part)
			}
			var unitText string
			if width, unitText, found = strings.Cut(width, "@"); !found {
				upper = part
			} else if unit, err = time.ParseDuration(unitText); err != nil {
				return Layout{}, fmt.Errorf("%w: the unit %q is no duration like 1ms", ErrLayout, unitText)
			}
			hasUnit = found
		}
		n, err := strconv.ParseUint(width, 10, 8)
		if err != nil {
			return Layout{}, fmt.Errorf("%w: %s=%q, a field has 1 to %d bits", ErrLayout, kind, width, maxBits)
		}
		fields = append(fields, kind.Bits(int(n)))
	}
	if upper != "" && !hasUnit {
		return Layout{}, fmt.Errorf("%w: %q has no unit; %s", ErrLayout, upper, form)
	}
	return NewLayout(epoch, unit, fields...)
}

func parseKind(name string) (Kind, error) {
	for k := Time; int(k) <= kinds; k++ {
		if k.String() == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%w: no kind of field is named %q; there are time, datacenter, node, sequence, shard, stream", ErrLayout, name)
}
