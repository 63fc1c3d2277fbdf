package mapping

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// pageRows is how many rows one query reads.
const pageRows = 20_000

// SurveyRows surveys the rows of a key, whose time is read as Fill does. It reads page after page by the key, each in a transaction of its own, so that nothing
// waits for it and no old version of a row is kept for it; rows that others write meanwhile are counted or not. Memory does not grow with the table: above half a million
// rows it needs 24 bytes for each in the folder for temporary files.
//
// A row whose time is not good is not counted as such when the map is there and has it. One that is beyond what its unit has ids for counts as crowded. A new id that is below Below counts as clashing as well as one that is another
// row's: nothing could tell it from an old id. The error wraps idgen's for a layout or node that cannot be, or is the database's.
func SurveyRows(ctx context.Context, db *sql.DB, p *plan.Plan, k plan.Key) (survey Survey, err error) {
	s, err := newNodeSlots(p, k)
	if err != nil {
		return Survey{}, err
	}
	source, err := newSource(ctx, db, p, k, s)
	if err != nil {
		return Survey{}, err
	}
	sorter := newSorter()
	defer func() { err = errors.Join(err, sorter.close()) }()
	if err := survey.read(ctx, db, source, s, sorter); err != nil {
		return Survey{}, err
	}
	if err := survey.quote(ctx, db, source); err != nil {
		return Survey{}, err
	}
	taken := &others{source: source, slots: s, db: db, after: k.Below - 1}
	var used slotRange // the slot range of the row before, without what is used of it
	err = sorter.each(ctx, func(e entry) error {
		if e.slotRange.last != used.last {
			used = e.slotRange
		}
		slot := used.first
		if slot > used.last {
			return survey.count(&survey.Crowded, &survey.First.Crowded, e.id)
		}
		used.first++
		id := s.id(slot)
		clash, err := taken.has(ctx, id)
		if err != nil {
			return err
		}
		if clash || id < k.Below {
			return survey.count(&survey.Clashing, &survey.First.Clashing, e.id)
		}
		return nil
	})
	if err != nil {
		return Survey{}, err
	}
	return survey, nil
}

func (s *Survey) count(n, example *int64, id int64) error {
	if *n == 0 || id < *example {
		*example = id
	}
	*n++
	return nil
}

// quote notes what stands in the first row whose time cannot be read, and whether it could be, had it a zone that has such a time.
func (s *Survey) quote(ctx context.Context, db *sql.DB, source *source) error {
	if s.Unreadable == 0 || source.form != texts {
		return nil
	}
	q := statement{dialect: source.dialect}
	text := "SELECT " + source.created + " FROM " + source.table + " t" + source.joined + " WHERE " + source.id + " = " + q.number(s.First.Unreadable)
	return each(ctx, db, text, q.args, func(rows *sql.Rows) error {
		var raw sql.NullString
		if err := rows.Scan(&raw); err != nil || !raw.Valid {
			return err
		}
		utc := source.calendar
		utc.zone, utc.until = time.UTC, 0
		s.First.Text, s.First.Local = raw.String, utc.text([]byte(raw.String)).state != unreadable
		return nil
	})
}

// read counts the rows by what their times are good for, and gives those with a good one to the sorter.
func (s *Survey) read(ctx context.Context, db *sql.DB, source *source, slots *nodeSlots, sorter *sorter) error {
	var latest slotRange
	var list []row
	for after := int64(before); ; after = list[len(list)-1].id {
		var err error
		if list, err = source.page(ctx, db, list[:0], after, pageRows); err != nil {
			return err
		}
		if len(list) == 0 {
			return nil
		}
		mapped, err := source.excused(ctx, db, list)
		if err != nil {
			return err
		}
		for _, r := range list {
			s.Rows++
			if r.timestamp.state != good {
				if !mapped[r.id] {
					s.note(r.timestamp, r.id)
				}
				continue
			}
			slotRange := slots.rangeOf(r.timestamp.ns)
			if slotRange.first < latest.first {
				if s.Inverted == 0 {
					s.First.Inverted = r.id
				}
				s.Inverted++
			} else {
				latest = slotRange
			}
			if err := sorter.add(entry{slotRange, r.id}); err != nil {
				return err
			}
		}
	}
}

// excused returns those ids of rows without a good time that the map has nevertheless: in mode shadow a trigger gives rows that come the time that it is.
func (r *source) excused(ctx context.Context, db *sql.DB, list []row) (map[int64]bool, error) {
	bad := slices.IndexFunc(list, func(row row) bool { return row.timestamp.state != good })
	if bad < 0 || r.maps == "" {
		return nil, nil
	}
	name, err := catalog.Parse(r.key.Map)
	if err != nil {
		return nil, fmt.Errorf("mapping: the plan's map: %w", err)
	}
	if t, err := r.catalog.Over(db).Table(ctx, name); err != nil || t == nil {
		return nil, err
	}
	mapped := map[int64]bool{}
	s := statement{dialect: r.dialect}
	text := "SELECT old_id FROM " + r.maps + " WHERE old_id >= " + s.number(list[bad].id) + " AND old_id <= " + s.number(list[len(list)-1].id)
	found, err := ids(ctx, db, text, s.args)
	for _, id := range found {
		mapped[id] = true
	}
	return mapped, err
}

// others are the ids of a table that its old rows' new ids could be, in order.
type others struct {
	source *source
	slots  *nodeSlots
	db     *sql.DB
	after  int64
	page   []int64
	ended  bool
}

// has reports whether an id is one of the table's. The ids that it is asked for have to grow.
func (o *others) has(ctx context.Context, id int64) (bool, error) {
	for {
		for len(o.page) > 0 && o.page[0] < id {
			o.page = o.page[1:]
		}
		if len(o.page) > 0 || o.ended {
			return len(o.page) > 0 && o.page[0] == id, nil
		}
		list, err := o.source.nodes(ctx, o.db, o.slots, o.after+1, 1<<63-1)
		if err != nil {
			return false, err
		}
		if len(list) == 0 {
			o.ended = true
			return false, nil
		}
		o.page, o.after = list, list[len(list)-1]
	}
}

// nodes returns the first ids of the table from a range that have the plan's node, in order.
func (r *source) nodes(ctx context.Context, db dialect.Queryer, s *nodeSlots, from, until int64) ([]int64, error) {
	q := statement{dialect: r.dialect}
	text := "SELECT " + r.big(r.id) + " FROM " + r.table + " t WHERE " + r.id + " >= " + q.number(from) + " AND " + r.id + " <= " + q.number(until) +
		" AND (" + r.id + " & " + q.number(s.mask) + ") = " + q.number(s.fixed) + " ORDER BY " + r.id + " LIMIT " + q.number(pageRows)
	return ids(ctx, db, text, q.args)
}
