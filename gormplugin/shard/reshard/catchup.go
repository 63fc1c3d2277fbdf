package reshard

import (
	"context"
	"fmt"
	"math"
	"slices"
)

const (
	few     = 100 // so many notes may be left when the fence is put up
	patient = 200 // and more when so many batches in a row have not made them fewer, for writers are faster
	looks   = 10  // so often are all steps looked at for more than few notes
)

// catchUp copies what was noted, until no more than some notes are left, or, when nobody can write, none.
func (m *mover) catchUp(ctx context.Context, step *Step, state *stepRow, left int64) error {
	least, since := int64(math.MaxInt64), 0
	for rounds := 0; ; rounds++ {
		behind, err := m.behind(ctx, step)
		if err != nil {
			return err
		}
		m.tell(step, state.State, state.Rows, behind)
		if since++; behind < least {
			least, since = behind, 0
		}
		if behind == 0 || behind <= left && rounds > 0 || left > 0 && since >= patient {
			return nil
		}
		if err := m.catchUpBatch(ctx, step, state); err != nil {
			return err
		}
		if err := sleep(ctx, m.options.Throttle); err != nil {
			return err
		}
	}
}

// near catches up with all steps until few notes are left of each, so that no source is behind its fence while another one catches up with what was
// written during the comparisons.
func (m *mover) near(ctx context.Context) error {
	for range looks {
		far := false
		for i := range m.plan.Steps {
			step, row := &m.plan.Steps[i], &m.journal.row.steps[i]
			behind, err := m.behind(ctx, step)
			if err != nil {
				return err
			}
			if behind <= few || closing(row.State) {
				continue
			}
			far = true
			if err := m.catchUp(ctx, step, row, few); err != nil {
				return err
			}
		}
		if !far {
			return nil
		}
	}
	return nil
}

// behind counts the notes of a step.
func (m *mover) behind(ctx context.Context, step *Step) (int64, error) {
	source, s := m.at(step.Table, step.From)
	return s.number(ctx, "SELECT COUNT(*) FROM "+source.notes(s.catalog))
}

// noted tells which of some ids there are notes of.
func (m *mover) noted(ctx context.Context, step *Step, ids []int64) (map[int64]bool, error) {
	source, s := m.at(step.Table, step.From)
	found := map[int64]bool{}
	err := s.each(ctx, fmt.Sprintf("SELECT DISTINCT id FROM %s WHERE id IN (%s)", source.notes(s.catalog), numbers(ids)), func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		found[id] = true
		return err
	})
	return found, err
}

// catchUpBatch copies the rows of some notes, and deletes these. A note is read before its row: one that is written meanwhile stays. Once all rows are
// compared, or have been, the copies are read back before their notes are deleted, so that what has no note is the same on both sides.
func (m *mover) catchUpBatch(ctx context.Context, step *Step, state *stepRow) error {
	source, s := m.at(step.Table, step.From)
	notes := source.notes(s.catalog)
	var seqs, ids []int64
	err := s.each(ctx, fmt.Sprintf("SELECT seq, id FROM %s ORDER BY seq LIMIT %d", notes, m.options.Batch), func(scan func(...any) error) error {
		var seq, id int64
		err := scan(&seq, &id)
		seqs, ids = append(seqs, seq), append(ids, id)
		return err
	})
	if err != nil || len(seqs) == 0 {
		return err
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	rows, err := m.rows(ctx, source, s, fmt.Sprintf("%s IN (%s)", s.catalog.Quote(source.table.Key), numbers(ids)), len(ids))
	if err != nil {
		return err
	}
	if err := m.put(ctx, step, ids, rows); err != nil {
		return err
	}
	if state.State != stateCatchUp {
		if err := m.readBack(ctx, step, ids, rows); err != nil {
			return err
		}
	}
	return m.transact(ctx, s, func() error {
		return s.execute(ctx, fmt.Sprintf("DELETE FROM %s WHERE seq IN (%s)", notes, numbers(seqs)))
	})
}

// readBack wants what was copied to be there as it was read.
func (m *mover) readBack(ctx context.Context, step *Step, ids []int64, rows []row) error {
	found, err := m.copies(ctx, step, ids)
	if err != nil {
		return err
	}
	wrong, err := differing(rows, found)
	if err != nil || len(wrong) == 0 {
		return err
	}
	return m.mismatch(ctx, step, wrong, rows, found)
}
