package gormplugin

import "errors"

// The errors of this package, to be tested with errors.Is.
var (
	// ErrNoSource says that a key source is nil, or that a tag names one that the plugin does not have.
	ErrNoSource = errors.New("gormplugin: no key source")
	// ErrDatabase says that a node number cannot be granted in a database.
	ErrDatabase = errors.New("gormplugin: no node number in this database")
	// ErrSourcePanic says that the key source panicked.
	ErrSourcePanic = errors.New("gormplugin: the key source panicked")
	// ErrKey says that a field cannot hold the keys that it is to be filled with: it has fewer bits, another type, or belongs to another row.
	ErrKey = errors.New("gormplugin: not a field for these keys")
	// ErrUpsert says that it cannot be known which row an upsert has written, so the statement is undone.
	ErrUpsert = errors.New("gormplugin: the row that an upsert met is not known")
	// ErrTable says that a text is not the name of a table.
	ErrTable = errors.New("gormplugin: not a table's name")
	// ErrCheck says that the tables of a database cannot be checked.
	ErrCheck = errors.New("gormplugin: the tables cannot be checked")
	// ErrFinding says that a value is no kind of finding.
	ErrFinding = errors.New("gormplugin: no kind of finding")
)
