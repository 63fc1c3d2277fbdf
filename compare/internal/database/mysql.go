package database

import (
	"context"
	"database/sql"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// mysqlEngine is InnoDB, of MySQL or MariaDB.
type mysqlEngine struct{ d *Database }

func (e mysqlEngine) describe(ctx context.Context) (version string, settings []result.Setting, err error) {
	const product = "SELECT CONCAT(IF(VERSION() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), VERSION())"
	if err := e.d.inserts.QueryRowContext(ctx, product).Scan(&version); err != nil {
		return "", nil, err
	}
	// Which there are differs from version to version.
	const query = `SHOW GLOBAL VARIABLES WHERE variable_name IN ('innodb_flush_log_at_trx_commit', 'innodb_buffer_pool_size', 'innodb_log_file_size',
		'innodb_redo_log_capacity', 'innodb_doublewrite', 'innodb_flush_method', 'innodb_page_size', 'innodb_io_capacity', 'innodb_file_per_table',
		'log_bin', 'sync_binlog')`
	settings, err = dialect.All(ctx, e.d.inserts, query, nil, func(rows *sql.Rows) (s result.Setting, err error) {
		return s, rows.Scan(&s.Name, &s.Value)
	})
	return version, settings, err
}

func (e mysqlEngine) cache(ctx context.Context) (bytes int64, err error) {
	return bytes, e.d.inserts.QueryRowContext(ctx, "SELECT @@innodb_buffer_pool_size").Scan(&bytes)
}

func (e mysqlEngine) names(ctx context.Context, db *sql.DB) ([]object, error) {
	const query = `SELECT table_type, table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type IN ('BASE TABLE', 'SEQUENCE')`
	return e.d.objects(ctx, db, query, map[string]string{"BASE TABLE": "DROP TABLE ", "SEQUENCE": "DROP SEQUENCE "})
}

func (e mysqlEngine) bound(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SET SESSION lock_wait_timeout = 10")
	return err
}

func (e mysqlEngine) buffers(ctx context.Context, table, column string) (result.Figure, error) {
	before, err := e.status(ctx)
	if err != nil {
		return result.Figure{}, err
	}
	n := 0
	err = dialect.Each(ctx, e.d.inserts, "SELECT * FROM "+e.d.quote(table)+" FORCE INDEX (PRIMARY) ORDER BY "+e.d.quote(column), nil, func(*sql.Rows) error {
		n++
		return nil
	})
	if err != nil {
		return result.Figure{}, err
	}
	after, err := e.status(ctx)
	if err != nil {
		return result.Figure{}, err
	}
	if n == 0 {
		return result.Missing(noRows), nil
	}
	const name = "Innodb_buffer_pool_read_requests"
	asked := after[name] - before[name]
	if asked <= 0 { // every row is on a page
		return result.Missing("the server has no counter of the pages that are asked for, or it was reset meanwhile"), nil
	}
	figure := result.Measured(float64(asked) * 1000 / float64(n))
	figure.Note = "read requests of the whole server while the rows were read"
	return figure, nil
}

// status has the counters of the whole server, which every user may read.
func (e mysqlEngine) status(ctx context.Context) (map[string]int64, error) {
	const query = `SHOW GLOBAL STATUS WHERE variable_name IN ('Innodb_buffer_pool_pages_dirty', 'Innodb_buffer_pool_pages_flushed', 'Innodb_page_size',
		'Innodb_buffer_pool_read_requests', 'Innodb_lsn_current', 'Innodb_redo_log_current_lsn', 'Innodb_os_log_written')`
	status := map[string]int64{}
	return status, dialect.Each(ctx, e.d.inserts, query, nil, func(rows *sql.Rows) error {
		var name string
		var value int64
		err := rows.Scan(&name, &value)
		status[name] = value
		return err
	})
}

// denied reports whether the server refused for want of a right.
func (mysqlEngine) denied(err error) bool {
	return dialect.MySQL.Class(err) == dialect.Denied
}
