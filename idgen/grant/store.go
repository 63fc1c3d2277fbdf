package grant

import (
	"context"
	"time"
)

// Store is where grants are kept. All methods are safe for concurrent use, by any number of processes, and end early, with an error
// that wraps the context's, when it ends. A change is made whole or not at all; after an error it may have been made, or may be made
// later. Package granttest has the tests that a store must pass.
type Store interface {
	// Prepare makes the key space ready: it records the layout as the space's, in a row that never changes, when the space is new.
	// It returns the layout that is in force, which is another one when the space was made with that. Any number of processes may
	// prepare a space at once, and all of them are told the same layout. A space is 1 to 64 of the characters a-z, A-Z, 0-9, dash, dot
	// and underline; a layout is up to 255 printable ASCII characters.
	Prepare(ctx context.Context, space, layout string) (inForce string, err error)

	// List returns the rows of the numbers least to most that the space has, in their order, and the store's time. What it returns may
	// be out of date.
	List(ctx context.Context, space string, least, most int64) (Listing, error)

	// Swap replaces a row and reports true, if the row with the number of both has the holder and the until of old; else it changes
	// nothing and reports false. An old row with the holder [Absent] stands for none: then the row is added if there is none. Once it
	// has reported true the change is durable, and all swaps that begin later see it.
	Swap(ctx context.Context, space string, old, new Row) (bool, error)
}

// Row is what a store knows of a number.
type Row struct {
	Number int64  // 0 to 2^62-1
	Holder string // who has it, up to 128 printable ASCII characters; empty when it was given back
	From   int64  // first tick that the holder may use
	Until  int64  // tick after the last one that the holder may use
}

// Absent is the holder of a row that is not there.
const Absent = "-"

// Listing is what [Store.List] returns.
type Listing struct {
	Now  time.Time // the store's clock, to the millisecond or better, in UTC
	Rows []Row
}
