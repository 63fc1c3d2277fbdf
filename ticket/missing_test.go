package ticket_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

// The error of a row that is missing has the statement that makes it at the place which the others have for it, as far as they could be asked.
func TestMissing(t *testing.T) {
	k := blockMySQL
	const (
		tables = "CREATE TABLE IF NOT EXISTS `app`.`snowkey_blocks` (name varchar(64) NOT NULL PRIMARY KEY, next bigint NOT NULL, layout varchar(32) NOT NULL)" +
			" ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;\n" +
			"CREATE TABLE IF NOT EXISTS `app`.`snowkey_blocks_register` (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))" +
			" ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin;\n"
		insert = "INSERT IGNORE INTO `app`.`snowkey_blocks_register` (name, number) VALUES ('default', 2);\n" +
			"INSERT INTO `app`.`snowkey_blocks` (name, next, layout) VALUES ('default', "
	)
	down := script{queried(mysqlSettings).fails(my(1040))}
	for _, test := range []struct {
		name          string
		first, second script
		statement     string
		forgotten     bool
		text          string
	}{
		{"nothing anywhere", k.empty(), k.empty(), tables + insert + "101, '2/2x100')", false, `no sequence "default" in app.snowkey_blocks`},
		{"a table without register", k.empty(), k.inspected("2/2x100").rowless(), tables + insert + "101, '2/2x100')", false, "no sequence"},
		{"another sequence's tables", k.empty(), k.inspected("2/2x100").rowless(1), insert + "101, '2/2x100')", false, "no sequence"},
		{"a place of the others", k.inspected("1/3x50"), k.empty(), tables + insert + "51, '2/3x50')", false, "no sequence"},
		{"a place, frozen", k.inspected(">1/3x50"), k.empty(), "", false, "Setup makes it when all servers can be asked"},
		{"the other is down", down, k.empty(), "", false, "no sequence \"default\" in app.snowkey_blocks; Setup makes it when all servers can be asked"},
		{"forgotten", k.inspected("1/3x50"), k.inspected("2/3x50").rowless(1, 2), insert + "(? DIV 150 + 1) * 150 + 51, '2/3x50')", true, "of which the greatest id known here is 0; Restore makes it again, or the statement with a number for the question mark"},
		{"forgotten with its table", k.inspected("1/3x50"), k.inspected("2/3x50").tableless(2), tables + insert + "(? DIV 150 + 1) * 150 + 51, '2/3x50')", true, "Restore makes it again"},
		{"forgotten, the other is down", down, k.inspected("2/3x50").rowless(2), insert + "(? DIV 200 + 1) * 200 + 101, '2/2x100')", true, "Restore makes it again"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := k.servers(t, ticket.Config{}, newMock(t, test.first...), newMock(t, test.second...))
			_, err := s.Check(t.Context())
			var all interface{ Unwrap() []error }
			if !errors.As(err, &all) {
				t.Fatalf("got %v", err)
			}
			errs := all.Unwrap()
			err = errs[len(errs)-1] // the second server's
			wantServerError(t, err, ticket.Permanent, ticket.ErrTable)
			var table *ticket.TableError
			if !errors.As(err, &table) || table.Statement != test.statement || errors.Is(err, ticket.ErrForgotten) != test.forgotten || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v\nwant %s: %s", err, test.text, test.statement)
			}
			if strings.Contains(err.Error(), "this makes it") != (test.statement != "") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Where the others disagree there is no place that could be told.
func TestMissingWhileOthersDisagree(t *testing.T) {
	k := blockMySQL
	for name, first := range map[string]string{"servers": "1/4x50", "units": "1/3x100"} {
		t.Run(name, func(t *testing.T) {
			s := k.servers(t, ticket.Config{}, newMock(t, k.inspected(first)...), newMock(t, k.empty()...), newMock(t, k.inspected("3/3x50")...))
			_, err := s.Check(t.Context())
			wantServerError(t, err, ticket.Permanent, ticket.ErrTable)
			var table *ticket.TableError
			if !errors.As(err, &table) || table.Statement != "" || !strings.Contains(err.Error(), "Setup makes it when all servers can be asked") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A server for which the others have no place is not made by any statement.
func TestMissingWithoutPlace(t *testing.T) {
	k := blockMySQL
	s := k.servers(t, ticket.Config{}, newMock(t, k.inspected("1/1x100")...), newMock(t, k.empty()...))
	_, err := s.Check(t.Context())
	wantServerError(t, err, ticket.Permanent, ticket.ErrLayout)
	if !strings.Contains(err.Error(), "the others have no place for number 2 of 1; Resize makes one") || errors.Is(err, ticket.ErrTable) {
		t.Errorf("got %v", err)
	}
}

// A probe that finds no row asks the others which place there is for it.
func TestProbeAsksOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, one := replaceMySQL, single{1, 2}
		a := newMock(t, append(one.look(600), one.draw(600, 601))...)
		b := newMock(t)
		b.refuse = []error{errReset}
		s, _ := tickets(t, ticket.Config{Failures: 1, Backoff: time.Second, Increment: 5}, a, b)
		probe(s)
		time.Sleep(2 * time.Second)
		a.expect(one.look(601)...)
		b.expect(slices.Concat(k.inspected("2/2").rowless(), k.inspected("2/2").rowless())...)
		probe(s)
		stats := s.Stats().Servers[1]
		var table *ticket.TableError
		if stats.State != ticket.Open || !errors.As(stats.Err, &table) || !strings.HasSuffix(table.Statement, "INSERT INTO `app`.`snowkey_tickets` (stub, layout) VALUES ('default', '2/2')") {
			t.Errorf("got %+v", stats)
		}
	})
}

// A statement that finds no table has the server looked at, and its error says what makes the table.
func TestDrawFindsNoTable(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			_, err := k.try(t, newMock(t, append(script{k.draw(9101).fails(k.noTable())}, k.ready().tableless()...)...))
			wantServerError(t, err, ticket.Permanent, ticket.ErrTable, ticket.ErrForgotten) // whose ids the source has
			var table *ticket.TableError
			if !errors.As(err, &table) || !strings.HasPrefix(table.Statement, "CREATE ") || !strings.Contains(table.Statement, k.order().Layout) || !strings.Contains(table.Statement, "?") {
				t.Errorf("got %v", err)
			}
			_, err = k.try(t, newMock(t, append(script{k.draw(9101).fails(k.noTable())}, k.ready().tableless(2)...)...))
			wantServerError(t, err, ticket.Permanent, ticket.ErrForgotten)
			if !strings.Contains(err.Error(), "the greatest id known here is 9000") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What the user may not do is no table that is missing: nothing is to be made.
func TestDenied(t *testing.T) {
	for k, errs := range map[kind][]error{
		blockMySQL:    {my(1044), my(1045), my(1142), my(1143), my(1227), my(1370), my(1698)},
		blockPostgres: {pg("42501"), pg("28000"), pg("28P01")},
		blockSQLite:   {lite(3), lite(23)},
	} {
		for _, denied := range errs {
			t.Run(k.String()+"/"+denied.Error(), func(t *testing.T) {
				_, err := k.try(t, newMock(t, k.draw(9101).fails(denied), k.ready()[0].fails(denied)))
				wantServerError(t, err, ticket.Permanent, ticket.ErrTable, denied)
				var table *ticket.TableError
				if errors.As(err, &table) || !strings.Contains(err.Error(), "the user has not the right to") {
					t.Errorf("got %v", err)
				}
			})
		}
		_, err := k.try(t, newMock(t, k.draw(9101).fails(k.noTable()), k.ready()[0].fails(k.noTable())))
		var table *ticket.TableError
		if !errors.As(err, &table) || table.Statement != "" || strings.Contains(err.Error(), "this makes it") {
			t.Errorf("%v: got %v, want no statement", k, err)
		}
	}
}

// A source that has drawn knows the layout of a row that is gone, and the published table's row is made without one.
func TestMissingMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, one := replaceMySQL, single{1, 3}
		m := newMock(t, append(one.look(600), one.draw(600, 601))...)
		s, _ := tickets(t, ticket.Config{}, m)
		wantNext(t, s, 601)
		m.expect(k.inspected("1/3").rowless(1)...)
		_, err := s.Check(t.Context())
		var table *ticket.TableError
		if !errors.As(err, &table) || table.Statement != "INSERT IGNORE INTO `app`.`snowkey_tickets_register` (name, number) VALUES ('default', 1);\nINSERT INTO `app`.`snowkey_tickets` (id, stub, layout) VALUES (?, 'default', '1/3')" {
			t.Errorf("got %v", err)
		}
		m.expect(publishedLook(k.inspected("1/3").rowless(1))...)
		_, err = s.Check(t.Context())
		if !errors.As(err, &table) || table.Statement != "INSERT IGNORE INTO `app`.`snowkey_tickets_register` (name, number) VALUES ('default', 1);\nINSERT INTO `app`.`snowkey_tickets` (id, stub) VALUES (?, 'default')" {
			t.Errorf("got %v", err)
		}
	})
}
