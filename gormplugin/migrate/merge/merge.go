// Package merge copies databases with one schema, whose rows were numbered apart, into one.
package merge

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
	"github.com/snowkey-go/snowkey/idgen"
)

// Options say how to merge.
type Options struct {
	Tables   []string      // default: all that Into has; those of snowkey itself are left out
	Layout   idgen.Layout  // of the keys; default idgen.Snowkey's
	Target   time.Duration // that a batch aims at; default 500 ms
	Dry      bool          // prove only, and copy nothing
	Plan     plan.Options  // of the rekeys, where ids clash; Tables, Mode, Node and Layout are set by Merge
	Progress func(Progress)
}

// Progress is how far a merge is.
type Progress struct {
	Doing string // compare ids of users; copy users from …
	Rows  int64
	Total int64 // -1 when unknown
	Rate  float64
	Left  time.Duration // -1 when unknown
}

// Outcome is what a merge came to.
type Outcome struct {
	Proof  []Proof      `json:"proof"`
	Copied int64        `json:"copied"` // rows
	Rekeys []*plan.Plan `json:"-"`      // one for each of from whose ids clash, nil for others: to be run before the merge is tried again
}

// Proof is what was found of a table's ids.
type Proof struct {
	Table   string    `json:"table"`
	Rows    []int64   `json:"rows"`            // of Into, then of each of from
	Nodes   [][]int64 `json:"nodes"`           // that their ids have, where all ids are snowflakes of the layout
	Clashes int64     `json:"clashes"`         // ids that two of them have
	First   int64     `json:"first,omitempty"` // the least of these
	Text    string    `json:"text"`
}

// ErrClash says that ids, or other unique values, are in several of the databases.
var ErrClash = errors.New("merge: two databases have the same key")

// Merge proves that no id of from is in into or in another of from, and copies their rows.
func Merge(ctx context.Context, into *gorm.DB, from []*gorm.DB, o Options) (Outcome, error) {
	return Outcome{}, errors.ErrUnsupported
}
