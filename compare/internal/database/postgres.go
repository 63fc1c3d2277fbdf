package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

type postgresEngine struct{ d *Database }

func (e postgresEngine) describe(ctx context.Context) (version string, settings []result.Setting, err error) {
	if err := e.d.inserts.QueryRowContext(ctx, "SELECT 'PostgreSQL ' || current_setting('server_version')").Scan(&version); err != nil {
		return "", nil, err
	}
	for _, name := range []string{
		"synchronous_commit", "fsync", "shared_buffers", "full_page_writes", "wal_level", "max_wal_size", "checkpoint_timeout", "wal_compression",
	} {
		s := result.Setting{Name: name}
		if err := e.d.inserts.QueryRowContext(ctx, "SELECT current_setting($1)", name).Scan(&s.Value); err != nil {
			return "", nil, fmt.Errorf("%s: %w", name, err)
		}
		settings = append(settings, s)
	}
	return version, settings, nil
}

func (e postgresEngine) cache(ctx context.Context) (bytes int64, err error) {
	return bytes, e.d.inserts.QueryRowContext(ctx, "SELECT pg_size_bytes(current_setting('shared_buffers'))").Scan(&bytes)
}

func (e postgresEngine) names(ctx context.Context, db *sql.DB) ([]object, error) {
	const query = `SELECT CASE relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, relname FROM pg_catalog.pg_class
		WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema()) AND relkind IN ('r', 'p', 'S')`
	// A table's own sequence goes with it.
	return e.d.objects(ctx, db, query, map[string]string{"table": "DROP TABLE IF EXISTS ", "sequence": "DROP SEQUENCE IF EXISTS "})
}

func (e postgresEngine) bound(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SET lock_timeout = '10s'")
	return err
}

func (e postgresEngine) tableSize(ctx context.Context, table string) (bytes, index int64, err error) {
	const query = "SELECT pg_relation_size($1::text::regclass), pg_indexes_size($1::text::regclass)"
	return bytes, index, e.d.inserts.QueryRowContext(ctx, query, e.d.quote(table)).Scan(&bytes, &index)
}

func (e postgresEngine) fill(ctx context.Context, table string, _ int) (result.Figure, error) {
	schema, why, err := e.extension(ctx, "pgstattuple")
	if err != nil || why != "" {
		return result.Missing(why), err
	}
	query := "SELECT avg_leaf_density / 100 FROM " + schema + ".pgstatindex((SELECT indexrelid::regclass FROM pg_index WHERE indrelid = $1::text::regclass AND indisprimary))"
	var density float64
	err = e.d.inserts.QueryRowContext(ctx, query, e.d.quote(table)).Scan(&density)
	if e.denied(err) {
		return result.Missing("the user may not use pgstatindex of the extension pgstattuple, which needs the role pg_stat_scan_tables"), nil
	}
	if err != nil {
		return result.Figure{}, err
	}
	if math.IsNaN(density) {
		return result.Missing(noRows), nil
	}
	return result.Measured(density), nil
}

// extension returns the schema of an extension, quoted, or why it cannot be used. In the run's own database it is created.
func (e postgresEngine) extension(ctx context.Context, name string) (schema, why string, err error) {
	if e.d.private {
		if _, err := e.d.inserts.ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS "+name); err != nil {
			return "", "CREATE EXTENSION " + name + ": " + err.Error(), ctx.Err()
		}
	}
	const query = "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = $1"
	err = e.d.inserts.QueryRowContext(ctx, query, name).Scan(&schema)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "the extension " + name + " is not in the database; a superuser adds it by CREATE EXTENSION " + name, nil
	}
	return schema, "", err
}

// settle writes back what is dirty, where the user may: superusers, and from PostgreSQL 15 the role pg_checkpoint.
func (e postgresEngine) settle(ctx context.Context) error {
	_, err := e.checkpoint(ctx)
	return err
}

// checkpoint reports whether it was allowed. One that takes longer than [settleLimit] goes on without being waited for.
func (e postgresEngine) checkpoint(ctx context.Context) (allowed bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	_, err = e.d.keys.ExecContext(bounded, "CHECKPOINT") // an interrupted statement costs pgx the connection
	switch {
	case err == nil:
		return true, nil
	case e.denied(err), ctx.Err() == nil && bounded.Err() != nil:
		return false, nil
	}
	return false, err
}

// denied reports whether the server refused for want of a right.
func (postgresEngine) denied(err error) bool {
	return dialect.Postgres.Class(err) == dialect.Denied
}

func (e postgresEngine) buffers(ctx context.Context, table, column string) (result.Figure, error) {
	tx, err := e.d.inserts.BeginTx(ctx, nil)
	if err != nil {
		return result.Figure{}, err
	}
	defer func() { _ = tx.Rollback() }() // its settings end with it, and it changed nothing
	for _, off := range []string{"enable_seqscan", "enable_sort", "enable_bitmapscan", "max_parallel_workers_per_gather"} {
		if _, err := tx.ExecContext(ctx, "SET LOCAL "+off+" = 0"); err != nil {
			return result.Figure{}, err
		}
	}
	var document []byte
	query := "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT * FROM " + e.d.quote(table) + " ORDER BY " + e.d.quote(column)
	if err := tx.QueryRowContext(ctx, query).Scan(&document); err != nil {
		return result.Figure{}, err
	}
	var plans []struct {
		Plan struct {
			Node string  `json:"Node Type"`
			Rows float64 `json:"Actual Rows"`
			Hit  float64 `json:"Shared Hit Blocks"`
			Read float64 `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(document, &plans); err != nil || len(plans) != 1 {
		return result.Figure{}, fmt.Errorf("EXPLAIN: %d plans, %w", len(plans), err)
	}
	plan := plans[0].Plan
	if plan.Node != "Index Scan" && plan.Node != "Index Only Scan" {
		return result.Missing("the database reads the rows by another way than the index: " + plan.Node), nil
	}
	if plan.Rows < 1 {
		return result.Missing(noRows), nil
	}
	figure := result.Measured((plan.Hit + plan.Read) * 1000 / plan.Rows)
	figure.Note = "of this statement alone, by EXPLAIN (ANALYZE, BUFFERS)"
	return figure, nil
}
