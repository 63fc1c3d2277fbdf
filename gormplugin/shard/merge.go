package shard

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
)

// merge is what becomes of the rows of several tables.
type merge struct {
	*spanning
	to    reflect.Value // the destination
	rows  reflect.Value // a slice of what was read, of the type of the destination or its element
	known func(row reflect.Value) (int64, bool)
	now   reflect.Value // pointer to the destination of the table that is read
	total int64
}

// begin finds out how the destination takes rows.
func (s *spanning) begin(stmt *gorm.Statement) (*merge, error) {
	m := &merge{spanning: s, to: stmt.ReflectValue}
	if s.count {
		return m, nil
	}
	var element reflect.Type
	switch kind := m.to.Kind(); kind {
	case reflect.Slice:
		if !m.to.CanSet() {
			return nil, s.errSpan("a slice that is no pointer")
		}
		element = m.to.Type().Elem()
		m.rows = reflect.MakeSlice(m.to.Type(), 0, 16)
	case reflect.Struct, reflect.Map:
		if !m.to.CanSet() && kind == reflect.Struct {
			return nil, s.errSpan("a struct that is no pointer")
		}
		element = m.to.Type()
		m.rows = reflect.MakeSlice(reflect.SliceOf(element), 0, len(s.shards))
		if s.limit = 1; s.offset > 0 {
			return nil, s.errSpan("one row after an Offset")
		}
	default:
		return nil, s.errSpan(fmt.Sprintf("the destination %T", stmt.Dest))
	}
	m.known = s.idIn(stmt, element)
	if m.known == nil && s.order != 0 {
		return nil, s.errSpan("an order by the id, which is not selected,")
	}
	return m, nil
}

// idIn returns what finds the id in a row of a type, nil when it is not in it.
func (s *spanning) idIn(stmt *gorm.Statement, element reflect.Type) func(reflect.Value) (int64, bool) {
	of := s.demand.of
	selected := len(stmt.Selects) == 0 || slices.ContainsFunc(stmt.Selects, func(name string) bool { return name == "*" || of.schema.LookUpField(name) == of.key })
	omitted := false
	if len(stmt.Omits) > 0 {
		columns, _ := stmt.SelectAndOmitColumns(false, false)
		read, named := columns[of.key.DBName]
		omitted = named && !read
	}
	if s.column != nil {
		selected = s.column == of.key
	}
	if !selected || omitted {
		return nil
	}
	id := func(v any) (int64, bool) {
		id, err := of.idOf(stmt.Context, value(v))
		return id, err == nil
	}
	for element.Kind() == reflect.Pointer {
		element = element.Elem()
	}
	switch {
	case element == of.schema.ModelType:
		return func(row reflect.Value) (int64, bool) {
			v, _ := of.key.ValueOf(stmt.Context, reflect.Indirect(row))
			return id(v)
		}
	case element.Kind() == reflect.Map && element.Key().Kind() == reflect.String:
		return func(row reflect.Value) (int64, bool) {
			v := reflect.Indirect(row).MapIndex(reflect.ValueOf(of.key.DBName).Convert(element.Key()))
			if !v.IsValid() {
				return 0, false
			}
			return id(v.Interface())
		}
	case s.column != nil:
		return func(row reflect.Value) (int64, bool) { return id(row.Interface()) }
	case element.Kind() == reflect.Struct:
		other := &gorm.Statement{DB: stmt.DB}
		if err := other.Parse(reflect.New(element).Interface()); err != nil || other.Schema.LookUpField(of.key.DBName) == nil {
			return nil
		}
		field := other.Schema.LookUpField(of.key.DBName)
		return func(row reflect.Value) (int64, bool) {
			v, _ := field.ValueOf(stmt.Context, reflect.Indirect(row))
			return id(v)
		}
	}
	return nil
}

// into gives a statement for one table a destination of its own.
func (m *merge) into(stmt *gorm.Statement) {
	if m.count {
		m.now = reflect.New(reflect.TypeFor[int64]())
	} else {
		m.now = reflect.New(m.to.Type())
		switch m.to.Kind() {
		case reflect.Struct:
			m.now.Elem().Set(m.to) // what is not selected stays as it is
		case reflect.Map:
			m.now.Elem().Set(reflect.MakeMap(m.to.Type()))
		}
	}
	stmt.Dest, stmt.ReflectValue = m.now.Interface(), m.now.Elem()
}

// take takes what was read, and tells whether it is enough.
func (m *merge) take(tx *gorm.DB) (enough bool) {
	switch {
	case m.count:
		m.total += m.now.Elem().Int()
		return false
	case m.to.Kind() == reflect.Slice:
		m.rows = reflect.AppendSlice(m.rows, m.now.Elem())
	case tx.RowsAffected > 0:
		m.rows = reflect.Append(m.rows, m.now.Elem())
	}
	return m.order == 0 && m.limit >= 0 && m.rows.Len() >= m.limit+m.offset
}

// end gives the rows to the destination.
func (m *merge) end(db *gorm.DB) {
	if m.count {
		m.to.SetInt(m.total)
		db.RowsAffected = 1
		return
	}
	m.sort()
	first, last := min(m.offset, m.rows.Len()), m.rows.Len()
	if m.limit >= 0 {
		last = min(last, first+m.limit)
	}
	rows := m.rows.Slice3(first, last, last)
	db.RowsAffected = int64(rows.Len())
	switch {
	case m.to.Kind() == reflect.Slice && m.to.Type() == reflect.TypeFor[[]map[string]any]():
		m.to.Set(reflect.AppendSlice(m.to, rows)) // as GORM does with maps
	case m.to.Kind() == reflect.Slice:
		m.to.Set(rows)
	case rows.Len() > 0 && m.to.Kind() == reflect.Map:
		if m.to.IsNil() {
			m.to.Set(reflect.MakeMap(m.to.Type()))
		}
		for each := rows.Index(0).MapRange(); each.Next(); {
			m.to.SetMapIndex(each.Key(), each.Value())
		}
	case rows.Len() > 0:
		m.to.Set(rows.Index(0))
	}
	if rows.Len() == 0 && db.Statement.RaiseErrorOnNotFound {
		_ = db.AddError(gorm.ErrRecordNotFound)
	}
}

// sort orders the rows by the id, the least first unless the statement says otherwise. Without ids they are in the order of the tables.
func (m *merge) sort() {
	if m.known == nil {
		return
	}
	type row struct {
		id int64
		of reflect.Value
	}
	rows := make([]row, m.rows.Len())
	for i := range rows {
		id, ok := m.known(m.rows.Index(i))
		if !ok {
			return
		}
		rows[i] = row{id, m.rows.Index(i)}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		switch {
		case a.id == b.id:
			return 0
		case (a.id < b.id) == (m.order >= 0):
			return -1
		}
		return 1
	})
	sorted := reflect.MakeSlice(m.rows.Type(), 0, len(rows))
	for _, r := range rows {
		sorted = reflect.Append(sorted, r.of)
	}
	m.rows = sorted
}
