package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
)

// observation is what can be seen of one step.
type observation struct {
	what     string
	given    string // the values, before
	err      string // its class
	text     string // of the error
	affected string
	cells    []cell
}

// cell is a value, of a struct, a map or a table. A key's is compared with that of the other side by which row it is of.
type cell struct {
	path, value string
	key         bool
}

// firstMade is less than all keys that are made.
const firstMade = 1 << 40

// observe notes what a step has come to: an error, what it was given, and the tables.
func (s *side) observe(what string, err error, affected string, dest []any) {
	o := observation{what: what, affected: affected, err: classOf(err)}
	if err != nil {
		o.text = err.Error()
	}
	o.cells = cellsOf(dest)
	if !s.levels {
		o.cells = slices.DeleteFunc(o.cells, func(c cell) bool { return strings.HasSuffix(c.path, ".Level") || strings.HasSuffix(c.path, ".level") })
	}
	if errors.Is(err, errPanic) && len(dest) > 0 && !s.mayPanic {
		s.lost = true // with the connection that GORM leaves open
		s.trace = append(s.trace, o)
		return
	}
	reader := s.plain
	if s.within {
		reader = s.db
	}
	reader = reader.Session(&gorm.Session{NewDB: true, Context: context.Background()})
	for _, table := range tables {
		var rows []map[string]any
		if err := reader.Raw("SELECT * FROM " + s.prefix + table).Scan(&rows).Error; err != nil {
			o.cells = append(o.cells, cell{path: table, value: classOf(err)})
			break
		}
		o.cells = append(o.cells, tableCells(table, rows)...)
	}
	s.trace = append(s.trace, o)
}

// cellsOf are those of the values of a statement.
func cellsOf(values []any) []cell {
	w := &walker{seen: map[any]int{}}
	for i, v := range values {
		w.walk(fmt.Sprintf("value %d", i), reflect.ValueOf(v))
	}
	return w.cells
}

// brief is what is in cells that are not zero.
func brief(cells []cell) string {
	var text strings.Builder
	for _, c := range cells {
		if c.value != "" && c.value != "0" && c.value != "nil" && c.value != "false" && !strings.HasPrefix(c.value, "0 ") {
			fmt.Fprintf(&text, "\n\t\t%s = %s", c.path, c.value)
		}
	}
	return text.String()
}

// tableCells are those of a table, in an order that does not depend on the keys, as long as keys ascend.
func tableCells(table string, rows []map[string]any) []cell {
	type line struct {
		sort  string
		cells []cell
	}
	lines := make([]line, len(rows))
	for i, row := range rows {
		var values, keys []string
		for _, name := range slices.Sorted(maps.Keys(row)) {
			c := cell{name, text(row[name]), name == "id" || strings.HasSuffix(name, "_id")}
			if strings.HasSuffix(name, "_at") {
				c.value = fmt.Sprint(row[name] != nil)
			}
			lines[i].cells = append(lines[i].cells, c)
			if c.key {
				keys = append(keys, fmt.Sprintf("%20s", c.value))
			} else {
				values = append(values, c.value)
			}
		}
		lines[i].sort = strings.Join(append(values, keys...), "\x00")
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.sort, b.sort) })
	cells := []cell{{path: "rows of " + table, value: fmt.Sprint(len(rows))}}
	for i, line := range lines {
		for _, c := range line.cells {
			c.path = fmt.Sprintf("%s row %d %s", table, i, c.path)
			cells = append(cells, c)
		}
	}
	return cells
}

// text writes a value out, whichever the driver's type.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case []byte:
		return string(v)
	}
	if v := reflect.ValueOf(v); v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "nil"
		}
		return text(v.Elem().Interface())
	} else if v.CanInt() {
		return fmt.Sprint(v.Int())
	}
	return fmt.Sprint(v)
}

// walker writes out values with all that they point to. A struct that two of them point to, or that points to itself, is written once.
type walker struct {
	cells []cell
	seen  map[any]int
}

func (w *walker) add(path, value string, key bool) { w.cells = append(w.cells, cell{path, value, key}) }

