package gormplugin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// upsert is a statement that may meet rows that exist, so that a key made for the INSERT is perhaps no row's.
type upsert struct {
	filled  []filled
	plan    *plan
	route   route
	nothing bool            // rows that exist stay as they are
	more    []*schema.Field // to be read with the keys of the rows that were written
	own     bool            // the result of the statement is asked for by this upsert alone
}

// filled is a key that a row was given.
type filled struct {
	row row
	key *key
}

// route is the way by which the row that was met becomes known, see the package's documentation.
type route uint8

const (
	routeNone      route = iota // no key can be wrong
	routeCount                  // by the number of rows written
	routeReturning              // by RETURNING
	routeLastID                 // by LAST_INSERT_ID
	routeSelect                 // by a SELECT
)

// upsertSetting is the key of a statement's upsert among its settings, which GORM copies to the statements of associations.
type upsertSetting struct{ of *gorm.Statement }

// upsertOf returns the upsert that a statement is, or may become in a hook of its model; nil otherwise.
func upsertOf(stmt *gorm.Statement) *upsert {
	hooks := stmt.Schema != nil && !stmt.SkipHooks && (stmt.Schema.BeforeCreate || stmt.Schema.BeforeSave)
	if _, _, is := conflict(stmt); !is && !hooks {
		return nil
	}
	u, _ := stmt.Settings.LoadOrStore(upsertSetting{stmt}, new(upsert))
	return u.(*upsert)
}

// conflict returns what a statement does about rows that exist; ignore tells that its verb says so: INSERT IGNORE, INSERT OR IGNORE.
func conflict(stmt *gorm.Statement) (c clause.OnConflict, ignore, is bool) {
	if c, is = stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict); is {
		c.DoNothing = c.DoNothing || len(c.DoUpdates) == 0 && !c.UpdateAll
		return c, false, true
	}
	insert, _ := stmt.Clauses["INSERT"].Expression.(clause.Insert)
	ignore = strings.Contains(strings.ToUpper(insert.Modifier), "IGNORE")
	return clause.OnConflict{DoNothing: ignore}, ignore, ignore
}

// prepareUpsert chooses the route before the INSERT, and adds to the statement what that needs.
func (p *plan) prepareUpsert(stmt *gorm.Statement) {
	c, ignore, is := conflict(stmt)
	if !is || len(p.keys) == 0 {
		return
	}
	u := upsertOf(stmt)
	u.plan, u.route, u.nothing = p, routeSelect, c.DoNothing
	rows := 0
	_ = eachRow(stmt, func(row) error { rows++; return nil })
	mysql := stmt.Dialector.Name() == "mysql"
	returns := slices.Contains(stmt.BuildClauses, "RETURNING") // the dialect can
	if c.DoNothing && returns && (mysql || rows > 1) {
		u.more = p.hush(stmt)
	}
	_, asked := stmt.Clauses["RETURNING"]
	returned := returns && (asked || stmt.Schema != nil && len(readable(stmt.Schema.FieldsWithDefaultDBValue)) > 0)
	switch {
	case len(u.more) > 0:
	case !mysql && p.isPrimary(c):
		u.route = routeNone
	case !c.DoNothing && returns && len(c.Where.Exprs) == 0 && !isMaps(stmt):
		u.route = routeReturning
		stmt.AddClause(p.returning(stmt))
	case mysql && !ignore && rows == 1 && !returned && p.isInteger():
		u.route = routeLastID
		p.addLastID(stmt, c)
		if stmt.Result == nil {
			gorm.WithResult().ModifyStatement(stmt)
			u.own = true
		}
	case c.DoNothing && !returned && (!mysql || ignore):
		u.route = routeCount
	case mysql && c.DoNothing && p.schema == nil:
		// GORM's own assignment of a column to itself needs a model.
		column := clause.Column{Name: p.keys[0].column}
		c.DoUpdates, c.DoNothing = clause.Set{{Column: column, Value: column}}, false
		stmt.AddClause(c)
	}
}

// hush has an INSERT of structs return nothing, and tells which fields it would have returned. With DoNothing GORM cannot tell which row
// a returned one is, and MariaDB returns rows that were not written too.
func (p *plan) hush(stmt *gorm.Statement) []*schema.Field {
	if p.schema == nil || isMaps(stmt) || stmt.Schema == p.omitted && p.omitted != p.filled {
		return nil
	}
	fields := p.schema.FieldsWithDefaultDBValue
	if asked, is := stmt.Clauses["RETURNING"].Expression.(clause.Returning); is {
		fields = p.schema.Fields
		if len(asked.Columns) > 0 && asked.Columns[0].Name != "*" {
			fields = nil
			for _, column := range asked.Columns {
				if field := p.schema.LookUpField(column.Name); field != nil {
					fields = append(fields, field)
				}
			}
		}
		delete(stmt.Clauses, "RETURNING")
	}
	p.setSchema(stmt, p.quiet)
	return slices.DeleteFunc(readable(fields), func(f *schema.Field) bool {
		return slices.ContainsFunc(p.keys, func(k *key) bool { return k.field == f })
	})
}

