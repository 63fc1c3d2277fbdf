package ticket_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/ticket"
)

// only is the layout of the kind's only server.
func (k kind) only() string {
	if k.blocks {
		return "1/1x100"
	}
	return "1/1"
}

// empty is the inspection of a server where nothing was made yet.
func (k kind) empty() script {
	return k.inspected(k.only()).tableless().fail("register", k.noTable())
}

// coded is an error as modernc's driver of SQLite has them.
type coded struct {
	code int
	text string
}

func (c *coded) Error() string { return c.text }
func (c *coded) Code() int     { return c.code }

// noTable is what a server says of a table that is not there.
func (k kind) noTable() error {
	return map[ticket.Dialect]error{
		ticket.MySQL: my(1146), ticket.Postgres: pg("42P01"), ticket.SQLite: &coded{1, "no such table: snowkey_register"},
	}[k.dialect]
}

// tableless is an inspection that finds no table, but numbers in the register.
func (s script) tableless(registered ...int64) script {
	if s[0].sql == postgresSettings && s[1].name == "object" {
		return s.answer("object").without("value").registered(registered...)
	}
	return s.answer("columns").without("keys", "engine", "persistence", "row", "made", "counter").registered(registered...)
}

// rowless is an inspection that finds no row, but numbers in the register.
func (s script) rowless(registered ...int64) script {
	if s[1].name == "object" {
		return s.tableless(registered...)
	}
	return s.answer("row").without("made", "counter").registered(registered...)
}

// registered changes the numbers that are in the register.
func (s script) registered(numbers ...int64) script {
	var rows [][]driver.Value
	for _, n := range numbers {
		rows = append(rows, values(n))
	}
	return s.answer("register", rows...)
}

// rowless is the inspection of a server without the row.
func (k kind) rowless(registered ...int64) script {
	return k.inspected(k.only()).rowless(registered...)
}

// making is what makes the row of a layout, on a server where nothing is, or where the row is missing.
func (k kind) making(c ticket.Counter, layout string) script {
	var tables script
	for _, statement := range c.Tables() {
		tables = tables.then(executed(statement, 0, 0).named("table"))
	}
	var s script
	switch k.dialect {
	case ticket.MySQL: // where they end transactions
		s = tables.then(executed("START TRANSACTION", 0, 0).named("begin"))
	case ticket.Postgres:
		s = s.then(executed("BEGIN ISOLATION LEVEL READ COMMITTED", 0, 0).named("begin"), executed("SELECT "+durable, 0, 0).named("durable")).then(tables...)
	case ticket.SQLite:
		s = s.then(executed("BEGIN IMMEDIATE", 0, 0).named("begin")).then(tables...)
	}
	l, _, _ := ticket.ParseFrozen(layout)
	number, _, _ := l.Parts()
	s = s.then(executed(c.Enter(int(number)), 1, 0).named("enter"))
	inside := k.rowless(number)
	inside[0] = inside[0].named("inside")
	s = s.then(inside...)
	for _, statement := range c.Row(layout, 0) {
		s = s.then(executed(statement, 1, 0).named("insert"))
	}
	return s.then(executed(k.end("COMMIT"), 0, 0).named("commit"))
}

// ended is what follows the step that fails, by its name: the end of the transaction, where there is one.
func (k kind) ended(name string) script {
	if name == "begin" || name == "table" && k.dialect == ticket.MySQL {
		return nil
	}
	return script{k.rollback()}
}

// end is the statement that ends a transaction.
func (k kind) end(statement string) string {
	if k.dialect == ticket.MySQL {
		return statement + " AND NO CHAIN NO RELEASE"
	}
	return statement
}

func (k kind) rollback() step { return executed(k.end("ROLLBACK"), 0, 0).named("rollback") }

