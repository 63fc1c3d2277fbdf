package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// postgresMeter keeps the place in the WAL and the counters of its beginning.
type postgresMeter struct {
	e          postgresEngine
	scope      Scope
	start      string // the place in the WAL
	checkpoint bool   // whether one came before
	written    int64  // pages
	why        string // why they are not counted
}

func (e postgresEngine) meter(ctx context.Context, scope Scope) (count counting, err error) {
	p := &postgresMeter{e: e, scope: scope}
	if scope == Writes {
		if p.written, p.checkpoint, p.why, err = e.written(ctx); err != nil {
			return nil, err
		}
	}
	return p.stop, e.d.inserts.QueryRowContext(ctx, "SELECT pg_current_wal_insert_lsn()::text").Scan(&p.start)
}

func (p *postgresMeter) stop(ctx context.Context, rows int) (r result.Storage, err error) {
	var bytes float64
	const query = "SELECT pg_current_wal_insert_lsn()::text, pg_current_wal_insert_lsn() - $1::text::pg_lsn"
	var end string
	if err := p.e.d.inserts.QueryRowContext(ctx, query, p.start).Scan(&end, &bytes); err != nil {
		missing, err := p.e.d.missing(ctx, err)
		return uncounted(missing), err
	}
	if r.Splits, err = p.splits(ctx, end, bytes); err != nil {
		if r.Splits, err = p.e.d.missing(ctx, err); err != nil {
			return result.Storage{}, err
		}
	}
	if why := p.scope.noWrites(rows); why != "" {
		r.Log, r.Pages = result.Missing(why), result.Missing(why)
		return r, nil
	}
	r.Log = result.Measured(bytes / float64(rows))
	r.Log.Note = "WAL of the whole server from a checkpoint on, after which each page is logged in full once"
	if !p.checkpoint {
		r.Log.Note = "WAL of the whole server; the user may not CHECKPOINT (or it took too long), so pages that were logged in full before were not again: " +
			"keys that spread rows cost more than this"
	}
	r.Pages, err = p.pages(ctx, rows)
	return r, err
}

// mostWAL is the WAL that is looked through record by record, at most: the server takes some seconds for a GiB.
const mostWAL = 4 << 30

// splits counts the records of page splits in the WAL from the meter's start to a place so many bytes on.
func (p *postgresMeter) splits(ctx context.Context, end string, bytes float64) (result.Figure, error) {
	schema, why, err := p.e.extension(ctx, "pg_walinspect")
	if err != nil || why != "" {
		return result.Missing(why), err
	}
	if bytes == 0 {
		return result.Measured(0), nil
	}
	if bytes > mostWAL {
		return result.Missing(fmt.Sprintf("the server wrote %.0f bytes of WAL meanwhile: looking through more than %d would hold it up", bytes, int64(mostWAL))), nil
	}
	// The WAL can be read as far as it is on the disk.
	for limit := time.Now().Add(settleLimit); ; {
		var flushed bool
		if err := p.e.d.inserts.QueryRowContext(ctx, "SELECT pg_current_wal_flush_lsn() >= $1::text::pg_lsn", end).Scan(&flushed); err != nil {
			return result.Figure{}, err
		}
		if flushed {
			break
		}
		if time.Now().After(limit) {
			return result.Missing("the server does not write its WAL to the disk"), nil
		}
		if err := dialect.Sleep(ctx, 20*time.Millisecond); err != nil {
			return result.Figure{}, err
		}
	}
	query := `SELECT COALESCE(SUM(count), 0)::bigint FROM ` + schema + `.pg_get_wal_stats($1::text::pg_lsn, $2::text::pg_lsn, true)
		WHERE "resource_manager/record_type" IN ('Btree/SPLIT_L', 'Btree/SPLIT_R')`
	var n int64
	err = p.e.d.inserts.QueryRowContext(ctx, query, p.start, end).Scan(&n)
	if p.e.denied(err) {
		return result.Missing("the user may not read the WAL by the extension pg_walinspect, which needs the role pg_read_server_files"), nil
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return result.Missing("the WAL since the beginning cannot be read any more: " + refused.Message), nil
	}
	figure := result.Measured(float64(n))
	figure.Note = "of all indexes of the whole server, by its WAL"
	return figure, err
}

func (p *postgresMeter) pages(ctx context.Context, rows int) (result.Figure, error) {
	if p.why != "" {
		return result.Missing(p.why), nil
	}
	written, checkpoint, why, err := p.e.written(ctx)
	if err != nil {
		return p.e.d.missing(ctx, err)
	}
	if why != "" || !checkpoint {
		return result.Missing(why), nil
	}
	if written < p.written {
		return result.Missing("the counters were reset meanwhile"), nil
	}
	var size int64
	if err := p.e.d.inserts.QueryRowContext(ctx, "SELECT current_setting('block_size')::bigint").Scan(&size); err != nil {
		return p.e.d.missing(ctx, err)
	}
	figure := result.Measured(float64((written-p.written)*size) / float64(rows))
	figure.Note = "pages that the whole server wrote from a checkpoint to the end of the next"
	return figure, nil
}

// written makes a checkpoint and returns how many pages the server has written until its end, or why that cannot be told. The server's
// counters follow shortly after the statement's end.
func (e postgresEngine) written(ctx context.Context) (pages int64, checkpoint bool, why string, err error) {
	_, before, err := e.counters(ctx)
	if err != nil {
		return 0, false, "", err
	}
	if checkpoint, err = e.checkpoint(ctx); err != nil || !checkpoint {
		return 0, checkpoint, "the user may not CHECKPOINT, or it took too long, so pages that are still to be written are unknown", err
	}
	for limit := time.Now().Add(settleLimit); time.Now().Before(limit); {
		_, after, err := e.counters(ctx)
		if err == nil {
			err = dialect.Sleep(ctx, 20*time.Millisecond) // what was seen can be another checkpoint's that came just before
		}
		if err != nil {
			return 0, true, "", err
		}
		if after > before {
			pages, _, err := e.counters(ctx)
			return pages, true, "", err
		}
	}
	return 0, true, "the server's counters did not follow its checkpoint", nil
}

// counters are the pages that were written, by anybody, and the checkpoints that were made.
func (e postgresEngine) counters(ctx context.Context) (pages, checkpoints int64, err error) {
	var version int
	if err := e.d.inserts.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return 0, 0, err
	}
	query := "SELECT buffers_checkpoint + buffers_clean + buffers_backend, checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter"
	if version >= 170000 { // what backends wrote is elsewhere, and checkpoints have a view of their own
		query = `SELECT c.buffers_written + b.buffers_clean + (SELECT COALESCE(SUM(writes), 0)::bigint FROM pg_stat_io
			WHERE backend_type NOT IN ('checkpointer', 'background writer') AND object = 'relation'), c.num_timed + c.num_requested
			FROM pg_stat_checkpointer c, pg_stat_bgwriter b`
	}
	return pages, checkpoints, e.d.inserts.QueryRowContext(ctx, query).Scan(&pages, &checkpoints)
}
