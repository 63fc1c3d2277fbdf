package mapping

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// Audit is what a filled map, and the rows that it is of, say of each other. The examples are new ids, 0 where there is none.
type Audit struct {
	Pairs    int64 // of the map
	Old      int64 // whose row has the old id still
	New      int64 // whose row has the new one
	Twice    int64 // of which both ids are there
	Gone     int64 // of which neither is: the row was deleted since
	Foreign  int64 // whose new id has not the plan's node
	Mistimed int64 // whose new id is of another unit of time than the row, or whose row's time cannot be read any more
	Inverted int64 // whose new id is not in the order of the rows' units of time, then of their old ids; of those that are not mistimed

	Distance time.Duration // the greatest time between a mistimed id and its row; the greatest of all when the row's time cannot be read

	FirstTwice, FirstForeign, FirstMistimed, FirstInverted int64

	Wrong []Pair // mistimed ones, the first thousand
	Lost  []Pair // those that are gone, the first thousand
}

// mostNoted is how many pairs of a kind an audit has.
const mostNoted = 1000

// Pair is an old id and its new one.
type Pair struct{ Old, New int64 }

// pair is one of a map, and what became of its row.
type pair struct {
	old, new  int64
	isOld, is bool // the row has the old id, the new one
	timestamp timestamp
}

// AuditMap compares a key's map with the rows, whether these have their old ids or the new ones. It reads page after page in the order of new ids; memory does
// not grow with the table.
func AuditMap(ctx context.Context, db *sql.DB, p *plan.Plan, k plan.Key) (a Audit, err error) {
	s, err := newNodeSlots(p, k)
	if err != nil {
		return Audit{}, err
	}
	if k.Map == "" {
		return Audit{}, fmt.Errorf("mapping: the ids of %s stay as they are: it has no map", k.Table)
	}
	source, err := newSource(ctx, db, p, k, s)
	if err != nil {
		return Audit{}, err
	}
	var last entry
	var list []pair
	for after := int64(before); ; after = list[len(list)-1].new {
		if list, err = source.pairs(ctx, db, list[:0], after); err != nil {
			return Audit{}, err
		}
		if len(list) == 0 {
			return a, nil
		}
		for _, p := range list {
			a.add(p, s, &last)
		}
	}
}

// add counts a pair. Last is the row before, in the order of new ids.
func (a *Audit) add(p pair, s *nodeSlots, last *entry) {
	a.Pairs++
	slot, own := s.slot(p.new)
	if !own {
		count(&a.Foreign, &a.FirstForeign, p.new)
	}
	switch {
	case p.is && p.isOld:
		count(&a.Twice, &a.FirstTwice, p.new)
	case p.is:
		a.New++
	case p.isOld:
		a.Old++
	default:
		a.Gone++
		a.Lost = note(a.Lost, p)
		return
	}
	if p.timestamp.state != good {
		a.wrong(p, 1<<63-1)
		return
	}
	e := entry{s.rangeOf(p.timestamp.ns), p.old}
	if own && (slot < e.slotRange.first || slot > e.slotRange.last) {
		a.wrong(p, s.distance(slot, p.timestamp.ns))
		return
	}
	if *last != (entry{}) && compare(*last, e) > 0 {
		count(&a.Inverted, &a.FirstInverted, p.new)
	}
	*last = e
}

// wrong counts a mistimed pair.
func (a *Audit) wrong(p pair, distance time.Duration) {
	count(&a.Mistimed, &a.FirstMistimed, p.new)
	a.Distance = max(a.Distance, distance)
	a.Wrong = note(a.Wrong, p)
}

// note adds a pair to a list, unless that is full.
func note(list []Pair, p pair) []Pair {
	if len(list) == mostNoted {
		return list
	}
	return append(list, Pair{p.old, p.new})
}

func count(n, first *int64, id int64) {
	if *n == 0 {
		*first = id
	}
	*n++
}

// pairs returns the next pairs of a map after a new id, with what became of their rows.
func (r *source) pairs(ctx context.Context, db dialect.Queryer, list []pair, after int64) ([]pair, error) {
	q := statement{dialect: r.dialect}
	text := "SELECT old_id, new_id FROM " + r.maps + " WHERE new_id > " + q.number(after) + " ORDER BY new_id LIMIT " + q.number(pageRows)
	err := each(ctx, db, text, q.args, func(rows *sql.Rows) error {
		var p pair
		if err := rows.Scan(&p.old, &p.new); err != nil {
			return err
		}
		list = append(list, p)
		return nil
	})
	if err != nil || len(list) == 0 {
		return list, err
	}
	at := make(map[int64]*pair, len(list))
	for i := range list {
		at[list[i].new] = &list[i]
	}
	for _, column := range []string{"old_id", "new_id"} {
		q := statement{dialect: r.dialect}
		text := "SELECT m.new_id, " + r.created + " FROM " + r.maps + " m JOIN " + r.table + " t ON " + r.id + " = m." + column + r.joined +
			" WHERE m.new_id > " + q.number(after) + " AND m.new_id <= " + q.number(list[len(list)-1].new)
		var raw sql.RawBytes
		err := each(ctx, db, text, q.args, func(rows *sql.Rows) error {
			var id int64
			if err := rows.Scan(&id, &raw); err != nil {
				return err
			}
			if p := at[id]; p != nil {
				p.timestamp = r.timestamp(raw)
				p.isOld, p.is = p.isOld || column == "old_id", p.is || column == "new_id"
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