func (w *walker) walk(path string, v reflect.Value) {
	key := strings.HasSuffix(path, "ID") || strings.HasSuffix(path, "id")
	switch v.Kind() {
	case reflect.Interface:
		w.walk(path, v.Elem())
	case reflect.Pointer:
		switch {
		case v.IsNil():
			w.add(path, "nil", key)
		case v.Type().Elem().Kind() != reflect.Struct:
			w.walk(path, v.Elem())
		default:
			if strings.HasSuffix(path, ".Base") {
				w.walk(path, v.Elem())
				return
			}
			if n, ok := w.seen[v.Interface()]; ok {
				w.add(path, fmt.Sprint("struct ", n), false)
				return
			}
			w.seen[v.Interface()] = len(w.seen)
			w.walk(path, v.Elem())
		}
	case reflect.Struct:
		switch of := v.Interface().(type) {
		case time.Time: // GORM sets it as it builds the INSERT, which an error may come before
			return
		case gorm.DeletedAt:
			w.add(path, fmt.Sprint(of.Valid), false)
			return
		case Content:
			if v.CanAddr() && (of.Note == unwritable || of.Note == panicking) {
				v.Addr().Interface().(*Content).Note += ", once"
			}
		}
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Do" {
				w.walk(path+"."+name, v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		w.add(path, fmt.Sprintf("%d elements", v.Len()), false)
		for i := range v.Len() {
			w.walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		w.add(path, fmt.Sprintf("%d columns", v.Len()), false)
		for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			w.walk(path+"."+k.String(), v.MapIndex(k))
		}
	case reflect.Invalid:
		w.add(path, "nil", key)
	default:
		w.add(path, text(v.Interface()), key)
		if strings.HasSuffix(path, ".Level") && v.CanSet() {
			v.SetZero()
		}
	}
}

// classes tell errors of different databases, and of both sides, apart.
var classes = []struct {
	name string
	is   error
	text string
}{
	{"hook", errDeed, ""},
	{"ErrUpsert", gormplugin.ErrUpsert, "the row that an upsert met is not known"},
	{"to be rolled back", errRollback, ""},
	{"panic", errPanic, ""},
	{"cancelled", context.Canceled, "context canceled|transaction has already been committed or rolled back"},
	{"invalid value", gorm.ErrInvalidValue, "should be pointer to struct or slice"},
	{"invalid data", gorm.ErrInvalidData, ""},
	{"empty slice", gorm.ErrEmptySlice, ""},
	{"aborted", nil, "current transaction is aborted|commit unexpectedly resulted in rollback"},
	{"duplicate", nil, "Duplicate entry|duplicate key|UNIQUE constraint"},
	{"foreign key", nil, "(?i)foreign key"},
	{"check", nil, "(?i)check constraint|violates check|CONSTRAINT .* failed for"},
	{"null", nil, "NOT NULL|not-null|cannot be null|doesn't have a default value"},
	{"default", nil, "near \"DEFAULT\""}, // GORM on SQLite
	{"twice", nil, "cannot affect row a second time"},
}

func classOf(err error) string {
	if err == nil {
		return ""
	}
	for _, c := range classes {
		if c.is != nil && errors.Is(err, c.is) || c.text != "" && regexp.MustCompile(c.text).MatchString(err.Error()) {
			return c.name
		}
	}
	return regexp.MustCompile(`[0-9]+|d[0-9]+[ab]_|gormplugin_test\.\S+`).ReplaceAllString(err.Error(), "#")
}

// bijection pairs the keys of one side with those of the other.
type bijection struct{ there, back map[string]string }

// same reports whether two keys can be one: both none, both the same and not made, or both made for one row.
func (b bijection) same(with, alone string) bool {
	if !isMade(with) || !isMade(alone) {
		return with == alone
	}
	if b.there[with] == "" && b.back[alone] == "" {
		b.there[with], b.back[alone] = alone, with
	}
	return b.there[with] == alone && b.back[alone] == with
}

func isMade(key string) bool { return len(key) >= 13 }

// compare returns the first thing in which two traces are not the same, "" for none.
func compare(with, alone []observation) string {
	keys := bijection{map[string]string{}, map[string]string{}}
	for i, w := range with {
		if i >= len(alone) {
			return fmt.Sprintf("%s\n\tis missing on the side of GORM alone", w.what)
		}
		a := alone[i]
		report := func(format string, args ...any) string {
			return fmt.Sprintf("%s\n\t%s\n\terrors: %q, by hand %q\n\tgiven:%s\n\tby hand:%s", w.what, fmt.Sprintf(format, args...), w.text, a.text, w.given, a.given)
		}
		if w.what != a.what {
			return report("by hand it is %s", a.what)
		}
		if w.err == "ErrUpsert" || a.err == "ErrUpsert" || w.err == "default" || a.err == "default" { // ErrUpsert says that it cannot know, and by hand the statement was not undone
			return ""
		}
		if w.err != a.err && (w.err == "" || a.err == "" || w.err != "cancelled" && a.err != "cancelled") {
			return report("error %q, by hand %q", w.err, a.err)
		}
		if w.affected != a.affected {
			return report("%s rows affected, by hand %s", w.affected, a.affected)
		}
		for j, c := range w.cells {
			switch {
			case j >= len(a.cells):
				return report("%s is %s, by hand is nothing", c.path, c.value)
			case c.path != a.cells[j].path || !c.key && c.value != a.cells[j].value || c.key && !keys.same(c.value, a.cells[j].value):
				return report("%s is %s, by hand %s is %s", c.path, c.value, a.cells[j].path, a.cells[j].value)
			}
		}
		if w.err == "cancelled" {
			return "" // GORM alone goes on with it for longer, and sets foreign keys that are none
		}
		if len(a.cells) > len(w.cells) {
			return report("%s is missing", a.cells[len(w.cells)].path)
		}
	}
	return ""
}
