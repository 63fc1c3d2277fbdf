package inspect

import "errors"

// Errors of this package.
var (
	ErrOption = errors.New("inspect: invalid option") // a text that cannot be read, or a column that is not there or of no use
	ErrTable  = errors.New("inspect: no such table")  // or it is none, but a view
)
