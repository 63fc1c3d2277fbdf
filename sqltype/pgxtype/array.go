package pgxtype

import (
	"database/sql/driver"
	"reflect"

	"github.com/jackc/pgx/v5/pgtype"
)

// array is an array of keys. Its type is registered as bigint[], for parameters of which pgx knows no other.
type array struct{ pgtype.ArrayGetter }

// tryWrapArray makes an array of what is a slice or an array of keys, or is to pgx, unless it has a Value of its own.
func tryWrapArray(value any) (pgtype.WrappedEncodePlanNextSetter, any, bool) {
	if _, ok := value.(driver.Valuer); ok || value == nil {
		return nil, nil, false
	}
	a, ok := arrayOf(value)
	return new(arrayPlan), a, ok
}

func arrayOf(value any) (array, bool) {
	switch t := reflect.TypeOf(value); t.Kind() {
	case reflect.Slice, reflect.Array:
		return array{elements{reflect.ValueOf(value)}}, isElement(t.Elem())
	}
	if _, ok := value.(array); ok {
		return array{}, false // else a column that is no array is tried until pgx gives up, eight wrappers deep
	}
	getter, ok := value.(pgtype.ArrayGetter)
	return array{getter}, ok && isElement(reflect.TypeOf(getter.IndexType()))
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
