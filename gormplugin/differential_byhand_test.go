package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// byHand is the model of what is right: GORM alone, on plain columns, with keys that are set by hand before each INSERT, and looked for in the
// table after it, row by row and by nothing but SELECT. What it does, and where that is not what GORM alone would do with a key that is set:
//
//   - fill: a row without a key gets the next one. One pointer that is several times in a statement is one row, one embedded struct an error. A list of columns gets the key,
//     one that is omitted is left to the database. What cannot be written to is an error.
//   - settle: a row that another row has kept out, or that was written over it, has the key of that row; or of DoNothing none, but an
//     association's. Then the other field of the primary key is of that row too. Of DoNothing the rows
//     affected are those that were inserted: GORM counts, with RETURNING, all that the statement has.
//   - takeBack: once a statement has failed, a made key stays where its row is. In a transaction of the caller's that is a row whose INSERT went
//     well, as nobody knows of a rollback that is to come. Another one is what it was.
type byHand struct {
	family family
	made   int64
	depth  int // of statements
	rows   []*handRow
	counts map[*gorm.Statement]int64
}

// handRow is a row that was given a key.
type handRow struct {
	base     reflect.Value // where the key is embedded by a pointer that was nil
	stmt     *gorm.Statement
	value    reflect.Value  // a struct
	columns  map[string]any // or a map
	was      any            // in place of the key
	had      bool           // of a map: the column
	key      any
	preset   bool // the key was there
	inserted bool // its INSERT went well
	met      bool // the key is another row's
}

func (*byHand) Name() string { return "by hand" }

func (h *byHand) Initialize(db *gorm.DB) error {
	create, update := db.Callback().Create(), db.Callback().Update()
	enter, leave := func(*gorm.DB) { h.depth++ }, h.leave
	return errors.Join(
		create.Before("*").Register("hand:enter", enter),
		create.Before("gorm:create").Register("hand:fill", h.fill),
		create.After("gorm:create").Before("gorm:save_after_associations").Register("hand:settle", h.settle),
		create.After("*").Register("hand:leave", leave),
		update.Before("*").Register("hand:enter", enter),
		update.After("*").Register("hand:leave", leave),
	)
}

// begin forgets what was made.
func (h *byHand) begin() { h.depth, h.rows, h.counts = 0, nil, map[*gorm.Statement]int64{} }

// primary returns the field of the key, nil when there is no model or the key is not filled.
func (h *byHand) primary(s *schema.Schema) *schema.Field {
	if s == nil || s.PrioritizedPrimaryField == nil || s.PrioritizedPrimaryField.Name != "ID" {
		return nil
	}
	return s.PrioritizedPrimaryField
}

func (h *byHand) fill(db *gorm.DB) {
	stmt := db.Statement
	field := h.primary(stmt.Schema)
	if db.Error != nil || stmt.Schema != nil && field == nil {
		return
	}
	if isNothing(stmt) {
		h.counts[stmt] = h.count(db)
	}
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	if is, named := columns["id"]; named && !is {
		return
	} else if !named && restricted {
		stmt.Selects = append(slices.Clone(stmt.Selects), "id")
	}
	if maps := mapsOf(stmt.Dest); maps != nil {
		for _, m := range maps {
			h.fillMap(db, m)
		}
		return
	}
	switch value := stmt.ReflectValue; value.Kind() {
	case reflect.Struct:
		h.fillStruct(db, field, value)
	case reflect.Slice, reflect.Array:
		distinct := reflect.New(reflect.SliceOf(value.Type().Elem())).Elem()
		seen := map[any]bool{}
		for i := range value.Len() {
			element := value.Index(i)
			for element.Kind() == reflect.Pointer {
				element = element.Elem()
			}
			if element.IsValid() && element.CanAddr() && seen[element.Addr().Interface()] {
				continue
			}
			if element.IsValid() && h.fillStruct(db, field, element) {
				seen[element.Addr().Interface()] = true
			}
			distinct.Set(reflect.Append(distinct, value.Index(i)))
		}
		if distinct.Len() < value.Len() {
			stmt.ReflectValue = distinct
		}
	}
}

