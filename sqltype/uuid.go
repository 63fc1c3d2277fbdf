package sqltype

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// UUID is a key of 16 bytes, of which package gormplugin makes those of version 7. Its zero value is no key: a model with it gets one when it is created. It
// converts to and from other packages' types of 16 bytes: uuid.UUID(id), sqltype.UUID(other). As any other Go value it must not be written while others use it.
//
//	type Session struct {
//		ID sqltype.UUID
//	}
//
// Its column is a uuid on PostgreSQL and on MariaDB from 10.11.5 on, a BINARY(16) on MySQL and older MariaDB, text on SQLite, or what the tag `gorm:"type:…"` says;
// all keep those of version 7 in the order of their time. On MySQL and MariaDB it must be a uuid or a BINARY(16): GORM's statements compare and write 16 bytes
// there, which a CHAR(36) takes for another text. A column of text has a field of type string or of another package's type, which a tag has filled.
//
// The driver is given the text, so that a BINARY(16) takes it of GORM's statements alone. For database/sql it is id[:]; the text in a map, in a
// sql.Null or of another type finds no row there.
type UUID [16]byte

var (
	_ octetPointer = (*UUID)(nil)
	_ gorm.Valuer  = UUID{}
)

// ParseUUID returns the UUID of a text of 36 characters such as 0190163d-8694-739b-aea5-966c26f8ad91, with hyphens and no braces; letters may be capital. The
// error wraps [ErrSyntax].
func ParseUUID(s string) (id UUID, err error) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, fmt.Errorf("%w: %q, want a UUID of 36 characters with hyphens", ErrSyntax, clipped(s))
	}
	digits := make([]byte, 0, 32)
	for _, group := range []string{s[:8], s[9:13], s[14:18], s[19:23], s[24:]} {
		digits = append(digits, group...)
	}
	if _, err := hex.Decode(id[:], digits); err != nil {
		return UUID{}, fmt.Errorf("%w: %q, want hexadecimal digits between hyphens", ErrSyntax, clipped(s))
	}
	return id, nil
}

// MinUUID returns the least UUID of version 7 of a time's millisecond, for ranges of raw SQL. A time before 1970 counts as 1970, one after 10889 as that.
func MinUUID(t time.Time) (id UUID) {
	binary.BigEndian.PutUint64(id[:], millisecond(t)|0x7000)
	id[8] = 0x80
	return id
}

// String returns the UUID as RFC 9562 writes it, with small letters.
func (id UUID) String() string {
	text, _ := id.AppendText(make([]byte, 0, 36)) // never fails
	return string(text)
}

// Time returns when a UUID of version 7 was made, to the millisecond in UTC. Others have the zero time.
func (id UUID) Time() time.Time {
	if id[6]>>4 != 7 {
		return time.Time{}
	}
	return timeOf(id)
}

// Set parses a text as [ParseUUID] does, for use as a [flag.Value].
func (id *UUID) Set(s string) error { return setOctets(id, s, ParseUUID) }

// Value gives the database driver the text of [UUID.String].
func (id UUID) Value() (driver.Value, error) { return id.String(), nil }

// GormValue gives GORM one parameter of a statement. On MySQL and MariaDB it is the 16 bytes, which columns of BINARY(16) and of MariaDB's uuid take. MariaDB's uuid
// does not keep some that are no UUID of the versions 1 to 7, such as a quarter of ULIDs: it refuses to write them, and finds no row with them.
func (id UUID) GormValue(_ context.Context, db *gorm.DB) clause.Expr {
	if db.Name() == "mysql" {
		// As a parameter, MariaDB would read the bytes in the session's character set when it compares them with a uuid, and find no row.
		expr := clause.Expr{SQL: "UNHEX(?)", Vars: []any{hex.EncodeToString(id[:])}}
		if !id.keptByMariaDB() && hasUUID(db.Dialector) { // a text of 16 characters, which a uuid refuses and a BINARY(16) takes for bytes
			expr.SQL = "CONVERT(UNHEX(?) USING latin1)"
		}
		return expr
	}
	return clause.Expr{SQL: "?", Vars: []any{id.String()}}
}

// Scan takes 16 bytes, or a text as string or []byte from the database. NULL is [ErrNull]. After an error the UUID is what it was.
func (id *UUID) Scan(src any) error { return scanOctets(id, src, ParseUUID) }

// MarshalText gives the text of [UUID.String], in JSON too.
func (id UUID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// AppendText appends the text of [UUID.String] to b.
func (id UUID) AppendText(b []byte) ([]byte, error) {
	b = hex.AppendEncode(b, id[:4])
	for _, group := range [][]byte{id[4:6], id[6:8], id[8:10], id[10:]} {
		b = hex.AppendEncode(append(b, '-'), group)
	}
	return b, nil
}

// UnmarshalText parses a text as [ParseUUID] does.
func (id *UUID) UnmarshalText(text []byte) error { return setOctets(id, string(text), ParseUUID) }

// MarshalGQL writes the text, for gqlgen.
func (id UUID) MarshalGQL(w io.Writer) { _, _ = fmt.Fprintf(w, `"%s"`, id) }

// UnmarshalGQL takes a text as [ParseUUID] does. The error wraps [ErrSyntax] or [ErrNull].
func (id *UUID) UnmarshalGQL(value any) error { return unmarshalOctetsGQL(id, value, ParseUUID) }

// GormDataType is the column's type where GORM does not ask for that of the database: of a sql.Null.
func (UUID) GormDataType() string { return "uuid" }

// GormDBDataType gives the column's type.
func (UUID) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	switch {
	case tagged(field) != "":
		return tagged(field)
	case db.Name() == "sqlite":
		return onSQLite("text", field)
	case db.Name() == "mysql" && !hasUUID(db.Dialector):
		return "binary(16)"
	}
	return "uuid"
}

// CreateClauses gives GORM what fails an INSERT of a row without a primary key, an [ErrNoKey], where package gormplugin's Plugin is not registered.
func (UUID) CreateClauses(field *schema.Field) []clause.Interface { return createClauses(field) }

// keptByMariaDB reports whether a column of MariaDB's type uuid returns the bytes that it was given: 10.11.19 did so with these alone, of all pairs of the two
// bytes, and refused the texts of the others. It turns groups of bytes round by the version when it writes, and back by what it then takes for the version.
func (id UUID) keptByMariaDB() bool { return id[6] < 0x80 || id[8] == 0 || id[8] > 0x80 }

// hasUUID reports whether a server is a MariaDB whose uuid keeps those of version 7 in their order: 10.11.5, 11.0.3 and 11.1.2 are the first (MDEV-29959). GORM's
// driver has the version in a field, and no method for it.
func hasUUID(dialector gorm.Dialector) bool {
	of := reflect.Indirect(reflect.ValueOf(dialector))
	if of.Kind() != reflect.Struct {
		return false
	}
	field, ok := of.Type().FieldByName("ServerVersion")
	if !ok || field.Type.Kind() != reflect.String {
		return false
	}
	value, err := of.FieldByIndexErr(field.Index)
	if err != nil || !strings.Contains(value.String(), "MariaDB") {
		return false
	}
	var version [3]int
	_, _ = fmt.Sscanf(strings.TrimPrefix(value.String(), "5.5.5-"), "%d.%d.%d", &version[0], &version[1], &version[2])
	least := [3]int{10, 11, 5}
	if version[0] == 11 && version[1] < 2 {
		least = [3]int{11, version[1], 3 - version[1]}
	}
	return slices.Compare(version[:], least[:]) >= 0
}
