package shard

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// model is a sharded schema.
type model struct {
	schema *schema.Schema
	key    *schema.Field // the ids
	by     *schema.Field // the sharding column
	exact  bool          // which the database takes for the same as others
	kind   kind          // of the sharding column
	inside bool          // the ids are integers in the struct itself, or in one that is embedded by value

	keyColumn, byColumn any // a clause.Column in the statement's table each, which every scope writes: as any it would be an allocation each time

	tables atomic.Pointer[tables]
}

// newModel works out what the statements of a schema ask for.
func newModel(s *schema.Schema, key, by *schema.Field, exact bool) *model {
	return &model{
		schema: s, key: key, by: by, exact: exact, kind: kindOf(by.IndirectFieldType), inside: isInside(key),
		keyColumn: columnOf(key), byColumn: columnOf(by),
	}
}

// columnOf returns the column of a field in the statement's table.
func columnOf(field *schema.Field) clause.Column {
	return clause.Column{Table: clause.CurrentTable, Name: field.DBName}
}

// id returns the id of a row, a struct. The error wraps idshard.ErrID.
func (m *model) id(ctx context.Context, row reflect.Value) (int64, error) {
	v := m.key.ReflectValueOf(ctx, row)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint()), nil
	}
	return 0, fmt.Errorf("%w: %s.%s is %v", idshard.ErrID, m.schema.Name, m.key.Name, v)
}

// isInside tells whether a field is a signed integer that is read without a look at a pointer on the way to it, which GORM notes as an index below 0.
func isInside(field *schema.Field) bool {
	return field.Serializer == nil && reflect.Zero(field.FieldType).CanInt() && !slices.ContainsFunc(field.StructField.Index, func(i int) bool { return i < 0 })
}

// routed is what is known of a schema: a model, none, or why it cannot be one.
type routed struct {
	*model
	err error
}

// model returns nil for a schema that is not sharded. The error wraps ErrModel.
func (r *Router) model(s *schema.Schema) (*model, error) {
	if s == nil {
		return nil, nil
	}
	if known, ok := r.models.Load(s); ok {
		return known.(*routed).model, known.(*routed).err
	}
	var made routed
	switch key, by, err := r.plugin.Sharding(s); {
	case err != nil:
		made.err = fmt.Errorf("%w: %s: %w", ErrModel, s.Name, err)
	case key != nil && key.IndirectFieldType.Kind() == reflect.String:
		made.err = fmt.Errorf("%w: %s: its key %s is a text, and tables are told from each other by numbers", ErrModel, s.Name, key.Name)
	case key != nil:
		made.model = newModel(s, key, by, wantsExact(r.own, by))
	}
	known, _ := r.models.LoadOrStore(s, &made)
	return known.(*routed).model, known.(*routed).err
}

// part is one of the tables that a statement is for.
type part struct {
	index int // of the shard in the map
	shard idshard.Shard
	table string
	pool  gorm.ConnPool // nil: the statement's own. Else the pool of another database.
}

// part returns the table of a shard for a statement. The error wraps ErrDatabase, ErrTransaction when the statement is in a transaction of another database,
// or ErrMoved when its transaction began with another version of the map.
//
// Rows of a bucket that has moved are in two tables until they are removed from the one they were in. Who reads several tables has to leave out of each the
// rows whose ids the map has elsewhere.
func (r *Router) part(stmt *gorm.Statement, m *model, in *idshard.Map, index int) (part, error) {
	p := m.table(stmt, in, index).part
	if err := r.sameMap(stmt, in); err != nil {
		return part{}, err
	}
	at := r.databaseOf(stmt)
	if at == p.shard.Database {
		return p, nil
	}
	pool, err := r.pool(p.shard.Database)
	if err != nil {
		return part{}, err
	}
	if inTransaction(stmt) {
		return part{}, moreRecent(stmt, in, fmt.Errorf("%w: the table %s is in the database %q, the transaction is one of %q", ErrTransaction, p.table, p.shard.Database, at))
	}
	p.pool = pool
	return p, nil
}

// direct is the key, among a statement's settings, of one that is for a single table already, as direct has made it. The settings are copied to the
// statements of a Preload, which the key is not of.
type direct struct{ of *gorm.Statement }

// direct has a statement, which is the session's own, go to the table, under the name of the model's, so that what is written by hand means it.
func (p part) direct(tx *gorm.DB, m *model) {
	stmt := tx.Statement
	stmt.Table = m.schema.Table
	if _, name, ok := strings.Cut(m.schema.Table, "."); ok {
		stmt.Table = name
	}
	stmt.TableExpr = &clause.Expr{SQL: stmt.Quote(p.table) + " AS " + stmt.Quote(stmt.Table)}
	if p.pool != nil {
		stmt.ConnPool = p.pool
	}
	stmt.Settings.Store(direct{stmt}, true)
}

// isDirect tells whether direct has been called for a statement.
func isDirect(stmt *gorm.Statement) bool {
	_, is := stmt.Settings.Load(direct{stmt})
	return is
}

// pool returns the pool of a database, which keeps prepared statements when its *gorm.DB does. The error wraps ErrDatabase.
func (r *Router) pool(name string) (gorm.ConnPool, error) {
	if name == "" {
		return r.own.ConnPool, nil
	}
	if other := r.config.Databases[name]; other != nil {
		return other.ConnPool, nil
	}
	return nil, fmt.Errorf("%w: the map names the database %q, which is not in Databases", ErrDatabase, name)
}

// databaseOf returns the name of the database that a statement is for, "" for one that the router does not know.
func (r *Router) databaseOf(stmt *gorm.Statement) string {
	if len(r.pools) < 2 {
		return ""
	}
	if pool, ok := stmt.ConnPool.(*sql.DB); ok {
		return r.pools[pool]
	}
	if pool, err := stmt.DB.DB(); err == nil { // GORM knows of which pool a transaction is
		return r.pools[pool]
	}
	if of, ok := stmt.DB.ConnPool.(*sql.DB); ok {
		return r.pools[of]
	}
	return ""
}

// inTransaction tells whether a statement is in a transaction of the caller's: not in one that GORM has begun for this statement alone.
func inTransaction(stmt *gorm.Statement) bool {
	if _, ok := stmt.ConnPool.(gorm.TxCommitter); !ok {
		return false
	}
	_, gorms := stmt.DB.InstanceGet("gorm:started_transaction")
	return !gorms
}

// placedBy is the key, among a statement's settings, of the version of the map by which the database of its transaction was chosen.
const placedBy = "snowkey:shard:placed"

// moreRecent returns an ErrMoved in the place of the error of a transaction in the wrong database, when that was the right one by the map from before.
func moreRecent(stmt *gorm.Statement, in *idshard.Map, err error) error {
	if version, has := stmt.Settings.Load(placedBy); has && version != in.Version() {
		return fmt.Errorf("%w: the transaction was begun by version %d of the map, and %d is in force: %w", ErrMoved, version, in.Version(), err)
	}
	return err
}

// sessionOn returns a session of GORM's settings on another pool, with its callbacks and nothing of a statement.
func sessionOn(db *gorm.DB, pool gorm.ConnPool) *gorm.DB {
	tx := db.Session(&gorm.Session{NewDB: true, Context: db.Statement.Context})
	tx.Statement.ConnPool, tx.ConnPool = pool, pool
	return tx
}
