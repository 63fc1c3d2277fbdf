package merge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// table is a table that is merged; it is the same in all databases.
type table struct {
	*catalog.Table                      // of Into
	text           string               // its name in messages, and in the journal
	quoted         string               // its name in statements
	columns        []*catalog.Column    // without those that are computed
	key            []int                // columns that identify its rows, by their places
	integer        bool                 // key is one integer
	refers         bool                 // which refers to another table's
	references     []*catalog.Reference // that it holds
	within         []*catalog.Reference // those of them within a circle of tables, or to itself
	rows           []int64              // of each side, once they are counted
}

// heavy is how many bytes are read at once, so that memory stays small where rows are large. Their copies are read whole.
const heavy = 16 << 20

// errHeavy ends a page early.
var errHeavy = errors.New("merge: the page is heavy")

// tableOf returns a table as it is merged, or why it cannot be.
func tableOf(s *side, name catalog.Name, t *catalog.Table) (*table, string) {
	m := &table{Table: t, text: name.String(), quoted: s.catalog.Quoted(name)}
	switch {
	case t.View != "":
		return nil, fmt.Sprintf("%s is a %s", m.text, t.View)
	case t.Related == "inherited":
		return nil, m.text + " shares its rows with the tables that inherit from it"
	case t.Versioned:
		return nil, m.text + " keeps its history, which would be lost: drop SYSTEM VERSIONING first"
	case s.dialect == dialect.MySQL && !transactional(t.Engine):
		return nil, fmt.Sprintf("%s is of the engine %s, which has no transactions: ALTER TABLE … ENGINE=InnoDB first", m.text, t.Engine)
	}
	for _, c := range t.Columns {
		if c.Generated == "" {
			m.columns = append(m.columns, c)
		}
	}
	if m.key = m.identify(); m.key == nil {
		return nil, m.text + " has no key by which its rows can be told apart: give it a primary key, or name the other tables"
	}
	m.integer = len(m.key) == 1 && m.columns[m.key[0]].Class == catalog.Integer
	return m, ""
}

// transactional reports whether an engine of MySQL is known to have transactions.
func transactional(engine string) bool {
	return slices.ContainsFunc([]string{"InnoDB", "RocksDB", "TokuDB", ""}, func(e string) bool { return strings.EqualFold(e, engine) })
}

// identify returns the primary key, or the columns of a unique index that cannot be NULL.
func (t *table) identify() []int {
	for _, i := range t.Indexes {
		if !i.Primary && (!i.Unique || i.Where != "" || !i.Valid) {
			continue
		}
		places := t.places(i.Columns)
		if places != nil && (i.Primary || !slices.ContainsFunc(places, func(p int) bool { return t.columns[p].Nullable })) {
			return places
		}
	}
	return nil
}

// places returns where columns are, nil when one is not there.
func (t *table) places(names []string) []int {
	var places []int
	for _, name := range names {
		p := slices.IndexFunc(t.columns, func(c *catalog.Column) bool { return c.Name == name })
		if p < 0 {
			return nil
		}
		places = append(places, p)
	}
	return places
}

// names returns the names of columns.
func names(columns []*catalog.Column) []string {
	var found []string
	for _, c := range columns {
		found = append(found, c.Name)
	}
	return found
}

// at returns columns by their places.
func (t *table) at(places []int) []*catalog.Column {
	var found []*catalog.Column
	for _, p := range places {
		found = append(found, t.columns[p])
	}
	return found
}

// keyNames returns the names of the key's columns.
func (t *table) keyNames() []string { return names(t.at(t.key)) }

// keyOf returns the key of a row.
func (t *table) keyOf(row []any) []any {
	var key []any
	for _, p := range t.key {
		key = append(key, row[p])
	}
	return key
}

// page reads rows in the order of the key, those after a key or the first.
func (t *table) page(ctx context.Context, s *side, after []any, limit int) ([][]any, error) {
	key := s.quote(t.keyNames()...)
	q := s.statement("SELECT ", strings.Join(s.read(t.columns), ", "), " FROM ", t.quoted, " r")
	if after != nil {
		q.add(" WHERE ")
		q.after(key, after)
	}
	q.by(key, limit)
	return t.read(ctx, s, q, t.columns, heavy)
}

// find reads the rows that have one of several keys.
func (t *table) find(ctx context.Context, s *side, keys [][]any) ([][]any, error) {
	q := s.statement("SELECT ", strings.Join(s.read(t.columns), ", "), " FROM ", t.quoted, " WHERE ")
	q.in(s.quote(t.keyNames()...), keys)
	return t.read(ctx, s, q, t.columns, math.MaxInt)
}

// read reads rows of columns, as values that are equal when what is stored is the same. It ends early, after at least one row, when they are
// heavier than the limit.
func (t *table) read(ctx context.Context, s *side, q *statement, columns []*catalog.Column, limit int) (rows [][]any, err error) {
	into, weight := make([]any, len(columns)), 0
	err = s.each(ctx, q, func(scan func(...any) error) error {
		row := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := scan(into...); err != nil {
			return err
		}
		for i, c := range columns {
			if row[i], err = canonical(s.dialect, c, row[i]); err != nil {
				return fmt.Errorf("%s.%s: %w", t.text, c.Name, err)
			}
		}
		rows = append(rows, row)
		if weight += weigh(row); weight > limit {
			return errHeavy
		}
		return nil
	})
	if errors.Is(err, errHeavy) {
		err = nil
	}
	return rows, err
}
