package gormplugin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils"

	"github.com/snowkey-go/snowkey/internal/filled"
	"github.com/snowkey-go/snowkey/sqltype"
)

// plan says which fields of a schema are keys to fill. It is made once a schema and does not change.
type plan struct {
	schema *schema.Schema // as GORM has it; nil of a table without a model
	keys   []*key
	// sharded is the one of them that depends on a sharding column, nil without such.
	sharded *key
	insertSchemas
	traps     traps
	tables    sync.Map  // dialect and quoted name → *uniqueTable
	columns   sync.Once // checked
	columnErr error
}

// planOf returns what to fill in the rows of a statement, nil for nothing.
func (p *Plugin) planOf(db *gorm.DB) *plan {
	if db.Error != nil {
		return nil
	}
	if db.Statement.Schema == nil {
		return p.tablePlan(db.Statement)
	}
	of := p.planned(db.Statement.Schema)
	plan, err := of.plan, of.err
	if plan != nil {
		err = plan.checkColumns(db)
	}
	if err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key of %s: %w", db.Statement.Schema.Name, err))
		p.failures.add(db.Statement)
		return nil
	}
	of.warn(db)
	return plan
}

// planned is a plan, nil for nothing to fill, or why there is none.
type planned struct {
	*plan
	err    error
	narrow bool        // AllKeys leaves the key
	warned atomic.Bool // that it does
}

// plan returns what to fill in rows of a schema, nil for nothing. The error wraps [ErrKey] or [ErrNoSource].
func (p *Plugin) plan(s *schema.Schema) (*plan, error) {
	of := p.planned(s)
	return of.plan, of.err
}

func (p *Plugin) planned(s *schema.Schema) *planned {
	if cached, ok := p.plans.Load(s); ok {
		return cached.(*planned)
	}
	made := &planned{narrow: p.leavesNarrow(s)}
	made.plan, made.err = p.newPlan(s)
	cached, _ := p.plans.LoadOrStore(s, made)
	return cached.(*planned)
}

// newPlan returns nil when the schema has no key to fill.
func (p *Plugin) newPlan(s *schema.Schema) (*plan, error) {
	if err := checkTags(s); err != nil {
		return nil, err
	}
	made := &plan{schema: s}
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
	}
	if len(made.keys) == 0 {
		return nil, nil
	}
	if len(made.keys) > maxKeys {
		return nil, fmt.Errorf("%w: the model has %d fields to fill, at most %d", ErrKey, len(made.keys), maxKeys)
	}
	made.insertSchemas = newInsertSchemas(s, made.keys, made.sharded)
	made.traps.find(s, made.keys)
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
	if of.PkgPath() == idType.PkgPath() && (of.Kind() == reflect.Int64 || of.Kind() == reflect.Array) {
		return "", true
	}
	return "", p.allKeys && len(s.PrimaryFields) == 1 && !isAutoIncrementOff(field) && canHold(of, 0) && of.Kind() != reflect.String
}

// isForeignKey reports whether a field refers to the row that the model belongs to.
func isForeignKey(s *schema.Schema, field *schema.Field) bool {
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	return slices.ContainsFunc(s.Relationships.BelongsTo, func(rel *schema.Relationship) bool {
		return slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool { return ref.ForeignKey == field })
	})
}

// isJoin reports whether a field is one of a join table that GORM has made up, with the tag of the primary key that the field refers to.
func isJoin(s *schema.Schema, field *schema.Field) bool {
	return s.ModelType.Name() == "" && refers(s, field) && !isForeignKey(s, field) // of a join table GORM lists no BelongsTo
}

// selected reports whether a key is among the columns of the statement, and adds it to a list of them that lacks it.
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

// writes returns what reports whether a statement writes a column, or saves a relation: Select and Omit may leave it out.
func writes(stmt *gorm.Statement) func(name string) bool {
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	return func(name string) bool {
		is, named := columns[name]
		return is || !named && !restricted
	}
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
		return p.noReturning // GORM does not know which map a returned row is
	}
	return p.filled
}

