package check

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// How far the clocks of processes may be apart before a key is from the future.
const clockTolerance = time.Minute

// target is a table to check.
type target struct {
	name   catalog.Name
	model  string         // empty without one
	keys   []targetKey    // of the model; without one they are found in the table
	layout idgen.Layout   // of the keys that are found
	table  *catalog.Table // nil when there is none
}

// targetKey is a key with the layout that it is made with, which is zero when nothing says it.
type targetKey struct {
	column string
	layout idgen.Layout
	at     *catalog.Column // nil when there is none
}

// place is a column of a table.
type place struct {
	table  catalog.Name
	column string
}

// checker is one check.
type checker struct {
	database   database
	fixer      fixer
	fold       bool                            // the dialect takes names of columns in any case
	tables     map[catalog.Name]*catalog.Table // what was read, by the name that it was asked for with
	targets    []*target
	references []*catalog.Reference
	tied       bool // references has those too that tie columns to each other over other tables
	findings   []Finding
	orphans    map[*catalog.Reference]string // what is in the way of making a foreign key again
}

func newChecker(db *gorm.DB) (*checker, error) {
	database, fixer, err := newDatabase(db)
	if err != nil {
		return nil, err
	}
	return &checker{database: database, fixer: fixer, fold: database.Dialect() != dialect.Postgres, tables: map[catalog.Name]*catalog.Table{}, orphans: map[*catalog.Reference]string{}}, nil
}

// table returns a table that is read once, nil when there is none.
func (c *checker) table(ctx context.Context, name catalog.Name) (*catalog.Table, error) {
	if t, ok := c.tables[name]; ok {
		return t, nil
	}
	t, err := c.database.Outline(ctx, name)
	if err != nil {
		return nil, err
	}
	if t != nil {
		if same, ok := c.tables[t.Full]; ok {
			t = same
		}
		c.tables[t.Full] = t
		for _, col := range t.Columns {
			if c.database.Dialect() == dialect.SQLite && (col.Class == catalog.Time || col.Class == catalog.JSON) {
				col.Class = catalog.Decimal // whatever its name says, it takes numbers
			}
		}
	}
	c.tables[name] = t
	return t, nil
}

// isKey reports whether keys of snowflakes are put in a column.
func (c *checker) isKey(t *catalog.Table, col *catalog.Column) bool {
	return slices.ContainsFunc(c.targets, func(of *target) bool {
		return of.table == t && slices.ContainsFunc(of.keys, func(k targetKey) bool { return k.at == col })
	})
}

// findTied reads the foreign keys of the tables that others tie to these, and so on.
func (c *checker) findTied(ctx context.Context) error {
	known := map[catalog.Name]bool{}
	for !c.tied {
		var tables []*catalog.Table
		for _, r := range c.references {
			for _, name := range []catalog.Name{r.Child, r.Parent} {
				if !known[name] {
					known[name] = true
					tables = append(tables, &catalog.Table{Full: name})
				}
			}
		}
		if c.tied = len(tables) == 0; c.tied {
			break
		}
		found, err := c.database.References(ctx, tables...)
		if err != nil {
			return err
		}
		for _, r := range found {
			if !slices.ContainsFunc(c.references, func(old *catalog.Reference) bool { return old.Child == r.Child && old.Name == r.Name }) {
				c.references = append(c.references, r)
			}
		}
	}
	return nil
}

