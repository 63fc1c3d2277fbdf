package run

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// Options are migrate.RunOptions.
type Options struct {
	Target   time.Duration
	Throttle float64
	MaxLag   time.Duration
	Replicas []*sql.DB
	LockWait time.Duration
	Attempts int
	Continue string
	Dry      bool
	Progress func(Progress)
}

// Outcome is migrate.Outcome.
type Outcome struct {
	Done       bool
	Step       int
	Hold, Held string
	Would      []int
	Undid      int
	Rows       int64
	Took       time.Duration
	Warnings   []string
}

// complete returns the options with their defaults. The error wraps [ErrOption].
func (o Options) complete(d dialect.Dialect) (Options, error) {
	o.Target, o.LockWait, o.Attempts = cmp.Or(o.Target, 500*time.Millisecond), cmp.Or(o.LockWait, 2*time.Second), cmp.Or(o.Attempts, 30)
	switch {
	case o.Target < 0 || o.LockWait < 0 || o.MaxLag < 0 || o.Attempts < 0:
		return o, fmt.Errorf("%w: Target %s, LockWait %s, MaxLag %s and Attempts %d must not be negative", ErrOption, o.Target, o.LockWait, o.MaxLag, o.Attempts)
	case o.LockWait < time.Millisecond || o.LockWait > time.Hour:
		return o, fmt.Errorf("%w: LockWait %s, want 1 ms to 1 hour", ErrOption, o.LockWait)
	case !(o.Throttle >= 0 && o.Throttle <= 0.99): // false for NaN, too
		return o, fmt.Errorf("%w: Throttle %v, want 0 to 0.99", ErrOption, o.Throttle)
	case o.MaxLag > 0 && d == dialect.MySQL && len(o.Replicas) == 0:
		return o, fmt.Errorf("%w: MaxLag needs the Replicas to look at: on MySQL and MariaDB it is the replica that knows", ErrOption)
	}
	return o, nil
}

// checkConnections returns an error that wraps [ErrOption] when the pool allows fewer connections than a run of the plan needs at once.
func (r *runner) checkConnections() error {
	need := 1
	if r.dialect != dialect.SQLite {
		need++ // for the session's lock
	}
	if r.dialect == dialect.Postgres && r.o.MaxLag > 0 {
		need++ // to ask how far the replicas are
	}
	if slices.ContainsFunc(r.p.Steps, func(s plan.Step) bool { return s.Do.Kind == plan.FillMap || s.Do.Kind == plan.Digest }) {
		need++ // package mapping reads on one while the transaction is on another
	}
	if most := r.db.Stats().MaxOpenConnections; most > 0 && most < need {
		return fmt.Errorf("%w: the pool allows %d connections, and the run needs %d at once; raise SetMaxOpenConns", ErrOption, most, need)
	}
	return nil
}
