package mapping

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/snowkey-go/snowkey/migrate/plan"
)

// Filler fills one map in batches of old ids in order. The map table (old_id BIGINT, new_id BIGINT NOT NULL UNIQUE) exists; on
// PostgreSQL, but in mode shadow, old_id becomes its primary key when the map is full.
// It is not safe for concurrent use.
type Filler struct {
	source *source
	slots  *nodeSlots
	shared bool  // others add pairs meanwhile, as triggers do in mode shadow
	known  bool  // last is read
	last   int64 // the greatest old id of the map when the filler began
	top    int64 // the greatest new id of the map before the batch; slot ranges beyond it are empty
	rows   []row
	old    []int64
	new    []int64
}

// NewFiller returns the filler of a key's map. Every batch reads the state it needs from the map itself, so that a run that was killed goes on.
// The error wraps idgen's for a layout or node that cannot be, or is the database's.
func NewFiller(ctx context.Context, db *sql.DB, p *plan.Plan, k plan.Key) (*Filler, error) {
	if k.Map == "" {
		return nil, fmt.Errorf("mapping: the ids of %s stay as they are: it has no map", k.Table)
	}
	s, err := newNodeSlots(p, k)
	if err != nil {
		return nil, err
	}
	source, err := newSource(ctx, db, p, k, s)
	if err != nil {
		return nil, err
	}
	return &Filler{source: source, slots: s, shared: p.Mode == plan.Shadow}, nil
}

// Fill maps up to rows old ids after a cursor, and returns the last of them; done when there was none. All its writes are in tx.
// Rows that the map has already are passed over, and not counted as mapped.
//
// The error wraps [ErrRefused] when a row cannot have a new id: its time is none that SurveyRows lets pass, its unit is full, or its new id is another row's.
// After an error, or when tx was not committed, the filler is of no use any more: take a new one.
func (f *Filler) Fill(ctx context.Context, tx Tx, after int64, rows int) (upto int64, mapped int64, done bool, err error) {
	if rows < 1 {
		return after, 0, false, fmt.Errorf("mapping: a batch of %d rows", rows)
	}
	if f.rows, err = f.source.page(ctx, tx, f.rows[:0], after, rows); err != nil {
		return after, 0, false, err
	}
	if len(f.rows) == 0 {
		return after, 0, true, nil
	}
	upto = f.rows[len(f.rows)-1].id
	if !f.known {
		if err := each(ctx, tx, "SELECT COALESCE(MAX(old_id), "+strconv.FormatInt(before, 10)+") FROM "+f.source.maps, nil, func(rows *sql.Rows) error { return rows.Scan(&f.last) }); err != nil {
			return after, 0, false, err
		}
		f.known = true
	}
	// What collides with a pair of another's is tried again.
	const attempts = 10
	for range attempts {
		if f.shared || f.last > after {
			if err := f.pass(ctx, tx, after, upto); err != nil {
				return after, 0, false, err
			}
		}
		if len(f.rows) == 0 {
			return upto, mapped, false, nil
		}
		if err := f.assign(ctx, tx); err != nil {
			return after, 0, false, err
		}
		if err := f.free(ctx, tx); err != nil {
			return after, 0, false, err
		}
		n, err := insert(ctx, tx, f.source.dialect, f.source.maps, f.old, f.new, f.shared)
		mapped += n
		if err != nil {
			return after, 0, false, err
		}
		if n == int64(len(f.old)) {
			return upto, mapped, false, nil
		}
	}
	return after, 0, false, fmt.Errorf("mapping: others write to %s so fast that no free ids were found in %d attempts", f.source.key.Map, attempts)
}

// pass takes those rows from the batch that the map has.
func (f *Filler) pass(ctx context.Context, tx Tx, after, upto int64) error {
	s := statement{dialect: f.source.dialect}
	text := "SELECT old_id FROM " + f.source.maps + " WHERE old_id > " + s.number(after) + " AND old_id <= " + s.number(upto) + " ORDER BY old_id"
	known, err := ids(ctx, tx, text, s.args)
	f.rows = slices.DeleteFunc(f.rows, func(r row) bool {
		_, is := slices.BinarySearch(known, r.id)
		return is
	})
	return err
}

