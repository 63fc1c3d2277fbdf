package compare

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// keys makes the keys of one table.
type keys[K any] struct {
	next   func(context.Context) (K, error) // nil: the database makes the keys
	plugin gorm.Plugin                      // sets the keys of rows, nil: Insert does
}

// databaseKeys leaves the keys to the database.
func databaseKeys() (keys[int64], error) { return keys[int64]{}, nil }

// snowflakeKeys has the keys made by a generator of its own and set by the plugin.
func snowflakeKeys() (keys[sqltype.ID], error) {
	generator, err := idgen.New(idgen.WithNode(1)) // any number does: the table is this process's alone
	if err != nil {
		return keys[sqltype.ID]{}, err
	}
	return keys[sqltype.ID]{
		next: func(ctx context.Context) (sqltype.ID, error) {
			id, err := generator.Next(ctx)
			return sqltype.ID(id), err
		},
		plugin: gormplugin.New(gormplugin.From(generator)),
	}, nil
}

// uuidKeys has the keys made by a function of github.com/google/uuid and set like an application would.
func uuidKeys(newUUID func() (uuid.UUID, error)) func() (keys[UUID], error) {
	return func() (keys[UUID], error) {
		return keys[UUID]{next: func(context.Context) (UUID, error) {
			u, err := newUUID()
			return UUID(u), err
		}}, nil
	}
}

// UUID is a UUID as a key column: uuid on PostgreSQL, binary(16) on MySQL and MariaDB, a blob on SQLite.
type UUID [16]byte

// Value gives the database driver the 16 bytes.
func (u UUID) Value() (driver.Value, error) { return u[:], nil }

// Scan takes the 16 bytes, or the text form that PostgreSQL's driver gives.
func (u *UUID) Scan(src any) error {
	var parsed uuid.UUID
	if err := parsed.Scan(src); err != nil || src == nil {
		return fmt.Errorf("compare: %T %v is no UUID", src, src)
	}
	*u = UUID(parsed)
	return nil
}

// GormDBDataType gives the column's type.
func (UUID) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	switch db.Name() {
	case "postgres":
		return "uuid"
	case "mysql":
		return "binary(16)"
	}
	return "blob"
}
