package ddl

import (
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// createCockroach follows the documentation of CockroachDB 22.1; nobody has run it here. CockroachDB keeps a table in the order of its primary key and
// splits it into ranges by size and load. With the bucket on top new rows are all over the table, which is what hash-sharded indexes are for. The
// table begins with a range for each shard; such splits do not expire.
func (d *division) createCockroach() (*Script, error) {
	points, err := d.points()
	if err != nil {
		return nil, err
	}
	return &Script{Table: append([]string{d.whole(dialect.Postgres)}, d.splitCockroach(points)...)}, nil
}

// growCockroach splits ranges, which CockroachDB also does by itself when they have grown.
func growCockroach(from, to *division) (*Script, error) {
	points, err := newPoints(from, to)
	if err != nil {
		return nil, err
	}
	return &Script{Table: to.splitCockroach(points)}, nil
}

func (d *division) splitCockroach(points []int64) []string {
	if len(points) == 0 {
		return nil
	}
	return []string{"ALTER TABLE " + d.own(d.name.Name) + " SPLIT AT VALUES " + strings.Join(rows(points), ", ")}
}