// fillStruct reports whether it made a key.
func (h *byHand) fillStruct(db *gorm.DB, field *schema.Field, value reflect.Value) bool {
	was, _ := field.ValueOf(db.Statement.Context, value)
	preset := !isZeroKey(was)
	if !value.CanAddr() {
		if !preset {
			_ = db.AddError(gorm.ErrInvalidValue)
		}
		return false
	}
	row := &handRow{stmt: db.Statement, value: value, was: was, key: was, preset: preset}
	if base := value.FieldByName("Base"); base.Kind() == reflect.Pointer && base.IsNil() {
		row.base = base
	} else if preset && base.Kind() == reflect.Pointer && slices.ContainsFunc(h.rows, func(r *handRow) bool {
		return r.stmt == db.Statement && !r.preset && !r.inserted && r.value.FieldByName("Base").Pointer() == base.Pointer()
	}) {
		_ = db.AddError(gorm.ErrInvalidData)
		return false
	}
	if h.rows = append(h.rows, row); !preset {
		row.key = h.next()
		h.set(row, row.key)
	}
	return !preset
}

func (h *byHand) fillMap(db *gorm.DB, m map[string]any) {
	if m == nil {
		_ = db.AddError(gorm.ErrInvalidData)
		return
	}
	name := keyName(m)
	was, had := m[name]
	row := &handRow{stmt: db.Statement, columns: m, was: was, had: had, key: was, preset: !isZeroKey(was)}
	if h.rows = append(h.rows, row); !row.preset {
		row.key = h.next()
		m[name] = row.key
	}
}

// next makes a key: a number, or a text.
func (h *byHand) next() any {
	h.made++
	if h.family.setting != "" {
		return fmt.Sprintf("0%018d", h.made)
	}
	return firstMade + h.made
}

func (h *byHand) settle(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil {
		return
	}
	before, nothing := h.counts[stmt] // the clause itself is another one by now on MySQL
	delete(h.counts, stmt)
	for _, m := range mapsOf(stmt.Dest) {
		delete(m, "@id") // GORM's guess of a key
	}
	if columns, _ := stmt.SelectAndOmitColumns(true, false); h.primary(stmt.Schema) != nil && stmt.ReflectValue.Kind() == reflect.Struct {
		if is, named := columns["id"]; named && !is {
			h.readOmitted(db)
		}
	}
	_, upsert := stmt.Clauses["ON CONFLICT"]
	for _, row := range h.rows {
		if row.stmt != stmt || row.inserted {
			continue
		}
		if row.inserted = true; !upsert && !nothing {
			continue
		}
		if row.preset && !nothing && stmt.Dialector.Name() != "mysql" && h.become(db, row) {
			continue // which is looked for first
		}
		if h.exists(db, row) {
			continue
		}
		if row.inserted = false; nothing && (h.depth < 2 || row.preset) {
			h.restore(row)
		} else if row.met = true; !h.become(db, row) {
			h.restore(row)
		}
	}
	if nothing {
		db.RowsAffected = h.count(db) - before
	}
}

// isNothing reports whether a row that exists stays as it is.
func isNothing(stmt *gorm.Statement) bool {
	insert, _ := stmt.Clauses["INSERT"].Expression.(clause.Insert)
	c, is := stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	return insert.Modifier != "" || is && c.DoNothing
}

// uniques are the columns of the unique indexes.
var uniques = map[string][][]string{
	"employees": {{"code"}, {"site", "seat"}}, "topics": {{"code"}}, "cards": {{"code"}}, "letters": {{"code"}}, "pictures": {{"code"}}, "memberships": {{"employee_id", "topic_id"}},
}

// met returns the condition that finds the row that a row has met, by its unique columns; "" for none.
func (h *byHand) met(db *gorm.DB, row *handRow) (where string, values []any) {
	stmt := db.Statement
	c, _ := stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	inserted, restricted := stmt.SelectAndOmitColumns(true, false)
	for _, columns := range uniques[stmt.Table[strings.Index(stmt.Table, "_")+1:]] {
		if len(c.Columns) > 0 && stmt.Dialector.Name() != "mysql" && c.Columns[0].Name != columns[0] {
			continue
		}
		if is, named := inserted[columns[0]]; named && !is || !named && restricted {
			continue // it is NULL
		}
		where, values = strings.Join(columns, " = ? AND ")+" = ?", nil
		for _, column := range columns {
			value := row.columns[column]
			if row.columns == nil {
				value, _ = stmt.Schema.LookUpField(column).ValueOf(stmt.Context, row.value)
			}
			values = append(values, value)
		}
		if h.read(db, stmt.Table, "id", where, values...) != nil {
			return where, values
		}
	}
	return "", nil
}

