package ticket_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"

	"github.com/snowkey-go/snowkey/ticket"
)

var kinds = []kind{replaceMySQL, replaceSQLite, sequence, blockMySQL, blockPostgres, blockSQLite}

var (
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	errUnknown = errors.New("nobody knows")
)

func my(number uint16) error { return &mysql.MySQLError{Number: number, Message: "said MySQL"} }

func pg(code string) error { return &pgconn.PgError{Code: code, Message: "said PostgreSQL"} }

func lite(code sqlite3.ErrNo) error {
	return sqlite3.Error{Code: code, ExtendedCode: sqlite3.ErrNoExtended(code)}
}

// wantServerError tests that an error is one of the server 2, of the class, and all of the others.
func wantServerError(t *testing.T, err error, class ticket.Class, is ...error) {
	t.Helper()
	var failure *ticket.ServerError
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a ServerError", err)
	}
	if failure.Server != "server 2" || failure.Class != class {
		t.Errorf("got class %v of %s, want %v of server 2: %v", failure.Class, failure.Server, class, err)
	}
	for _, want := range is {
		if !errors.Is(err, want) {
			t.Errorf("got %v, want that it is %v", err, want)
		}
	}
}

func TestDraw(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			want := ticket.Span{First: 9101, Last: 10400, Count: 500}
			if !k.blocks {
				want = ticket.Span{First: 9101, Last: 9101, Count: 1}
			}
			got, err := k.try(t, newMock(t, k.draw(9101)))
			if err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

// failures are errors that a statement ends with, and what they mean: the draws that are tried, and the error of the last.
var failures = []struct {
	kinds []kind
	err   error
	draws int
	class ticket.Class
	kind  error
}{
	{[]kind{replaceMySQL, blockMySQL}, my(1213), 4, ticket.Retry, nil},
	{[]kind{replaceMySQL, blockMySQL}, my(1205), 4, ticket.Retry, nil},
	{[]kind{replaceMySQL, blockMySQL}, my(1040), 1, ticket.Next, nil},
	{[]kind{replaceMySQL, blockMySQL}, my(1180), 1, ticket.Next, nil},
	{[]kind{replaceMySQL, blockMySQL}, my(1836), 1, ticket.Next, ticket.ErrReadOnly},
	{[]kind{replaceMySQL, blockMySQL}, my(1146), 1, ticket.Permanent, ticket.ErrTable},
	{[]kind{replaceMySQL, blockMySQL}, my(1142), 1, ticket.Permanent, ticket.ErrTable},
	{[]kind{replaceMySQL, blockMySQL}, my(1467), 1, ticket.Permanent, ticket.ErrExhausted},
	{[]kind{replaceMySQL, blockMySQL}, my(1690), 1, ticket.Permanent, ticket.ErrExhausted},
	{[]kind{replaceMySQL, blockMySQL}, my(1062), 1, ticket.Permanent, nil},
	{[]kind{replaceMySQL, blockMySQL}, my(1064), 1, ticket.Permanent, nil},
	{[]kind{replaceMySQL, blockMySQL}, mysql.ErrInvalidConn, 1, ticket.Next, nil},
	{[]kind{sequence, blockPostgres}, pg("40P01"), 4, ticket.Retry, nil},
	{[]kind{sequence, blockPostgres}, pg("40001"), 4, ticket.Retry, nil},
	{[]kind{sequence, blockPostgres}, pg("26000"), 4, ticket.Retry, nil},
	{[]kind{sequence, blockPostgres}, pg("0A000"), 4, ticket.Retry, nil},
	{[]kind{sequence, blockPostgres}, pg("57P01"), 1, ticket.Next, nil},
	{[]kind{sequence, blockPostgres}, pg("53300"), 1, ticket.Next, nil},
	{[]kind{sequence, blockPostgres}, pg("25006"), 1, ticket.Next, ticket.ErrReadOnly},
	{[]kind{sequence, blockPostgres}, pg("42P01"), 1, ticket.Permanent, ticket.ErrTable},
	{[]kind{sequence, blockPostgres}, pg("42501"), 1, ticket.Permanent, ticket.ErrTable},
	{[]kind{blockPostgres}, pg("22003"), 1, ticket.Permanent, ticket.ErrExhausted},
	{[]kind{sequence, blockPostgres}, pg("42601"), 1, ticket.Permanent, nil},
	{[]kind{replaceSQLite, blockSQLite}, lite(sqlite3.ErrBusy), 4, ticket.Retry, nil},
	{[]kind{replaceSQLite, blockSQLite}, lite(sqlite3.ErrLocked), 4, ticket.Retry, nil},
	{[]kind{replaceSQLite, blockSQLite}, lite(sqlite3.ErrFull), 1, ticket.Next, nil},
	{[]kind{replaceSQLite, blockSQLite}, lite(sqlite3.ErrReadonly), 1, ticket.Next, ticket.ErrReadOnly},
	{[]kind{replaceSQLite, blockSQLite}, lite(sqlite3.ErrPerm), 1, ticket.Permanent, ticket.ErrTable},
	{[]kind{replaceSQLite, blockSQLite}, lite(sqlite3.ErrMismatch), 1, ticket.Permanent, ticket.ErrExhausted},
	{[]kind{replaceSQLite, blockSQLite}, lite(sqlite3.ErrCorrupt), 1, ticket.Permanent, nil},
	{[]kind{replaceSQLite, blockSQLite}, errUnknown, 1, ticket.Permanent, nil},
	{[]kind{replaceMySQL, sequence, blockMySQL, blockPostgres}, errUnknown, 1, ticket.Next, nil},
	{kinds, driver.ErrBadConn, 5, ticket.Retry, nil}, // once for the connection that may be stale
	{kinds, context.DeadlineExceeded, 1, ticket.Next, nil},
	{kinds, context.Canceled, 1, ticket.Next, nil},
	{kinds, io.ErrUnexpectedEOF, 1, ticket.Next, nil},
	{kinds, sql.ErrConnDone, 1, ticket.Next, nil},
	{kinds, errReset, 1, ticket.Next, nil},
}

func TestDrawFails(t *testing.T) {
	for _, test := range failures {
		for _, k := range test.kinds {
			t.Run(fmt.Sprintf("%v/%v", k, test.err), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					draws := test.draws
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if test.class == ticket.Retry && k.dialect == ticket.SQLite && test.err != driver.ErrBadConn { // a lock, for as long as the context lasts
						draws = 30
					}
					m := newMock(t, slices.Repeat([]step{k.draw(9101).fails(test.err)}, draws)...)
					m.after = func(n int64) {
						if n == 30 {
							cancel()
						}
					}
					if test.kind == ticket.ErrTable { // what is missing is looked for
						m.expect(k.ready().fail(k.steps()[0], errReset).until(k.steps()[0])...)
					}
					got, err := k.tryWith(ctx, t, m)
					if got != (ticket.Span{}) {
						t.Errorf("got %+v", got)
					}
					wantServerError(t, err, test.class, test.err)
					for _, kind := range []error{ticket.ErrReadOnly, ticket.ErrTable, ticket.ErrExhausted} {
						if got, want := errors.Is(err, kind), kind == test.kind; got != want {
							t.Errorf("is %v: got %t, want %t: %v", kind, got, want, err)
						}
					}
				})
			})
		}
	}
}

