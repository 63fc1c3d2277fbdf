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

// upsert is a statement whose rows may exist already, over another unique index than that of the key: then the key made for the INSERT is discarded.
type upsert struct {
	of            *statement
	plan          *plan
	rows          []*upsertRow
	route         route
	doNothing     bool                     // rows that exist stay as they are
	isAssociation bool                     // the rows are those of an association
	reread        []*schema.Field          // to be read with the keys
	extra         []*schema.Field          // extraReturning of the plan
	clauses       map[string]clause.Clause // of the statement, as they were
	addedResult   bool                     // the result of the statement is asked for by this upsert alone
}

// upsertRow is a row of the statement that may exist in the table.
type upsertRow struct {
	*row
	number  int
	before  []reflect.Value // its keys before the INSERT, the zero Value for none, and of a struct the extra fields
	guessed bool            // its primary key is what GORM takes for the one that the database has made
	found   []reflect.Value // the keys of its row in the table, and what else was read
	reason  string          // why no row is found
}

// errLate says that nobody knows which keys were made.
var errLate = fmt.Errorf("%w: the clause about rows that exist was added after the callback snowkey:fill; add it before, such as in a hook of the model", ErrUpsert)

// conflict returns what a statement does about rows that exist; ignore tells that its verb says so: INSERT IGNORE, INSERT OR IGNORE.
func conflict(stmt *gorm.Statement) (c clause.OnConflict, ignore, is bool) {
	insert, _ := stmt.Clauses["INSERT"].Expression.(clause.Insert)
	ignore = strings.Contains(strings.ToUpper(insert.Modifier), "IGNORE")
	if c, is = stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict); is {
		if stmt.Dialector.Name() == "mysql" { // others then set the key to itself
			c.DoNothing = c.DoNothing || len(c.DoUpdates) == 0 && !c.UpdateAll
		}
		return c, ignore, true
	}
	return clause.OnConflict{DoNothing: ignore}, ignore, ignore
}

// prepareUpsert chooses the route before the INSERT, and adds to the statement what that needs.
func (s *statement) prepareUpsert() error {
	p, stmt := s.plan, s.of
	late := false // GORM adds the clause that the schema has later
	if stmt.Schema != nil && !stmt.Unscoped {
		for _, c := range stmt.Schema.CreateClauses {
			if _, ok := c.(clause.OnConflict); ok {
				stmt.AddClause(c)
				late = true
			}
		}
	}
	c, ignore, is := conflict(stmt)
	if !is && !isWithoutKeys(stmt) {
		return nil
	}
	u := &upsert{of: s, plan: p, doNothing: c.DoNothing, isAssociation: s.isAssociation, extra: p.extraReturning()}
	u.clauses = map[string]clause.Clause{"ON CONFLICT": stmt.Clauses["ON CONFLICT"], "RETURNING": stmt.Clauses["RETURNING"]}
	c, err := s.keepShardingColumn(c)
	if err != nil {
		return err
	}
	s.upsert = u
	u.snapshot()
	mysql, several := stmt.Dialector.Name() == "mysql", len(s.rows) > 1
	if canReturn(stmt) && (c.DoNothing && (mysql || several) || len(c.Where.Exprs) > 0 && several || !isScannable(stmt.ReflectValue)) {
		u.reread = s.suppressReturning()
	}
	if !c.DoNothing || u.isAssociation {
		for _, field := range u.extra {
			if !slices.Contains(u.reread, field) {
				u.reread = append(u.reread, field)
			}
		}
	}
	switch u.route = u.chooseRoute(c, ignore, late); u.route {
	case routeWithoutKeys:
		if err := s.dropKeys(); err != nil {
			return err
		}
	case routeReturning:
		stmt.AddClause(p.returning(stmt))
	case routeLastID:
		p.addLastID(stmt, c)
		if stmt.Result == nil {
			gorm.WithResult().ModifyStatement(stmt)
			u.addedResult = true
		}
	}
	if mysql && c.DoNothing && p.schema == nil && (u.route == routeSelect || u.route == routeWithoutKeys && !ignore) {
		// GORM's own assignment of a column to itself needs a model.
		column := clause.Column{Name: p.keys[0].column}
		c.DoUpdates, c.DoNothing = clause.Set{{Column: column, Value: column}}, false
		stmt.AddClause(c)
	}
	return nil
}

