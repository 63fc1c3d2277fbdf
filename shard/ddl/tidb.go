package ddl

import (
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// createTiDB follows the documentation of TiDB 8.4; nobody has run it here. TiDB keeps a table in the order of a clustered primary key and splits it
// into regions by size. With the bucket on top new rows are all over the table, which is what AUTO_RANDOM is for. The table begins with a region for
// each shard, where TiDB would begin with one and have all writes there. Regions that stay empty are merged again after a while, unless the table has
// ATTRIBUTES 'merge_option=deny'.
func (d *division) createTiDB() (*Script, error) {
	points, err := d.points()
	if err != nil {
		return nil, err
	}
	if err := fits(mysqlLongest, d.name.Name); err != nil {
		return nil, err
	}
	key := dialect.MySQL.QuoteAny(d.Key)
	create := "CREATE TABLE " + d.tidb() + " (\n" + d.Columns + "\n, PRIMARY KEY (" + key + ") CLUSTERED\n, CHECK (" + d.ids(key) + ")\n)" + d.options()
	return &Script{Table: append([]string{create}, d.splitTiDB(points)...)}, nil
}

// growTiDB splits regions, which TiDB also does by itself when they have grown.
func growTiDB(from, to *division) (*Script, error) {
	points, err := newPoints(from, to)
	if err != nil {
		return nil, err
	}
	return &Script{Table: to.splitTiDB(points)}, nil
}

func (d *division) splitTiDB(points []int64) []string {
	if len(points) == 0 {
		return nil
	}
	return []string{"SPLIT TABLE " + d.tidb() + " BY " + strings.Join(rows(points), ", ")}
}

func (d *division) tidb() string { return quoteIn(dialect.MySQL, d.name.Schema, d.name.Name) }