func TestSetup(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			m := newMock(t)
			s := k.servers(t, ticket.Config{}, m)
			m.expect(slices.Concat(k.empty(), k.making(s.Counter(1), k.only()), k.inspected(k.only()), k.inspected(k.only()))...)
			if err := s.Setup(t.Context()); err != nil {
				t.Error(err)
			}
			// What is there stays as it is.
			m.expect(slices.Concat(k.inspected(k.only()), k.inspected(k.only()))...)
			if err := s.Setup(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A process that fails where another one made the row has what it needs; one that goes on failing tries twenty times.
func TestSetupFails(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, name := range []string{"table", "begin", "durable", "enter", "inside", "insert", "commit"} {
			if name == "durable" && k.dialect != ticket.Postgres {
				continue
			}
			broken := map[ticket.Dialect]error{ticket.MySQL: my(1062), ticket.Postgres: pg("23505"), ticket.SQLite: lite(19)}[k.dialect]
			failing := func(c ticket.Counter) script {
				s := k.making(c, k.only())
				return s.fail(name, broken).until(name).then(k.ended(name)...)
			}
			t.Run(fmt.Sprintf("%v/%s/once", k, name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m := newMock(t)
					s := k.servers(t, ticket.Config{}, m)
					m.expect(slices.Concat(k.empty(), failing(s.Counter(1)), k.inspected(k.only()), k.inspected(k.only()), k.inspected(k.only()))...)
					if err := s.Setup(t.Context()); err != nil {
						t.Error(err)
					}
				})
			})
			t.Run(fmt.Sprintf("%v/%s/always", k, name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m := newMock(t)
					s := k.servers(t, ticket.Config{}, m)
					m.expect(k.empty()...)
					for range 20 {
						m.expect(append(failing(s.Counter(1)), k.empty()...)...)
					}
					err := s.Setup(t.Context())
					var failure *ticket.ServerError
					if !errors.As(err, &failure) || failure.Class != ticket.Permanent || !errors.Is(err, broken) {
						t.Errorf("got %v, want %v", err, broken)
					}
				})
			})
		}
	}
}

// A connection whose transaction cannot be ended is closed.
func TestSetupAbandons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := blockMySQL
		m := newMock(t)
		s := k.servers(t, ticket.Config{}, m)
		making := k.making(s.Counter(1), k.only())
		making = making.fail("insert", my(1062)).until("insert").then(k.rollback().fails(my(1053)))
		m.expect(slices.Concat(k.empty(), making, k.inspected(k.only()), k.inspected(k.only()), k.inspected(k.only()))...)
		if err := s.Setup(t.Context()); err != nil || m.closed.Load() != 1 {
			t.Errorf("got %v, %d closed connections, want 1", err, m.closed.Load())
		}
	})
}

// The register has the sequence, and the row is gone: it is not made again.
func TestSetupForgotten(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			m := newMock(t)
			s := k.servers(t, ticket.Config{}, m)
			m.expect(append(k.rowless(1), k.rowless(1)...)...)
			wantForgotten(t, k, s.Setup(t.Context()))
			// It was entered, and its row made and lost, since the look.
			making := k.making(s.Counter(1), k.only())
			making = making[:making.find("insert")].then(k.rollback())
			making[making.find("enter")].result = answer{}
			m.expect(append(k.rowless(), making...)...)
			wantForgotten(t, k, s.Setup(t.Context()))
		})
	}
}

