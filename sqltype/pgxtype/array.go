package pgxtype

import (
	"database/sql/driver"
	"reflect"

	"github.com/jackc/pgx/v5/pgtype"
)

// Arrays of keys. The types are registered as bigint[], uuid[] and text[], for parameters of which pgx knows no other.
type (
	numbers struct{ pgtype.ArrayGetter }
	uuids   struct{ pgtype.ArrayGetter }
	ulids   struct{ pgtype.ArrayGetter }
)

// tryWrapArray makes an array of what is a slice or an array of keys, or is to pgx, unless it has a Value of its own.
func tryWrapArray(value any) (pgtype.WrappedEncodePlanNextSetter, any, bool) {
	if _, ok := value.(driver.Valuer); ok || value == nil {
		return nil, nil, false
	}
	a, ok := arrayOf(value)
	return new(arrayPlan), a, ok
}

func arrayOf(value any) (any, bool) {
	switch t := reflect.TypeOf(value); t.Kind() {
	case reflect.Slice, reflect.Array:
		return arrayTo(elements{reflect.ValueOf(value)}, t.Elem())
	}
	switch value := value.(type) {
	case numbers, uuids, ulids:
		return nil, false // else a column that is no array is tried until pgx gives up, eight wrappers deep
	case pgtype.ArrayGetter:
		return arrayTo(value, reflect.TypeOf(value.IndexType()))
	}
	return nil, false
}

func arrayTo(of pgtype.ArrayGetter, element reflect.Type) (any, bool) {
	switch {
	case isElement(element, isNumber):
		return numbers{of}, true
	case isElement(element, isUUID):
		return uuids{of}, true
	}
	return ulids{of}, isElement(element, isULID)
}

type arrayPlan struct{ next pgtype.EncodePlan }

func (p *arrayPlan) SetNext(next pgtype.EncodePlan) { p.next = next }

func (p *arrayPlan) Encode(value any, buf []byte) ([]byte, error) {
	a, _ := arrayOf(value)
	return p.next.Encode(a, buf)
}

// elements is a slice or an array, which gives pointers to its elements where it can, since values of interfaces are allocated.
type elements struct{ reflect.Value }

func (e elements) Dimensions() []pgtype.ArrayDimension {
	if e.Kind() == reflect.Slice && e.IsNil() {
		return nil
	}
	return []pgtype.ArrayDimension{{Length: int32(e.Len()), LowerBound: 1}}
}

func (e elements) Index(i int) any { return e.element(e.Value.Index(i)) }

func (e elements) IndexType() any { return e.element(reflect.New(e.Type().Elem()).Elem()) }

func (e elements) element(v reflect.Value) any {
	if e.Kind() == reflect.Slice && v.Kind() != reflect.Pointer {
		return v.Addr().Interface()
	}
	return v.Interface()
}
