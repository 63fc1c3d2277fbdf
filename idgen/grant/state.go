package grant

import (
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// State is what a keeper tells of itself.
type State struct {
	Space    string    // the key space
	ID       string    // its identity in the store
	Table    string    // where the grants are: database, schema and table; empty of a store that is no database
	Warnings []string  // what the store says of itself: that commits may be lost when the machine crashes, that there is a second table
	Held     bool      // it has a number, and its grant has not ended
	Number   int64     // of the grant that it has, or had last: of the node, or datacenter and node together
	Holder   string    // its name in the store
	From     time.Time // start of the grant's first tick
	Until    time.Time // end of its last one
	// Left is how long keys flow without another renewal, by the generator's clock; 0 when the number is not held.
	Left     time.Duration
	Acquired int64        // numbers acquired so far
	Renewed  int64        // renewals so far
	Lost     int64        // numbers lost so far, to another holder after the grant's end or because the store has forgotten the grant
	Losses   []Doubt      // those that the store has forgotten: ids that may exist twice; the last [MostLosses]
	Failures int64        // attempts that failed since the last one that did not
	Phases   idgen.Phases // the layouts of the space, see [Keeper.Phases]
	Err      error        // of the last attempt; ErrClosed at the end; nil when all is well
	// Ahead is how far the generator's clock was ahead of the store's at the last attempt, negative when it was behind, to the time
	// that the answer took.
	Ahead time.Duration
}

// Doubt is a [Loss] by the clock: the ids that the number made from From until Until may have been made by another generator too.
type Doubt struct {
	Loss
	From, Until time.Time
}

// status is a state, and a channel that is closed when there is a newer one. It does not change.
type status struct {
	State
	row     Row // none while there is no number
	rows    string
	terms   terms
	changed chan struct{}
}
