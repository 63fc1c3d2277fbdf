package pgxtype

import (
	"database/sql"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowkey-go/snowkey/sqltype"
)

// Register makes a map encode and scan all types of keys in package sqltype. A second call changes nothing.
//
// A map belongs to its connection, and is as little safe for concurrent use: call it before the connection's first query.
func Register(m *pgtype.Map) {
	bigint, _ := m.TypeForOID(pgtype.Int8OID) // every map knows these types
	if _, ok := bigint.Codec.(codec); ok {
		return
	}
	m.RegisterType(&pgtype.Type{Name: bigint.Name, OID: bigint.OID, Codec: codec{bigint.Codec, isNumber}})
	uuid, _ := m.TypeForOID(pgtype.UUIDOID)
	m.RegisterType(&pgtype.Type{Name: uuid.Name, OID: uuid.OID, Codec: codec{uuid.Codec, isUUID}})
	for _, oid := range []uint32{pgtype.TextOID, pgtype.VarcharOID} {
		text, _ := m.TypeForOID(oid)
		m.RegisterType(&pgtype.Type{Name: text.Name, OID: oid, Codec: textCodec{text.Codec}})
	}
	char, _ := m.TypeForOID(pgtype.BPCharOID)
	m.RegisterType(&pgtype.Type{Name: char.Name, OID: char.OID, Codec: charCodec{textCodec{char.Codec}}})
	m.TryWrapEncodePlanFuncs = slices.Insert(m.TryWrapEncodePlanFuncs, 0, tryWrapArray)

	// For a parameter that the server was not asked about, and for Map.SQLScanner.
	for name, values := range map[string][]any{
		"_int8": {numbers{}, []sqltype.ID{}, new([]sqltype.ID), []*sqltype.ID{}, new([]*sqltype.ID)},
		"uuid":  {sqltype.UUID{}, new(sqltype.UUID), sql.Null[sqltype.UUID]{}},
		"_uuid": {uuids{}, []sqltype.UUID{}, new([]sqltype.UUID), []*sqltype.UUID{}, new([]*sqltype.UUID)},
		"text":  {sqltype.ULID{}, new(sqltype.ULID), sql.Null[sqltype.ULID]{}},
		"_text": {ulids{}, []sqltype.ULID{}, new([]sqltype.ULID), []*sqltype.ULID{}, new([]*sqltype.ULID)},
	} {
		for _, value := range values {
			m.RegisterDefaultPgType(value, name)
		}
	}
}
