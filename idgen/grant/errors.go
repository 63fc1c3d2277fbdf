package grant

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// The errors of this package, to be tested with errors.Is. What is returned wraps them with the value, the limit and what to do.
var (
	// ErrConfig says that a [Config] is not valid.
	ErrConfig = errors.New("grant: invalid configuration")
	// ErrTaken says that every number is held by another generator. It comes as a [TakenError].
	ErrTaken = errors.New("grant: all numbers are taken")
	// ErrLayout says that the key space was made with another layout. It comes as a [LayoutError].
	ErrLayout = errors.New("grant: the key space has another layout")
	// ErrChange says that the layout of a key space cannot be changed, or not yet.
	ErrChange = errors.New("grant: the layout of the key space cannot be changed")
	// ErrSkew says that the clock is too far from the store's. At the start it comes as a [SkewError].
	ErrSkew = errors.New("grant: the clock is too far from the database's")
	// ErrEnded says that a grant has ended and could not be renewed. It comes as an [EndedError].
	ErrEnded = errors.New("grant: the grant has ended")
	// ErrClosed says that a keeper was closed, or its context has ended.
	ErrClosed = errors.New("grant: the keeper is closed")
	// ErrLost says that the row of a grant is gone, or was set back, as it is after a database was restored from a backup.
	ErrLost = errors.New("grant: the database has forgotten a grant")
	// ErrStore says that a store does not give back what was written to it.
	ErrStore = errors.New("grant: the store changes what is written to it")
	// ErrTwoTables says that a key space is in two tables, so that there are two holders for each number. It comes as a [TwoTablesError].
	ErrTwoTables = errors.New("grant: the key space is in two tables")
	// ErrMoved says that the table of grants, or its database, is not the one in which a keeper began.
	ErrMoved = errors.New("grant: the table of grants is another one")
	// ErrUnsafe says that the database may lose what it has committed. [WithUnsafe] takes such a database all the same, in tests.
	ErrUnsafe = errors.New("grant: the database may lose what is committed")
	// ErrReadOnly says that the database takes no writes.
	ErrReadOnly = errors.New("grant: the database is read-only")
	// ErrTable says that the table of grants has a name that is none, is missing, may not be used, or does not keep what is written to it.
	ErrTable = errors.New("grant: the table of grants cannot be used")
	// ErrDialect says that a name or a value is no dialect.
	ErrDialect = errors.New("grant: unknown SQL dialect")
	// ErrFile says that the file of grants cannot be read or written, or is none.
	ErrFile = errors.New("grant: the file of grants cannot be used")
)

// TakenError says how many numbers there are, and when the next comes free. It is an [ErrTaken].
type TakenError struct {
	Held     int64         // numbers that are held by others
	Silent   int64         // of these, numbers whose holders have not renewed them in time: most likely they have ended without Close
	Missing  int64         // of these, numbers without a row, which count as held since rows of the table were deleted
	Of       int64         // numbers that there are
	NextFree time.Duration // until the next comes free, if its holder does not renew it
}

// Error says what to do.
func (e *TakenError) Error() string {
	if e.Missing > 0 {
		return fmt.Sprintf("%v: rows of the table of grants were deleted, so %d of %d numbers, those without a row, count as held for as long as the deleted ones may be; "+
			"wait, the next comes free in %s unless it is renewed", ErrTaken, e.Missing, e.Of, e.NextFree.Round(time.Millisecond))
	}
	return fmt.Sprintf("%v: %d of %d are held, %d of them by processes that have most likely ended without Close; the next comes free in %s unless it is renewed; "+
		"end a process, wait, or choose a layout with more node bits", ErrTaken, e.Held, e.Of, e.Silent, e.NextFree.Round(time.Millisecond))
}

// Is makes errors.Is find [ErrTaken].
func (e *TakenError) Is(target error) bool { return target == ErrTaken }

// LayoutError says which layout a key space has, and which one the generator was to have. It is an [ErrLayout].
type LayoutError struct {
	Space, InForce, Wanted string       // InForce of a space that changes its layout is the text form of [idgen.Phases]
	phases                 idgen.Phases // the same
}

// Error shows both layouts.
func (e *LayoutError) Error() string {
	if n := len(e.phases); n > 1 {
		return fmt.Sprintf("%v: space %q has %s until %s and from then on %s, the generator has %s; give it the layout that comes, and the one before in Before",
			ErrLayout, e.Space, e.phases[n-2].Layout, e.phases[n-1].Begin().Format(time.RFC3339Nano), e.phases[n-1].Layout, e.Wanted)
	}
	return fmt.Sprintf("%v: space %q has %s, the generator %s; give it the same layout, or have the space change it with snowkey nodes change; another space is for another table, since ids of two layouts can be equal",
		ErrLayout, e.Space, e.InForce, e.Wanted)
}

// Is makes errors.Is find [ErrLayout].
func (e *LayoutError) Is(target error) bool { return target == ErrLayout }

// SkewError says how far the clock is from the store's. It is an [ErrSkew].
type SkewError struct {
	By    time.Duration // positive when the process's clock is ahead
	Limit time.Duration
}

// Error says in which direction the clock is off.
func (e *SkewError) Error() string {
	direction, by := "ahead", e.By
	if by < 0 {
		direction, by = "behind", -by
	}
	return fmt.Sprintf("%v: it is %s %s, at most %s; set the clocks of both machines", ErrSkew, by.Round(time.Millisecond), direction, e.Limit)
}

// Is makes errors.Is find [ErrSkew].
func (e *SkewError) Is(target error) bool { return target == ErrSkew }

// TwoTablesError names two tables that have a key space, or that may both have it. It is an [ErrTwoTables].
type TwoTablesError struct {
	Space  string
	Tables [2]string // the one that was to be used, or made, first
	Err    error     // why it is not known whether the second has the space; nil when it has
}

// Error says what to do.
func (e *TwoTablesError) Error() string {
	what := fmt.Sprintf("%v: %q is to be in %s, and is in %s too", ErrTwoTables, e.Space, e.Tables[0], e.Tables[1])
	if e.Err != nil {
		what = fmt.Sprintf("%v: %q is to be in %s, and may be in %s too, which cannot be read (%v)", ErrTwoTables, e.Space, e.Tables[0], e.Tables[1], e.Err)
	}
	return what + "; end all processes and drop the one that is not needed, or name one table for all of them; " +
		"where the two are of applications that have nothing in common, give one of these another space"
}

// Is makes errors.Is find [ErrTwoTables].
func (e *TwoTablesError) Is(target error) bool { return target == ErrTwoTables }

// Unwrap returns why the second table could not be read.
func (e *TwoTablesError) Unwrap() error { return e.Err }

// EndedError says why there are no ids. It is an [ErrEnded], and wraps the cause.
type EndedError struct {
	Number int64     // the number that was granted
	Until  time.Time // when the grant ended
	Cause  error     // why it could not be renewed
}

// Error shows the cause.
func (e *EndedError) Error() string {
	return fmt.Sprintf("%v: number %d was granted until %s, and could not be renewed: %v", ErrEnded, e.Number, e.Until.Format(time.RFC3339Nano), e.Cause)
}

// Is makes errors.Is find [ErrEnded].
func (e *EndedError) Is(target error) bool { return target == ErrEnded }

// Unwrap returns the cause.
func (e *EndedError) Unwrap() error { return e.Cause }
