package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// mysqlMeter keeps the server's counters of its beginning.
type mysqlMeter struct {
	e      mysqlEngine
	scope  Scope
	status map[string]int64
	splits int64
	why    string // why splits are not counted
}

const enableSplits = "SET GLOBAL innodb_monitor_enable = 'index_page_splits'"

func (e mysqlEngine) meter(ctx context.Context, scope Scope) (counting, error) {
	m := &mysqlMeter{e: e, scope: scope}
	if e.d.private {
		if _, err := e.d.inserts.ExecContext(ctx, enableSplits); err != nil {
			return nil, err
		}
	}
	if scope == Writes {
		if err := e.settle(ctx); err != nil {
			return nil, err
		}
	}
	var err error
	if m.splits, m.why, err = e.splits(ctx); err != nil {
		return nil, err
	}
	m.status, err = e.status(ctx)
	return m.stop, err
}

// splits returns the count of the whole server, or why there is none.
func (e mysqlEngine) splits(ctx context.Context) (count int64, why string, err error) {
	var enabled bool
	// MariaDB and MySQL name the column by which a counter is switched on differently.
	err = e.d.inserts.QueryRowContext(ctx, "SELECT count, enabled FROM information_schema.INNODB_METRICS WHERE name = 'index_page_splits'").Scan(&count, &enabled)
	if dialect.MySQL.Code(err) == "1054" { // no such column
		const query = "SELECT count, status = 'enabled' FROM information_schema.INNODB_METRICS WHERE name = 'index_page_splits'"
		err = e.d.inserts.QueryRowContext(ctx, query).Scan(&count, &enabled)
	}
	switch {
	case e.denied(err):
		return 0, "the user may not read information_schema.INNODB_METRICS, which needs the right PROCESS", nil
	case errors.Is(err, sql.ErrNoRows):
		return 0, "the server has no counter index_page_splits", nil
	case err == nil && !enabled:
		return 0, "the server does not count page splits; it begins to after " + enableSplits, nil
	}
	return count, "", err
}

func (m *mysqlMeter) stop(ctx context.Context, rows int) (result.Storage, error) {
	splits, why, err := m.e.splits(ctx)
	status := map[string]int64{}
	if err == nil {
		status, err = m.e.status(ctx)
	}
	if err != nil {
		missing, err := m.e.d.missing(ctx, err)
		return uncounted(missing), err
	}
	var r result.Storage
	switch why := cmp.Or(m.why, why); {
	case why != "":
		r.Splits = result.Missing(why)
	case splits < m.splits:
		r.Splits = result.Missing("the counter was reset meanwhile")
	default:
		r.Splits = result.Measured(float64(splits - m.splits))
		r.Splits.Note = "of all indexes of the whole server"
	}
	if why := m.scope.noWrites(rows); why != "" {
		r.Log, r.Pages = result.Missing(why), result.Missing(why)
		return r, nil
	}
	r.Log = m.log(status, rows)
	r.Pages = m.pages(status, rows)
	return r, nil
}

// log takes the first counter of the redo log that the server has: MariaDB's, MySQL's since 8.0.30, that of all others.
func (m *mysqlMeter) log(status map[string]int64, rows int) result.Figure {
	for _, counter := range []struct{ name, note string }{
		{"Innodb_lsn_current", "redo of the whole server, without the binary log"},
		{"Innodb_redo_log_current_lsn", "redo of the whole server, without the binary log"},
		{"Innodb_os_log_written", "redo that the whole server wrote, in blocks, without the binary log"},
	} {
		now, ok := status[counter.name]
		was, had := m.status[counter.name]
		if ok && had && now >= was {
			figure := result.Measured(float64(now-was) / float64(rows))
			figure.Note = counter.note
			return figure
		}
	}
	return result.Missing("the server has no counter of its redo log")
}

func (m *mysqlMeter) pages(status map[string]int64, rows int) result.Figure {
	const flushed, dirty, size = "Innodb_buffer_pool_pages_flushed", "Innodb_buffer_pool_pages_dirty", "Innodb_page_size"
	if _, ok := status[flushed]; !ok || status[size] == 0 || status[flushed] < m.status[flushed] {
		return result.Missing("the server has no counter of the pages that it writes back, or it was reset meanwhile")
	}
	pages := status[flushed] - m.status[flushed] + status[dirty] - m.status[dirty]
	if pages < 0 {
		return result.Missing("pages of other work that were dirty were dropped meanwhile")
	}
	if pages == 0 { // the rows are in some
		return result.Missing("the rows went to pages that were dirty before, which count when they are written back only")
	}
	figure := result.Measured(float64(pages*status[size]) / float64(rows))
	figure.Note = "pages that the whole server wrote back, and those that it has to yet; the doublewrite buffer not counted"
	if before := m.status[dirty]; before > settleFew {
		figure.Note += fmt.Sprintf("; %d pages were dirty before, and what changed them again is not counted: it may be more than this", before)
	}
	return figure
}
