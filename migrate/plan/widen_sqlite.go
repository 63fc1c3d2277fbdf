package plan

import (
	"fmt"
	"strings"
)

// widenSQLite has nothing to widen: SQLite's integers have 64 bits, whatever their type is called. Nor can it have SQLite stop numbering rows that
// come without an INTEGER PRIMARY KEY, with AUTOINCREMENT or without it: the plan says so, and before a rekey looks for writers that rely on it.
func (b *builder) widenSQLite() {
	var numbered []*column
	var all []watched // that get new ids
	var names, back []string
	for _, c := range b.columns {
		if !c.key || !c.of.Counts(c.column) {
			continue
		}
		numbered, names = append(numbered, c), append(names, c.full())
		if key := b.plan.Key(c.table); key != nil && key.Map != "" { // nil where something stands in the way
			all = append(all, b.greatest(c))
			if c.column.Auto != "" && key.Next <= key.Below { // new rows that are gone again have left their number
				back = append(back, fmt.Sprintf("UPDATE %s.sqlite_sequence SET seq = max(%d, (SELECT coalesce(max(%s), 0) FROM %s)) WHERE name = %s AND seq >= %d",
					b.quote(c.of.Full.Schema), max(key.Next-1, 0), b.quote(c.column.Name), b.quoted(c.table), b.literal(c.of.Full.Name), key.Below))
			}
		}
	}
	if len(numbered) == 0 {
		return
	}
	// NEW has -1 for a key that the INSERT leaves out or has NULL for: SQLite 3.53.4, in all forms of INSERT.
	k := numbered[0]
	b.note(fmt.Sprintf("SQLite goes on to number rows that come without their key, with AUTOINCREMENT and without it: by the greatest key there is, or was with AUTOINCREMENT, plus 1. "+
		"After the first snowflake that is a number that a generator may make, too, so see that every writer fills its keys. It is so of %s. A trigger refuses such rows, once no writer is left that needs them: "+
		"CREATE TRIGGER %s BEFORE INSERT ON %s WHEN NEW.%s = -1 BEGIN SELECT RAISE(ABORT, 'no key'); END",
		strings.Join(names, ", "), b.quote(k.of.Full.Name+"_key"), b.quoted(k.table), b.quote(k.column.Name)))
	if len(all) > 0 {
		b.beforeFlip(heldSince, all)
	}
	if len(back) > 0 {
		b.plan.Steps[len(b.plan.Steps)-1].Undo = &Action{Kind: Transactional, RowsOnly: true, SQL: back}
	}
}
