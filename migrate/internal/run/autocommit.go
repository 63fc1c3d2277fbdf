package run

import (
	"cmp"
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// autocommit does statements that commit by themselves, each:
//
//	journal: begun ──▶ Applied? ── no ──▶ Repair, when it was begun before ──▶ the statements ──▶ Applied? ── yes ──▶ journal: done
//	                       └──────────────────────────── yes ─────────────────────────────────────────────────────────▶
func (r *runner) autocommit(ctx context.Context, t *task) error {
	return r.within(ctx, t.action.Session, func(s *session) error {
		if err := r.lockStatements(ctx, s); err != nil {
			return err
		}
		repair := t.resumed()
		if !repair {
			if err := r.recheckSchema(ctx, s); err != nil {
				return err
			}
			row := t.row
			row.State = t.begun
			if err := r.writeStep(ctx, s, t, row, ""); err != nil {
				return err
			}
		}
		missing, err := s.missingEffect(ctx, t.action)
		if err != nil {
			return err
		}
		if missing != "" {
			if err := r.apply(ctx, s, t, repair); err != nil {
				return err
			}
		}
		fingerprint, err := r.readFingerprint(ctx, s)
		if err != nil {
			return err
		}
		row := t.row
		row.State = t.end
		if err := r.writeStep(ctx, s, t, row, fingerprint); err != nil {
			return err
		}
		r.checked = true
		return nil
	})
}

// missingEffect returns the first query that does not find the effect of a statement of an Autocommit, and what the query gives; empty when all are there.
func (s *session) missingEffect(ctx context.Context, a *plan.Action) (said string, err error) {
	for _, query := range a.Applied {
		if n, err := s.number(ctx, query); err != nil || n != 1 {
			return fmt.Sprintf("%s gives %d, want 1", brief(query), n), err
		}
	}
	return "", nil
}

// apply runs the statements, and sees that their effects are there. Of several, those whose effect is there are left out, and one that does
// not get its lock does not keep the rest from being run: it is for the next attempt.
func (r *runner) apply(ctx context.Context, s *session, t *task, repair bool) error {
	if repair {
		if err := r.repair(ctx, s, t.action); err != nil {
			return err
		}
	}
	var waits error
	for i, text := range t.action.SQL {
		if len(t.action.SQL) > 1 { // a rollback, too, may find some done
			if n, err := s.number(ctx, t.action.Applied[i]); err != nil {
				return err
			} else if n == 1 {
				continue
			}
		}
		do := r.runFenced
		if i > 0 && s.locked {
			do = r.runLimited
		}
		err := do(ctx, s, t.action, text)
		if err != nil && (r.dialect.Class(err) != dialect.Conflict || s.broken) {
			return err
		}
		waits = cmp.Or(waits, err)
	}
	if waits != nil {
		return waits
	}
	missing, err := s.missingEffect(ctx, t.action)
	if err == nil && missing != "" {
		err = fmt.Errorf("%w: the statement was run, and its effect is not there: %s", ErrAssertion, missing)
	}
	return err
}

// runFenced runs a statement that commits by itself. Nothing else stands between the fence and the statement, which can have none in itself.
func (r *runner) runFenced(ctx context.Context, s *session, a *plan.Action, text string) error {
	if err := s.transact(ctx, func() error { return nil }); err != nil {
		return err
	}
	return r.runLimited(ctx, s, a, text)
}

// runLimited runs a statement of several, after the fence before the first of them: as long as the session has the lock of statements that commit by
// themselves, a run that takes over waits before it does or undoes any of them. Writers may wait for the last, and four fences a table are long.
func (r *runner) runLimited(ctx context.Context, s *session, a *plan.Action, text string) error {
	if err := r.limitLockWait(ctx, s, a.Concurrently); err != nil {
		return err
	}
	_, err := s.run(ctx, text)
	return err
}

// repair removes what an attempt that did not come to its end has left.
func (r *runner) repair(ctx context.Context, s *session, a *plan.Action) error {
	for _, text := range a.Repair {
		if err := r.runFenced(ctx, s, a, text); err != nil {
			return err
		}
	}
	return nil
}

// limitLockWait says how long the statement may wait for a lock, where that is not said yet. CONCURRENTLY waits for all transactions that are
// older; nobody queues behind it, and if it gave up all its work would be lost.
func (r *runner) limitLockWait(ctx context.Context, s *session, concurrently bool) error {
	if r.dialect != dialect.Postgres {
		return nil
	}
	wait := r.o.LockWait.Milliseconds()
	if concurrently {
		wait = 0
	}
	if _, err := s.ExecContext(ctx, fmt.Sprintf("SET lock_timeout = %d", wait)); err != nil {
		return fmt.Errorf("SET lock_timeout: %w", err)
	}
	return nil
}
