package ddl

import (
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// mysqlLongest is in bytes, and so stricter than the 64 characters of MySQL for names that are not ASCII.
const mysqlLongest = 64

// MySQL returns the statement that makes the table on MySQL or MariaDB, with a partition of the shard's name for each shard. A row whose id is
// negative is refused. Every unique key has to include the ids' column, and there are no foreign keys, to the table or from it.
func (t Table) MySQL() ([]string, error) {
	d, err := t.division()
	if err == nil {
		err = d.local()
	}
	if err == nil {
		err = distinct(mysqlLongest, d.name.Name)
	}
	if err != nil {
		return nil, err
	}
	key := quote(dialect.MySQL, d.Key)
	create := d.create(quoteIn(dialect.MySQL, d.name.Schema, d.name.Name), key, "CHECK ("+d.ids(key)+")")
	return []string{create + d.options() + d.partitions(nil)}, nil
}

// options returns what the user has the statement end in.
func (d *division) options() string {
	if strings.TrimSpace(d.Options) == "" {
		return ""
	}
	return " " + d.Options + "\n"
}

// partitions returns the clause that divides a table of MySQL; comment is of each partition, or nil.
func (d *division) partitions(comment func(part) string) string {
	// The bitwise operators are not allowed here. DIV and MOD of what is not negative are the same.
	id := quote(dialect.MySQL, d.Key)
	if d.shift > 0 {
		id = "(" + id + " DIV " + strconv.FormatInt(1<<d.shift, 10) + ")"
	}
	var b strings.Builder
	b.WriteString(" PARTITION BY LIST (" + id + " MOD " + strconv.FormatInt(d.max+1, 10) + ") (")
	for i, p := range d.parts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\nPARTITION " + quote(dialect.MySQL, p.Name) + " VALUES IN (" + list(p.buckets) + ")")
		if comment != nil {
			b.WriteString(" COMMENT = " + mysqlText(comment(p)))
		}
	}
	b.WriteString("\n)")
	return b.String()
}

// mysqlText returns a text as MySQL reads it while NO_BACKSLASH_ESCAPES is not set.
func mysqlText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}
