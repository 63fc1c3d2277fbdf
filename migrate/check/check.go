package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/filled"
)

// The errors of this package, to be tested with errors.Is.
var (
	// ErrTable says that a text is not the name of a table.
	ErrTable = errors.New("check: not a table's name")
	// ErrDatabase says that the tables of a database cannot be checked.
	ErrDatabase = errors.New("check: the tables cannot be checked")
	// ErrKind says that a value is no kind of finding.
	ErrKind = errors.New("check: no kind of finding")
)

// Models checks the tables of models, which are what AutoMigrate takes, and returns no findings when all is well. A table that is not
// there is a finding.
//
// The error is that of a model that GORM cannot parse, of the context, or of the database. It wraps [gormplugin.ErrKey] and
// [gormplugin.ErrNoSource] for a key that cannot be filled, or before db.Use when the plugin has no source yet, [ErrTable] for a table's
// name with more than a schema before it, and [ErrDatabase] for a dialect other than mysql, postgres and sqlite.
func Models(ctx context.Context, db *gorm.DB, plugin *gormplugin.Plugin, models ...any) ([]Finding, error) {
	c, err := newChecker(db)
	if err != nil {
		return nil, err
	}
	var targets []*target
	var relations []*relation
	for _, model := range models {
		stmt := &gorm.Statement{DB: db}
		if err := stmt.Parse(model); err != nil {
			return nil, fmt.Errorf("check: %T: %w", model, err)
		}
		name, err := parseTableName(stmt.Schema.Table) // Table lacks the schema
		if err != nil {
			return nil, err
		}
		t := &target{name: name, model: stmt.Schema.Name}
		keys, err := filled.Integers(plugin, stmt.Schema)
		if err != nil {
			return nil, fmt.Errorf("check: %T: %w", model, err)
		}
		for _, k := range keys {
			t.keys = append(t.keys, targetKey{column: k.Field.DBName, layout: k.Layout})
		}
		targets = append(targets, t)
		of, err := relationsOf(plugin, stmt.Schema)
		if err != nil {
			return nil, err
		}
		relations = append(relations, of...)
	}
	return c.check(ctx, targets, relations)
}

// Tables is like [Models] for tables without models. Each is named "table" or "schema.table", letter by letter; a part with a dot or a
// quote in it is quoted, with " or `. The key of a table is its primary key when that is an integer, or the integer called id when it has
// several columns or there is none. With the zero Layout it does not look for keys that the layout cannot have made yet.
func Tables(ctx context.Context, db *gorm.DB, layout idgen.Layout, tables ...string) ([]Finding, error) {
	c, err := newChecker(db)
	if err != nil {
		return nil, err
	}
	var targets []*target
	for _, text := range tables {
		name, err := parseTableName(text)
		if err != nil {
			return nil, err
		}
		targets = append(targets, &target{name: name, layout: layout})
	}
	return c.check(ctx, targets, nil)
}

// List returns the tables of a database, on PostgreSQL those of the current schema, as [Tables] takes them. Views, virtual tables,
// partitions and the table of node numbers are not among them. Where there are none, and the user may have no right to see them, the error wraps [ErrDatabase].
func List(ctx context.Context, db *gorm.DB) ([]string, error) {
	database, _, err := newDatabase(db)
	if err != nil {
		return nil, err
	}
	names, err := database.Tables(ctx)
	if err != nil {
		return nil, fmt.Errorf("check: listing the tables: %w", cmp.Or(ctx.Err(), err))
	}
	var texts []string
	for _, name := range names {
		if text := name.String(); text != grant.DefaultTable {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		if hidden, err := database.Hidden(ctx); err != nil || hidden != "" {
			return nil, cmp.Or(err, fmt.Errorf("%w: %s", ErrDatabase, hidden))
		}
	}
	return texts, nil
}

// relation says that a column of a model's table refers to one of another's.
type relation struct {
	child, parent place // in names that models have
	filled        bool  // the parent is a key that the plugin fills
}

// relationsOf returns what the relations of a model say, declared in the database or not.
func relationsOf(plugin *gormplugin.Plugin, s *schema.Schema) (found []*relation, err error) {
	s.Relationships.Mux.RLock()
	relationships := slices.Concat(s.Relationships.BelongsTo, s.Relationships.HasOne, s.Relationships.HasMany, s.Relationships.Many2Many)
	s.Relationships.Mux.RUnlock()
	for _, relationship := range relationships {
		for _, ref := range relationship.References {
			if ref.PrimaryKey == nil || ref.ForeignKey == nil { // the type of a polymorphic one
				continue
			}
			keys, err := filled.Integers(plugin, ref.PrimaryKey.Schema)
			if err != nil {
				return nil, err
			}
			r := &relation{
				child: place{column: ref.ForeignKey.DBName}, parent: place{column: ref.PrimaryKey.DBName},
				filled: slices.ContainsFunc(keys, func(k filled.Key) bool { return k.Field == ref.PrimaryKey }),
			}
			if r.child.table, err = parseTableName(ref.ForeignKey.Schema.Table); err != nil {
				return nil, err
			}
			if r.parent.table, err = parseTableName(ref.PrimaryKey.Schema.Table); err != nil {
				return nil, err
			}
			found = append(found, r)
		}
	}
	return found, nil
}
