package ddl

import (
	"fmt"
	"regexp"

	"github.com/snowkey-go/snowkey/shard"
)

// plainName is a name that SQLite, MySQL, MariaDB and PostgreSQL read alike without quotes, unless it is a word of theirs.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,49}$`)

// createGORMSharding has plain tables orders_00, orders_01, … for gorm.io/sharding, on SQLite, MySQL, MariaDB and PostgreSQL: the program finds the table,
// see [shard.Tables]. Either layout does.
func (d *division) createGORMSharding() *Script {
	names, _ := d.tables() // which were checked
	s := &Script{}
	for _, name := range names {
		s.Table = append(s.Table, d.create(name, primary(d.Key), d.refusing(d.Key))+d.options())
	}
	return s
}

func (d *division) checkGORMSharding() error {
	_, err := d.tables()
	return err
}

// growGORMSharding moves the rows of each new table from the one that had them.
func growGORMSharding(from, to *division) *Script {
	old, _ := from.tables()
	names, _ := to.tables()
	if len(names) == len(old) {
		return &Script{}
	}
	s := &Script{Notes: []string{"End all programs that write to the tables; start them again with as many tables as there are then. " +
		"Rows with ids from before the sharding are moved wrongly; move those by their sharding keys first.", resume}}
	for i, name := range old {
		if name != names[i] { // its number has more digits now
			s.Table = append(s.Table, "ALTER TABLE "+name+" RENAME TO "+names[i])
		}
	}
	for j := len(old); j < len(names); j++ {
		of := fmt.Sprintf(" FROM %s WHERE %s %% %d = %d", names[j%len(old)], to.bucket(to.Key), len(names), j)
		s.Table = append(s.Table, to.create(names[j], primary(to.Key), to.refusing(to.Key))+to.options(),
			"INSERT INTO "+names[j]+" SELECT *"+of, "DELETE"+of+" AND "+to.Key+" IN (SELECT "+to.Key+" FROM "+names[j]+")") // never a row that was not copied
	}
	return s
}

// tables returns the names of the tables.
func (d *division) tables() ([]string, error) {
	switch {
	case d.name.Schema != "" || !plainName.MatchString(d.name.Name) || !plainName.MatchString(d.Key):
		return nil, fmt.Errorf("%w: %s with the key %s; for %s both are up to 50 of a-z, 0-9 and underlines, without a schema", ErrTable, d.Name, d.Key, d.engine)
	case len(d.Alone) > 0:
		return nil, fmt.Errorf("%w: %s has no table for the bucket %d alone", ErrTable, d.engine, d.Alone[0])
	}
	t, err := shard.NewTables(d.Layout, d.Shards, int64(0))
	if err != nil {
		return nil, err
	}
	names := t.Suffixes()
	for i, suffix := range names {
		names[i] = d.name.Name + suffix
	}
	return names, nil
}
