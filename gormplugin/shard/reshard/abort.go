package reshard

import (
	"context"
	"fmt"
	"maps"
	"slices"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Abort undoes what Move has done before the flip; the error wraps [ErrState] after it, and for a plan that was not begun. Writers go on where they were,
// what was copied is deleted, and tables that the move has made are dropped. Fences stay against the buckets that a table does not have.
func Abort(ctx context.Context, w World, p *Plan, o Options) (err error) {
	defer func() { err = ended(ctx, err) }()
	m, row, err := newMover(ctx, w, p, o)
	if err != nil {
		return err
	}
	defer m.close(ctx)
	if row == nil || row.ended() {
		return fmt.Errorf("%w: the plan is not at work", ErrState)
	}
	// A move that was killed may have sent its COMMIT of the next map, which the database is still at work on. MySQL's store waits for it as it is.
	if own := m.journal.session; own.dialect == dialect.Postgres {
		err := own.transact(ctx, func() error { return own.execute(ctx, "LOCK TABLE "+idshard.StoreTable+" IN SHARE MODE") })
		if err != nil {
			return err
		}
	}
	_, flipped, err := m.inForce(ctx)
	if err != nil {
		return err
	}
	if flipped || row.flipped() {
		return fmt.Errorf("%w: the next map is in force: run the plan to its end, and make a plan back", ErrState)
	}
	// Where tables are gone or have changed, as much is undone as there is.
	if err := m.prepare(ctx, true); err != nil {
		return err
	}
	if err := m.journal.take(ctx, row); err != nil {
		return err
	}
	if err := m.enter(ctx, -1, stateAbort); err != nil {
		return err
	}
	for i := range p.Steps {
		if err := m.undo(ctx, i); err != nil {
			return err
		}
	}
	return m.enter(ctx, -1, stateAborted)
}

// undo undoes a step.
func (m *mover) undo(ctx context.Context, i int) error {
	step, row := &m.plan.Steps[i], &m.journal.row.steps[i]
	if row.State == statePlanned || row.State == stateAborted {
		return nil
	}
	source, _ := m.at(step.Table, step.From)
	if source.there != nil {
		if closing(row.State) {
			if err := m.fence(ctx, step.Table, step.From, strange(m.plan.Before, step.From), nil); err != nil {
				return err
			}
		}
		if err := m.release(ctx, step); err != nil {
			return err
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(step.To)) {
		target, s := m.at(step.Table, shard)
		if target.there == nil {
			continue
		}
		if err := m.remove(ctx, step, target, step.To[shard], m.closed(step.Table, shard), nil); err != nil {
			return err
		}
		if !slices.Contains(step.Missing, shard) {
			continue
		}
		// One that has other rows is not the move's alone.
		rows, err := s.number(ctx, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s LIMIT 1) AS r", target.quoted))
		if err != nil {
			return err
		}
		if rows > 0 {
			continue
		}
		drop, err := target.fence(m.plan.Next, m.pass, nil).Drop(s.dialect)
		if err != nil {
			return err
		}
		if err := m.ddl(ctx, s, nil, append(drop, "DROP TABLE IF EXISTS "+target.quoted)...); err != nil {
			return err
		}
	}
	row.State = stateAborted
	m.tell(step, stateAborted, row.Rows, 0)
	return m.journal.save(ctx)
}
