package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Keeper makes and removes the partitions of one table. It holds nothing between its calls, which may be concurrent, also with those of other processes.
type Keeper struct {
	db *sql.DB
	d  Dialect
	t  Table

	clock func(context.Context, dialect.Queryer) (time.Time, error) // the database's
	local func() time.Time
	ping  time.Duration
	began func(Step, int) error // called before each statement of a step, with its number; nil but in tests

	version string // that a test takes the server for; empty elsewhere
}

// New returns the keeper of a table in a database. It asks nothing of the database yet. The error wraps [ErrTable] or [ErrUnsupported].
func New(db *sql.DB, d Dialect, t Table) (*Keeper, error) {
	if err := supported(d); err != nil {
		return nil, err
	}
	t, err := t.checked()
	if err != nil {
		return nil, err
	}
	return &Keeper{db: db, d: d, t: t, local: time.Now, ping: pingEvery, clock: d.Now}, nil
}

// Report is what a run has done.
type Report struct {
	// Done are the steps in their order.
	Done []Step `json:"done"`
	// Plan is what is left. It is of the time after the last step, and zero when the run has failed before its end.
	Plan Plan `json:"plan,omitzero"`
}

// mostSteps bounds a run, should steps never come to an end.
const mostSteps = 10_000

// Plan returns what [Keeper.Run] would do now. It writes nothing, and waits for no run. The error is that of the database, or wraps [ErrNotPartitioned],
// [ErrClock] or [ErrBusy].
func (k *Keeper) Plan(ctx context.Context) (plan Plan, err error) {
	err = k.session(ctx, func(conn *sql.Conn) error {
		plan, err = k.plan(ctx, conn)
		return err
	})
	return plan, err
}

// Run makes the partitions that are missing and sees to those that are old, a step at a time, each by a plan of its own. It waits for another run at the
// same table to end, as long as the context lasts, and then finds what is left to do: mostly nothing. A scheduler calls it as often as it likes, at least once
// for each period.
//
// After an error, or when the process was killed, the next run goes on. The error wraps [ErrAttention] when all steps were done and the plan has problems,
// [ErrReferenced] when all were done but those of partitions that rows refer to, [ErrPartman], [ErrBusy], [ErrArchive], [ErrNotPartitioned] or [ErrClock]; or it is the database's. Steps that were done are in the report in
// any case.
func (k *Keeper) Run(ctx context.Context) (report Report, err error) {
	report.Done = []Step{}
	err = k.session(ctx, func(conn *sql.Conn) error {
		if err := k.lock(ctx, conn); err != nil {
			return err
		}
		var last Step
		var held []error // of partitions that rows refer to, which stay
		stays := map[string]bool{}
		for range mostSteps {
			plan, err := k.plan(ctx, conn)
			if err != nil {
				return err
			}
			if plan.Partman != "" {
				return fmt.Errorf("%w: %s, in %s", ErrPartman, plan.Table, plan.Partman)
			}
			next := slices.IndexFunc(plan.Steps, func(step Step) bool { return !stays[step.Name] })
			if next < 0 {
				report.Plan = plan
				return errors.Join(append(held, attention(plan))...)
			}
			step := plan.Steps[next]
			if step.Action == last.Action && step.Name == last.Name && step.ToID == last.ToID {
				return fmt.Errorf("partition: the step %q was done and has had no effect", step)
			}
			done, err := k.do(ctx, conn, step)
			if errors.Is(err, ErrReferenced) {
				held, stays[step.Name] = append(held, err), true
				continue
			}
			if err != nil {
				return errors.Join(append(held, err)...)
			}
			if done {
				report.Done = append(report.Done, step)
				last = step
			}
		}
		return fmt.Errorf("partition: %d steps were done, and there are more; call again", mostSteps)
	})
	return report, err
}

// attention is the error of a plan with problems.
func attention(plan Plan) error {
	if len(plan.Problems) == 0 {
		return nil
	}
	texts := make([]string, len(plan.Problems))
	for i, problem := range plan.Problems {
		texts[i] = problem.Kind + ": " + problem.Text
	}
	return fmt.Errorf("%w: %s", ErrAttention, strings.Join(texts, "; "))
}

// plan reads the catalogue and decides.
func (k *Keeper) plan(ctx context.Context, conn *sql.Conn) (Plan, error) {
	var status Status
	err := k.patiently(ctx, func() (err error) {
		status, err = reader{conn: conn, d: k.d, t: k.t}.read(ctx, k.clock, k.local())
		return err
	})
	if err != nil {
		return Plan{}, err
	}
	return k.t.Plan(status)
}

// session does the work on a connection that no other work gets afterwards: it has settings, and locks that end with it.
func (k *Keeper) session(ctx context.Context, work func(*sql.Conn) error) error {
	conn, err := k.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer dialect.Discard(conn)
	setting := fmt.Sprintf("SET lock_timeout = '%dms'", max(1, k.t.LockWait.Milliseconds()))
	if k.d == dialect.MySQL {
		setting = fmt.Sprintf("SET SESSION autocommit = 1, lock_wait_timeout = %d, innodb_lock_wait_timeout = %[1]d", max(1, int64((k.t.LockWait+time.Second-1)/time.Second)))
	}
	if _, err := conn.ExecContext(ctx, setting); err != nil {
		return fmt.Errorf("%s: %w", setting, err)
	}
	return work(conn)
}

