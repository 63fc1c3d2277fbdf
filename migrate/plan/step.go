package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Step is one step: what is done, what undoes it, and what a reviewer has to know of it. Estimates are -1 where unknown, and 0 where there is nothing to speak of.
type Step struct {
	Title     string   `json:"title"`            // with … in place of Names; steps of one title are read together
	Names     []string `json:"names,omitempty"`  // what the title has in place of …
	Phase     string   `json:"phase"`            // expand, flip, map, rewrite, check, swap, contract
	Tables    []string `json:"tables,omitempty"` // of Plan.Tables, those that the step reads or changes
	Lock      Lock     `json:"lock,omitzero"`
	Algorithm string   `json:"algorithm,omitempty"` // INSTANT, INPLACE, COPY, catalog only, rewrite, batches
	Rows      int64    `json:"rows"`
	Bytes     int64    `json:"bytes"` // written, at about
	Disk      int64    `json:"disk"`  // more than before, at its peak, at about
	Do        Action   `json:"do"`
	Undo      *Action  `json:"undo,omitempty"`
	Kept      string   `json:"kept,omitempty"`    // why there is no Undo, where Do changes something: a rollback leaves it as it is. With Final: it cannot be undone
	Changes   []Change `json:"changes,omitempty"` // of definitions, by Do
	Left      []Change `json:"left,omitempty"`    // of definitions, by Do and Undo together
	Final     bool     `json:"final,omitempty"`   // once it is done there is no rollback
}

// String returns the title with its names.
func (s *Step) String() string { return filled(s.Title, s.Names) }

// copies reports whether the step writes tables anew: the old ones go when the new ones are there.
func (s *Step) copies() bool { return s.Algorithm == "rewrite" || s.Algorithm == "COPY" }

// filled puts each name in the place of a ….
func filled(pattern string, names []string) string {
	for _, name := range names {
		pattern = strings.Replace(pattern, "…", name, 1)
	}
	return pattern
}

// Lock says who waits for a step. Its zero value is no lock.
type Lock struct {
	Waits string `json:"waits"`           // rows: writes of some rows; writes: all writes of a table; all: reads and writes; changes of definitions: other DDL
	Brief bool   `json:"brief,omitempty"` // for a moment, and not for as long as rows are read or written
	Text  string `json:"text"`            // in words: what others cannot do meanwhile
}

// What waits for a lock.
const (
	rowWrites         = "rows"                   // writes of some rows
	allWrites         = "writes"                 // all writes of a table
	readsAndWrites    = "all"                    // reads and writes of a table
	definitionChanges = "changes of definitions" // other DDL of the table
)

// String returns the lock in a word.
func (l Lock) String() string {
	word := cmp.Or(l.Waits, "none")
	if l.Brief {
		word += ", briefly"
	}
	return word
}

// Kind says how an action is done.
type Kind string

// The kinds of actions.
const (
	// Transactional: all of SQL and the journal's row are one transaction.
	Transactional Kind = "transactional"
	// Autocommit: each statement of SQL commits by itself. Applied has a query for each, for 1 when its effect is there, 0 when not: before the
	// statement 0, after it 1. The order of several does not matter. Repair, of a single one, is run before it is tried again.
	Autocommit Kind = "autocommit"
	// Batch: Before, SQL, with :after and :upto, After, and the journal's cursor are one transaction, for one range after (:after, :upto]
	// another. Cursor is a query, with :after and :rows, for the upper end of the next range, NULL at the end; it begins at the least int64. When the
	// end is reached and Remaining is a query, and it gives more than 0, the batches begin anew, up to ten times.
	Batch Kind = "batch"
	// FillMap: package mapping fills the map of the key Table.
	FillMap Kind = "fill map"
	// ReserveNode: the plan's node is taken in the table of grants for all time.
	ReserveNode Kind = "reserve node"
	// Count: the numbers that Queries give are written to the journal, as a JSON array.
	Count Kind = "count"
	// Digest: package verify writes the digest of the Table's other columns to the journal.
	Digest Kind = "digest"
	// Assert: each of Queries has to give Want, or what the Count of the step Baseline has found for the same subject.
	// Otherwise the run stops, names all that differ with their Remedy, and says OnFailure.
	Assert Kind = "assert"
	// AssertStable: each of Queries has to give the same number or text for Window. Otherwise the run
	// stops, says which have moved, from where, to where and how fast, and says OnFailure.
	AssertStable Kind = "assert stable"
	// Hold: the run ends here, and says Text; one that is told to continue at Name goes on.
	Hold Kind = "hold"
)

