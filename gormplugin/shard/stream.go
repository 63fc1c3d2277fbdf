package shard

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// pageRows is how many rows of a table are read at once.
const pageRows = 500

// Between returns the rows that were created from one instant on and before another, of all shards, by ascending ids. They are read by ranges of the primary
// key, a page of each table at a time, so the memory does not grow with their number. db may have conditions, Select, Preload; it is read with its context, and the
// iteration ends with the first error.
//
//	for order, err := range shard.Between[Order](db.Where("item = ?", "tea"), from, to) {
//
// Both instants are cut to the tick of the layout that they lie in, as those of [gormplugin.CreatedBetween] are, whose error for a from after its to is
// gormplugin.ErrRange. Ids from before the sharding have no time, and are left out. A layout with the time below another field has no ranges of ids:
// the error wraps idshard.ErrLayout. A row that is there from the beginning to the end is returned once, also when its bucket moves meanwhile.
// Nothing is left open when the loop ends early. An order, a limit, joins or groups in db are [ErrSpan]: leave the loop instead.
func Between[T any](db *gorm.DB, from, to time.Time) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		s, err := newStream[T](db, from, to)
		for err == nil {
			var row *T
			if row, err = s.next(); err == nil && row == nil {
				return
			}
			if err == nil && !yield(row, nil) {
				return
			}
		}
		yield(nil, err)
	}
}

// stream merges pages of all tables by the id.
type stream[T any] struct {
	router   *Router
	db       *gorm.DB // with the conditions
	of       *model
	least    int64 // id that may come next
	greatest int64

	in    *idshard.Map // that the pages are of
	pages []page[T]    // by the index of the shard
}

// page is what was read of one table and is not returned yet.
type page[T any] struct {
	rows []*T
	ids  []int64
	next int64 // least id of the page after it
	last bool
}

// newStream finds the range of ids.
func newStream[T any](db *gorm.DB, from, to time.Time) (*stream[T], error) {
	router, ok := db.Plugins[(*Router)(nil).Name()].(*Router)
	if !ok {
		return nil, fmt.Errorf("%w: the database has no router; call db.Use", ErrConfig)
	}
	if db.Error != nil {
		return nil, db.Error
	}
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(new(T)); err != nil {
		return nil, err
	}
	of, err := router.model(stmt.Schema)
	if err != nil {
		return nil, err
	}
	if of == nil {
		return nil, fmt.Errorf("%w: %s is not sharded; read it with gormplugin.CreatedBetween", ErrModel, stmt.Schema.Name)
	}
	s := &stream[T]{router: router, of: of}
	if s.least, s.greatest, err = idsBetween(router.config.Layout, from.Round(0), to.Round(0)); err != nil {
		return nil, err
	}
	s.db, err = s.prepare(db)
	return s, err
}

// prepare has every page ordered by the id, and nothing else decide which rows are in it but the conditions.
func (s *stream[T]) prepare(db *gorm.DB) (*gorm.DB, error) {
	tx := db.Session(&gorm.Session{}).Scopes(func(page *gorm.DB) *gorm.DB {
		stmt := page.Statement
		for _, name := range []string{"ORDER BY", "LIMIT", "GROUP BY", "FROM"} {
			if _, has := stmt.Clauses[name]; has {
				_ = page.AddError(fmt.Errorf("%w: Between has tables and an order of its own and no end but the range; leave out the %s, and leave the loop", ErrSpan, name))
			}
		}
		if len(stmt.Joins) > 0 || stmt.Distinct {
			_ = page.AddError(fmt.Errorf("%w: Between reads one table at a time, without joins and DISTINCT", ErrSpan))
		}
		if len(stmt.Selects) > 0 && !slices.Contains(stmt.Selects, "*") && !slices.Contains(stmt.Selects, s.of.key.DBName) {
			stmt.Selects = append(slices.Clone(stmt.Selects), s.of.key.DBName) // that the rows are merged by
		}
		stmt.AddClause(clause.OrderBy{Columns: []clause.OrderByColumn{{Column: columnOf(s.of.key)}}})
		limit := pageRows
		stmt.AddClause(clause.Limit{Limit: &limit})
		return page
	})
	return tx.Session(&gorm.Session{}), tx.Error
}

