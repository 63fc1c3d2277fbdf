package ticket_test

import (
	"database/sql/driver"
	"io"
	"regexp"
	"strings"

	"github.com/snowkey-go/snowkey/ticket"
)

// homes are the schemas that the tables of mocks are in.
var homes = map[ticket.Dialect]string{ticket.MySQL: "app", ticket.Postgres: "public", ticket.SQLite: "main"}

// named has the name of the table that a query of the catalogue is for.
var named = regexp.MustCompile(`(?:relname|TABLE_NAME|AND name) = '([^']+)'`)

// located is the catalogue's answer to who looks for the place of a table, which no script has: each table is there, unless the next step makes it. It is nil for other
// queries.
func (m *mock) located(query string) driver.Rows {
	dialect := ticket.Dialect(0)
	switch {
	case strings.HasPrefix(query, "SELECT current_database(), quote_ident(current_user)"):
		return &table{rows: [][]driver.Value{values("app", "web", "public")}}
	case strings.HasPrefix(query, "SELECT DATABASE(), "):
		return &table{rows: [][]driver.Value{values("app", "'web'@'%'", 0)}}
	case strings.HasPrefix(query, "SELECT name, COALESCE(file, '') FROM pragma_database_list"):
		databases := [][]driver.Value{values("main", "")}
		if m.schema != "main" {
			databases = append(databases, values(m.schema, ""))
		}
		return &table{rows: databases}
	case strings.HasPrefix(query, "SELECT CAST(n.nspname AS text) FROM pg_catalog.pg_class"):
		dialect = ticket.Postgres
	case strings.HasPrefix(query, "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES"):
		dialect = ticket.MySQL
	case strings.HasPrefix(query, "SELECT '"+m.schema+"', name FROM "):
		dialect = ticket.SQLite
	case strings.HasPrefix(query, "SELECT 'main', name FROM "):
		return &table{}
	default:
		return nil
	}
	name := named.FindStringSubmatch(query)[1]
	if sent := int(m.sent.Load()); sent < len(m.steps) && strings.HasPrefix(m.steps[sent].sql, "CREATE ") && strings.Contains(m.steps[sent].sql, name) {
		return &table{}
	}
	schema := m.schema
	if schema == "" {
		schema = homes[dialect]
	}
	if dialect == ticket.Postgres {
		return &table{rows: [][]driver.Value{values(schema)}}
	}
	return &table{rows: [][]driver.Value{values(schema, name)}}
}

// table is rows of an answer.
type table struct{ rows [][]driver.Value }

func (t *table) Columns() []string {
	if len(t.rows) == 0 {
		return nil
	}
	return make([]string, len(t.rows[0]))
}

func (t *table) Close() error { return nil }

func (t *table) Next(dest []driver.Value) error {
	if len(t.rows) == 0 {
		return io.EOF
	}
	copy(dest, t.rows[0])
	t.rows = t.rows[1:]
	return nil
}
