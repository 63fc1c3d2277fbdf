package pgxtype_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowkey-go/snowkey/sqltype"
	"github.com/snowkey-go/snowkey/sqltype/pgxtype"
)

const big = 1541815603606036481

type (
	user  struct{ ID sqltype.Key[user] }
	keyID = sqltype.Key[user]
	model struct{ ID sqltype.PublicID[model] }
	mine  sqltype.ID // is no key of package sqltype
)

var formats = map[string]int16{"text": pgtype.TextFormatCode, "binary": pgtype.BinaryFormatCode}

func registered() *pgtype.Map {
	m := pgtype.NewMap()
	pgxtype.Register(m)
	return m
}

func encoded(format int16, n int64) []byte {
	if format == pgtype.BinaryFormatCode {
		return binary.BigEndian.AppendUint64(nil, uint64(n))
	}
	return strconv.AppendInt(nil, n, 10)
}

func (model) Prefix() string { return "mod" }

func TestCodec(t *testing.T) {
	for name, format := range formats {
		t.Run(name, func(t *testing.T) {
			t.Run("ID", func(t *testing.T) { testCodec[sqltype.ID](t, format) })
			t.Run("Key", func(t *testing.T) { testCodec[keyID](t, format) })
			t.Run("Number", func(t *testing.T) { testCodec[sqltype.Number](t, format) })
			t.Run("PublicID", func(t *testing.T) { testCodec[sqltype.PublicID[model]](t, format) })
		})
	}
}

func testCodec[K ~int64](t *testing.T, format int16) {
	m := registered()
	for _, n := range []int64{0, 1, -1, big, -big, math.MaxInt64, math.MinInt64} {
		k := K(n)
		wire := encoded(format, n)
		for _, value := range []any{k, &k, sql.Null[K]{V: k, Valid: true}, &sql.Null[K]{V: k, Valid: true}} {
			got, err := m.Encode(pgtype.Int8OID, format, value, []byte("before"))
			if want := append([]byte("before"), wire...); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%T %d: got %q, %v, want %q", value, n, got, err, want)
			}
		}
		var plain K
		var pointer *K
		null, nullPointer := sql.Null[K]{}, &sql.Null[K]{}
		for _, target := range []any{&plain, &pointer, &null, &nullPointer} {
			if err := m.Scan(pgtype.Int8OID, format, wire, target); err != nil {
				t.Errorf("%T: %v", target, err)
			}
		}
		if want := (sql.Null[K]{V: k, Valid: true}); plain != k || *pointer != k || null != want || *nullPointer != want {
			t.Errorf("%d: got %d, %d, %v, %v", n, plain, *pointer, null, nullPointer)
		}
	}

	for _, value := range []any{(*K)(nil), sql.Null[K]{}, sql.Null[K]{V: 7}, &sql.Null[K]{}, (*sql.Null[K])(nil)} {
		if got, err := m.Encode(pgtype.Int8OID, format, value, []byte("before")); err != nil || got != nil {
			t.Errorf("%T: got %q, %v, want NULL", value, got, err)
		}
	}
	for _, value := range []any{new(*K), new(*sql.Null[K])} {
		if got, err := m.Encode(pgtype.Int8OID, format, value, nil); err != nil || got != nil {
			t.Errorf("%T to nil: got %q, %v, want NULL", value, got, err)
		}
	}
	for _, value := range []any{[]K(nil), new([]K), (*[]K)(nil)} {
		if got, err := m.Encode(pgtype.Int8ArrayOID, format, value, nil); err != nil || got != nil {
			t.Errorf("%T that is nil: got %q, %v, want NULL", value, got, err)
		}
	}
	k, pointer, null := K(7), new(K), sql.Null[K]{V: 7, Valid: true}
	if err := m.Scan(pgtype.Int8OID, format, nil, &k); !errors.Is(err, sqltype.ErrNull) || k != 7 {
		t.Errorf("NULL: got %d, %v, want ErrNull and nothing changed", k, err)
	}
	if err := m.Scan(pgtype.Int8OID, format, nil, &pointer); err != nil || pointer != nil {
		t.Errorf("NULL: got %v, %v, want nil", pointer, err)
	}
	if err := m.Scan(pgtype.Int8OID, format, nil, &null); err != nil || null != (sql.Null[K]{}) {
		t.Errorf("NULL: got %v, %v, want it reset", null, err)
	}

	null = sql.Null[K]{V: 7}
	for _, wire := range [][]byte{{}, {1}, []byte("12345678x"), []byte("1.5"), []byte("99999999999999999999")} {
		err, nullErr := m.Scan(pgtype.Int8OID, format, wire, &k), m.Scan(pgtype.Int8OID, format, wire, &null)
		for _, err := range []error{err, nullErr} {
			if !errors.Is(err, sqltype.ErrSyntax) && !errors.Is(err, sqltype.ErrRange) {
				t.Errorf("%q: got %v, want ErrSyntax or ErrRange", wire, err)
			}
		}
		if k != 7 || null != (sql.Null[K]{V: 7}) {
			t.Errorf("%q: changed to %d, %v by an error", wire, k, null)
		}
	}
}

