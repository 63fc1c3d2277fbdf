package check

import (
	"encoding"
	"fmt"
	"slices"
)

// Kind says what is wrong with a table. Its text form, in JSON too, is the one that String returns.
type Kind uint8

// The kinds of findings.
const (
	NoTable         Kind = iota + 1 // the table is not there, or is a view
	NoColumn                        // the table does not have the model's key
	NoPrimaryKey                    // nothing in the table refuses a key that is there already
	WrongType                       // the key's column is none of integers
	NarrowKey                       // the key's column has less than 64 bits
	AutoIncrement                   // the database makes keys of its own where one is left out
	NullableKey                     // a key that is left out becomes NULL
	NarrowReference                 // a column that refers to a key cannot hold it
	FutureKey                       // the table has keys above all that the source makes now
	HalfEmpty                       // the pages of an InnoDB table are half empty, which costs space and time alone: see [Kind.Harmless]
)

var kinds = [...]string{
	"no-table", "no-column", "no-primary-key", "wrong-type", "narrow-key", "auto-increment", "nullable-key", "narrow-reference", "future-key",
	"half-empty",
}

var (
	_ encoding.TextMarshaler   = Kind(0)
	_ encoding.TextUnmarshaler = (*Kind)(nil)
)

// Harmless reports whether no key and no row comes to harm by findings of the kind.
func (k Kind) Harmless() bool { return k == HalfEmpty }

// String returns words with hyphens, such as "narrow-key".
func (k Kind) String() string {
	if k < NoTable || k > HalfEmpty {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kinds[k-NoTable]
}

// MarshalText gives what String returns. The error wraps [ErrKind] for a value that is no kind.
func (k Kind) MarshalText() ([]byte, error) {
	if k < NoTable || k > HalfEmpty {
		return nil, fmt.Errorf("%w: %d", ErrKind, uint8(k))
	}
	return []byte(k.String()), nil
}

// UnmarshalText takes what MarshalText gives. The error wraps [ErrKind] for another text.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kinds[:], string(text))
	if i < 0 {
		return fmt.Errorf("%w: %q", ErrKind, text)
	}
	*k = NoTable + Kind(i)
	return nil
}

// Finding is one fault that [Models] or [Tables] found.
type Finding struct {
	Table  string `json:"table"`            // as [Tables] takes it, with the schema where the name alone is that of another table or none
	Column string `json:"column,omitempty"` // empty when it is not about one
	Kind   Kind   `json:"kind"`
	Text   string `json:"text"` // what is wrong, and what comes of it

	// Fix are the statements that fix it, to be run in this order by somebody with the rights to, while nothing writes to the tables.
	// They are of the database's dialect, without a semicolon at the end. Those of findings that are fixed together are the same, and
	// may be run again. On MySQL each commits by itself: keep the list until all have run, for it may drop foreign keys and make them
	// again. They change nothing but what Text says, no value in any row, and there are none unless all is known to be as they need it.
	// So Fix is empty for every column that is none of integers, for what other objects of the database are made of, and on SQLite;
	// then Text says why, and what to do.
	Fix []string `json:"fix,omitempty"`
}

// String returns the finding in one line, without the statements.
func (f Finding) String() string {
	if f.Column == "" {
		return fmt.Sprintf("%s: %s: %s", f.Table, f.Kind, f.Text)
	}
	return fmt.Sprintf("%s, column %s: %s: %s", f.Table, f.Column, f.Kind, f.Text)
}
