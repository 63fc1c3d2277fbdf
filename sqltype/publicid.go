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

// PublicID is an [ID] that the world sees as a public id: the column has 152249823437717504, and JSON, texts and GraphQL have ord_JYZTXD6H1EXM9. T says the
// prefix by a method Prefix, which is called on T's zero value. It is the model itself, or, where that has a field of the name, another type.
//
//	type Order struct {
//		ID     sqltype.PublicID[Order]
//		UserID sqltype.PublicID[User]
//	}
//
//	func (Order) Prefix() string { return "ord" }
//
// The secret is that of [UsePublicIDs]. Without one every conversion is an [ErrNoSecret], and no number is written in its place. A text with another prefix, or of
// a number that the codec refuses, is an [ErrSyntax], which wraps the codec's error too. So nothing of it comes into a statement.
//
// The zero PublicID is no id: null in JSON and GraphQL, the empty text elsewhere. An empty text is not read.
//
// The number stays where no public id belongs: in SQL and its log, gob and BSON, Int64, and in the maps that GORM finds rows into, whose JSON has it too. fmt writes
// the public id with %v and %s, and an error in parentheses in place of one that cannot be made; it writes the number with %d and %#v, and in fields of structs that
// are not exported.
//
// In all else it is what an ID is, but that it has no Time, Parts and Short, which tell what it hides: ID(id) has them.
type PublicID[T interface{ Prefix() string }] int64

var (
	_ value   = PublicID[interface{ Prefix() string }](0)
	_ pointer = (*PublicID[interface{ Prefix() string }])(nil)
)

// ParsePublicID returns the PublicID of a text, as in a URL. The error wraps [ErrSyntax] and that of the codec, or [ErrNoSecret].
func ParsePublicID[T interface{ Prefix() string }](s string) (PublicID[T], error) {
	codec, prefix, err := publicCodecOf[T]()
	if err != nil {
		return 0, err
	}
	n, err := codec.Decode(prefix, s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrSyntax, err)
	case n <= 0:
		return 0, fmt.Errorf("%w: %q, no key has its number", ErrSyntax, clipped(s))
	}
	return PublicID[T](n), nil
}

// Int64 returns the number, which the database has.
func (id PublicID[T]) Int64() int64 { return int64(id) }

// String returns the public id, the empty text for zero, and an error in parentheses, without the number, where there is no public id.
func (id PublicID[T]) String() string { return publicString(id.text()) }

func (id PublicID[T]) text() (string, error) {
	if id == 0 {
		return "", nil
	}
	codec, prefix, err := publicCodecOf[T]()
	if err != nil {
		return "", err
	}
	if id < 0 {
		return "", fmt.Errorf("%w: a negative key has no public id", ErrRange)
	}
	return codec.Encode(prefix, int64(id))
}

// Set parses a text as [ParsePublicID] does, for use as a [flag.Value].
func (id *PublicID[T]) Set(s string) error {
	parsed, err := ParsePublicID[T](s)
	return keep((*int64)(id), int64(parsed), err)
}

// Value gives the database driver an int64.
func (id PublicID[T]) Value() (driver.Value, error) { return int64(id), nil }

// Scan takes an int64, a uint64, or a decimal number as string or []byte from the database, and no public id. NULL is [ErrNull]. After an error the PublicID
// is what it was.
func (id *PublicID[T]) Scan(src any) error { return scan((*int64)(id), src) }

// MarshalText gives the public id, also for the keys of JSON objects, and no text for zero. The error is [ErrNoSecret], [ErrRange] for a negative number, or that
// of the codec. Of a key of a JSON object encoding/json returns the error's text alone, which errors.Is does not know.
func (id PublicID[T]) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// AppendText appends the text of [PublicID.MarshalText] to b.
func (id PublicID[T]) AppendText(b []byte) ([]byte, error) {
	text, err := id.text()
	return append(b, text...), err
}

// UnmarshalText parses a text as [ParsePublicID] does.
func (id *PublicID[T]) UnmarshalText(text []byte) error { return id.Set(string(text)) }

// MarshalJSON gives the public id as a string, and null for zero. The error is that of [PublicID.MarshalText].
func (id PublicID[T]) MarshalJSON() ([]byte, error) { return publicJSON(id.text()) }

// UnmarshalJSON takes a public id as [ParsePublicID] does, and null, which like in any Go value changes nothing. A number is [ErrSyntax].
func (id *PublicID[T]) UnmarshalJSON(data []byte) error { return unmarshalPublicJSON(data, id.Set) }

// MarshalGQLContext writes the public id as a string, and null for zero, for gqlgen, which reports an error at the field. It is that of [PublicID.MarshalText].
func (id PublicID[T]) MarshalGQLContext(_ context.Context, w io.Writer) error {
	text, err := id.text()
	return writePublicJSON(w, text, err)
}

// UnmarshalGQLContext takes a public id as [ParsePublicID] does, for gqlgen. Without a value the error is [ErrNull].
func (id *PublicID[T]) UnmarshalGQLContext(_ context.Context, value any) error {
	return unmarshalPublicGQL(value, id.Set)
}

// GormDataType says that the PublicID is no auto-increment number.
func (PublicID[T]) GormDataType() string { return gormDataType }

// GormDBDataType gives the column's type: integer on SQLite, so that a primary key is the rowid, bigint elsewhere.
func (PublicID[T]) GormDBDataType(db *gorm.DB, _ *schema.Field) string { return gormDBDataType(db) }

// CreateClauses gives GORM what fails an INSERT of a row without a primary key, an [ErrNoKey], where package gormplugin's Plugin is not registered.
func (PublicID[T]) CreateClauses(field *schema.Field) []clause.Interface { return createClauses(field) }
