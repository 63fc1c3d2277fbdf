package table

import (
	"context"
	"database/sql"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Source reads the tables of one database, in its dialect.
type Source interface {
	// Outlines returns tables with their columns and indexes, one for each name: nil where there is none, and the same where two names are of one.
	Outlines(ctx context.Context, names []Name) ([]*Table, error)
}

// NewSource returns what reads the tables of a dialect, nil for an unknown one.
func NewSource(db dialect.Queryer, d dialect.Dialect) Source {
	r := Reader{DB: db, Dialect: d}
	switch d {
	case dialect.MySQL:
		return MySQL{r}
	case dialect.Postgres:
		return Postgres{r}
	case dialect.SQLite:
		return SQLite{r}
	}
	return nil
}

// Reader is a connection or pool.
type Reader struct {
	DB      dialect.Queryer
	Dialect dialect.Dialect
}

// Quote quotes one part of a name.
func (r Reader) Quote(part string) string { return r.Dialect.QuoteAny(part) }

// List returns the names of columns as statements have them, with commas between them.
func (r Reader) List(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = r.Quote(name)
	}
	return strings.Join(quoted, ", ")
}

// Quoted returns a table's name as statements have it.
func (r Reader) Quoted(n Name) string {
	if n.Schema == "" {
		return r.Quote(n.Name)
	}
	return r.Quote(n.Schema) + "." + r.Quote(n.Name)
}

// Each reads each row of a query into variables, if any, and then calls row, if not nil, which must not query: the connection may be the only one.
func (r Reader) Each(ctx context.Context, query string, args, into []any, row func() error) error {
	return dialect.Each(ctx, r.DB, query, args, func(rows *sql.Rows) error {
		if into != nil {
			if err := rows.Scan(into...); err != nil {
				return err
			}
		}
		if row == nil {
			return nil
		}
		return row()
	})
}

// Texts returns the rows of a query for one text, NULL as an empty one.
func (r Reader) Texts(ctx context.Context, query string, args ...any) (found []string, err error) {
	var value sql.NullString
	err = r.Each(ctx, query, args, []any{&value}, func() error {
		found = append(found, value.String)
		return nil
	})
	return found, err
}

// Names returns the rows of a query for one name in the current schema.
func (r Reader) Names(ctx context.Context, query string) (names []Name, err error) {
	found, err := r.Texts(ctx, query)
	for _, name := range found {
		names = append(names, Name{Name: name})
	}
	return names, err
}
