package ddl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// mysqlLongest is in bytes, and so stricter than the 64 characters of MySQL for names that are not ASCII.
const mysqlLongest = 64

func (d *division) createMySQL() (*Script, error) {
	if err := fits(mysqlLongest, d.name.Name); err != nil {
		return nil, err
	}
	by, err := d.partitions(nil)
	if err != nil {
		return nil, err
	}
	return &Script{Table: []string{d.whole(dialect.MySQL) + d.options() + by}}, nil
}

// growMySQL splits a partition by a statement each, which copies the rows of that partition alone.
func growMySQL(from, to *division) (*Script, error) {
	s := &Script{}
	for _, split := range from.splits(to) {
		var into []string
		for _, p := range split.into {
			text, err := to.partitionMySQL(p, nil)
			if err != nil {
				return nil, err
			}
			into = append(into, text)
		}
		s.Table = append(s.Table, fmt.Sprintf("ALTER TABLE %s REORGANIZE PARTITION %s INTO (\n%s\n)",
			quoteIn(dialect.MySQL, to.name.Schema, to.name.Name), dialect.MySQL.QuoteAny(split.from.partition()), strings.Join(into, ",\n")))
	}
	return s.finish(dialect.MySQL, resume), nil
}

// options returns what the user has the statement end in.
func (d *division) options() string {
	if strings.TrimSpace(d.Options) == "" {
		return ""
	}
	return " " + d.Options + "\n"
}

// partitions returns the clause that divides a table of MySQL; comment is of each partition, or nil.
func (d *division) partitions(comment func(part) string) (string, error) {
	id := dialect.MySQL.QuoteAny(d.Key)
	by := "RANGE (" + id + ")"
	if !d.top {
		// The bitwise operators are not allowed here. DIV and MOD of what is not negative are the same.
		if d.shift > 0 {
			id = "(" + id + " DIV " + strconv.FormatInt(1<<d.shift, 10) + ")"
		}
		by = "LIST (" + id + " MOD " + strconv.FormatInt(d.max+1, 10) + ")"
	}
	var texts []string
	for _, p := range d.parts {
		text, err := d.partitionMySQL(p, comment)
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return " PARTITION BY " + by + " (\n" + strings.Join(texts, ",\n") + "\n)", nil
}

func (d *division) partitionMySQL(p part, comment func(part) string) (string, error) {
	text := "PARTITION " + dialect.MySQL.QuoteAny(p.partition()) + " VALUES "
	switch {
	case d.top && p.last == d.max: // of 63 bits the next id would be no BIGINT
		text += "LESS THAN MAXVALUE"
	case d.top:
		text += fmt.Sprintf("LESS THAN (%d)", d.greatest(p)+1)
	default:
		buckets, err := d.listed(p)
		if err != nil {
			return "", err
		}
		if len(buckets) == 0 {
			return "", d.errEmpty(p)
		}
		text += "IN (" + list(buckets) + ")"
	}
	if comment != nil {
		text += " COMMENT = " + mysqlText(comment(p))
	}
	return text, nil
}

// errEmpty is of a part all of whose buckets are alone.
func (d *division) errEmpty(p part) error {
	return fmt.Errorf("%w: shard %s has no bucket left that is not alone", ErrTable, p.name)
}

// mysqlText returns a text as MySQL reads it while NO_BACKSLASH_ESCAPES is not set.
func mysqlText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}
