package gormplugin

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"
)

// row is one row of a statement, and what the plugin knows of its keys.
type row struct {
	value   reflect.Value // a struct, or a map of columns
	missing keySet        // the keys to fill that it lacked when the statement's rows were read
	made    keySet        // the keys that the plugin has set in it
}

// keySet is a set of a plan's keys, by their index.
type keySet uint32

// maxKeys is how many keys a keySet can hold.
const maxKeys = 32

func (s keySet) has(i int) bool { return s>>i&1 != 0 }
func (s *keySet) add(i int)     { *s |= 1 << i }
func (s *keySet) remove(i int)  { *s &^= 1 << i }

// readRows returns the rows in what a statement creates, in their order, in a slice with room for a few. Elements that are nil are left to
// GORM, which refuses them.
func readRows(rows []row, dest any, value reflect.Value) ([]row, error) {
	switch dest := dest.(type) {
	case map[string]any:
		return appendMaps(rows, dest)
	case *map[string]any:
		if dest == nil {
			return nil, nil // GORM has refused it
		}
		return appendMaps(rows, *dest)
	case []map[string]any:
		return appendMaps(rows, dest...)
	case *[]map[string]any:
		if dest == nil {
			return nil, nil
		}
		return appendMaps(rows, *dest...)
	}
	switch value.Kind() {
	case reflect.Struct:
		rows = append(rows, row{value: value})
	case reflect.Slice, reflect.Array:
		if value.Len() > cap(rows) {
			rows = make([]row, 0, value.Len())
		}
		for i := range value.Len() {
			if element := structOf(value.Index(i)); element.IsValid() {
				rows = append(rows, row{value: element})
			}
		}
	}
	return rows, nil
}

func appendMaps(rows []row, maps ...map[string]any) ([]row, error) {
	for i, m := range maps {
		if m == nil {
			return nil, fmt.Errorf("%w: map %d is nil", gorm.ErrInvalidData, i)
		}
		rows = append(rows, row{value: reflect.ValueOf(m)})
	}
	return rows, nil
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

// isMaps reports whether the rows of a statement are maps.
func isMaps(stmt *gorm.Statement) bool {
	switch stmt.Dest.(type) {
	case map[string]any, *map[string]any, []map[string]any, *[]map[string]any:
		return true
	}
	return false
}

// isScannable reports whether GORM can set what RETURNING returns: not in a struct that was passed by value, nor in pointers to pointers.
func isScannable(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Struct:
		return value.CanAddr()
	case reflect.Slice, reflect.Array:
		element := value.Type().Elem()
		return element.Kind() != reflect.Pointer || element.Elem().Kind() != reflect.Pointer
	}
	return true
}

// isPointers reports whether rows are a list of pointers, in which one row may occur several times.
func isPointers(value reflect.Value) bool {
	kind := value.Kind()
	return (kind == reflect.Slice || kind == reflect.Array) && value.Type().Elem().Kind() == reflect.Pointer
}

// columns returns the map of a row, nil of a struct.
func (r *row) columns() map[string]any {
	if r.value.Kind() != reflect.Map {
		return nil
	}
	return r.value.Interface().(map[string]any)
}

// canSet reports whether the row can be written to: a struct that was passed by value cannot.
func (r *row) canSet() bool { return r.value.Kind() == reflect.Map || r.value.CanAddr() }

// isColumn reports whether a name in a map is that of the key.
func (k *key) isColumn(name string) bool {
	if k.field == nil {
		return name == k.column
	}
	field := k.field.Schema.LookUpField(name) // perhaps a copy of the key's
	return name == k.column || field != nil && field.DBName == k.column
}

// inMap reports whether a map has the key. What it has by another name and zero is one column too many then, and taken out.
func (k *key) inMap(columns map[string]any) bool {
	has, zero := false, ""
	for name, value := range columns {
		switch {
		case !k.isColumn(name):
		case isZero(value):
			zero = name
		default:
			has = true
		}
	}
	if has {
		delete(columns, zero)
	}
	return has
}

// setInMap sets the key in a map: by the name that it has there, or else by the column's.
func (k *key) setInMap(columns map[string]any, value any) {
	name := k.column
	if _, ok := columns[name]; !ok {
		for other := range columns {
			if k.isColumn(other) {
				name = other
			}
		}
	}
	k.removeFromMap(columns) // the field's name and the column's are one column
	columns[name] = value
}

func (k *key) removeFromMap(columns map[string]any) {
	for name := range columns {
		if k.isColumn(name) {
			delete(columns, name)
		}
	}
}
