package pgxtype_test

import (
	"database/sql"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowkey-go/snowkey/sqltype"
)

var aUUID = sqltype.UUID{0x01, 0x7f, 0x22, 0xe2, 0x79, 0xb0, 0x7c, 0xc3, 0x98, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f} // RFC 9562, A.6

// Keys of 16 bytes go through every mode of pgx, in columns of uuid, and ULIDs in columns of text. Public ids need no secret.
func TestOctetModes(t *testing.T) {
	onEachMode(t, func(t *testing.T, conn *pgx.Conn) {
		t.Run("UUID", func(t *testing.T) { testOctetMode[sqltype.UUID](t, conn, "uuid") })
		t.Run("UUIDKey", func(t *testing.T) { testOctetMode[sqltype.UUIDKey[user]](t, conn, "uuid") })
		t.Run("PublicUUID", func(t *testing.T) { testOctetMode[sqltype.PublicUUID[model]](t, conn, "uuid") })
		t.Run("UUID in text", func(t *testing.T) { testOctetMode[sqltype.UUID](t, conn, "text") })
		for _, column := range []string{"text", "varchar(26)", "char(26)", "char(30)"} {
			t.Run("ULID in "+column, func(t *testing.T) { testOctetMode[sqltype.ULID](t, conn, column) })
		}
		var uuid pgtype.UUID // pgx's own goes on as before
		if err := conn.QueryRow(t.Context(), "SELECT $1::uuid", pgtype.UUID{Bytes: aUUID, Valid: true}).Scan(&uuid); err != nil || uuid.Bytes != aUUID {
			t.Errorf("pgtype.UUID: got %v, %v", uuid, err)
		}
		var text string
		if err := conn.QueryRow(t.Context(), "SELECT $1::text", sqltype.PublicUUID[model](aUUID)).Scan(&text); err != nil || text != aUUID.String() {
			t.Errorf("PublicUUID as text: got %s, %v", text, err)
		}
	})
}

func testOctetMode[K ~[16]byte](t *testing.T, conn *pgx.Conn, column string) {
	id, other := K(aUUID), K{15: 1}
	valid := sql.Null[K]{V: id, Valid: true}
	back(t, conn, column, id)
	back(t, conn, column, &id)
	back(t, conn, column, (*K)(nil))
	back(t, conn, column, valid)
	back(t, conn, column, &valid)
	back(t, conn, column, sql.Null[K]{})
	back(t, conn, column+"[]", []K{id, other})
	back(t, conn, column+"[]", []K{})
	back(t, conn, column+"[]", []K(nil))
	back(t, conn, column+"[]", [2]K{id, other})
	back(t, conn, column+"[]", []*K{&id, nil})
	back(t, conn, column+"[]", []sql.Null[K]{valid, {}})
	back(t, conn, column+"[]", pgtype.FlatArray[K]{other, id})
	if err := conn.QueryRow(t.Context(), "SELECT NULL::"+column).Scan(&id); !errors.Is(err, sqltype.ErrNull) || id != K(aUUID) {
		t.Errorf("NULL: got %x, %v, want ErrNull", id, err)
	}
	if err := conn.QueryRow(t.Context(), "SELECT 'x'::text").Scan(&id); !errors.Is(err, sqltype.ErrSyntax) || id != K(aUUID) {
		t.Errorf("another text: got %x, %v, want ErrSyntax", id, err)
	}

	table := pgx.Identifier{t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]} // of its own: pgx keeps what it knows of statements
	_, err := conn.Exec(t.Context(), "CREATE TEMPORARY TABLE "+table.Sanitize()+" (id "+column+" PRIMARY KEY, ref "+column+")")
	check(t, err)
	_, err = conn.Exec(t.Context(), "INSERT INTO "+table.Sanitize()+" VALUES ($1, $2), ($3, $4)", id, sql.Null[K]{}, other, &id)
	check(t, err)
	_, err = conn.CopyFrom(t.Context(), table, []string{"id", "ref"}, pgx.CopyFromRows([][]any{{K{15: 2}, nil}, {K{15: 3}, valid}}))
	check(t, err)
	for _, argument := range []any{[]K{id, other, {15: 3}}, [3]K{id, other, {15: 3}}, []*K{&id, &other, {15: 3}, nil}} {
		rows, err := conn.Query(t.Context(), "SELECT id FROM "+table.Sanitize()+" WHERE id = ANY($1) ORDER BY id", argument)
		check(t, err)
		got, err := pgx.CollectRows(rows, pgx.RowTo[K])
		if want := []K{other, {15: 3}, id}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%T: got %x, %v, want %x", argument, got, err, want)
		}
	}
	var ref K
	if err := conn.QueryRow(t.Context(), "SELECT ref FROM "+table.Sanitize()+" WHERE id = $1", other).Scan(&ref); err != nil || ref != id {
		t.Errorf("got %x, %v, want %x", ref, err, id)
	}
}

