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
			at := own.Database(t)
			for name, dsn := range map[string]string{"snowkey's form": at.DSN, "the driver's form": at.DriverDSN} {
				t.Run(name, func(t *testing.T) {
					t.Setenv(test.variable, dsn)
					got := test.database(t)
					if got.DSN == at.DSN || !strings.Contains(got.DSN, strings.ReplaceAll(own.Dir(), "/", "%2F")) && !strings.Contains(got.DSN, own.Dir()) {
						t.Errorf("got database %q, want another one on the server of %q", got.DSN, at.DSN)
					}
					execSQL(t, got.Open(t), "CREATE TABLE mine (n INT)")
					server := test.server(t)
					if server.Version() != own.Version() || server.Log() != "" {
						t.Errorf("got version %q and log %q, want %q and none", server.Version(), server.Log(), own.Version())
					}
					wantError(t, "Stop", server.Stop(), test.variable)
					wantError(t, "Start", server.Start(), test.variable)
				})
			}
		})
	}
}

func TestSharedServerIsNotStopped(t *testing.T) {
	server := dbtest.MySQLServer(t)
	for name, do := range map[string]func() error{
		"Stop": server.Stop, "Kill": server.Kill, "Pause": server.Pause, "Resume": server.Resume,
	} {
		wantError(t, name, do(), "share", "names")
	}
}

// TestGivenNonsense wants a clear failure without the password.
func TestGivenNonsense(t *testing.T) {
	for _, test := range []struct {
		name, variable, value string
		database              func(testing.TB) dbtest.Database
		want                  string
	}{
		{"mysql, no DSN", "SNOWKEY_TEST_MYSQL", "root:secret@tcp(127.0.0.1", dbtest.MySQL, "SNOWKEY_TEST_MYSQL is no DSN"},
		{"mysql, a URL", "SNOWKEY_TEST_MYSQL", "mysql://root:secret@localhost/x", dbtest.MySQL, "SNOWKEY_TEST_MYSQL is no DSN"},
		{"mysql, nobody there", "SNOWKEY_TEST_MYSQL", "root:secret@unix(/nonexistent.sock)/", dbtest.MySQL, "root:xxxxx@unix(/nonexistent.sock)"},
		{"postgres, no URL", "SNOWKEY_TEST_POSTGRES", "host=localhost password=secret", dbtest.Postgres, "SNOWKEY_TEST_POSTGRES is no URL"},
		{"postgres, bad port", "SNOWKEY_TEST_POSTGRES", "postgres://me:secret@localhost:port/", dbtest.Postgres, "SNOWKEY_TEST_POSTGRES is no URL"},
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

func TestRedacted(t *testing.T) {
	for _, test := range []struct{ kind, dsn, want string }{
		{"mysql", "u:secret@tcp(h:1)/d", "mysql:u:xxxxx@tcp(h:1)/d"},
		{"mysql", "u@tcp(h:1)/d", "mysql:u@tcp(h:1)/d"},
		{"postgres", "postgres://u:secret@h:1/d", "postgres://u:xxxxx@h:1/d"},
		{"postgres", "postgres://h/d?password=secret&user=u", "postgres://h/d?password=xxxxx&user=u"},
	} {
		if got := dbtest.Redacted(test.kind, test.dsn); got != test.want {
			t.Errorf("of %q: got %q, want %q", test.dsn, got, test.want)
		}
	}
}
