package pgxtype

import (
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowkey-go/snowkey/sqltype"
)

var (
	_ pgtype.Codec      = uuidCodec{}
	_ pgtype.EncodePlan = uuidEncodePlan(0)
	_ pgtype.ScanPlan   = uuidScanPlan(0)
)

// uuidCodec is another codec of uuid, with plans of its own for a sqltype.UUID, a sql.Null of it, and pointers to these.
type uuidCodec struct{ pgtype.Codec }

func (c uuidCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	switch value.(type) {
	case sqltype.UUID, *sqltype.UUID, sql.Null[sqltype.UUID], *sql.Null[sqltype.UUID]:
		return uuidEncodePlan(format)
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

func (c uuidCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	switch target.(type) {
	case *sqltype.UUID, *sql.Null[sqltype.UUID]:
		return uuidScanPlan(format)
	}
	return c.Codec.PlanScan(m, oid, format, target)
}

// uuidEncodePlan is the format.
type uuidEncodePlan int16

func (p uuidEncodePlan) Encode(value any, buf []byte) ([]byte, error) {
	switch v := value.(type) {
	case sqltype.UUID:
		return p.append(buf, v)
	case *sqltype.UUID:
		if v != nil {
			return p.append(buf, *v)
		}
	case sql.Null[sqltype.UUID]:
		if v.Valid {
			return p.append(buf, v.V)
		}
	case *sql.Null[sqltype.UUID]:
		if v != nil && v.Valid {
			return p.append(buf, v.V)
		}
	}
	return nil, nil
}

func (p uuidEncodePlan) append(buf []byte, id sqltype.UUID) ([]byte, error) {
	if p == pgtype.BinaryFormatCode {
		return append(buf, id[:]...), nil
	}
	return id.AppendText(buf)
}

// uuidScanPlan is the format.
type uuidScanPlan int16

// Scan changes nothing when it returns an error.
func (p uuidScanPlan) Scan(src []byte, target any) error {
	var id sqltype.UUID
	switch {
	case src == nil:
	case p == pgtype.BinaryFormatCode && len(src) == len(id):
		copy(id[:], src)
	case p == pgtype.BinaryFormatCode:
		return fmt.Errorf("%w: %d bytes, want the 16 of a uuid", sqltype.ErrSyntax, len(src))
	default:
		if err := id.UnmarshalText(src); err != nil {
			return err
		}
	}
	switch target := target.(type) {
	case *sqltype.UUID:
		if src == nil {
			return sqltype.ErrNull
		}
		*target = id
	case *sql.Null[sqltype.UUID]:
		*target = sql.Null[sqltype.UUID]{V: id, Valid: src != nil}
	}
	return nil
}
