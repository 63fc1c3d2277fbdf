package gormplugin

import (
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// withAutoIncrement returns a schema whose primary key is, or is not, one that the database makes.
func withAutoIncrement(s *schema.Schema, on bool) *schema.Schema {
	if s.PrioritizedPrimaryField.HasDefaultValue == on {
		return s
	}
	field := new(schema.Field)
	s.Relationships.Mux.RLock() // which GORM holds when it writes into a field
	*field = *s.PrioritizedPrimaryField
	s.Relationships.Mux.RUnlock()
	setAutoIncrement(field, on)
	derived := derive(s)
	derived.PrioritizedPrimaryField = field
	derived.PrimaryFields, derived.Fields = replaced(s.PrimaryFields, field), replaced(s.Fields, field)
	for _, byName := range []map[string]*schema.Field{derived.FieldsByName, derived.FieldsByBindName, derived.FieldsByDBName} {
		for name, f := range byName {
			if f == s.PrioritizedPrimaryField {
				byName[name] = field
			}
		}
	}
	derived.FieldsWithDefaultDBValue = withDefault(s, field, on)
	return derived
}

func setAutoIncrement(field *schema.Field, on bool) {
	field.HasDefaultValue, field.AutoIncrement = on, on
}

// withDefault returns the fields of a schema that the database gives a value, with or without its primary key.
func withDefault(s *schema.Schema, primary *schema.Field, on bool) []*schema.Field {
	fields := slices.DeleteFunc(slices.Clone(s.FieldsWithDefaultDBValue), func(f *schema.Field) bool { return f == s.PrioritizedPrimaryField })
	if on {
		fields = append(fields, primary)
	}
	return fields
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
	s.FieldsWithDefaultDBValue = withDefault(s, s.PrioritizedPrimaryField, false)
	setAutoIncrement(s.PrioritizedPrimaryField, false)
	p.plans.Delete(s) // made of what it was
	return nil
}
