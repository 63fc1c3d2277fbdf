package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// side is one of the two databases on which a sequence of steps is run, and what came of it.
type side struct {
	kit
	family family
	prefix string // of its tables
	hand   *byHand
	plain  *gorm.DB // to read the tables
	db     *gorm.DB // of the steps, or of their transaction
	within bool     // of a transaction
	dests  []any    // what was created, to be so again
	trace  []observation
	levels bool // of the statement
	lost   bool // a connection is
	*maker

	cancel   func() // of the statement
	mayPanic bool   // without losing a connection
}

type sideKey struct{}

func sideOf(ctx context.Context) *side { return ctx.Value(sideKey{}).(*side) }

// run runs the steps of a sequence. Each step is made of a seed of its own, so that others can be left out.
func (s *side) run(seed uint64, steps []int) {
	for _, step := range steps {
		if s.lost {
			return
		}
		s.Rand = rand.New(rand.NewPCG(seed, uint64(step)))
		s.trouble = pick(s.maker, 0, 0, 0.03, 0.15)
		s.step(0)
	}
}

func (s *side) step(depth int) {
	if depth < 2 && s.chance(0.15) {
		s.transaction(depth)
		return
	}
	pick(s.maker, s.create, s.create, s.create, s.create, s.createMaps, s.createMaps, s.createAgain, s.save, s.save, s.first, s.associate, s.associate)()
}

var errRollback = errors.New("to be rolled back")

// transaction runs some steps in a transaction.
func (s *side) transaction(depth int) {
	kind := pick(s.maker, "commit", "roll back", "panic", "nested that is rolled back", "savepoints")
	db, within := s.db, s.within
	defer func() { s.db, s.within = db, within }()
	steps := func(tx *gorm.DB) {
		s.db, s.within = tx, true
		for range 1 + s.IntN(3) {
			if s.lost {
				return
			}
			if kind == "savepoints" {
				tx.SavePoint("here")
			}
			s.step(depth + 1)
			if kind == "savepoints" && len(s.trace) > 0 && (s.trace[len(s.trace)-1].err != "" || s.chance(0.3)) {
				tx.RollbackTo("here")
			}
		}
	}
	err := recovered(func() error {
		return db.WithContext(context.WithValue(context.Background(), sideKey{}, s)).Transaction(func(tx *gorm.DB) error {
			switch steps(tx); kind {
			case "roll back":
				return errRollback
			case "panic":
				panic(errRollback)
			case "nested that is rolled back":
				if err := tx.Transaction(func(tx *gorm.DB) error { steps(tx); return errRollback }); !errors.Is(err, errRollback) {
					return err
				}
			}
			return nil
		})
	})
	s.db, s.within = db, within
	s.observe("end of a transaction: "+kind, err, "", nil)
}

func recovered(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	return do()
}

var errPanic = errors.New("panic")

// conflict is a clause about rows that exist.
type conflictCase struct {
	name    string
	clauses []clause.Expression
	updates bool
	only    string // dialect
}

var (
	byCode  = []clause.Column{{Name: "code"}}
	byPlace = []clause.Column{{Name: "site"}, {Name: "seat"}}
	updated = clause.AssignmentColumns([]string{"note", "grade"})
	low     = clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "excluded.grade < 3"}}}
)

var conflicts = []conflictCase{
	{name: "DoNothing", clauses: []clause.Expression{clause.OnConflict{DoNothing: true}}},
	{name: "DoNothing by code", clauses: []clause.Expression{clause.OnConflict{Columns: byCode, DoNothing: true}}},
	{name: "DoUpdates by code", clauses: []clause.Expression{clause.OnConflict{Columns: byCode, DoUpdates: updated}}, updates: true},
	{name: "DoUpdates by code", clauses: []clause.Expression{clause.OnConflict{Columns: byCode, DoUpdates: updated}}, updates: true},
	{name: "DoUpdates by place", clauses: []clause.Expression{clause.OnConflict{Columns: byPlace, DoUpdates: updated}}, updates: true},
	{name: "DoUpdates by code, where", clauses: []clause.Expression{clause.OnConflict{Columns: byCode, DoUpdates: updated, Where: low}}, updates: true},
	{name: "DoUpdates", clauses: []clause.Expression{clause.OnConflict{DoUpdates: updated}}, updates: true},
	{name: "UpdateAll", clauses: []clause.Expression{clause.OnConflict{UpdateAll: true}}, updates: true},
	{name: "UpdateAll by code", clauses: []clause.Expression{clause.OnConflict{Columns: byCode, UpdateAll: true}}, updates: true},
	{name: "IGNORE", clauses: []clause.Expression{clause.Insert{Modifier: "IGNORE"}}, only: "mysql"},
}

