package ddl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// ErrTable says that a table cannot be declared as it is given. What is returned wraps it with the reason.
var ErrTable = errors.New("ddl: the table cannot be declared")

// Table is a table to divide by the buckets of its ids. The errors of its methods wrap [ErrTable], or [shard.ErrMap] for a map that no partitions
// can follow: none, one with rows from before, and, but for Spider and Foreign, one with shards in other databases.
type Table struct {
	Name    string     // "orders" or "schema.orders"; a part in quotes, " or `, may have any letters
	Key     string     // the column with the ids, of the type BIGINT; not quoted
	Columns string     // what CREATE TABLE has between its parentheses, the key among it, but without a primary key, which is the key alone
	Options string     // what it has after them on MySQL, but for ENGINE, such as "DEFAULT CHARSET=utf8mb4"; PostgreSQL ignores it
	Map     *shard.Map // which shard has which bucket
}

// part is a shard that has buckets, and them.
type part struct {
	shard.Shard
	buckets []int64 // ascending
}

// division is a table whose declaration was checked.
type division struct {
	Table
	name  catalog.Name
	max   int64 // the greatest bucket
	shift int   // the bits of an id below the bucket's
	bits  int   // all of an id
	parts []part
}

func (t Table) division() (*division, error) {
	d := &division{Table: t}
	var err error
	switch d.name, err = catalog.Parse(t.Name); {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	case t.Key == "" || strings.ContainsRune(t.Key, 0):
		return nil, fmt.Errorf("%w: %q is no name of a column; Key is that of the ids", ErrTable, t.Key)
	case strings.TrimSpace(t.Columns) == "":
		return nil, fmt.Errorf("%w: %s has no columns", ErrTable, t.Name)
	case t.Map == nil || t.Map.Buckets() == 0:
		return nil, fmt.Errorf("%w: the table %s has none, or one without buckets", shard.ErrMap, t.Name)
	}
	if l, ok := t.Map.Legacy(); ok {
		return nil, fmt.Errorf("%w: ids below %d are from before the sharding and have no bucket, so no partition can have their rows", shard.ErrMap, l.Below)
	}
	layout := t.Map.Layout()
	d.max = layout.Max(idgen.Shard)
	for _, f := range layout.Fields() { // from the top down
		d.bits += f.Bits
		if d.shift += f.Bits; f.Kind == idgen.Shard {
			d.shift = 0
		}
	}
	all := make([]part, 0, len(t.Map.Shards()))
	for _, s := range t.Map.Shards() {
		all = append(all, part{Shard: s})
	}
	for b := range t.Map.Buckets() {
		i, err := t.Map.OfBucket(b)
		if err != nil {
			return nil, err
		}
		all[i].buckets = append(all[i].buckets, b)
	}
	for _, p := range all {
		if len(p.buckets) > 0 { // a partition of no bucket cannot be declared, and would have no rows
			d.parts = append(d.parts, p)
		}
	}
	return d, nil
}

// local returns an error unless all shards are in the table's own database.
func (d *division) local() error {
	for _, p := range d.parts {
		if p.Database != "" {
			return fmt.Errorf("%w: shard %s is in the database %s, and partitions are in that of their table; Spider and Foreign have others",
				shard.ErrMap, p.Name, p.Database)
		}
	}
	return nil
}

// bucket returns the expression for the bucket of an id, which is the name of a column, quoted, or of a parameter.
func (d *division) bucket(id string) string {
	if d.shift > 0 {
		id = "(" + id + " >> " + strconv.Itoa(d.shift) + ")"
	}
	return "(" + id + " & " + strconv.FormatInt(d.max, 10) + ")"
}

// ids returns the condition that a number is an id of the layout: by its id alone the map finds no other row.
func (d *division) ids(id string) string {
	if d.bits == 63 {
		return id + " >= 0"
	}
	return id + " BETWEEN 0 AND " + strconv.FormatInt(1<<d.bits-1, 10)
}

// check returns the constraint that refuses the rows of all ids but a shard's.
func (d *division) check(id string, p part) string {
	return "CHECK (" + d.ids(id) + " AND " + d.bucket(id) + " IN (" + list(p.buckets) + "))"
}

// create returns a statement that makes a table of the columns, with the key as the primary key and constraints if there are any.
func (d *division) create(quotedName, quotedKey string, constraints ...string) string {
	// The columns may end in a comment.
	text := "CREATE TABLE " + quotedName + " (\n" + d.Columns + "\n, PRIMARY KEY (" + quotedKey + ")"
	for _, c := range constraints {
		text += "\n, " + c
	}
	return text + "\n)"
}

// distinct returns an error for a name that is there twice, or longer than the database keeps: PostgreSQL cuts it off in silence, and the shards'
// numbers are at the end.
func distinct(longest int, names ...string) error {
	seen := map[string]bool{}
	for _, n := range names {
		switch {
		case len(n) > longest:
			return fmt.Errorf("%w: the name %q has %d bytes, at most %d", ErrTable, n, len(n), longest)
		case seen[n]:
			return fmt.Errorf("%w: two tables are named %q", ErrTable, n)
		}
		seen[n] = true
	}
	return nil
}

func list(numbers []int64) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(texts, ",")
}

// quote quotes one name, letter by letter.
func quote(d dialect.Dialect, name string) string {
	mark := `"`
	if d == dialect.MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// quoteIn quotes the name of something in a schema, which is empty for the current one.
func quoteIn(d dialect.Dialect, schema, name string) string {
	if schema == "" {
		return quote(d, name)
	}
	return quote(d, schema) + "." + quote(d, name)
}
