package gormplugin

import (
	"fmt"
	"reflect"
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
		if p.fillRows(db, plan) {
			p.splitRows(db, plan, insert)
		}
		db.Statement.Settings.Delete(upsertSetting{db.Statement})
	})
}

func (p *Plugin) splitRows(db *gorm.DB, plan *plan, insert func(*gorm.DB)) {
	stmt, kept := db.Statement, splitIDs.Get().(*[]int64)
	defer splitIDs.Put(kept)
	ids, placer, err := plan.sharded.checked(stmt, (*kept)[:0])
	*kept = ids
	if err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key %s of %s: %w", plan.sharded.column, stmt.Table, err))
		return
	}
	p.split(db, ids, placer, func(db *gorm.DB) { p.insertPart(db, plan, insert) })
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

// insertPart is one INSERT of several.
func (p *Plugin) insertPart(db *gorm.DB, plan *plan, insert func(*gorm.DB)) {
	stmt := db.Statement
	stored, tracked := stmt.Settings.Load(upsertSetting{stmt})
	track, tracks := stmt.Settings.Load("gorm:update_track_time") // GORM takes it away
	p.prepareInsert(db, plan)
	insert(db)
	restoreSchema(stmt)
	p.settleInsert(db, plan)
	if tracked {
		u := stored.(*upsert)
		stmt.Settings.Store(upsertSetting{stmt}, &upsert{made: u.made, guest: u.guest})
	}
	if tracks {
		stmt.Settings.Store("gorm:update_track_time", track)
	}
}
