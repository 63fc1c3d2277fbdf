package gormplugin

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// WithoutKeys makes an upsert leave its structs and maps without the keys made for them, where nobody reads the keys: counted events, imported rows.
// The plugin then does not ask which rows exist: it adds no RETURNING, no SELECT and no LAST_INSERT_ID.
//
//	err := db.Clauses(clause.OnConflict{UpdateAll: true}, gormplugin.WithoutKeys()).Create(&rows).Error
//
// Keys that the caller has set stay. Other columns that the database fills in are not read back, and hooks after the INSERT see no key. An INSERT
// without an OnConflict leaves no keys either. WithoutKeys holds for one statement: rows that the model belongs to are saved before it, with
// their keys. A row cannot give its key to rows of has one, has many and many to many. Such a statement fails with an [ErrUpsert], unless
// db.Omit(clause.Associations) leaves them out.
func WithoutKeys() clause.Interface { return withoutKeys{} }

// withoutKeys is kept among the clauses of a statement, which those of its associations do not get, but is no part of its SQL.
type withoutKeys struct{}

func (withoutKeys) Name() string                   { return "snowkey:without keys" }
func (withoutKeys) Build(clause.Builder)           {}
func (w withoutKeys) MergeClause(c *clause.Clause) { c.Expression = w }

func isWithoutKeys(stmt *gorm.Statement) bool {
	_, is := stmt.Clauses[withoutKeys{}.Name()]
	return is
}

// dropKeys has an INSERT return nothing. It fails when GORM is to save what refers to the rows by their keys.
func (s *statement) dropKeys() error {
	p, stmt := s.plan, s.of
	delete(stmt.Clauses, "RETURNING")
	if p.schema == nil {
		return nil
	}
	if p.insertSchema(stmt) != p.omitted || p.omitted == p.filled {
		s.setSchema(p.noReturning)
	}
	if isMaps(stmt) {
		return nil
	}
	saves := writes(stmt)
	of := &p.schema.Relationships
	of.Mux.RLock()
	relations := slices.Concat(of.HasOne, of.HasMany, of.Many2Many)
	of.Mux.RUnlock()
	for _, relation := range relations {
		if !saves(relation.Name) || !slices.ContainsFunc(relation.References, p.refersToKey) {
			continue
		}
		for i := range s.rows {
			r := &s.rows[i]
			if _, zero := relation.Field.ValueOf(s.ctx, r.value); zero {
				continue
			}
			if value := reflect.Indirect(relation.Field.ReflectValueOf(s.ctx, r.value)); value.Kind() == reflect.Slice && value.Len() == 0 {
				continue
			}
			return fmt.Errorf("%w: WithoutKeys leaves the rows without the keys that their %s need; leave these out by db.Omit(clause.Associations), or WithoutKeys",
				ErrUpsert, relation.Name)
		}
	}
	return nil
}

// refersToKey reports whether a foreign key is that of a row of the plan, by a key that is filled.
func (p *plan) refersToKey(ref *schema.Reference) bool {
	return ref.OwnPrimaryKey && p.isKey(ref.PrimaryKey)
}
