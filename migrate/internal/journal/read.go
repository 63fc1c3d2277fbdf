package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Reader is what a journal is read through: a *sql.DB, *sql.Conn or *sql.Tx.
type Reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Conn is what a journal is written through: a *sql.Conn or *sql.Tx that is in a transaction.
type Conn interface {
	Reader
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Read returns the plans, the one that began first first, and the steps of the plan that a hash names, by number; none when there is no
// journal. It writes nothing.
func Read(ctx context.Context, db *sql.DB, d dialect.Dialect, hash string) (plans []Plan, steps []Step, err error) {
	there, err := present(ctx, db, d)
	if err != nil || !there {
		return nil, nil, err
	}
	if plans, err = readPlans(ctx, db); err != nil {
		return nil, nil, fmt.Errorf("journal: reading plans: %w", err)
	}
	if steps, err = readSteps(ctx, db, d, hash); err != nil {
		return nil, nil, fmt.Errorf("journal: reading steps: %w", err)
	}
	return plans, steps, nil
}

// Text returns the text of a plan that the journal has, the JSON that it began with: a run goes on with it without a file. The error
// wraps [ErrState] when the journal has no plan of that hash.
func Text(ctx context.Context, db *sql.DB, d dialect.Dialect, hash string) (string, error) {
	there, err := present(ctx, db, d)
	if err != nil {
		return "", err
	}
	var text string
	if there {
		err = db.QueryRowContext(ctx, statement(d, "SELECT plan_text FROM snowkey_migrate WHERE plan = ?"), hash).Scan(&text)
	}
	if !there || errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("%w: it has no plan %.12s", ErrState, hash)
	}
	if err != nil {
		return "", fmt.Errorf("journal: reading the text of plan %.12s: %w", hash, err)
	}
	return text, nil
}

func readPlans(ctx context.Context, c Reader) ([]Plan, error) {
	const query = "SELECT plan, mode, state, runner, fingerprint, table_names, started_us, changed_us FROM snowkey_migrate ORDER BY started_us, plan"
	return dialect.All(ctx, c, query, nil, func(rows *sql.Rows) (p Plan, err error) {
		var tables string
		var started, changed int64
		if err := rows.Scan(&p.Hash, &p.Mode, &p.State, &p.Runner, &p.Fingerprint, &tables, &started, &changed); err != nil {
			return p, err
		}
		if err := json.Unmarshal([]byte(tables), &p.Tables); err != nil {
			return p, fmt.Errorf("the tables of plan %s: %w", p.Hash, err)
		}
		p.Started, p.Changed = time.UnixMicro(started).UTC(), time.UnixMicro(changed).UTC()
		return p, nil
	})
}

func readSteps(ctx context.Context, c Reader, d dialect.Dialect, hash string) ([]Step, error) {
	query := statement(d, "SELECT step, title, state, upto, pass, changed_rows, found, started_us, changed_us FROM snowkey_migrate_steps WHERE plan = ? ORDER BY step")
	return dialect.All(ctx, c, query, []any{hash}, func(rows *sql.Rows) (s Step, err error) {
		var started, changed int64
		err = rows.Scan(&s.Number, &s.Title, &s.State, &s.Cursor, &s.Pass, &s.Rows, &s.Found, &started, &changed)
		s.Started, s.Changed = time.UnixMicro(started).UTC(), time.UnixMicro(changed).UTC()
		return s, err
	})
}