// wantForgotten tests that the error has a statement with a question mark.
func wantForgotten(t *testing.T, k kind, err error) {
	t.Helper()
	var failure *ticket.ServerError
	var table *ticket.TableError
	if !errors.As(err, &failure) || failure.Class != ticket.Permanent || !errors.Is(err, ticket.ErrForgotten) || !errors.As(err, &table) {
		t.Fatalf("got %v, want a TableError that is %v", err, ticket.ErrForgotten)
	}
	want := map[kind]string{
		replaceMySQL:  "INSERT INTO `app`.`snowkey_tickets` (id, stub, layout) VALUES (?, 'default', '1/1')",
		replaceSQLite: `INSERT INTO "main"."snowkey_tickets" (id, stub, layout) VALUES (?, 'default', '1/1')`,
		sequence: `CREATE SEQUENCE "public"."snowkey_tickets.default" INCREMENT BY 1 MINVALUE 0 START WITH 1;` + "\nCOMMENT ON SEQUENCE \"public\".\"snowkey_tickets.default\" IS '1/1';\n" +
			`SELECT setval('"public"."snowkey_tickets.default"', ? / 1 * 1 + 1)`,
		blockMySQL:    "INSERT INTO `app`.`snowkey_blocks` (name, next, layout) VALUES ('default', (? DIV 100 + 1) * 100 + 1, '1/1x100')",
		blockPostgres: `INSERT INTO "public"."snowkey_blocks" (name, next, layout) VALUES ('default', (? / 100 + 1) * 100 + 1, '1/1x100')`,
		blockSQLite:   `INSERT INTO "main"."snowkey_blocks" (name, next, layout) VALUES ('default', (? / 100 + 1) * 100 + 1, '1/1x100')`,
	}[k]
	want = k.servers(t, ticket.Config{}, newMock(t)).Counter(1).Enter(1) + ";\n" + want
	if table.Statement != want || !strings.Contains(err.Error(), "this makes it:\n"+want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// Another process made the row while this one waited for the register.
func TestSetupTogether(t *testing.T) {
	k := blockPostgres
	m := newMock(t)
	s := k.servers(t, ticket.Config{}, m)
	making := k.making(s.Counter(1), k.only()).until("enter")
	making[making.find("enter")].result = answer{}
	m.expect(slices.Concat(k.empty(), making, k.inspected(k.only()), script{executed(k.end("COMMIT"), 0, 0)}, k.inspected(k.only()), k.inspected(k.only()))...)
	if err := s.Setup(t.Context()); err != nil {
		t.Error(err)
	}
}

// How many rows an INSERT changed may not be known.
func TestSetupEntersUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := blockMySQL
		m := newMock(t)
		s := k.servers(t, ticket.Config{}, m)
		making := k.making(s.Counter(1), k.only()).until("enter").then(k.rollback())
		making[making.find("enter")].result = answer{changedErr: &mysql.MySQLError{Number: 1105}}
		m.expect(slices.Concat(k.empty(), making, k.inspected(k.only()), k.inspected(k.only()), k.inspected(k.only()))...)
		if err := s.Setup(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The rows that are there have no place for the servers of the list, or cannot be told.
func TestSetupPlaces(t *testing.T) {
	k := blockMySQL
	for _, test := range []struct {
		name          string
		first, second script
		is            error
		text          string
	}{
		{"garbage", k.inspected("1/2x100"), k.inspected("2/2x100").answer("row", values(701, "two")), ticket.ErrLayout, `server 2: ticket: the server has another layout: it is "two"`},
		{"frozen", k.inspected(">1/2x100"), k.inspected("2/2x100"), ticket.ErrMoving, "server 1: ticket: the servers are being resized, to 2"},
		{"another number", k.inspected("1/3x100"), k.inspected("3/3x100"), ticket.ErrLayout, "server 2: ticket: the server has another layout: it is number 3 of 3, and in the list it is number 2"},
		{"two layouts", k.inspected("1/2x100"), k.inspected("2/3x100"), ticket.ErrLayout, "it has 2/3x100, and server 1 has 1/2x100; Resize gives them one"},
		{"two units", k.inspected("1/2x100"), k.inspected("2/2x50"), ticket.ErrLayout, "it has 2/2x50, and server 1 has 1/2x100"},
		{"no place", k.inspected("1/1x100"), k.empty(), ticket.ErrLayout, "it has 1/1x100, and there are 2 servers; Resize makes place for them"},
		{"cannot be asked", k.inspected("1/2x100").fail("settings", my(1045)).until("settings"), k.inspected("2/2x100"), ticket.ErrTable, "server 1"},
		{"not a table of ours", k.inspected("1/2x100").answer("columns", values("a", "int", 0, 0)).without("engine", "row"), k.inspected("2/2x100"), ticket.ErrTable, "has no column name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := k.servers(t, ticket.Config{}, newMock(t, test.first...), newMock(t, test.second...))
			if err := s.Setup(t.Context()); !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %v: %s", err, test.is, test.text)
			}
		})
	}
}

// What Setup waits for ends with its context.
func TestSetupEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := blockMySQL
		m := newMock(t)
		s := k.servers(t, ticket.Config{}, m)
		making := k.making(s.Counter(1), k.only()).fail("begin", my(1040)).until("begin")
		m.expect(slices.Concat(k.empty(), making, k.empty(), making, k.empty())...)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond) // the second pause takes longer
		defer cancel()
		if err := s.Setup(ctx); err == nil || !strings.Contains(err.Error(), "1040") {
			t.Errorf("got %v, want the error 1040", err)
		}
	})
}

