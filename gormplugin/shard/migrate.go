package shard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// AutoMigrate does GORM's for each table of sharded models, in each database; and for other models once, in the router's own. The error names the
// table.
//
//   - The key of a sharded table is a plain column, no auto-increment.
//   - An index that a tag gives a name has the shard's suffix after it, idx_item_07, since the names of a PostgreSQL schema and of an SQLite
//     database are of one table each. So has a check on MySQL, whose database has one of each name.
//   - No foreign key leads from a sharded table or to one. A database cannot check it over several tables, and reshard could not move rows under it.
//   - The models that a sharded one, or one with a relation to a sharded one, refers to are not migrated with it, as GORM does; name them too, those
//     that are referred to first.
func (r *Router) AutoMigrate(db *gorm.DB, models ...any) error {
	if r.own == nil {
		return fmt.Errorf("%w: the router has no database; call db.Use", ErrConfig)
	}
	m, err := r.current(db.Statement.Context)
	if err != nil {
		return err
	}
	for _, value := range models {
		stmt := &gorm.Statement{DB: db}
		if err := stmt.Parse(value); err != nil {
			return fmt.Errorf("shard: migrate %T: %w", value, err)
		}
		sharded, err := r.model(stmt.Schema)
		if err != nil {
			return err
		}
		if sharded == nil {
			if err := r.migrateWhole(db, value, stmt.Schema); err != nil {
				return fmt.Errorf("shard: migrate %s: %w", stmt.Schema.Table, err)
			}
			continue
		}
		begun := &gorm.Statement{DB: db, ConnPool: db.Statement.ConnPool}
		for index := range m.Shards() {
			p, err := r.part(begun, sharded, m, index)
			if err == nil {
				err = r.migratePart(db, value, sharded, p)
			}
			if err != nil {
				return fmt.Errorf("shard: migrate %s of the shard %q: %w", m.Shard(index).Table(stmt.Schema.Table), m.Shard(index).Name, err)
			}
		}
	}
	return nil
}

// migratePart migrates one table of a sharded model.
func (r *Router) migratePart(db *gorm.DB, value any, m *model, p part) error {
	tx := db.Session(&gorm.Session{Context: db.Statement.Context})
	tx.DisableForeignKeyConstraintWhenMigrating, tx.IgnoreRelationshipsWhenMigrating = true, true
	if p.pool != nil {
		tx.Statement.ConnPool, tx.ConnPool = p.pool, p.pool
	}
	tx.Statement.Table, tx.Statement.TableExpr = p.table, &clause.Expr{SQL: tx.Statement.Quote(p.table)}
	if err := r.ownNames(tx, value, m, p); err != nil {
		return err
	}
	return tx.AutoMigrate(value)
}

// ownNames gives the indexes or checks of one table names of its own, and its key no auto-increment, in GORM's schema for it: GORM has one for each name
// of a table that is given, which nothing but a migration reads, and makes the names that no tag gives from it.
func (r *Router) ownNames(tx *gorm.DB, value any, m *model, p part) error {
	r.migrating.Lock()
	defer r.migrating.Unlock()
	stmt := &gorm.Statement{DB: tx}
	if err := stmt.ParseWithSpecialTableName(value, tx.Statement.Table); err != nil {
		return err
	}
	s := stmt.Schema
	if r.migrated[s] {
		return nil
	}
	for _, f := range s.Fields {
		if tx.Name() != dialect.MySQL.String() {
			f.Tag = suffixIndexes(f.Tag, p.shard.Suffix)
		} else if check, ok := f.TagSettings["CHECK"]; ok {
			f.TagSettings["CHECK"] = suffixCheck(check, p.shard.Suffix)
		}
		if f.DBName == m.key.DBName {
			f.AutoIncrement, f.HasDefaultValue = false, false
		}
	}
	r.migrated[s] = true
	return nil
}

