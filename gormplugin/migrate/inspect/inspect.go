// Package inspect finds what a migration of keys has to know of a database: the keys and how full their types are, every reference to
// them, declared or not, and all that stands in the way. It writes nothing.
package inspect

import (
	"context"
	"errors"

	"gorm.io/gorm"
)

// Options say what to look at.
type Options struct {
	Tables     []string // default: all of the current schema, without those of snowkey itself
	Models     []any    // GORM models, whose relations are references
	References []string // "table.column=table.column" or "table.column:$.json.path=table.column"; with "!" in front: is none
	Sample     int      // values looked at for each undeclared reference; default 1,000
	Progress   func(done, of int, doing string)
}

// Inspect reads the database. It looks at the tables named, and at all tables that refer to them.
func Inspect(ctx context.Context, db *gorm.DB, o Options) (*Report, error) {
	return nil, errors.ErrUnsupported
}
