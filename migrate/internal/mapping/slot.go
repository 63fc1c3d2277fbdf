package mapping

import (
	"fmt"
	"math"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// nodeSlots is the ids that old rows can get: those of the plan's node. Each is a slot, its tick and its sequence in one number,
//
//	slot = tick << sequenceBits | sequence
//
// so that the next id is that of the next slot, whatever fields the layout has between the time and the sequence. Slots are in the order of their ids, for
// all other fields are the same in all of them and the time is above the sequence.
type nodeSlots struct {
	layout   idgen.Layout
	epoch    int64 // nanoseconds since 1970
	tick     int64 // nanoseconds
	fixed    int64 // the fields of the node, where they belong
	mask     int64 // all bits that are neither of the time nor of the sequence, but the sign's
	time     field
	sequence field
	unit     time.Duration // that the rows share; 0 for one that does not end
	zone     *time.Location
	last     int64 // the greatest slot
}

type field struct {
	bits, shift int
}

func (f field) max() int64 { return 1<<f.bits - 1 }

// slotRange is the slots that the rows of one unit of time share.
type slotRange struct {
	first, last int64
}

const day = 24 * time.Hour

// newNodeSlots returns the ids of a plan's node for a key.
func newNodeSlots(p *plan.Plan, k plan.Key) (*nodeSlots, error) {
	layout, err := idgen.ParseLayout(p.Layout)
	if err != nil {
		return nil, fmt.Errorf("mapping: the plan's layout: %w", err)
	}
	s := &nodeSlots{layout: layout, epoch: layout.Epoch().UnixNano(), tick: int64(layout.Unit()), unit: k.Unit, zone: time.UTC}
	s.time = field{layout.Bits(idgen.Time), layout.Shift(idgen.Time)}
	s.sequence = field{layout.Bits(idgen.Sequence), layout.Shift(idgen.Sequence)}
	if s.sequence.bits > 0 && s.time.shift < s.sequence.shift {
		return nil, fmt.Errorf("mapping: %w: %s has the time below the sequence, so ids of one node are not in the order of time", idgen.ErrLayout, layout)
	}
	generators := int64(1) << (layout.Bits(idgen.Datacenter) + layout.Bits(idgen.Node))
	if p.Node < 0 || p.Node >= generators {
		return nil, fmt.Errorf("mapping: %w: the plan's node is %d, the layout's are 0 to %d", idgen.ErrRange, p.Node, generators-1)
	}
	node := idgen.Parts{Time: layout.Epoch(), Node: p.Node & layout.Max(idgen.Node), Datacenter: p.Node >> layout.Bits(idgen.Node)}
	if s.fixed, err = layout.Compose(node); err != nil {
		return nil, fmt.Errorf("mapping: the plan's node: %w", err)
	}
	s.mask = math.MaxInt64 &^ (s.time.max()<<s.time.shift | s.sequence.max()<<s.sequence.shift)
	s.last = s.time.max()<<s.sequence.bits | s.sequence.max()
	if k.Zone != "" {
		if s.zone, err = time.LoadLocation(k.Zone); err != nil {
			return nil, fmt.Errorf("mapping: the time zone of %s: %w", k.Table, err)
		}
	}
	if k.Instant != nil {
		s.unit = 0
	} else if s.unit <= 0 {
		s.unit = 1
	}
	return s, nil
}

// id returns the id of a slot.
func (s *nodeSlots) id(slot int64) int64 {
	return s.fixed | slot>>s.sequence.bits<<s.time.shift | slot&s.sequence.max()<<s.sequence.shift
}

// slot returns the slot of an id; false when it is none of the plan's node.
func (s *nodeSlots) slot(id int64) (int64, bool) {
	if id < 0 || id&s.mask != s.fixed {
		return 0, false
	}
	return id>>s.time.shift&s.time.max()<<s.sequence.bits | id>>s.sequence.shift&s.sequence.max(), true
}

// ticks returns the tick that an instant lies in, the first or the last one of the layout for an instant outside.
func (s *nodeSlots) ticks(nanoseconds int64) int64 {
	if nanoseconds <= s.epoch {
		return 0
	}
	return min(int64(uint64(nanoseconds-s.epoch)/uint64(s.tick)), s.time.max()) // up to 584 years, which unsigned numbers have room for
}

// rangeOf returns the slots of the unit that an instant lies in. The slot ranges of two units have no slot in common: a tick in which one unit ends and another
// begins is the latter's.
func (s *nodeSlots) rangeOf(nanoseconds int64) slotRange {
	if s.unit == 0 {
		return slotRange{s.ticks(nanoseconds) << s.sequence.bits, s.last}
	}
	from, until := s.span(nanoseconds)
	first, last := s.ticks(from), s.ticks(until)-1
	if int64(s.unit) <= s.tick || last < first {
		first = s.ticks(nanoseconds)
		last = first
	}
	return slotRange{first << s.sequence.bits, last<<s.sequence.bits | s.sequence.max()}
}

// span returns the unit that an instant lies in, from its first nanosecond to the first of the next one. Units are fractions of a second, seconds, or days
// of the zone; one in between counts as a second.
func (s *nodeSlots) span(nanoseconds int64) (from, until int64) {
	if s.unit >= day {
		year, month, date := time.Unix(0, nanoseconds).In(s.zone).Date()
		return time.Date(year, month, date, 0, 0, 0, 0, s.zone).UnixNano(), time.Date(year, month, date+1, 0, 0, 0, 0, s.zone).UnixNano()
	}
	unit := min(int64(s.unit), int64(time.Second))
	from = nanoseconds - (nanoseconds%unit+unit)%unit
	return from, from + unit
}

// distance returns the time between the tick of a slot and an instant.
func (s *nodeSlots) distance(slot, nanoseconds int64) time.Duration {
	at := s.layout.Epoch().Add(time.Duration(slot >> s.sequence.bits * s.tick))
	return at.Sub(time.Unix(0, nanoseconds)).Abs()
}
