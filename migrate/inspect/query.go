package inspect

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// texts returns the rows of a query for one text that is not NULL.
func (i *inspector) texts(ctx context.Context, query string, args ...any) (found []string, err error) {
	var value sql.NullString
	err = i.catalog.Each(ctx, query, args, []any{&value}, func() error {
		if value.Valid {
			found = append(found, value.String)
		}
		return nil
	})
	return found, err
}

// number returns the number that a query has in its first row, 0 for NULL and without a row.
func (i *inspector) number(ctx context.Context, query string, args ...any) (int64, error) {
	var value sql.NullInt64
	err := i.catalog.Each(ctx, query, args, []any{&value}, nil)
	return value.Int64, err
}

// mark is how the dialect writes its nth parameter. Numbers are written into statements, and names may have a question mark in them.
func (i *inspector) mark(n int) string {
	if i.dialect == dialect.Postgres {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}

func (i *inspector) quote(part string) string { return i.catalog.Quote(part) }

func (i *inspector) quoted(s *subject) string { return i.catalog.Quoted(s.Name) }

// text is an expression as a text.
func (i *inspector) text(expression string) string {
	return "CAST(" + expression + map[dialect.Dialect]string{dialect.MySQL: " AS CHAR)", dialect.Postgres: " AS text)", dialect.SQLite: " AS TEXT)"}[i.dialect]
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