// tiedTo returns the columns that declared foreign keys tie to one, itself among them, and these foreign keys. None are of a column that
// has 64 bits: without AUTO_INCREMENT its type stays, which they allow. They are sorted, so that all findings of columns that are tied to
// each other get the same statements.
func (c *checker) tiedTo(t *catalog.Table, col *catalog.Column) (tied []place, constraints []*catalog.Reference) {
	tied = []place{{t.Full, col.Name}}
	for i := 0; i < len(tied) && col.Bits != 64; i++ {
		for _, r := range c.references {
			for n := range r.Columns {
				child, parent := place{r.Child, r.Columns[n]}, place{r.Parent, r.To[n]}
				if tied[i] != child && tied[i] != parent {
					continue
				}
				for _, end := range []place{child, parent} {
					if !slices.Contains(tied, end) {
						tied = append(tied, end)
					}
				}
				if !slices.Contains(constraints, r) {
					constraints = append(constraints, r)
				}
			}
		}
	}
	slices.SortFunc(tied, func(a, b place) int {
		return cmp.Or(strings.Compare(a.table.Schema, b.table.Schema), strings.Compare(a.table.Name, b.table.Name), strings.Compare(a.column, b.column))
	})
	slices.SortFunc(constraints, func(a, b *catalog.Reference) int {
		return cmp.Or(strings.Compare(a.Child.Schema, b.Child.Schema), strings.Compare(a.Child.Name, b.Child.Name), strings.Compare(a.Name, b.Name))
	})
	return tied, constraints
}

func (c *checker) check(ctx context.Context, targets []*target, relations []*relation) ([]Finding, error) {
	err := c.checkAll(ctx, targets, relations)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, ctx.Err()) { // a driver may say it in other words
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return nil, fmt.Errorf("check: %w", err)
	}
	return c.findings, nil
}

func (c *checker) checkAll(ctx context.Context, targets []*target, relations []*relation) (err error) {
	c.targets = targets
	var tables []*catalog.Table
	for _, t := range targets {
		if t.table, err = c.table(ctx, t.name); err != nil {
			return err
		}
		if t.table != nil && !slices.Contains(tables, t.table) {
			tables = append(tables, t.table)
		}
	}
	if c.references, err = c.database.References(ctx, tables...); err != nil {
		return err
	}
	for _, t := range targets {
		c.findKeys(t)
	}
	for _, t := range targets {
		if err := c.checkTarget(ctx, t); err != nil {
			return err
		}
	}
	for _, r := range c.references {
		for i := range r.Columns {
			if !slices.ContainsFunc(tables, func(t *catalog.Table) bool { return r.Child == t.Full || r.Parent == t.Full }) {
				continue
			}
			if err := c.checkReference(ctx, place{r.Child, r.Columns[i]}, place{r.Parent, r.To[i]}, false); err != nil {
				return err
			}
		}
	}
	for _, r := range relations {
		if err := c.checkReference(ctx, r.child, r.parent, r.filled); err != nil {
			return err
		}
	}
	return nil
}

// findKeys finds the columns of a target's keys.
func (c *checker) findKeys(t *target) {
	if t.table == nil || t.table.View != "" {
		return
	}
	if t.model == "" {
		key := t.table.Key()
		if len(key) != 1 { // a foreign key beside others is no key of its own
			key = []string{"id"}
		}
		col := t.table.Column(key[0], c.fold || len(t.table.Key()) != 1)
		if col == nil || col.Class != catalog.Integer || c.refers(t.table, col) || len(t.table.Key()) > 1 && !slices.Contains(t.table.Key(), col.Name) {
			return
		}
		t.keys = []targetKey{{column: col.Name, layout: t.layout}}
	}
	for i := range t.keys {
		t.keys[i].at = t.table.Column(t.keys[i].column, c.fold)
	}
}

// refers reports whether a column is a declared foreign key to another.
func (c *checker) refers(t *catalog.Table, col *catalog.Column) bool {
	return slices.ContainsFunc(c.references, func(r *catalog.Reference) bool {
		return r.Child == t.Full && slices.Contains(r.Columns, col.Name)
	})
}

