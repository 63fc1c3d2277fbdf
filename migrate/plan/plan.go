package plan

import (
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// Schema is the number of the plan's form, raised when a field changes its meaning or goes.
const Schema = 3

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
	Notes       []string         `json:"notes"`                // what to know before it is run
	Refusals    []Refusal        `json:"refusals,omitempty"`   // of inserts, by the steps that end the keys that the database makes
	Silent      bool             `json:"silent,omitempty"`     // sessions set PostgreSQL's session_replication_role, which a run needs the right for
	Privileges  []string         `json:"privileges,omitempty"` // of MySQL, that the user needs on each table beside SELECT and UPDATE
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
