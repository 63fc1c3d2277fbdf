package gormplugin

import "errors"

// The errors of this package, to be tested with errors.Is.
var (
	// ErrNoSource says that the plugin was made without a key source.
	ErrNoSource = errors.New("gormplugin: no key source")
	// ErrSourcePanic says that the key source panicked.
	ErrSourcePanic = errors.New("gormplugin: the key source panicked")
)