// isPrimary tells whether what a statement does about rows that exist is about their primary key alone, and nothing else is filled: a
// row with another key is an error of the database then, and a row with the same key has it.
func (p *plan) isPrimary(c clause.OnConflict) bool {
	s := p.schema
	if s == nil || len(p.keys) != 1 || p.keys[0].field != s.PrioritizedPrimaryField || c.OnConstraint != "" {
		return false
	}
	if len(c.Columns) == 0 {
		return c.UpdateAll && !c.DoNothing
	}
	return len(c.Columns) == len(s.PrimaryFieldDBNames) && !slices.ContainsFunc(c.Columns, func(column clause.Column) bool {
		return !slices.Contains(s.PrimaryFieldDBNames, column.Name)
	})
}

// isInteger tells whether the only key is the integer that MySQL's LAST_INSERT_ID can carry.
func (p *plan) isInteger() bool {
	return len(p.keys) == 1 && p.keys[0].isInteger() && (p.schema == nil || p.keys[0].field == p.schema.PrioritizedPrimaryField)
}

// returning is the clause that has the database return the keys with all that it would return anyway.
func (p *plan) returning(stmt *gorm.Statement) clause.Returning {
	asked, is := stmt.Clauses["RETURNING"].Expression.(clause.Returning)
	if is && (len(asked.Columns) == 0 || len(asked.Columns) == 1 && asked.Columns[0].Name == "*") {
		return asked
	}
	columns := slices.Clone(asked.Columns)
	add := func(name string) {
		if !slices.ContainsFunc(columns, func(c clause.Column) bool { return c.Name == name }) {
			columns = append(columns, clause.Column{Name: name})
		}
	}
	for _, k := range p.keys {
		add(k.column)
	}
	if !is {
		for _, field := range stmt.Schema.FieldsWithDefaultDBValue {
			if field.Readable {
				add(field.DBName)
			}
		}
	}
	return clause.Returning{Columns: columns}
}

// addLastID has MySQL tell the key of the row that was met as the id it inserted last. That works for DoNothing too, where GORM's own
// assignment of the key to itself says nothing, and by the affected rows it cannot be known: connections with clientFoundRows count
// a row that was met as one.
func (p *plan) addLastID(stmt *gorm.Statement, c clause.OnConflict) {
	column := clause.Column{Name: p.keys[0].column}
	if slices.ContainsFunc(c.DoUpdates, func(a clause.Assignment) bool { return a.Column.Name == column.Name }) {
		return // the key is written by the statement itself
	}
	c.DoUpdates = append(clause.Set{{Column: column, Value: clause.Expr{SQL: "LAST_INSERT_ID(?)", Vars: []any{column}}}}, c.DoUpdates...)
	c.DoNothing = false
	stmt.AddClause(c)
}

// settleUpsert gives each row the key that it has, after the INSERT.
func (p *plan) settleUpsert(db *gorm.DB) error {
	stmt := db.Statement
	stored, ok := stmt.Settings.LoadAndDelete(upsertSetting{stmt})
	if !ok || stored.(*upsert).plan == nil || db.Error != nil || db.DryRun {
		return nil
	}
	u, nothing := stored.(*upsert), stored.(*upsert).nothing
	if c, _, _ := conflict(stmt); c.DoNothing {
		nothing = true // GORM may find that there is no column to update
	}
	switch u.route {
	case routeCount:
		if db.RowsAffected == 0 {
			u.clear(stmt)
			return nil
		}
		rows := 0
		_ = eachRow(stmt, func(row) error { rows++; return nil })
		if db.RowsAffected == int64(rows) {
			return nil
		}
		return u.reselect(db, nothing)
	case routeLastID:
		return u.settleLastID(stmt, nothing)
	case routeSelect:
		return u.reselect(db, nothing)
	case routeReturning:
		if nothing {
			return u.reselect(db, nothing)
		}
	}
	return nil
}

// settleLastID reads the key of the row that was met. It is 0, or the row's own, of a row that was inserted.
func (u *upsert) settleLastID(stmt *gorm.Statement, nothing bool) error {
	result := stmt.Result.Result
	if u.own {
		stmt.Result = nil
	}
	if result == nil {
		return nil
	}
	id, err := result.LastInsertId()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUpsert, err)
	}
	k := u.plan.keys[0]
	return eachRow(stmt, func(r row) error {
		if id == 0 || !r.canSet() || k.holds(stmt.Context, r, reflect.ValueOf(id).Convert(k.of)) {
			return nil
		}
		if nothing {
			u.clear(stmt)
			return nil
		}
		k.assign(stmt.Context, r, reflect.ValueOf(id))
		return nil
	})
}

// clear takes the keys that were filled.
func (u *upsert) clear(stmt *gorm.Statement) {
	for _, f := range u.filled {
		f.key.clear(stmt.Context, f.row)
	}
}