// The names of the holds that [Make] puts into plans, as migrate.RunOptions.Continue and --continue take them. A plan has each at most once.
const (
	DeployWriters = "deploy-writers" // until the program that fills its keys is deployed, before the database stops making keys
	DropMaps      = "drop-maps"      // until the result was verified, before the maps of old ids to new ones are dropped
)

// Here stands for the hold that a run stands at, whichever that is. No hold has that name.
const Here = "here"

// Action is what is done in a step. Its Kind says which fields it has.
type Action struct {
	Kind         Kind          `json:"kind"`
	Name         string        `json:"name,omitempty"`    // of a Hold; no other of the plan has it
	Session      []string      `json:"session,omitempty"` // statements that are run first, on a connection that only actions with the same statements use
	Before       []string      `json:"before,omitempty"`  // of a Batch: statements that change no rows
	SQL          []string      `json:"sql,omitempty"`
	After        []string      `json:"after,omitempty"`        // of a Batch: statements that change no rows
	RowsOnly     bool          `json:"rows_only,omitempty"`    // of a Transactional: SQL changes no definitions, so the schema is not looked at
	Concurrently bool          `json:"concurrently,omitempty"` // of an Autocommit: it waits for older transactions, and nobody waits for it, so no limit is for its locks
	Applied      []string      `json:"applied,omitempty"`
	Repair       []string      `json:"repair,omitempty"`
	Cursor       string        `json:"cursor,omitempty"`
	Remaining    string        `json:"remaining,omitempty"`
	Table        string        `json:"table,omitempty"`
	Queries      []Query       `json:"queries,omitempty"`
	Want         int64         `json:"want,omitempty"`
	Baseline     int           `json:"baseline,omitempty"` // the number of a Count step, from 1
	OnFailure    string        `json:"on_failure,omitempty"`
	Window       time.Duration `json:"window_ns,omitempty"`
	Text         string        `json:"text,omitempty"`
}

// Query is one of the queries of a Count, Assert or AssertStable, for one value.
type Query struct {
	About   string   `json:"about"`           // in words, with … in place of Names
	Names   []string `json:"names,omitempty"` // what About has in place of …
	SQL     string   `json:"sql"`
	Subject Subject  `json:"subject,omitzero"`
	Remedy  string   `json:"remedy,omitempty"` // the statement that repairs what an Assert has found
}

// String returns what the query is about, with its names. No two queries of an action are about the same.
func (q Query) String() string { return filled(q.About, q.Names) }

// Subject is what is counted more than once: before the first row changes, after the last one, and by verify. Its zero value is of what is counted once.
type Subject struct {
	Counts string `json:"counts"` // rows of the table; orphans: values of a reference that are keys of no row; broken: rows that break a foreign key
	Table  string `json:"table"`
	Name   string `json:"name,omitempty"` // of the reference, as [Reference.String] has it, or of the foreign key, empty for all of the table
}

// RowsOf is the subject of the query for how many rows a table has.
func RowsOf(table string) Subject { return Subject{Counts: "rows", Table: table} }

// OrphansOf is the subject of the query for how many values of a reference are keys of no row.
func OrphansOf(r Reference) Subject { return Subject{"orphans", r.Table, r.String()} }

// BrokenOf is the subject of the query for how many rows of a table break a foreign key, or one of all where it has no name.
func BrokenOf(table, foreignKey string) Subject { return Subject{"broken", table, foreignKey} }

