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

// rows are those of a statement.
type rows struct {
	dest   any
	value  reflect.Value
	schema *schema.Schema
}

func rowsOf(stmt *gorm.Statement) rows { return rows{stmt.Dest, stmt.ReflectValue, stmt.Schema} }

// each calls do for every row, in order, with its number. Elements that are nil are left to GORM, which refuses them.
func (of rows) each(do func(number int, r row) error) error {
	switch dest := of.dest.(type) {
	case map[string]any:
		return of.eachMap(do, dest)
	case *map[string]any:
		if dest == nil {
			return nil // GORM has refused it
		}
		return of.eachMap(do, *dest)
	case []map[string]any:
		return of.eachMap(do, dest...)
	case *[]map[string]any:
		if dest == nil {
			return nil
		}
		return of.eachMap(do, *dest...)
	}
	switch of.value.Kind() {
	case reflect.Struct:
		return do(0, row{value: of.value})
	case reflect.Slice, reflect.Array:
		number := 0
		for i := range of.value.Len() {
			element := structOf(of.value.Index(i))
			if !element.IsValid() {
				continue
			}
			if err := do(number, row{value: element}); err != nil {
				return err
			}
			number++
		}
	}
	return nil
}

// structOf returns what an element of a slice is or points to, the zero Value when that is no struct.
func structOf(element reflect.Value) reflect.Value {
	for element.Kind() == reflect.Pointer {
		element = element.Elem()
	}
	if element.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return element
}

func (of rows) eachMap(do func(int, row) error, maps ...map[string]any) error {
	for i, m := range maps {
		if m == nil {
			return fmt.Errorf("%w: map %d is nil", gorm.ErrInvalidData, i)
		}
		if err := do(i, row{columns: m, schema: of.schema}); err != nil {
			return err
		}
	}
	return nil
}

// most is how many rows there are at most.
func (of rows) most() int {
	if kind := of.value.Kind(); kind == reflect.Slice || kind == reflect.Array {
		return of.value.Len()
	}
	return 1
}

// scannable tells whether GORM can set what RETURNING returns: not in a struct that was passed by value, nor in pointers to pointers.
func (of rows) scannable() bool {
	switch of.value.Kind() {
	case reflect.Struct:
		return of.value.CanAddr()
	case reflect.Slice, reflect.Array:
		element := of.value.Type().Elem()
		return element.Kind() != reflect.Pointer || element.Elem().Kind() != reflect.Pointer
	}
	return true
}

// shared tells whether one row may be there several times: in a list of pointers.
func (of rows) shared() bool {
	kind := of.value.Kind()
	return (kind == reflect.Slice || kind == reflect.Array) && of.value.Type().Elem().Kind() == reflect.Pointer
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
