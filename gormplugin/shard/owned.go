package shard

import (
	"slices"
	"strconv"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// owned is the condition that a row is in the table that the map has it in. While buckets are moved, and until their rows are removed, a table
// has others besides, which a statement for several tables would meet twice.
type owned struct {
	column  string
	shift   int
	modulus int64
	buckets []int64 // modulo modulus
	below   int64   // ids from before
	old     bool    // which are in the shard; else they are not
}

// Build writes the condition.
func (o *owned) Build(builder clause.Builder) {
	id := clause.Column{Table: clause.CurrentTable, Name: o.column}
	write := func(s string) { _, _ = builder.WriteString(s) }
	write("(")
	if o.below > 0 {
		builder.WriteQuoted(id)
		write(map[bool]string{true: " < ", false: " >= "}[o.old] + strconv.FormatInt(o.below, 10) + map[bool]string{true: " OR ", false: " AND "}[o.old])
	}
	if len(o.buckets) == 0 {
		write("1 = 0)")
		return
	}
	write("((")
	builder.WriteQuoted(id)
	write(" >> " + strconv.Itoa(o.shift) + ") & " + strconv.FormatInt(o.modulus-1, 10) + ") IN (")
	for i, b := range o.buckets {
		if i > 0 {
			write(",")
		}
		write(strconv.FormatInt(b, 10))
	}
	write("))")
}

// owners keeps what each shard of a map has, for as long as the map is in force.
type owners struct{ known atomic.Pointer[owning] }

type owning struct {
	of      *idshard.Map
	buckets []owned // by shard
}

// condition returns that of a shard, nil for the one that has all.
func (o *owners) condition(in *idshard.Map, shard int, m *model) clause.Expression {
	known := o.known.Load()
	if known == nil || known.of != in {
		known = newOwning(in)
		o.known.Store(known)
	}
	c := known.buckets[shard]
	c.column = m.key.DBName
	if c.modulus == 1 && c.below == 0 && len(c.buckets) > 0 {
		return nil
	}
	return &c
}

func newOwning(in *idshard.Map) *owning {
	o := &owning{of: in, buckets: make([]owned, len(in.Shards()))}
	layout := in.Layout()
	shift, fields := 0, layout.Fields()
	for i := len(fields) - 1; i >= 0 && fields[i].Kind != idgen.Shard; i-- {
		shift += fields[i].Bits
	}
	for b := range in.Buckets() {
		if i, err := in.OfBucket(b); err == nil {
			o.buckets[i].buckets = append(o.buckets[i].buckets, b)
		}
	}
	legacy, _ := in.Legacy()
	for i := range o.buckets {
		of := &o.buckets[i]
		of.shift, of.modulus = shift, in.Buckets()
		of.shorten()
		of.below, of.old = legacy.Below, legacy.Below > 0 && in.Shard(i).Name == legacy.Shard
	}
	return o
}

// shorten finds the least power of two modulo which the buckets say the same: shard 3 of 16 has those that are 3 modulo 16.
func (o *owned) shorten() {
	for o.modulus > 1 {
		half := o.modulus / 2
		at, _ := slices.BinarySearch(o.buckets, half)
		if at*2 != len(o.buckets) {
			return
		}
		for i := range o.buckets[:at] {
			if o.buckets[at+i] != o.buckets[i]+half {
				return
			}
		}
		o.buckets, o.modulus = o.buckets[:at], half
	}
}

// add has a statement select the rows that its table is the one for.
func (o *owners) add(stmt *gorm.Statement, in *idshard.Map, shard int, m *model) {
	if c := o.condition(in, shard, m); c != nil {
		stmt.AddClause(clause.Where{Exprs: []clause.Expression{c}})
	}
}
