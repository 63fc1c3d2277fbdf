package shard

import (
	"fmt"
	"slices"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// compared is how many pairs of ids and sharding keys are compared at most, 100 µs' work. Of more, rows that disagree are not found and no error.
const compared = 4096

// target returns the indexes of the shards that a statement is for, ascending, appended to dst: those that all of its conditions lead to. The error is
// an ErrUnrouted, an idshard.DisagreeError, or wraps idshard.ErrID or idshard.ErrKey.
func (d *demand) target(in *idshard.Map, dst []int) ([]int, error) {
	if len(d.held) == 0 {
		if !d.clauses.all {
			return dst, d.unrouted()
		}
		for i := range in.Shards() {
			dst = append(dst, i)
		}
		return dst, nil
	}
	if err := d.agree(in); err != nil {
		return dst, err
	}
	var room [4]int
	for i := range d.held {
		of, err := d.shards(in, &d.held[i], room[:0])
		if err != nil {
			return dst, err
		}
		if i == 0 {
			dst = append(dst, of...)
			continue
		}
		last := len(dst)
		var at int
		if last > 0 {
			at = dst[0]
		}
		dst = slices.DeleteFunc(dst, func(shard int) bool { return !slices.Contains(of, shard) })
		if len(dst) == 0 && last > 0 {
			dst = append(dst, at) // where nothing is found, as anywhere else
		}
	}
	if len(dst) == 0 {
		dst = append(dst, 0) // no value, no row
	}
	return dst, nil
}

func (d *demand) unrouted() error {
	return fmt.Errorf("%w: %s is sharded by %s; select its rows by ByID, ByKey or All, by an equal %s or %s that GORM writes, or by a row with its %s. SQL is not read, nor what stands beside an Or",
		ErrUnrouted, d.of.schema.Name, d.of.by.Name, d.of.key.Name, d.of.by.Name, d.of.key.Name)
}

// shards returns those that the values of a condition lead to, ascending, each once.
func (d *demand) shards(in *idshard.Map, c *condition, dst []int) ([]int, error) {
	if !c.list {
		return d.lead(in, c, 0, dst)
	}
	for i := range c.many {
		var err error
		if dst, err = d.lead(in, c, i, dst); err != nil {
			return dst, err
		}
	}
	slices.Sort(dst)
	return slices.Compact(dst), nil
}

// lead appends the shards of one value of a condition.
func (d *demand) lead(in *idshard.Map, c *condition, i int, dst []int) ([]int, error) {
	if c.key {
		key, err := d.key(c, i)
		if err != nil {
			return dst, err
		}
		return in.OfKey(dst, key)
	}
	id, err := d.id(c, i)
	if err != nil {
		return dst, err
	}
	shard, err := in.OfID(id)
	return append(dst, shard), err
}

// agree returns a DisagreeError when there are ids and sharding keys, and none of them can be of one row.
func (d *demand) agree(in *idshard.Map) error {
	for i := range d.held {
		for j := range d.held {
			ids, keys := &d.held[i], &d.held[j]
			if ids.key || !keys.key || ids.len() == 0 || keys.len() == 0 || ids.len()*keys.len() > compared {
				continue
			}
			if err := d.pair(in, ids, keys); err != nil {
				return err
			}
		}
	}
	return nil
}

// pair returns nil when one of some ids and one of some sharding keys can be of one row, else why the first are not.
func (d *demand) pair(in *idshard.Map, ids, keys *condition) error {
	var first error
	for i := range ids.len() {
		id, err := d.id(ids, i)
		if err != nil {
			return err
		}
		for j := range keys.len() {
			key, err := d.key(keys, j)
			if err != nil {
				return err
			}
			err = in.Check(id, key)
			if err == nil {
				return nil
			}
			if first == nil {
				first = err
			}
		}
	}
	return first
}

// leading returns the values of a condition that lead to a shard.
func (d *demand) leading(in *idshard.Map, held, shard int) []any {
	c := &d.held[held]
	values := []any{}
	for i := range c.len() {
		of, err := d.lead(in, c, i, nil)
		if err != nil || !slices.Contains(of, shard) {
			continue // the errors are those of target, which has been there
		}
		if c.list {
			values = append(values, c.many[i])
		} else {
			values = append(values, c.at(i))
		}
	}
	return values
}

// shared tells whether a table may have rows for which its shard is not the one: those of a bucket that has moved, and was not removed yet. What is
// selected by ids alone, or by keys of one shard each, is in the right table.
func (d *demand) shared(in *idshard.Map) bool {
	for i := range d.held {
		c := &d.held[i]
		if !c.key {
			return false
		}
		one := true
		for i := range c.len() {
			of, _ := d.lead(in, c, i, nil)
			one = one && len(of) == 1
		}
		if one {
			return false
		}
	}
	return true
}
