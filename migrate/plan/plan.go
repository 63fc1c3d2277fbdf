package plan

import (
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// Schema is the number of the plan's form, raised when a field changes its meaning or goes.
const Schema = 2

// Mode is what a plan does to keys.
type Mode string

// The modes; see package migrate.
const (
	Widen  Mode = "widen"
	Rekey  Mode = "rekey"
	Shadow Mode = "shadow"
)

// Plan is a list of steps for one database. It is made by [Make], written by [Plan.WriteFiles] and read by [ReadFiles].
type Plan struct {
	Schema      int              `json:"schema"`
	Tool        string           `json:"tool"` // the program and its version
	Made        time.Time        `json:"made"`
	Mode        Mode             `json:"mode"`
	Database    inspect.Database `json:"database"`
	Tables      []string         `json:"tables"`      // whose definitions the fingerprint is of
	Fingerprint string           `json:"fingerprint"` // of the schema that the plan was made for
	Definitions []Definition     `json:"definitions"` // of that schema, which the fingerprint is of
	Layout      string           `json:"layout"`      // as idgen.ParseLayout reads it
	Node        int64            `json:"node"`        // that the new ids of old rows have, of idgen.Layout.Generators; -1 when none get any
	Grants      string           `json:"grants"`      // the table of grants, in which it is taken
	Space       string           `json:"space"`       // the key space there
	Keys        []Key            `json:"keys"`
	References  []Reference      `json:"references"`
	Notes       []string         `json:"notes"`              // what to know before it is run
	Refusals    []Refusal        `json:"refusals,omitempty"` // of inserts, by the steps that end the keys that the database makes
	Steps       []Step           `json:"steps"`
}

// Holds returns the names of the plan's holds, in their order.
func (p *Plan) Holds() []string {
	var names []string
	for i := range p.Steps {
		if do := &p.Steps[i].Do; do.Kind == Hold {
			names = append(names, do.Name)
		}
	}
	return names
}

// Key returns the plan's key of a table, nil when it changes none there.
func (p *Plan) Key(table string) *Key {
	i := slices.IndexFunc(p.Keys, func(k Key) bool { return k.Table == table })
	if i < 0 {
		return nil
	}
	return &p.Keys[i]
}

// Key is a key that the plan changes.
type Key struct {
	Table   string        `json:"table"`
	Column  string        `json:"column"`
	Created string        `json:"created,omitempty"` // the column that new ids have their time from, with Through of the table Parent; empty for Instant
	Through string        `json:"through,omitempty"` // the column of this table that refers to the key of another, whose Created it is then; see Parent
	Parent  string        `json:"parent,omitempty"`  // that table
	Instant *time.Time    `json:"instant,omitempty"` // the time of all of them
	Guessed string        `json:"guessed,omitempty"` // why Created or Through was taken, where nobody has named it
	Zone    string        `json:"zone,omitempty"`    // IANA name; of times without one
	Unit    time.Duration `json:"unit_ns,omitempty"` // what Created is exact to: within it, a new id's time is Created's
	Below   int64         `json:"below"`             // ids below are old, and others snowkey's already
	Next    int64         `json:"next,omitempty"`    // the number that the database would have given next when the plan was made; 0 when it counts none
	Map     string        `json:"map,omitempty"`     // the table with old_id and new_id; empty when old ids stay
	Shadow  string        `json:"shadow,omitempty"`  // the second column, in mode shadow
	Old     string        `json:"old,omitempty"`     // the first column's name after the swap, in mode shadow
}

// Reference is a reference that the plan widens or rewrites.
type Reference struct {
	inspect.Reference
	Via       string `json:"via,omitempty"`        // the table that it is declared to, where that is not To but one that has To's ids
	ViaColumn string `json:"via_column,omitempty"` // the column there
	Shadow    string `json:"shadow,omitempty"`     // the second column, in mode shadow
	Old       string `json:"old,omitempty"`        // the first column's name after the swap, in mode shadow
	Loose     bool   `json:"loose,omitempty"`      // the foreign key was never validated
}

// Step is one step. Estimates are -1 where unknown, and 0 where there is nothing to speak of.
type Step struct {
	Title     string   `json:"title"`
	Phase     string   `json:"phase"`               // expand, flip, map, rewrite, check, swap, contract
	Lock      string   `json:"lock,omitempty"`      // in words: what others cannot do meanwhile
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

// Kind says how an action is done.
type Kind string

// The kinds of actions.
const (
	// Together: all of SQL and the journal's row are one transaction.
	Together Kind = "together"
	// Apart: SQL is one statement that commits by itself. Applied is a query for 1 when its effect is there, 0 when not: before the statement 0, after it 1.
	// Repair are statements that are run before it is tried again. Or SQL are several such statements, in an order that does not matter, and
	// AppliedEach has the query of each; then there is no Repair.
	Apart Kind = "apart"
	// Batch: all of SQL, with :after and :upto, and the journal's cursor are one transaction, for one range after (:after, :upto]
	// another. Cursor is a query, with :after and :rows, for the upper end of the next range, NULL at the end; it begins at the least int64. When the
	// end is reached and Again is a query, and it gives more than 0, the batches begin anew, up to ten times.
	Batch Kind = "batch"
	// Map: package mapping fills the map of the key Table.
	Map Kind = "map"
	// Reserve: the plan's node is taken in the table of grants for all time.
	Reserve Kind = "reserve"
	// Count: SQL are queries, each for a number; Each says what each is about. The numbers are written to the journal, as a JSON array.
	Count Kind = "count"
	// Digest: package verify writes the digest of the Table's other columns to the journal.
	Digest Kind = "digest"
	// Expect: SQL are queries, each for a number, which has to be Want, or what the Count step of the title Like has found for the same of Each.
	// Otherwise the run stops, names all that differ with their Remedy, and says Otherwise.
	Expect Kind = "expect"
	// Steady: SQL are queries, each for a number or text; Each says what each is about. All have to stay the same for Window. Otherwise the run
	// stops, says which have moved, from where, to where and how fast, and says Otherwise.
	Steady Kind = "steady"
	// Hold: the run ends here, and says Text; one that is told to continue at Name goes on.
	Hold Kind = "hold"
)

// The names of the holds that [Make] puts into plans, as run.Options.Continue and --continue take them. A plan has each at most once.
const (
	DeployWriters = "deploy-writers" // until the program that fills its keys is deployed, before the database stops making keys
	DropMaps      = "drop-maps"      // until the result was verified, before the maps of old ids to new ones are dropped
)

// Action is what is done in a step.
type Action struct {
	Kind        Kind          `json:"kind"`
	Name        string        `json:"name,omitempty"`    // of a Hold; no other of the plan has it
	Session     []string      `json:"session,omitempty"` // statements that are run first, on a connection that only actions with the same statements use
	SQL         []string      `json:"sql,omitempty"`
	Each        []string      `json:"each,omitempty"` // of a Count, Expect or Steady: what each of SQL is about, in words; see RowsOf
	Applied     string        `json:"applied,omitempty"`
	AppliedEach []string      `json:"applied_each,omitempty"` // of an Apart of several statements
	Repair      []string      `json:"repair,omitempty"`
	Cursor      string        `json:"cursor,omitempty"`
	Again       string        `json:"again,omitempty"`
	Table       string        `json:"table,omitempty"`
	Want        int64         `json:"want,omitempty"`
	Like        string        `json:"like,omitempty"`
	Otherwise   string        `json:"otherwise,omitempty"`
	Remedy      []string      `json:"remedy,omitempty"` // of an Expect: statements that put right what each of SQL finds; one for each, or none at all
	Window      time.Duration `json:"window_ns,omitempty"`
	Text        string        `json:"text,omitempty"`
}

// Effects returns the queries of an Apart for whether its statements have their effects, one for each.
func (a *Action) Effects() []string {
	if len(a.AppliedEach) > 0 {
		return a.AppliedEach
	}
	return []string{a.Applied}
}

// apart returns the Apart of statements, and a query for each.
func apart(sql, applied []string) Action {
	if len(sql) == 1 {
		return Action{Kind: Apart, SQL: sql, Applied: applied[0]}
	}
	return Action{Kind: Apart, SQL: sql, AppliedEach: applied}
}
