package merge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

const (
	leastBatch    = 100
	firstBatch    = 1_000
	greatestBatch = 20_000 // so that memory stays small
	parameters    = 10_000 // of one statement; SQLite allows 32,766, others more

	statementBytes = 1 << 20 // after which a statement ends; MariaDB's max_allowed_packet is 16 MB
)

// copy copies all tables, parents first, and looks at every row again.
func (m *merger) copy(ctx context.Context) error {
	m.size = firstBatch
	if err := m.circles(ctx, m.sides[1:], "repair them first"); err != nil {
		return err
	}
	for _, t := range m.tables {
		for i, s := range m.sides[1:] {
			if err := m.copyTable(ctx, t, s, t.rows[i+1]); err != nil {
				return err
			}
		}
	}
	for _, t := range m.tables {
		for i, s := range m.sides[1:] {
			if err := m.sweep(ctx, t, s, t.rows[i+1]); err != nil {
				return err
			}
		}
	}
	if err := m.circles(ctx, m.sides[:1], "were they deleted there?"); err != nil {
		return err
	}
	return m.note(ctx)
}

// circles refuses references within circles of tables, whose foreign keys are off meanwhile, that are to no row.
func (m *merger) circles(ctx context.Context, sides []*side, do string) error {
	for _, t := range m.tables {
		for _, r := range t.within {
			for _, s := range sides {
				n, err := m.orphans(ctx, s, t, r)
				if err != nil {
					return err
				}
				if n > 0 {
					return fmt.Errorf("%w: in %s %s rows of %s refer by (%s) to rows of %s that are not there: %s", ErrCopied, s.label, group(n), t.text,
						strings.Join(r.Columns, ", "), r.Parent.Name, do)
				}
			}
		}
	}
	return nil
}

// copyTable copies the rows of one table from one database, those that were not before.
func (m *merger) copyTable(ctx context.Context, t *table, s *side, total int64) error {
	doing, began := fmt.Sprintf("copy %s from %s", t.text, s.label), time.Now()
	at := m.journal.of(s, t)
	before := at.copied
	for {
		started := time.Now()
		rows, err := t.page(ctx, s, at.upto, m.size)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil
		}
		to := *at
		to.upto, to.copied, to.there = t.keyOf(rows[len(rows)-1]), at.copied+int64(len(rows)), true
		if err := m.write(ctx, t, s, rows, at, to); err != nil {
			return err
		}
		*at = to
		m.outcome.Copied += int64(len(rows))
		if took := time.Since(started); len(rows) == m.size || took > m.options.Target {
			m.resize(len(rows), took)
		}
		m.report(doing, at.copied-before, max(total-before, at.copied-before), began)
	}
}

// resize aims at the target with the next batch, after one of some rows.
func (m *merger) resize(rows int, took time.Duration) {
	aim := float64(rows) * float64(m.options.Target) / float64(max(took, time.Millisecond))
	m.size = min(max(int(min(aim, greatestBatch)), m.size/2, leastBatch), m.size*2, greatestBatch)
}

// write copies rows and moves the journal, in one transaction.
func (m *merger) write(ctx context.Context, t *table, s *side, rows [][]any, from *mark, to mark) (err error) {
	into := m.sides[0]
	if len(t.within) > 0 {
		if err := into.enforce(ctx, false); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, into.enforce(context.WithoutCancel(ctx), true)) }()
	}
	err = m.transaction(ctx, func(tx *sql.Tx) error {
		if err := m.journal.move(ctx, tx, s, t, from, to); err != nil {
			return err
		}
		return t.insert(ctx, tx, into, rows)
	})
	var refused *refusedError
	if errors.As(err, &refused) && ctx.Err() == nil {
		return fmt.Errorf("merge: %s from %s, %s: %w", t.text, s.label, m.blame(ctx, t, rows), err)
	}
	return err
}

// transaction runs f in a transaction of Into.
func (m *merger) transaction(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := m.sides[0].conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("merge: %s: %w", m.sides[0].label, err)
	}
	if err := f(tx); err != nil {
		if failed := tx.Rollback(); failed != nil && !errors.Is(failed, sql.ErrTxDone) { // which the end of a context has done already
			err = errors.Join(err, failed)
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("merge: %s: %w", m.sides[0].label, err)
	}
	return nil
}

// refusedError is a database's refusal of rows.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// insert writes rows.
func (t *table) insert(ctx context.Context, tx *sql.Tx, into *side, rows [][]any) error {
	for len(rows) > 0 {
		n, weight := 1, weigh(rows[0])
		for n < len(rows) && n < lookups && (n+1)*len(t.columns) <= parameters && weight < statementBytes {
			weight += weigh(rows[n])
			n++
		}
		q := into.statement("INSERT INTO ", t.quoted, " (", strings.Join(into.quote(names(t.columns)...), ", "), ")")
		if into.dialect == dialect.Postgres {
			q.add(" OVERRIDING SYSTEM VALUE") // of GENERATED ALWAYS; of others it changes nothing
		}
		q.add(" VALUES ")
		for i, row := range rows[:n] {
			if i > 0 {
				q.add(", ")
			}
			q.tuple(row)
		}
		rows = rows[n:]
		if _, err := tx.ExecContext(ctx, q.String(), q.args...); err != nil {
			return &refusedError{err}
		}
	}
	return nil
}

// blame says which row it was that a database refused, by writing one after the other and taking all back.
func (m *merger) blame(ctx context.Context, t *table, rows [][]any) string {
	which := fmt.Sprintf("one of the rows %s to %s", show(t.keyOf(rows[0])), show(t.keyOf(rows[len(rows)-1])))
	found := errors.New("found")
	_ = m.transaction(ctx, func(tx *sql.Tx) error {
		for _, row := range rows {
			if err := t.insert(ctx, tx, m.sides[0], [][]any{row}); err != nil {
				which = "the row " + show(t.keyOf(row))
				break
			}
		}
		return found // in any case nothing is kept
	})
	return which
}
