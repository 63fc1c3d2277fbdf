package inspect

import "time"

// Schema is the number of the report's form, raised when a field changes its meaning or goes.
const Schema = 1

// Report is what was found in a database, as it is written in JSON. Tables are named "table" or "schema.table", a part with a dot or quote
// in it in quotes.
type Report struct {
	Schema     int         `json:"schema"`
	Made       time.Time   `json:"made"`
	Database   Database    `json:"database"`
	Tables     []Table     `json:"tables"`
	References []Reference `json:"references"`
	Obstacles  []Obstacle  `json:"obstacles"`
}

// Database tells one database from another.
type Database struct {
	Kind    string `json:"kind"`    // mysql, postgres or sqlite
	Version string `json:"version"` // with the product: MariaDB 10.11.14
	Name    string `json:"name"`    // on SQLite the file's absolute path
	ID      string `json:"id"`      // what no other server has
}

// Table is a table, and its key.
type Table struct {
	Name    string   `json:"name"`
	Rows    int64    `json:"rows"`
	Exact   bool     `json:"exact,omitempty"` // the rows were counted, not estimated
	Bytes   int64    `json:"bytes"`           // -1 when unknown
	Key     *Key     `json:"key,omitempty"`
	NoKey   string   `json:"no_key,omitempty"` // why there is none that can be migrated: composite, no integer, no primary key
	Created *Created `json:"created,omitempty"`
}

// Key is an integer that alone identifies the rows of a table.
type Key struct {
	Column   string  `json:"column"`
	Type     string  `json:"type"` // as the database writes it
	Bits     int     `json:"bits"`
	Unsigned bool    `json:"unsigned,omitempty"`
	Auto     string  `json:"auto,omitempty"` // how the database makes it; empty when it does not
	Least    int64   `json:"least"`          // 0 in an empty table, as Greatest
	Greatest int64   `json:"greatest"`
	Limit    uint64  `json:"limit"`               // the greatest that the type can hold, and what makes its numbers: a serial's sequence can be narrower
	Used     float64 `json:"used"`                // of Limit, 0 to 1: Greatest, or the last number that the database has made, whichever is greater
	PerDay   float64 `json:"per_day,omitempty"`   // ids a day of late, where Created tells
	DaysLeft float64 `json:"days_left,omitempty"` // until Limit at that rate; 0 when the rate is unknown
}

// Created is the column that tells when a row was made.
type Created struct {
	Column  string `json:"column"`
	Type    string `json:"type"`              // as the database writes it; of an integer ", unix seconds" follows, or milliseconds, microseconds, nanoseconds
	Zoned   bool   `json:"zoned"`             // its values say which instant they are
	Nulls   bool   `json:"nulls,omitempty"`   // it can be NULL
	Guessed bool   `json:"guessed,omitempty"` // it is known by its name, not by a model
}

// Origin says how a reference is known.
type Origin string

// The origins of references.
const (
	Declared    Origin = "declared"    // a foreign key
	Model       Origin = "model"       // a relation of a GORM model
	Polymorphic Origin = "polymorphic" // an owner's id beside the owner's type
	Named       Origin = "name"        // customer_id, and there is a table customers
	Given       Origin = "given"       // named by the user
)

// Confidence says how sure it is that a column is a reference.
type Confidence string

// How sure a reference is. What is possible, and not said to be a reference or none, blocks the rewriting of keys.
const (
	Certain  Confidence = "certain"  // declared, of a model, or named by the user
	Likely   Confidence = "likely"   // by its name, and all sampled values are keys of the other table
	Possible Confidence = "possible" // by its name, and some are, or there are none to see
	Unlikely Confidence = "unlikely" // by its name, and hardly any is
)

// Reference says that the values of a column are keys of a table.
type Reference struct {
	Table      string     `json:"table"`
	Column     string     `json:"column"`
	Path       string     `json:"path,omitempty"` // of a JSON column: where in the document the id is, such as $.customer.id
	To         string     `json:"to"`             // table
	ToColumn   string     `json:"to_column"`
	Origin     Origin     `json:"origin"`
	Name       string     `json:"name,omitempty"`       // of the foreign key
	Columns    []string   `json:"columns,omitempty"`    // all that the foreign key has, when it has several
	ToColumns  []string   `json:"to_columns,omitempty"` // one for each of Columns
	OnDelete   string     `json:"on_delete,omitempty"`
	OnUpdate   string     `json:"on_update,omitempty"`
	OwnerType  string     `json:"owner_type,omitempty"` // the column that says which table is meant, of a polymorphic one
	Owner      string     `json:"owner,omitempty"`      // and what it says when it is To
	Confidence Confidence `json:"confidence"`
	Why        string     `json:"why"`            // in a sentence
	Type       string     `json:"type"`           // of the column
	Text       bool       `json:"text,omitempty"` // the values are texts of numbers
	Nullable   bool       `json:"nullable,omitempty"`
	Indexed    bool       `json:"indexed,omitempty"` // an index begins with the column
	Orphans    int64      `json:"orphans"`           // rows whose value is no key there, neither NULL nor 0 where 0 is not declared; -1 when not counted
}

// Obstacle is something that stands in the way of a migration.
type Obstacle struct {
	Table  string   `json:"table"`            // empty when it is of the database
	Tables []string `json:"tables,omitempty"` // that it concerns, where it is of none of them
	Column string   `json:"column,omitempty"`
	Kind   string   `json:"kind"` // view, trigger, partition, identity, publication, generated, full text, routine, sequence, check, sql_mode, replica, …
	Name   string   `json:"name,omitempty"`
	Text   string   `json:"text"`             // what it does to a migration
	Do     string   `json:"do,omitempty"`     // what to do about it
	Firm   []string `json:"firm,omitempty"`   // the modes of Blocks in which accepting it is of no use, for the plan is refused all the same
	Blocks []string `json:"blocks,omitempty"` // the modes that cannot be planned with it there: widen, rekey, shadow; none: it is handled, or to be known
}
