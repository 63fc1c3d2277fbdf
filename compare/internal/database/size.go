package database

import (
	"context"

	"github.com/snowkey-go/snowkey/compare/result"
)

// TableSize is what a table occupies: figures of one sample each, or of the reason why there is none.
type TableSize struct {
	Table     result.Figure // bytes a row; where rows are stored in the primary key's own tree (InnoDB, SQLite's rowid), that tree
	Index     result.Figure // bytes a row of all other trees, the primary key's too where it is one of its own
	Fill      result.Figure // of the primary key's leaf pages, 0 to 1
	CacheUsed result.Figure // table and indexes over the cache of the database
}

// Size takes the size of a table of so many rows, at least one. The error says that the database is gone or the context has ended; what the
// database does not tell is a figure with the reason.
func (d *Database) Size(ctx context.Context, table string, rows int) (TableSize, error) {
	if rows < 1 {
		why := result.Missing("the table has no rows")
		return TableSize{Table: why, Index: why, Fill: why, CacheUsed: why}, nil
	}
	var w TableSize
	bytes, index, err := d.engine.tableSize(ctx, table)
	if err != nil {
		missing, err := d.missing(ctx, err)
		if err != nil {
			return TableSize{}, err
		}
		w.Table, w.Index, w.CacheUsed = missing, missing, missing
	} else {
		w.Table, w.Index = result.Measured(float64(bytes)/float64(rows)), result.Measured(float64(index)/float64(rows))
		cache, err := d.cache(ctx)
		if err != nil {
			return TableSize{}, err
		}
		if w.CacheUsed = cache; cache.OK() {
			w.CacheUsed = result.Measured(float64(bytes+index) / cache.Samples[0])
		}
	}
	if w.Fill, err = d.engine.fill(ctx, table, rows); err != nil {
		if w.Fill, err = d.missing(ctx, err); err != nil {
			return TableSize{}, err
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
