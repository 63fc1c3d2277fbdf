package reshard

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// verify compares counts and digests of every bucket of a step, which nobody can write to now. The error wraps [ErrMismatch].
func (m *mover) verify(ctx context.Context, step *Step) error {
	source, s := m.at(step.Table, step.From)
	for _, shard := range append(slices.Collect(maps.Keys(step.To)), step.From) {
		switch p, _ := m.at(step.Table, shard); {
		case p.there == nil:
			return fmt.Errorf("%w: the table %s is gone", ErrMismatch, p)
		case source.there != nil:
			if err := source.same(p); err != nil {
				return fmt.Errorf("%w: a table has changed meanwhile: %w", ErrMismatch, err)
			}
		}
	}
	want, err := m.digests(ctx, source, s, step.moved())
	if err != nil {
		return err
	}
	got := map[int64]*digest{}
	for _, to := range slices.Sorted(maps.Keys(step.To)) {
		target, s := m.at(step.Table, to)
		read := *target // with the columns in the source's order
		read.columns = nil
		for _, c := range source.columns {
			read.columns = append(read.columns, target.columns[target.columnPlaces([]string{c.Name})[0]])
		}
		found, err := m.digests(ctx, &read, s, step.To[to])
		if err != nil {
			return err
		}
		maps.Copy(got, found)
	}
	for _, b := range step.moved() {
		a, z := digest{}, digest{}
		if want[b] != nil {
			a = *want[b]
		}
		if got[b] != nil {
			z = *got[b]
		}
		if a != z {
			return fmt.Errorf("%w: bucket %d of %s: %d rows there and %d where it goes, or others: abort the plan, and make a new one", ErrMismatch, b, source, a.rows, z.rows)
		}
	}
	return nil
}

// digests reads all rows of some buckets.
func (m *mover) digests(ctx context.Context, p *place, s *session, buckets []int64) (map[int64]*digest, error) {
	condition, err := p.condition(s.dialect, m.plan.Next, "", buckets)
	if err != nil {
		return nil, err
	}
	found, key, after := map[int64]*digest{}, s.catalog.Quote(p.table.Key), int64(-1)
	for {
		rows, err := m.rows(ctx, p, s, fmt.Sprintf("%s > %d AND %s", key, after, condition), 2000)
		if err != nil || len(rows) == 0 {
			return found, err
		}
		for _, r := range rows {
			bucket, _, err := m.plan.Next.Bucket(r.id)
			if err != nil {
				return nil, fmt.Errorf("%w: %s: %w", ErrMismatch, p, err)
			}
			if found[bucket] == nil {
				found[bucket] = &digest{}
			}
			if err := found[bucket].add(r.values); err != nil {
				return nil, err
			}
		}
		after = rows[len(rows)-1].id
	}
}
