package idgen

import (
	"errors"
	"fmt"
	"time"
)

// The errors of this package, to be tested with errors.Is. What is returned wraps them with the value, the limit and what to do.
var (
	// ErrLayout says that a layout is not valid, or that a name is no layout.
	ErrLayout = errors.New("idgen: invalid layout")
	// ErrRange says that a value does not fit the field of the layout that it is meant for, that an id is not one of the layout or is
	// negative, that a text stands for a number above 2^63-1, or that a setting of a policy is outside of its limits.
	ErrRange = errors.New("idgen: value out of range")
	// ErrNode says that a generator was asked for without a number that its layout has a field for, or that a source has none.
	ErrNode = errors.New("idgen: node number missing")
	// ErrBeforeEpoch says that a time lies before the layout's epoch.
	ErrBeforeEpoch = errors.New("idgen: time before the layout's epoch")
	// ErrExhausted says that a time lies past the layout's last tick.
	ErrExhausted = errors.New("idgen: layout exhausted")
	// ErrClockBack says that the wall clock has stepped back, under a policy that makes no ids then. It comes as a [ClockError].
	ErrClockBack = errors.New("idgen: the clock stepped back")
	// ErrFull says that the sequence of the current tick is used up, under the policy that does not wait.
	ErrFull = errors.New("idgen: no ids left in this tick")
	// ErrGrant says that a generator was not granted the number or the tick that it needs, or was sealed.
	ErrGrant = errors.New("idgen: not granted")
	// ErrEncoding says that an alphabet makes no encoding, that a name is no encoding, or that an [Encoding] is the zero value.
	ErrEncoding = errors.New("idgen: invalid encoding")
	// ErrSyntax says that a text is not one of an id.
	ErrSyntax = errors.New("idgen: not the text of an id")
	// ErrAddress says that the host has no address, or no single one, that a node number can be taken from.
	ErrAddress = errors.New("idgen: no address to take the node number from")
)

// ClockError says by how much the wall clock has stepped back. It is an [ErrClockBack].
type ClockError struct {
	By   time.Duration // how far the clock is behind the latest time it has shown
	Last time.Time     // the latest time it has shown
}

// Error says when the clock will be where it was.
func (e *ClockError) Error() string {
	return fmt.Sprintf("%v by %s; no ids until it reaches %s again", ErrClockBack, e.By, e.Last.UTC().Format(time.RFC3339Nano))
}

// Is makes errors.Is find [ErrClockBack].
func (e *ClockError) Is(target error) bool { return target == ErrClockBack }
