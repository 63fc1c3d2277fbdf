package catalog

import "errors"

// ErrName says that a text is no name of a table.
var ErrName = errors.New("catalog: not a table's name")

// Name is the name of a table, and of its schema, which is empty for the current one; letter by letter, without quotes.
type Name struct {
	Schema string `json:"schema,omitempty"`
	Name   string `json:"name"`
}
