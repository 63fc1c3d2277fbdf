package gormplugin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
)

// plan says which fields of a schema are keys to fill. It is made once a schema and does not change.
type plan struct {
	schema *schema.Schema // as GORM has it; nil of a table without a model
	keys   []*key
	// sharded is the one of them that depends on a sharding column, nil without such.
	sharded *key
	// As the schema is for an INSERT: with a primary key that is filled, filled and with no RETURNING, and with one that is left to the
	// database. They are the schema itself where that is so already.
	filled, quiet, omitted *schema.Schema
	// pinned is filled, and quiet is too, such that an upsert of all columns leaves the sharding column as it is; nil when there is none.
	pinned       *schema.Schema
	tables       sync.Map // dialect and quoted name → *uniqueTable
	collation    sync.Once
	collationErr error
}

// newPlan returns nil when the schema has no key to fill.
func (p *Plugin) newPlan(s *schema.Schema) (*plan, error) {
	if err := checkTags(s); err != nil {
		return nil, err
	}
	made := &plan{schema: s, filled: s, omitted: s}
	for _, name := range s.DBNames {
		field := s.FieldsByDBName[name]
		setting, ok := p.setting(s, field)
		if !ok {
			continue
		}
		setting, column, err := cutShard(setting)
		var k *key
		if err == nil {
			k, err = p.newKey(name, field.FieldType, setting)
		}
		if err == nil && column != "" {
			err = k.shardBy(s, column)
		}
		if err == nil && k.by != nil && made.sharded != nil {
			err = fmt.Errorf("%w: the rows are sharded by %s already", ErrKey, made.sharded.by.Name)
		}
		if err == nil && isForeignKey(s, field) {
			err = fmt.Errorf("%w: it refers to the row that the model belongs to, which has its key already", ErrKey)
		}
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field.Name, err)
		}
		k.field = field
		k.embedded = slices.ContainsFunc(field.StructField.Index, func(i int) bool { return i < 0 }) // GORM's mark for it
		made.keys = append(made.keys, k)
		if k.by != nil {
			made.sharded = k
		}
		if field == s.PrioritizedPrimaryField && k.isInteger() {
			made.filled, made.omitted = withAutoIncrement(s, false), withAutoIncrement(s, true)
		}
	}
	if len(made.keys) == 0 {
		return nil, nil
	}
	made.quiet = withoutReturning(made.filled)
	if made.sharded != nil {
		made.pinned = withPinned(made.filled, made.sharded.by.DBName)
		made.quiet = withoutReturning(made.pinned)
	}
	return made, nil
}

// setting returns the plugin's setting of a field that is a key to fill: that of its tag, or none.
func (p *Plugin) setting(s *schema.Schema, field *schema.Field) (string, bool) {
	if isJoin(s, field) {
		return "", false
	}
	if setting, ok := field.TagSettings[tag]; ok {
		return setting, setting != "-"
	}
	if field != s.PrioritizedPrimaryField || isForeignKey(s, field) {
		return "", false
	}
	of := field.IndirectFieldType
	if of.PkgPath() == idType.PkgPath() && of.Kind() == reflect.Int64 {
		return "", true
	}
	return "", p.allKeys && len(s.PrimaryFields) == 1 && !isAutoIncrementOff(field) && putterOf(of, 0) != nil && of.Kind() != reflect.String
}

// isForeignKey tells whether a field refers to the row that the model belongs to.
func isForeignKey(s *schema.Schema, field *schema.Field) bool {
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	return slices.ContainsFunc(s.Relationships.BelongsTo, func(rel *schema.Relationship) bool {
		return slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool { return ref.ForeignKey == field })
	})
}

// isJoin tells whether a field is one of a join table that GORM has made up, with the tag of the primary key that the field refers to.
func isJoin(s *schema.Schema, field *schema.Field) bool {
	if s.ModelType.Name() != "" || isForeignKey(s, field) { // of a join table GORM lists no BelongsTo
		return false
	}
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	for _, rel := range s.Relationships.Relations {
		if rel.Type == schema.BelongsTo && slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool { return ref.ForeignKey == field }) {
			return true
		}
	}
	return false
}

// selected tells whether a key is among the columns of the statement, and adds it to a list of them that lacks it.
func (k *key) selected(stmt *gorm.Statement) bool {
	if k.field != nil && !k.field.Creatable {
		return false
	}
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return true
	}
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	selected, named := columns[k.column]
	if !named && restricted {
		stmt.Selects = append(slices.Clone(stmt.Selects), k.column) // the session's own list may have room to write into
	}
	return selected || !named
}

// insertSchema returns what the schema is like for the INSERT of a statement.
func (p *plan) insertSchema(stmt *gorm.Statement) *schema.Schema {
	for _, k := range p.keys {
		if k.field == p.schema.PrioritizedPrimaryField && !k.selected(stmt) {
			return p.omitted
		}
	}
	switch stmt.Dest.(type) {
	case []map[string]any, *[]map[string]any:
		return p.quiet // GORM does not know which map a returned row is
	}
	return p.filled
}

// checkCollation fails for texts that differ in the case of letters alone, on MySQL, unless the type of their column says that it tells
// them apart. By default a column does not: two keys are one there, and an upsert of the second writes the row of the first.
func (p *plan) checkCollation(db *gorm.DB) error {
	if db.Name() != "mysql" {
		return nil
	}
	p.collation.Do(func() {
		for _, k := range p.keys {
			if k.field == nil || k.of.Kind() != reflect.String || k.source.width > 0 || k.encoding != idgen.Base58 && k.encoding != idgen.Base62 {
				continue
			}
			column := strings.ToLower(db.Migrator().FullDataTypeOf(k.field).SQL)
			if !strings.Contains(column, "bin") && !strings.Contains(column, "_cs") {
				p.collationErr = fmt.Errorf("%w: field %s: texts of %s differ in the case of letters, which a column of MySQL takes no notice of; "+
					"give it a type such as `type:varchar(11) COLLATE ascii_bin`, or take base32", ErrKey, k.field.Name, k.encoding.Name())
			}
		}
	})
	return p.collationErr
}

// IntegerKey is a field that the plugin fills with integers, and their layout: the zero Layout of a source without a method Layout.
type IntegerKey struct {
	Field  *schema.Field
	Layout idgen.Layout
}

// IntegerKeys returns the fields of a model that the plugin fills with integers. The error wraps [ErrKey] for a field that cannot hold
// them, and [ErrNoSource] for a source that the plugin does not have, or not yet: call db.Use first.
func (p *Plugin) IntegerKeys(s *schema.Schema) ([]IntegerKey, error) {
	if p.source == nil {
		return nil, fmt.Errorf("%w: the plugin has none yet, call db.Use first", ErrNoSource)
	}
	plan, err := p.plan(s)
	if err != nil || plan == nil {
		return nil, err
	}
	var found []IntegerKey
	for _, k := range plan.keys {
		if k.isInteger() {
			layout, _ := k.source.layout()
			found = append(found, IntegerKey{Field: k.field, Layout: layout})
		}
	}
	return found, nil
}
