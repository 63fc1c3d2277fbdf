package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/shard"
)

// ShardedSource is a source whose keys depend on the sharding key of the row. Given with [From] or [Named], it fills fields with the tag
// `gorm:"snowkey:shard=UserID"`, and those of [Sharding]; others get what its Next and Fill make. The sharding key is handed over as the
// row has it, of the type of its field, but what a pointer points to instead of the pointer. One that has also a method
// Placer(context.Context) (Placer, error) is asked by that, once a statement, instead of by Place and Check.
type ShardedSource interface {
	idgen.Source[int64]
	// Layout returns the layout of the ids.
	Layout() idgen.Layout
	// Place returns the bucket for a new row with a sharding key.
	Place(ctx context.Context, key any) (bucket int64, err error)
	// FillFor sets ids to new ones of a bucket, all or none.
	FillFor(ctx context.Context, bucket int64, ids []int64) error
	// Check returns an error when an id that is set already does not fit the sharding key of its row.
	Check(ctx context.Context, id int64, key any) error
}

// Placer is what a [ShardedSource] places the rows of one statement by: the same for all of them.
type Placer interface {
	// Place returns the bucket for a new row with a sharding key.
	Place(key any) (bucket int64, err error)
	// Check returns an error when an id that is set already does not fit the sharding key of its row.
	Check(id int64, key any) error
}

// placers is a ShardedSource that is asked once a statement instead of for each row.
type placers interface {
	Placer(ctx context.Context) (Placer, error)
}

// eachPlacer asks a source for each row.
type eachPlacer struct {
	ctx    context.Context
	source ShardedSource
}

func (p eachPlacer) Place(key any) (int64, error)  { return p.source.Place(p.ctx, key) }
func (p eachPlacer) Check(id int64, key any) error { return p.source.Check(p.ctx, id, key) }

// shardTag is what begins the part of a tag that names the sharding column.
const shardTag = "shard="

// modelSharding is the sharding column of a model, as [Sharding] was given it.
type modelSharding struct {
	of     reflect.Type
	column string
}

// Sharding names the sharding column of a model that has no tag for it, by the name of the field or of the column: the primary key is
// filled then, as with the tag `gorm:"snowkey:shard=…"`. The error wraps [ErrKey] for what is no model, and for one that is given twice.
func Sharding(model any, column string) Option {
	return func(p *Plugin) error {
		of := reflect.TypeOf(model)
		for of != nil && of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of == nil || of.Kind() != reflect.Struct || column == "" {
			return fmt.Errorf("%w: Sharding: want a struct and a column, got %T and %q", ErrKey, model, column)
		}
		if slices.ContainsFunc(p.shardings, func(s modelSharding) bool { return s.of == of }) {
			return fmt.Errorf("%w: Sharding: the sharding column of %s is given twice", ErrKey, of)
		}
		p.shardings = append(p.shardings, modelSharding{of, column})
		return nil
	}
}

// Sharding returns the key and the sharding column of a schema, nil and nil for one that is not sharded. The error wraps [ErrKey] or
// [ErrNoSource].
func (p *Plugin) Sharding(s *schema.Schema) (key, by *schema.Field, err error) {
	if s == nil {
		return nil, nil, nil
	}
	plan, err := p.plan(s)
	if err != nil || plan == nil || plan.sharded == nil {
		return nil, nil, err
	}
	return plan.sharded.field, plan.sharded.by, nil
}

// Narrow adds a condition to a statement that holds beside all others, whatever they are and also when they come later: that of a scope,
// as [CreatedBetween] is one. The statement fails with [ErrScope] when it is raw SQL.
func Narrow(db *gorm.DB, condition clause.Expression) *gorm.DB { return narrow(db, condition) }

// shardingOf returns the name of the sharding column that an option gives a schema's primary key.
func (p *Plugin) shardingOf(s *schema.Schema) (column string, ok bool) {
	i := slices.IndexFunc(p.shardings, func(m modelSharding) bool { return m.of == s.ModelType })
	if i < 0 {
		return "", false
	}
	return p.shardings[i].column, true
}

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
		return fmt.Errorf("%w: its source, of the type %T, makes no keys for buckets, so %s%s is not possible; give a ShardedSource, or register the plugin of package gormplugin/shard",
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

// canShard returns idshard.ErrKey for a type that has no mix.
func canShard(of reflect.Type) error {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	sample := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Slice:
		sample = reflect.MakeSlice(of, 1, 1)
	case reflect.String:
		sample.SetString("a")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		sample.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		sample.SetUint(1)
	case reflect.Array:
		if of.Len() > 0 && of.Elem().Kind() == reflect.Uint8 {
			sample.Index(0).SetUint(1)
		}
	}
	if _, err := idshard.Sum(sample.Interface()); errors.Is(err, idshard.ErrKey) {
		return err
	}
	return nil
}

// shardingKey returns the sharding key of a row, nil for none: a zero, an empty text, NULL. A pointer to a zero is one.
func (k *key) shardingKey(ctx context.Context, r row) (any, error) {
	if r.columns != nil {
		return k.shardingKeyOfMap(r)
	}
	value, zero := k.by.ValueOf(ctx, r.value)
	if zero {
		return nil, nil
	}
	switch v := value.(type) { // most are
	case int64, string:
		return v, nil
	case []byte:
		if len(v) == 0 {
			return nil, nil
		}
		return v, nil
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
func (k *key) shardingKeyOfMap(r row) (any, error) {
	var found any
	count := 0
	for name, value := range r.columns {
		switch field := r.schema.LookUpField(name); {
		case field != nil && field.DBName == k.by.DBName:
			found, count = value, count+1
		case field == nil && (names(name, k.by.DBName) || names(name, k.column)): // SQLite takes it for the column
			return nil, fmt.Errorf("%w: the map has %q; name the columns %s and %s as the model does", idshard.ErrKey, name, k.column, k.by.DBName)
		}
	}
	if count > 1 {
		return nil, fmt.Errorf("%w: the map has the sharding column %s by %d names", idshard.ErrKey, k.by.DBName, count)
	}
	pointer := reflect.ValueOf(found).Kind() == reflect.Pointer
	value := reflect.ValueOf(indirect(found))
	if !value.IsValid() || !pointer && value.IsZero() {
		return nil, nil
	}
	if want := k.by.IndirectFieldType; value.Type() != want && (shardKind(value.Type()) != shardKind(want) || shardKind(want) == reflect.Struct) {
		return nil, fmt.Errorf("%w: the sharding column %s of the map has the type %s, want %s", idshard.ErrKey, k.by.DBName, value.Type(), want)
	}
	return value.Interface(), nil
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
