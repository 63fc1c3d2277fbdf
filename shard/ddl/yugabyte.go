package ddl

import (
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// createYugabyte follows the stable documentation of YugabyteDB; nobody has run it here. With ASC YugabyteDB keeps the table in the order of its
// primary key, where its default is the order of a hash; so a sharding key's rows are together and ranges of ids are read as such. The table begins
// with a tablet for each shard.
func (d *division) createYugabyte() (*Script, error) {
	points, err := d.points()
	if err != nil {
		return nil, err
	}
	key := dialect.Postgres.QuoteAny(d.Key)
	create := d.create(d.own(d.name.Name), key+" ASC", "CHECK ("+d.ids(key)+")")
	if len(points) > 0 {
		create += " SPLIT AT VALUES (" + strings.Join(rows(points), ", ") + ")"
	}
	return &Script{Table: []string{create}}, nil
}

// growYugabyte has no statement: there is none that splits a tablet.
func growYugabyte(_, to *division) (*Script, error) {
	if _, err := to.points(); err != nil {
		return nil, err
	}
	return &Script{Notes: []string{"Nothing to run: YugabyteDB splits tablets that have grown by itself, and yb-admin split_tablet splits one by hand."}}, nil
}
