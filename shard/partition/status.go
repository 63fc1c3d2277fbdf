package partition

import (
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode"
)

// Status is what the catalogue and the clocks say about a table. [Table.Plan] makes a [Plan] of it, and asks nobody.
type Status struct {
	Table    string      `json:"table"` // with its schema's name
	Dialect  Dialect     `json:"-"`
	Schema   string      `json:"-"`
	Name     string      `json:"-"`
	Now      time.Time   `json:"now"`              // the database's clock
	Local    time.Time   `json:"local"`            // the keeper's clock
	Newest   time.Time   `json:"newest,omitzero"`  // the time of the greatest key that is not after Now; zero where there is none
	Parts    []Part      `json:"partitions"`       // by their bounds, without the one for all other rows
	Default  *Default    `json:"default,omitzero"` // the partition for all other rows, if there is one
	Detached []Detached  `json:"detached"`         // tables that were partitions, which the keeper has marked, by their bounds
	Taken    []string    `json:"-"`                // names of tables of the schema that begin as those of partitions do
	Partman  string      `json:"partman,omitempty"`
	Incoming []Reference `json:"referenced_by,omitempty"` // foreign keys to the table

	columns []string // of PostgreSQL, without those that the server computes
	owner   string   // of PostgreSQL's table, empty when that is the keeper's role
}

// Range is the ids from FromID on and before ToID, and the time that they stand for.
type Range struct {
	FromID int64     `json:"from_id,string"` // the least int64 for no bound
	ToID   int64     `json:"to_id,string"`   // the greatest int64 for no bound
	From   time.Time `json:"from,omitzero"`  // zero where the ids have no time in the layout; of MySQL's first partition the beginning of its last period
	To     time.Time `json:"to,omitzero"`
}

// Part is a partition with bounds.
type Part struct {
	Schema string `json:"-"`
	Name   string `json:"name"`
	Range
	Rows    int64 `json:"rows"`              // the server's estimate, -1 where it has none yet
	Pending bool  `json:"pending,omitempty"` // a DETACH CONCURRENTLY was begun, and has to be finished
	empty   bool  // on MySQL, as far as [Table.Most] partitions from the oldest on
	marked  bool  // has a mark as if it were detached
}

// Default is the partition for rows that no other is there for: PostgreSQL's default partition, MySQL's last one.
type Default struct {
	Schema string `json:"-"`
	Name   string `json:"name"`
	// Unplaced are the rows in it, by the periods of their ids, up to 100 periods.
	Unplaced []Unplaced `json:"unplaced"`
	// Hindrance is why a run cannot move the rows, empty when it can.
	Hindrance string `json:"hindrance,omitempty"`
}

// Unplaced are rows of one period in the default partition, or those with ids below or above the layout's.
type Unplaced struct {
	Range
	Rows int64 `json:"rows"`           // exact up to [Table.Move]
	More bool  `json:"more,omitempty"` // there are more than Rows
}

// Reference is a foreign key of another table.
type Reference struct {
	Table string `json:"table"`
	Name  string `json:"name"`
}

// Detached is a table that was a partition.
type Detached struct {
	Of     string `json:"of"` // the name of the divided table, as in [Status.Table]
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Range
	// Then is what is to become of the table: "keep", "archive", or "drop", which it is after it was archived.
	Then string `json:"then"`
	// empty says of MySQL's that it has no rows yet, or none that were in the partition.
	empty bool
}

// The values of [Detached.Then].
const (
	thenKeep    = "keep"
	thenArchive = "archive"
	thenDrop    = "drop"
)

// markPrefix begins the comment of a table that was a partition.
const markPrefix = "snowkey partition "

// mark is the comment, in JSON after [markPrefix].
type mark struct {
	Of     string `json:"of"`
	FromID int64  `json:"from,string"`
	ToID   int64  `json:"to,string"`
	Then   string `json:"then"`
}

// mark returns the comment.
func (d Detached) mark() string {
	encoded, _ := json.Marshal(mark{Of: plain(d.Of), FromID: d.FromID, ToID: d.ToID, Then: d.Then}) // strings and numbers
	return markPrefix + string(encoded)
}

// plain returns a name without what SQL or JSON would write otherwise, differently in some sessions than in others.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, name)
}

// readMark reads the comment of a table that was a partition of the one named.
func readMark(comment, of string) (m mark, ok bool) {
	text, found := strings.CutPrefix(comment, markPrefix)
	ok = found && json.Unmarshal([]byte(text), &m) == nil && m.Of == plain(of)
	return m, ok
}

// detached returns the table with a mark.
func (t Table) detached(of, schema, name string, m mark) Detached {
	return Detached{Of: of, Schema: schema, Name: name, Range: t.between(m.FromID, m.ToID), Then: m.Then}
}

// between returns the range between two bounds. No lower bound stands for the beginning of the period before the upper one, as MySQL's first partition has none.
func (t Table) between(fromID, toID int64) Range {
	r := Range{FromID: fromID, ToID: toID}
	if toID != math.MaxInt64 {
		r.To = t.timeOf(toID)
	}
	switch {
	case fromID != math.MinInt64:
		r.From = t.timeOf(fromID)
	case !r.To.IsZero():
		r.From = t.Every.start(r.To.Add(-1), t.In)
	}
	return r
}