// canReturn reports whether the dialect has RETURNING.
func canReturn(stmt *gorm.Statement) bool { return slices.Contains(stmt.BuildClauses, "RETURNING") }

// snapshot keeps the keys of all rows that can be written to.
func (u *upsert) snapshot() {
	s := u.of
	for number := range s.rows {
		r := &s.rows[number]
		if !r.canSet() {
			continue
		}
		m := &upsertRow{row: r, number: number}
		isMap := r.columns() != nil
		for _, k := range u.plan.keys {
			m.before = append(m.before, k.current(s.ctx, r))
		}
		for _, field := range u.extra {
			if !isMap {
				before := reflect.New(field.FieldType).Elem()
				before.Set(field.ReflectValueOf(s.ctx, r.value))
				m.before = append(m.before, before)
			}
		}
		if primary := u.plan.primary(); primary != nil && !isMap && !u.plan.isKey(primary) {
			_, m.guessed = primary.ValueOf(s.ctx, r.value)
		}
		u.rows = append(u.rows, m)
	}
}

// suppressReturning has an INSERT of structs return nothing, and returns the fields that it would have read back. When not all rows are written GORM cannot tell
// which one a returned row is, and MariaDB returns rows that were not written too.
func (s *statement) suppressReturning() []*schema.Field {
	p, stmt := s.plan, s.of
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
	s.setSchema(p.noReturning)
	return slices.DeleteFunc(readable(fields), p.isKey)
}

// extraReturning returns the fields of the primary key that are not filled, and the sharding column: a row that was met has its own.
func (p *plan) extraReturning() (fields []*schema.Field) {
	if p.schema == nil {
		return nil
	}
	if slices.ContainsFunc(p.schema.PrimaryFields, p.isKey) {
		fields = slices.DeleteFunc(readable(p.schema.PrimaryFields), p.isKey)
	}
	if p.sharded != nil && p.sharded.by.Readable && !slices.Contains(fields, p.sharded.by) {
		fields = append(fields, p.sharded.by)
	}
	return fields
}

// primary returns GORM's choice of the primary key, nil for none.
func (p *plan) primary() *schema.Field {
	if p.schema == nil {
		return nil
	}
	return p.schema.PrioritizedPrimaryField
}

func (p *plan) isKey(field *schema.Field) bool {
	return slices.ContainsFunc(p.keys, func(k *key) bool { return k.field == field })
}

// isPrimary reports whether what a statement does about rows that exist is about their primary key alone, and nothing else is filled: a
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

// isInteger reports whether the only key is the integer that MySQL's LAST_INSERT_ID can carry.
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
	for _, field := range p.extraReturning() {
		add(field.DBName)
	}
	if !is {
		for _, field := range readable(stmt.Schema.FieldsWithDefaultDBValue) {
			add(field.DBName)
		}
	}
	return clause.Returning{Columns: columns}
}

// addLastID has MySQL tell the key of the row that was met as the id it inserted last. That works for DoNothing too, where GORM's own
// assignment of the key to itself says nothing, and by the affected rows it cannot be known: connections with clientFoundRows count
// a row that was met as one.
func (p *plan) addLastID(stmt *gorm.Statement, c clause.OnConflict) {
	column := clause.Column{Name: p.keys[0].column}
	c.DoUpdates = append(clause.Set{{Column: column, Value: clause.Expr{SQL: "LAST_INSERT_ID(?)", Vars: []any{column}}}}, c.DoUpdates...)
	c.DoNothing = false
	stmt.AddClause(c)
}
