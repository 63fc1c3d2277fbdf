package gormplugin

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// What is known of a number that a database, or the driver, has refused as out of range: on MySQL the column, on PostgreSQL the number. And of a key that MariaDB
// has refused as no UUID.
var (
	mariadbUUID   = regexp.MustCompile("for column (?:`[^`]*`\\.)*`([^`]+)` at row \\d+$")
	mysqlRange    = regexp.MustCompile("Out of range value for column ['`](?:[^']*\\.`)?([^'`]+)['`]")
	postgresRange = regexp.MustCompile(`\b(\d+) is greater than maximum value for int[24]|value "(\d+)" is out of range for type (?:integer|smallint)`)
)

// explainColumn is for a statement whose INSERT has failed: should the reason be a column that does not hold keys, the error becomes an [ErrColumn] that says
// which column it is and what mends it. It wraps the database's error.
func (p *Plugin) explainColumn(db *gorm.DB) {
	stmt := db.Statement
	if stmt.SQL.Len() == 0 { // the error is of what came before the INSERT
		return
	}
	if said := mariadbUUID.FindStringSubmatch(db.Error.Error()); said != nil && dialect.MySQL.Code(db.Error) == "1292" && isUUIDColumn(stmt.Schema, said[1]) {
		setError(stmt, fmt.Errorf("%w: %s.%s is a uuid of MariaDB, which does not keep some keys that are no UUIDs, such as a quarter of ULIDs; make it a BINARY(16), also by the tag "+
			"`type:binary(16)` of its field, or take keys of version 7: %w", ErrColumn, stmt.Table, said[1], db.Error))
		return
	}
	of := stmt.Schema
	var keys []*key
	if s := currentStatement(stmt); s != nil && s.plan != nil {
		of, keys = s.plan.schema, s.plan.keys // GORM's own schema, not the one of this INSERT
	}
	columns := overflown(stmt, of, db.Error)
	if len(columns) == 0 || slices.ContainsFunc(columns, func(column string) bool { return !p.holdsKeys(of, keys, column) }) {
		return
	}
	text := stmt.Table + "." + strings.Join(columns, " or "+stmt.Table+".")
	setError(stmt, fmt.Errorf("%w: %s holds no keys of 64 bits; change its type, with a statement such as %s; package migrate/check and snowkey check find all such columns, "+
		"with the statements that keep what else the columns are: %w", ErrColumn, text, widening(stmt, columns), db.Error))
}

// setError replaces the error of a statement.
func setError(stmt *gorm.Statement, err error) {
	stmt.DB.Error = err
	if stmt.Result != nil {
		stmt.Result.Error = err
	}
}

func isUUIDColumn(s *schema.Schema, column string) bool {
	return s != nil && s.FieldsByDBName[column] != nil && isUUID(s.FieldsByDBName[column].IndirectFieldType)
}

// overflown returns the columns that the number may be of which an error says that it is out of range: several when a row has it in several.
func overflown(stmt *gorm.Statement, of *schema.Schema, err error) (columns []string) {
	d, _ := dialect.Lookup(stmt.Dialector.Name())
	is := func(string, int64) bool { return false }
	switch d {
	case dialect.MySQL:
		said := mysqlRange.FindStringSubmatch(err.Error())
		if said == nil || d.Code(err) != "1264" {
			return nil
		}
		is = func(column string, number int64) bool {
			return strings.EqualFold(column, said[1]) && number > math.MaxInt8
		}
	case dialect.Postgres:
		said := postgresRange.FindStringSubmatch(err.Error())
		switch {
		case said != nil:
			refused, _ := strconv.ParseInt(said[1]+said[2], 10, 64)
			is = func(_ string, number int64) bool { return number == refused && number > 0 }
		case d.Code(err) == "22003" && strings.Contains(err.Error(), "integer out of range"):
			is = func(_ string, number int64) bool { return number > math.MaxInt32 }
		}
	}
	rows, _ := readRows(nil, stmt.Dest, stmt.ReflectValue)
	for i := range rows {
		for column, value := range rows[i].values(stmt.Context, of) {
			if number, ok := integer(value); ok && is(column, number) && !slices.Contains(columns, column) {
				columns = append(columns, column)
			}
		}
	}
	slices.Sort(columns)
	return columns
}

// values yields the columns of a row with their values.
func (r *row) values(ctx context.Context, s *schema.Schema) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if columns := r.columns(); columns != nil {
			for name, value := range columns {
				if s != nil && s.LookUpField(name) != nil {
					name = s.LookUpField(name).DBName
				}
				if !yield(name, value) {
					return
				}
			}
			return
		}
		for _, name := range s.DBNames {
			if value, _ := s.FieldsByDBName[name].ValueOf(ctx, r.value); !yield(name, value) {
				return
			}
		}
	}
}

// integer returns a value that is an integer, whatever its type, if it fits.
func integer(v any) (int64, bool) {
	if valuer, ok := v.(driver.Valuer); ok {
		if of := reflect.ValueOf(v); of.Kind() != reflect.Pointer || !of.IsNil() {
			v, _ = valuer.Value()
		}
	}
	switch value := reflect.ValueOf(indirect(v)); {
	case value.CanInt():
		return value.Int(), true
	case value.CanUint():
		return int64(value.Uint()), value.Uint() <= math.MaxInt64
	}
	return 0, false
}

// holdsKeys reports whether a column has keys that the plugin makes, or refers to some row's.
func (p *Plugin) holdsKeys(s *schema.Schema, keys []*key, column string) bool {
	if slices.ContainsFunc(keys, func(k *key) bool { return k.column == column && k.isInteger() }) {
		return true
	}
	if s == nil || s.FieldsByDBName[column] == nil {
		return false
	}
	field := s.FieldsByDBName[column]
	if field.IndirectFieldType.PkgPath() == idType.PkgPath() || refers(s, field) {
		return true
	}
	refersTo := false // by a relation that only the other model has
	p.plans.Range(func(other, _ any) bool {
		refersTo = refers(other.(*schema.Schema), field)
		return !refersTo
	})
	return refersTo
}

// refers reports whether a field is a foreign key of a relation of a schema.
func refers(s *schema.Schema, field *schema.Field) bool {
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	for _, rel := range s.Relationships.Relations {
		if slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool { return ref.ForeignKey == field }) {
			return true
		}
	}
	return false
}

// widening is a statement that makes columns hold keys.
func widening(stmt *gorm.Statement, columns []string) string {
	changes := make([]string, len(columns))
	for i, column := range columns {
		changes[i] = stmt.Quote(clause.Column{Name: column})
		if stmt.Dialector.Name() == "postgres" {
			changes[i] = "ALTER COLUMN " + changes[i] + " TYPE bigint"
			continue
		}
		changes[i] = "MODIFY " + changes[i] + " BIGINT"
		if s := stmt.Schema; s == nil || s.FieldsByDBName[column].PrimaryKey || s.FieldsByDBName[column].NotNull {
			changes[i] += " NOT NULL"
		}
	}
	return "ALTER TABLE " + stmt.Quote(clause.Table{Name: stmt.Table}) + " " + strings.Join(changes, ", ")
}
