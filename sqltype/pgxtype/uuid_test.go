package pgxtype_test

import (
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowkey-go/snowkey/sqltype"
)

var aUUID = sqltype.UUID{0x01, 0x7f, 0x22, 0xe2, 0x79, 0xb0, 0x7c, 0xc3, 0x98, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f} // RFC 9562, A.6

// A UUID goes through every mode of pgx, as do ULIDs, which are text to it.
func TestUUIDModes(t *testing.T) {
	onEachMode(t, func(t *testing.T, conn *pgx.Conn) {
		id, other := aUUID, sqltype.UUID{15: 1}
		back(t, conn, "uuid", id)
		back(t, conn, "uuid", &id)
		back(t, conn, "uuid", (*sqltype.UUID)(nil))
		back(t, conn, "uuid", sql.Null[sqltype.UUID]{V: id, Valid: true})
		back(t, conn, "uuid", &sql.Null[sqltype.UUID]{V: id, Valid: true})
		back(t, conn, "uuid", sql.Null[sqltype.UUID]{})
		back(t, conn, "uuid[]", []sqltype.UUID{id, other})
		back(t, conn, "uuid[]", []sqltype.UUID{})
		back(t, conn, "uuid[]", []*sqltype.UUID{&id, nil})
		back(t, conn, "varchar(26)", sqltype.ULID(id))
		back(t, conn, "text", id)

		if err := conn.QueryRow(t.Context(), "SELECT NULL::uuid").Scan(&id); !errors.Is(err, sqltype.ErrNull) || id != aUUID {
			t.Errorf("NULL: got %s, %v, want ErrNull", id, err)
		}
		var uuid pgtype.UUID // pgx's own goes on as before
		if err := conn.QueryRow(t.Context(), "SELECT $1::uuid", pgtype.UUID{Bytes: id, Valid: true}).Scan(&uuid); err != nil || uuid.Bytes != id {
			t.Errorf("pgtype.UUID: got %v, %v", uuid, err)
		}
		_, err := conn.Exec(t.Context(), "CREATE TEMPORARY TABLE u (id uuid PRIMARY KEY, ref uuid)")
		check(t, err)
		_, err = conn.Exec(t.Context(), "INSERT INTO u VALUES ($1, $2), ($3, $4)", id, sql.Null[sqltype.UUID]{}, other, &id)
		check(t, err)
		_, err = conn.CopyFrom(t.Context(), pgx.Identifier{"u"}, []string{"id", "ref"}, pgx.CopyFromRows([][]any{{sqltype.UUID{15: 2}, nil}, {sqltype.UUID{15: 3}, sql.Null[sqltype.UUID]{V: id, Valid: true}}}))
		check(t, err)
		rows, err := conn.Query(t.Context(), "SELECT id FROM u WHERE id = ANY($1) ORDER BY id", []sqltype.UUID{id, other, {15: 3}})
		check(t, err)
		got, err := pgx.CollectRows(rows, pgx.RowTo[sqltype.UUID])
		if want := []sqltype.UUID{other, {15: 3}, id}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	})
}

// The codec allocates nothing, in either format.
func TestUUIDAllocations(t *testing.T) {
	m, buf, id := registered(), make([]byte, 0, 64), aUUID
	for name, code := range formats {
		wire, err := m.Encode(pgtype.UUIDOID, code, &id, buf)
		check(t, err)
		encode, plan := m.PlanEncode(pgtype.UUIDOID, code, &id), m.PlanScan(pgtype.UUIDOID, code, &id)
		if n := testing.AllocsPerRun(100, func() {
			_, _ = encode.Encode(&id, wire[len(wire):])
			if err := plan.Scan(wire, &id); err != nil {
				t.Error(err)
			}
		}); code == pgtype.BinaryFormatCode && n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if err := plan.Scan([]byte("x"), &id); !errors.Is(err, sqltype.ErrSyntax) || id != aUUID {
			t.Errorf("%s: got %s, %v", name, id, err)
		}
	}
}
