package database

import (
	"context"

	"github.com/snowkey-go/snowkey/compare/result"
)

// Describe returns what the database is: its version, the settings that figures depend on, and its cache. The error wraps [ErrDatabase].
func (d *Database) Describe(ctx context.Context) (result.Database, error) {
	version, settings, err := d.engine.describe(ctx)
	if err != nil {
		return result.Database{}, d.wrap(err)
	}
	cache, err := d.cache(ctx)
	if err != nil {
		return result.Database{}, err
	}
	return result.Database{Name: d.String(), Kind: d.Kind(), Version: version, Private: d.private, Settings: settings, Cache: cache}, nil
}
