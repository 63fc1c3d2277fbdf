package gormplugin

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// catalog is what a database knows of its tables, and how a fault is mended in its dialect. Nothing is written.
type catalog interface {
	// each calls scan for each row of a query.
	each(ctx context.Context, query string, args []any, scan func(scan func(...any) error) error) error
	// list returns the tables of the current schema, without views.
	list(ctx context.Context) ([]tableName, error)
	// read returns a table, nil when there is none of the name.
	read(ctx context.Context, name tableName) (*table, error)
	// references returns the foreign keys that tables hold, and those that point to them. It may return more of the same schemas.
	references(ctx context.Context, tables []*table) ([]*reference, error)
	quote(part string) string
	// greatest returns the query for the greatest key in a column, as a text: a prepared statement whose result changed its type with the
	// column would fail once.
	greatest(t *table, col *column) string

	// widen returns the statements that make a column a 64-bit integer, or what is in the way of them.
	widen(ctx context.Context, c *checker, t *table, col *column) (mend, error)
	// stop returns the statements that keep the database from making keys in a column.
	stop(ctx context.Context, c *checker, t *table, col *column) (mend, error)
	// require returns the statements that make columns the primary key.
	require(ctx context.Context, t *table, columns []string) (mend, error)
}

// otherType is why no column changes its type that is none of integers.
const otherType = "no statement is offered, since what its values are as numbers is for somebody to decide: make a bigint column beside it, fill it, see that " +
	"no two rows are the same and none is lost, and let it and what refers to it take the place of the old ones"

var (
	textLiteral = regexp.MustCompile(`(?s)'(?:[^'\\]|''|\\.)*'`)
	nextval     = regexp.MustCompile(`(?i)\bnextval\(`)
)

// callsNextval tells whether a default takes a number of a sequence.
func callsNextval(value string) bool {
	return nextval.MatchString(textLiteral.ReplaceAllString(value, "''"))
}

// greatestOf is what a catalog's greatest returns for a type of texts that CAST knows.
func greatestOf(c catalog, t *table, col *column, text string) string {
	return "SELECT CAST(MAX(" + c.quote(col.name) + ") AS " + text + ") FROM " + quoted(c, t.tableName)
}

// mend is a list of statements that are certain to run to their end, and to change nothing but what the finding says; or says why there
// is none, and what to do. A note is worth knowing in both cases.
type mend struct {
	statements []string
	note       string
}

// newCatalog returns the catalog of a database's dialect.
func newCatalog(db *gorm.DB) (catalog, error) {
	if db == nil || db.Statement == nil || db.Statement.ConnPool == nil {
		return nil, fmt.Errorf("%w: no connection to a database", ErrCheck)
	}
	pool := pool{db.Statement.ConnPool}
	switch db.Name() {
	case "mysql":
		return mysqlCatalog{pool}, nil
	case "postgres":
		return postgresCatalog{pool}, nil
	case "sqlite":
		return sqliteCatalog{pool}, nil
	}
	return nil, fmt.Errorf("%w: the dialect is %q, want mysql, postgres or sqlite", ErrCheck, db.Name())
}

// class is what a column can hold.
type class uint8

const (
	other    class = iota
	integer        // of bits
	decimal        // of digits before the point
	floating       // rounds keys
	text           // of at most digits letters
)

// table is a table, or what else goes by the name of one.
type table struct {
	tableName // as the database has it; the schema is empty when the name alone is enough
	full      tableName
	oid       uint32 // PostgreSQL's number for it
	view      string // what it is when it is no table, such as "view"
	engine    string // of MySQL
	versioned bool   // it keeps its history, on MariaDB
	related   string // how other tables share its columns, on PostgreSQL, such as "partitioned"
	columns   []*column
	unique    [][]string // columns of its unique indexes, the primary key first
	hasKey    bool       // the first of unique is the primary key
	create    string     // the statement that makes it, on MySQL and SQLite
}

// column is a column of a table.
type column struct {
	name      string
	typ       string // as the database writes it
	class     class
	bits      int // of an integer
	digits    int // of a decimal or text; 0 where there is no limit
	nullable  bool
	value     string // its default, as the database writes it
	auto      string // how the database makes keys for it: AUTO_INCREMENT, the default, the kind of identity; empty when it does not
	always    bool   // it makes them even where one is given, PostgreSQL's GENERATED ALWAYS
	domain    bool   // its type is one, on PostgreSQL
	generated bool   // its value is computed, on PostgreSQL
	date      bool   // it has a month and a day, on MySQL
	extra     string // what MySQL's information_schema calls so
	comment   bool   // it has one, on MySQL
}

// reference is a foreign key: columns of the table child refer to those of the table parent.
type reference struct {
	name          string
	child, parent tableName // full
	columns       []string  // of child
	to            []string  // of parent, one for each of columns
	rules         string    // ON DELETE and ON UPDATE, on MySQL; empty for who may not see them
}

// key returns the columns of the primary key, nil when there is none.
func (t *table) key() []string {
	if !t.hasKey {
		return nil
	}
	return t.unique[0]
}

// column returns the column of a name, which SQLite and MySQL take in any case, nil when there is none.
func (t *table) column(name string, fold bool) *column {
	for _, exact := range []bool{true, false} {
		i := slices.IndexFunc(t.columns, func(c *column) bool {
			return c.name == name || !exact && fold && strings.EqualFold(c.name, name)
		})
		if i >= 0 {
			return t.columns[i]
		}
	}
	return nil
}

// isUnique tells whether no two rows can have the same value in a column.
func (t *table) isUnique(col *column) bool {
	return slices.ContainsFunc(t.unique, func(columns []string) bool { return len(columns) == 1 && columns[0] == col.name })
}

// quoted returns the table's name as statements have it.
func quoted(c catalog, n tableName) string {
	if n.schema == "" {
		return c.quote(n.name)
	}
	return c.quote(n.schema) + "." + c.quote(n.name)
}

func quotedList(c catalog, names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = c.quote(name)
	}
	return strings.Join(quoted, ", ")
}

// pool is GORM's connection, without its callbacks and logger.
type pool struct{ gorm.ConnPool }

// each calls scan for each row of a query. It must not query itself: the connection may be the only one.
func (p pool) each(ctx context.Context, query string, args []any, scan func(scan func(...any) error) error) (err error) {
	rows, err := p.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err says what fails
	for rows.Next() {
		if err := scan(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// texts returns the rows of a query for one text.
func (p pool) texts(ctx context.Context, query string, args ...any) (found []string, err error) {
	err = p.each(ctx, query, args, func(scan func(...any) error) error {
		var value sql.NullString
		if err := scan(&value); err != nil {
			return err
		}
		found = append(found, value.String)
		return nil
	})
	return found, err
}

// group adds a column to the last of lists, or to a new one when the row is of another list than the row before.
func group(lists [][]string, same bool, column string) [][]string {
	if !same {
		return append(lists, []string{column})
	}
	lists[len(lists)-1] = append(lists[len(lists)-1], column)
	return lists
}