// A plan neither boxes a key nor lets the buffer escape.
func TestNoAllocation(t *testing.T) {
	for name, format := range formats {
		t.Run(name, func(t *testing.T) {
			t.Run("ID", func(t *testing.T) { testNoAllocation[sqltype.ID](t, format) })
			t.Run("Key", func(t *testing.T) { testNoAllocation[keyID](t, format) })
			t.Run("Number", func(t *testing.T) { testNoAllocation[sqltype.Number](t, format) })
			t.Run("PublicID", func(t *testing.T) { testNoAllocation[sqltype.PublicID[model]](t, format) })
		})
	}
}

func testNoAllocation[K ~int64](t *testing.T, format int16) {
	m, k, null := registered(), K(big), sql.Null[K]{V: big, Valid: true}
	wire, buf := encoded(format, big), make([]byte, 0, 64)
	for _, value := range []any{k, &k, null, &null} {
		plan := m.PlanEncode(pgtype.Int8OID, format, value)
		if allocs := testing.AllocsPerRun(100, func() { _, _ = plan.Encode(value, buf) }); allocs != 0 {
			t.Errorf("encoding %T allocates %v times, want 0", value, allocs)
		}
		if allocs := testing.AllocsPerRun(100, func() { _, _ = m.Encode(pgtype.Int8OID, format, value, buf) }); allocs != 0 {
			t.Errorf("encoding %T through the map allocates %v times, want 0", value, allocs)
		}
	}
	for _, target := range []any{&k, &null} {
		plan := m.PlanScan(pgtype.Int8OID, format, target)
		if allocs := testing.AllocsPerRun(100, func() { _ = plan.Scan(wire, target) }); allocs != 0 {
			t.Errorf("scanning %T allocates %v times, want 0", target, allocs)
		}
	}
}

// One element of an array costs what pgx itself allocates, nothing: here 100 do not cost more than 10.
func TestNoAllocationByElement(t *testing.T) {
	m, buf := registered(), make([]byte, 0, 4096)
	allocs := func(n int) float64 {
		var keys any = slicesOf(n)
		return testing.AllocsPerRun(100, func() { _, _ = m.Encode(pgtype.Int8ArrayOID, pgtype.BinaryFormatCode, keys, buf) })
	}
	if ten, hundred := allocs(10), allocs(100); hundred > ten {
		t.Errorf("10 keys allocate %v times, 100 %v times", ten, hundred)
	}
}

func slicesOf(n int) []keyID {
	keys := make([]keyID, n)
	for i := range keys {
		keys[i] = big + keyID(i)
	}
	return keys
}

// valuer is a slice of keys that says itself what it is to the database.
type valuer []sqltype.ID

func (valuer) Value() (driver.Value, error) { return "{5}", nil }

func TestValueOfASlice(t *testing.T) {
	for _, oid := range []uint32{0, pgtype.Int8ArrayOID} {
		if got, err := registered().Encode(oid, pgtype.TextFormatCode, valuer{1, 2}, nil); err != nil || string(got) != "{5}" {
			t.Errorf("OID %d: got %q, %v, want its Value", oid, got, err)
		}
	}
}

// counting is a codec that was there before.
type counting struct {
	pgtype.Int8Codec
	encodes, scans *int
}

func (c counting) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	*c.encodes++
	return c.Int8Codec.PlanEncode(m, oid, format, value)
}

func (c counting) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	*c.scans++
	return c.Int8Codec.PlanScan(m, oid, format, target)
}

