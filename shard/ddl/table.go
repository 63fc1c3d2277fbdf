package ddl

import (
	"errors"

	"github.com/snowkey-go/snowkey/idgen"
)

// The errors of this package. What is returned wraps them with the reason.
var (
	// ErrTable says that a table cannot be declared as it is given.
	ErrTable = errors.New("ddl: the table cannot be declared")
	// ErrEngine says that there is no engine of a name.
	ErrEngine = errors.New("ddl: no engine")
)

// Table is a table to divide by the buckets of its ids.
type Table struct {
	Name        string       // "orders" or "schema.orders"; a part in quotes, " or `, may have any letters
	Key         string       // the column with the ids, of the type BIGINT; not quoted
	ShardingKey string       // the column that the bucket is made from, such as user_id; for engines that divide by it, not quoted
	Columns     string       // what CREATE TABLE has between its parentheses, the key among it, but without a primary key, which is the key alone
	Options     string       // what it has after them on MySQL, but for ENGINE, such as "DEFAULT CHARSET=utf8mb4"; PostgreSQL ignores it
	Layout      idgen.Layout // of the ids, with a shard field
	Shards      int          // 1 to the layout's buckets, and at most 8192
	Alone       []int64      // buckets that have a shard of their own besides; not where the engine divides by a hash
	Servers     []Server     // for Spider and PostgresFDW; who has which shard is in the documentation of Server
}

// Script has the statements that make or change a table, to run in the order of the fields, those of the head, which is the server that clients
// connect to, in one session. Each is a statement of its own, without a semicolon at its end.
type Script struct {
	Remote  map[string][]string `json:"remote,omitempty"`  // by [Server.Name]: what the other servers run first
	Install []string            `json:"install,omitempty"` // does nothing where it was done before; only an administrator may
	Servers []string            `json:"servers,omitempty"` // with the passwords, so not to be logged; does nothing where it was done before
	Table   []string            `json:"table,omitempty"`   // on the head
	After   map[string][]string `json:"after,omitempty"`   // by [Server.Name]: what the other servers run last
	Notes   []string            `json:"notes,omitempty"`   // what is to be done besides, by people: no statements
}