// String returns the reference's column, the place in it, whose rows are meant, and the table that it refers to.
func (r Reference) String() string { return r.from() + " → " + r.To }

// from returns the reference's column, the place in it, and whose rows are meant.
func (r Reference) from() string {
	text := r.Table + "." + r.Column
	if r.Path != "" {
		text += ":" + r.Path
	}
	if r.OwnerType != "" {
		text += " (" + r.Owner + ")"
	}
	return text
}

// Found returns the numbers of a Count as the journal has them; Numbers reads them again.
func Found(numbers []int64) (string, error) {
	text, err := json.Marshal(numbers)
	return string(text), err
}

// Numbers returns what the queries of a Count have found, of what the journal has. It fails for what is not one number for each.
func (a *Action) Numbers(found string) (numbers []int64, err error) {
	if err := json.Unmarshal([]byte(found), &numbers); err != nil {
		return nil, fmt.Errorf("plan: what was counted is no list of numbers: %q: %w", found, err)
	}
	if len(numbers) != len(a.Queries) {
		return nil, fmt.Errorf("plan: %d numbers were counted, of %d: %q", len(numbers), len(a.Queries), found)
	}
	return numbers, nil
}

// Validate returns an error when an action of the plan is of no known kind, or lacks what its kind needs.
func (p *Plan) Validate() error {
	for i := range p.Steps {
		for _, a := range []*Action{&p.Steps[i].Do, p.Steps[i].Undo} {
			if a == nil {
				continue
			}
			if err := p.check(a); err != nil {
				return fmt.Errorf("step %d (%s): %w", i+1, &p.Steps[i], err)
			}
		}
	}
	return nil
}

func (p *Plan) check(a *Action) error {
	switch a.Kind {
	case Transactional:
		if len(a.SQL) == 0 {
			return errors.New("no statement")
		}
	case Autocommit:
		if len(a.SQL) == 0 || len(a.Applied) != len(a.SQL) || slices.Contains(a.Applied, "") || len(a.SQL) > 1 && len(a.Repair) > 0 {
			return errors.New("want statements, with a query for whether each was run, and no repair of several")
		}
	case Batch:
		if len(a.SQL) == 0 || a.Cursor == "" {
			return errors.New("want statements, and a query for their ranges")
		}
	case FillMap:
		if p.Key(a.Table) == nil {
			return fmt.Errorf("the plan has no key of the table %s", a.Table)
		}
	case Count, Assert, AssertStable:
		return p.checkQueries(a)
	case Hold:
		if a.Name == "" || a.Name == Here {
			return fmt.Errorf("a hold needs a name that is not %q, and has %q", Here, a.Name)
		}
		if first := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Do.Kind == Hold && s.Do.Name == a.Name }); &p.Steps[first].Do != a {
			return fmt.Errorf("step %d has the name %q, too", first+1, a.Name)
		}
	case ReserveNode, Digest:
	default:
		return fmt.Errorf("the kind %q is not known", a.Kind)
	}
	return nil
}

// checkQueries returns an error when two queries are about the same, or when what an Assert is compared with is not counted.
func (p *Plan) checkQueries(a *Action) error {
	if len(a.Queries) == 0 {
		return errors.New("want queries")
	}
	seen := map[string]bool{}
	for _, q := range a.Queries {
		if q.SQL == "" || q.About == "" || seen[q.String()] {
			return fmt.Errorf("two queries are about %q, or one about nothing", q)
		}
		seen[q.String()] = true
		if a.Baseline == 0 {
			continue
		}
		if a.Baseline < 0 || a.Baseline > len(p.Steps) || p.Steps[a.Baseline-1].Do.Kind != Count {
			return fmt.Errorf("the step %d counts nothing", a.Baseline)
		}
		if q.Subject == (Subject{}) || !slices.ContainsFunc(p.Steps[a.Baseline-1].Do.Queries, func(o Query) bool { return o.Subject == q.Subject }) {
			return fmt.Errorf("the step %d does not count the %s", a.Baseline, q)
		}
	}
	return nil
}
