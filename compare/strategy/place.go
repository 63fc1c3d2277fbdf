package strategy

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// errPlace says that a place is not one that keys can be made at.
var errPlace = errors.New("compare: invalid place")

var validPrefix = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// check says what is wrong with a place, whatever the strategy.
func (p Place) check() error {
	switch {
	case p.Processes < 1 || p.Process < 0 || p.Process >= p.Processes:
		return fmt.Errorf("%w: process %d of %d; they are counted from 0", errPlace, p.Process, p.Processes)
	case !validPrefix.MatchString(p.Prefix):
		return fmt.Errorf("%w: prefix %q; want 1 to 40 of a-z, 0-9 and underlines, no digit first", errPlace, p.Prefix)
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

// lacks returns the error of a place that has not what a strategy needs.
func lacks(format string, args ...any) error { return reason{fmt.Errorf(format, args...), ErrNotHere} }

// dialect is the SQL of the place's database. The error wraps [ErrNotHere] where there is none.
func (p Place) dialect() (dialect.Dialect, error) {
	d, ok := dialect.Lookup(p.Kind)
	switch {
	case !ok:
		return d, lacks("it needs a database of the kind mysql, postgres or sqlite, not %q", p.Kind)
	case p.DB == nil:
		return d, lacks("it needs a database with a connection for keys beside the one that rows are inserted with, so none in memory")
	}
	return d, nil
}

// wall is the time of day by the place's clock.
func (p Place) wall() func() time.Time {
	if p.Clock == nil {
		return time.Now
	}
	return p.Clock.Wall
}

// name is what a strategy calls something that it makes in the database.
func (p Place) name(what string) string { return p.Prefix + "_" + what }