// checkColumns fails on MySQL for keys that their columns do not keep apart or find. By default a column of text takes no notice of the case of letters: two
// keys that differ in it are one there, and an upsert of the second writes the row of the first.
func (p *plan) checkColumns(db *gorm.DB) error {
	if db.Name() != "mysql" {
		return nil
	}
	p.columns.Do(func() {
		for _, k := range p.keys {
			if k.field == nil {
				continue
			}
			if isUUID(k.of) {
				if column := strings.ToLower(sqltype.UUID{}.GormDBDataType(db, k.field)); strings.Contains(column, "char") || strings.Contains(column, "text") {
					p.columnErr = fmt.Errorf("%w: field %s: a %s is written as 16 bytes on MySQL and MariaDB, and its column is %s; "+
						"make that a BINARY(16), or the field a string with the tag `snowkey:name` of a source", ErrKey, k.field.Name, k.of, column)
				}
				continue
			}
			if k.of.Kind() != reflect.String || k.source.width > 0 || k.source.width == 0 && !k.form.CaseSensitive() {
				continue
			}
			of := "its source"
			if k.source.width == 0 {
				of = k.form.Name()
			}
			column := strings.ToLower(db.Migrator().FullDataTypeOf(k.field).SQL)
			if !strings.Contains(column, "bin") && !strings.Contains(column, "_cs") {
				p.columnErr = fmt.Errorf("%w: field %s: texts of %s may differ in the case of letters, which a column of MySQL takes no notice of; "+
					"give it a type such as `type:varchar(30) COLLATE ascii_bin`, or take texts without it, such as base32", ErrKey, k.field.Name, of)
			}
		}
	})
	return p.columnErr
}

// leavesNarrow reports whether AllKeys leaves a model's key to the database since it has fewer bits than a key of the plugin.
func (p *Plugin) leavesNarrow(s *schema.Schema) bool {
	field := s.PrioritizedPrimaryField
	if !p.allKeys || field == nil || len(s.PrimaryFields) != 1 || !isNarrow(field.IndirectFieldType) || isForeignKey(s, field) || isJoin(s, field) {
		return false
	}
	_, tagged := field.TagSettings[tag]
	return !tagged && !isAutoIncrementOff(field)
}

// isAutoIncrementOff reports whether a field is tagged as one whose values somebody sets.
func isAutoIncrementOff(field *schema.Field) bool {
	setting, ok := field.TagSettings["AUTOINCREMENT"]
	return ok && !utils.CheckTruth(setting)
}

// warn says to the logger of a statement that AllKeys leaves the key of its model, the first time.
func (p *planned) warn(db *gorm.DB) {
	if p.narrow && p.warned.CompareAndSwap(false, true) {
		db.Logger.Warn(db.Statement.Context, "gormplugin: %s", narrowText(db.Statement.Schema))
	}
}

func narrowText(s *schema.Schema) string {
	field := s.PrioritizedPrimaryField
	return fmt.Sprintf("AllKeys leaves the key %s of %s to the database: its type %s has fewer than 64 bits; make it int64 to have it filled in, "+
		"or tag it `gorm:\"snowkey:-\"` to leave it without a warning", field.Name, s.Name, field.FieldType)
}

// tableKey is the key of a table without a model, as [Table] was given it.
type tableKey struct{ table, column, setting string }

// planTables makes the plans of the tables without a model, when all sources are known.
func (p *Plugin) planTables() error {
	if len(p.tablePlans) > 0 {
		return nil // they are those of the first database, which reads them
	}
	for _, t := range p.tables {
		of := idType
		name, _, hasForm := strings.Cut(t.setting, ",")
		if named := p.named[name]; hasForm || named != nil && named.width != 0 || name == "" && p.source.width != 0 {
			of = reflect.TypeFor[string]()
		}
		k, err := p.newKey(t.column, of, t.setting)
		if err != nil {
			return fmt.Errorf("gormplugin: Table %q: %w", t.table, err)
		}
		made := &plan{keys: []*key{k}}
		made.traps.find(nil, made.keys)
		p.tablePlans[t.table] = made
	}
	return nil
}

// tablePlan returns what to fill in rows without a model, nil for nothing.
func (p *Plugin) tablePlan(stmt *gorm.Statement) *plan {
	if len(p.tablePlans) == 0 || !isMaps(stmt) {
		return nil
	}
	name := stmt.Table
	if stmt.TableExpr != nil && strings.Contains(stmt.TableExpr.SQL, ".") {
		name = strings.NewReplacer("`", "", `"`, "").Replace(stmt.TableExpr.SQL)
	}
	return p.tablePlans[name]
}

func init() { filled.Integers = integerKeys }

func integerKeys(plugin gorm.Plugin, s *schema.Schema) (found []filled.Key, err error) {
	p := plugin.(*Plugin)
	if p.source == nil {
		return nil, fmt.Errorf("%w: the plugin has none yet, call db.Use first", ErrNoSource)
	}
	plan, err := p.plan(s)
	if err != nil || plan == nil {
		return nil, err
	}
	for _, k := range plan.keys {
		if k.isInteger() {
			layout, _ := k.source.layout()
			found = append(found, filled.Key{Field: k.field, Layout: layout})
		}
	}
	return found, nil
}
