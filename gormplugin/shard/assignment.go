package shard

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// checkAssignments fails when a statement would change the id of a row or its sharding key, for another than it has. What it has is known by its id, at
// least the bucket, or by the conditions.
func (d *demand) checkAssignments(in *idshard.Map) error {
	return assignments(d.stmt, d.of, func(field *schema.Field, v any) error {
		if isExpression(v) {
			return fmt.Errorf("%w: an expression assigned to %s.%s, which a row keeps for ever", idshard.ErrKey, d.of.schema.Name, field.Name)
		}
		v = value(v)
		if field == d.of.key {
			return d.checkID(v)
		}
		if field.FieldType.Kind() != reflect.Pointer && v != nil && reflect.ValueOf(v).IsZero() {
			return fmt.Errorf("%w: %s.%s is assigned the zero that stands for none; leave it out", idshard.ErrKey, d.of.schema.Name, field.Name)
		}
		key, err := d.of.keyOf(d.stmt.Context, v)
		if err != nil {
			return err
		}
		return d.checkKey(in, key)
	})
}

// checkID takes the id that the row is selected by.
func (d *demand) checkID(v any) error {
	id, err := d.of.idOf(d.stmt.Context, v)
	if err != nil {
		return err
	}
	for i := range d.held {
		if c := &d.held[i]; !c.key && c.len() == 1 {
			if has, err := d.of.idOf(d.stmt.Context, c.at(0)); err == nil && has == id {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: the id %d is assigned to rows of %s that have others; a row keeps its id", idshard.ErrDisagree, id, d.of.schema.Name)
}

// checkKey takes the sharding key that the rows have: each one's, of those that the rows are selected by, is the same, or each id agrees with it.
func (d *demand) checkKey(in *idshard.Map, key any) error {
	sum, err := idshard.Sum(key)
	if err != nil {
		return err
	}
	known := false
	for i := range d.held {
		c := &d.held[i]
		known = known || c.len() > 0
		err := c.each(func(_ int, v any) error {
			if !c.key {
				id, err := d.of.idOf(d.stmt.Context, v)
				if err != nil {
					return err
				}
				return in.Check(id, key)
			}
			has, err := d.of.keyOf(d.stmt.Context, v)
			if err != nil {
				return err
			}
			if other, err := idshard.Sum(has); err != nil || other != sum {
				return errors.Join(err, disagree(in, has, key))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if !known {
		return fmt.Errorf("%w: %s.%s of rows whose id is not known is assigned; a row keeps its sharding key", idshard.ErrDisagree, d.of.schema.Name, d.of.by.Name)
	}
	return nil
}

// disagree returns the error of a sharding key that is assigned to rows of another.
func disagree(in *idshard.Map, has, key any) error {
	e := &idshard.DisagreeError{Key: key}
	var err error
	if e.Bucket, err = in.Place(has, 0); err != nil {
		return err
	}
	bucket, err := in.Place(key, 0)
	if err != nil {
		return err
	}
	e.Buckets = []int64{bucket}
	return fmt.Errorf("the key %v is assigned to rows of %v: %w", key, has, e)
}

// assignments calls a function for each value that a statement assigns to the id or the sharding column, as GORM finds them.
func assignments(stmt *gorm.Statement, m *model, check func(*schema.Field, any) error) error {
	if set, ok := stmt.Clauses["SET"].Expression.(clause.Set); ok {
		for _, a := range set {
			if field := m.assigned(a.Column.Name); field != nil {
				if err := check(field, a.Value); err != nil {
					return err
				}
			}
		}
		return nil
	}
	to := reflect.ValueOf(stmt.Dest)
	for to.Kind() == reflect.Pointer {
		to = to.Elem()
	}
	if !to.IsValid() {
		return nil
	}
	if values, ok := to.Interface().(map[string]any); ok {
		for name, v := range values {
			if field := m.assigned(name); field != nil {
				if err := check(field, v); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if to.Kind() != reflect.Struct {
		return nil
	}
	own := to.CanAddr() && stmt.Dest == stmt.Model
	of := m.schema
	if to.Type() != m.schema.ModelType {
		other := &gorm.Statement{DB: stmt.DB}
		if err := other.Parse(stmt.Dest); err != nil {
			return nil // GORM's to say
		}
		of = other.Schema
	}
	var selected map[string]bool
	var restricted bool
	if len(stmt.Selects)+len(stmt.Omits) > 0 {
		selected, restricted = stmt.SelectAndOmitColumns(false, true)
	}
	for _, field := range []*schema.Field{m.key, m.by} {
		f := of.LookUpField(field.DBName)
		if f == nil || own && f.PrimaryKey {
			continue // GORM makes a condition of it
		}
		v, zero := f.ValueOf(stmt.Context, to)
		chosen, named := selected[f.DBName]
		if named && !chosen || !named && (restricted || zero) {
			continue
		}
		if err := check(field, v); err != nil {
			return err
		}
	}
	return nil
}

// assigned returns which of the two that route an assigned column is, nil for another. Databases take names in other letters, and GORM those in
// quotes.
func (m *model) assigned(name string) *schema.Field {
	if field := m.schema.LookUpField(name); field != nil {
		if field == m.key || field == m.by {
			return field
		}
		return nil
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Trim(name, "`\"[] ")
	for _, field := range []*schema.Field{m.key, m.by} {
		if strings.EqualFold(name, field.DBName) {
			return field
		}
	}
	return nil
}
