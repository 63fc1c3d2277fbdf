package gormplugin

import "errors"

// The errors of this package, to be tested with errors.Is.
var (
	// ErrNoSource says that the key source is nil.
	ErrNoSource = errors.New("gormplugin: no key source")
	// ErrDatabase says that a node number cannot be granted in a database.
	ErrDatabase = errors.New("gormplugin: no node number in this database")
	// ErrSourcePanic says that the key source panicked.
	ErrSourcePanic = errors.New("gormplugin: the key source panicked")
)
