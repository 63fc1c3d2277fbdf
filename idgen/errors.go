package idgen

import "errors"

// The errors of this package, to be tested with errors.Is. What is returned wraps them with the value, the limit and what to do.
var (
	// ErrLayout says that a layout is not valid, or that a name is no layout.
	ErrLayout = errors.New("idgen: invalid layout")
	// ErrRange says that a value does not fit the field of the layout that it is meant for, or that an id is not one of the layout.
	ErrRange = errors.New("idgen: value out of range")
	// ErrNode says that a generator was asked for without a number that its layout has a field for.
	ErrNode = errors.New("idgen: node number missing")
	// ErrBeforeEpoch says that a time lies before the layout's epoch.
	ErrBeforeEpoch = errors.New("idgen: time before the layout's epoch")
	// ErrExhausted says that a time lies past the layout's last tick.
	ErrExhausted = errors.New("idgen: layout exhausted")
)
