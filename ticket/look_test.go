package ticket_test

import (
	"context"
	"database/sql/driver"
	"math"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/ticket"
)

// What servers answer that are in order, by the name of the query. The row's is of a sequence that has been drawn from.
var (
	mysqlAnswers = map[string][][]driver.Value{
		"settings": {values(1, 0, 0, 1, 1, 1, "MIXED", 1, 1, 1, 1, 1, 0)},
		"columns": {
			values("id", "bigint", 1, 0), values("stub", "varchar", 0, 64), values("layout", "varchar", 0, 32),
			values("name", "varchar", 0, 64), values("next", "bigint", 0, 0),
		},
		"keys":   {values("stub"), values("id")},
		"engine": {values("InnoDB")},
	}
	postgresAnswers = map[string][][]driver.Value{
		"settings":    {values("on", "on", false, "off", 0)},
		"columns":     {values("name", "character varying", false, 64), values("next", "bigint", false, 0), values("layout", "character varying", false, 32)},
		"persistence": {values("p")},
		"value":       {values(601, true)},
	}
	sqliteAnswers = map[string][][]driver.Value{
		"synchronous": {values(2)},
		"journal":     {values("wal")},
		"queryOnly":   {values(0)},
		"file":        {values("/var/lib/keys.db")},
		"columns": {
			values("id", "INTEGER", 0, 0), values("stub", "varchar(64)", 0, 0), values("layout", "varchar(32)", 0, 0),
			values("name", "varchar(64)", 0, 0), values("next", "bigint", 0, 0),
		},
		"keys":    {values("stub")},
		"made":    {values("CREATE TABLE t (id integer PRIMARY KEY AutoIncrement)")},
		"counter": {values(600)},
	}
)

// steps are the names of the queries of an inspection.
func (k kind) steps() []string {
	switch k {
	case replaceMySQL:
		return []string{"settings", "columns", "keys", "engine", "row", "register"}
	case replaceSQLite:
		return []string{"synchronous", "journal", "queryOnly", "file", "columns", "keys", "row", "made", "counter", "register"}
	case sequence:
		return []string{"settings", "object", "value", "register"}
	case blockMySQL:
		return []string{"settings", "columns", "engine", "row", "register"}
	case blockPostgres:
		return []string{"settings", "columns", "persistence", "row", "register"}
	default:
		return []string{"synchronous", "journal", "queryOnly", "file", "columns", "row", "register"}
	}
}

// look is an inspection by those queries of a server that is in order, with a row of the layout.
func (k kind) look(queries []sent, layout string) script {
	var l ticket.Layout
	if layout != "" {
		l, _, _ = ticket.ParseFrozen(layout)
	}
	number, servers, _ := l.Parts()
	answers := map[ticket.Dialect]map[string][][]driver.Value{
		ticket.MySQL: mysqlAnswers, ticket.Postgres: postgresAnswers, ticket.SQLite: sqliteAnswers,
	}[k.dialect]
	var s script
	for i, name := range k.steps() {
		rows := answers[name]
		switch {
		case name == "settings" && k.dialect == ticket.MySQL && servers > 0:
			rows = [][]driver.Value{values(1, 0, 0, 1, 1, 1, "ROW", servers, number, 1, servers, number, 0)}
		case name == "row" && k.blocks:
			next, _ := l.After(600)
			rows = [][]driver.Value{values(next, layout)}
		case name == "row":
			rows = [][]driver.Value{values(600, 600, layout)}
		case name == "register":
			rows = [][]driver.Value{values(number)}
		case name == "object":
			rows = [][]driver.Value{values("S", "p", number, servers, int64(1<<63-1), 1, false, layout)}
		}
		s = append(s, queried(queries[i][0].(string), slices.Clone(rows)...).with(queries[i].args()...).named(name))
	}
	return s
}

// inspected is an inspection of the table with its default name.
func (k kind) inspected(layout string) script {
	return k.look(k.statements()[0].sends["inspect"], layout)
}

func (k kind) statements() []statements {
	return map[kind][]statements{
		replaceMySQL: replaceMySQLStatements, replaceSQLite: replaceSQLiteStatements, sequence: sequenceStatements,
		blockMySQL: blockMySQLStatements, blockPostgres: blockPostgresStatements, blockSQLite: blockSQLiteStatements,
	}[k]
}

// order is what the statements are for: server 2 of 3.
func (k kind) order() ticket.Order {
	o := ticket.Order{Layout: "2/3", Units: 1, High: 9000, Last: 500, Limit: math.MaxInt64}
	if k.blocks {
		o.Layout, o.Units = "2/3x100", 5
	}
	return o
}

// draw is the statement that draws by that order, and gives a number.
func (k kind) draw(number int64) step {
	s := k.statements()[0].sends["draw"][0].answered()
	switch k {
	case replaceMySQL:
		s.result = answer{changed: 2, id: number}
	case replaceSQLite:
		s.result = answer{changed: 1, id: number}
	case blockMySQL:
		s.result = answer{changed: 1, id: number + 1500}
	case sequence:
		s.rows = [][]driver.Value{values(number, "on")}
	case blockPostgres:
		s.rows = [][]driver.Value{values(number+1500, "on")}
	case blockSQLite:
		s.rows = [][]driver.Value{values(number + 1500)}
	}
	return s.named("draw")
}

// try draws by that order from a server that is sent the steps, and may fail to connect first.
func (k kind) try(t *testing.T, m *mock, change ...func(*ticket.Order)) (ticket.Span, error) {
	t.Helper()
	return k.tryWith(t.Context(), t, m, change...)
}

func (k kind) tryWith(ctx context.Context, t *testing.T, m *mock, change ...func(*ticket.Order)) (ticket.Span, error) {
	t.Helper()
	o := k.order()
	for _, c := range change {
		c(&o)
	}
	return k.servers(t, ticket.Config{}, newMock(t), m, newMock(t)).Try(ctx, 2, o)
}
