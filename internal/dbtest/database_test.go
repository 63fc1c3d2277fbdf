package dbtest_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// kinds are the kinds of server, and what starts one.
var kinds = []struct {
	name  string
	start func(testing.TB, ...string) *dbtest.Server
}{{"mysql", dbtest.StartMySQL}, {"postgres", dbtest.StartPostgres}}

func TestSQLite(t *testing.T) {
	a, b := dbtest.SQLite(t), dbtest.SQLite(t)
	if a.DSN == b.DSN || a.DSN != "sqlite:"+a.DriverDSN {
		t.Errorf("got DSNs %q and %q for the path %q, want two, each with its path", a.DSN, b.DSN, a.DriverDSN)
	}
	execSQL(t, a.Open(t), "CREATE TABLE mine (n INT)")
	execSQL(t, b.Open(t), "CREATE TABLE mine (n INT)")
}

// TestDatabases checks that a test sees neither another's database nor one of a test
// before, and that a failed test's database stays.
func TestDatabases(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Setenv("SNOWKEY_TEST_MYSQL", "") // on a server that is ours: a failed test leaves its database
			t.Setenv("SNOWKEY_TEST_POSTGRES", "")
			database := map[string]func(testing.TB) dbtest.Database{"mysql": dbtest.MySQL, "postgres": dbtest.Postgres}[kind.name]
			databases := map[string]string{
				"mysql":    "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?",
				"postgres": "SELECT COUNT(*) FROM pg_database WHERE datname = $1",
			}[kind.name]
			count := func(t testing.TB, name string) string {
				t.Helper()
				n, err := query(t.Context(), database(t).Admin().Open(t), databases, name) // who sees all of them
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			current := map[string]string{"mysql": "SELECT DATABASE()", "postgres": "SELECT current_database()"}[kind.name]

			var passed string
			t.Run("two at a time", func(t *testing.T) {
				a, b := database(t), database(t)
				if a.Kind != kind.name || !strings.HasPrefix(a.DSN, kind.name+":") {
					t.Errorf("got kind %q and DSN %q, want those of %s", a.Kind, a.DSN, kind.name)
				}
				execSQL(t, a.Open(t), "CREATE TABLE mine (n INT)")
				execSQL(t, b.Open(t), "CREATE TABLE mine (n INT)")
				var err error
				if passed, err = query(t.Context(), a.Open(t), current); err != nil {
					t.Fatal(err)
				}
				if n := count(t, passed); n != "1" {
					t.Errorf("database %s is there %s times during its test, want once", passed, n)
				}
			})
			if n := count(t, passed); n != "0" {
				t.Errorf("database %s is there %s times after its test passed, want it dropped", passed, n)
			}

			var failed string
			r := record(t, func(r testing.TB) {
				var err error
				if failed, err = query(t.Context(), database(r).Open(r), current); err != nil {
					t.Fatal(err)
				}
				r.Fail()
			})
			if n := count(t, failed); n != "1" {
				t.Errorf("database %s is there %s times after its test failed, want it left", failed, n)
			}
			if got := r.messages.String(); !strings.Contains(got, "/"+failed+"?") || !strings.Contains(got, "the server's log:") {
				t.Errorf("a failed test logged\n%s\nwant the DSN of %s and the server's log", got, failed)
			}
		})
	}
}

func TestDatabaseName(t *testing.T) {
	for test, prefix := range map[string]string{
		"TestX":                          "t_testx_",
		"TestX/a=1,b=ü":                  "t_testx_a_1_b___",
		"Test" + strings.Repeat("X", 99): "t_test" + strings.Repeat("x", 38) + "_",
		`Test"; DROP TABLE x; --`:        "t_test___drop_table_x____",
	} {
		name, again := dbtest.DatabaseName(test), dbtest.DatabaseName(test)
		if !strings.HasPrefix(name, prefix) || len(name) > 63 || name == again {
			t.Errorf("of %q: got %q and %q, want two names that begin with %q and have at most 63 bytes", test, name, again, prefix)
		}
	}
}

func execSQL(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// query returns the first column of the first row, as text.
func query(ctx context.Context, db *sql.DB, statement string, args ...any) (text string, err error) {
	err = db.QueryRowContext(ctx, statement, args...).Scan(&text)
	return text, err
}
