package catalog

import "github.com/snowkey-go/snowkey/internal/table"

// What is read of one table; see package table.
type (
	Name    = table.Name
	Table   = table.Table
	Class   = table.Class
	Column  = table.Column
	Index   = table.Index
	Part    = table.Part
	Check   = table.Check
	Trigger = table.Trigger
	Guard   = table.Guard
	User    = table.User
)

// The classes of columns.
const (
	Other    = table.Other
	Integer  = table.Integer
	Decimal  = table.Decimal
	Floating = table.Floating
	Text     = table.Text
	Time     = table.Time
	JSON     = table.JSON
)

// ErrName says that a text is no name of a table.
var ErrName = table.ErrName

// Parse reads a table's name; see [table.Parse].
func Parse(text string) (Name, error) { return table.Parse(text) }

// Reference is a foreign key: columns of the table Child refer to those of the table Parent.
type Reference struct {
	Name          string   // empty on SQLite, where it has none
	Child, Parent Name     // full; of a foreign key that partitions of PostgreSQL hold or are referred to by, the tables that these are of
	Partition     Name     // full; the partition, or partition with partitions, that alone has it; empty when Child has
	Columns       []string // of Child
	To            []string // of Parent, one for each of Columns
	OnDelete      string   // NO ACTION, RESTRICT, CASCADE, SET NULL, SET DEFAULT; empty for who may not see it, on MySQL
	OnUpdate      string
	Deferrable    bool   // may be, on PostgreSQL and SQLite
	Deferred      bool   // is at the start of a transaction
	Valid         bool   // all rows were checked; PostgreSQL's NOT VALID is false
	Definition    string // on PostgreSQL and MySQL, as ADD CONSTRAINT name takes it; empty for who may not see all of it, on MySQL
}

// Server is what tells one database from another.
type Server struct {
	Kind    string `json:"kind"`    // mysql, postgres or sqlite
	Version string `json:"version"` // with the product: MariaDB 10.11.14
	Name    string `json:"name"`    // of the database; on SQLite the file's absolute path
	ID      string `json:"id"`      // what no other server has: PostgreSQL's system identifier, server_uuid, or server_uid and folder of data, else host name, port and folder of data; SQLite: Name
}
