package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
)

// anyNumber is the number of a doubt about all of them.
const anyNumber = -1

// doubt is a set of ids: those of a layout that were made with a number, as grants count them, or with any, at the ticks first to last.
type doubt struct {
	layout      idgen.Layout
	number      int64
	first, last int64
}

// newDoubt returns the ids of a number from a tick until before another, and false when there can be none.
func newDoubt(layout idgen.Layout, number, from, until int64) (doubt, bool) {
	d := doubt{layout, number, max(from, 0), min(until-1, layout.Max(idgen.Time))}
	return d, d.first <= d.last
}

// part is a field of a layout with the values that it has in a set of ids.
type part struct {
	idgen.Field
	shift           int
	least, greatest int64
}

// parts returns the fields from the top bit down.
func (d doubt) parts() []part {
	var parts []part
	shift := 0
	for _, field := range slices.Backward(d.layout.Fields()) {
		p := part{Field: field, shift: shift, greatest: d.layout.Max(field.Kind)}
		switch {
		case field.Kind == idgen.Time:
			p.least, p.greatest = d.first, d.last
		case d.number == anyNumber:
		case field.Kind == idgen.Datacenter:
			p.least = d.number >> d.layout.Bits(idgen.Node)
			p.greatest = p.least
		case field.Kind == idgen.Node:
			p.least = d.number & d.layout.Max(idgen.Node)
			p.greatest = p.least
		}
		shift += field.Bits
		parts = append(parts, p)
	}
	slices.Reverse(parts)
	return parts
}

// bounds returns the least and the greatest id.
func (d doubt) bounds() (least, greatest int64) {
	for _, p := range d.parts() {
		least |= p.least << p.shift
		greatest |= p.greatest << p.shift
	}
	return least, greatest
}

// condition returns the SQL that is true for the ids alone, in all dialects. All of them bind >> more tightly than &, and both more than =.
func (d doubt) condition(column string) string {
	least, greatest := d.bounds()
	terms := []string{fmt.Sprintf("%s BETWEEN %d AND %d", column, least, greatest)}
	field := func(p part) string {
		mask := int64(1)<<p.Bits - 1
		if p.shift == 0 {
			return fmt.Sprintf("%s & %d", column, mask)
		}
		return fmt.Sprintf("(%s >> %d) & %d", column, p.shift, mask)
	}
	free := false // a field above this one may have any value
	for i, parts := 0, d.parts(); i < len(parts); i++ {
		p := parts[i]
		switch {
		case p.Kind == idgen.Time:
			if free { // else the ids between the bounds have no other ticks
				terms = append(terms, fmt.Sprintf("%s BETWEEN %d AND %d", field(p), p.least, p.greatest))
			}
		case d.number != anyNumber && (p.Kind == idgen.Datacenter || p.Kind == idgen.Node):
			if p.Kind == idgen.Datacenter && i+1 < len(parts) && parts[i+1].Kind == idgen.Node { // both as one
				i++
				p = part{Field: idgen.Node.Bits(p.Bits + parts[i].Bits), shift: parts[i].shift, least: d.number}
			}
			terms = append(terms, fmt.Sprintf("%s = %d", field(p), p.least))
		default:
			free = true
		}
	}
	return strings.Join(terms, " AND ")
}
