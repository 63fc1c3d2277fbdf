package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// retry makes attempts until one meets no lock of another's. Each has to have rolled back when it returns an error. After the last the
// error wraps [ErrLocked].
func (r *runner) retry(ctx context.Context, attempt func() error) error {
	pause := min(r.o.LockWait/4, 500*time.Millisecond)
	for n := 1; ; n++ {
		err := attempt()
		if r.stalePlan(err) && ctx.Err() == nil {
			n--
			continue
		}
		if err == nil || r.dialect.Class(err) != dialect.Conflict || ctx.Err() != nil {
			return err
		}
		if n >= r.o.Attempts {
			return fmt.Errorf("%w: %d attempts of %s each; look for a transaction that stays open: %w", ErrLocked, n, r.o.LockWait, err)
		}
		r.progress.waits("a lock")
		// Those who met in a deadlock do not meet again.
		if err := dialect.Sleep(ctx, time.Duration(float64(pause)*(0.5+rand.Float64()))); err != nil {
			return err
		}
		pause = min(pause*3/2, 5*time.Second)
	}
}

// within opens a connection with an action's settings, and makes attempts on it as retry does.
func (r *runner) within(ctx context.Context, settings []string, attempt func(*session) error) error {
	return r.retry(ctx, func() error {
		s, err := r.open(ctx, settings)
		if err != nil {
			return err
		}
		defer s.close()
		return attempt(s)
	})
}

// stalePlan reports whether an attempt has failed for a plan of PostgreSQL's, made on the same connection before the type of a column was
// changed, and sees to it that the next attempt has a new one.
func (r *runner) stalePlan(err error) bool {
	if err == nil || r.dialect != dialect.Postgres || r.dialect.Code(err) != "0A000" || !r.last.reused {
		return false
	}
	r.last.reused, r.last.broken = false, true
	r.drop()
	return true
}
