package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Writer writes the journal of one plan for one runner. Each method is called in a transaction that the caller begins and commits; every
// such transaction begins with Begin, Take or Fence. It is not safe for concurrent use.
type Writer struct {
	dialect      dialect.Dialect
	hash, runner string
}

// NewWriter returns the writer of a new runner of the plan that a hash names. It is closed with Close; until then the runner is [Alive].
func NewWriter(d dialect.Dialect, hash string) (*Writer, error) {
	runner, err := newRunner()
	if err != nil {
		return nil, err
	}
	working.Store(runner, nil)
	return &Writer{d, hash, runner}, nil
}

// Close says that the runner is not at work any more.
func (w *Writer) Close() { working.Delete(w.runner) }

// Begin writes a new plan's row with its text, in the state running, and forgets plans that are done or undone and had one of its tables. The
// error wraps [ErrOther] when another plan is not finished, and [ErrState] when this one is there and not undone.
func (w *Writer) Begin(ctx context.Context, c Conn, mode, fingerprint, plan string, tables []string) error {
	plans, err := readPlans(ctx, c)
	if err != nil {
		return fmt.Errorf("journal: reading plans: %w", err)
	}
	if err := Other(plans, w.hash); err != nil {
		return err
	}
	for _, p := range plans {
		if p.Hash == w.hash && p.State != Undone {
			return fmt.Errorf("%w: the plan is %s already", ErrState, p.State)
		}
		if p.Hash != w.hash && !slices.ContainsFunc(p.Tables, func(t string) bool { return slices.Contains(tables, t) }) {
			continue
		}
		for _, table := range []string{StepsTable, PlansTable} {
			if _, err := c.ExecContext(ctx, statement(w.dialect, "DELETE FROM "+table+" WHERE plan = ?"), p.Hash); err != nil {
				return fmt.Errorf("journal: forgetting plan %s: %w", p.Hash, err)
			}
		}
	}
	text, err := json.Marshal(tables)
	if err != nil {
		return fmt.Errorf("journal: the names of tables: %w", err)
	}
	_, err = c.ExecContext(ctx, statement(w.dialect, "INSERT INTO snowkey_migrate (plan, mode, state, alone, runner, fingerprint, table_names, plan_text, turns, started_us, changed_us)"+
		" VALUES (?, ?, 'running', 1, ?, ?, ?, ?, 0, @now, @now)"), w.hash, mode, w.runner, fingerprint, string(text), plan)
	if err != nil {
		return fmt.Errorf("journal: beginning the plan: %w", err)
	}
	return nil
}

// Other returns an error that wraps [ErrOther] when a plan of another hash is not finished.
func Other(plans []Plan, hash string) error {
	for _, p := range plans {
		if p.Hash != hash && (p.State == Running || p.State == Undoing) {
			return fmt.Errorf("%w: plan %.12s, of mode %s, is %s since %s; run it to its end or roll it back first",
				ErrOther, p.Hash, p.Mode, p.State, p.Started.Format("2006-01-02 15:04:05Z"))
		}
	}
	return nil
}

// Take makes this the runner of a plan whose row was read before, and sets its state, running or undoing. The error wraps [ErrRunning]
// when the row has changed since.
func (w *Writer) Take(ctx context.Context, c Conn, was Plan, state State) error {
	one, err := w.writes(ctx, c, "UPDATE snowkey_migrate SET runner = ?, state = ?, alone = 1, turns = turns + 1, changed_us = @now"+
		" WHERE plan = ? AND runner = ? AND state = ? AND fingerprint = ?", w.runner, string(state), w.hash, was.Runner, string(was.State), was.Fingerprint)
	if err == nil && !one {
		err = fmt.Errorf("%w: it took the plan over just now", ErrRunning)
	}
	return err
}

// Fence makes sure that this runner still is the plan's, and keeps others from taking it over until the transaction ends. The error wraps
// [ErrLost] when it is not.
func (w *Writer) Fence(ctx context.Context, c Conn) error {
	return w.update(ctx, c, "changed_us = @now")
}

// Fingerprint writes that of the schema as it is now.
func (w *Writer) Fingerprint(ctx context.Context, c Conn, fingerprint string) error {
	return w.update(ctx, c, "fingerprint = ?", fingerprint)
}

// Leave writes that the plan has no runner, for a run that ends before the plan does. Another need not find out then that it is gone.
func (w *Writer) Leave(ctx context.Context, c Conn) error {
	return w.update(ctx, c, "runner = ''")
}

// Finish writes a plan's last state, done or undone.
func (w *Writer) Finish(ctx context.Context, c Conn, state State) error {
	return w.update(ctx, c, "alone = NULL, changed_us = @now, state = ?", string(state))
}

// update changes the plan's row if it is still this runner's.
func (w *Writer) update(ctx context.Context, c Conn, set string, args ...any) error {
	one, err := w.writes(ctx, c, "UPDATE snowkey_migrate SET turns = turns + 1, "+set+" WHERE plan = ? AND runner = ? AND state IN ('running', 'undoing')",
		append(args, w.hash, w.runner)...)
	if err == nil && !one {
		err = fmt.Errorf("%w: this one was %s", ErrLost, w.runner)
	}
	return err
}

// writes reports whether a statement changes the plan's row, or finds none.
func (w *Writer) writes(ctx context.Context, c Conn, text string, args ...any) (bool, error) {
	result, err := c.ExecContext(ctx, statement(w.dialect, text), args...)
	if err != nil {
		return false, fmt.Errorf("journal: writing the plan's row: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("journal: counting rows: %w", err)
	}
	return n == 1, nil
}

// Put writes a step's row, whether there is one or not, in a transaction that Fence has begun. Its times are the database's, those of s are
// not used.
func (w *Writer) Put(ctx context.Context, c Conn, s Step) error {
	text := "INSERT INTO snowkey_migrate_steps (plan, step, title, state, upto, pass, changed_rows, found, started_us, changed_us)" +
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, @now, @now)"
	if w.dialect == dialect.MySQL {
		text += " ON DUPLICATE KEY UPDATE state = VALUES(state), upto = VALUES(upto), pass = VALUES(pass), changed_rows = VALUES(changed_rows)," +
			" found = VALUES(found), changed_us = VALUES(changed_us)"
	} else {
		text += " ON CONFLICT (plan, step) DO UPDATE SET state = excluded.state, upto = excluded.upto, pass = excluded.pass," +
			" changed_rows = excluded.changed_rows, found = excluded.found, changed_us = excluded.changed_us"
	}
	_, err := c.ExecContext(ctx, statement(w.dialect, text), w.hash, s.Number, s.Title, s.State, s.Cursor, s.Pass, s.Rows, s.Found)
	if err != nil {
		return fmt.Errorf("journal: writing step %d: %w", s.Number, err)
	}
	return nil
}
