package sqltype

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/crockford"
)

// ULID is a key of 16 bytes that is 26 letters and digits as text, in its column too: a varchar(26), which keeps ULIDs in the order of their time. In all else it is what
// a [UUID] is, zero value included. Who wants 16 bytes in the database takes a UUID and uid.ULID as its source: they have the same bits. On MariaDB
// that field needs the tag `gorm:"type:binary(16)"`, see [UUID.GormValue]. Source: github.com/ulid/spec.
type ULID [16]byte

var _ octetPointer = (*ULID)(nil)

// ParseULID returns the ULID of a text of 26 digits and letters such as 01ARZ3NDEKTSV4RRFFQ69G5FAV, no I, L, O or U; letters may be small. The error wraps
// [ErrSyntax], or [ErrRange] above 7ZZZZZZZZZZZZZZZZZZZZZZZZZ.
func ParseULID(s string) (id ULID, err error) {
	if len(s) != crockford.Length {
		return id, fmt.Errorf("%w: %q, want a ULID of 26 characters", ErrSyntax, clipped(s))
	}
	if s[0] > '7' {
		return id, fmt.Errorf("%w: %q, want at most 7ZZZZZZZZZZZZZZZZZZZZZZZZZ", ErrRange, clipped(s))
	}
	octets, ok := crockford.Parse(crockford.Capital, strings.ToUpper(s))
	if !ok {
		return id, fmt.Errorf("%w: %q, want digits and letters without I, L, O and U", ErrSyntax, clipped(s))
	}
	return octets, nil
}

// MinULID returns the least ULID of a time's millisecond, for ranges of raw SQL. A time before 1970 counts as 1970, one after 10889 as that.
func MinULID(t time.Time) (id ULID) {
	binary.BigEndian.PutUint64(id[:], millisecond(t))
	return id
}

// String returns the 26 digits and capital letters.
func (id ULID) String() string {
	text, _ := id.AppendText(make([]byte, 0, 26)) // never fails
	return string(text)
}

// Time returns when the ULID was made, to the millisecond in UTC.
func (id ULID) Time() time.Time { return timeOf(id) }

// Set parses a text as [ParseULID] does, for use as a [flag.Value].
func (id *ULID) Set(s string) error { return setOctets(id, s, ParseULID) }

// Value gives the database driver the text of [ULID.String].
func (id ULID) Value() (driver.Value, error) { return id.String(), nil }

// Scan takes a text as string or []byte, or 16 bytes, from the database. NULL is [ErrNull]. After an error the ULID is what it was.
func (id *ULID) Scan(src any) error { return scanOctets(id, src, ParseULID) }

// MarshalText gives the text of [ULID.String], in JSON too.
func (id ULID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// AppendText appends the text of [ULID.String] to b.
func (id ULID) AppendText(b []byte) ([]byte, error) {
	return crockford.Append(b, crockford.Capital, id), nil
}

// UnmarshalText parses a text as [ParseULID] does.
func (id *ULID) UnmarshalText(text []byte) error { return setOctets(id, string(text), ParseULID) }

// MarshalGQL writes the text, for gqlgen.
func (id ULID) MarshalGQL(w io.Writer) { _, _ = fmt.Fprintf(w, `"%s"`, id) }

// UnmarshalGQL takes a text as [ParseULID] does. The error wraps [ErrSyntax], [ErrRange] or [ErrNull].
func (id *ULID) UnmarshalGQL(value any) error { return unmarshalOctetsGQL(id, value, ParseULID) }

// GormDataType is the column's type.
func (ULID) GormDataType() string { return "varchar(26)" }

// GormDBDataType gives the column's type.
func (id ULID) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	if column := tagged(field); column != "" {
		return column
	}
	if db.Name() == "sqlite" {
		return onSQLite(id.GormDataType(), field)
	}
	return id.GormDataType()
}

// CreateClauses gives GORM what fails an INSERT of a row without a primary key, an [ErrNoKey], where package gormplugin's Plugin is not registered.
func (ULID) CreateClauses(field *schema.Field) []clause.Interface { return createClauses(field) }
