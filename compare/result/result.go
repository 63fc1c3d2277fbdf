package result

import (
	"slices"
	"time"
)

// Schema is the number of the document's schema, raised when a field changes its meaning or goes.
const Schema = 2

// Document is the outcome of one run, as it is written in JSON. Times are in UTC.
type Document struct {
	Schema      int        `json:"schema"`
	Tool        string     `json:"tool"` // the program and its version
	Made        time.Time  `json:"made"` // when the run began
	Seconds     float64    `json:"seconds"`
	Interrupted string     `json:"interrupted,omitempty"` // why the run ended before its plan was done; what was measured until then is here
	Plan        Plan       `json:"plan"`
	Machine     Machine    `json:"machine"`
	Databases   []Database `json:"databases"`
}

// Plan is what the run set out to do.
type Plan struct {
	Profile    string   `json:"profile"` // quick, full, or one of the caller's own
	Strategies []string `json:"strategies"`
	Rows       int      `json:"rows"`   // inserted in each table and round
	Batch      int      `json:"batch"`  // rows an INSERT
	Rounds     int      `json:"rounds"` // interleaved: each strategy once in each, in another order
	Budget     float64  `json:"budget_seconds,omitempty"`
	Seed       uint64   `json:"seed"` // of the rows and of the order of the strategies
}

// Machine is where the program ran; a database server may run elsewhere.
type Machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	CPU    string `json:"cpu,omitempty"`          // its name, where the system tells
	Memory int64  `json:"memory_bytes,omitempty"` // of the machine, where the system tells
	// Load is the average number of running programs in the minute before the run, 0 where the system does not tell. Above CPUs, others took part of the
	// machine's time, and figures are lower and less certain.
	Load float64 `json:"load,omitempty"`
	Go   string  `json:"go"`
}

// Setting is a setting of the database that the figures depend on.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Database is what was measured on one database.
type Database struct {
	Name       string     `json:"name"`    // its DSN without a password
	Kind       string     `json:"kind"`    // sqlite, mysql or postgres
	Version    string     `json:"version"` // with the product: MariaDB 10.11.14
	Private    bool       `json:"private"` // started by the run, for itself alone
	Settings   []Setting  `json:"settings"`
	Cache      Figure     `json:"cache"`            // bytes of pages that the database keeps in memory
	Plan       string     `json:"plan,omitempty"`   // the rounds and rows that the budget suffices for by a pilot, and the speed that it measured
	Failed     string     `json:"failed,omitempty"` // why measuring on it ended early
	Strategies []Strategy `json:"strategies"`
	// Decisions are the lines of the decision table, which reports draw from the figures above; absent: nobody has drawn it yet.
	Decisions []Decision `json:"decisions,omitempty"`
}

// The states of a [Decision].
const (
	Taken       = "taken"        // one strategy fits best
	Tie         = "tie"          // several fit, and the measurements do not tell them apart
	NoneFits    = "none"         // no strategy fits
	NotMeasured = "not measured" // too little was measured to say
)

// Decision is what the measurements say of one wish of a team.
type Decision struct {
	Want    string   `json:"want"`
	State   string   `json:"state"`   // Taken, Tie, NoneFits or NotMeasured
	Take    []string `json:"take"`    // names of the strategies that fit best: one when Taken, two or more of a Tie, the easiest to coordinate first
	Because []string `json:"because"` // what was measured for them, or why none is named
	Not     []string `json:"not"`     // strategies that one would have thought of, the nearest first, and what was measured against them
	// Of the first strategy in Take, or of its fleet where many processes are wished for; 0: not measured.
	Rate  float64 `json:"rows_per_second,omitempty"`
	Bytes float64 `json:"bytes_per_row,omitempty"`
}

