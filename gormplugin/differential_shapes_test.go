package gormplugin_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
)

// maker makes values at random. Two of one seed make the same, of the types of two sides.
type maker struct {
	*rand.Rand
	serial  *int    // of notes
	trouble float64 // how often something is made that fails
	clashes float64 // how often a unique column has what another row may have
	panics  bool    // may be made
	shared  []any   // the structs that were made, of this value and of earlier ones
}

func address[T any](v T) *T { return &v }

func (m *maker) chance(p float64) bool { return m.Float64() < p }

// pick returns one of several things.
func pick[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

// share returns a struct of a type that was made before, or nil, with a probability.
func share[T any](m *maker, p float64) *T {
	if !m.chance(p) {
		return nil
	}
	var of []*T
	for _, s := range m.shared {
		if s, ok := s.(*T); ok {
			of = append(of, s)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return pick(m, of...)
}

func (m *maker) nextNote() note {
	*m.serial++
	return note(fmt.Sprintf("n%03d", *m.serial))
}

// preset returns a number for a key that is not made.
func (m *maker) preset() int64 { return 1 + m.Int64N(40) }

// presetKey sets a key by hand.
func presetKey(key reflect.Value, n int64) {
	switch key.Kind() {
	case reflect.Pointer:
		key.Set(reflect.New(key.Type().Elem()))
		if n >= 0 {
			presetKey(key.Elem(), n)
		}
	case reflect.String:
		key.SetString(fmt.Sprintf("p%03d", n))
	case reflect.Uint, reflect.Uint64:
		key.SetUint(uint64(n))
	default:
		key.SetInt(n)
	}
}

// code returns a text of a unique column: none, one that no other row has, or one that another may have.
func (m *maker) code() *string {
	if m.chance(0.2) {
		return nil
	}
	if m.chance(m.clashes) {
		return address(pick(m, "a", "b", "c", "d", "e", "f"))
	}
	return address(fmt.Sprintf("own %d", *m.serial))
}

// fill fills in what all models have.
func (m *maker) fill(c *Content, base any) {
	c.Note, c.Code, c.Grade = m.nextNote(), m.code(), m.IntN(5)
	if b := reflect.ValueOf(base).Elem(); b.Kind() == reflect.Struct {
		if tenant := b.FieldByName("Tenant"); tenant.IsValid() {
			tenant.SetInt(1 + m.Int64N(2))
		}
	}
	switch {
	case m.chance(0.1):
		presetKey(keyOf(base), m.preset())
	case m.chance(0.05) && keyOf(base).Kind() == reflect.Pointer:
		presetKey(keyOf(base), -1) // zero
	}
	if m.chance(0.15) {
		c.Do = deed(m.IntN(int(failsBefore)))
	}
	if m.chance(m.trouble) {
		switch m.IntN(4) {
		case 0:
			c.Grade = 100
		case 1:
			if c.Note = pick(m, unwritable, panicking); !m.panics {
				c.Note = unwritable
			}
		default:
			c.Do = failsBefore + deed(m.IntN(int(deeds-failsBefore)))
		}
	}
}

func (k models[B, K, L, E]) employee(m *maker, depth int) any {
	e := new(E)
	m.shared = append(m.shared, e)
	p := any(e).(interface{ self() *Employee[B, K, L, E] }).self()
	m.fill(&p.Content, &p.Base)
	p.Site = pick(m, "x", "y")
	if m.chance(0.3) {
		p.Seat = address(m.IntN(4))
	}
	if m.chance(m.trouble / 4) {
		p.BossID = new(K)
		presetKey(reflect.ValueOf(p.BossID).Elem(), 1000)
	}
	if depth == 0 {
		return e
	}
	if m.chance(0.25) {
		if p.Boss = share[E](m, 0.4); p.Boss == nil {
			p.Boss = k.employee(m, depth-1).(*E)
		}
	}
	if m.chance(0.2) {
		if p.Card = share[card[B, K]](m, 0.2); p.Card == nil {
			p.Card = k.card(m).(*card[B, K])
		}
	}
	for m.chance(0.3) {
		p.Letters = append(p.Letters, *k.letter(m, depth-1).(*letter[B, K, E]))
	}
	for m.chance(0.2) {
		of := share[picture[B, K]](m, 0.3)
		if of == nil {
			of = k.picture(m).(*picture[B, K])
		}
		p.Pictures = append(p.Pictures, of)
	}
	for _, topics := range []*[]*L{&p.Topics, &p.Clubs} {
		for m.chance(0.3) {
			of := share[L](m, 0.4)
			if of == nil {
				of = k.topic(m).(*L)
			}
			*topics = append(*topics, of)
		}
	}
	return e
}

func (models[B, K, L, E]) topic(m *maker) any {
	of := new(L)
	m.shared = append(m.shared, of)
	t := any(of).(interface{ self() *Topic[B, K] }).self()
	m.fill(&t.Content, &t.Base)
	return of
}

func (models[B, K, L, E]) card(m *maker) any {
	c := new(card[B, K])
	m.shared = append(m.shared, c)
	m.fill(&c.Content, &c.Base)
	return c
}

func (models[B, K, L, E]) picture(m *maker) any {
	p := new(picture[B, K])
	m.shared = append(m.shared, p)
	m.fill(&p.Content, &p.Base)
	return p
}

func (k models[B, K, L, E]) letter(m *maker, depth int) any {
	l := new(letter[B, K, E])
	m.fill(&l.Content, &l.Base)
	if depth > 0 && m.chance(0.2) {
		if l.Sender = share[E](m, 0.5); l.Sender == nil {
			l.Sender = k.employee(m, depth-1).(*E)
		}
	}
	return l
}

// makers are the models that a statement can be of, with their tables, the most used one several times.
var makers = []struct {
	table string
	make  func(k kit, m *maker) any
}{
	{"employees", func(k kit, m *maker) any { return k.employee(m, 2) }},
	{"employees", func(k kit, m *maker) any { return k.employee(m, 1) }},
	{"employees", func(k kit, m *maker) any { return k.employee(m, 0) }},
	{"topics", func(k kit, m *maker) any { return k.topic(m) }},
	{"cards", func(k kit, m *maker) any { return k.card(m) }},
	{"letters", func(k kit, m *maker) any { return k.letter(m, 1) }},
}

// shape is what a statement is given: rows, each a pointer to a struct, in one of the forms that GORM takes.
type shape struct {
	name string
	one  bool // has one row only
	of   func(rows []reflect.Value) any
}

var shapes = []shape{
	{"struct", true, func(rows []reflect.Value) any { return rows[0].Interface() }},
	{"struct", true, func(rows []reflect.Value) any { return rows[0].Interface() }},
	{"struct by value", true, func(rows []reflect.Value) any { return rows[0].Elem().Interface() }},
	{"pointer to pointer", true, func(rows []reflect.Value) any { return pointerTo(rows[0]).Interface() }},
	{"slice", false, func(rows []reflect.Value) any { return sliceOf(values(rows)).Interface() }},
	{"pointer to slice", false, func(rows []reflect.Value) any { return pointerTo(sliceOf(values(rows))).Interface() }},
	{"slice of pointers", false, func(rows []reflect.Value) any { return sliceOf(rows).Interface() }},
	{"pointer to slice of pointers", false, func(rows []reflect.Value) any { return pointerTo(sliceOf(rows)).Interface() }},
	{"slice of pointers, nil among them", false, func(rows []reflect.Value) any {
		return sliceOf(slices.Insert(slices.Clone(rows), len(rows)/2, reflect.Zero(rows[0].Type()))).Interface()
	}},
	{"slice of pointers to pointers", false, func(rows []reflect.Value) any {
		of := make([]reflect.Value, len(rows))
		for i, row := range rows {
			of[i] = pointerTo(row)
		}
		return sliceOf(of).Interface()
	}},
	{"array", false, func(rows []reflect.Value) any { return arrayOf(values(rows)).Interface() }},
	{"array of pointers", false, func(rows []reflect.Value) any { return arrayOf(rows).Interface() }},
	{"empty slice", false, func(rows []reflect.Value) any { return sliceOf(rows).Slice(0, 0).Interface() }},
}

// values returns copies of rows, of one row several at times. What the key is embedded in is theirs and the rows' own.
func values(rows []reflect.Value) []reflect.Value {
	of := make([]reflect.Value, len(rows))
	for i, row := range rows {
		of[i] = row.Elem()
	}
	return of
}

func pointerTo(v reflect.Value) reflect.Value {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p
}

func sliceOf(elements []reflect.Value) reflect.Value {
	s := reflect.MakeSlice(reflect.SliceOf(elements[0].Type()), 0, len(elements))
	return reflect.Append(s, elements...)
}

func arrayOf(elements []reflect.Value) reflect.Value {
	a := reflect.New(reflect.ArrayOf(len(elements), elements[0].Type()))
	for i, e := range elements {
		a.Elem().Index(i).Set(e)
	}
	return a
}

// mapShapes are those of maps.
var mapShapes = []struct {
	name string
	one  bool
	of   func(rows []map[string]any) any
}{
	{"map", true, func(rows []map[string]any) any { return rows[0] }},
	{"pointer to map", true, func(rows []map[string]any) any { return &rows[0] }},
	{"slice of maps", false, func(rows []map[string]any) any { return rows }},
	{"pointer to slice of maps", false, func(rows []map[string]any) any { return &rows }},
}

// columns makes a row as a map, with the names of columns or, when there is a model, of some fields.
func (m *maker) columns(f family, table string, model bool) map[string]any {
	row := map[string]any{"note": string(m.nextNote()), "grade": m.IntN(5)}
	if code := m.code(); code != nil {
		row["code"] = *code
	}
	if m.chance(m.trouble) {
		row["grade"] = 100
	}
	if table == "employees" {
		row["site"], row["seat"] = pick(m, "x", "y"), pick[any](m, nil, 0, 1)
	}
	if f.composite {
		row["tenant"] = 1 + m.Int64N(2)
	}
	id := "id"
	if model && m.chance(0.3) {
		id = "ID"
	}
	switch m.IntN(8) {
	case 0:
		row[id] = nil
	case 1:
		row[id] = map[bool]any{true: "", false: 0}[f.setting != ""]
	case 2:
		n := m.preset()
		row[id] = map[bool]any{true: fmt.Sprintf("p%03d", n), false: n}[f.setting != ""]
	}
	if model && m.chance(0.3) {
		for name, value := range row {
			if name == "grade" {
				delete(row, name)
				row[strings.ToUpper(name[:1])+name[1:]] = value
			}
		}
	}
	return row
}
