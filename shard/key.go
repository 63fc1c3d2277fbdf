package shard

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"
)

// maxDepth is how many pointers lead to a sharding key at most; a type can be a pointer to itself.
const maxDepth = 8

var valuer = reflect.TypeFor[driver.Valuer]()

// plain returns what a sharding key comes to: an integer, a string, bytes or an array of bytes. The error wraps [ErrKey].
func plain(key any) (reflect.Value, error) {
	v := reflect.ValueOf(key)
	for range maxDepth {
		switch v.Kind() {
		case reflect.Invalid:
			return v, fmt.Errorf("%w: nil", ErrKey)
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
			reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.String:
			return v, nil
		case reflect.Array:
			if v.Type().Elem().Kind() == reflect.Uint8 {
				return v, nil
			}
		case reflect.Slice:
			if v.Type().Elem().Kind() != reflect.Uint8 {
				break
			}
			if v.IsNil() {
				return v, fmt.Errorf("%w: %s of nil", ErrKey, v.Type())
			}
			return v, nil
		case reflect.Struct:
			// Not by its Value, which some versions of Go make of the Value of what is in it: of a UUID the text, others the bytes.
			if t := v.Type(); t.PkgPath() == "database/sql" && strings.HasPrefix(t.Name(), "Null[") {
				if !v.FieldByName("Valid").Bool() {
					return v, fmt.Errorf("%w: NULL, as %s", ErrKey, t)
				}
				v = v.FieldByName("V")
				continue
			}
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				return v, fmt.Errorf("%w: %s of nil", ErrKey, v.Type())
			}
			// With a value that is not for a sum, but may be with its pointer's methods.
			if e := v.Elem(); e.Kind() != reflect.Struct || !v.Type().Implements(valuer) || e.Type().Implements(valuer) {
				v = e
				continue
			}
		}
		return value(v)
	}
	return v, fmt.Errorf("%w: %T, more than %d pointers", ErrKey, key, maxDepth)
}

// value returns what a [driver.Valuer] gives to the database.
func value(v reflect.Value) (reflect.Value, error) {
	if !v.Type().Implements(valuer) || !v.CanInterface() {
		return v, fmt.Errorf("%w: %s is no integer, string or bytes", ErrKey, v.Type())
	}
	got, err := v.Interface().(driver.Valuer).Value()
	if err != nil {
		return v, fmt.Errorf("%w: %s: %w", ErrKey, v.Type(), err)
	}
	if octets, ok := got.([]byte); got == nil || ok && octets == nil {
		return v, fmt.Errorf("%w: NULL, as %s", ErrKey, v.Type())
	}
	switch got.(type) {
	case int64, string, []byte:
		return reflect.ValueOf(got), nil
	}
	return v, fmt.Errorf("%w: %s with a value of type %T is no integer, string or bytes", ErrKey, v.Type(), got)
}
