package reshard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// Move runs a plan, or goes on with it; of one that is done it does nothing. The context ends it at any time, and a later call goes on. The error wraps
// [ErrPlan] or ErrVersion of idgen/shard for a plan that is not one of the map in force, [ErrOther] when another mover is at work, [ErrMismatch] when rows
// differ that have to be the same, [ErrState] for a plan that is being aborted, or is the database's: then a later call goes on.
func Move(ctx context.Context, w World, p *Plan, o Options) (err error) {
	defer func() { err = ended(ctx, err) }()
	m, row, err := newMover(ctx, w, p, o)
	if err != nil {
		return err
	}
	defer m.close(ctx)
	fresh := row == nil || row.state == stateAborted
	if !fresh && row.state == stateDone {
		return nil
	}
	if !fresh && row.state == stateAbort {
		return fmt.Errorf("%w: the plan is being aborted: call Abort again", ErrState)
	}
	inForce, flipped, err := m.inForce(ctx)
	if err != nil {
		return err
	}
	if !flipped && inForce.Version() != p.From {
		return fmt.Errorf("%w: %w: the map %q is of version %d, the plan was made for %d", ErrPlan, idshard.ErrVersion, p.Map, inForce.Version(), p.From)
	}
	if fresh && flipped {
		return fmt.Errorf("%w: %w: the next map is in force already", ErrPlan, idshard.ErrVersion)
	}
	if err := m.prepare(ctx, flipped); err != nil {
		return err
	}
	if fresh {
		err = m.journal.begin(ctx, p, row)
	} else {
		err = m.journal.take(ctx, row)
	}
	if err != nil {
		return err
	}
	if !flipped {
		if err := m.bring(ctx); err != nil {
			return err
		}
		if err := m.flip(ctx); err != nil {
			return err
		}
	}
	return m.finish(ctx)
}

// ended says that the context had ended, where a driver has only said that a connection is gone.
func ended(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil && err != nil && !errors.Is(err, end) {
		return fmt.Errorf("%w: %w", end, err)
	}
	return err
}

// inForce returns the map in force, and whether it is the next one of the plan.
func (m *mover) inForce(ctx context.Context) (*idshard.Map, bool, error) {
	store, err := m.world.store()
	if err != nil {
		return nil, false, err
	}
	found, err := store.Load(ctx, m.plan.Map)
	if err != nil {
		return nil, false, err
	}
	// A later version was made of the next one, which nobody can do while the plan is at work but by hand.
	a, err := json.Marshal(found)
	if err != nil {
		return nil, false, err
	}
	b, err := json.Marshal(m.plan.Next)
	return found, bytes.Equal(a, b), err
}

// enter writes that the whole plan, or a step, is in a state now.
func (m *mover) enter(ctx context.Context, step int, state string) error {
	m.journal.row.state = state
	if step < 0 {
		m.tell(nil, state, 0, 0)
		return m.journal.save(ctx)
	}
	row := &m.journal.row.steps[step]
	row.State = state
	done := row.Rows
	if state == stateCompare || state == stateVerify { // where rows are counted anew
		done = 0
	}
	m.tell(&m.plan.Steps[step], state, done, 0)
	return m.journal.save(ctx)
}

// bring has all rows where they go, and nobody who can write them.
func (m *mover) bring(ctx context.Context) error {
	steps, rows := m.plan.Steps, m.journal.row.steps
	// Of a flip that was begun it is not known whether the database is still at work on it: nobody may write meanwhile.
	fenced := m.options.VerifyFenced || m.journal.row.state == stateFlip
	for i := range steps {
		if !fenced {
			if err := m.reopen(ctx, i); err != nil {
				return err
			}
		}
		if err := m.start(ctx, i); err != nil {
			return err
		}
	}
	some := make([]*probes, len(steps))
	if !fenced {
		if err := m.reload(ctx); err != nil { // the columns that there are now are compared
			return err
		}
		for i := range steps {
			if err := m.enter(ctx, i, stateCompare); err != nil {
				return err
			}
			var err error
			if some[i], err = m.compare(ctx, &steps[i], &rows[i]); err != nil {
				return err
			}
		}
	}
	if err := m.shutAll(ctx); err != nil {
		return err
	}
	compared := m.places
	if err := m.reload(ctx); err != nil {
		return err
	}
	for i := range steps {
		if err := m.enter(ctx, i, stateVerify); err != nil {
			return err
		}
		if err := m.verify(ctx, i, some[i], compared); err != nil {
			return err
		}
	}
	return nil
}

// reopen takes down the fence of a step's source that a move before has put up: all rows are compared anew, and writers need not wait for it.
func (m *mover) reopen(ctx context.Context, i int) error {
	step, row := &m.plan.Steps[i], &m.journal.row.steps[i]
	if !closing(row.State) {
		return nil
	}
	row.State = stateCatchUp // in the journal when it is down, so that it is not left up
	if err := m.fence(ctx, step.Table, step.From, m.closed(step.Table, step.From), nil); err != nil {
		return err
	}
	return m.enter(ctx, i, stateCatchUp)
}

