package gormplugin

import (
	"errors"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// route is how the plugin finds the existing row, see docs/statements.md.
type route uint8

const (
	routeNone        route = iota // no key can be wrong
	routeCount                    // by the number of rows written
	routeReturning                // by RETURNING
	routeLastID                   // by LAST_INSERT_ID
	routeSelect                   // by a SELECT
	routeWithoutKeys              // it does not, see WithoutKeys
)

// chooseRoute returns the cheapest way to find the existing rows; late tells that GORM adds the clause once more.
func (u *upsert) chooseRoute(c clause.OnConflict, ignore, late bool) route {
	p, stmt := u.plan, u.of.of
	mysql := stmt.Dialector.Name() == "mysql"
	_, asked := stmt.Clauses["RETURNING"]
	returned := canReturn(stmt) && (asked || stmt.Schema != nil && len(readable(stmt.Schema.FieldsWithDefaultDBValue)) > 0)
	assigned := slices.ContainsFunc(c.DoUpdates, func(a clause.Assignment) bool { return a.Column.Name == p.keys[0].column })
	switch {
	case isWithoutKeys(stmt):
		return routeWithoutKeys
	case len(u.rows) == 0: // they were passed by value: there is nothing to give a key to
		return routeNone
	case c.DoNothing && len(u.reread) > 0:
		return routeSelect
	case !mysql && !ignore && p.isPrimary(c):
		return routeNone
	case !c.DoNothing && canReturn(stmt) && len(c.Where.Exprs) == 0 && !isMaps(stmt) && isScannable(stmt.ReflectValue):
		return routeReturning
	case mysql && !ignore && !late && !assigned && len(u.of.rows) == 1 && !returned && len(u.reread) == 0 && p.isInteger():
		return routeLastID
	case c.DoNothing && !returned && (!mysql || ignore):
		return routeCount
	}
	return routeSelect
}

// settleUpsert gives each row the key that it has, after the INSERT.
func (s *statement) settleUpsert(db *gorm.DB) error {
	stmt, u := s.of, s.upsert
	c, _, is := conflict(stmt)
	if is && u == nil && db.Error == nil && !db.DryRun {
		return errLate
	}
	if u == nil {
		return s.settleDropped(db)
	}
	if !is && u.route != routeWithoutKeys {
		return nil
	}
	s.upsert = nil
	result := stmt.Result
	if u.addedResult {
		stmt.Result = nil
	}
	for name, was := range u.clauses { // the statement may be used again
		if stmt.Clauses[name] = was; was.Expression == nil {
			delete(stmt.Clauses, name)
		}
	}
	if db.Error != nil && u.route == routeReturning {
		u.restore(stmt) // MariaDB returns rows before one that fails
	}
	if db.Error != nil || db.DryRun {
		return nil
	}
	u.doNothing = u.doNothing || c.DoNothing // GORM may find that there is no column to update
	switch u.route {
	case routeCount:
		switch db.RowsAffected {
		case int64(len(u.rows)):
			return nil
		case 0:
			if !u.isAssociation {
				s.takeBack()
				return nil
			}
		}
		return u.reselect(db)
	case routeReturning:
		if db.RowsAffected == int64(len(u.rows)) && !u.doNothing {
			return nil
		}
		u.restore(stmt)
		return u.reselect(db)
	case routeLastID:
		if result == nil || result.Result == nil { // another plugin has run the INSERT
			return u.reselect(db)
		}
		id, err := result.Result.LastInsertId()
		if err != nil {
			return errors.Join(ErrUpsert, err)
		}
		return u.settleLastID(db, id)
	case routeSelect:
		return u.reselect(db)
	case routeWithoutKeys:
		s.takeBack()
	}
	return nil
}

// settleDropped is for an INSERT that has written fewer rows than it was given, without an error: a trigger or a rule has dropped some, or has
// written them elsewhere. Only rows that are there keep the keys that were made.
func (s *statement) settleDropped(db *gorm.DB) error {
	affected := db.RowsAffected
	if db.Error != nil || db.DryRun || affected >= int64(len(s.rows)) {
		return nil
	}
	u := &upsert{of: s, plan: s.plan, doNothing: true}
	u.snapshot()
	err := u.reselect(db)
	db.RowsAffected = affected
	return err
}

// settleLastID gives the row the key of the one that was met. Of a row that was inserted the id is 0, its own, or that of another column
// which is AUTO_INCREMENT.
func (u *upsert) settleLastID(db *gorm.DB, id int64) error {
	k := u.plan.keys[0]
	if len(u.rows) == 0 || id == 0 {
		return nil
	}
	m, met := u.rows[0], reflect.ValueOf(id).Convert(k.of)
	if m.before[0].IsValid() && same(m.before[0], met) {
		return nil
	}
	if err := u.lookupBy(db, u.rows, u.ownColumns(m)); err != nil || m.found != nil {
		return err
	}
	if u.doNothing {
		db.RowsAffected = 0 // connections with clientFoundRows count it
	}
	if u.doNothing && (!u.isAssociation || m.made == 0) {
		u.of.takeBack()
		return nil
	}
	k.assign(db.Statement.Context, m.row, met)
	return nil
}

// restore gives structs the keys that they had before the INSERT, and the extra fields.
func (u *upsert) restore(stmt *gorm.Statement) {
	for _, m := range u.rows {
		for i, k := range u.plan.keys {
			if m.before[i].IsValid() {
				k.assign(stmt.Context, m.row, m.before[i])
			}
		}
		for i, field := range u.extra {
			field.ReflectValueOf(stmt.Context, m.value).Set(m.before[len(u.plan.keys)+i])
		}
	}
}