// conflict returns a clause, for most of the statements that clash with rows, and some others.
func (s *side) conflict(table string) conflictCase {
	c := pick(s.maker, conflicts...)
	if s.chance(map[bool]float64{true: 0.2, false: 0.8}[s.clashes > 0.5]) || c.only != "" && c.only != s.db.Name() || table != "employees" && strings.Contains(c.name, "place") {
		return conflictCase{}
	}
	return c
}

// columnLists are what is selected and omitted. Some name what only employees have.
var columnLists = []struct {
	name  string
	apply func(db *gorm.DB) *gorm.DB
}{
	{"Select of all", func(db *gorm.DB) *gorm.DB { return db.Select("*") }},
	{"Select without the key", func(db *gorm.DB) *gorm.DB { return db.Select("Code", "Note") }},
	{"Select with an association", func(db *gorm.DB) *gorm.DB { return db.Select("Code", "Note", "Letters", "Boss") }},
	{"Select with the key", func(db *gorm.DB) *gorm.DB { return db.Select("ID", "Code", "Note", "Topics") }},
	{"Omit of a column", func(db *gorm.DB) *gorm.DB { return db.Omit("Grade") }},
	{"Omit of associations", func(db *gorm.DB) *gorm.DB { return db.Omit(clause.Associations) }},
	{"Omit of two", func(db *gorm.DB) *gorm.DB { return db.Omit("Letters", "Topics.*") }},
}

// nameOf returns what the types of both sides have in common.
func nameOf(v any) string {
	text := fmt.Sprintf("%T", v)
	for _, name := range []string{"card", "letter", "picture", "map", "Employee", "Topic"} {
		if strings.Contains(text, name) {
			return name
		}
	}
	return text
}

// options returns a session at random, and its name.
func (s *side) options() (session gorm.Session, name string) {
	for _, o := range []struct {
		name string
		p    float64
		set  *bool
	}{
		{"SkipDefaultTransaction", 0.15, &session.SkipDefaultTransaction},
		{"SkipHooks", 0.1, &session.SkipHooks},
		{"PrepareStmt", 0.1, &session.PrepareStmt},
		{"FullSaveAssociations", 0.1, &session.FullSaveAssociations},
	} {
		if s.chance(o.p) {
			*o.set = true
			name += " " + o.name
		}
	}
	if s.chance(0.07) {
		session.CreateBatchSize = 2
		name += " CreateBatchSize"
	}
	return session, name
}

// statement is one call of GORM, to be performed.
type statement struct {
	what    string
	session gorm.Session
	updates bool
	levels  bool  // are compared: after an upsert GORM alone takes them for others'
	dest    []any // to be compared
	call    func(db *gorm.DB) *gorm.DB
}

func (s *side) begin() (st statement) {
	st.session, st.what = s.options()
	s.panics, s.clashes = s.within || st.session.SkipDefaultTransaction, pick(s.maker, 0.1, 0.1, 0.6)
	return st
}

func (s *side) perform(st statement) {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), sideKey{}, s))
	defer cancel()
	s.cancel, s.mayPanic = cancel, s.panics
	if s.chance(0.02) {
		st.what += " cancelled"
		cancel()
	}
	if s.hand != nil {
		s.hand.begin()
	}
	if of := reflect.TypeOf(st.dest[0]); of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Array {
		st.session.CreateBatchSize = 0 // GORM panics
	}
	st.session.Context = ctx
	given, result := brief(cellsOf(st.dest)), (*gorm.DB)(nil)
	err := recovered(func() error {
		result = st.call(s.db.Session(&st.session))
		return result.Error
	})
	if errors.Is(err, errPanic) && s.hand != nil { // the statement's end was not reached
		s.hand.takeBack(s.db.Session(&gorm.Session{NewDB: true, SkipDefaultTransaction: st.session.SkipDefaultTransaction}))
	}
	affected := ""
	if err == nil && (!st.updates || !s.counts()) {
		affected = fmt.Sprint(result.RowsAffected)
	}
	s.levels = st.levels
	s.observe(st.what, err, affected, st.dest)
	s.trace[len(s.trace)-1].given = given
	cellsOf(s.shared) // without levels: what GORM alone takes them for, later steps would write
}

// counts reports whether rows that are updated count twice, or once where a RETURNING clause has GORM count what is returned.
func (s *side) counts() bool { return s.db.Name() == "mysql" }

// rows makes the rows of a statement.
func (s *side) rows(one bool) (table string, rows []reflect.Value) {
	of := pick(s.maker, makers...)
	n := 1
	if !one {
		n = 1 + s.IntN(4)
	}
	for range n {
		row := reflect.ValueOf(of.make(s.kit, s.maker))
		if len(s.shared) > 0 && s.chance(0.1) {
			if again := reflect.ValueOf(pick(s.maker, s.shared...)); again.Type() == row.Type() {
				row = again
			}
		}
		rows = append(rows, row)
		if !one && s.chance(0.1) {
			rows = append(rows, row) // one pointer several times
		}
	}
	return of.table, rows
}

