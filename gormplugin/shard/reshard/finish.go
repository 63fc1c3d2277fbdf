package reshard

import (
	"context"
	"fmt"
	"maps"
	"slices"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// finish does what comes after the flip: the fences of the targets let the buckets that came be written, readers of the map before end, and the rows at
// the sources are removed.
func (m *mover) finish(ctx context.Context) error {
	steps, rows := m.plan.Steps, m.journal.row.steps
	m.tell(nil, stateFlip, 0, 0)
	for i := range steps {
		for _, shard := range slices.Sorted(maps.Keys(steps[i].To)) {
			if err := m.fence(ctx, steps[i].Table, shard, strange(m.plan.Next, shard), nil); err != nil {
				return err
			}
		}
	}
	if m.journal.row.state != stateRemove && len(steps) > 0 {
		if err := m.enter(ctx, -1, stateLease); err != nil {
			return err
		}
		// Each router looks before a statement that begins a lease after its last look. A little more is for what it does between.
		lease := m.plan.Before.Lease()
		if err := sleep(ctx, lease+lease/4); err != nil {
			return err
		}
	}
	inForce, flipped, err := m.inForce(ctx)
	if err != nil {
		return err
	}
	if !flipped {
		return fmt.Errorf("%w: %w: version %d of the map is in force, which is not the plan's", ErrState, idshard.ErrVersion, inForce.Version())
	}
	for i := range steps {
		if rows[i].State == stateDone {
			continue
		}
		if rows[i].State != stateRemove {
			rows[i].Cursor = -1
		}
		if err := m.enter(ctx, i, stateRemove); err != nil {
			return err
		}
		if err := m.release(ctx, &steps[i]); err != nil {
			return err
		}
		source, _ := m.at(steps[i].Table, steps[i].From)
		if err := m.remove(ctx, &steps[i], source, steps[i].moved(), strange(m.plan.Next, steps[i].From), &rows[i]); err != nil {
			return err
		}
		rows[i].State = stateDone
		m.tell(&steps[i], stateDone, rows[i].Rows, 0)
		if err := m.journal.save(ctx); err != nil {
			return err
		}
	}
	return m.enter(ctx, -1, stateDone)
}

// remove deletes the rows of some buckets from a table with a fence against others, in batches.
func (m *mover) remove(ctx context.Context, step *Step, p *place, buckets, fenced []int64, row *stepRow) error {
	s := m.sessions[p.shard.Database]
	key := s.catalog.Quote(p.table.Key)
	condition, err := p.condition(s.dialect, m.plan.Next, "", buckets)
	if err != nil {
		return err
	}
	cursor, removed := int64(-1), int64(0)
	for {
		var ids []int64
		err := s.each(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE %[1]s > %[3]d AND %[4]s ORDER BY %[1]s LIMIT %[5]d", key, p.quoted, cursor, condition, m.options.Batch),
			func(scan func(...any) error) error {
				var id int64
				err := scan(&id)
				ids = append(ids, id)
				return err
			})
		if err != nil || len(ids) == 0 {
			return err
		}
		err = m.write(ctx, p, s, fenced, func() error {
			return s.execute(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s IN (%s)", p.quoted, key, numbers(ids)))
		})
		if err != nil {
			return err
		}
		cursor, removed = ids[len(ids)-1], removed+int64(len(ids))
		if row != nil {
			m.tell(step, row.State, removed, 0)
		}
		if err := sleep(ctx, m.options.Throttle); err != nil {
			return err
		}
	}
}
