package gormplugin

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"gorm.io/gorm"
)

// Splitter makes the INSERT of a statement of a sharded model, whose rows have these ids, in their order; the [Placer] is that by which they were
// checked. It calls insert for each part of the rows, with Table, TableExpr, Dest, ReflectValue and ConnPool of db.Statement being those of the
// part: each is prepared, made and settled as a statement of its own, and RowsAffected is its own. It puts back what it has changed, and does
// not keep the ids.
type Splitter func(db *gorm.DB, ids []int64, placer Placer, insert func(*gorm.DB))

// splitIDs are kept for the next statement.
var splitIDs = sync.Pool{New: func() any { return new([]int64) }}

// Split has the INSERT of each statement of a sharded model made by a function, in the place of the callback "gorm:create", after all rows have
// keys which fit them. Statements of other models are not touched. It is called after db.Use, before the database is used. The error wraps
// [ErrDatabase] for a database without that callback, or with a function already.
func (p *Plugin) Split(db *gorm.DB, split Splitter) error {
	create := db.Callback().Create()
	insert := create.Get("gorm:create")
	if insert == nil || p.split != nil {
		return fmt.Errorf("%w: the INSERTs of %s are split already, or it has no callback gorm:create", ErrDatabase, db.Name())
	}
	p.split = split
	return create.Replace("gorm:create", func(db *gorm.DB) {
		plan := p.planOf(db)
		if plan == nil || !p.splits(plan) {
			insert(db)
			return
		}
		if s := currentStatement(db.Statement); s != nil && db.Error == nil {
			p.splitRows(db, s, insert)
			s.given = nil // rows may be written in databases that this statement's transaction is not of
		}
	})
}

func (p *Plugin) splitRows(db *gorm.DB, s *statement, insert func(*gorm.DB)) {
	plan, stmt, kept := s.plan, db.Statement, splitIDs.Get().(*[]int64)
	defer splitIDs.Put(kept)
	ids, placer, err := plan.sharded.checked(stmt, (*kept)[:0])
	*kept = ids
	if err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key %s of %s: %w", plan.sharded.column, stmt.Table, err))
		return
	}
	made := map[any][]*key{}
	_ = s.rows.each(func(number int, r row) error {
		made[r.identity()] = s.made(number)
		return nil
	})
	p.split(db, ids, placer, func(db *gorm.DB) { insertPart(db, s, made, insert) })
}

// checked returns the ids of all rows, which fit them.
func (k *key) checked(stmt *gorm.Statement, ids []int64) ([]int64, Placer, error) {
	placer, err := k.source.placer(stmt.Context)
	if err != nil {
		return ids, nil, err
	}
	if ids, err = k.checkSharded(stmt, placer, ids); err != nil {
		return ids, nil, err
	}
	if value := stmt.ReflectValue; !isMaps(stmt) && (value.Kind() == reflect.Slice || value.Kind() == reflect.Array) && value.Len() != len(ids) {
		return ids, nil, fmt.Errorf("%w: one of the rows is nil", gorm.ErrInvalidData)
	}
	if len(ids) == 0 {
		return ids, nil, gorm.ErrEmptySlice
	}
	return ids, placer, nil
}

// checkRows fails the statement when the key of a row does not fit it, and tells whether all do.
func (p *Plugin) checkRows(db *gorm.DB, plan *plan) bool {
	if plan.sharded == nil {
		return true
	}
	if _, _, err := plan.sharded.checked(db.Statement, nil); err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key %s of %s: %w", plan.sharded.column, db.Statement.Table, err))
		return false
	}
	return true
}

// splits tells whether the INSERTs of a plan are made by the function of Split.
func (p *Plugin) splits(plan *plan) bool { return p.split != nil && plan.sharded != nil }

// insertPart is one INSERT of several, as a statement of its own, of rows that were given the keys made.
func insertPart(db *gorm.DB, whole *statement, made map[any][]*key, insert func(*gorm.DB)) {
	stmt := db.Statement
	part := &statement{of: stmt, guest: whole.guest, ctx: whole.ctx, plan: whole.plan, rows: rowsOf(stmt), given: make([]given, len(whole.given))}
	_ = part.rows.each(func(_ int, r row) error {
		for i, k := range part.plan.keys {
			part.given[i].rows = append(part.given[i].rows, slices.Contains(made[r.identity()], k))
		}
		return nil
	})
	track, tracks := stmt.Settings.Load("gorm:update_track_time") // GORM takes it away
	part.prepareInsert(db)
	insert(db)
	part.restoreSchema()
	part.settleInsert(db)
	whole.sent = whole.sent || part.sent
	if tracks {
		stmt.Settings.Store("gorm:update_track_time", track)
	}
}

// identity tells rows that can be written to from each other.
func (r row) identity() any {
	if r.columns != nil {
		return reflect.ValueOf(r.columns).UnsafePointer()
	}
	return r.value.Addr().UnsafePointer()
}