// next returns the row with the least id that was not returned yet, nil at the end.
func (s *stream[T]) next() (*T, error) {
	least := -1
	for i := 0; i < len(s.pages) || s.in == nil; i++ {
		changed, err := s.fill(i)
		if err != nil {
			return nil, err
		}
		if changed {
			least, i = -1, -1
			continue
		}
		if p := &s.pages[i]; len(p.ids) > 0 && (least < 0 || p.ids[0] < s.pages[least].ids[0]) {
			least = i
		}
	}
	if least < 0 {
		return nil, nil
	}
	p := &s.pages[least]
	row := p.rows[0]
	s.least = p.ids[0] + 1
	p.rows[0] = nil
	p.rows, p.ids = p.rows[1:], p.ids[1:]
	return row, nil
}

// fill reads the next page of a table when nothing is left of the one before. When the map has changed it begins anew with all tables, behind the last
// row that was returned: pages by the old map and by the new one are of different rows.
func (s *stream[T]) fill(i int) (changed bool, err error) {
	for s.in == nil || len(s.pages[i].ids) == 0 && !s.pages[i].last {
		ctx := s.db.Statement.Context
		in, err := s.router.current(ctx)
		if err != nil {
			return false, err
		}
		if s.in == nil || in.Version() != s.in.Version() {
			s.begin(in)
			return true, nil
		}
		if err := s.read(i); err != nil {
			return false, err
		}
		if err := s.router.lease.still(ctx, in); errors.Is(err, ErrMoved) {
			s.in = nil // what was read may lack rows
		} else if err != nil {
			return false, err
		}
	}
	return false, nil
}

// begin starts with the tables of a map, at the least id that is to come.
func (s *stream[T]) begin(in *idshard.Map) {
	s.in, s.pages = in, make([]page[T], len(in.Shards()))
	if legacy, ok := in.Legacy(); ok {
		s.least = max(s.least, legacy.Below)
	}
	for i := range s.pages {
		s.pages[i].next = s.least
	}
}

// read reads a page, and drops the rows of buckets that the map has elsewhere: until a move has removed them they are in two tables.
func (s *stream[T]) read(i int) error {
	p := &s.pages[i]
	if p.next > s.greatest {
		p.last = true
		return nil
	}
	tx := gormplugin.Narrow(s.db, span{of: s.of, least: p.next, greatest: s.greatest})
	at, err := s.router.part(tx.Statement, s.of, s.in, i)
	if err != nil {
		return err
	}
	at.direct(tx, s.of)
	var rows []*T
	if err := tx.Find(&rows).Error; err != nil {
		return fmt.Errorf("shard: reading %s: %w", at.table, err)
	}
	p.rows, p.ids, p.last = rows[:0], p.ids[:0], len(rows) < pageRows
	for _, row := range rows {
		id, err := s.of.id(tx.Statement.Context, reflect.ValueOf(row).Elem())
		if err != nil {
			return err
		}
		if id < p.next || id > s.greatest {
			return fmt.Errorf("%w: %s gave the id %d, out of its order; db must select the column %s and no other order", ErrSpan, at.table, id, s.of.key.DBName)
		}
		p.next = id + 1
		if of, err := s.in.OfID(id); err != nil {
			return err
		} else if of == i {
			p.rows, p.ids = append(p.rows, row), append(p.ids, id)
		}
	}
	clear(rows[len(p.rows):])
	return nil
}

// span is a range of ids as a condition.
type span struct {
	of              *model
	least, greatest int64
}

// Build writes the condition.
func (s span) Build(builder clause.Builder) {
	builder.WriteQuoted(s.of.keyColumn)
	_, _ = builder.WriteString(" BETWEEN ")
	builder.AddVar(builder, s.least)
	_, _ = builder.WriteString(" AND ")
	builder.AddVar(builder, s.greatest)
}

// idsBetween returns the least and the greatest id of a range of time, 0 and -1 when there is none.
func idsBetween(layout idgen.Layout, from, to time.Time) (least, greatest int64, err error) {
	if from.After(to) {
		return 0, 0, fmt.Errorf("%w: %s is after %s", gormplugin.ErrRange, from.UTC().Format(time.RFC3339Nano), to.UTC().Format(time.RFC3339Nano))
	}
	epoch, end := layout.Epoch(), layout.ExhaustsAt()
	if greatest, err = layout.MaxID(end.Add(-1)); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", idshard.ErrLayout, err)
	}
	if !from.Before(end) || !to.After(epoch) {
		return 0, -1, nil
	}
	if from.After(epoch) {
		if least, err = layout.MinID(from); err != nil {
			return 0, 0, err
		}
	}
	if to.Before(end) {
		first, err := layout.MinID(to)
		if err != nil {
			return 0, 0, err
		}
		greatest = first - 1
	}
	return least, greatest, nil
}
