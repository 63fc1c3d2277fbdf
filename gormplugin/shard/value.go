package shard

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"

	"gorm.io/gorm/schema"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// idOf returns an id as a number. The error wraps idshard.ErrID.
func (m *model) idOf(ctx context.Context, v any) (int64, error) {
	if id, ok := v.(int64); ok {
		return id, nil
	}
	rv := reflect.ValueOf(v)
	switch {
	case rv.CanInt():
		return rv.Int(), nil
	case rv.CanUint() && rv.Uint() <= math.MaxInt64:
		return int64(rv.Uint()), nil
	case rv.IsValid() && !rv.CanUint():
		if set, err := convert(ctx, m.schema, m.key, v); err == nil {
			if rv = reflect.ValueOf(set); rv.CanInt() {
				return rv.Int(), nil
			} else if rv.CanUint() && rv.Uint() <= math.MaxInt64 {
				return int64(rv.Uint()), nil
			}
		}
	}
	return 0, fmt.Errorf("%w: %v (%T); %s.%s has numbers of 64 bits", idshard.ErrID, v, v, m.schema.Name, m.key.Name)
}

// keyOf returns a sharding key as the sharding column has it, since a number and its text are different keys. The error wraps idshard.ErrKey.
func (m *model) keyOf(ctx context.Context, v any) (any, error) {
	column := m.kind
	if k, ok := v.(keyValue); ok {
		v = k.of
	}
	switch v.(type) {
	case int64, int, uint64:
		if column == numbers {
			return v, nil
		}
	case string:
		if column == texts {
			return v, nil
		}
	case nil:
		return nil, fmt.Errorf("%w: %s.%s is nil", idshard.ErrKey, m.schema.Name, m.by.Name)
	}
	of := reflect.TypeOf(v)
	if column == texts && (kindOf(of) == numbers || of.Kind() == reflect.Float64 || of.Kind() == reflect.Float32) {
		return nil, fmt.Errorf("%w: %v (%T) is a number, and %s.%s a text, which MySQL would compare as a number", idshard.ErrKey, v, v, m.schema.Name, m.by.Name)
	}
	if of == m.by.IndirectFieldType || column != others && kindOf(of) == column {
		return v, nil
	}
	set, err := convert(ctx, m.schema, m.by, v)
	if err != nil {
		return nil, fmt.Errorf("%w: %v (%T) is no value of %s.%s: %w", idshard.ErrKey, v, v, m.schema.Name, m.by.Name, err)
	}
	return set, nil
}

// kind is what values have the same sum: one is compared with another of its kind as it is.
type kind int

const (
	others kind = iota // only those of the same type
	numbers
	texts // and bytes
)

func kindOf(t reflect.Type) kind {
	switch k := t.Kind(); {
	case k >= reflect.Int && k <= reflect.Uintptr:
		return numbers
	case k == reflect.String, k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return texts
	}
	return others
}

// convert returns a value as a field has it.
func convert(ctx context.Context, of *schema.Schema, field *schema.Field, v any) (any, error) {
	row := reflect.New(of.ModelType).Elem()
	if valuer, ok := v.(driver.Valuer); ok {
		plain, err := valuer.Value()
		if err != nil {
			return nil, err
		}
		v = plain
	}
	if f := reflect.ValueOf(v); f.CanFloat() && (f.Float() != math.Trunc(f.Float()) || math.Abs(f.Float()) >= 1<<53) {
		return nil, fmt.Errorf("%v (%T) is no exact integer", v, v)
	}
	if err := field.Set(ctx, row, v); err != nil {
		return nil, err
	}
	set, zero := field.ValueOf(ctx, row)
	if given := reflect.ValueOf(v); zero && (!given.IsValid() || given.Kind() == reflect.String && given.Len() == 0) {
		return nil, fmt.Errorf("%v (%T) is none", v, v)
	}
	return value(set), nil
}
