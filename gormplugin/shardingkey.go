package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/shard"
)

// shardTag is what begins the part of a tag that names the sharding column.
const shardTag = "shard="

// cutShard takes the part of a tag that names the sharding column out of it.
func cutShard(setting string) (rest, column string, err error) {
	parts := strings.Split(setting, ",")
	for i := len(parts) - 1; i >= 0; i-- {
		name, is := strings.CutPrefix(strings.TrimSpace(parts[i]), shardTag)
		if !is {
			continue
		}
		if name == "" || column != "" {
			return "", "", fmt.Errorf("%w: the tag %q: want the name of one field after %s", ErrKey, setting, shardTag)
		}
		column, parts = name, slices.Delete(parts, i, i+1)
	}
	return strings.Join(parts, ","), column, nil
}

// shardBy has a key depend on a column of its row.
func (k *key) shardBy(s *schema.Schema, name string) error {
	if k.source.sharded == nil {
		return fmt.Errorf("%w: its source, of the type %T, makes no keys for buckets, so %s%s is not possible; give a generator or grants with idgen.WithShards, or a shard.Source",
			ErrKey, k.source.of, shardTag, name)
	}
	by := s.LookUpField(name)
	switch {
	case by == nil || by.DBName == "":
		return fmt.Errorf("%w: there is no field or column %q to shard by; name one of %q", ErrKey, name, s.DBNames)
	case by.DBName == k.column:
		return fmt.Errorf("%w: it cannot be its own sharding key; name the column that the rows are looked up by", ErrKey)
	case by.Serializer != nil || by.AutoCreateTime > 0 || by.AutoUpdateTime > 0 || !by.Creatable:
		return fmt.Errorf("%w: the sharding column %s has a serializer, or GORM writes it or does not; shard by a plain number, text or UUID", ErrKey, by.Name)
	}
	if err := canShard(by.FieldType); err != nil {
		return fmt.Errorf("%w: the sharding column %s has the type %s: %w; shard by a number, text, bytes or UUID", ErrKey, by.Name, by.FieldType, err)
	}
	k.by = by
	return nil
}

// canShard returns shard.ErrKey for a type that has no mix.
func canShard(of reflect.Type) error {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	sample := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Slice:
		sample = reflect.MakeSlice(of, 1, 1)
	case reflect.Struct:
		if valid := sample.FieldByName("Valid"); valid.Kind() == reflect.Bool && valid.CanSet() { // of database/sql
			valid.SetBool(true)
		}
	}
	if _, err := shard.Sum(sample.Interface()); errors.Is(err, shard.ErrKey) {
		return err
	}
	return nil
}

// shardingKey returns the sharding key of a row, nil for none: a zero, an empty text, NULL. A pointer to a zero is one.
func (k *key) shardingKey(ctx context.Context, r *row) (any, error) {
	if columns := r.columns(); columns != nil {
		return k.shardingKeyOfMap(columns)
	}
	value, zero := k.by.ValueOf(ctx, r.value)
	if zero {
		return nil, nil
	}
	return indirect(value), nil
}

// indirect returns what a pointer points to, nil for none or a slice without elements.
func indirect(v any) any {
	value := reflect.ValueOf(v)
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if !value.IsValid() || value.Kind() == reflect.Slice && value.Len() == 0 {
		return nil
	}
	return value.Interface()
}

// shardingKeyOfMap returns the sharding key of a map. It has to be of the kind that the column has: the database takes the text "5" for the
// number 5, which is in another bucket.
func (k *key) shardingKeyOfMap(columns map[string]any) (any, error) {
	var found any
	count := 0
	for name, value := range columns {
		switch field := k.field.Schema.LookUpField(name); {
		case field != nil && field.DBName == k.by.DBName:
			found, count = value, count+1
		case field == nil && (isNamed(name, k.by.DBName) || isNamed(name, k.column)): // SQLite takes it for the column
			return nil, fmt.Errorf("%w: the map has %q; name the columns %s and %s as the model does", shard.ErrKey, name, k.column, k.by.DBName)
		}
	}
	if count > 1 {
		return nil, fmt.Errorf("%w: the map has the sharding column %s by %d names", shard.ErrKey, k.by.DBName, count)
	}
	pointer := reflect.ValueOf(found).Kind() == reflect.Pointer
	value := reflect.ValueOf(indirect(found))
	if !value.IsValid() || !pointer && value.IsZero() {
		return nil, nil
	}
	return value.Interface(), k.canBe(value.Type())
}

// canBe fails for the type of a sharding key that has another bucket than the same value of the column's type.
func (k *key) canBe(of reflect.Type) error {
	if want := k.by.IndirectFieldType; of != want && (shardKind(of) != shardKind(want) || shardKind(want) == reflect.Struct || !of.ConvertibleTo(want)) {
		return fmt.Errorf("%w: a value of the sharding column %s has the type %s, want %s", shard.ErrKey, k.by.DBName, of, want)
	}
	return nil
}

// shardKind is one for types whose values have the same mix when they are the same to a database, but for structs: these count as what their
// Value gives, the text "5" or the number.
func shardKind(of reflect.Type) reflect.Kind {
	switch kind := of.Kind(); {
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return reflect.Int64
	case kind == reflect.Slice && of.Elem().Kind() == reflect.Uint8, kind == reflect.String:
		return reflect.String
	default:
		return kind
	}
}
