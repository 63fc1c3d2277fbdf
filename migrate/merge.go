package migrate

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/migrate/internal/merge"
)

// Errors of [Merge], beside those of a database that fails.
var (
	ErrClash  = merge.ErrClash  // several of the databases have the same key; the outcome has the plans that end that
	ErrMerge  = merge.ErrSchema // the schemas differ, or something in them stands in the way
	ErrCopied = merge.ErrCopied // a copied row is not what it should be
)

// MergeOptions say how to merge.
type MergeOptions struct {
	Tables   []string       // default: all that into has; those of snowkey itself are left out
	Layout   idgen.Layout   // of the keys; default idgen.Snowkey's
	Target   time.Duration  // that a batch aims at; default 500 ms
	Dry      bool           // prove only, and write nothing
	Plan     PlanOptions    // of the rekeys, where ids clash; Merge sets Tables, Mode, Node and Layout
	Inspect  InspectOptions // that these are made from: models, and references that nothing declares
	Progress func(MergeProgress)
}

// MergeProgress is how far a merge is.
type MergeProgress struct {
	Doing string // compare ids of users; copy users from …
	Rows  int64
	Total int64 // -1 when unknown
	Rate  float64
	Left  time.Duration // -1 when unknown
}

// MergeOutcome is what a merge came to.
type MergeOutcome struct {
	Proof  []MergeProof `json:"proof"`
	Copied int64        `json:"copied"` // rows, by this call
	Notes  []string     `json:"notes"`  // what is left to do
	Rekeys []*Plan      `json:"-"`      // one for each of from whose ids clash, nil for others: to be run before the merge is tried again
	Widen  *Plan        `json:"-"`      // of into, where its columns are too narrow for these new ids: to be run before, too
}

// MergeProof is what was found of a table's ids.
type MergeProof struct {
	Table   string    `json:"table"`
	Rows    []int64   `json:"rows"`            // of into, then of each of from
	Nodes   [][]int64 `json:"nodes"`           // that their ids have, where all ids are snowflakes of the layout; none for keys that are no integer
	Clashes int64     `json:"clashes"`         // keys that two of them have; those that a merge before has copied are none
	First   int64     `json:"first,omitempty"` // the least of these, of an integer key
	Text    string    `json:"text"`            // what is proved, in a sentence
}

// Merge proves that no id of from is in into or in another of from, and copies the rows of from. It can be killed and called again. Where keys clash it copies nothing,
// and the outcome has the plans that make the keys disjoint. The outcome holds what was found and done before an error. It is not for two calls at once.
func Merge(ctx context.Context, into *gorm.DB, from []*gorm.DB, o MergeOptions) (MergeOutcome, error) {
	options := merge.Options{Tables: o.Tables, Layout: o.Layout, Target: o.Target, Dry: o.Dry, Plan: o.Plan, Inspect: o.Inspect}
	if o.Progress != nil {
		options.Progress = func(now merge.Progress) { o.Progress(MergeProgress(now)) }
	}
	did, err := merge.Run(ctx, into, from, options)
	outcome := MergeOutcome{Copied: did.Copied, Notes: did.Notes, Rekeys: did.Rekeys, Widen: did.Widen}
	for _, p := range did.Proof {
		outcome.Proof = append(outcome.Proof, MergeProof(p))
	}
	return outcome, err
}