func (c *checker) checkTarget(ctx context.Context, t *target) error {
	if t.table == nil {
		return c.missing(ctx, t)
	}
	if t.table.View != "" {
		c.add(t.table, "", NoTable, fix{}, "it is a %s, whose keys are those of the tables below it; check these", t.table.View)
		return nil
	}
	var missing []string
	for _, k := range t.keys {
		if k.at == nil {
			c.add(t.table, k.column, NoColumn, fix{}, "the model %s has the key %s, and the table has no such column", t.model, k.column)
			missing = append(missing, k.column)
		}
	}
	if len(missing) == 0 && t.table.Key() == nil && !c.hasOtherKey(t) {
		var columns []string
		for _, k := range t.keys {
			columns = append(columns, k.at.Name)
		}
		m := fix{note: "no column is called id, so it is not known which is the key"}
		if t.model != "" {
			m.note = fmt.Sprintf("the plugin fills no key of the model %s", t.model)
		}
		if len(columns) > 0 {
			var err error
			if m, err = c.fixer.require(ctx, t.table, columns); err != nil {
				return err
			}
		}
		c.add(t.table, strings.Join(columns, ", "), NoPrimaryKey, m,
			"the table has no primary key, so two rows may get the same key, and none is found quickly; rows with the same key, or NULL, must be gone before it gets one")
	}
	for _, k := range t.keys {
		if k.at == nil {
			continue
		}
		if err := c.checkKey(ctx, t.table, k); err != nil {
			return err
		}
	}
	return nil
}

// hasOtherKey reports whether all keys of a table without a primary key are in unique indexes of their own.
func (c *checker) hasOtherKey(t *target) bool {
	return len(t.keys) > 0 && !slices.ContainsFunc(t.keys, func(k targetKey) bool { return k.at.Nullable || !isUnique(t.table, k.at) })
}

// missing adds the finding of a table that is not there, with the names that it could have been.
func (c *checker) missing(ctx context.Context, t *target) error {
	like := ""
	if t.name.Schema == "" {
		names, err := c.database.Tables(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.EqualFold(name.Name, t.name.Name) {
				like = "; there is " + name.String()
			}
		}
	}
	c.findings = append(c.findings, Finding{
		Table: t.name.String(), Kind: NoTable,
		Text: "there is no such table, or this user has no right to see it" + like,
	})
	return nil
}

func (c *checker) checkKey(ctx context.Context, t *catalog.Table, k targetKey) error {
	col := k.at
	problem, kind := catalog.Misfit(col, 64), NarrowKey
	if col.Class != catalog.Integer && !(col.Class == catalog.Decimal && problem == "") {
		kind = WrongType
		if problem == "" {
			problem = "keys are kept as text, which sorts 10 before 9, and which a query for a number does not find by the index or at all"
		}
	}
	if problem != "" {
		m, err := c.fixer.widen(ctx, c, t, col)
		if err != nil {
			return err
		}
		c.add(t, col.Name, kind, m, "its type is %s: %s", col.Type, problem)
	}
	if col.Auto != "" {
		m, err := c.fixer.stop(ctx, c, t, col)
		if err != nil {
			return err
		}
		what := "gets the next number of the database, without an error"
		switch {
		case col.Always:
			what = "gets the next number of the database, and one with a key is refused (SQLSTATE 428C9)"
		case col.Auto == "AUTO_INCREMENT" || col.Auto == "AUTOINCREMENT":
			what = "gets the greatest key and 1, a number that looks like a snowflake and that a process may make later, and then the INSERT fails"
		}
		c.add(t, col.Name, AutoIncrement, m, "it is %s: a row that is inserted without a key %s", col.Auto, what)
	}
	if col.Nullable && slices.Contains(t.Key(), col.Name) { // on SQLite; what has no key at all is found before
		m, err := c.fixer.widen(ctx, c, t, col)
		if err != nil {
			return err
		}
		c.add(t, col.Name, NullableKey, m, "it is declared %s, which is no alias of the rowid, and may be NULL: a row that is inserted without a key has none, without an error",
			strings.TrimSpace(col.Type+" PRIMARY KEY"))
	}
	if col.Class != catalog.Integer && col.Class != catalog.Decimal {
		return nil
	}
	if err := c.checkGreatest(ctx, t, k); err != nil || col.Class != catalog.Integer {
		return err
	}
	return c.checkFill(ctx, t, k)
}

