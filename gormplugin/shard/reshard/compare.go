package reshard

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

// side is a table of a step that rows are compared of.
type side struct {
	place     *place // with the columns in the source's order
	session   *session
	condition string // that a row is of the buckets
}

// sides returns the source of a step and its targets, and refuses tables between which rows cannot be compared. The error wraps [ErrMismatch].
func (m *mover) sides(step *Step) (source side, targets []side, err error) {
	add := func(shard string, buckets []int64) (side, error) {
		p, s := m.at(step.Table, shard)
		if p.there == nil {
			return side{}, fmt.Errorf("%w: the table %s is gone", ErrMismatch, p)
		}
		condition, err := p.condition(s.dialect, m.plan.Next, "", buckets)
		return side{p, s, condition}, err
	}
	if source, err = add(step.From, step.moved()); err != nil {
		return source, nil, err
	}
	for _, shard := range slices.Sorted(maps.Keys(step.To)) {
		target, err := add(shard, step.To[shard])
		if err != nil {
			return source, nil, err
		}
		if err := source.place.same(target.place); err != nil {
			return source, nil, fmt.Errorf("%w: a table has changed meanwhile: %w", ErrMismatch, err)
		}
		read := *target.place
		read.columns = nil
		for _, c := range source.place.columns {
			read.columns = append(read.columns, target.place.columns[target.place.columnPlaces([]string{c.Name})[0]])
		}
		target.place = &read
		targets = append(targets, target)
	}
	return source, targets, nil
}

// compare reads all rows of a step on both sides, in batches in the order of their ids, and wants them to be the same, but for those that are noted, which
// are copied later. Later ids than the greatest there is are noted. It returns some of the ids. The error wraps [ErrMismatch].
func (m *mover) compare(ctx context.Context, step *Step, state *stepRow) (*probes, error) {
	source, targets, err := m.sides(step)
	if err != nil {
		return nil, err
	}
	upto := int64(-1)
	for _, s := range append(targets, source) {
		greatest, err := s.session.number(ctx, fmt.Sprintf("SELECT MAX(%s) FROM %s", s.session.catalog.Quote(s.place.table.Key), s.place.quoted))
		if err != nil {
			return nil, err
		}
		upto = max(upto, greatest)
	}
	some, done := &probes{}, int64(0)
	for cursor := int64(-1); cursor < upto; {
		want, got, last, err := m.page(ctx, source, targets, cursor, upto)
		if err != nil {
			return nil, err
		}
		if err := m.judge(ctx, step, want, got); err != nil {
			return nil, err
		}
		for _, r := range want {
			some.add(r.id)
		}
		cursor, done = last, done+int64(len(want))
		behind := int64(0)
		if !closing(state.State) { // writers go on, and the notes are not to become too many
			if err := m.catchUpBatch(ctx, step, state); err != nil {
				return nil, err
			}
			if behind, err = m.behind(ctx, step); err != nil {
				return nil, err
			}
		}
		m.tell(step, state.State, done, behind)
		if closing(state.State) { // writers wait
			continue
		}
		if err := sleep(ctx, m.options.Throttle); err != nil {
			return nil, err
		}
	}
	return some, nil
}

// page reads the rows of both sides after an id, up to the last one that it returns: as many as a batch has of each table at most.
func (m *mover) page(ctx context.Context, source side, targets []side, after, upto int64) (want, got []row, last int64, err error) {
	last = upto
	read := func(s side) ([]row, error) {
		key := s.session.catalog.Quote(s.place.table.Key)
		found, err := m.rows(ctx, s.place, s.session, fmt.Sprintf("%s > %d AND %[1]s <= %[3]d AND %[4]s", key, after, last, s.condition), m.options.Batch)
		if len(found) == m.options.Batch {
			last = found[len(found)-1].id
		}
		return found, err
	}
	if want, err = read(source); err != nil {
		return nil, nil, 0, err
	}
	for _, target := range targets {
		found, err := read(target)
		if err != nil {
			return nil, nil, 0, err
		}
		got = append(got, found...)
	}
	later := func(r row) bool { return r.id > last }
	return slices.DeleteFunc(want, later), slices.DeleteFunc(got, later), last, nil
}

// probe compares the rows of some ids once more.
func (m *mover) probe(ctx context.Context, step *Step, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	source, s := m.at(step.Table, step.From)
	want, err := m.rows(ctx, source, s, fmt.Sprintf("%s IN (%s)", s.catalog.Quote(source.table.Key), numbers(ids)), len(ids))
	if err != nil {
		return err
	}
	got, err := m.copies(ctx, step, ids)
	if err != nil {
		return err
	}
	return m.judge(ctx, step, want, got)
}

// copies reads the rows of some ids where they go.
func (m *mover) copies(ctx context.Context, step *Step, ids []int64) (found []row, err error) {
	byTarget, err := m.byTarget(step, ids)
	if err != nil {
		return nil, err
	}
	_, targets, err := m.sides(step)
	if err != nil {
		return nil, err
	}
	for _, target := range targets {
		list := byTarget[target.place.shard.Name]
		if len(list) == 0 {
			continue
		}
		rows, err := m.rows(ctx, target.place, target.session, fmt.Sprintf("%s IN (%s)", target.session.catalog.Quote(target.place.table.Key), numbers(list)), len(list))
		if err != nil {
			return nil, err
		}
		found = append(found, rows...)
	}
	return found, nil
}

// judge wants rows to be the same on both sides, but for those that are noted. Notes are read after the rows, for who writes a row notes it in the same
// transaction: a row that differs because it was written is noted by then. Targets are written by the mover alone, and not now.
func (m *mover) judge(ctx context.Context, step *Step, want, got []row) error {
	ids, err := differing(want, got)
	if err != nil || len(ids) == 0 {
		return err
	}
	noted, err := m.noted(ctx, step, ids)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool { return noted[id] })
	if len(ids) == 0 {
		return nil
	}
	return m.mismatch(ctx, step, ids, want, got)
}

// mismatch returns the error of rows that differ. On SQLite it may be that of another mover, which has taken over and writes.
func (m *mover) mismatch(ctx context.Context, step *Step, ids []int64, want, got []row) error {
	if err := m.journal.mine(ctx); err != nil {
		return err
	}
	is := func(id int64) func(row) bool { return func(r row) bool { return r.id == id } }
	what := "is not the same where it goes"
	switch {
	case !slices.ContainsFunc(got, is(ids[0])):
		what = "is not where it goes"
	case !slices.ContainsFunc(want, is(ids[0])):
		what = "is only where it goes"
	}
	source, _ := m.at(step.Table, step.From)
	return fmt.Errorf("%w: row %d of %s %s, and %d others of %d: abort the plan, and make a new one", ErrMismatch, ids[0], source, what, len(ids)-1, max(len(want), len(got)))
}

// differing returns the ids whose rows are not the same, or are on one side alone.
func differing(want, got []row) ([]int64, error) {
	sums := map[int64][sha256.Size]byte{}
	for _, r := range want {
		sum, err := fingerprint(r.values)
		if err != nil {
			return nil, err
		}
		sums[r.id] = sum
	}
	var ids []int64
	for _, r := range got {
		sum, err := fingerprint(r.values)
		if err != nil {
			return nil, err
		}
		if there, ok := sums[r.id]; !ok || there != sum {
			ids = append(ids, r.id)
		}
		delete(sums, r.id)
	}
	ids = slices.AppendSeq(ids, maps.Keys(sums))
	slices.Sort(ids)
	return ids, nil
}
