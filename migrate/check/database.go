package check

import (
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// database is what the database knows of its tables, read without GORM's callbacks and logger.
type database struct{ *catalog.Catalog }

// newDatabase returns the database, with what fixes its tables.
func newDatabase(db *gorm.DB) (database, fixer, error) {
	if db == nil || db.Statement == nil || db.Statement.ConnPool == nil {
		return database{}, nil, fmt.Errorf("%w: no connection to a database", ErrDatabase)
	}
	d, ok := dialect.Lookup(db.Name())
	if !ok {
		return database{}, nil, fmt.Errorf("%w: the dialect is %q, want mysql, postgres or sqlite", ErrDatabase, db.Name())
	}
	known, err := catalog.New(db.Statement.ConnPool, d)
	if err != nil {
		return database{}, nil, fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	of := database{known}
	switch d {
	case dialect.MySQL:
		return of, mysqlFixer{of}, nil
	case dialect.Postgres:
		return of, postgresFixer{of}, nil
	}
	return of, sqliteFixer{of}, nil
}

// parseTableName reads a table's name. The error wraps [ErrTable].
func parseTableName(text string) (catalog.Name, error) {
	name, err := catalog.Parse(text)
	if err != nil {
		return name, fmt.Errorf("%w: %s", ErrTable, strings.TrimPrefix(err.Error(), catalog.ErrName.Error()+": "))
	}
	return name, nil
}

// uniques returns the columns of a table's unique indexes, the primary key's first. Those with a condition are not among them.
func uniques(t *catalog.Table) (found [][]string) {
	for _, i := range t.Indexes {
		if i.Unique && i.Where == "" {
			found = append(found, i.Columns)
		}
	}
	return found
}

// isUnique reports whether no two rows can have the same value in a column.
func isUnique(t *catalog.Table, col *catalog.Column) bool {
	return slices.ContainsFunc(uniques(t), func(columns []string) bool { return len(columns) == 1 && columns[0] == col.Name })
}

// greatest returns the query for the greatest key in a column, as a text: a prepared statement whose result changed its type with the
// column would fail once.
func (d database) greatest(t *catalog.Table, col *catalog.Column) string {
	return fmt.Sprintf(map[dialect.Dialect]string{
		dialect.MySQL:    "SELECT CAST(MAX(%s) AS char) FROM %s",
		dialect.Postgres: "SELECT CAST(MAX(%s) AS text) FROM %s",
		dialect.SQLite:   "SELECT CAST(CAST(%[1]s AS integer) AS text) FROM %[2]s WHERE typeof(%[1]s) IN ('integer', 'real') ORDER BY %[1]s DESC LIMIT 1",
	}[d.Dialect()], d.Quote(col.Name), d.Quoted(t.Name))
}
