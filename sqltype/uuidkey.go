package sqltype

import (
	"context"
	"database/sql/driver"
	"io"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// UUIDKey is the [UUID] of a model T, as [Key] is the ID of one: the compiler refuses a UUIDKey[Order] where a UUIDKey[User] belongs.
//
//	type User struct {
//		ID sqltype.UUIDKey[User]
//	}
//
// In all else it is what a UUID is, zero value included. UUIDKey[User](id) and UUID(key) convert.
type UUIDKey[T any] [16]byte

var (
	_ octetPointer = (*UUIDKey[struct{}])(nil)
	_ gorm.Valuer  = UUIDKey[struct{}]{}
)

// ParseUUIDKey returns the UUIDKey of a text as [ParseUUID] does. The error wraps [ErrSyntax].
func ParseUUIDKey[T any](s string) (UUIDKey[T], error) {
	id, err := ParseUUID(s)
	return UUIDKey[T](id), err
}

// String returns the text of [UUID.String].
func (key UUIDKey[T]) String() string { return UUID(key).String() }

// Time returns when a key of version 7 was made, to the millisecond in UTC. Others have the zero time.
func (key UUIDKey[T]) Time() time.Time { return UUID(key).Time() }

// Set parses a text as [ParseUUID] does, for use as a [flag.Value].
func (key *UUIDKey[T]) Set(s string) error { return (*UUID)(key).Set(s) }

// Value gives the database driver the text of [UUID.String].
func (key UUIDKey[T]) Value() (driver.Value, error) { return UUID(key).Value() }

// GormValue gives GORM one parameter of a statement, as that of a UUID does.
func (key UUIDKey[T]) GormValue(ctx context.Context, db *gorm.DB) clause.Expr {
	return UUID(key).GormValue(ctx, db)
}

// Scan takes 16 bytes, or a text as string or []byte from the database. NULL is [ErrNull]. After an error the UUIDKey is what it was.
func (key *UUIDKey[T]) Scan(src any) error { return (*UUID)(key).Scan(src) }

// MarshalText gives the text of [UUID.String], in JSON too.
func (key UUIDKey[T]) MarshalText() ([]byte, error) { return UUID(key).MarshalText() }

// AppendText appends the text of [UUID.String] to b.
func (key UUIDKey[T]) AppendText(b []byte) ([]byte, error) { return UUID(key).AppendText(b) }

// UnmarshalText parses a text as [ParseUUID] does.
func (key *UUIDKey[T]) UnmarshalText(text []byte) error { return (*UUID)(key).UnmarshalText(text) }

// MarshalGQL writes the text, for gqlgen.
func (key UUIDKey[T]) MarshalGQL(w io.Writer) { UUID(key).MarshalGQL(w) }

// UnmarshalGQL takes a text as [ParseUUID] does. The error wraps [ErrSyntax] or [ErrNull].
func (key *UUIDKey[T]) UnmarshalGQL(value any) error { return (*UUID)(key).UnmarshalGQL(value) }

// GormDataType is the column's type where GORM does not ask for that of the database: of a sql.Null.
func (UUIDKey[T]) GormDataType() string { return UUID{}.GormDataType() }

// GormDBDataType gives the column's type, that of a UUID.
func (UUIDKey[T]) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	return UUID{}.GormDBDataType(db, field)
}

// CreateClauses gives GORM what fails an INSERT of a row without a primary key, an [ErrNoKey], where package gormplugin's Plugin is not registered.
func (UUIDKey[T]) CreateClauses(field *schema.Field) []clause.Interface {
	return createClauses(field)
}