// assign gives each row of the batch its new id: in each slot range those after the greatest that the map has.
func (f *Filler) assign(ctx context.Context, tx Tx) error {
	top, err := greatest(ctx, tx, f.source.dialect, f.source.maps, []int64{before}, []int64{1<<63 - 1})
	if err != nil {
		return err
	}
	f.top = top[0]
	var survey Survey
	ranges := make([]slotRange, 0, len(f.rows))
	next := make(map[slotRange]int64) // the next slot of each slot range
	var used []slotRange              // the slot ranges that may have ids already
	f.old, f.new = f.old[:0], f.new[:0]
	var last slotRange
	for _, r := range f.rows {
		survey.Rows++
		if r.timestamp.state != good {
			survey.note(r.timestamp, r.id)
			continue
		}
		slotRange := f.slots.rangeOf(r.timestamp.ns)
		ranges = append(ranges, slotRange)
		f.old = append(f.old, r.id)
		if len(ranges) > 1 && slotRange == last {
			continue
		}
		last = slotRange
		if _, seen := next[slotRange]; !seen {
			next[slotRange] = slotRange.first
			if f.slots.id(slotRange.first) <= f.top {
				used = append(used, slotRange)
			}
		}
	}
	if err := survey.Refused(f.source.key); err != nil {
		return err
	}
	begun, err := f.resume(ctx, tx, used)
	if err != nil {
		return err
	}
	maps.Copy(next, begun)
	spare := make(map[slotRange]*gaps)
	for i, slotRange := range ranges {
		slot := next[slotRange]
		next[slotRange] = slot + 1
		if slot > slotRange.last {
			if spare[slotRange] == nil {
				spare[slotRange] = &gaps{source: f.source, slots: f.slots, next: slotRange.first, end: begun[slotRange]}
			}
			var found bool
			if slot, found, err = spare[slotRange].find(ctx, tx); err != nil {
				return err
			}
			if !found {
				survey.Crowded++
				survey.First.Crowded = f.old[i]
				return survey.Refused(f.source.key)
			}
		}
		id := f.slots.id(slot)
		if id < f.source.key.Below {
			survey.Clashing++
			survey.First.Clashing = f.old[i]
			return survey.Refused(f.source.key)
		}
		f.new = append(f.new, id)
	}
	return nil
}

// resume reads from the map how much of slot ranges is used, and returns the slots after that.
func (f *Filler) resume(ctx context.Context, tx Tx, used []slotRange) (map[slotRange]int64, error) {
	from, until := make([]int64, len(used)), make([]int64, len(used))
	for i, slotRange := range used {
		from[i], until[i] = f.slots.id(slotRange.first), f.slots.id(slotRange.last)
	}
	found, err := greatest(ctx, tx, f.source.dialect, f.source.maps, from, until)
	if err != nil {
		return nil, err
	}
	next := make(map[slotRange]int64, len(used))
	for i, id := range found {
		if id == 0 {
			continue
		}
		slot, ok := f.slots.slot(id)
		if !ok {
			return nil, fmt.Errorf("mapping: the new id %d in %s has not the plan's node: the map is another plan's", id, f.source.key.Map)
		}
		next[used[i]] = slot + 1
	}
	return next, nil
}

// free makes sure that no new id of the batch is another row's. The survey has seen to it, but rows come while maps are filled.
func (f *Filler) free(ctx context.Context, tx Tx) error {
	if len(f.new) == 0 {
		return nil
	}
	sorted := slices.Clone(f.new)
	slices.Sort(sorted)
	last := sorted[len(sorted)-1]
	for from := sorted[0]; ; {
		ids, err := f.source.nodes(ctx, tx, f.slots, from, last)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if _, taken := slices.BinarySearch(sorted, id); taken {
				survey := Survey{Rows: int64(len(f.old)), Clashing: 1, First: Examples{Clashing: f.old[slices.Index(f.new, id)]}}
				return survey.Refused(f.source.key)
			}
		}
		if len(ids) == 0 || ids[len(ids)-1] == last {
			return nil
		}
		from = ids[len(ids)-1] + 1
	}
}
