package grant

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Reservation is a number that is taken for good, see [Reserve].
type Reservation struct {
	Row             // Until is Forever; no key may be made at a tick before From
	StoredAs string // the name that the rows of the space have in the store, see [Space]
}

// mostReserved is how many characters the name of a reservation can have.
const mostReserved = 64

// Reserve takes a number of a key space for good: for a generator that is no [Keeper], such as a function in the database. No keeper acquires it, whatever
// happens to the generator. The number is the greatest one that is free. A second call with the same name returns the same number, so the
// caller must see to it that one generator alone has the name. A name is 1 to 64 printable ASCII characters without a #.
//
// The layout is the generator's, and the space's where the space is new. The generator must keep within it: at ticks from From on.
//
// The error wraps [ErrConfig] for another name, [ErrLayout] where the space has another layout, [ErrChange] where it changes to the given one later,
// [ErrTaken] where no number is free, and [idgen.ErrBeforeEpoch] where the store's clock is before the layout's epoch; else it is the store's.
func Reserve(ctx context.Context, store Store, space string, layout idgen.Layout, name string) (Reservation, error) {
	if name == "" || len(name) > mostReserved || !printable(name) || strings.Contains(name, "#") {
		return Reservation{}, fmt.Errorf("%w: the name %q of a reservation, want 1 to %d printable ASCII characters without #", ErrConfig, name, mostReserved)
	}
	rows, phases, err := findRows(ctx, store, space, layout.Fingerprint())
	if err != nil {
		return Reservation{}, err
	}
	last := phases[len(phases)-1]
	if last.Layout != layout {
		return Reservation{}, &LayoutError{Space: space, InForce: phases.String(), Wanted: layout.Fingerprint(), phases: phases}
	}
	for range attempts {
		l, err := store.List(ctx, rows, 0, math.MaxInt64)
		if err != nil {
			return Reservation{}, err
		}
		if len(phases) > 1 && last.Begin().After(l.Now) {
			return Reservation{}, fmt.Errorf("%w: space %q has this layout from %s on; wait until then", ErrChange, space, last.Begin().Format(time.RFC3339Nano))
		}
		if l.Now.Before(layout.Epoch()) {
			return Reservation{}, fmt.Errorf("%w: the store's clock is at %s, the layout begins at %s", idgen.ErrBeforeEpoch, l.Now.Format(time.RFC3339Nano), layout.Epoch().Format(time.RFC3339Nano))
		}
		for _, row := range l.Rows {
			if row.Until == Forever && strings.HasPrefix(row.Holder, name+"#") {
				row.From = max(row.From, last.From)
				return Reservation{row, rows}, nil
			}
		}
		now := int64(l.Now.Sub(layout.Epoch()) / layout.Unit())
		old, found := greatestFree(l, now, 1<<numberBits(layout)-1)
		if !found {
			return Reservation{}, fmt.Errorf("%w: of the %d numbers of space %q none is free; end a process, or wait", ErrTaken, int64(1)<<numberBits(layout), space)
		}
		row := Row{Number: old.Number, Holder: name + "#" + randomBits(8), From: max(old.Until, now+1, last.From), Until: Forever}
		if done, err := store.Swap(ctx, rows, old, row); err != nil || done {
			return Reservation{row, rows}, err
		}
	}
	return Reservation{}, fmt.Errorf("%w: space %q has new grants all the time; try again", ErrTaken, space)
}

// greatestFree returns the row of the greatest number, at most the one given, that nobody has. Keepers take the least that have no row.
func greatestFree(l Listing, now, most int64) (Row, bool) {
	rows := l.Rows
	for len(rows) > 0 && rows[len(rows)-1].Number > most {
		rows = rows[:len(rows)-1]
	}
	for number := most; number >= 0; number-- {
		if len(rows) > 0 && rows[len(rows)-1].Number == number {
			if row := rows[len(rows)-1]; row.Until <= now {
				return row, true
			}
			rows = rows[:len(rows)-1]
			continue
		}
		if l.held() <= now {
			return Row{Number: number, Holder: Absent, Until: l.held()}, true
		}
	}
	return Row{}, false
}
