package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// guarded is a trigger of MariaDB that does not fire for the rows that batches rewrite.
type guarded struct {
	of *catalog.Table
	catalog.Trigger
}

// guard returns the steps that put the bodies of triggers into an IF, and those that take them out again: one for all triggers that were made under the same
// settings. Each of them undoes the other, so that no batch fires a trigger, forwards or back.
func (b *builder) guard(all []rewriting) (on, off []Step) {
	written := map[string]bool{}
	for _, r := range all {
		for _, m := range r.moves {
			written[m.table] = true
		}
	}
	for _, table := range slices.Sorted(maps.Keys(written)) {
		for _, t := range b.tables[table].Triggers {
			if t.Guard != nil {
				b.guards = append(b.guards, guarded{b.tables[table], t})
			}
		}
	}
	var names []string
	for rest := b.guards; len(rest) > 0; {
		session := rest[0].Guard.Session
		var left []guarded
		var of, tables []string
		var put, there, take, gone []string
		var changes, as []Change
		for _, t := range rest {
			if !slices.Equal(t.Guard.Session, session) {
				left = append(left, t)
				continue
			}
			of = append(of, t.of.Name.String()+"."+t.Name)
			if !slices.Contains(tables, t.of.Name.String()) {
				tables = append(tables, t.of.Name.String())
			}
			query := fmt.Sprintf("FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s AND TRIGGER_NAME = %[2]s AND BINARY TRIGGER_NAME = %[2]s AND ACTION_STATEMENT LIKE %[3]s",
				b.literal(t.of.Full.Schema), b.literal(t.Name), b.literal(catalog.Guarded+"%"))
			put, there = append(put, t.Guard.On), append(there, "SELECT COUNT(*) "+query)
			// One that somebody else has replaced meanwhile is left as it is.
			take, gone = append(take, t.Guard.Off), append(gone, "SELECT COUNT(*) = 0 "+query)
			what := "trigger " + t.Name
			changes = append(changes, Change{Of: b.of(t.of), What: what, Any: true})
			as = append(as, Change{Of: b.of(t.of), What: what, Text: b.text(b.of(t.of), what)})
		}
		rest, names = left, append(names, of...)
		step := func(verb string, do, undo Action, changes []Change) Step {
			do.Session, undo.Session = session, session
			return Step{
				Title: verb + " …", Names: []string{strings.Join(of, ", ")}, Phase: "rewrite", Tables: tables, Lock: writesInTurn, Algorithm: "catalog only",
				Do: do, Undo: &undo, Changes: changes,
			}
		}
		on = append(on, step("keep these triggers from firing in the sessions of the plan:", b.autocommit(put, there, "TRIGGER"), b.autocommit(take, gone, "TRIGGER"), changes))
		off = append(off, step("make these triggers as they were:", b.autocommit(take, gone, "TRIGGER"), b.autocommit(put, there, "TRIGGER"), as))
	}
	if len(names) > 0 {
		b.note(fmt.Sprintf("For the rows that the plan rewrites these triggers do not fire, for they are replaced for the time by ones that do nothing where %s is set, as it is in the plan's "+
			"own sessions; for all others they go on: %s. What they keep of ids in other places has the old ones, unless that is a reference of the plan. "+
			"Deploy no change of these triggers until the rows are rewritten: the run stops and says so.", catalog.GuardVariable, strings.Join(names, ", ")))
	}
	return on, off
}
