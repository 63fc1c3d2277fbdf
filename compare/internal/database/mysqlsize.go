package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// tableSize takes the pages that InnoDB has reserved for each index from its persistent statistics, or, without the right to read those, from the
// information schema.
func (e mysqlEngine) tableSize(ctx context.Context, table string) (bytes, index int64, err error) {
	if err := e.analyze(ctx, table); err != nil {
		return 0, 0, err
	}
	const pages = `SELECT COALESCE(SUM(IF(index_name = 'PRIMARY', stat_value, 0)), 0) * @@innodb_page_size,
		COALESCE(SUM(IF(index_name = 'PRIMARY', 0, stat_value)), 0) * @@innodb_page_size
		FROM mysql.innodb_index_stats WHERE database_name = DATABASE() AND table_name = ? AND stat_name = 'size'`
	if err := e.d.inserts.QueryRowContext(ctx, pages, table).Scan(&bytes, &index); err == nil && bytes > 0 {
		return bytes, index, nil
	}
	const schema = "SELECT data_length, index_length FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?"
	return bytes, index, e.d.inserts.QueryRowContext(ctx, schema, table).Scan(&bytes, &index)
}

// analyze renews the statistics, on this server alone.
func (e mysqlEngine) analyze(ctx context.Context, table string) error {
	return dialect.Each(ctx, e.d.inserts, "ANALYZE NO_WRITE_TO_BINLOG TABLE "+e.d.quote(table), nil, func(rows *sql.Rows) error {
		var name, op, kind, text sql.NullString
		if err := rows.Scan(&name, &op, &kind, &text); err != nil {
			return err
		}
		if strings.EqualFold(kind.String, "error") {
			return errors.New(text.String)
		}
		return nil
	})
}

// mostPool is the buffer pool that is looked through page by page, at most: the server takes about a second for a GiB.
const mostPool = 1 << 30

// fill reckons from the leaf pages that the statistics count, and the bytes that a row has in those pages that are in the buffer pool.
func (e mysqlEngine) fill(ctx context.Context, table string, rows int) (result.Figure, error) {
	pool, err := e.cache(ctx)
	if err != nil {
		return result.Figure{}, err
	}
	if pool > mostPool {
		return result.Missing(fmt.Sprintf("the buffer pool has more than %d bytes: looking through it would hold up the server", int64(mostPool))), nil
	}
	var leaves, pageSize int64
	const statistics = `SELECT COALESCE(SUM(stat_value), 0), @@innodb_page_size FROM mysql.innodb_index_stats
		WHERE database_name = DATABASE() AND table_name = ? AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'`
	if err := e.analyze(ctx, table); err != nil {
		return result.Figure{}, err
	}
	err = e.d.inserts.QueryRowContext(ctx, statistics, table).Scan(&leaves, &pageSize)
	if e.denied(err) {
		return result.Missing("the user may not read mysql.innodb_index_stats, which needs the right SELECT on it"), nil
	}
	if err != nil {
		return result.Figure{}, err
	}
	// Pages above the leaves point to their first row by its key, in less than half the bytes of a row.
	const seen = `WITH page AS (SELECT data_size, number_records FROM information_schema.INNODB_BUFFER_PAGE WHERE page_type = 'INDEX' AND
			index_name = 'PRIMARY' AND table_name = CONCAT('` + "`', DATABASE(), '`.`', ?, '`" + `') AND number_records > 0),
		leaf AS (SELECT * FROM page WHERE data_size / number_records > (SELECT SUM(data_size) / SUM(number_records) FROM page) / 2)
		SELECT COUNT(*), COALESCE(SUM(data_size) / SUM(number_records), 0) FROM leaf`
	var count int64
	var size float64
	err = e.d.inserts.QueryRowContext(ctx, seen, table).Scan(&count, &size)
	if e.denied(err) {
		return result.Missing("the user may not read information_schema.INNODB_BUFFER_PAGE, which needs the right PROCESS"), nil
	}
	if err != nil {
		return result.Figure{}, err
	}
	if leaves == 0 || count == 0 {
		return result.Missing("the server has no statistics of the table, or none of its pages in memory"), nil
	}
	// MariaDB takes the statistics of an index of less than about 20 pages without counting its leaves anew; so few are in the pool.
	leaves = max(leaves, count)
	const overhead = 128 // of a page: its headers, the two records at its ends, the trailer; the page directory differs with the records
	share := float64(rows) * size / (float64(leaves) * float64(pageSize-overhead))
	if share > 1 {
		return result.Missing(fmt.Sprintf("the server's statistics are not those of %d rows", rows)), nil
	}
	figure := result.Measured(share)
	figure.Note = fmt.Sprintf("from %d leaf pages, and the size of the rows in %d of them", leaves, count)
	return figure, nil
}