// lock waits until no other run is at the table, and keeps others from it for as long as the connection lasts.
func (k *Keeper) lock(ctx context.Context, conn *sql.Conn) error {
	found, err := k.d.Locate(ctx, conn, k.t.Name)
	if err != nil {
		return err
	}
	if _, err := k.d.WaitLock(ctx, conn, dialect.PartitionLock(found.At.Schema, found.At.Table), math.MaxInt64); err != nil {
		return fmt.Errorf("waiting for another run at %s: %w", k.t.Name, err)
	}
	return nil
}

// The codes of errors of PostgreSQL's that are expected.
const (
	// A row came into the default partition after it was read: PostgreSQL refuses to attach the partition that it belongs to.
	overtaken = "23514"
	// A row of another table refers to one of the partition.
	referenced = "23503"
)

// longestPause is the longest of the pauses between attempts.
const longestPause = 5 * time.Second

// patiently does something again as long as other transactions are in its way, with pauses in which they have the table for themselves.
func (k *Keeper) patiently(ctx context.Context, do func() error) error {
	wait := k.t.LockWait / 4
	for try := 1; ; try++ {
		err := do()
		if err == nil || k.d.Class(err) != dialect.Conflict {
			return err
		}
		if try >= k.t.Tries {
			return fmt.Errorf("%w: %d attempts, each waiting %v: %w", ErrBusy, try, k.t.LockWait, err)
		}
		if err := dialect.Sleep(ctx, wait/2+rand.N(wait/2+1)); err != nil {
			return errors.Join(err, ErrBusy)
		}
		wait = min(2*wait, longestPause)
	}
}

// do does a step. It is false when the step was not done because the table is not any more as the plan had it.
func (k *Keeper) do(ctx context.Context, conn *sql.Conn, step Step) (done bool, err error) {
	if step.Action == Call {
		if err := k.archive(ctx, conn, step.table); err != nil {
			return false, fmt.Errorf("%w: %s, which stays until a later run has archived it: %w", ErrArchive, step.Name, err)
		}
	}
	again := false
	err = k.patiently(ctx, func() error {
		again, err = k.execute(ctx, conn, step)
		if step.Action == Remove && k.d == dialect.Postgres && k.d.Class(err) == dialect.Conflict {
			// A DETACH CONCURRENTLY that has waited too long is pending, which another plan ends.
			if unfinished, readErr := k.pending(ctx, conn, step); readErr == nil && unfinished {
				again = true
				return nil
			}
		}
		return err
	})
	switch code := k.d.Code(err); {
	case err == nil:
		return !again, nil
	case k.d == dialect.Postgres && code == overtaken && step.Action == Make:
		return false, nil
	case k.d == dialect.Postgres && code == referenced:
		return false, fmt.Errorf("%w: %s cannot be detached before those rows are gone, as ON DELETE does nothing here: %w", ErrReferenced, step.Name, err)
	}
	return false, fmt.Errorf("%s: %w", step, err)
}

// pingEvery is how often the connection is used while an archive command is at work: servers and networks end connections that nobody uses, and the lock
// with them.
const pingEvery = 10 * time.Second

// archive calls the archive function, and ends its context when the connection, with the lock that keeps other runs from the same table, is lost.
func (k *Keeper) archive(ctx context.Context, conn *sql.Conn, d Detached) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pinging, end := context.WithCancel(ctx)
	var pings sync.WaitGroup
	var lost error
	pings.Go(func() {
		for lost == nil && dialect.Sleep(pinging, k.ping) == nil {
			if _, err := conn.ExecContext(within, "SELECT 1"); err != nil && ctx.Err() == nil {
				lost = fmt.Errorf("the connection is lost, and the lock with it: %w", err)
				cancel(lost)
			}
		}
	})
	err := func() error {
		defer end() // also when the function panics
		return k.t.Archive(within, d)
	}()
	pings.Wait()
	return errors.Join(err, lost)
}

// pending reports whether PostgreSQL has begun to detach the partition of a step.
func (k *Keeper) pending(ctx context.Context, conn *sql.Conn, step Step) (bool, error) {
	status, err := reader{conn: conn, d: k.d, t: k.t}.read(ctx, k.clock, k.local())
	return slices.ContainsFunc(status.Parts, func(part Part) bool { return part.Name == step.Name && part.Pending }), err
}

// cleanLimit bounds what ends a step that has failed.
const cleanLimit = 5 * time.Second

// execute runs the statements. It reports whether a SELECT has found a row, and the rest was left.
func (k *Keeper) execute(ctx context.Context, conn *sql.Conn, step Step) (again bool, err error) {
	defer func() {
		if err == nil && !again {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
		defer cancel()
		end := "ROLLBACK"
		if k.d == dialect.MySQL {
			end = "UNLOCK TABLES"
		}
		_, _ = conn.ExecContext(ctx, end) // else the end of the connection does it
	}()
	for i, statement := range step.SQL {
		if k.began != nil {
			if err := k.began(step, i); err != nil {
				return false, err
			}
		}
		if strings.HasPrefix(statement, "SELECT ") {
			var found sql.NullInt64
			switch err := dialect.One(ctx, conn, statement, nil, &found); {
			case err == nil:
				return true, nil
			case !errors.Is(err, sql.ErrNoRows):
				return false, fmt.Errorf("%s: %w", statement, err)
			}
		} else if _, err := conn.ExecContext(ctx, statement); err != nil {
			return false, fmt.Errorf("%s: %w", statement, err)
		}
	}
	return false, nil
}