// The codec allocates nothing, but for a UUID that is read as text. One element of an array costs nothing more.
func TestOctetAllocations(t *testing.T) {
	testOctetAllocations(t, aUUID, pgtype.UUIDOID, pgtype.UUIDArrayOID)
	testOctetAllocations(t, sqltype.PublicUUID[model](aUUID), pgtype.UUIDOID, pgtype.UUIDArrayOID)
	testOctetAllocations(t, sqltype.ULID(aUUID), pgtype.TextOID, pgtype.TextArrayOID)
	testOctetAllocations(t, sqltype.ULID(aUUID), pgtype.VarcharOID, pgtype.VarcharArrayOID)
	testOctetAllocations(t, sqltype.ULID(aUUID), pgtype.BPCharOID, pgtype.BPCharArrayOID)
}

func testOctetAllocations[K ~[16]byte](t *testing.T, id K, oid, arrayOID uint32) {
	t.Helper()
	m, buf := registered(), make([]byte, 0, 8192)
	for name, code := range formats {
		wire, err := m.Encode(oid, code, id, nil)
		check(t, err)
		for _, value := range []any{id, &id, sql.Null[K]{V: id, Valid: true}, &sql.Null[K]{V: id, Valid: true}} {
			if n := testing.AllocsPerRun(100, func() { _, _ = m.Encode(oid, code, value, buf) }); n > 0 {
				t.Errorf("%s of %T: %v allocations", name, value, n)
			}
		}
		var read K
		var null sql.Null[K]
		asText := code == pgtype.TextFormatCode && oid == pgtype.UUIDOID
		for _, target := range []any{&read, &null} {
			plan := m.PlanScan(oid, code, target)
			if n := testing.AllocsPerRun(100, func() { err = plan.Scan(wire, target) }); err != nil || n > 0 && !asText {
				t.Errorf("%s into %T: %v allocations, %v", name, target, n, err)
			}
		}
		if err := m.PlanScan(oid, code, &read).Scan([]byte("x"), &read); !errors.Is(err, sqltype.ErrSyntax) || read != id || null.V != id {
			t.Errorf("%s: got %x and %x, %v", name, read, null.V, err)
		}
	}
	allocs := func(n int) float64 {
		var keys any = slices.Repeat([]K{id}, n)
		return testing.AllocsPerRun(100, func() { _, _ = m.Encode(arrayOID, pgtype.BinaryFormatCode, keys, buf) })
	}
	if ten, hundred := allocs(10), allocs(100); hundred > ten {
		t.Errorf("%T: 10 keys allocate %v times, 100 %v times", id, ten, hundred)
	}
}

func BenchmarkOctets(b *testing.B) {
	m, buf, uuid, ulid := registered(), make([]byte, 0, 64), aUUID, sqltype.ULID(aUUID)
	for _, c := range []struct {
		name  string
		oid   uint32
		value any
	}{{"UUID", pgtype.UUIDOID, uuid}, {"UUIDPointer", pgtype.UUIDOID, &uuid}, {"ULID", pgtype.TextOID, ulid}, {"ULIDPointer", pgtype.TextOID, &ulid}} {
		b.Run("call=Encode/type="+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = m.Encode(c.oid, pgtype.BinaryFormatCode, c.value, buf)
			}
		})
		if reflect.TypeOf(c.value).Kind() != reflect.Pointer {
			continue
		}
		b.Run("call=Scan/type="+c.name, func(b *testing.B) {
			wire, _ := m.Encode(c.oid, pgtype.BinaryFormatCode, c.value, nil)
			plan := m.PlanScan(c.oid, pgtype.BinaryFormatCode, c.value)
			b.ReportAllocs()
			for b.Loop() {
				_ = plan.Scan(wire, c.value)
			}
		})
	}
}