// What is gone with the next attempt is no error.
func TestDrawIsRetried(t *testing.T) {
	for _, test := range failures {
		if test.class != ticket.Retry {
			continue
		}
		for _, k := range test.kinds {
			t.Run(fmt.Sprintf("%v/%v", k, test.err), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					draws := test.draws
					if k.dialect == ticket.SQLite && test.err != driver.ErrBadConn {
						draws = 30
					}
					m := newMock(t, append(slices.Repeat([]step{k.draw(9101).fails(test.err)}, draws-1), k.draw(9401))...)
					if got, err := k.try(t, m); err != nil || got.First != 9401 {
						t.Errorf("got %+v, %v", got, err)
					}
				})
			})
		}
	}
}

// A commit that fails after the row has come leaves the ticket a gap.
func TestDrawIsNotCommitted(t *testing.T) {
	for k, commit := range map[kind]error{sequence: pg("57P01"), blockPostgres: pg("58030"), blockSQLite: lite(sqlite3.ErrFull)} {
		t.Run(k.String(), func(t *testing.T) {
			got, err := k.try(t, newMock(t, k.draw(9101).uncommitted(commit)))
			if got != (ticket.Span{}) {
				t.Errorf("got %+v, which was not committed", got)
			}
			wantServerError(t, err, ticket.Next, commit)
		})
	}
}

