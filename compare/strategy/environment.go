package strategy

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// errEnvironment says that no keys can be made in an environment.
var errEnvironment = errors.New("compare: invalid environment")

var validPrefix = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// check says what is wrong with an environment, whatever the strategy.
func (p Environment) check() error {
	switch {
	case p.Processes < 1 || p.Process < 0 || p.Process >= p.Processes:
		return fmt.Errorf("%w: process %d of %d; they are counted from 0", errEnvironment, p.Process, p.Processes)
	case !validPrefix.MatchString(p.Prefix):
		return fmt.Errorf("%w: prefix %q; want 1 to 40 of a-z, 0-9 and underlines, no digit first", errEnvironment, p.Prefix)
	}
	return nil
}

// reason is an error of a kind whose text is the reason alone, without the kind's.
type reason struct {
	error
	kind error
}

func (r reason) Is(target error) bool { return target == r.kind }

func (r reason) Unwrap() error { return r.error }

// lacks returns the error of an environment that lacks what a strategy needs.
func lacks(format string, args ...any) error {
	return reason{fmt.Errorf(format, args...), ErrUnavailable}
}

// dialect is the SQL of the environment's database. The error wraps [ErrUnavailable] where there is none.
func (p Environment) dialect() (dialect.Dialect, error) {
	d, ok := dialect.Lookup(p.Kind)
	switch {
	case !ok:
		return d, lacks("it needs a database of the kind mysql, postgres or sqlite, not %q", p.Kind)
	case p.DB == nil:
		return d, lacks("it needs a database with a connection for keys beside the one that rows are inserted with, so none in memory")
	}
	return d, nil
}

// wall is the time of day by the environment's clock.
func (p Environment) wall() func() time.Time {
	if p.Clock == nil {
		return time.Now
	}
	return p.Clock.Wall
}

// name is what a strategy calls something that it makes in the database.
func (p Environment) name(what string) string { return p.Prefix + "_" + what }
