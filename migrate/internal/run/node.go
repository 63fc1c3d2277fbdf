package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// reserveNode takes the plan's node in the table of grants, for good, so that no generator ever gets it. The holder is named
// after the plan: to do it again, or by two runs at once, changes nothing more, which is why the journal's row can come after it.
func (r *runner) reserveNode(ctx context.Context, t *task) error {
	store, layout, err := r.grants()
	if err != nil {
		return err
	}
	r.drop()
	err = r.retry(ctx, func() error {
		inForce, err := store.Prepare(ctx, r.p.Space, layout.String())
		if err != nil {
			return err
		}
		if inForce != layout.String() {
			return r.otherLayout(inForce, layout)
		}
		return r.takeNode(ctx, store, layout)
	})
	if err != nil {
		return err
	}
	return r.finishTask(ctx, t, "")
}

// grants returns the table of grants, and the layout.
func (r *runner) grants() (*grant.SQLStore, idgen.Layout, error) {
	layout, err := idgen.ParseLayout(r.p.Layout)
	if err != nil {
		return nil, layout, fmt.Errorf("%w: its layout: %w", ErrPlan, err)
	}
	if r.p.Node < 0 || r.p.Node >= layout.Generators() {
		return nil, layout, fmt.Errorf("%w: its node %d, want 0 to %d", ErrPlan, r.p.Node, layout.Generators()-1)
	}
	return grant.SQL(r.db, r.dialect, grant.WithTable(cmp.Or(r.p.Grants, grant.DefaultTable))), layout, nil
}

// checkNode returns the error with which the step that takes the plan's node would fail: one that wraps [ErrAssertion] where the node was granted
// already, or the key space has another layout, else package grant's. It writes nothing.
func (r *runner) checkNode(ctx context.Context) error {
	for i, step := range r.p.Steps {
		if step.Do.Kind != plan.ReserveNode || r.steps[i+1].State == journal.StepDone {
			continue
		}
		store, layout, err := r.grants()
		if err != nil {
			return err
		}
		if err := store.Check(ctx, r.p.Space); errors.Is(err, grant.ErrTwoTables) {
			return fmt.Errorf("%w; a plan takes the names: snowkey migrate plan --grants SCHEMA.TABLE --space NAME", err)
		} else if err != nil {
			return fmt.Errorf("the plan's node cannot be taken: %w", err)
		}
		spaces, err := store.Spaces(ctx)
		if errors.Is(err, grant.ErrTable) {
			return nil // there is none yet
		}
		if err != nil {
			return err
		}
		at := slices.IndexFunc(spaces, func(s grant.Space) bool { return s.Name == r.p.Space })
		if at < 0 {
			return nil
		}
		if spaces[at].Layout != layout.String() {
			return r.otherLayout(spaces[at].Layout, layout)
		}
		if _, err := r.taken(ctx, store, r.row(layout)); err != nil {
			return err
		}
	}
	return nil
}

// otherLayout is the error of a key space that was made with another layout.
func (r *runner) otherLayout(inForce string, layout idgen.Layout) error {
	return fmt.Errorf("%w: key space %q has the layout %s, the plan has %s; make a new plan with that layout", ErrAssertion, r.p.Space, inForce, layout)
}

// row is that of the plan's node in the table of grants, once it is taken. Grants are of datacenter and node.
func (r *runner) row(layout idgen.Layout) grant.Row {
	return grant.Row{Number: r.p.Node >> layout.Bits(idgen.Shard), Holder: fmt.Sprintf("migrate of old rows, plan %.40s", r.hash), From: grant.Forever, Until: grant.Forever}
}

// taken reports whether the plan has its node. The error wraps [ErrAssertion] when another has it.
func (r *runner) taken(ctx context.Context, store grant.Store, row grant.Row) (bool, error) {
	listing, err := store.List(ctx, r.p.Space, row.Number, row.Number)
	if err != nil || len(listing.Rows) == 0 {
		return false, err
	}
	if now := listing.Rows[0]; now != row {
		return false, fmt.Errorf("%w: node %d was granted since the plan was made, to %q; make a new plan", ErrAssertion, now.Number, now.Holder)
	}
	return true, nil
}

// takeNode swaps the row of the node, which must never have been granted.
func (r *runner) takeNode(ctx context.Context, store grant.Store, layout idgen.Layout) error {
	row := r.row(layout)
	for range 2 { // a swap that was lost to another is looked at once more
		if taken, err := r.taken(ctx, store, row); err != nil || taken {
			return err
		}
		swapped, err := store.Swap(ctx, r.p.Space, grant.Row{Number: row.Number, Holder: grant.Absent}, row)
		if err != nil || swapped {
			return err
		}
	}
	return fmt.Errorf("%w: node %d cannot be taken", ErrAssertion, row.Number)
}
