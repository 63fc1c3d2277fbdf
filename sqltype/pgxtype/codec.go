package pgxtype

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowkey-go/snowkey/sqltype"
)

var (
	_ pgtype.Codec      = codec{}
	_ pgtype.Codec      = textCodec{}
	_ pgtype.Codec      = charCodec{}
	_ pgtype.EncodePlan = encodePlan(0)
	_ pgtype.ScanPlan   = scanPlan(0)
	_ pgtype.ScanPlan   = charPlan{}
)

// codec is another codec of bigint, with plans of its own for keys. It has to be the codec: pgx asks it first, then takes a
// sql.Scanner for what it is, and only then looks for wrappers (https://github.com/jackc/pgtype/issues/197).
type codec struct{ pgtype.Codec }

func (c codec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if isElement(reflect.TypeOf(value)) {
		return encodePlan(format)
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

func (c codec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if isTarget(target) {
		return scanPlan(format)
	}
	return c.Codec.PlanScan(m, oid, format, target)
}

// isTarget reports whether a key or a sql.Null of one can be scanned into what is a pointer to it.
func isTarget(target any) bool {
	t := reflect.TypeOf(target)
	return t != nil && t.Kind() == reflect.Pointer && (isKey(t.Elem()) || isNull(t.Elem()))
}

// textCodec is another codec of text, which also takes keys: pgx's own takes no number.
type textCodec struct{ pgtype.Codec }

func (c textCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if isElement(reflect.TypeOf(value)) {
		return encodePlan(pgtype.TextFormatCode) // what text is in binary too
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

// charCodec is a textCodec of char(n), which the server fills up with spaces.
type charCodec struct{ textCodec }

func (c charCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if isTarget(target) {
		return charPlan{}
	}
	return c.textCodec.PlanScan(m, oid, format, target)
}

type charPlan struct{}

// Scan changes nothing when it returns an error.
func (charPlan) Scan(src []byte, target any) error {
	for len(src) > 0 && src[len(src)-1] == ' ' { // not bytes.TrimRight, which makes nothing of an empty text
		src = src[:len(src)-1]
	}
	return scanPlan(pgtype.TextFormatCode).Scan(src, target) // which is in binary too
}

var keyPackage = reflect.TypeFor[sqltype.ID]().PkgPath()

// isKey reports whether a type is a type of keys: in package sqltype, these are all that are an int64.
func isKey(t reflect.Type) bool { return t.Kind() == reflect.Int64 && t.PkgPath() == keyPackage }

// isNull reports whether a type is a sql.Null of a type of keys.
func isNull(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == "database/sql" && t.NumField() == 2 && isKey(t.Field(0).Type)
}

// isElement reports whether a type is a key, a sql.Null of one, or a pointer to either.
func isElement(t reflect.Type) bool {
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t != nil && (isKey(t) || isNull(t))
}

// encodePlan is the format. With reflection it is one for all types of keys, which a switch cannot name, and still allocates nothing.
type encodePlan int16

func (p encodePlan) Encode(value any, buf []byte) ([]byte, error) {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct {
		if !v.Field(1).Bool() {
			return nil, nil
		}
		v = v.Field(0)
	}
	if p == pgtype.BinaryFormatCode {
		return binary.BigEndian.AppendUint64(buf, uint64(v.Int())), nil
	}
	return strconv.AppendInt(buf, v.Int(), 10), nil
}

// scanPlan is the format.
type scanPlan int16

// Scan changes nothing when it returns an error.
func (p scanPlan) Scan(src []byte, target any) error {
	v := reflect.ValueOf(target).Elem()
	null := v.Kind() == reflect.Struct
	if src == nil {
		if !null {
			return sqltype.ErrNull
		}
		v.SetZero()
		return nil
	}
	var id sqltype.ID
	if p == pgtype.BinaryFormatCode {
		if len(src) != 8 {
			return fmt.Errorf("%w: %d bytes, want the 8 of a bigint", sqltype.ErrSyntax, len(src))
		}
		id = sqltype.ID(binary.BigEndian.Uint64(src))
	} else if err := id.UnmarshalText(src); err != nil {
		return err
	}
	if null {
		v.Field(1).SetBool(true)
		v = v.Field(0)
	}
	v.SetInt(int64(id))
	return nil
}
