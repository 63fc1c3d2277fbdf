package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Writers are inserts of one kind.
type Writers string

// The kinds of writers.
const (
	Keyless Writers = "keyless" // they leave keys to the database
	Filling Writers = "filling" // they fill keys with snowflakes
)

// Refusal is a span of steps in which the plan refuses the inserts of one kind of writer: from the end of the step From to the end of the step To, or for good where To is 0.
type Refusal struct {
	Writers Writers       `json:"writers"`
	From    int           `json:"from"`
	To      int           `json:"to,omitempty"`
	Hold    int           `json:"hold,omitempty"`    // the step at which to deploy writers of that kind, and not before
	Most    time.Duration `json:"most_ns,omitempty"` // how long the run that goes on from Hold refuses them: the window, and about the time of the statements; waits for locks add to it
}

// flipTable is what the end of a table's counter takes, at about, where the catalog alone is changed.
const flipTable = 50 * time.Millisecond

// gateTime returns for how long a run refuses writers that fill keys at most: for the window, and while a step ends the counters of some tables.
func (b *builder) gateTime(tables int, flip Step) time.Duration {
	return b.options.Window + time.Duration(tables)*flipTable + max(flip.expected(), 0)
}

// gateRefuses says how long that is, and what it is made of.
func (b *builder) gateRefuses(tables int, flip Step) string {
	what := "a change of the catalog of " + counted(tables, "table")
	if flip.Rows != 0 {
		what = fmt.Sprintf("copies of %s with about %s rows", counted(tables, "table"), grouped(flip.Rows))
	}
	return fmt.Sprintf("Run on at once: inserts that fill keys are refused until then, and for about %s of that run at the most, the window of %s and %s, "+
		"and for longer only while other transactions keep the locks of a table.", b.gateTime(tables, flip), b.options.Window, what)
}

// refusesFilling notes that the gates refuse writers until the step that was added last.
func (b *builder) refusesFilling(tables int) {
	r := Refusal{Writers: Filling, From: b.gated, To: len(b.plan.Steps), Most: b.gateTime(tables, b.plan.Steps[len(b.plan.Steps)-1])}
	for i, s := range b.plan.Steps {
		if s.Do.Kind == Hold {
			r.Hold = i + 1
		}
	}
	b.plan.Refusals = append(b.plan.Refusals, r)
}

// refusesKeyless notes that keyless writers are refused from the step on that was added last.
func (b *builder) refusesKeyless() {
	b.plan.Refusals = append(b.plan.Refusals, Refusal{Writers: Keyless, From: len(b.plan.Steps)})
}

// refusals writes which inserts are refused, by which steps and for how long.
func (w *writer) refusals(p *Plan) {
	if len(p.Refusals) == 0 {
		return
	}
	keyless, filling := 0, ""
	for i, s := range p.Steps {
		if s.Do.Kind == Hold {
			filling = fmt.Sprintf("never, where their writers are deployed at the hold of step %d", i+1)
			break
		}
	}
	for _, r := range p.Refusals {
		switch r.Writers {
		case Keyless:
			keyless = r.From
		case Filling:
			filling = fmt.Sprintf("from step %d until a run with --continue=%s has done step %d; deploy their writers at the hold of step %d, not before, and run on at once: "+
				"then for about %s, longer only while others keep a table's lock", r.From, DeployWriters, r.To, r.Hold, r.Most)
		}
	}
	w.comment("inserts refused", fmt.Sprintf("those that leave keys to the database: from step %d on, for good. Those that fill keys: %s", keyless, filling))
}

// made returns the keys that the database makes.
func (b *builder) made() []*column {
	var keys []*column
	for _, c := range b.columns {
		if c.key && c.column.Auto != "" {
			keys = append(keys, c)
		}
	}
	return keys
}

// watched is what an AssertStable looks at of one key that the database makes.
type watched struct{ table, key, query string }

// sequenceWatched looks at a sequence of PostgreSQL. One that gave its first number has the same last_value as before.
func sequenceWatched(table, key, sequence string) watched {
	return watched{table, key, "SELECT CASE WHEN is_called THEN last_value::text ELSE 'no number' END FROM " + sequence}
}

// beforeFlip adds the hold in which writers are deployed, and the one step that makes sure that none is left of the others, for all keys that
// the database makes.
func (b *builder) beforeFlip(deploy string, all []watched) {
	b.add(Step{
		Title: "deploy writers that fill their keys", Phase: "flip",
		Do: Action{Kind: Hold, Name: DeployWriters, Text: deploy},
	})
	stable := Action{Kind: AssertStable, Window: b.options.Window, OnFailure: stillOld}
	switch b.dialect() {
	case dialect.SQLite:
		stable.OnFailure += " From the first new id on SQLite numbers its rows by the greatest key there is plus 1, which may be the new id of another row."
	case dialect.MySQL:
		stable.OnFailure += " From the flip on its inserts fail. SHOW FULL PROCESSLIST has the sessions, with the hosts that they come from."
	case dialect.Postgres:
		stable.OnFailure += " From the flip on its inserts fail. pg_stat_activity has the sessions, with the addresses that they come from and their last statements."
	}
	var tables []string
	for _, w := range all {
		tables, stable.Queries = append(tables, w.table), append(stable.Queries, Query{About: "…", Names: []string{w.key}, SQL: w.query})
	}
	b.add(Step{
		Title: fmt.Sprintf("make sure, for %s, that no writer leaves its keys to the database", b.options.Window), Phase: "flip", Tables: tables, Do: stable,
	})
}

// listed returns the keys, or how many there are.
func listed(all []watched) string {
	if len(all) > 3 {
		return fmt.Sprintf("%d tables", len(all))
	}
	var names []string
	for _, w := range all {
		names = append(names, w.key)
	}
	return strings.Join(names, ", ")
}

// waitTogether says what waits for a step of PostgreSQL's that takes the locks of some tables together.
func waitTogether(tables int) Lock {
	if tables == 1 {
		return alteringWaits
	}
	return Lock{readsAndWrites, true, "reads and writes of the tables wait for a moment: all locks are waited for together, for 0.8 seconds at a time, and asked for again"}
}

// greatest looks at the greatest id of a key that the database has made.
func (b *builder) greatest(k *column) watched {
	column := b.quote(k.column.Name)
	query := fmt.Sprintf("SELECT COALESCE(MAX(%s), 0) FROM %s", column, b.quoted(k.table))
	if b.dialect() != dialect.MySQL || !counts(k) { // there, the gate lets no other in, and the counter may stand above the limit
		query += fmt.Sprintf(" WHERE %s < %d", column, b.options.Below)
	}
	return watched{k.table, k.full(), query}
}

// identity reports whether the column makes its keys as one, rather than by a default.
func identity(c *column) bool { return strings.Contains(c.column.Auto, "IDENTITY") }