// Strategy is what was measured of one strategy on one database.
type Strategy struct {
	Name         string `json:"name"`
	About        string `json:"about"`
	Origin       string `json:"origin"`       // who published it, and where
	Needs        string `json:"needs"`        // what has to be there
	Cost         string `json:"cost"`         // what one pays for it
	Coordination string `json:"coordination"` // what its processes have to agree upon
	Decodes      string `json:"decodes"`      // what a key tells of its row, "nothing" or more
	Guess        string `json:"guess"`        // what somebody who knows one key knows of others

	Skipped string `json:"skipped,omitempty"` // why it was not measured here: what it needs that is missing, or an error

	Verify     Verify     `json:"verify"`
	Key        Key        `json:"key"`
	Generation Generation `json:"generation"`
	Latency    Latency    `json:"latency"`
	Growth     Growth     `json:"growth"`
	Writers    []Writers  `json:"writers,omitempty"`
	Storage    Storage    `json:"storage"`
	Read       Read       `json:"read"`
	Shards     Shards     `json:"shards"`
	Crash      Crash      `json:"crash"`
}

// Verify is the outcome of the checks that come before any measuring.
type Verify struct {
	Checks []Check `json:"checks"`
}

// The states of a [Check].
const (
	Passed = "passed"
	Failed = "failed"
	NotRun = "not run"
)

// Check is one of the checks.
type Check struct {
	Name     string `json:"name"`               // "unique: goroutines", "unique: processes", "order", "round trip", "clock steps back"
	State    string `json:"state"`              // Passed, Failed or NotRun
	Keys     int    `json:"keys"`               // looked at
	Detail   string `json:"detail,omitempty"`   // what was seen: how many steps, what the source did, or why it was not run
	Evidence string `json:"evidence,omitempty"` // of a failure: the two equal keys and who got them, the inversion, the value that came back
}

// OK reports whether no check has failed.
func (v Verify) OK() bool {
	return !slices.ContainsFunc(v.Checks, func(c Check) bool { return c.State == Failed })
}

// Key is what the keys themselves are like, by a sample of them.
type Key struct {
	Column  string   `json:"column"`      // the type of the column
	Bytes   int      `json:"bytes"`       // of the key in its column
	Text    int      `json:"text_length"` // characters of its text form, the longest of the sample
	JSSafe  bool     `json:"js_safe"`     // exact as a number of JavaScript: below 2^53. A key that is no number is a string there, and safe.
	Numeric bool     `json:"numeric"`
	Sample  []string `json:"sample"`   // the text of a few keys that followed each other
	Gap     Figure   `json:"gap_bits"` // bits of the median distance from a key to the next of its process: how many a stranger has to try; keys without order have all their random bits
}

// Generation is how fast keys are made, without storing rows.
type Generation struct {
	// Limit is the most keys a second that one process can make by its layout, 0 where nothing but its speed limits it.
	Limit float64 `json:"limit_keys_per_second"`
	// Capped has the nanoseconds a key at full speed for 1, 2, 4… goroutines: the limit counts.
	Capped []Speed `json:"capped"`
	// Uncapped has the same with a clock that runs faster than the limit, so that the code alone counts; like Capped where there is no limit.
	Uncapped []Speed `json:"uncapped"`
	// Batch has the nanoseconds a key where many are asked for in one call.
	Batch []Speed `json:"batch"`
	// Floor has the nanoseconds of reading the clock once, taken in the same rounds.
	Floor Figure `json:"floor"`
}

// Speed is a figure by the number of goroutines or of keys a call.
type Speed struct {
	Goroutines int    `json:"goroutines"`
	Keys       int    `json:"keys_per_call"`
	Time       Figure `json:"ns_per_key"`
}

// Latency is how long one key takes at a fixed rate, counted from when the call should have begun, so that a stall counts for all calls
// that it held up.
type Latency struct {
	Rate       float64 `json:"rate_per_second,omitempty"` // asked for, by all goroutines together
	Goroutines int     `json:"goroutines,omitempty"`
	Achieved   float64 `json:"achieved_per_second,omitempty"`
	Samples    []int64 `json:"ns,omitempty"` // in the order of the intended starts
	Why        string  `json:"why,omitempty"`
}

// Growth is inserting through GORM while a table grows from nothing.
type Growth struct {
	Tenths []Tenth `json:"tenths,omitempty"` // ten, unless Why
	// Batches has for each round the microseconds of every INSERT in order.
	Batches [][]int64 `json:"batches_us,omitempty"`
	Rows    int       `json:"rows,omitempty"` // that each round inserted at least; fewer than planned for what is slow, see the tenths' Why
	Why     string    `json:"why,omitempty"`
}