// panicsOf reports whether GORM alone panics of a value. Into pointers to pointers it cannot scan what RETURNING returns, that is the level of topics;
// into a struct by value neither, and there it can set no time and no reference to what the row belongs to.
func (s *side) panicsOf(dest any) bool {
	of := reflect.TypeOf(dest)
	scanned := nameOf(dest) == "Topic" && (scene{base: s.db}).returning()
	if of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Pointer && of.Elem().Elem().Kind() == reflect.Pointer {
		return scanned
	}
	if of.Kind() != reflect.Struct {
		return false
	}
	for _, name := range []string{"Boss", "Sender"} {
		if owner := reflect.ValueOf(dest).FieldByName(name); owner.IsValid() && !owner.IsNil() {
			return true
		}
	}
	return scanned || s.family.name == "gorm.Model"
}

func (s *side) create() {
	st := s.begin()
	shape := pick(s.maker, shapes...)
	table, rows := s.rows(shape.one)
	dest := shape.of(rows)
	conflict := s.conflict(table)
	if s.panicsOf(dest) {
		return
	}
	st.what = fmt.Sprintf("Create %s of %d %s %s%s", shape.name, len(rows), table, conflict.name, st.what)
	st.dest, st.updates, st.levels = []any{dest}, conflict.updates, table == "topics" && conflict.name == ""
	st.call = func(db *gorm.DB) *gorm.DB { return db.Clauses(conflict.clauses...).Create(dest) }
	s.dests = append(s.dests, dest)
	switch list := pick(s.maker, columnLists...); {
	case s.chance(0.15) && table == "employees" && !s.family.composite: // the list would lack the other column of the key
		st.what += ", " + list.name
		st.call = func(db *gorm.DB) *gorm.DB { return list.apply(db.Clauses(conflict.clauses...)).Create(dest) }
	case s.chance(0.1) && conflict.name == "" && shape.name == "struct" && s.family.name == "sqltype.ID":
		st.what += ", Omit of the key"
		st.call = func(db *gorm.DB) *gorm.DB { return db.Omit("ID").Create(dest) }
	case s.chance(0.1) && !shape.one && strings.Contains(shape.name, "slice"):
		st.what = "CreateInBatches: " + st.what
		st.call = func(db *gorm.DB) *gorm.DB { return db.Clauses(conflict.clauses...).CreateInBatches(dest, 2) }
	case s.chance(0.1):
		st.what = "generic " + st.what
		st.call = func(db *gorm.DB) *gorm.DB {
			err := s.generic(db.Statement.Context, db, dest, conflict.clauses)
			return &gorm.DB{Error: err}
		}
	case s.chance(0.1) && conflict.name == "" && shape.name == "struct": // of others GORM panics, or makes new structs
		st.what += ", Returning"
		st.call = func(db *gorm.DB) *gorm.DB { return db.Clauses(clause.Returning{}).Create(dest) }
	case s.chance(0.1) && st.session.CreateBatchSize == 0: // with that GORM loses a connection after an error
		_, others := s.rowsOf(table)
		st.what += fmt.Sprintf(", and with the same *gorm.DB %d more", len(others))
		more := sliceOf(others).Interface()
		st.dest = append(st.dest, more)
		st.call = func(db *gorm.DB) *gorm.DB {
			tx := db.Clauses(conflict.clauses...)
			if tx.Create(dest); s.hand != nil {
				tx = tx.Clauses(conflict.clauses...) // GORM has changed them
			}
			return tx.Create(more)
		}
	}
	s.perform(st)
}

// rowsOf makes rows of one table.
func (s *side) rowsOf(table string) (string, []reflect.Value) {
	for {
		if of, rows := s.rows(false); of == table {
			return of, rows
		}
	}
}

