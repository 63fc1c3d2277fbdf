package ddl

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// mysqlLongest is in bytes, and so stricter than the 64 characters of MySQL for names that are not ASCII.
const mysqlLongest = 64

func (d *division) checkMySQL() error {
	return cmp.Or(fits(mysqlLongest, d.name.Name), d.checkLists(mostBuckets))
}

func (d *division) createMySQL() *Script {
	return &Script{Table: []string{d.whole(dialect.MySQL) + d.options() + d.partitions(nil)}}
}

// growMySQL splits a partition by a statement each, which copies the rows of that partition alone.
func growMySQL(from, to *division) *Script {
	s := &Script{}
	for _, split := range from.splits(to) {
		s.Table = append(s.Table, fmt.Sprintf("ALTER TABLE %s REORGANIZE PARTITION %s INTO (\n%s\n)",
			quoteIn(dialect.MySQL, to.name.Schema, to.name.Name), dialect.MySQL.QuoteAny(split.from.partition()), to.partitionsMySQL(split.into, nil)))
	}
	return s.finish(dialect.MySQL, resume)
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
	id := dialect.MySQL.QuoteAny(d.Key)
	by := "RANGE (" + id + ")"
	if !d.top {
		// The bitwise operators are not allowed here. DIV and MOD of what is not negative are the same.
		if d.shift > 0 {
			id = "(" + id + " DIV " + strconv.FormatInt(1<<d.shift, 10) + ")"
		}
		by = "LIST (" + id + " MOD " + strconv.FormatInt(d.max+1, 10) + ")"
	}
	return " PARTITION BY " + by + " (\n" + d.partitionsMySQL(d.parts, comment) + "\n)"
}

func (d *division) partitionsMySQL(parts []part, comment func(part) string) string {
	var texts []string
	for _, p := range parts {
		text := "PARTITION " + dialect.MySQL.QuoteAny(p.partition()) + " VALUES "
		switch {
		case d.top && p.last == d.max: // of 63 bits the next id would be no BIGINT
			text += "LESS THAN MAXVALUE"
		case d.top:
			text += fmt.Sprintf("LESS THAN (%d)", d.greatest(p)+1)
		default:
			text += "IN (" + list(d.listed(p)) + ")"
		}
		if comment != nil {
			text += " COMMENT = " + mysqlText(comment(p))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ",\n")
}

// mysqlText returns a text as MySQL reads it while NO_BACKSLASH_ESCAPES is not set.
func mysqlText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}
