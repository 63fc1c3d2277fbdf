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

// greatestOf is what a fixer's greatest returns for a type of texts that CAST knows.
func (d database) greatestOf(t *catalog.Table, col *catalog.Column, text string) string {
	return "SELECT CAST(MAX(" + d.Quote(col.Name) + ") AS " + text + ") FROM " + d.Quoted(t.Name)
}
