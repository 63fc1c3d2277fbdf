package gormplugin

import (
	"maps"

	"gorm.io/gorm/schema"
)

// derive returns a copy of a schema, to be changed: GORM shares a schema among all statements and reads it without a lock. What the copy
// lacks is private to GORM: the naming strategy, so that LookUpField finds fields by their names and their columns' alone.
func derive(s *schema.Schema) *schema.Schema {
	derived := &schema.Schema{
		Name: s.Name, ModelType: s.ModelType, Table: s.Table,
		PrioritizedPrimaryField:  s.PrioritizedPrimaryField,
		DBNames:                  s.DBNames,
		PrimaryFields:            s.PrimaryFields,
		PrimaryFieldDBNames:      s.PrimaryFieldDBNames,
		Fields:                   s.Fields,
		FieldsByName:             maps.Clone(s.FieldsByName),
		FieldsByBindName:         maps.Clone(s.FieldsByBindName),
		FieldsByDBName:           maps.Clone(s.FieldsByDBName),
		FieldsWithDefaultDBValue: s.FieldsWithDefaultDBValue,
		CreateClauses:            s.CreateClauses, QueryClauses: s.QueryClauses, UpdateClauses: s.UpdateClauses, DeleteClauses: s.DeleteClauses,
		BeforeCreate: s.BeforeCreate, AfterCreate: s.AfterCreate, BeforeUpdate: s.BeforeUpdate, AfterUpdate: s.AfterUpdate,
		BeforeDelete: s.BeforeDelete, AfterDelete: s.AfterDelete, BeforeSave: s.BeforeSave, AfterSave: s.AfterSave, AfterFind: s.AfterFind,
	}
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	derived.Relationships = schema.Relationships{
		HasOne: s.Relationships.HasOne, BelongsTo: s.Relationships.BelongsTo, HasMany: s.Relationships.HasMany, Many2Many: s.Relationships.Many2Many,
		Relations: maps.Clone(s.Relationships.Relations), EmbeddedRelations: maps.Clone(s.Relationships.EmbeddedRelations),
	}
	return derived
}

// withoutReturning returns a schema of which no INSERT returns what the database fills in.
func withoutReturning(s *schema.Schema) *schema.Schema {
	if len(readable(s.FieldsWithDefaultDBValue)) == 0 {
		return s
	}
	derived := derive(s)
	derived.FieldsWithDefaultDBValue = nil
	s.Relationships.Mux.RLock() // which GORM holds when it writes into a field
	defer s.Relationships.Mux.RUnlock()
	for _, f := range s.FieldsWithDefaultDBValue {
		field := *f
		field.Readable = false
		derived.FieldsWithDefaultDBValue = append(derived.FieldsWithDefaultDBValue, &field)
	}
	return derived
}

// withPinned returns a schema of which no upsert writes a column of the row that is there, when it is to write all.
func withPinned(s *schema.Schema, column string) *schema.Schema {
	was := s.FieldsByDBName[column]
	s.Relationships.Mux.RLock()
	field := new(schema.Field)
	*field = *was
	s.Relationships.Mux.RUnlock()
	field.Updatable = false
	derived := derive(s)
	derived.Fields = replaced(s.Fields, field)
	for _, byName := range []map[string]*schema.Field{derived.FieldsByName, derived.FieldsByBindName, derived.FieldsByDBName} {
		for name, f := range byName {
			if f == was {
				byName[name] = field
			}
		}
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
