package sqltype

import "errors"

// The errors of this package, to be tested with errors.Is. What is returned wraps them with the value that was wrong.
var (
	// ErrNull says that NULL or nothing was read into an ID.
	ErrNull = errors.New("sqltype: NULL is no ID, use sql.Null[sqltype.ID] for a column that may be NULL")
	// ErrSyntax says that a text or a value of a type is no ID.
	ErrSyntax = errors.New("sqltype: not an ID")
	// ErrRange says that a number does not fit 64 bits with sign.
	ErrRange = errors.New("sqltype: ID out of range")
)