// Tenth is the growth of a tenth of the rows; a sample a round.
type Tenth struct {
	RowsPerSecond Figure `json:"rows_per_second"`
	P99           Figure `json:"p99_us"` // of an INSERT
}

// Writers is inserting through GORM by several connections at once, until a table of its own has its rows; a sample a round.
type Writers struct {
	Connections   int    `json:"connections"`
	Batch         int    `json:"batch"`          // rows an INSERT
	Rows          int    `json:"rows,omitempty"` // that each round inserted at least
	RowsPerSecond Figure `json:"rows_per_second"`
	Last          Figure `json:"last_tenth_rows_per_second"`
	Table         Figure `json:"table_bytes_per_row"` // as in Storage
	Index         Figure `json:"index_bytes_per_row"`
}

// Storage is what the table of Growth looks like at its end, with as many rows as its Growth has; a sample a round.
type Storage struct {
	Table     Figure `json:"table_bytes_per_row"` // where rows are stored in the primary key's own tree (InnoDB, SQLite's rowid), that tree
	Index     Figure `json:"index_bytes_per_row"` // all others, the primary key's too where it is one of its own
	Splits    Figure `json:"page_splits"`
	Fill      Figure `json:"leaf_fill"`             // of the primary key's leaf pages, 0 to 1
	Log       Figure `json:"log_bytes_per_row"`     // WAL or redo
	Pages     Figure `json:"written_bytes_per_row"` // of data pages
	CacheUsed Figure `json:"index_to_cache"`        // the size of table and indexes over that of the database's cache; above 1 they do not fit
}

// Read is what reading the table of Growth costs; a sample a round.
type Read struct {
	Ordered Figure `json:"ordered_us_per_1000"` // microseconds for 1,000 rows, when all are read in the order of their keys
	Recent  Figure `json:"recent_us_per_1000"`  // when the last rows inserted are read by their keys, one by one
	Buffers Figure `json:"buffers_per_1000"`    // pages that the ordered read asked the cache for
}

// Shards is how evenly the keys fall on shards by key modulo n, or by the bucket of a sharding key modulo n where they carry one: of keys made one at
// a time, on a quiet system, as few traffic shows what much hides.
type Shards struct {
	Method string  `json:"method,omitempty"` // how a key becomes a number, and how the keys were spaced
	Keys   int     `json:"keys,omitempty"`
	Chi    []Chi   `json:"chi_square,omitempty"` // for 2, 4 … 1024 shards
	Counts []int64 `json:"counts,omitempty"`     // for 16 shards
	// Of keys that carry the bucket of a sharding key:
	Tenants string   `json:"tenants,omitempty"`        // the sharding keys, and how often each comes
	Uniform []int64  `json:"uniform_counts,omitempty"` // for 16 shards, of a row a tenant; for many rows in proportion, if all tenants had equally many
	Hot     []Bucket `json:"hot_buckets,omitempty"`    // the hottest first
	Why     string   `json:"why,omitempty"`
}

// Bucket is one of the buckets that the keys of [Shards] carry.
type Bucket struct {
	Bucket  int     `json:"bucket"`
	Share   float64 `json:"share"`   // of the keys, 0 to 1
	Tenants int     `json:"tenants"` // that have this bucket
}

// Chi is Pearson's χ² of the counts against equal ones.
type Chi struct {
	Shards int     `json:"shards"`
	Value  float64 `json:"chi_square"`
	P      float64 `json:"p"` // of at least this value, if they were equal
}

// Crash is what a database that is killed costs: figures of a private one, killed with SIGKILL while keys were drawn; a sample a kill.
type Crash struct {
	Twice  Figure `json:"issued_twice"` // keys that were given out before the kill and again after it
	Lost   Figure `json:"lost"`         // numbers skipped, for keys that count
	Outage Figure `json:"outage_ms"`    // the longest wait for a key, from the kill until keys flow again; Down says for how long the database was away
	Down   Figure `json:"down_ms"`
}
