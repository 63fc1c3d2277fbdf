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
// least the bucket, or by the conditions. It fails too for a value that is a subquery which cannot be there, see nested.
func (q *queries) checkAssignments(db *gorm.DB, d *demand, in *idshard.Map, away bool) error {
	return assignments(db.Statement, d.of, d.clauses.set, func(field *schema.Field, v any) error {
		if err := q.one(db, away, v); err != nil || field == nil {
			return err
		}
		return d.checkAssigned(in, field, v)
	})
}

func (d *demand) checkAssigned(in *idshard.Map, field *schema.Field, v any) error {
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
}

// checkID takes the id that the row is selected by.
func (d *demand) checkID(v any) error {
	id, err := d.of.idOf(d.stmt.Context, v)
	if err != nil {
		return err
	}
	for i := range d.held {
		if c := &d.held[i]; !c.key && c.len() == 1 {
			if has, err := d.id(c, 0); err == nil && has == id {
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
		for j := range c.len() {
			if !c.key {
				id, err := d.id(c, j)
				if err == nil {
					err = in.Check(id, key)
				}
				if err != nil {
					return err
				}
				continue
			}
			has, err := d.key(c, j)
			if err != nil {
				return err
			}
			if other, err := idshard.Sum(has); err != nil || other != sum {
				return errors.Join(err, disagree(in, has, key))
			}
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

// assignments calls a function for values that a statement assigns, as GORM finds them: with the field of the id or the sharding column, and with nil
// for others, of which it leaves out those in a struct.
func assignments(stmt *gorm.Statement, m *model, by clause.Expression, check func(*schema.Field, any) error) error {
	if set, ok := by.(clause.Set); ok {
		for _, a := range set {
			if err := check(m.assigned(a.Column.Name), a.Value); err != nil {
				return err
			}
		}
		return nil
	}
	to := reflect.ValueOf(stmt.Dest)
	for to.Kind() == reflect.Pointer {
		to = to.Elem()
	}
	if to.Kind() == reflect.Map {
		values, _ := to.Interface().(map[string]any)
		for name, v := range values {
			if err := check(m.assigned(name), v); err != nil {
				return err
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