// become gives a row the key of the row that it has met, and reports whether there is one.
func (h *byHand) become(db *gorm.DB, row *handRow) bool {
	where, values := h.met(db, row)
	if where == "" {
		return false
	}
	row.inserted, row.key = true, h.read(db, row.stmt.Table, "id", where, values...)
	if h.set(row, row.key); row.columns == nil && h.family.composite {
		_ = row.stmt.Schema.LookUpField("tenant").Set(row.stmt.Context, row.value, h.read(db, row.stmt.Table, "tenant", where, values...))
	}
	return true
}

func (h *byHand) exists(db *gorm.DB, row *handRow) bool {
	where, values := "id = ?", []any{row.key}
	if row.preset && row.columns == nil && h.family.composite {
		tenant, _ := row.stmt.Schema.LookUpField("tenant").ValueOf(row.stmt.Context, row.value)
		where, values = "id = ? AND tenant = ?", append(values, tenant)
	}
	return h.read(db, row.stmt.Table, "id", where, values...) != nil
}

// readOmitted reads the key that the database has made.
func (h *byHand) readOmitted(db *gorm.DB) {
	stmt := db.Statement
	note, _ := stmt.Schema.LookUpField("note").ValueOf(stmt.Context, stmt.ReflectValue)
	_ = stmt.Schema.PrioritizedPrimaryField.Set(stmt.Context, stmt.ReflectValue, h.read(db, stmt.Table, "id", "note = ?", note))
}

// read reads a column of a row on the statement's own connection, nil when there is no row.
func (h *byHand) read(db *gorm.DB, table, column, where string, values ...any) any {
	dry := db.Session(&gorm.Session{NewDB: true, DryRun: true})
	dry.Error = nil // of the statement
	query := dry.Table(table).Select(column).Where(where, values...).Find(&[]map[string]any{}).Statement
	rows, err := db.Statement.ConnPool.QueryContext(context.WithoutCancel(db.Statement.Context), query.SQL.String(), query.Vars...)
	if err != nil {
		return nil
	}
	defer func() { _ = rows.Close() }()
	var found any
	if rows.Next() {
		_ = rows.Scan(&found)
	}
	if b, ok := found.([]byte); ok {
		return string(b)
	}
	return found
}

func (h *byHand) count(db *gorm.DB) int64 {
	n, _ := h.read(db, db.Statement.Table, "count(*)", "1 = 1").(int64)
	return n
}

// leave ends a statement, and with the one around all others what was made.
func (h *byHand) leave(db *gorm.DB) {
	if h.depth--; h.depth > 0 {
		return
	}
	if db.Error != nil {
		h.takeBack(db)
	}
	h.begin()
}

// takeBack takes keys back when a statement has failed, and its own transaction is over.
func (h *byHand) takeBack(db *gorm.DB) {
	_, within := db.Statement.ConnPool.(gorm.TxCommitter)
	for _, row := range h.rows {
		if !row.preset && !(within && row.inserted) && !(!within && (db.SkipDefaultTransaction || !row.met) && h.exists(db, row)) {
			h.restore(row)
		}
	}
}

func (h *byHand) restore(row *handRow) {
	if row.columns == nil {
		h.set(row, row.was)
		if row.base.IsValid() && row.base.Elem().IsZero() {
			row.base.SetZero()
		}
	} else if name := keyName(row.columns); row.had {
		row.columns[name] = row.was
	} else {
		delete(row.columns, name)
	}
}

func (h *byHand) set(row *handRow, key any) {
	if row.columns != nil {
		row.columns[keyName(row.columns)] = key
		return
	}
	field := row.stmt.Schema.PrioritizedPrimaryField
	if field.FieldType.Kind() == reflect.Pointer {
		v := reflect.ValueOf(key)
		if v.Kind() != reflect.Pointer { // a new one, or what was zero is another number
			v = reflect.New(field.IndirectFieldType)
			v.Elem().Set(reflect.ValueOf(key).Convert(field.IndirectFieldType))
		}
		field.ReflectValueOf(row.stmt.Context, row.value).Set(v)
		return
	}
	_ = field.Set(row.stmt.Context, row.value, key)
}

// keyName is the name of the key in a map.
func keyName(m map[string]any) string {
	if _, ok := m["ID"]; ok {
		return "ID"
	}
	return "id"
}

func isZeroKey(key any) bool {
	v := reflect.ValueOf(key)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return !v.IsValid() || v.IsZero()
}

func mapsOf(dest any) []map[string]any {
	switch dest := dest.(type) {
	case map[string]any:
		return []map[string]any{dest}
	case *map[string]any:
		return []map[string]any{*dest}
	case []map[string]any:
		return dest
	case *[]map[string]any:
		return *dest
	}
	return nil
}
