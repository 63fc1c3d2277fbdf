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
		if !d.all {
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
		return d.lead(in, c, c.one, dst)
	}
	err := c.each(func(_ int, v any) (err error) {
		dst, err = d.lead(in, c, v, dst)
		return err
	})
	slices.Sort(dst)
	return slices.Compact(dst), err
}

// lead appends the shards of one value.
func (d *demand) lead(in *idshard.Map, c *condition, v any, dst []int) ([]int, error) {
	if c.key {
		key, err := d.of.keyOf(d.stmt.Context, v)
		if err != nil {
			return dst, err
		}
		return in.OfKey(dst, key)
	}
	id, err := d.of.idOf(d.stmt.Context, v)
	if err != nil {
		return dst, err
	}
	i, err := in.OfID(id)
	return append(dst, i), err
}

// agree returns a DisagreeError when there are ids and sharding keys, and none of them can be of one row.
func (d *demand) agree(in *idshard.Map) error {
	for i := range d.held {
		for j := range d.held {
			ids, keys := &d.held[i], &d.held[j]
			if ids.key || !keys.key || ids.len() == 0 || keys.len() == 0 || ids.len()*keys.len() > compared {
				continue
			}
			var first error
			found := false
			err := ids.each(func(_ int, v any) error {
				id, err := d.of.idOf(d.stmt.Context, v)
				if err != nil || found {
					return err
				}
				return keys.each(func(_ int, v any) error {
					key, err := d.of.keyOf(d.stmt.Context, v)
					if err != nil || found {
						return err
					}
					if err = in.Check(id, key); first == nil {
						first = err
					}
					found = err == nil
					return nil
				})
			})
			if err == nil && !found {
				err = first
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// leading returns the values of a condition that lead to a shard.
func (d *demand) leading(in *idshard.Map, held, shard int) []any {
	c := &d.held[held]
	values := []any{}
	_ = c.each(func(i int, v any) error { // the errors are those of target, which has been there
		if of, err := d.lead(in, c, v, nil); err == nil && slices.Contains(of, shard) {
			if c.list {
				v = c.many[i]
			}
			values = append(values, v)
		}
		return nil
	})
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
		_ = c.each(func(_ int, v any) error {
			of, _ := d.lead(in, c, v, nil)
			one = one && len(of) == 1
			return nil
		})
		if one {
			return false
		}
	}
	return true
}
