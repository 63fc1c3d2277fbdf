package plan

import (
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// Schema is the number of the plan's format. It is raised when a field changes its meaning or goes, and a program reads plans of its own number alone.
const Schema = 3

// Mode is what a plan does to keys.
type Mode string

// The modes; see package migrate.
const (
	Widen  Mode = "widen"
	Rekey  Mode = "rekey"
	Shadow Mode = "shadow"
)

// Plan is a list of steps for one database. [Make] makes it, [Plan.WriteFiles] writes it, and [ReadFiles] reads it.
type Plan struct {
	Schema      int              `json:"schema"`
	Tool        string           `json:"tool"` // the program and its version
	Made        time.Time        `json:"made"`
	Mode        Mode             `json:"mode"`
	Database    inspect.Database `json:"database"`
	Tables      []string         `json:"tables"`      // of the keys and references
	Fingerprint string           `json:"fingerprint"` // of Definitions
	Definitions []Definition     `json:"definitions"` // what the database said of Tables when the plan was made
	Layout      string           `json:"layout"`      // as idgen.ParseLayout reads it
	Node        int64            `json:"node"`        // the node number in the new ids of old rows, below idgen.Layout.Generators; -1 when old rows keep their ids
	Grants      string           `json:"grants"`      // the table of grants in which Node is taken
	Space       string           `json:"space"`       // the key space in Grants
	Keys        []Key            `json:"keys"`
	References  []Reference      `json:"references"`
	Notes       []string         `json:"notes"`                // what to know before the run
	Refusals    []Refusal        `json:"refusals,omitempty"`   // which inserts the plan refuses, and from which step to which
	Silent      bool             `json:"silent,omitempty"`     // PostgreSQL: sessions set session_replication_role, for which the user needs the right
	Privileges  []string         `json:"privileges,omitempty"` // MySQL: what the user needs on each table, beside SELECT and UPDATE
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

// Peak returns how many bytes more than now there are on the disk at most, at about, and the step at which that is, both 0 where nothing is known to grow. Steps
// that are done, by their numbers from 1, are left out.
func (p *Plan) Peak(done func(step int) bool) (bytes int64, step int) {
	var kept int64
	for i := range p.Steps {
		s := &p.Steps[i]
		if done(i+1) || s.Disk <= 0 {
			continue
		}
		if kept+s.Disk > bytes {
			bytes, step = kept+s.Disk, i+1
		}
		if !s.copies() {
			kept += s.Disk
		}
	}
	return bytes, step
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
	Created string        `json:"created,omitempty"` // the column with the time of new ids: of this table, or of Parent where Through is set; empty for Instant
	Through string        `json:"through,omitempty"` // the column of this table that refers to Parent's key
	Parent  string        `json:"parent,omitempty"`  // the table that Through refers to
	Instant *time.Time    `json:"instant,omitempty"` // one time for all new ids
	Guessed string        `json:"guessed,omitempty"` // why Make chose Created or Through, where the options do not
	Zone    string        `json:"zone,omitempty"`    // IANA name of the zone of Created, where its values have none
	Unit    time.Duration `json:"unit_ns,omitempty"` // the precision of Created: the time of a new id is the row's, to that precision
	Below   int64         `json:"below"`             // ids below are old ids; all others are snowflakes already
	Next    int64         `json:"next,omitempty"`    // the next number of the database's counter when the plan was made; 0 when there is none
	Map     string        `json:"map,omitempty"`     // the table of old_id and new_id; empty when old ids stay
	Shadow  string        `json:"shadow,omitempty"`  // the second column, in mode shadow
	Old     string        `json:"old,omitempty"`     // the first column's name after the swap, in mode shadow
}

// Reference is a reference that the plan widens or rewrites.
type Reference struct {
	inspect.Reference
	Via       string `json:"via,omitempty"`        // the table that the foreign key names, where that is another one with To's ids
	ViaColumn string `json:"via_column,omitempty"` // the column of Via
	Shadow    string `json:"shadow,omitempty"`     // the second column, in mode shadow
	Old       string `json:"old,omitempty"`        // the first column's name after the swap, in mode shadow
	Loose     bool   `json:"loose,omitempty"`      // the foreign key was never validated
}
