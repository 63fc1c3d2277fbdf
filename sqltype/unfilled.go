package sqltype

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// plugin is the name of package gormplugin's Plugin among the plugins of a gorm.DB, and, as the name of a setting in a gorm tag, of what says that
// a key is filled in or not.
const plugin, setting = "snowkey", "SNOWKEY"

// createClauses returns the clause that refuses rows without a key, for a field that is a primary key which nobody but the plugin or the caller
// makes.
func createClauses(field *schema.Field) []clause.Interface {
	if field != field.Schema.PrioritizedPrimaryField || field.HasDefaultValue || field.TagSettings[setting] == "-" {
		return nil
	}
	return []clause.Interface{unfilled{field}}
}

// unfilled is a clause that adds nothing to an INSERT: where the plugin is not registered, it fails one that would write the key 0.
type unfilled struct{ field *schema.Field }

var _ gorm.StatementModifier = unfilled{}

func (unfilled) Name() string               { return "sqltype: key" }
func (unfilled) Build(clause.Builder)       {}
func (unfilled) MergeClause(*clause.Clause) {}

// ModifyStatement is called before each INSERT of the model is built, but for those of Unscoped.
func (u unfilled) ModifyStatement(stmt *gorm.Statement) {
	if _, ok := stmt.Plugins[plugin]; ok || !u.missing(stmt) || !u.written(stmt) {
		return
	}
	_ = stmt.AddError(fmt.Errorf("%w: %s.%s; register the plugin with db.Use(gormplugin.New()), or set the key before the row is created; "+
		"Omit(%q) leaves the key to the database, Unscoped() writes the row as it is", ErrNoKey, stmt.Schema.Name, u.field.Name, u.field.Name))
}

// missing reports whether a row has no key. A map without the column leaves it to the database.
func (u unfilled) missing(stmt *gorm.Statement) bool {
	switch dest := stmt.Dest.(type) {
	case map[string]any:
		return u.missingIn(stmt, dest)
	case *map[string]any:
		return u.missingIn(stmt, *dest)
	case []map[string]any:
		return slices.ContainsFunc(dest, func(m map[string]any) bool { return u.missingIn(stmt, m) })
	case *[]map[string]any:
		return slices.ContainsFunc(*dest, func(m map[string]any) bool { return u.missingIn(stmt, m) })
	}
	switch value := stmt.ReflectValue; value.Kind() {
	case reflect.Struct:
		return u.missingOf(stmt, value)
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			if u.missingOf(stmt, value.Index(i)) {
				return true
			}
		}
	}
	return false
}

func (u unfilled) missingIn(stmt *gorm.Statement, columns map[string]any) bool {
	for name, value := range columns {
		if field := stmt.Schema.LookUpField(name); field != nil && field.DBName == u.field.DBName && isZero(reflect.ValueOf(value)) {
			return true
		}
	}
	return false
}

func (u unfilled) missingOf(stmt *gorm.Statement, row reflect.Value) bool {
	for row.Kind() == reflect.Pointer {
		row = row.Elem()
	}
	if row.Kind() != reflect.Struct { // nil, which GORM refuses
		return false
	}
	value, zero := u.field.ValueOf(stmt.Context, row)
	return zero || isZero(reflect.ValueOf(value))
}

// isZero reports whether a key is 0, nil, or a pointer to 0.
func isZero(value reflect.Value) bool {
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	return !value.IsValid() || value.IsZero()
}

// written reports whether the INSERT writes the key, of a statement with a row that has none.
func (u unfilled) written(stmt *gorm.Statement) bool {
	if !u.field.Creatable {
		return false
	}
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	if selected, named := columns[u.field.DBName]; named {
		return selected && !u.isForeign(stmt.Schema)
	}
	return !restricted && !u.isForeign(stmt.Schema)
}

// isForeign reports whether the key is that of the row which the model belongs to: then it is not the plugin's either.
func (u unfilled) isForeign(s *schema.Schema) bool {
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	return slices.ContainsFunc(s.Relationships.BelongsTo, func(rel *schema.Relationship) bool {
		return slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool { return ref.ForeignKey == u.field })
	})
}
