package grant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Change is a change of a space's layout while processes make keys in it, see the package's documentation. It is made by [PlanChange].
type Change struct {
	Space  string
	Phases idgen.Phases // the layouts of the space with the new one, which comes last
	Now    time.Time    // by the store's clock
	// Unaware has the rows of holders that do not know the new layout, as their configuration has another one, or their version knows no changes: their
	// calls fail when their grants end, which is before the change. It has numbers that are taken for good, too.
	Unaware []Row

	store Store
	rows  string
}

// PlanChange returns the change of a space to a layout, at the first instant that is after all grants. It announces nothing. The error wraps [ErrChange]
// where the space is not there, a change is still ahead, or there is no room for one more; and [idgen.ErrLayout] where the layout cannot follow the present one.
func PlanChange(ctx context.Context, store Store, space string, to idgen.Layout) (*Change, error) {
	c := &Change{Space: space, store: store}
	l, err := store.List(ctx, space, 0, -1)
	if err != nil {
		return nil, err
	}
	if l.ID == "" {
		return nil, fmt.Errorf("%w: there is no space %q; the first keeper makes it", ErrChange, space)
	}
	var phases idgen.Phases
	if c.rows, phases, err = findRows(ctx, store, space, to.Fingerprint()); err != nil {
		return nil, err
	}
	if l, err = store.List(ctx, c.rows, 0, math.MaxInt64); err != nil {
		return nil, err
	}
	c.Now = l.Now
	last := phases[len(phases)-1]
	if begin := last.Begin(); len(phases) > 1 && begin.After(l.Now) {
		return nil, fmt.Errorf("%w: space %q changes to %s at %s; wait until then", ErrChange, space, last.Layout, begin.Format(time.RFC3339Nano))
	}
	from := l.Now.Add(to.Unit())
	if end := (idgen.Phase{Layout: last.Layout, From: l.Mark}).Begin(); end.After(from) {
		from = end
	}
	if c.Phases, err = phases.Then(to, from); err != nil {
		return nil, fmt.Errorf("%w: space %q: %w", ErrChange, space, err)
	}
	if old, new := numberBits(last.Layout), numberBits(to); old != new {
		return nil, fmt.Errorf("%w: space %q has numbers of %d bits, and %s has %d; both need the same, since a grant is of both layouts", ErrChange, space, old, to, new)
	}
	if text := c.Phases.String(); len(text) > maxLayout || len(phases) > 9 || len(rowsName(space, c.Phases)) > mostSpace {
		return nil, fmt.Errorf("%w: space %q: its row has room for %d characters of layouts, and for a name of %d; these are %d and %q", ErrChange, space,
			maxLayout, mostSpace, len(text), rowsName(space, c.Phases))
	}
	for _, row := range l.Rows {
		held := idgen.Phase{Layout: last.Layout, From: row.Until}
		if row.Until == Forever || row.Holder != "" && held.Begin().After(l.Now) && !knows(row.Holder, to) {
			c.Unaware = append(c.Unaware, row)
		}
	}
	return c, nil
}

// numberBits is how many bits the numbers of grants have: those of the datacenter and of the node.
func numberBits(l idgen.Layout) int { return l.Bits(idgen.Datacenter) + l.Bits(idgen.Node) }

// At returns when the first key of the new layout may be made.
func (c *Change) At() time.Time { return c.Phases[len(c.Phases)-1].Begin() }

// Announce makes the change known, unless there are Unaware holders that it is not to go over. There is no way back. Where grants were made since the plan
// it makes another one, which c has then. The error wraps [ErrChange], one of [PlanChange], or is the store's: then the change may have been announced.
func (c *Change) Announce(ctx context.Context, overUnaware bool) error {
	for range attempts {
		if len(c.Unaware) > 0 && !overUnaware {
			return fmt.Errorf("%w: space %q has holders that do not know the new layout: %d, such as %q of number %d; give their programs the new layout, and the "+
				"one in force in Before", ErrChange, c.Space, len(c.Unaware), unstamped(c.Unaware[0].Holder), c.Unaware[0].Number)
		}
		next := c.Phases[len(c.Phases)-1]
		old := c.Phases[:len(c.Phases)-1]
		moved, err := c.store.Move(ctx, c.rows, rowsName(c.Space, c.Phases), old.String(), c.Phases.String(), next.From)
		if err != nil || moved {
			return err
		}
		again, err := PlanChange(ctx, c.store, c.Space, next.Layout)
		if err != nil {
			return err
		}
		*c = *again
	}
	return fmt.Errorf("%w: space %q has new grants all the time; try again", ErrChange, c.Space)
}

// rowsName is the name that the rows of a space have, by its layouts.
func rowsName(space string, p idgen.Phases) string {
	if len(p) <= 1 {
		return space
	}
	return fmt.Sprintf("%s~%d", space, len(p)-1)
}

// findRows prepares a space, for the layout given where it is new, and returns the name that its rows have, and its layouts. The error is a [LayoutError]
// without what was wanted where the layouts cannot be read.
func findRows(ctx context.Context, store Store, space, layout string) (rows string, phases idgen.Phases, err error) {
	rows = space
	for {
		inForce, err := store.Prepare(ctx, rows, layout)
		if err != nil {
			return "", nil, err
		}
		found, err := idgen.ParsePhases(inForce)
		next := rowsName(space, found)
		switch {
		case err != nil || len(found) < len(phases):
			return "", nil, &LayoutError{Space: space, InForce: inForce}
		case next == rows:
			return rows, found, nil
		case len(found) == len(phases):
			return "", nil, errors.Join(ErrStore, fmt.Errorf("the rows of space %q have the layouts of %q", rows, next))
		}
		rows, phases, layout = next, found, inForce
	}
}
