package ticket_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowkey-go/snowkey/ticket"
)

// unmatched is the statement of draw that finds that something is not as it has to be.
func (k kind) unmatched() step {
	s := k.draw(9101)
	switch k {
	case replaceMySQL, replaceSQLite, blockMySQL:
		s.result = answer{}
	case sequence:
		s.err = pg("2200H")
	default:
		s.rows = nil
	}
	return s
}

// ready is the inspection of a server that is in order, and may be drawn from by the order of the tests.
func (k kind) ready() script { return k.inspected(k.order().Layout) }

// The server is inspected when a statement draws nothing, and tells why.
func TestUnmatched(t *testing.T) {
	row := func(last int64, layout string) func(script) script {
		return func(s script) script {
			if strings.HasPrefix(s[s.find("row")].sql, "SELECT id, (SELECT MAX(id)") {
				return s.answer("row", values(last, last, layout))
			}
			return s.answer("row", values(last, layout))
		}
	}
	for _, test := range []struct {
		name  string
		kinds []kind
		look  func(script) script
		class ticket.Class
		is    error
		text  string
	}{
		{"unsafe", []kind{replaceMySQL, blockMySQL}, settings(1, 0, 0, 2, 1, 1, "ROW", 3, 2, 1, 3, 2), ticket.Permanent, ticket.ErrUnsafe, "innodb_flush_log_at_trx_commit"},
		{"offset of another", []kind{replaceMySQL}, both(otherOffset(3, 1, 3, 1), row(600, "1/4")), ticket.Quarantine, ticket.ErrLayout, "auto_increment_offset"},
		{"offset", []kind{replaceMySQL}, otherOffset(3, 1, 3, 1), ticket.Permanent, ticket.ErrLayout, "auto_increment_offset"},
		{"standby", []kind{sequence, blockPostgres}, rows("settings", values("on", "on", true, "off", 0)), ticket.Next, ticket.ErrReadOnly, "standby"},
		{"query_only", []kind{replaceSQLite, blockSQLite}, rows("queryOnly", values(1)), ticket.Next, ticket.ErrReadOnly, "query_only"},
		{"no key", []kind{replaceMySQL, replaceSQLite}, rows("keys", values("id")), ticket.Permanent, ticket.ErrTable, "no unique key"},
		{"no table", []kind{replaceMySQL, replaceSQLite, blockMySQL, blockPostgres, blockSQLite}, func(s script) script { return s.tableless() }, ticket.Permanent, ticket.ErrTable, "CREATE TABLE"},
		{"no row", []kind{replaceMySQL, blockMySQL, blockPostgres, blockSQLite}, both(rows("row"), rows("register")), ticket.Permanent, ticket.ErrTable, "CREATE TABLE"},
		{"forgotten", []kind{replaceMySQL, blockMySQL, blockPostgres, blockSQLite}, rows("row"), ticket.Permanent, ticket.ErrForgotten, "the greatest id known here is 9000"},
		{"forgotten", []kind{sequence}, both(rows("object"), without("value")), ticket.Permanent, ticket.ErrForgotten, "SELECT setval('\"public\".\"snowkey_tickets.default\"', ? / 3 * 3 + 2)"},
		{"garbage", []kind{replaceMySQL, blockMySQL, blockPostgres, blockSQLite}, row(701, "2/3x"), ticket.Quarantine, ticket.ErrLayout, `"2/3x"`},
		{"empty", []kind{replaceMySQL, blockSQLite}, row(701, ""), ticket.Quarantine, ticket.ErrLayout, `""`},
		{"frozen", []kind{replaceMySQL}, row(701, ">2/4"), ticket.Next, ticket.ErrMoving, "to 4"},
		{"frozen", []kind{blockMySQL, blockPostgres, blockSQLite}, row(701, ">2/4x100"), ticket.Next, ticket.ErrMoving, "to 4"},
		{"frozen", []kind{sequence}, object("p", 2, 3, 601, 1, false, ">2/4"), ticket.Next, ticket.ErrMoving, "to 4"},
		{"another number", []kind{blockMySQL, blockPostgres, blockSQLite}, row(1001, "3/4x100"), ticket.Quarantine, ticket.ErrLayout, "it is number 3 of 4, and in the list it is number 2"},
		{"set back", []kind{replaceMySQL, replaceSQLite}, row(499, "2/3"), ticket.Quarantine, ticket.ErrRegression, "it gave 500, and is at 499 now"},
		{"set back", []kind{blockMySQL, blockPostgres, blockSQLite}, row(401, "2/3x100"), ticket.Quarantine, ticket.ErrRegression, "it gave 500, and is at 400 now"},
		{"replica", []kind{blockMySQL}, both(settings(1, 0, 1, 1, 1, 1, "ROW", 3, 2, 1, 3, 2), row(401, "2/3x100")), ticket.Next, ticket.ErrReadOnly, "is it a replica"},
		{"replica", []kind{replaceMySQL}, both(settings(1, 0, 1, 1, 1, 1, "ROW", 3, 2, 1, 3, 2), row(499, "2/3")), ticket.Next, ticket.ErrReadOnly, "is it a replica"},
		{"replica", []kind{blockMySQL}, both(settings(1, 0, 1, 1, 1, 1, "ROW", 3, 2, 1, 3, 2), rows("row")), ticket.Next, ticket.ErrReadOnly, "is it a replica"},
		{"set back", []kind{sequence}, rows("value", values(2, true)), ticket.Quarantine, ticket.ErrRegression, "it gave 500, and is at 2 now"},
		{"more servers", []kind{blockMySQL, blockPostgres, blockSQLite}, row(901, "2/4x100"), ticket.Next, ticket.ErrLayout, "it was changed"},
		{"more servers", []kind{sequence}, object("p", 2, 4, math.MaxInt64, 1, false, "2/4"), ticket.Next, ticket.ErrLayout, "it was changed"},
		{"other units", []kind{blockMySQL, blockPostgres, blockSQLite}, row(651, "2/4x50"), ticket.Next, ticket.ErrLayout, "it was changed"},
		{"exhausted", []kind{replaceMySQL}, row(math.MaxInt64, "2/3"), ticket.Permanent, ticket.ErrExhausted, "9223372036854775807"},
		{"exhausted", []kind{sequence}, both(object("p", 2, 3, 603, 1, false, "2/3"), rows("value", values(602, true))), ticket.Permanent, ticket.ErrExhausted, "603"},
		{"fails", kinds, nil, ticket.Next, errReset, "reset"},
	} {
		for _, k := range test.kinds {
			t.Run(fmt.Sprintf("%v/%s", k, test.name), func(t *testing.T) {
				look := k.ready()
				if test.look == nil {
					look = look[:1].fail(look[0].name, errReset)
				} else {
					look = test.look(look)
				}
				got, err := k.try(t, newMock(t, append(script{k.unmatched()}, look...)...))
				if got != (ticket.Span{}) {
					t.Errorf("got %+v", got)
				}
				wantServerError(t, err, test.class, test.is)
				if !strings.Contains(err.Error(), test.text) {
					t.Errorf("got %v, want %s", err, test.text)
				}
			})
		}
	}
}

