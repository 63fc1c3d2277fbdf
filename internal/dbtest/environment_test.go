package dbtest_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestGivenServer uses a private server as the one that the environment names.
func TestGivenServer(t *testing.T) {
	for _, test := range []struct {
		kind, variable string
		start          func(testing.TB, ...string) *dbtest.Server
		server         func(testing.TB) *dbtest.Server
		database       func(testing.TB) dbtest.Database
	}{
		{"mysql", "SNOWKEY_TEST_MYSQL", dbtest.StartMySQL, dbtest.MySQLServer, dbtest.MySQL},
		{"postgres", "SNOWKEY_TEST_POSTGRES", dbtest.StartPostgres, dbtest.PostgresServer, dbtest.Postgres},
	} {
		t.Run(test.kind, func(t *testing.T) {
			own := test.start(t)
			at := own.Database(t).Admin()
			socket := socketOf(t, at)
			for name, dsn := range map[string]string{"snowkey's form": at.DSN, "the driver's form": at.DriverDSN} {
				t.Run(name, func(t *testing.T) {
					t.Setenv(test.variable, dsn)
					got := test.database(t)
					if got.DSN == at.DSN || socketOf(t, got) != socket {
						t.Errorf("got database %q, want another one on the server of %q", got.DSN, at.DSN)
					}
					execSQL(t, got.Open(t), "CREATE TABLE mine (n INT)")
					server := test.server(t)
					if server.Version() != own.Version() || server.Log() != "" {
						t.Errorf("got version %q and log %q, want %q and none", server.Version(), server.Log(), own.Version())
					}
					wantError(t, "Stop", server.Stop(), test.variable)
					wantError(t, "Start", server.Start(), test.variable)
					wantError(t, "Start past dbtest", server.Server.Start(), "ran already")
				})
			}
		})
	}
}

// socketOf asks the server of a database where its socket is.
func socketOf(t *testing.T, d dbtest.Database) string {
	t.Helper()
	statement := map[string]string{"mysql": "SELECT @@socket", "postgres": "SHOW unix_socket_directories"}[d.Kind]
	socket, err := query(t.Context(), d.Open(t), statement)
	if err != nil {
		t.Fatal(err)
	}
	return socket
}

// wantError fails the test unless err has the text in it.
func wantError(t testing.TB, what string, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got error %v, want one with %q", what, err, text)
	}
}

func TestSharedServerIsNotStopped(t *testing.T) {
	t.Setenv("SNOWKEY_TEST_MYSQL", "")
	server := dbtest.MySQLServer(t)
	for name, do := range map[string]func() error{
		"Stop": server.Stop, "Kill": server.Kill, "Pause": server.Pause, "Resume": server.Resume, "Close": server.Close,
		"Start": func() error { return server.Start() },
	} {
		wantError(t, name, do(), "share")
	}
}

// TestGivenNonsense wants a clear failure without the password.
func TestGivenNonsense(t *testing.T) {
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	for _, test := range []struct {
		name, variable, value string
		database              func(testing.TB) dbtest.Database
		want                  string
	}{
		{"mysql, no DSN", "SNOWKEY_TEST_MYSQL", "root:secret@tcp(127.0.0.1", dbtest.MySQL, "SNOWKEY_TEST_MYSQL names: dbserver: this is no DSN"},
		{"mysql, a URL", "SNOWKEY_TEST_MYSQL", "mysql://root:secret@localhost/x", dbtest.MySQL, "SNOWKEY_TEST_MYSQL names: dbserver: this is no DSN"},
		{"mysql, nobody there", "SNOWKEY_TEST_MYSQL", "root:secret@unix(/nonexistent.sock)/", dbtest.MySQL, "root:xxxxx@unix(/nonexistent.sock)"},
		{"postgres, no URL", "SNOWKEY_TEST_POSTGRES", "host=localhost password=secret", dbtest.Postgres, "SNOWKEY_TEST_POSTGRES names: dbserver: this is no URL"},
		{"postgres, bad port", "SNOWKEY_TEST_POSTGRES", "postgres://me:secret@localhost:port/", dbtest.Postgres, "SNOWKEY_TEST_POSTGRES names: dbserver: this is no URL"},
		{"postgres, nobody there", "SNOWKEY_TEST_POSTGRES", "postgres://me:secret@/x?host=/nonexistent", dbtest.Postgres, "postgres://me:xxxxx@/x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(test.variable, test.value)
			r := record(t, func(t testing.TB) { test.database(t) })
			if got := r.messages.String(); !r.failed || !strings.Contains(got, test.want) || strings.Contains(got, "secret") {
				t.Errorf("got failed=%v and\n%s\nwant a failure with %q and no password", r.failed, got, test.want)
			}
		})
	}
}
