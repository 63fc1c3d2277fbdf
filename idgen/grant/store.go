package grant

import (
	"context"
	"time"
)

// Store is where grants are kept. All methods are safe for concurrent use, by any number of processes, and end early, with an error
// that wraps the context's, when it ends. A change is made whole or not at all; after an error it may have been made, or may be made
// later. Package granttest has the tests that a store must pass.
type Store interface {
	// Prepare makes the key space ready: it records the layout as the space's, with a random identity, in a row that keeps both, when the
	// space is new. It returns the layout that is in force, which is another one when the space was made with that. Any number of
	// processes may prepare a space at once, and all of them are told the same layout. Where rows of the space are gone, it has numbers
	// without a row held until the Mark, and counts the rows anew. A space is 1 to 64 of the characters a-z, A-Z, 0-9,
	// dash, dot and underline, with a tilde and a digit at the end after a Move; a layout is up to 255 printable ASCII characters.
	Prepare(ctx context.Context, space, layout string) (inForce string, err error)

	// List returns the rows of the numbers least to most that the space has, in their order, the store's time, and what it knows of the
	// space as a whole. What it returns may be out of date.
	List(ctx context.Context, space string, least, most int64) (Listing, error)

	// Swap replaces a row and reports true, if the row with the number of both has the holder and the until of old; else it changes
	// nothing and reports false. An old row with the holder [Absent] stands for none: then the row is added if there is none. In the same
	// step the space's Mark becomes the new row's Until where that is greater, and not [Forever], and an added row is counted. None is added that begins
	// before Absent, or while rows are gone before the Mark: it may be one of these. Once Swap has reported true the change is durable, and
	// all swaps that begin later see it.
	Swap(ctx context.Context, space string, old, new Row) (bool, error)

	// Move has the rows of a space, with its identity, mark, counts and losses, under another space's name from then on, and reports true: if the layout
	// of the space is old, its Mark is at most most, and the other space is not there; else it changes nothing and reports false. Both spaces have the layout
	// new then. What is left of the first has its identity, and numbers without a row are held Forever, so that no swap changes it. The other name is
	// the first one's, a tilde and a digit.
	Move(ctx context.Context, space, to, old, new string, most int64) (bool, error)

	// Record keeps a loss for [Store.Losses]. A store may forget the oldest beyond [MostLosses] of a space.
	Record(ctx context.Context, space string, loss Loss) error

	// Losses returns what was recorded of a space, the oldest first.
	Losses(ctx context.Context, space string) ([]Loss, error)
}

// Row is what a store knows of a number.
type Row struct {
	Number int64  // 0 to 2^62-1
	Holder string // who has it, up to 128 printable ASCII characters; empty when it was given back
	From   int64  // first tick that the holder may use
	Until  int64  // tick after the last one that the holder may use, at most Forever
}

// Absent is the holder of a row that is not there.
const Absent = "-"

// Forever is the Until of a number that is taken for good, by what is no keeper: no grant begins after it, and it is no space's Mark.
const Forever = 1 << 62

// Listing is what [Store.List] returns.
type Listing struct {
	Now  time.Time // the store's clock, to the millisecond or better, in UTC
	ID   string    // the identity of the space, made up when it was prepared first
	Mark int64     // the greatest Until that a row of the space has ever had
	Gone int64     // rows that were added once and are not there any more, as far as Prepare has not seen to them yet
	// Absent is the tick until which numbers without a row are held.
	Absent int64
	Rows   []Row
}

// held returns the tick until which numbers without a row are held: any of them may be one whose row is gone.
func (l Listing) held() int64 {
	if l.Gone > 0 {
		return max(l.Absent, l.Mark)
	}
	return l.Absent
}

// Loss is that a store has forgotten a grant which a keeper was still using: its row was gone, or was not as the keeper had left it, or
// the whole space was another. The ids that the number made at its ticks are in doubt: another generator may have made the same ones.
type Loss struct {
	Number int64
	Holder string // who has lost it, as its row had it; up to 128 printable ASCII characters
	From   int64  // the tick in which the store last knew the grant
	Until  int64  // the tick after the last one that the keeper made an id at
}
