package ticket

import (
	"errors"
	"fmt"
	"strings"
)

// The errors of this package, to be tested with errors.Is. What is returned wraps them with the server, the value, the limit and what to do.
var (
	// ErrConfig says that a configuration is not valid.
	ErrConfig = errors.New("ticket: invalid configuration")
	// ErrDialect says that a server's dialect is none.
	ErrDialect = errors.New("ticket: unknown SQL dialect")
	// ErrTable says that the table, the row or the sequence that tickets are drawn from is missing, may not be used, or is not what is
	// needed. It comes as a [TableError] where a statement makes it.
	ErrTable = errors.New("ticket: the table of tickets cannot be used")
	// ErrForgotten says that the row of a sequence was there once, and is not any more: after a DELETE, a TRUNCATE, a restored backup. It
	// comes as a [TableError], whose statement has to be given a number above every id in use.
	ErrForgotten = errors.New("ticket: the database has forgotten the sequence")
	// ErrTwoTables says that a second table of the name has the sequence too, or may have it: in another schema, database of MySQL or attached file. It is an ErrTable.
	ErrTwoTables = fmt.Errorf("%w: the sequence is in two tables", ErrTable)
	// ErrLayout says that a server has other numbers than the ones that are its own: another increment or offset.
	ErrLayout = errors.New("ticket: the server has another layout")
	// ErrMoving says that a resize has begun and not ended. Until it does the server allocates nothing.
	ErrMoving = errors.New("ticket: the servers are being resized")
	// ErrRegression says that a server has come to numbers that it gave out before.
	ErrRegression = errors.New("ticket: the server gives out numbers again")
	// ErrUnsafe says that a server may forget what it gave out, because of a setting.
	ErrUnsafe = errors.New("ticket: the server may forget tickets")
	// ErrReadOnly says that a server takes no writes.
	ErrReadOnly = errors.New("ticket: the server is read-only")
	// ErrExhausted says that there are no ids left. It comes as an [ExhaustedError].
	ErrExhausted = errors.New("ticket: the ids are used up")
	// ErrUnavailable says that no server gave a ticket in time, or that none ever will. It comes as an [UnavailableError].
	ErrUnavailable = errors.New("ticket: no server gives tickets")
	// ErrClosed says that the source was closed.
	ErrClosed = errors.New("ticket: the source is closed")
)

// Class is what an error of a server asks for.
type Class int

// The classes. Each error of a server has one.
const (
	// Retry is an error that is gone with the next attempt on the same server: a deadlock, a lock that was waited for, a connection that
	// the server closed meanwhile.
	Retry Class = iota + 1
	// Next is an error that another server does not have: this one is down, hangs, is full, starts, or is read-only. It is tried again
	// after a while.
	Next
	// Permanent is an error that lasts until somebody mends it: a missing table or row, no rights, no ids left, a setting that is unsafe or not the
	// server's layout. The server is tried again after the longest while.
	Permanent
	// Quarantine is an error after which the server's numbers cannot be trusted: one that it gave before, or of another server, a row that was set back
	// or has another layout. It is not used until [Servers.Readmit].
	Quarantine
)

var classNames = map[Class]string{Retry: "retry", Next: "next", Permanent: "permanent", Quarantine: "quarantine"}

// String returns "retry", "next", "permanent" or "quarantine".
func (c Class) String() string {
	if name, ok := classNames[c]; ok {
		return name
	}
	return fmt.Sprintf("Class(%d)", int(c))
}

// ServerError is an error of one server. It wraps Err.
type ServerError struct {
	Server string // its name
	Class  Class
	Err    error

	lost   bool // a number may have been drawn
	locked bool // by another writer of SQLite's
}

// Error has the server's name before what it said.
func (e *ServerError) Error() string { return e.Server + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }

// UnavailableError says why no server gave a ticket. It is an [ErrUnavailable], and wraps the context's error where that ended the
// wait, and the last error of each server.
type UnavailableError struct {
	Ended   error // of the context; nil where waiting would not have helped
	Servers []*ServerError
}

// Error shows the last error of each server.
func (e *UnavailableError) Error() string {
	var text strings.Builder
	text.WriteString(ErrUnavailable.Error())
	if e.Ended != nil {
		text.WriteString(" in time: " + e.Ended.Error())
	}
	separator := ": "
	for _, s := range e.Servers {
		text.WriteString(separator + s.Error())
		separator = "; "
	}
	return text.String()
}

// Unwrap returns [ErrUnavailable], the context's error, and the servers'.
func (e *UnavailableError) Unwrap() []error {
	errs := []error{ErrUnavailable}
	if e.Ended != nil {
		errs = append(errs, e.Ended)
	}
	for _, s := range e.Servers {
		errs = append(errs, s)
	}
	return errs
}

// TableError says that a table, row or sequence is missing, and how to make it. It wraps [ErrTable] and Err.
type TableError struct {
	// Statement makes it, to be run once by somebody who may. Of a sequence that was forgotten it has a question mark, for a number of which all after it are
	// greater than any id in use. It is empty where it is not known what is missing, or which place there is for it.
	Statement string
	Err       error // what the database said, or ErrForgotten
}

// Error has what the database said, and the statement.
func (e *TableError) Error() string {
	if e.Statement == "" {
		return fmt.Sprintf("%v: %v", ErrTable, e.Err)
	}
	return fmt.Sprintf("%v: %v; this makes it:\n%s", ErrTable, e.Err, e.Statement)
}

// Unwrap returns [ErrTable] and Err.
func (e *TableError) Unwrap() []error { return []error{ErrTable, e.Err} }

// ExhaustedError says that a sequence has come to its end. It is an [ErrExhausted].
type ExhaustedError struct {
	Limit int64 // the greatest id that may be given out
	Err   error // what the database said; nil where the limit is the configuration's
}

// Error shows the limit.
func (e *ExhaustedError) Error() string {
	text := fmt.Sprintf("%v: the greatest is %d", ErrExhausted, e.Limit)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns [ErrExhausted], and what the database said.
func (e *ExhaustedError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrExhausted}
	}
	return []error{ErrExhausted, e.Err}
}
