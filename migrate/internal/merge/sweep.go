package merge

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// sweep compares every row of a database with its copy, and copies those that came behind what was copied already. It does not look again at what a
// merge before has compared: these rows are Into's own from then on.
func (m *merger) sweep(ctx context.Context, t *table, s *side, total int64) error {
	doing, began, seen := fmt.Sprintf("look again at %s from %s", t.text, s.label), time.Now(), int64(0)
	at := m.journal.of(s, t)
	if !at.there || slices.EqualFunc(at.upto, at.swept, same) {
		return nil
	}
	after := at.swept
	for {
		rows, err := t.page(ctx, s, after, lookups)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		after = t.keyOf(rows[len(rows)-1])
		if err := m.compare(ctx, t, s, rows); err != nil {
			return err
		}
		seen += int64(len(rows))
		m.report(doing, seen, max(total, seen), began)
	}
	to := *at
	to.upto, to.swept = after, after
	err := m.transaction(ctx, func(tx *sql.Tx) error { return m.journal.move(ctx, tx, s, t, at, to) })
	if err == nil {
		*at = to
	}
	return err
}

// compare compares rows with their copies.
func (m *merger) compare(ctx context.Context, t *table, s *side, rows [][]any) error {
	var keys [][]any
	for _, row := range rows {
		keys = append(keys, t.keyOf(row))
	}
	found, err := t.find(ctx, m.sides[0], keys)
	if err != nil {
		return err
	}
	copies := map[string][]any{}
	for _, row := range found {
		copies[spell(t.keyOf(row))] = row
	}
	var missing [][]any
	for i, row := range rows {
		there, ok := copies[spell(keys[i])]
		if !ok {
			missing = append(missing, row)
			continue
		}
		for c, value := range row {
			if !same(value, there[c]) {
				return fmt.Errorf("%w: the row %s of %s has in %s the %s %v, and %v in %s: was it changed after it was copied?", ErrCopied,
					show(keys[i]), t.text, s.label, t.columns[c].Name, text(value), text(there[c]), m.sides[0].label)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	at := m.journal.of(s, t)
	to := *at
	to.copied += int64(len(missing))
	if err := m.write(ctx, t, s, missing, at, to); err != nil {
		return err
	}
	*at = to
	m.outcome.Copied += int64(len(missing))
	return nil
}

// note says what is left to do where Into still makes keys.
func (m *merger) note(ctx context.Context) error {
	into := m.sides[0]
	for _, t := range m.tables {
		if !t.integer {
			continue
		}
		c := t.columns[t.key[0]]
		switch {
		case c.Auto == "":
		case c.Sequence != (catalog.Name{}):
			var greatest sql.NullInt64
			q := into.statement("SELECT MAX(", into.catalog.Quote(c.Name), ") FROM ", t.quoted)
			if err := into.each(ctx, q, func(scan func(...any) error) error { return scan(&greatest) }); err != nil {
				return err
			}
			m.outcome.Notes = append(m.outcome.Notes, fmt.Sprintf("%s still takes keys from the sequence %s, which did not move: the greatest key is %d now. Use setval, or end it where writers fill their keys",
				t.text, c.Sequence, greatest.Int64))
		default:
			m.outcome.Notes = append(m.outcome.Notes, fmt.Sprintf("%s still makes keys by %s, which goes on from the greatest key that was copied: end it before the first writer, where writers fill their keys",
				t.text, c.Auto))
		}
	}
	return nil
}
