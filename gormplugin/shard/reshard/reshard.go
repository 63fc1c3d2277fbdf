package reshard

import (
	"database/sql"
	"time"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// Database is one that rows are in.
type Database struct {
	DB      *sql.DB
	Dialect idshard.Dialect
}

// World is where the map and its tables are.
type World struct {
	Own    Database            // has the maps and the journal
	Others map[string]Database // by the names of the map
	Tables []Table             // all that the map is for
	Apart  []string            // tables that are named as such and are not of the map, for NewPlan, which refuses to leave others out
}

// Table is a sharded one, without suffix.
type Table struct {
	Name string `json:"name"` // as catalog.Parse reads it
	Key  string `json:"key"`  // column of the ids
	By   string `json:"by"`   // sharding column
}

// Plan is what is to be moved.
type Plan struct {
	Map    string       `json:"map"`
	From   int64        `json:"from"` // the version that it was made for
	Tables []Table      `json:"tables"`
	Before *idshard.Map `json:"before"` // of the version From
	Next   *idshard.Map `json:"next"`
	Steps  []Step       `json:"steps"` // a step a source table
}

// Step is what leaves one source table.
type Step struct {
	Table   string                     `json:"table"`             // without suffix
	From    string                     `json:"from"`              // name of the shard
	To      map[string]idshard.Buckets `json:"to"`                // buckets by the shard that gets them
	Rows    int64                      `json:"rows"`              // estimated
	Missing []string                   `json:"missing,omitempty"` // target tables that are made first
}

// Options of a move.
type Options struct {
	Batch    int           // rows, 500 when 0
	Throttle time.Duration // pause after each batch
	Progress func(Progress)

	// VerifyFenced has all rows compared behind the fence instead of before it, while their buckets cannot be written: for as long as it takes to read
	// them. It finds what was written in ways that fire no triggers until then, see the package.
	VerifyFenced bool
}

// Progress is told after each batch and at each change of state.
type Progress struct {
	Table, Shard string // the source
	State        string
	Done, Total  int64 // rows; Total is estimated
	Behind       int64 // noted ids that are to be copied
}
