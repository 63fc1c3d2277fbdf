package main

import (
	"fmt"

	"github.com/snowkey-go/snowkey/idgen"
)

// anyNumber is the number of a doubt about all of them.
const anyNumber = -1

// doubt is a set of ids of a layout: those that were made at some ticks with a number, as grants count them, or with any. The masks have the bits of its
// fields.
type doubt struct {
	time, first, last    int64 // mask, and the field of the first and the last tick
	node, number, others int64 // mask of node and datacenter with the number in these fields, or 0 where it may be any; mask of all other bits but the time's
}

// newDoubt returns the ids of a number from a tick until before another, and false when there can be none.
func newDoubt(layout idgen.Layout, number, from, until int64) (doubt, bool) {
	place := func(parts idgen.Parts) int64 {
		parts.Time = layout.Epoch() // tick 0
		id, _ := layout.Compose(parts)
		return id
	}
	d := doubt{node: place(idgen.Parts{Datacenter: layout.Max(idgen.Datacenter), Node: layout.Max(idgen.Node)})}
	d.others = place(idgen.Parts{Sequence: layout.Max(idgen.Sequence), Shard: layout.Max(idgen.Shard), Stream: layout.Max(idgen.Stream)})
	d.time = (1<<layout.Width() - 1) &^ d.node &^ d.others
	if number == anyNumber {
		d.node, d.others = 0, d.node|d.others
	} else {
		d.number = place(idgen.Parts{Datacenter: number >> layout.Bits(idgen.Node), Node: number & layout.Max(idgen.Node)})
	}
	from, until = max(from, 0), min(until-1, layout.Max(idgen.Time))
	shift, low := layout.LowTime()
	at := func(tick int64) int64 { return tick>>low<<layout.Shift(idgen.Time) | tick&(1<<low-1)<<shift }
	d.first, d.last = at(from), at(until)
	return d, from <= until
}

// bounds returns the least and the greatest id.
func (d doubt) bounds() (least, greatest int64) {
	return d.first | d.number, d.last | d.number | d.others
}

// condition returns the SQL that is true for the ids alone, in all dialects, which bind & more tightly than = and BETWEEN.
func (d doubt) condition(column string) string {
	least, greatest := d.bounds()
	sql := fmt.Sprintf("%s BETWEEN %d AND %d", column, least, greatest)
	if d.others > d.time&-d.time { // ids between the bounds have other ticks, too
		sql += fmt.Sprintf(" AND %s & %d BETWEEN %d AND %d", column, d.time, d.first, d.last)
	}
	if d.node > 0 {
		sql += fmt.Sprintf(" AND %s & %d = %d", column, d.node, d.number)
	}
	return sql
}
