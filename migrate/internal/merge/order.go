package merge

import (
	"context"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// order puts parents before children, finds the references within circles of tables, and says which references cannot be kept.
func (m *merger) order(ctx context.Context) (wrong []string, err error) {
	var read []*catalog.Table
	for _, t := range m.tables {
		read = append(read, t.Table)
	}
	references, err := m.sides[0].catalog.References(ctx, read...)
	if err != nil {
		return nil, err
	}
	byName := map[catalog.Name]*table{}
	for _, t := range m.tables {
		byName[t.Full] = t
	}
	for _, r := range references {
		child, parent := byName[r.Child], byName[r.Parent]
		switch {
		case child == nil: // a table that is not merged may refer to one that is
		case parent == nil:
			wrong = append(wrong, fmt.Sprintf("%s refers to %s, which is not merged: name it, too", child.text, r.Parent))
		default:
			child.references = append(child.references, r)
			if slices.Equal(r.Columns, child.keyNames()) {
				child.refers = true
			}
		}
	}
	w := &walk{byName: byName, number: map[*table]int{}, low: map[*table]int{}}
	for _, t := range m.tables {
		if w.number[t] == 0 {
			w.visit(t)
		}
	}
	m.tables = w.order
	return wrong, nil
}

// walk finds the circles of tables that refer to each other, as Tarjan has described it; those that others refer to come first.
type walk struct {
	byName      map[catalog.Name]*table
	number, low map[*table]int
	stack       []*table
	order       []*table
}

func (w *walk) visit(t *table) {
	w.number[t] = len(w.number) + 1
	w.low[t] = w.number[t]
	w.stack = append(w.stack, t)
	for _, r := range t.references {
		parent := w.byName[r.Parent]
		if w.number[parent] == 0 {
			w.visit(parent)
			w.low[t] = min(w.low[t], w.low[parent])
		} else if slices.Contains(w.stack, parent) {
			w.low[t] = min(w.low[t], w.number[parent])
		}
	}
	if w.low[t] < w.number[t] {
		return
	}
	from := slices.Index(w.stack, t)
	circle := slices.Clone(w.stack[from:])
	w.stack = w.stack[:from]
	for _, member := range circle {
		for _, r := range member.references {
			if slices.Contains(circle, w.byName[r.Parent]) {
				member.within = append(member.within, r)
			}
		}
	}
	w.order = append(w.order, circle...)
}

// orphans returns the number of rows whose reference is to no row.
func (m *merger) orphans(ctx context.Context, s *side, t *table, r *catalog.Reference) (int64, error) {
	i := slices.IndexFunc(m.tables, func(p *table) bool { return p.Full == r.Parent })
	q := s.statement("SELECT COUNT(*) FROM ", t.quoted, " c LEFT JOIN ", m.tables[i].quoted, " p ON ")
	for i, c := range r.Columns {
		if i > 0 {
			q.add(" AND ")
		}
		q.add("p.", s.catalog.Quote(r.To[i]), " = c.", s.catalog.Quote(c))
	}
	q.add(" WHERE p.", s.catalog.Quote(r.To[0]), " IS NULL")
	for _, c := range r.Columns {
		q.add(" AND c.", s.catalog.Quote(c), " IS NOT NULL")
	}
	return s.count(ctx, q)
}
