package ticket_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/ticket"
)

var errShutdown = my(1053)

// Setup has every register know all servers that have a row.
func TestSetupSpreads(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			first, second := k.inspected("1/2"), k.inspected("2/2")
			if k.blocks {
				first, second = k.inspected("1/2x100"), k.inspected("2/2x100")
			}
			a, b := newMock(t), newMock(t)
			s := k.servers(t, ticket.Config{}, a, b)
			a.expect(slices.Concat(first, first, script{executed(s.Counter(1).Enter(2), 1, 0)})...)
			b.expect(slices.Concat(second, second, script{executed(s.Counter(2).Enter(1), 1, 0)})...)
			if err := s.Setup(t.Context()); err != nil {
				t.Error(err)
			}
			// One knows another that is not in the list, or not any more.
			first, second = first.registered(1, 2, 7), second.registered(1, 2)
			a.expect(slices.Concat(first, first)...)
			b.expect(slices.Concat(second, second, script{executed(s.Counter(2).Enter(7), 1, 0)})...)
			if err := s.Setup(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Who may not write the registers need not; any other error is one of Setup, and does not keep the other server from being told.
func TestSetupSpreadFails(t *testing.T) {
	k := blockPostgres
	for _, test := range []struct {
		name string
		err  error
		is   error
	}{
		{"denied", pg("42501"), nil},
		{"full", pg("53100"), pg("53100")},
	} {
		t.Run(test.name, func(t *testing.T) {
			first, second := k.inspected("1/2x100"), k.inspected("2/2x100")
			a, b := newMock(t), newMock(t)
			s := k.servers(t, ticket.Config{}, a, b)
			a.expect(slices.Concat(first, first, script{executed(s.Counter(1).Enter(2), 1, 0).fails(test.err)})...)
			b.expect(slices.Concat(second, second, script{executed(s.Counter(2).Enter(1), 1, 0)})...)
			err := s.Setup(t.Context())
			if test.is == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var failure *ticket.ServerError
			if !errors.As(err, &failure) || failure.Class != ticket.Next || failure.Server != "server 1" || !strings.Contains(err.Error(), "entering number 2 into the register") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A row that is there and in no register is entered, by who may. Who may neither make the register nor write to it need not.
func TestSetupEnters(t *testing.T) {
	for _, k := range kinds {
		denied := map[ticket.Dialect]error{ticket.MySQL: my(1142), ticket.Postgres: pg("42501"), ticket.SQLite: lite(23)}[k.dialect]
		there := k.inspected(k.only())
		unknown := there.registered()
		for name, change := range map[string]func(script) script{
			"may":     func(s script) script { return slices.Concat(s, there, script{executed(k.end("COMMIT"), 0, 0)}, there) },
			"may not": func(s script) script { return s.fail("enter", denied).then(k.rollback()).then(unknown...) },
			"may not make": func(s script) script {
				return s.fail("table", denied).until("table").then(k.ended("table")...).then(unknown...)
			},
		} {
			t.Run(name+"/"+k.String(), func(t *testing.T) {
				m := newMock(t)
				s := k.servers(t, ticket.Config{}, m)
				m.expect(slices.Concat(unknown, change(k.making(s.Counter(1), k.only()).until("enter")))...)
				if err := s.Setup(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Who may not make a table says so at once.
func TestSetupMayNotMake(t *testing.T) {
	k := blockMySQL
	m := newMock(t)
	s := k.servers(t, ticket.Config{}, m)
	m.expect(append(k.empty(), k.making(s.Counter(1), k.only()).fail("table", my(1142)).until("table")...)...)
	err := s.Setup(t.Context())
	var failure *ticket.ServerError
	if !errors.As(err, &failure) || failure.Class != ticket.Permanent || !strings.Contains(err.Error(), "the user has not the right to: making a table") {
		t.Errorf("got %v", err)
	}
}

// A server that is down does no harm where another one knows it, and nothing is missing.
func TestSetupWhileDown(t *testing.T) {
	k := blockMySQL
	first, second, third := k.inspected("1/3x100"), k.inspected("2/3x100"), k.inspected("3/3x100")
	down := func(err error) script { return script{queried(mysqlSettings).fails(err)} }
	for _, test := range []struct {
		name                 string
		first, second, third script
		is                   error
	}{
		{"known", first.registered(1, 2, 3), down(errShutdown), third.registered(1, 2, 3), nil},
		{"the first, known", down(my(1040)), second.registered(1, 2, 3), third.registered(1, 2, 3), nil},
		{"two, known", down(my(1040)), second.registered(1, 2, 3), down(errShutdown), nil},
		{"not known", first.registered(1), down(errShutdown), third.registered(3), errShutdown},
		{"all", down(errShutdown), down(errShutdown), down(errShutdown), errShutdown},
		{"another row is missing", first.registered(1, 2), down(errShutdown), third.rowless(1, 2), errShutdown},
		{"read-only", first.registered(1, 2, 3), down(my(1836)), third.registered(1, 2, 3), ticket.ErrReadOnly},
		{"no such user", first.registered(1, 2, 3), down(my(1045)), third.registered(1, 2, 3), ticket.ErrTable},
	} {
		t.Run(test.name, func(t *testing.T) {
			mocks := []*mock{newMock(t, test.first...), newMock(t, test.second...), newMock(t, test.third...)}
			if test.is == nil { // it looks once more at the end
				mocks[0].expect(test.first...)
				mocks[1].expect(test.second...)
				mocks[2].expect(test.third...)
			}
			if err := k.servers(t, ticket.Config{}, mocks...).Setup(t.Context()); !errors.Is(err, test.is) {
				t.Errorf("got %v, want %v", err, test.is)
			}
		})
	}
}

// A row that only another server's register remembers is forgotten: its database was lost altogether.
func TestSetupRemembersOthers(t *testing.T) {
	k := blockMySQL
	s := k.servers(t, ticket.Config{}, newMock(t, k.inspected("1/2x100").registered(1, 2)...), newMock(t, slices.Concat(k.empty(), k.empty())...))
	err := s.Setup(t.Context())
	wantServerError(t, err, ticket.Permanent, ticket.ErrForgotten)
}

// A server that is new takes a place that is free.
func TestSetupTakesPlace(t *testing.T) {
	k := blockMySQL
	a, b := newMock(t), newMock(t)
	s := k.servers(t, ticket.Config{}, a, b)
	a.expect(slices.Concat(k.inspected("1/4x50"), k.inspected("1/4x50"), script{executed(s.Counter(1).Enter(2), 1, 0)})...)
	b.expect(slices.Concat(k.empty(), k.making(s.Counter(2), "2/4x50"), k.inspected("2/4x50"), script{executed(s.Counter(2).Enter(1), 1, 0)})...)
	if err := s.Setup(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that goes down between two looks at it.
func TestSetupForgottenAndDown(t *testing.T) {
	k := blockMySQL
	s := k.servers(t, ticket.Config{}, newMock(t, append(k.rowless(1), queried(mysqlSettings).fails(errShutdown))...))
	var failure *ticket.ServerError
	if err := s.Setup(t.Context()); !errors.Is(err, errShutdown) || !errors.As(err, &failure) || failure.Class != ticket.Next {
		t.Errorf("got %v, want %v", err, errShutdown)
	}
}
