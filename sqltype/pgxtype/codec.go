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

// codec is another codec of bigint or uuid, with plans of its own for some types of keys. It has to be the codec: pgx asks it first, then takes a
// sql.Scanner for what it is, and only then looks for wrappers (https://github.com/jackc/pgtype/issues/197).
type codec struct {
	pgtype.Codec
	keys func(reflect.Type) bool
}

func (c codec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if isElement(reflect.TypeOf(value), c.keys) {
		return encodePlan(format)
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

func (c codec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if isTarget(target, c.keys) {
		return scanPlan(format)
	}
	return c.Codec.PlanScan(m, oid, format, target)
}

// textCodec is another codec of text, which also takes keys: pgx's own takes no number.
type textCodec struct{ pgtype.Codec }

func (c textCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if isElement(reflect.TypeOf(value), isKey) {
		return encodePlan(pgtype.TextFormatCode) // what text is in binary too
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

// PlanScan leaves numbers to their method Scan, which reads zeros in front.
func (c textCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if isTarget(target, isOctets) {
		return scanPlan(pgtype.TextFormatCode)
	}
	return c.Codec.PlanScan(m, oid, format, target)
}

// charCodec is a textCodec of char(n), which the server fills up with spaces.
type charCodec struct{ textCodec }

func (c charCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if isTarget(target, isKey) {
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

var (
	keyPackage = reflect.TypeFor[sqltype.ID]().PkgPath()
	ulidType   = reflect.TypeFor[sqltype.ULID]()
)

// Types of keys are those of package sqltype that are an int64, as [sqltype.ID], or 16 bytes, as [sqltype.UUID].
func isNumber(t reflect.Type) bool { return t.Kind() == reflect.Int64 && t.PkgPath() == keyPackage }
func isOctets(t reflect.Type) bool { return t.Kind() == reflect.Array && t.PkgPath() == keyPackage }
func isULID(t reflect.Type) bool   { return t == ulidType }
func isUUID(t reflect.Type) bool   { return isOctets(t) && t != ulidType }
func isKey(t reflect.Type) bool    { return isNumber(t) || isOctets(t) }

// isNull reports whether a type is a sql.Null of a type of keys.
func isNull(t reflect.Type, keys func(reflect.Type) bool) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == "database/sql" && t.NumField() == 2 && keys(t.Field(0).Type)
}

// isElement reports whether a type is one of some keys, a sql.Null of one, or a pointer to either.
func isElement(t reflect.Type, keys func(reflect.Type) bool) bool {
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t != nil && (keys(t) || isNull(t, keys))
}

// isTarget reports whether one of some keys or a sql.Null of one can be scanned into what is a pointer to it.
func isTarget(target any, keys func(reflect.Type) bool) bool {
	t := reflect.TypeOf(target)
	return t != nil && t.Kind() == reflect.Pointer && isElement(t, keys)
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
	switch {
	case isULID(v.Type()):
		return sqltype.ULID(octetsOf(v)).AppendText(buf)
	case v.Kind() == reflect.Array && p == pgtype.BinaryFormatCode:
		id := octetsOf(v)
		return append(buf, id[:]...), nil
	case v.Kind() == reflect.Array:
		return sqltype.UUID(octetsOf(v)).AppendText(buf)
	case p == pgtype.BinaryFormatCode:
		return binary.BigEndian.AppendUint64(buf, uint64(v.Int())), nil
	}
	return strconv.AppendInt(buf, v.Int(), 10), nil
}

// octetsOf returns the bytes of a key of 16.
func octetsOf(v reflect.Value) (id [16]byte) {
	if v.CanAddr() {
		copy(id[:], v.Bytes())
		return id
	}
	for i := range id { // reflect.Copy would allocate
		id[i] = byte(v.Index(i).Uint())
	}
	return id
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
	key := v
	if null {
		key = v.Field(0)
	}
	var err error
	if key.Kind() == reflect.Array {
		err = p.scanOctets(src, key)
	} else {
		err = p.scanNumber(src, key)
	}
	if err == nil && null {
		v.Field(1).SetBool(true)
	}
	return err
}

func (p scanPlan) scanNumber(src []byte, key reflect.Value) error {
	var id sqltype.ID
	if p == pgtype.BinaryFormatCode {
		if len(src) != 8 {
			return fmt.Errorf("%w: %d bytes, want the 8 of a bigint", sqltype.ErrSyntax, len(src))
		}
		id = sqltype.ID(binary.BigEndian.Uint64(src))
	} else if err := id.UnmarshalText(src); err != nil {
		return err
	}
	key.SetInt(int64(id))
	return nil
}

func (p scanPlan) scanOctets(src []byte, key reflect.Value) (err error) {
	var id [16]byte
	switch {
	case isULID(key.Type()):
		id, err = sqltype.ParseULID(string(src))
	case p == pgtype.TextFormatCode:
		id, err = sqltype.ParseUUID(string(src))
	case copy(id[:], src) != len(id) || len(src) != len(id):
		err = fmt.Errorf("%w: %d bytes, want the 16 of a uuid", sqltype.ErrSyntax, len(src))
	}
	if err == nil {
		copy(key.Bytes(), id[:])
	}
	return err
}
