package gormplugin

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/sqltype"
)

var idType = reflect.TypeFor[sqltype.ID]()

// plan says which field of a schema is the key to fill. It is made once a schema and does not change.
type plan struct {
	field    *schema.Field
	pointer  bool // the field is a *sqltype.ID
	embedded bool // the field is in a struct embedded by pointer, which may be nil
}

// newPlan returns nil when the schema has no key to fill.
func newPlan(s *schema.Schema) *plan {
	field := s.PrioritizedPrimaryField
	if field == nil || isForeignKey(s, field) {
		return nil
	}
	switch field.FieldType {
	case idType, reflect.PointerTo(idType):
		return &plan{
			field:    field,
			pointer:  field.FieldType != idType,
			embedded: slices.ContainsFunc(field.StructField.Index, func(i int) bool { return i < 0 }), // GORM's mark for it
		}
	}
	return nil
}

// isForeignKey tells whether a field refers to the row that the model belongs to.
func isForeignKey(s *schema.Schema, field *schema.Field) bool {
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	return slices.ContainsFunc(s.Relationships.BelongsTo, func(rel *schema.Relationship) bool {
		return slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool { return ref.ForeignKey == field })
	})
}

// selected tells whether the key is among the columns of the statement, and adds it to a list of them that lacks it.
func (p *plan) selected(stmt *gorm.Statement) bool {
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return true
	}
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	selected, named := columns[p.field.DBName]
	if !named && restricted {
		stmt.Selects = append(slices.Clone(stmt.Selects), p.field.DBName) // the session's own list may have room to write into
	}
	return selected || !named
}

// missing counts the rows of the statement that have no key yet.
func (p *plan) missing(stmt *gorm.Statement) (n int, err error) {
	err = p.each(stmt, func(row) error {
		n++
		return nil
	})
	return n, err
}

// set gives each row without a key one of keys, which has as many.
func (p *plan) set(stmt *gorm.Statement, keys []int64) error {
	return p.each(stmt, func(r row) error {
		key := sqltype.ID(keys[0])
		keys = keys[1:]
		return r.set(stmt.Context, p, key)
	})
}

// each calls do for every row of the statement without a key, in order. Elements that are nil are left to GORM, which refuses them
// by their number.
func (p *plan) each(stmt *gorm.Statement, do func(row) error) error {
	switch dest := stmt.Dest.(type) {
	case map[string]any:
		return p.eachMap(stmt.Schema, do, dest)
	case *map[string]any:
		return p.eachMap(stmt.Schema, do, *dest)
	case []map[string]any:
		return p.eachMap(stmt.Schema, do, dest...)
	case *[]map[string]any:
		return p.eachMap(stmt.Schema, do, *dest...)
	}
	switch value := stmt.ReflectValue; value.Kind() {
	case reflect.Struct:
		return p.eachStruct(stmt.Context, do, value)
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			element := value.Index(i)
			for element.Kind() == reflect.Pointer {
				element = element.Elem()
			}
			if element.Kind() != reflect.Struct {
				continue
			}
			if err := p.eachStruct(stmt.Context, do, element); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *plan) eachStruct(ctx context.Context, do func(row) error, value reflect.Value) error {
	if !p.isMissing(ctx, value) {
		return nil
	}
	if !value.CanAddr() {
		return fmt.Errorf("%w: a %s was passed by value, so its key cannot be set; pass a pointer", gorm.ErrInvalidValue, value.Type())
	}
	return do(row{value: value})
}

// isMissing tells whether a struct has no key: zero, nil, or a pointer to zero.
func (p *plan) isMissing(ctx context.Context, value reflect.Value) bool {
	if p.embedded {
		if _, zero := p.field.ValueOf(ctx, value); zero {
			return true // perhaps of a nil struct, which ReflectValueOf would make
		}
	}
	key := p.field.ReflectValueOf(ctx, value)
	if p.pointer {
		return key.IsNil() || key.Elem().Int() == 0
	}
	return key.Int() == 0
}

func (p *plan) eachMap(s *schema.Schema, do func(row) error, maps ...map[string]any) error {
	for i, m := range maps {
		name, preset := p.field.DBName, false
		for k, v := range m {
			if s.LookUpField(k) != p.field {
				continue
			}
			preset = preset || !isZero(v)
			if k != name && isZero(v) {
				if _, both := m[name]; both {
					delete(m, k) // the field's name and the column's are one column
				} else {
					name = k
				}
			}
		}
		if preset {
			continue
		}
		if m == nil {
			return fmt.Errorf("%w: map %d is nil", gorm.ErrInvalidData, i)
		}
		if err := do(row{columns: m, name: name}); err != nil {
			return err
		}
	}
	return nil
}

func isZero(v any) bool {
	value := reflect.ValueOf(v)
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	return !value.IsValid() || value.IsZero()
}

// row is one row without a key: a struct, or a map with the name that its key goes by.
type row struct {
	value   reflect.Value
	columns map[string]any
	name    string
}

func (r row) set(ctx context.Context, p *plan, key sqltype.ID) error {
	if r.columns != nil {
		r.columns[r.name] = key
		return nil
	}
	field := p.field.ReflectValueOf(ctx, r.value)
	if p.pointer {
		if field.IsNil() {
			field.Set(reflect.New(idType))
		}
		field = field.Elem()
	}
	field.SetInt(int64(key))
	return nil
}
