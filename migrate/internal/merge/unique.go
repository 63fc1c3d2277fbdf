package merge

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// lookups is how many values are looked for at once.
const lookups = 500

// unique is a set of columns whose values together are in one row at most.
type unique struct {
	columns []*catalog.Column
	where   string // of a partial index
	name    string
}

// proveOthers compares the keys of a table that are not one integer.
func (m *merger) proveOthers(ctx context.Context, t *table, found *clashing) (Proof, error) {
	p := Proof{Table: t.text, Nodes: make([][]int64, len(m.sides))}
	for _, s := range m.sides {
		n, err := s.count(ctx, s.statement("SELECT COUNT(*) FROM ", t.quoted))
		if err != nil {
			return p, err
		}
		p.Rows = append(p.Rows, n)
	}
	clashes, first, err := m.twice(ctx, t, unique{columns: t.at(t.key), name: "the key"})
	if err != nil {
		return p, err
	}
	p.Clashes, t.rows = clashes, p.Rows
	p.Text = m.sentence(t, p)
	if clashes > 0 {
		p.Text += ", the first " + first
	}
	if clashes > 0 && !found.ids() {
		found.values = append(found.values, fmt.Sprintf("%s: new ids do not help here, since keys of several columns clash and no ids", t.text))
	}
	return p, nil
}

// proveUnique looks for values of a table's other unique indexes that are in two databases. Those with integers are not looked at where
// ids clash: they are most often references, which change with these.
func (m *merger) proveUnique(ctx context.Context, t *table, found *clashing) error {
	for _, i := range t.Indexes {
		places := t.places(i.Columns) // none for expressions: what clashes there is an error of the copy
		if i.Primary || !i.Unique || places == nil || slices.Equal(places, t.key) {
			continue
		}
		u := unique{t.at(places), i.Where, i.Name}
		integers := slices.ContainsFunc(u.columns, func(c *catalog.Column) bool { return c.Class == catalog.Integer })
		if integers && found.ids() {
			continue
		}
		n, first, err := m.twice(ctx, t, u)
		if err != nil {
			return err
		}
		if n > 0 {
			found.values = append(found.values, fmt.Sprintf("%s: %s values of the unique index %s (%s) are in two databases, the first is %s: change them in one",
				t.text, group(n), i.Name, strings.Join(names(u.columns), ", "), first))
		}
	}
	return nil
}

// twice counts the values of a database that are in one before it, too, as these find them to be equal. Rows that were copied before are in
// Into, and are left out of their own database.
func (m *merger) twice(ctx context.Context, t *table, u unique) (clashes int64, first string, err error) {
	for j, s := range m.sides {
		if s.into {
			continue
		}
		after := m.journal.of(s, t).upto
		doing, began, rows := fmt.Sprintf("compare %s of %s", u.name, t.text), time.Now(), int64(0)
		for {
			values, last, err := u.page(ctx, s, t, after)
			if err != nil {
				return 0, "", err
			}
			if last == nil {
				break
			}
			after = last
			for i, other := range m.sides[:j] {
				if len(values) == 0 {
					break
				}
				q := other.statement("SELECT ", strings.Join(other.read(u.columns), ", "), " FROM ", t.quoted, " WHERE ")
				q.in(other.quote(names(u.columns)...), values)
				u.only(q)
				met, err := t.read(ctx, other, q, u.columns, math.MaxInt)
				if err != nil {
					return 0, "", err
				}
				if clashes == 0 && len(met) > 0 {
					first = fmt.Sprintf("%s, in %s and %s", show(met[0]), m.sides[i].label, s.label)
				}
				clashes += int64(len(met))
			}
			rows += int64(len(values))
			m.report(doing, rows, -1, began)
		}
	}
	return clashes, first, nil
}

// page reads values, those of rows after a key or the first, and the last of these rows' keys, nil at the end. Values with a NULL never clash.
func (u unique) page(ctx context.Context, s *side, t *table, after []any) (values [][]any, last []any, err error) {
	columns := append(t.at(t.key), u.columns...)
	key := s.quote(t.keyNames()...)
	q := s.statement("SELECT ", strings.Join(s.read(columns), ", "), " FROM ", t.quoted, " r WHERE 1 = 1")
	u.only(q)
	if after != nil {
		q.add(" AND ")
		q.after(key, after)
	}
	q.by(key, lookups)
	rows, err := t.read(ctx, s, q, columns, heavy)
	for _, row := range rows {
		last = row[:len(t.key)]
		if value := row[len(t.key):]; !slices.Contains(value, any(nil)) {
			values = append(values, value)
		}
	}
	return values, last, err
}

// only appends the condition of a partial index.
func (u unique) only(q *statement) {
	if u.where != "" {
		q.add(" AND (", u.where, ")")
	}
}