// migrateWhole migrates a model that is not sharded, in the router's own database.
func (r *Router) migrateWhole(db *gorm.DB, value any, s *schema.Schema) error {
	tx := db.Session(&gorm.Session{Context: db.Statement.Context})
	if at := r.databaseOf(tx.Statement); at != "" {
		if inTransaction(tx.Statement) {
			return fmt.Errorf("%w: it is for the router's own, the transaction is one of %q", ErrTransaction, at)
		}
		tx.Statement.ConnPool, tx.ConnPool = r.own.ConnPool, r.own.ConnPool
	}
	refers, err := r.refersToSharded(s, map[*schema.Schema]bool{})
	if err != nil {
		return err
	}
	if !refers {
		return tx.AutoMigrate(value)
	}
	constraints := !tx.DisableForeignKeyConstraintWhenMigrating && !tx.IgnoreRelationshipsWhenMigrating
	tx.DisableForeignKeyConstraintWhenMigrating, tx.IgnoreRelationshipsWhenMigrating = true, true
	if err := tx.AutoMigrate(value); err != nil || !constraints {
		return err
	}
	for _, relation := range s.Relationships.Relations {
		c := relation.ParseConstraint()
		if c == nil || c.Schema != s || relation.Field.IgnoreMigration {
			continue
		}
		if to, err := r.model(c.ReferenceSchema); err != nil || to != nil {
			if err != nil {
				return err
			}
			continue
		}
		if !tx.Migrator().HasConstraint(value, c.Name) {
			if err := tx.Migrator().CreateConstraint(value, c.Name); err != nil {
				return fmt.Errorf("the foreign key %s: %w", c.Name, err)
			}
		}
	}
	return nil
}

// refersToSharded tells whether GORM would come upon a sharded model on its way from one that is not, and make a table for it.
func (r *Router) refersToSharded(s *schema.Schema, seen map[*schema.Schema]bool) (bool, error) {
	if s == nil || seen[s] {
		return false, nil
	}
	seen[s] = true
	if sharded, err := r.model(s); sharded != nil || err != nil {
		return sharded != nil, err
	}
	for _, relation := range s.Relationships.Relations {
		for _, next := range []*schema.Schema{relation.Schema, relation.FieldSchema, relation.JoinTable} {
			if refers, err := r.refersToSharded(next, seen); refers || err != nil {
				return refers, err
			}
		}
	}
	return false, nil
}

// suffixIndexes returns a field's tag in which the indexes with a name have a suffix after it. GORM reads indexes from the tag itself, and cuts it at
// each semicolon.
func suffixIndexes(tag reflect.StructTag, suffix string) reflect.StructTag {
	settings, ok := tag.Lookup("gorm")
	if !ok {
		return tag
	}
	parts := strings.Split(settings, ";")
	for i, part := range parts {
		kind, rest, named := strings.Cut(part, ":")
		if k := strings.ToUpper(strings.TrimSpace(kind)); !named || k != "INDEX" && k != "UNIQUEINDEX" {
			continue
		}
		name, options, more := strings.Cut(rest, ",")
		if name == "" {
			continue
		}
		parts[i] = kind + ":" + suffixed(name, suffix)
		if more {
			parts[i] += "," + options
		}
	}
	return reflect.StructTag("gorm:" + strconv.Quote(strings.Join(parts, ";")))
}

var checkName = regexp.MustCompile(`^[\w-]+$`)

// suffixCheck returns the setting of a check whose name, when it has one, has a suffix after it.
func suffixCheck(setting, suffix string) string {
	name, condition, ok := strings.Cut(setting, ",")
	if !ok || !checkName.MatchString(name) {
		return setting
	}
	return suffixed(name, suffix) + "," + condition
}

// longestName is how many bytes a name may have on all databases; PostgreSQL cuts longer ones without an error.
const longestName = 63

// suffixed returns a name with a suffix. One that gets too long has a digest in it, so that it is another one of each table still.
func suffixed(name, suffix string) string {
	whole := name + suffix
	if len(whole) <= longestName {
		return whole
	}
	digest := sha256.Sum256([]byte(whole))
	return strings.ToValidUTF8(whole[:longestName-8], "") + hex.EncodeToString(digest[:4])
}
