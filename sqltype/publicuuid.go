package sqltype

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// PublicUUID is a [UUID] that the world sees as a public id: the column has 0190163d-8694-739b-aea5-966c26f8ad91, and JSON, texts and GraphQL have the prefix of T, an
// underline, and 26 digits. T, the secret and the errors are those of a [PublicID].
//
//	type Session struct {
//		ID     sqltype.PublicUUID[Session]
//		UserID sqltype.PublicID[User]
//	}
//
//	func (Session) Prefix() string { return "ses" }
//
// With publicid.TypeIDs in place of a secret it is a TypeID, ses_01h455vb4pex5vsknk084sn02q, which hides nothing.
//
// The zero PublicUUID is no id: null in JSON and GraphQL, the empty text elsewhere. An empty text is not read. Go's option omitempty knows no array, omitzero does.
//
// The UUID stays in SQL and its log, gob, and in the maps that GORM finds rows into. fmt writes the public id with %v and %s, and an error in parentheses in place of one
// that cannot be made; it writes the bytes with %d and %#v, and in fields of structs that are not exported.
//
// In all else it is what a UUID is, but that it has no Time: UUID(id) has one.
type PublicUUID[T interface{ Prefix() string }] [16]byte

var (
	_ octetPointer = (*PublicUUID[interface{ Prefix() string }])(nil)
	_ gorm.Valuer  = PublicUUID[interface{ Prefix() string }]{}
)

// ParsePublicUUID returns the PublicUUID of a text, as in a URL. The error wraps [ErrSyntax] and that of the codec, or [ErrNoSecret].
func ParsePublicUUID[T interface{ Prefix() string }](s string) (id PublicUUID[T], err error) {
	codec, prefix, err := publicCodecOf[T]()
	if err != nil {
		return id, err
	}
	octets, err := codec.DecodeUUID(prefix, s)
	switch {
	case err != nil:
		return id, fmt.Errorf("%w: %w", ErrSyntax, err)
	case octets == [16]byte{}:
		return id, fmt.Errorf("%w: %q, no key has its bytes", ErrSyntax, clipped(s))
	}
	return octets, nil
}

// String returns the public id, the empty text for zero, and an error in parentheses, without the UUID, where there is no public id.
func (id PublicUUID[T]) String() string { return publicString(id.text()) }

func (id PublicUUID[T]) text() (string, error) {
	if id == (PublicUUID[T]{}) {
		return "", nil
	}
	codec, prefix, err := publicCodecOf[T]()
	if err != nil {
		return "", err
	}
	return codec.EncodeUUID(prefix, id)
}

// Set parses a text as [ParsePublicUUID] does, for use as a [flag.Value].
func (id *PublicUUID[T]) Set(s string) error { return setOctets(id, s, ParsePublicUUID[T]) }

// Value gives the database driver the text of the UUID.
func (id PublicUUID[T]) Value() (driver.Value, error) { return UUID(id).Value() }

// GormValue gives GORM one parameter of a statement, as that of a UUID does.
func (id PublicUUID[T]) GormValue(ctx context.Context, db *gorm.DB) clause.Expr {
	return UUID(id).GormValue(ctx, db)
}

// Scan takes 16 bytes, or the text of a UUID as string or []byte from the database, and no public id. NULL is [ErrNull]. After an error the PublicUUID is what it was.
func (id *PublicUUID[T]) Scan(src any) error { return (*UUID)(id).Scan(src) }

// MarshalText gives the public id, also for the keys of JSON objects, and no text for zero. The error is [ErrNoSecret], or that of the codec. Of a key of a JSON object
// encoding/json returns the error's text alone, which errors.Is does not know.
func (id PublicUUID[T]) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// AppendText appends the text of [PublicUUID.MarshalText] to b.
func (id PublicUUID[T]) AppendText(b []byte) ([]byte, error) {
	text, err := id.text()
	return append(b, text...), err
}

// UnmarshalText parses a text as [ParsePublicUUID] does.
func (id *PublicUUID[T]) UnmarshalText(text []byte) error { return id.Set(string(text)) }

// MarshalJSON gives the public id as a string, and null for zero. The error is that of [PublicUUID.MarshalText].
func (id PublicUUID[T]) MarshalJSON() ([]byte, error) { return publicJSON(id.text()) }

// UnmarshalJSON takes a public id as [ParsePublicUUID] does, and null, which like in any Go value changes nothing.
func (id *PublicUUID[T]) UnmarshalJSON(data []byte) error { return unmarshalPublicJSON(data, id.Set) }

// MarshalGQLContext writes the public id as a string, and null for zero, for gqlgen, which reports an error at the field. It is that of [PublicUUID.MarshalText].
func (id PublicUUID[T]) MarshalGQLContext(_ context.Context, w io.Writer) error {
	text, err := id.text()
	return writePublicJSON(w, text, err)
}

// UnmarshalGQLContext takes a public id as [ParsePublicUUID] does, for gqlgen. Without a value the error is [ErrNull].
func (id *PublicUUID[T]) UnmarshalGQLContext(_ context.Context, value any) error {
	return unmarshalPublicGQL(value, id.Set)
}

// GormDataType is the column's type where GORM does not ask for that of the database: of a sql.Null.
func (PublicUUID[T]) GormDataType() string { return UUID{}.GormDataType() }

// GormDBDataType gives the column's type, that of a UUID.
func (PublicUUID[T]) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	return UUID{}.GormDBDataType(db, field)
}

// CreateClauses gives GORM what fails an INSERT of a row without a primary key, an [ErrNoKey], where package gormplugin's Plugin is not registered.
func (PublicUUID[T]) CreateClauses(field *schema.Field) []clause.Interface {
	return createClauses(field)
}