func TestRegisterKeepsAnotherCodec(t *testing.T) {
	var encodes, scans int
	m := pgtype.NewMap()
	m.RegisterType(&pgtype.Type{Name: "int8", OID: pgtype.Int8OID, Codec: counting{encodes: &encodes, scans: &scans}})
	pgxtype.Register(m)
	k := keyID(1)
	if _, err := m.Encode(pgtype.Int8OID, pgtype.BinaryFormatCode, k, nil); err != nil || m.Scan(pgtype.Int8OID, pgtype.BinaryFormatCode, make([]byte, 8), &k) != nil {
		t.Fatal(err)
	}
	if encodes != 0 || scans != 0 {
		t.Errorf("it was asked about a key %d and %d times", encodes, scans)
	}
	var n int64
	if _, err := m.Encode(pgtype.Int8OID, pgtype.BinaryFormatCode, n, nil); err != nil || m.Scan(pgtype.Int8OID, pgtype.BinaryFormatCode, make([]byte, 8), &n) != nil {
		t.Fatal(err)
	}
	if encodes != 1 || scans != 1 {
		t.Errorf("it was asked about an int64 %d and %d times, want once", encodes, scans)
	}
}

func TestRegisterTwice(t *testing.T) {
	m := registered()
	before, _ := m.TypeForOID(pgtype.Int8OID)
	wrappers := len(m.TryWrapEncodePlanFuncs)
	pgxtype.Register(m)
	if after, _ := m.TypeForOID(pgtype.Int8OID); after != before || len(m.TryWrapEncodePlanFuncs) != wrappers {
		t.Errorf("it registered again: %p, %p, %d wrappers, then %d", before, after, wrappers, len(m.TryWrapEncodePlanFuncs))
	}
	if bare, _ := pgtype.NewMap().TypeForOID(pgtype.Int8OID); reflect.TypeOf(bare.Codec) != reflect.TypeFor[pgtype.Int8Codec]() {
		t.Errorf("it registered in all maps: %T", bare.Codec)
	}
}

// database/sql has no arrays; pgx makes a scanner for one of a type that has a name in the map.
func TestSQLScanner(t *testing.T) {
	m := registered()
	m.RegisterDefaultPgType(new([]keyID), "_int8")
	var ids []sqltype.ID
	var pointers []*sqltype.ID
	var keys []keyID
	for _, target := range []any{&ids, &pointers, &keys} {
		if err := m.SQLScanner(target).Scan("{1,1541815603606036481}"); err != nil {
			t.Errorf("%T: %v", target, err)
		}
	}
	if got := fmt.Sprint(ids, *pointers[1], keys); got != "[1 1541815603606036481] 1541815603606036481 [1 1541815603606036481]" {
		t.Errorf("got %s", got)
	}
}

// FuzzScan: what the server may send is a key, which is sent back as the same number, or an error that says why and changes nothing.
func FuzzScan(f *testing.F) {
	for _, wire := range [][]byte{nil, {}, []byte("0"), []byte("-9223372036854775808"), []byte("9223372036854775808"), []byte("12345678"), make([]byte, 8), make([]byte, 9)} {
		f.Add(wire, true)
		f.Add(wire, false)
	}
	m := registered()
	f.Fuzz(func(t *testing.T, wire []byte, isBinary bool) {
		format := int16(pgtype.TextFormatCode)
		if isBinary {
			format = pgtype.BinaryFormatCode
		}
		k := keyID(7)
		null := sql.Null[sqltype.ID]{V: 7, Valid: true}
		err, nullErr := m.Scan(pgtype.Int8OID, format, wire, &k), m.Scan(pgtype.Int8OID, format, wire, &null)
		if wire == nil {
			if !errors.Is(err, sqltype.ErrNull) || nullErr != nil || null.Valid {
				t.Fatalf("NULL: got %v, %v, %v", err, null, nullErr)
			}
			return
		}
		if (err == nil) != (nullErr == nil) || null.V != sqltype.ID(k) || !null.Valid {
			t.Fatalf("%q: got %d, %v, and %v, %v", wire, k, err, null, nullErr)
		}
		if err != nil {
			if k != 7 || !errors.Is(err, sqltype.ErrSyntax) && !errors.Is(err, sqltype.ErrRange) {
				t.Fatalf("%q: got %d, %v", wire, k, err)
			}
			return
		}
		back, err := m.Encode(pgtype.Int8OID, format, k, nil)
		if err != nil || isBinary && !bytes.Equal(back, wire) || !isBinary && string(back) != k.String() {
			t.Fatalf("%q: read as %d, sent as %q, %v", wire, k, back, err)
		}
		var n int64
		if err := m.Scan(pgtype.Int8OID, format, wire, &n); err != nil || n != k.Int64() {
			t.Fatalf("%q: got %d, an int64 %d, %v", wire, k, n, err)
		}
	})
}
