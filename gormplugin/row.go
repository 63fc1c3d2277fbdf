package gormplugin

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// row is one row of a statement: a struct, or a map of columns with the schema it has, if any.
type row struct {
	value   reflect.Value
	columns map[string]any
	schema  *schema.Schema
}

// eachRow calls do for every row of a statement, in order. Elements that are nil are left to GORM, which refuses them by their number.
func eachRow(stmt *gorm.Statement, do func(row) error) error {
	switch dest := stmt.Dest.(type) {
	case map[string]any:
		return eachMap(stmt.Schema, do, dest)
	case *map[string]any:
		if dest == nil {
			return nil // GORM has refused it
		}
		return eachMap(stmt.Schema, do, *dest)
	case []map[string]any:
		return eachMap(stmt.Schema, do, dest...)
	case *[]map[string]any:
		if dest == nil {
			return nil
		}
		return eachMap(stmt.Schema, do, *dest...)
	}
	switch value := stmt.ReflectValue; value.Kind() {
	case reflect.Struct:
		return do(row{value: value})
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			element := value.Index(i)
			for element.Kind() == reflect.Pointer {
				element = element.Elem()
			}
			if element.Kind() != reflect.Struct {
				continue
			}
			if err := do(row{value: element}); err != nil {
				return err
			}
		}
	}
	return nil
}

func eachMap(s *schema.Schema, do func(row) error, maps ...map[string]any) error {
	for i, m := range maps {
		if m == nil {
			return fmt.Errorf("%w: map %d is nil", gorm.ErrInvalidData, i)
		}
		if err := do(row{columns: m, schema: s}); err != nil {
			return err
		}
	}
	return nil
}

// isMaps tells whether the rows of a statement are maps.
func isMaps(stmt *gorm.Statement) bool {
	switch stmt.Dest.(type) {
	case map[string]any, *map[string]any, []map[string]any, *[]map[string]any:
		return true
	}
	return false
}

// isColumn tells whether a name in a map is that of the key.
func (r row) isColumn(k *key, name string) bool {
	if r.schema == nil {
		return name == k.column
	}
	field := r.schema.LookUpField(name) // perhaps a copy of the key's
	return name == k.column || field != nil && field.DBName == k.column
}

// hasColumn tells whether a map has the key. What it has by another name and zero is one column too many then, and taken out.
func (r row) hasColumn(k *key) bool {
	has, zero := false, ""
	for name, value := range r.columns {
		switch {
		case !r.isColumn(k, name):
		case isZero(value):
			zero = name
		default:
			has = true
		}
	}
	if has {
		delete(r.columns, zero)
	}
	return has
}

// setColumn sets the key in a map: by the name that it has there, or else by the column's.
func (r row) setColumn(k *key, value any) {
	name := k.column
	if _, ok := r.columns[name]; !ok {
		for other := range r.columns {
			if r.isColumn(k, other) {
				name = other
			}
		}
	}
	for other := range r.columns {
		if other != name && r.isColumn(k, other) {
			delete(r.columns, other) // the field's name and the column's are one column
		}
	}
	r.columns[name] = value
}

// canSet tells whether the row can be written to: a struct that was passed by value cannot.
func (r row) canSet() bool { return r.columns != nil || r.value.CanAddr() }

// identity tells rows that can be written to from each other.
func (r row) identity() any {
	if r.columns != nil {
		return reflect.ValueOf(r.columns).UnsafePointer()
	}
	return r.value.Addr().UnsafePointer()
}