// A commit that is rolled back by a deadlock is drawn again.
func TestDrawIsRolledBack(t *testing.T) {
	for k, commit := range map[kind]error{sequence: pg("40001"), blockPostgres: pg("40P01"), blockSQLite: lite(sqlite3.ErrBusy)} {
		t.Run(k.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := k.try(t, newMock(t, k.draw(9101).uncommitted(commit), k.draw(9401)))
				if err != nil || got.First != 9401 {
					t.Errorf("got %+v, %v, want 9401", got, err)
				}
			})
		})
	}
}

// The results of draws that changed rows, but not as they have to.
func TestDrawResult(t *testing.T) {
	for _, test := range []struct {
		name   string
		kind   kind
		result driver.Result
		class  ticket.Class
		is     error
		text   string
	}{
		{"one row", replaceMySQL, answer{changed: 1, id: 9101}, ticket.Permanent, ticket.ErrTable, `1 rows changed for the sequence "default", want 2`},
		{"three rows", replaceMySQL, answer{changed: 3, id: 9101}, ticket.Permanent, ticket.ErrTable, "3 rows"},
		{"two rows", replaceSQLite, answer{changed: 2, id: 9101}, ticket.Permanent, ticket.ErrTable, "2 rows changed"},
		{"two rows", blockMySQL, answer{changed: 2, id: 10601}, ticket.Permanent, ticket.ErrTable, "2 rows for"},
		{"rows unknown", replaceMySQL, answer{id: 9101, changedErr: errReset}, ticket.Next, errReset, ""},
		{"rows unknown", replaceSQLite, answer{id: 9101, changedErr: errUnknown}, ticket.Permanent, errUnknown, ""},
		{"rows unknown", blockMySQL, answer{id: 10601, changedErr: errReset}, ticket.Next, errReset, ""},
		{"id unknown", replaceMySQL, answer{changed: 2, id: 9101, idErr: errReset}, ticket.Next, errReset, ""},
		{"id unknown", replaceSQLite, answer{changed: 1, id: 9101, idErr: errUnknown}, ticket.Permanent, errUnknown, ""},
		{"id unknown", blockMySQL, answer{changed: 1, id: 10601, idErr: errReset}, ticket.Next, errReset, ""},
		{"0", replaceMySQL, answer{changed: 2}, ticket.Permanent, ticket.ErrTable, "the statement gave no number; the column id has to be AUTO_INCREMENT"},
		{"0", replaceSQLite, answer{changed: 1}, ticket.Permanent, ticket.ErrTable, "the statement gave no number; the column id has to be AUTO_INCREMENT"},
		{"0", blockMySQL, answer{changed: 1}, ticket.Quarantine, ticket.ErrLayout, "it gave -1500, which is not a number of 2/3x100"},
		{"negative", replaceMySQL, answer{changed: 2, id: -1 << 63}, ticket.Permanent, ticket.ErrExhausted, "the ticket is 9223372036854775808"},
		{"negative", blockMySQL, answer{changed: 1, id: -99}, ticket.Quarantine, ticket.ErrLayout, "it gave -1599"},
	} {
		t.Run(fmt.Sprintf("%v/%s", test.kind, test.name), func(t *testing.T) {
			draw := test.kind.draw(9101)
			draw.result = test.result
			got, err := test.kind.try(t, newMock(t, draw))
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

// The rows of draws that are not what was asked for.
func TestDrawRows(t *testing.T) {
	for _, k := range []kind{sequence, blockPostgres, blockSQLite} {
		row := func(v driver.Value) []driver.Value {
			if k == blockSQLite {
				return values(v)
			}
			return values(v, "on")
		}
		for _, test := range []struct {
			name  string
			rows  [][]driver.Value
			class ticket.Class
			is    error
		}{
			{"two rows", [][]driver.Value{row(10601), row(10901)}, ticket.Permanent, ticket.ErrTable},
			{"NULL", [][]driver.Value{row(nil)}, ticket.Permanent, nil},
			{"text", [][]driver.Value{row("many")}, ticket.Permanent, nil},
			{"more columns", [][]driver.Value{append(row(10601), 1)}, ticket.Permanent, nil},
		} {
			t.Run(fmt.Sprintf("%v/%s", k, test.name), func(t *testing.T) {
				draw := k.draw(9101)
				draw.rows = test.rows
				got, err := k.try(t, newMock(t, draw))
				if got != (ticket.Span{}) {
					t.Errorf("got %+v", got)
				}
				wantServerError(t, err, test.class)
				if test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("got %v, want that it is %v", err, test.is)
				}
			})
		}
	}
}

// What comes back is checked once more.
func TestVerify(t *testing.T) {
	blocks := blockMySQL.order()
	tickets := replaceMySQL.order()
	with := func(o ticket.Order, last, limit int64) ticket.Order {
		o.Last, o.Limit = last, limit
		return o
	}
	for _, test := range []struct {
		name   string
		order  ticket.Order
		number int64
		class  ticket.Class // 0 where it is right
		is     error
	}{
		{"right", tickets, 9101, 0, nil},
		{"right", blocks, 9101, 0, nil},
		{"another server's", tickets, 9102, ticket.Quarantine, ticket.ErrLayout},
		{"another server's", blocks, 9201, ticket.Quarantine, ticket.ErrLayout},
		{"within a unit", blocks, 9104, ticket.Quarantine, ticket.ErrLayout},
		{"before the first", tickets, -1, ticket.Quarantine, ticket.ErrLayout},
		{"before the first", blocks, -199, ticket.Quarantine, ticket.ErrLayout},
		{"the last", with(tickets, 9101, math.MaxInt64), 9101, ticket.Quarantine, ticket.ErrRegression},
		{"the last", with(blocks, 9101, math.MaxInt64), 9101, ticket.Quarantine, ticket.ErrRegression},
		{"before the last", with(tickets, 9104, math.MaxInt64), 9101, ticket.Quarantine, ticket.ErrRegression},
		{"after the last", with(tickets, 9100, math.MaxInt64), 9101, 0, nil},
		{"the limit", with(tickets, 0, 9101), 9101, 0, nil},
		{"above the limit", with(tickets, 0, 9100), 9101, ticket.Permanent, ticket.ErrExhausted},
		{"the limit", with(blocks, 0, 10400), 9101, 0, nil},
		{"above the limit", with(blocks, 0, 10399), 9101, ticket.Permanent, ticket.ErrExhausted},
		{"beyond 2^63-1", blocks, math.MaxInt64 - math.MaxInt64%300 - 199, ticket.Permanent, ticket.ErrExhausted},
	} {
		t.Run(test.name+"/"+test.order.Layout, func(t *testing.T) {
			s := replaceMySQL.servers(t, ticket.Config{}, newMock(t), newMock(t), newMock(t))
			err := s.Verify(2, test.order, test.number)
			if test.class != 0 {
				wantServerError(t, err, test.class, test.is)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