func (s *side) createMaps() {
	st := s.begin()
	of, shape := pick(s.maker, makers...), pick(s.maker, mapShapes...)
	model := s.chance(0.6)
	if model && of.table == "topics" && !shape.one {
		model = false // GORM alone cannot: it takes the rows that are returned for more maps
	}
	rows := make([]map[string]any, 1, 4)
	for i := range rows[:1+s.IntN(4)] {
		rows = append(rows[:i], s.columns(s.family, of.table, model))
	}
	if shape.one {
		rows = rows[:1]
	} else if s.chance(s.trouble) {
		rows[s.IntN(len(rows))] = nil
	}
	dest, conflict := shape.of(rows), s.conflict(of.table)
	if !model && (strings.Contains(conflict.name, "UpdateAll") || strings.Contains(conflict.name, "DoNothing") && s.db.Name() == "mysql") {
		conflict = conflictCase{} // which GORM alone knows no columns for
	}
	st.what = fmt.Sprintf("Create %s of %d %s %s%s", shape.name, len(rows), of.table, conflict.name, st.what)
	st.dest, st.updates = []any{dest}, conflict.updates
	st.call = func(db *gorm.DB) *gorm.DB {
		return db.Table(s.prefix + of.table).Clauses(conflict.clauses...).Create(dest)
	}
	if model {
		st.what += " with a model"
		value := of.make(s.kit, &maker{Rand: rand.New(rand.NewPCG(1, 1)), serial: new(int)})
		st.call = func(db *gorm.DB) *gorm.DB {
			return db.Model(reflect.New(reflect.TypeOf(value).Elem()).Interface()).Clauses(conflict.clauses...).Create(dest)
		}
	}
	s.dests = append(s.dests, nil) // maps are not created again: the plugin's and GORM's names of columns differ by then
	s.perform(st)
}

// createAgain creates what was created, or was not since it failed.
func (s *side) createAgain() {
	st := s.begin()
	dests := slices.DeleteFunc(slices.Clone(s.dests), func(d any) bool { return d == nil })
	if len(dests) == 0 {
		return
	}
	dest, conflict := pick(s.maker, dests...), s.conflict("")
	st.what, st.updates = fmt.Sprintf("Create again %s %s%s", nameOf(dest), conflict.name, st.what), conflict.updates
	st.dest, st.call = []any{dest}, func(db *gorm.DB) *gorm.DB { return db.Clauses(conflict.clauses...).Create(dest) }
	s.perform(st)
}

func (s *side) save() {
	st := s.begin()
	shape := pick(s.maker, shapes...)
	_, rows := s.rows(shape.one)
	if len(s.shared) > 0 && s.chance(0.6) {
		rows[0] = reflect.ValueOf(pick(s.maker, s.shared...))
		rows = rows[:1]
	}
	dest := shape.of(rows)
	if s.panicsOf(dest) {
		return
	}
	st.what, st.updates = fmt.Sprintf("Save %s of %d %s%s", shape.name, len(rows), nameOf(rows[0].Interface()), st.what), true
	st.dest, st.call = []any{dest}, func(db *gorm.DB) *gorm.DB { return db.Save(dest) }
	s.perform(st)
}

func (s *side) first() {
	st := s.begin()
	of := pick(s.maker, makers...)
	dest, code := of.make(s.kit, s.maker), pick(s.maker, "a", "b", "c", "d", "e", "f")
	st.what, st.dest = "FirstOrCreate of "+of.table+st.what, []any{dest}
	st.call = func(db *gorm.DB) *gorm.DB { return db.Where(map[string]any{"code": code}).FirstOrCreate(dest) }
	if s.chance(0.3) {
		st.what += ", Attrs"
		st.call = func(db *gorm.DB) *gorm.DB {
			return db.Where(map[string]any{"code": code}).Attrs(map[string]any{"grade": 1}).FirstOrCreate(dest)
		}
	}
	s.perform(st)
}

// associate adds to the associations of a employee, or replaces them.
func (s *side) associate() {
	st := s.begin()
	owner := s.earlier(s.maker)
	if owner == nil {
		return
	}
	of := pick(s.maker, []struct {
		name, table string
		make        func() any
	}{
		{"Boss", "", func() any { return s.employee(s.maker, 1) }}, {"Card", "", func() any { return s.card(s.maker) }},
		{"Letters", "letters", func() any { return s.letter(s.maker, 1) }}, {"Pictures", "", func() any { return s.picture(s.maker) }},
		{"Topics", "topics", func() any { return s.topic(s.maker) }}, {"Clubs", "topics", func() any { return s.topic(s.maker) }},
	}...)
	values := []any{of.make()}
	if of.name != "Boss" && of.name != "Card" && s.chance(0.4) {
		values = append(values, of.make())
	}
	if of.table != "" && s.chance(0.2) {
		values = []any{s.columns(s.family, of.table, false)}
	}
	verb := pick(s.maker, "Append", "Replace")
	st.what, st.dest, st.updates = fmt.Sprintf("%s %d %s: %s%s", verb, len(values), of.name, nameOf(values[0]), st.what), append([]any{owner}, values...), true
	st.call = func(db *gorm.DB) *gorm.DB {
		a := db.Model(owner).Association(of.name)
		if verb == "Append" {
			return &gorm.DB{Error: a.Append(values...)}
		}
		return &gorm.DB{Error: a.Replace(values...)}
	}
	s.perform(st)
}
