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
	var names []string
	for _, c := range b.columns {
		if !c.key || !strings.EqualFold(c.column.Type, "INTEGER") || c.of.Rowless {
			continue
		}
		numbered, names = append(numbered, c), append(names, c.full())
		if key := b.plan.Key(c.table); key != nil && key.Map != "" { // nil where something stands in the way
			all = append(all, b.greatest(c))
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
}