// checkGreatest looks for keys that the source cannot have made.
func (c *checker) checkGreatest(ctx context.Context, t *catalog.Table, k targetKey) error {
	if k.layout == (idgen.Layout{}) || !slices.ContainsFunc(uniques(t), func(columns []string) bool { return columns[0] == k.at.Name }) {
		return nil // without an index that begins with the column all rows would be read
	}
	var greatest sql.NullString // BIGINT UNSIGNED is above int64
	err := c.database.Each(ctx, c.database.greatest(t, k.at), nil,
		[]any{&greatest}, nil)
	if err != nil {
		return fmt.Errorf("the greatest key of %s: %w", t.Name, err)
	}
	whole, _, _ := strings.Cut(greatest.String, ".")
	id, err := strconv.ParseInt(whole, 10, 64)
	if !greatest.Valid || err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil // NaN of PostgreSQL, for one
	}
	// The clock is read after the database has answered, so that a row of this moment is not above it.
	limit, failed := k.layout.MaxID(time.Now().Add(clockTolerance))
	if failed != nil {
		if errors.Is(failed, idgen.ErrLayout) { // the time is not on top: keys are in no order
			return nil
		}
		return fmt.Errorf("the layout of %s: %w", t.Name, failed)
	}
	if err == nil && id <= limit {
		return nil
	}
	when := fmt.Sprintf("no time in the layout %s", k.layout)
	if parts, failed := k.layout.Decode(id); err == nil && failed == nil {
		when = fmt.Sprintf("%s in the layout %s", parts.Time.Format("2006-01-02T15:04:05.000Z"), k.layout)
	}
	least, _ := k.layout.MinID(time.Now())
	c.add(t, k.at.Name, FutureKey, fix{note: "no statement fixes that: if the rows were made with another layout, use that one, or keep the keys of both apart"},
		"its greatest key is %s, which is %s, and the next key is about %d: new rows sort before that one, and a later key may be one that is there", whole, when, least)
	return nil
}

// checkReference looks at a column that refers to another. It has to hold 64 bits when that is a key of snowflakes, and else as much as
// the other.
func (c *checker) checkReference(ctx context.Context, from, to place, filled bool) error {
	child, err := c.table(ctx, from.table)
	if err != nil || child == nil || child.View != "" {
		return err
	}
	parent, err := c.table(ctx, to.table)
	if err != nil {
		return err
	}
	column := child.Column(from.column, c.fold)
	if column == nil {
		return nil
	}
	bits, what := 0, ""
	if parent != nil && parent.View == "" {
		if at := parent.Column(to.column, c.fold); at != nil {
			bits, filled = at.Bits, filled || c.isKey(parent, at)
			what = "the key " + at.Name + " of " + parent.String()
		}
	}
	if filled {
		bits = max(bits, 64)
		what = cmp.Or(what, "the key "+to.column+" of "+to.table.String())
	}
	problem := catalog.Misfit(column, bits)
	if bits == 0 || problem == "" || c.found(child, column) {
		return nil
	}
	m, err := c.fixer.widen(ctx, c, child, column)
	if err != nil {
		return err
	}
	c.add(child, column.Name, NarrowReference, m, "it refers to %s, and its type is %s: %s", what, column.Type, problem)
	return nil
}

// found reports whether the width of a column is a finding already.
func (c *checker) found(t *catalog.Table, col *catalog.Column) bool {
	return slices.ContainsFunc(c.findings, func(f Finding) bool {
		return f.Table == t.String() && f.Column == col.Name && (f.Kind == NarrowKey || f.Kind == WrongType || f.Kind == NarrowReference)
	})
}

func (c *checker) add(t *catalog.Table, column string, kind Kind, m fix, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if m.note != "" {
		text += "; " + m.note
	}
	f := Finding{Table: t.String(), Column: column, Kind: kind, Text: text, Fix: m.statements}
	// A table that is given twice is checked twice.
	if !slices.ContainsFunc(c.findings, func(old Finding) bool { return old.Table == f.Table && old.Column == f.Column && old.Kind == f.Kind }) {
		c.findings = append(c.findings, f)
	}
}
