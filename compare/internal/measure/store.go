package measure

import (
	"context"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/result"
)

var _ Store = (*database.Database)(nil)

// Store is the database that a table grows in: [database.Database], where the methods are documented.
type Store interface {
	Session(ctx context.Context) (*gorm.DB, error)
	Settle(ctx context.Context) error
	Meter(ctx context.Context, scope database.Scope) (*database.Meter, error)
	Size(ctx context.Context, table string, rows int) (database.TableSize, error)
	Buffers(ctx context.Context, table, column string) (result.Figure, error)
}