// A standby takes no tables.
func TestSetupReadOnly(t *testing.T) {
	k := sequence
	m := newMock(t, k.inspected("1/1").answer("settings", values("on", "on", true, "off", 0))...)
	if err := k.servers(t, ticket.Config{}, m).Setup(t.Context()); !errors.Is(err, ticket.ErrReadOnly) {
		t.Errorf("got %v, want %v", err, ticket.ErrReadOnly)
	}
}

// Another process made rows with another configuration.
func TestSetupAgainStatements(t *testing.T) {
	k := blockMySQL
	m := newMock(t)
	s := k.servers(t, ticket.Config{}, m)
	making := k.making(s.Counter(1), k.only())
	fails := k.inspected(k.only()).fail("settings", my(1040)).until("settings")
	for _, between := range []script{nil, k.inspected(k.only())} { // before it looks for the first server's row, and after
		m.expect(slices.Concat(k.empty(), making, between, k.inspected("2/2x100"))...)
		if err := s.Setup(t.Context()); !errors.Is(err, ticket.ErrLayout) {
			t.Errorf("got %v, want %v", err, ticket.ErrLayout)
		}
		m.expect(slices.Concat(k.empty(), making, between, fails)...)
		if err := s.Setup(t.Context()); err == nil || !strings.Contains(err.Error(), "1040") {
			t.Errorf("got %v", err)
		}
	}
}

func TestCheck(t *testing.T) {
	k := blockMySQL
	first := k.inspected("1/3x100")
	for _, test := range []struct {
		name   string
		second script
		finds  []found
		is     error
	}{
		{"in order", k.inspected("2/3x100"), nil, nil},
		{"another layout", k.inspected("2/4x100"), []found{{ticket.ErrLayout, "the layout is 2/4x100, and another server has 1/3x100"}}, nil},
		{"other units", k.inspected("2/3x50"), []found{{ticket.ErrLayout, "the layout is 2/3x50"}}, nil},
		{"another number", k.inspected("3/3x100"), nil, ticket.ErrLayout},
		{"nearly used", k.inspected("2/3x100").answer("row", values(900101, "2/3x100")), []found{{nil, "90.0 % of the ids up to 1000000 are used"}}, nil},
		{"unsafe", settings(1, 0, 0, 0, 1, 1, "ROW", 1, 1, 1, 1, 1)(k.inspected("2/3x100")), []found{{ticket.ErrUnsafe, "innodb_flush"}}, nil},
		{
			"not a table of ours", k.inspected("2/3x100").answer("columns", values("a", "int", 0, 0)).without("engine", "row"),
			[]found{{ticket.ErrTable, "no column name"}, {ticket.ErrTable, "no column next"}, {ticket.ErrTable, "no column layout"}}, nil,
		},
		{"garbage", k.inspected("2/3x100").answer("row", values(101, "")), nil, ticket.ErrLayout},
		{"no table", k.empty(), nil, ticket.ErrTable},
		{"forgotten", k.inspected("2/3x100").rowless(2), nil, ticket.ErrForgotten},
		{"frozen", k.inspected(">2/3x100"), nil, ticket.ErrMoving},
		{"down", k.inspected("2/3x100").fail("settings", errReset).until("settings"), nil, errReset},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := k.servers(t, ticket.Config{Limit: 1_000_000}, newMock(t, first...), newMock(t, test.second...))
			got, err := s.Check(t.Context())
			wantFindings(t, got, test.finds)
			if test.is == nil {
				if err != nil {
					t.Error(err)
				}
			} else if !errors.Is(err, test.is) {
				t.Errorf("got %v, want %v", err, test.is)
			}
			for _, f := range got {
				if f.Server != "server 2" || f.Refused() != (f.Err != nil) {
					t.Errorf("got %v of %s, want of server 2", f, f.Server)
				}
			}
		})
	}
}

// Check looks with a session that has the settings of now.
func TestCheckStale(t *testing.T) {
	k := replaceMySQL
	stale := settings(0, 0, 0, 1, 1, 1, "ROW", 1, 1, 1, 1, 1)(k.inspected("1/1"))
	m := newMock(t, append(stale, k.inspected("1/1")...)...)
	got, err := k.servers(t, ticket.Config{}, m).Check(t.Context())
	wantFindings(t, got, nil)
	if err != nil || m.closed.Load() != 1 {
		t.Errorf("got %v, %d closed connections, want 1", err, m.closed.Load())
	}
}
