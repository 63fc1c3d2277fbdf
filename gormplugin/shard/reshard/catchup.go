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
)

// catchUp copies what was noted, until no more than some notes are left, or, when nobody can write, none.
func (m *mover) catchUp(ctx context.Context, step *Step, state *stepRow, left int64) error {
	source, s := m.at(step.Table, step.From)
	notes := source.notes(s.catalog)
	least, since := int64(math.MaxInt64), 0
	for rounds := 0; ; rounds++ {
		behind, err := s.number(ctx, "SELECT COUNT(*) FROM "+notes)
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
		if err := m.catchUpBatch(ctx, step, notes); err != nil {
			return err
		}
		if err := sleep(ctx, m.options.Throttle); err != nil {
			return err
		}
	}
}

// catchUpBatch copies the rows of some notes, and deletes these. A note is read before its row: one that is written meanwhile stays.
func (m *mover) catchUpBatch(ctx context.Context, step *Step, notes string) error {
	source, s := m.at(step.Table, step.From)
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
	return m.transact(ctx, s, func() error {
		return s.execute(ctx, fmt.Sprintf("DELETE FROM %s WHERE seq IN (%s)", notes, numbers(seqs)))
	})
}