// A row that is there and in order although the statement drew nothing was not, for a moment: it is drawn again, some times.
func TestUnmatchedIsRetried(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				round := append(script{k.unmatched()}, k.ready()...)
				m := newMock(t, slices.Concat(round, round, round, script{k.draw(9401)})...)
				if got, err := k.try(t, m); err != nil || got.First != 9401 {
					t.Errorf("got %+v, %v", got, err)
				}
				m = newMock(t, slices.Repeat(round, 4)...)
				_, err := k.try(t, m)
				wantServerError(t, err, ticket.Retry, ticket.ErrUnmatched)
			})
		})
	}
}

// A session with the settings of before is closed, and one that has those of now draws.
func TestStaleSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := replaceMySQL
		stale := otherOffset(1, 1, 3, 2)(k.ready())
		m := newMock(t, append(append(script{k.unmatched()}, stale...), k.draw(9101))...)
		got, err := k.try(t, m)
		if err != nil || got.First != 9101 {
			t.Errorf("got %+v, %v", got, err)
		}
		if opened, closed := m.opened.Load(), m.closed.Load(); opened != 2 || closed != 1 {
			t.Errorf("got %d connections, of which %d are closed, want 2 and 1", opened, closed)
		}
	})
}

// All sessions may be stale.
func TestStaleSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := replaceMySQL
		round := append(script{k.unmatched()}, settings(0, 0, 0, 1, 1, 1, "ROW", 3, 2, 1, 3, 2)(k.ready())...)
		m := newMock(t, slices.Repeat(round, 5)...) // once for the connection that may be stale
		_, err := k.try(t, m)
		wantServerError(t, err, ticket.Retry, ticket.ErrUnsafe)
		if got := m.closed.Load(); got != 5 {
			t.Errorf("got %d closed connections, want 5", got)
		}
	})
}

// As many connections as the pool has idle may be found out to be closed by the server.
func TestStaleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := replaceMySQL
		m := newMock(t)
		m.db.SetMaxIdleConns(10)
		held := []interface{ Close() error }{m.conn(), m.conn(), m.conn(), m.conn(), m.conn(), m.conn()}
		for _, conn := range held {
			conn.Close()
		}
		m.expect(append(slices.Repeat([]step{k.draw(9101).fails(driver.ErrBadConn)}, 7), k.draw(9401))...)
		if got, err := k.try(t, m); err != nil || got.First != 9401 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// A server that cannot be connected to is the next server's turn.
func TestNoConnection(t *testing.T) {
	for _, k := range kinds {
		m := newMock(t)
		refused := errors.Join(errReset)
		m.refuse = []error{refused}
		_, err := k.try(t, m)
		wantServerError(t, err, ticket.Next, refused)
		if !strings.Contains(err.Error(), "connecting") {
			t.Errorf("got %v", err)
		}
	}
}

// Blocks of which there are not so many left become smaller.
func TestUnmatchedNearTheEnd(t *testing.T) {
	for _, test := range []struct {
		limit int64
		draws int64 // units; 0: it is exhausted
	}{
		{2200, 4}, // of the 5 jumps of 300 that are left from 700 on
		{1600, 2},
		{1400, 1},
		{1000, 1},
		{799, 0},
	} {
		t.Run(fmt.Sprint(test.limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := blockSQLite
				order := func(units int64) step {
					most := test.limit - (units-1)*300 - 100 + 1
					return k.draw(701).with(701, units*300, "default", "2/3x100", 501, most)
				}
				steps := script{}
				if first := order(5); first.args[5].(int64) >= 701 {
					first.rows = nil
					steps = append(steps, first)
				}
				steps = append(steps, k.ready()...)
				if test.draws > 0 {
					last := order(test.draws)
					last.rows = [][]driver.Value{values(701 + test.draws*300)}
					steps = append(steps, last)
				} else { // no statement would draw one unit
					steps = append(steps, k.ready()...)
				}
				got, err := k.try(t, newMock(t, steps...), func(o *ticket.Order) { o.High, o.Limit = 600, test.limit })
				if test.draws == 0 {
					wantServerError(t, err, ticket.Permanent, ticket.ErrExhausted)
				} else if err != nil || got.First != 701 || got.Count != test.draws*100 || got.Last > test.limit {
					t.Errorf("got %+v, %v, want %d units", got, err, test.draws)
				}
			})
		})
	}
}
