package database

import (
	"context"

	"github.com/snowkey-go/snowkey/compare/result"
)

// Size takes the size of a table of so many rows, at least one: the bytes of table and indexes, the fill, and the share of the cache, a sample
// each or the reason why there is none. The error says that the database is gone or the context has ended; what the
// database does not tell is a figure with the reason.
func (d *Database) Size(ctx context.Context, table string, rows int) (result.Storage, error) {
	if rows < 1 {
		why := result.Missing("the table has no rows")
		return result.Storage{Table: why, Index: why, Fill: why, CacheUsed: why}, nil
	}
	var w result.Storage
	bytes, index, err := d.engine.tableSize(ctx, table)
	if err != nil {
		missing, err := d.missing(ctx, err)
		if err != nil {
			return result.Storage{}, err
		}
		w.Table, w.Index, w.CacheUsed = missing, missing, missing
	} else {
		w.Table, w.Index = result.Measured(float64(bytes)/float64(rows)), result.Measured(float64(index)/float64(rows))
		cache, err := d.cache(ctx)
		if err != nil {
			return result.Storage{}, err
		}
		if w.CacheUsed = cache; cache.OK() {
			w.CacheUsed = result.Measured(float64(bytes+index) / cache.Samples[0])
		}
	}
	if w.Fill, err = d.engine.fill(ctx, table, rows); err != nil {
		if w.Fill, err = d.missing(ctx, err); err != nil {
			return result.Storage{}, err
		}
	}
	return w, nil
}

// cache is the size of the database's cache.
func (d *Database) cache(ctx context.Context) (result.Figure, error) {
	bytes, err := d.engine.cache(ctx)
	if err != nil {
		return d.missing(ctx, err)
	}
	if bytes <= 0 {
		return result.Missing("the database has no cache of its own"), nil
	}
	return result.Measured(float64(bytes)), nil
}
