package gormplugin

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// WithoutKeys has an upsert leave its structs and maps without the keys that were made for them, where nobody reads them afterwards: events that
// are counted, rows that are imported. The plugin then does not ask which rows were met: it adds no RETURNING, no SELECT and no LAST_INSERT_ID.
//
//	err := db.Clauses(clause.OnConflict{UpdateAll: true}, gormplugin.WithoutKeys()).Create(&rows).Error
//
// None keeps a key that was made, since it may be no row's; keys that the caller has set stay. What else the database fills in is not read back,
// and hooks after the INSERT see no key. An INSERT without an OnConflict leaves no keys either. It holds for the statement that has it alone:
// rows that the model belongs to are saved before it, with their keys. A row that has others (has one, has many, many to many) cannot give
// them its key, so the statement fails with an [ErrUpsert], unless they are left out by db.Omit(clause.Associations).
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
	selected, restricted := stmt.SelectAndOmitColumns(true, false)
	of := &p.schema.Relationships
	of.Mux.RLock()
	relations := slices.Concat(of.HasOne, of.HasMany, of.Many2Many)
	of.Mux.RUnlock()
	for _, relation := range relations {
		if is, named := selected[relation.Name]; named && !is || !named && restricted || !slices.ContainsFunc(relation.References, p.refersToKey) {
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

// refersToKey tells whether a foreign key is that of a row of the plan, by a key that is filled.
func (p *plan) refersToKey(ref *schema.Reference) bool {
	return ref.OwnPrimaryKey && p.isKey(ref.PrimaryKey)
}
