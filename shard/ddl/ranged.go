package ddl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/shard"
)

// ranged is an engine that keeps a table in the order of its primary key, and splits it into ranges of ids by size and load. With the bucket on top
// new rows are all over the table, and the rows of a sharding key are together. The table begins with a range for each shard, where the engine would
// begin with one and have all writes there. Nobody has run these here.
type ranged struct {
	of      dialect.Dialect
	primary string // the primary key, of which %s is the column
	clause  string // what makes the table begin with ranges, of which %s is where they begin
	split   string // or the statement that splits it, after the table's name; an engine that has none splits ranges by itself alone
}

var (
	// tidb follows the documentation of TiDB 8.4. The primary key has to be clustered. New rows all over the table are what AUTO_RANDOM is for. Regions that stay empty are
	// merged again after a while, unless the table has ATTRIBUTES 'merge_option=deny'.
	tidb = ranged{of: dialect.MySQL, primary: "(%s) CLUSTERED", split: "SPLIT TABLE %s BY %s"}
	// cockroach follows the documentation of CockroachDB 22.1. New rows all over the table are what hash-sharded indexes are for. Such splits do not expire.
	cockroach = ranged{of: dialect.Postgres, primary: "(%s)", split: "ALTER TABLE %s SPLIT AT VALUES %s"}
	// yugabyte follows the stable documentation of YugabyteDB. The default order is that of a hash; with ASC ranges of ids are read as such.
	yugabyte = ranged{of: dialect.Postgres, primary: "(%s ASC)", clause: " SPLIT AT VALUES (%s)"}
)

func (r ranged) create(d *division) *Script {
	key, points := r.of.QuoteAny(d.Key), d.points()
	create := d.create(quoteIn(r.of, d.name.Schema, d.name.Name), "PRIMARY KEY "+fmt.Sprintf(r.primary, key), d.refusing(key))
	if r.of == dialect.MySQL {
		create += d.options()
	}
	if r.clause != "" && len(points) > 0 {
		create += fmt.Sprintf(r.clause, rows(points))
	}
	return &Script{Table: append([]string{create}, r.splitAt(d, points)...)}
}

// grow splits ranges, which the engine also does by itself when they have grown.
func (r ranged) grow(from, to *division) *Script {
	if r.split == "" {
		return &Script{Notes: []string{"Nothing to run: YugabyteDB splits tablets that have grown by itself, and yb-admin split_tablet splits one by hand."}}
	}
	old := from.points()
	return &Script{Table: r.splitAt(to, slices.DeleteFunc(to.points(), func(p int64) bool { return slices.Contains(old, p) }))}
}

func (r ranged) splitAt(d *division, points []int64) []string {
	if r.split == "" || len(points) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(r.split, quoteIn(r.of, d.name.Schema, d.name.Name), rows(points))}
}

// checkTop returns an error for a layout without the bucket on top, whose ids ascend: all new rows would go to the last range.
func (d *division) checkTop() error {
	if !d.top {
		return fmt.Errorf("%w: %s has another field above the bucket, and %s divides a table by ranges of its primary key; take a layout as idgen.Scattered",
			shard.ErrLayout, d.Layout, d.engine)
	}
	return nil
}

func (d *division) checkRanges() error { return cmp.Or(d.checkTop(), fits(mysqlLongest, d.name.Name)) }

// points returns the least ids of all parts but the first, where an engine that divides a table by ranges of its primary key splits it.
func (d *division) points() (points []int64) {
	for _, p := range d.parts[1:] {
		points = append(points, d.least(p))
	}
	return points
}

// rows returns points as rows of one column: (1), (2).
func rows(points []int64) string { return "(" + strings.ReplaceAll(list(points), ",", "), (") + ")" }