// shutAll puts the fences of all sources up, and copies the last noted ids.
func (m *mover) shutAll(ctx context.Context) error {
	steps, rows := m.plan.Steps, m.journal.row.steps
	if err := m.near(ctx); err != nil {
		return err
	}
	for i := range steps {
		if !closing(rows[i].State) {
			if err := m.catchUp(ctx, &steps[i], &rows[i], few); err != nil {
				return err
			}
			if err := m.enter(ctx, i, stateFence); err != nil {
				return err
			}
		}
		if err := m.shut(ctx, i); err != nil {
			return err
		}
	}
	for i := range steps {
		if err := m.enter(ctx, i, stateDrain); err != nil {
			return err
		}
		if err := m.catchUp(ctx, &steps[i], &rows[i], 0); err != nil {
			return err
		}
	}
	return nil
}

// verify wants the rows of a step, which nobody can write to now, to be the same on both sides: all of them, or some when all were compared before the
// fence, of the tables that there were then.
func (m *mover) verify(ctx context.Context, i int, some *probes, compared map[string]*place) error {
	step := &m.plan.Steps[i]
	if some == nil {
		_, err := m.compare(ctx, step, &m.journal.row.steps[i])
		return err
	}
	if _, _, err := m.sides(step); err != nil {
		return err
	}
	now, _ := m.at(step.Table, step.From) // and the targets are the same as it is, then and now
	if err := compared[placeKey(step.Table, step.From)].same(now); err != nil {
		return fmt.Errorf("%w: a table has changed since its rows were compared, which the same plan does once more: %w", ErrMismatch, err)
	}
	if err := m.probe(ctx, step, some.ids); err != nil {
		return err
	}
	m.tell(step, stateVerify, int64(len(some.ids)), 0)
	return nil
}

// closing tells whether the fence of a step's source was begun.
func closing(state string) bool {
	return slices.Contains([]string{stateFence, stateDrain, stateVerify, stateFlip}, state)
}

// start does what comes before the comparison: the target's tables and fences, the notes, the copy, and the first catching up.
func (m *mover) start(ctx context.Context, i int) error {
	step, row := &m.plan.Steps[i], &m.journal.row.steps[i]
	if closing(row.State) || row.State == stateCatchUp || row.State == stateCompare {
		return nil
	}
	if row.State != stateCopy {
		if err := m.enter(ctx, i, stateCapture); err != nil {
			return err
		}
		if err := m.makeTargets(ctx, step); err != nil {
			return err
		}
		if err := m.capture(ctx, step); err != nil {
			return err
		}
		m.tell(step, stateCapture, 0, 0)
	}
	if err := m.copy(ctx, step, row); err != nil {
		return err
	}
	if err := m.enter(ctx, i, stateCatchUp); err != nil {
		return err
	}
	return m.catchUp(ctx, step, row, few)
}

// makeTargets makes the tables that are missing, and fences against the buckets that come, which nobody but the mover may write before the flip.
func (m *mover) makeTargets(ctx context.Context, step *Step) error {
	for shard := range step.To {
		source, _ := m.at(step.Table, step.From)
		target, s := m.at(step.Table, shard)
		if target.there == nil {
			statements, err := target.statements(s.catalog, source)
			if err != nil {
				return err
			}
			if err := m.ddl(ctx, s, nil, statements...); err != nil {
				return err
			}
			if target.there, err = s.catalog.Table(ctx, target.name); err != nil {
				return err
			}
			if target.there == nil {
				return fmt.Errorf("%w: the table %s was made and is not there", ErrPlan, target)
			}
			if err := source.same(target); err != nil {
				return err
			}
		}
		if err := m.fence(ctx, step.Table, shard, m.closed(step.Table, shard), nil); err != nil {
			return err
		}
	}
	return m.reload(ctx)
}

// closed returns the buckets that a table is fenced against before the flip: those that it does not have, and, from the fence of its step on, those
// that leave.
func (m *mover) closed(table, shard string) []int64 {
	buckets := strange(m.plan.Before, shard)
	for i, step := range m.plan.Steps {
		if step.Table == table && step.From == shard && closing(m.journal.row.steps[i].State) {
			buckets = append(buckets, step.moved()...)
		}
	}
	return buckets
}

// shut puts the fence of a step's source up.
func (m *mover) shut(ctx context.Context, i int) error {
	step := &m.plan.Steps[i]
	return m.fence(ctx, step.Table, step.From, m.closed(step.Table, step.From), func() error {
		return m.catchUp(ctx, step, &m.journal.row.steps[i], few)
	})
}

// fence puts a table's fence up against buckets; again is done before it is tried again.
func (m *mover) fence(ctx context.Context, table, shard string, buckets []int64, again func() error) error {
	p, s := m.at(table, shard)
	statements, err := p.fence(m.plan.Next, m.pass, buckets).Make(s.dialect)
	if err != nil {
		return err
	}
	if err := m.ddl(ctx, s, again, statements...); err != nil {
		return fmt.Errorf("the fence of %s: %w", p, err)
	}
	m.tell(nil, stateFence, 0, 0)
	return nil
}

// flip puts the next map in force.
func (m *mover) flip(ctx context.Context) error {
	if err := m.enter(ctx, -1, stateFlip); err != nil {
		return err
	}
	store, err := m.world.store()
	if err != nil {
		return err
	}
	if err := store.Swap(ctx, m.plan.Map, m.plan.Next); err != nil {
		if _, flipped, look := m.inForce(ctx); look == nil && flipped {
			return nil
		}
		return err
	}
	return nil
}
