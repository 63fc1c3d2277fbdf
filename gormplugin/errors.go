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
	// ErrKey says that a field cannot hold the keys of its source: the field has fewer bits, another type, or is the key of another row. Of a
	// scope it says that the model has no primary key that is a number, in Go and in the database.
	ErrKey = errors.New("gormplugin: not a field for these keys")
	// ErrColumn says that a row was not inserted because a column of its table does not hold its key: it is too narrow for 64 bits, or a uuid of MariaDB that was
	// given what is no UUID.
	ErrColumn = errors.New("gormplugin: the column does not hold its key")
	// ErrUpsert says that the row which an upsert has written is not known, or that rows of associations need keys that [WithoutKeys] takes
	// away. The statement is undone.
	ErrUpsert = errors.New("gormplugin: the row that an upsert met is not known")
	// ErrNoPlugin says that a scope needs the layout of the plugin, which is not registered with the database.
	ErrNoPlugin = errors.New("gormplugin: the plugin is not registered")
	// ErrNotFilled says that a scope needs the layout of keys that the plugin does not fill in.
	ErrNotFilled = errors.New("gormplugin: the key is not filled in by the plugin")
	// ErrNoLayout says that the keys have no order of time: their source has no layout, or one with the time below another field.
	ErrNoLayout = errors.New("gormplugin: the keys are not in the order of time")
	// ErrRange says that a range of time ends before it begins.
	ErrRange = errors.New("gormplugin: the range ends before it begins")
	// ErrScope says that a scope does not fit the statement: raw SQL, a statement with an order of its own, or one that changes rows.
	ErrScope = errors.New("gormplugin: the scope does not fit the statement")
)
