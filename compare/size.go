package compare

import (
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/internal/dsn"
)

// size is what a table occupies, in bytes. Where rows are stored in the primary key's own tree (InnoDB, SQLite's rowid), that tree
// is the table.
type size struct{ table, indexes int64 }

// size weighs a table.
func (d *Database) size(ctx context.Context, table string) (size, error) {
	switch d.dsn.Kind {
	case dsn.MySQL:
		return d.sizeMySQL(ctx, table)
	case dsn.Postgres:
		return d.sizePostgres(ctx, table)
	}
	return d.sizeSQLite(ctx, table)
}

func (d *Database) sizePostgres(ctx context.Context, table string) (s size, err error) {
	row := d.db.WithContext(ctx).Raw("SELECT pg_relation_size(?::regclass), pg_indexes_size(?::regclass)", table, table).Row()
	return s, row.Scan(&s.table, &s.indexes)
}

// sizeMySQL takes the pages that InnoDB has reserved for each index from its persistent statistics, or, without the right to read
// those, from the information schema.
func (d *Database) sizeMySQL(ctx context.Context, table string) (s size, err error) {
	db := d.db.WithContext(ctx)
	if err := db.Exec("ANALYZE TABLE `" + table + "`").Error; err != nil {
		return size{}, err
	}
	const pages = `SELECT COALESCE(SUM(IF(index_name = 'PRIMARY', stat_value, 0)), 0) * @@innodb_page_size,
		COALESCE(SUM(IF(index_name = 'PRIMARY', 0, stat_value)), 0) * @@innodb_page_size
		FROM mysql.innodb_index_stats WHERE database_name = DATABASE() AND table_name = ? AND stat_name = 'size'`
	if err := db.Raw(pages, table).Row().Scan(&s.table, &s.indexes); err == nil && s.table > 0 {
		return s, nil
	}
	const schema = "SELECT data_length, index_length FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?"
	return s, db.Raw(schema, table).Row().Scan(&s.table, &s.indexes)
}

// sizeSQLite counts the pages of each b-tree in the file.
func (d *Database) sizeSQLite(ctx context.Context, table string) (s size, err error) {
	db := d.db.WithContext(ctx)
	var path string
	if err := db.Raw("SELECT file FROM pragma_database_list WHERE name = 'main'").Row().Scan(&path); err != nil {
		return size{}, err
	}
	if path == "" {
		return size{}, fmt.Errorf("the database is in memory, it has no pages in a file")
	}
	var busy, frames, done int
	if err := db.Raw("PRAGMA wal_checkpoint(TRUNCATE)").Row().Scan(&busy, &frames, &done); err != nil {
		return size{}, err
	}
	if busy != 0 {
		return size{}, fmt.Errorf("another connection keeps the write-ahead log from being written back")
	}
	var roots []struct {
		Type     string
		Rootpage uint32
	}
	if err := db.Raw("SELECT type, rootpage FROM sqlite_master WHERE tbl_name = ? AND rootpage > 0", table).Scan(&roots).Error; err != nil {
		return size{}, err
	}
	file, err := openPages(path)
	if err != nil {
		return size{}, err
	}
	for _, root := range roots {
		pages, err := file.count(root.Rootpage)
		if err != nil {
			return size{}, err
		}
		if root.Type == "table" {
			s.table += pages * file.pageSize
		} else {
			s.indexes += pages * file.pageSize
		}
	}
	return s, nil
}
