package catalog

import (
	"github.com/snowkey-go/snowkey/internal/sqltoken"
	"github.com/snowkey-go/snowkey/internal/table"
)

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

// Server is what tells one database from another.
type Server struct {
	Kind    string `json:"kind"`    // mysql, postgres or sqlite
	Version string `json:"version"` // with the product: MariaDB 10.11.14
	Name    string `json:"name"`    // of the database; on SQLite the file's absolute path
	ID      string `json:"id"`      // what no other server has: PostgreSQL's system identifier, server_uuid, or server_uid and folder of data, else host name, port and folder of data; SQLite: Name
}

// addGenerated adds the columns that are computed of others to the table's users.
func addGenerated(t *Table, g sqltoken.Grammar) {
	for _, col := range t.Columns {
		if col.Generated == "" {
			continue
		}
		u := User{Kind: "generated column", Name: Name{Name: col.Name}, Definition: col.Generated}
		if g == sqltoken.MySQL {
			u.Definition = table.Backticks(u.Definition)
		}
		tokens := g.Tokens(col.Generated)
		for _, other := range t.Columns {
			if sqltoken.Named(tokens, other.Name) {
				u.Columns = append(u.Columns, other.Name)
			}
		}
		t.Users = append(t.Users, u)
	}
}
