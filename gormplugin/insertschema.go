package gormplugin

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// insertSchemas are copies of a schema in the place of GORM's while an INSERT is built. They are GORM's own schema where nothing differs.
type insertSchemas struct {
	filled      *schema.Schema // the primary key is filled
	omitted     *schema.Schema // the database makes the primary key
	fixedShard  *schema.Schema // filled, and an upsert of all columns leaves the sharding column as it is; nil without such a column
	noReturning *schema.Schema // filled or fixedShard, and an INSERT returns nothing
}

func newInsertSchemas(s *schema.Schema, keys []*key, sharded *key) insertSchemas {
	made := insertSchemas{filled: s, omitted: s}
	if slices.ContainsFunc(keys, func(k *key) bool { return k.field == s.PrioritizedPrimaryField && k.isInteger() }) {
		made.filled, made.omitted = withAutoIncrement(s, false), withAutoIncrement(s, true)
	}
	made.noReturning = withoutReturning(made.filled)
	if sharded != nil {
		made.fixedShard = withField(made.filled, made.filled.FieldsByDBName[sharded.by.DBName], func(by *schema.Field) { by.Updatable = false })
		made.noReturning = withoutReturning(made.fixedShard)
	}
	return made
}

// derive returns a copy of a schema, to be changed: GORM shares a schema among all statements and reads it without a lock. What the copy
// lacks is private to GORM: the naming strategy, so that LookUpField finds fields by their names and their columns' alone.
func derive(s *schema.Schema) *schema.Schema {
	derived := &schema.Schema{}
	from, to := reflect.ValueOf(s).Elem(), reflect.ValueOf(derived).Elem()
	for i := range to.NumField() {
		if field := to.Type().Field(i); field.IsExported() && field.Name != "Relationships" { // which has a lock
			to.Field(i).Set(from.Field(i))
		}
	}
	for _, byName := range []*map[string]*schema.Field{&derived.FieldsByName, &derived.FieldsByBindName, &derived.FieldsByDBName} {
		*byName = maps.Clone(*byName)
	}
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	derived.Relationships = schema.Relationships{
		HasOne: s.Relationships.HasOne, BelongsTo: s.Relationships.BelongsTo, HasMany: s.Relationships.HasMany, Many2Many: s.Relationships.Many2Many,
		Relations: maps.Clone(s.Relationships.Relations), EmbeddedRelations: maps.Clone(s.Relationships.EmbeddedRelations),
	}
	return derived
}

// withField returns a copy of a schema with a changed copy of a field.
func withField(s *schema.Schema, was *schema.Field, change func(*schema.Field)) *schema.Schema {
	field := copied(s, was)
	change(field)
	derived := derive(s)
	if was == s.PrioritizedPrimaryField {
		derived.PrioritizedPrimaryField = field
	}
	derived.PrimaryFields, derived.Fields = replaced(s.PrimaryFields, field), replaced(s.Fields, field)
	for _, byName := range []map[string]*schema.Field{derived.FieldsByName, derived.FieldsByBindName, derived.FieldsByDBName} {
		for name, f := range byName {
			if f == was {
				byName[name] = field
			}
		}
	}
	return derived
}

// copied returns a copy of a field, read under the lock that GORM holds when it writes into a field.
func copied(s *schema.Schema, field *schema.Field) *schema.Field {
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	own := *field
	return &own
}

// replaced returns the fields with another one of the same name for one of them.
func replaced(fields []*schema.Field, by *schema.Field) []*schema.Field {
	fields = slices.Clone(fields)
	for i, f := range fields {
		if f.DBName == by.DBName && f.Name == by.Name && f.BindName() == by.BindName() {
			fields[i] = by
		}
	}
	return fields
}

// withAutoIncrement returns a schema whose primary key is, or is not, one that the database makes.
func withAutoIncrement(s *schema.Schema, on bool) *schema.Schema {
	if s.PrioritizedPrimaryField.HasDefaultValue == on {
		return s
	}
	derived := withField(s, s.PrioritizedPrimaryField, func(primary *schema.Field) { setAutoIncrement(primary, on) })
	derived.FieldsWithDefaultDBValue = withoutPrimary(s)
	if on {
		derived.FieldsWithDefaultDBValue = append(derived.FieldsWithDefaultDBValue, derived.PrioritizedPrimaryField)
	}
	return derived
}

func setAutoIncrement(field *schema.Field, on bool) {
	field.HasDefaultValue, field.AutoIncrement = on, on
}

// withoutPrimary returns the fields of a schema that the database gives a value, but for the primary key.
func withoutPrimary(s *schema.Schema) []*schema.Field {
	return slices.DeleteFunc(slices.Clone(s.FieldsWithDefaultDBValue), func(f *schema.Field) bool { return f == s.PrioritizedPrimaryField })
}

// withoutReturning returns a schema whose INSERT does not return what the database fills in.
func withoutReturning(s *schema.Schema) *schema.Schema {
	if len(readable(s.FieldsWithDefaultDBValue)) == 0 {
		return s
	}
	derived := derive(s)
	derived.FieldsWithDefaultDBValue = nil
	for _, f := range s.FieldsWithDefaultDBValue {
		field := copied(s, f)
		field.Readable = false
		derived.FieldsWithDefaultDBValue = append(derived.FieldsWithDefaultDBValue, field)
	}
	return derived
}

func readable(fields []*schema.Field) (all []*schema.Field) {
	for _, f := range fields {
		if f.Readable && f.DBName != "" {
			all = append(all, f)
		}
	}
	return all
}

// prepare turns auto-increment off in GORM's own schema of a model, so that AutoMigrate makes a plain column.
func (p *Plugin) prepare(db *gorm.DB, model any) error {
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(model); err != nil {
		return fmt.Errorf("gormplugin: prepare %T: %w", model, err)
	}
	plan, err := p.plan(stmt.Schema)
	if err != nil {
		return fmt.Errorf("gormplugin: prepare %T: %w", model, err)
	}
	s := stmt.Schema
	if primary := s.PrioritizedPrimaryField; primary == nil || !primary.AutoIncrement || primary.TagSettings[tag] == "-" {
		return nil
	}
	if p.leavesNarrow(s) {
		return fmt.Errorf("gormplugin: prepare %T: %w: %s", model, ErrKey, narrowText(s))
	}
	if plan == nil || plan.filled == s {
		return fmt.Errorf("gormplugin: prepare %T: %w: nothing fills the key %s; add AllKeys, or the tag `gorm:\"snowkey\"`", model, ErrKey, s.PrioritizedPrimaryField.Name)
	}
	s.FieldsWithDefaultDBValue = withoutPrimary(s)
	setAutoIncrement(s.PrioritizedPrimaryField, false)
	p.plans.Delete(s) // made of what it was
	return nil
}
