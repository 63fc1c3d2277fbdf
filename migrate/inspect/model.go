package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// models is what GORM's models say.
type models struct {
	schemas   []*schema.Schema                 // those that were given, and those that their relations lead to
	created   map[catalog.Name]string          // by the table's full name: the column with the time of a row's creation
	units     map[catalog.Name]string          // what it counts when it is an integer
	typeNames map[catalog.Name]map[string]bool // names of its Go types
}

// readModels parses the models. What has no table here is a thing to know, and no error: a program may not have made it yet.
func (i *inspector) readModels(ctx context.Context) error {
	i.models = models{created: map[catalog.Name]string{}, units: map[catalog.Name]string{}, typeNames: map[catalog.Name]map[string]bool{}}
	for _, model := range i.options.Models {
		stmt := &gorm.Statement{DB: i.gorm}
		if err := stmt.Parse(model); err != nil {
			return fmt.Errorf("%w: model %T: %w", ErrOption, model, err)
		}
		i.models.add(stmt.Schema)
	}
	for _, m := range i.models.schemas {
		s, err := i.modelled(ctx, m)
		if err != nil {
			return err
		}
		if s == nil || s.View != "" {
			i.report.Obstacles = append(i.report.Obstacles, Obstacle{
				Table: m.Table, Kind: "model", Name: m.Name, Text: "the model " + m.Name + " has no table in this database, so its relations are not looked at",
			})
			continue
		}
		if i.models.typeNames[s.Full] == nil {
			i.models.typeNames[s.Full] = map[string]bool{}
		}
		i.models.typeNames[s.Full][m.Name] = true
		for _, field := range m.Fields {
			if field.AutoCreateTime != 0 && field.DBName != "" && !field.PrimaryKey {
				i.models.created[s.Full] = field.DBName
				if field.GORMDataType != schema.Time {
					i.models.units[s.Full] = map[schema.TimeType]string{
						schema.UnixSecond: "seconds", schema.UnixTime: "seconds", schema.UnixMillisecond: "milliseconds", schema.UnixNanosecond: "nanoseconds",
					}[field.AutoCreateTime]
				}
				break
			}
		}
	}
	return nil
}

// add takes a model, and those that its relations lead to.
func (m *models) add(s *schema.Schema) {
	if s == nil || slices.Contains(m.schemas, s) {
		return
	}
	m.schemas = append(m.schemas, s)
	for _, r := range relationsOf(s) {
		m.add(r.FieldSchema)
	}
}

// relationsOf returns the relations of a model in the order of their names.
func relationsOf(s *schema.Schema) []*schema.Relationship {
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	all := slices.Concat(s.Relationships.BelongsTo, s.Relationships.HasOne, s.Relationships.HasMany, s.Relationships.Many2Many)
	for _, name := range slices.Sorted(maps.Keys(s.Relationships.Relations)) {
		if r := s.Relationships.Relations[name]; !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}

// modelled returns the table of a model, nil when there is none.
func (i *inspector) modelled(ctx context.Context, s *schema.Schema) (*subject, error) {
	name, err := catalog.Parse(s.Table)
	if err != nil {
		return nil, fmt.Errorf("%w: the table of model %s: %w", ErrOption, s.Name, err)
	}
	return i.late(ctx, name)
}

// findOfModels finds the references that relations of models are.
func (i *inspector) findOfModels(ctx context.Context) error {
	for _, m := range i.models.schemas {
		for _, r := range relationsOf(m) {
			if err := i.findOfRelation(ctx, m, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// findOfRelation finds the references of one relation: one, or with a join table two.
func (i *inspector) findOfRelation(ctx context.Context, m *schema.Schema, r *schema.Relationship) error {
	why := fmt.Sprintf("the model %s %s %s", m.Name, map[schema.RelationshipType]string{
		schema.BelongsTo: "belongs to", schema.HasOne: "has one", schema.HasMany: "has many", schema.Many2Many: "has, through a join table, many",
	}[r.Type], r.FieldSchema.Name)
	// A table that is joined with itself has two references to it, which differ in who owns the key.
	type ends struct {
		child, parent *schema.Schema
		own           bool
	}
	var order []ends
	pairs := map[ends][]*schema.Reference{}
	for _, ref := range r.References {
		if ref.PrimaryKey == nil || ref.ForeignKey == nil { // the type of a polymorphic one
			continue
		}
		e := ends{ref.ForeignKey.Schema, ref.PrimaryKey.Schema, ref.OwnPrimaryKey}
		if pairs[e] == nil {
			order = append(order, e)
		}
		pairs[e] = append(pairs[e], ref)
	}
	for _, e := range order {
		if err := i.addOfModel(ctx, e.child, e.parent, pairs[e], r, why); err != nil {
			return err
		}
	}
	return nil
}

func (i *inspector) addOfModel(ctx context.Context, from, to *schema.Schema, refs []*schema.Reference, r *schema.Relationship, why string) error {
	child, err := i.modelled(ctx, from)
	if err != nil || child == nil || child.View != "" {
		return err
	}
	parent, err := i.modelled(ctx, to)
	if err != nil || parent == nil || parent.key == nil {
		return err
	}
	c := &candidate{child: child, parent: parent, to: parent.key, Reference: Reference{Origin: Model, Confidence: Certain, Why: why}}
	for _, ref := range refs {
		col, at := i.column(child, ref.ForeignKey.DBName), i.column(parent, ref.PrimaryKey.DBName)
		if col == nil || at == nil { // a model that is ahead of the table, or behind
			return nil
		}
		if at == parent.key {
			c.column = col
		}
		if len(refs) > 1 {
			c.Columns, c.ToColumns = append(c.Columns, col.Name), append(c.ToColumns, at.Name)
		}
	}
	if c.column == nil { // by another column than the key, which stays
		return nil
	}
	if r.Polymorphic != nil {
		typ := i.column(child, r.Polymorphic.PolymorphicType.DBName)
		if typ == nil {
			return nil
		}
		c.OwnerType, c.Owner = typ.Name, r.Polymorphic.Value
		c.ownerType = typ
	}
	i.add(c)
	return nil
}
