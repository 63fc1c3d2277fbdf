package dbserver_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbserver"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// kinds are the kinds of private server. harmless is a setting that both start with
// and that setting reads back as "on" or "ON".
var kinds = []struct{ name, harmless, setting string }{
	{"mysql", "--innodb-print-all-deadlocks=ON", "SELECT CAST(IF(@@innodb_print_all_deadlocks, 'on', 'off') AS CHAR)"},
	{"postgres", "log_lock_waits=on", "SHOW log_lock_waits"},
}

// start starts a server for the test, and skips it where that is not possible.
func start(t testing.TB, kind string, settings ...string) *dbserver.Server {
	t.Helper()
	if kind == dbserver.MySQL {
		return dbtest.StartMySQL(t, settings...).Server
	}
	return dbtest.StartPostgres(t, settings...).Server
}

// database makes a database on the server.
func database(t testing.TB, server *dbserver.Server) dbtest.Database {
	t.Helper()
	d, err := server.Database(t.Context(), "mine")
	if err != nil {
		t.Fatal(err)
	}
	return dbtest.Database{Kind: d.Kind, DSN: d.DSN, DriverName: d.DriverName, DriverDSN: d.DriverDSN}
}

func TestRestart(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			server := start(t, kind.name)
			database := database(t, server)
			db := database.Open(t)
			execSQL(t, db, "CREATE TABLE seen (n INT PRIMARY KEY)")
			for n, end := range []struct {
				name string
				do   func() error
			}{
				{"Kill", server.Kill},
				{"Stop", server.Stop},
				{"Kill again", server.Kill},
				{"Kill while paused", func() error { return errors.Join(server.Pause(), server.Kill()) }},
				{"Stop while paused", func() error { return errors.Join(server.Pause(), server.Stop()) }},
			} {
				execSQL(t, db, "INSERT INTO seen VALUES ("+string(rune('0'+n))+")")
				pid := server.PID(t)
				if err := end.do(); err != nil {
					t.Fatalf("%s: %v", end.name, err)
				}
				if got := server.PID(t); got != 0 {
					t.Fatalf("after %s: the server still runs as process %d", end.name, got)
				}
				if _, err := query(t.Context(), database.Open(t), "SELECT 1"); err == nil {
					t.Fatalf("after %s: the server still answers", end.name)
				}
				if err := server.Start(); err != nil {
					t.Fatalf("Start after %s: %v", end.name, err)
				}
				if got := server.PID(t); got == pid {
					t.Fatalf("Start after %s: process %d, the same as before", end.name, got)
				}
				// New connections: the pool does not know that the old ones are dead.
				db = database.Open(t)
				if got, err := query(t.Context(), db, "SELECT COUNT(*) FROM seen"); err != nil || got != string(rune('1'+n)) {
					t.Fatalf("Start after %s: got %q rows and error %v, want %d", end.name, got, err, n+1)
				}
			}
		})
	}
}

func TestStartArguments(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			server := start(t, kind.name, kind.harmless)
			db := database(t, server).Open(t)
			db.SetMaxIdleConns(0) // a new connection each time
			for _, step := range []struct {
				name string
				args []string
				want string
			}{
				{"as before", nil, "on"},
				{"replaced", []string{strings.NewReplacer("=ON", "=OFF", "=on", "=off").Replace(kind.harmless)}, "off"},
				{"as before again", nil, "off"},
			} {
				if err := errors.Join(server.Kill(), server.Start(step.args...)); err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				if got, err := query(t.Context(), db, kind.setting); err != nil || got != step.want {
					t.Errorf("%s: got setting %q and error %v, want %q", step.name, got, err, step.want)
				}
			}
		})
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			server := start(t, kind.name)
			wantError(t, "Start of a running server", server.Start(), "running already")
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			for name, do := range map[string]func() error{
				"Stop": server.Stop, "Kill": server.Kill, "Pause": server.Pause, "Resume": server.Resume,
			} {
				wantError(t, name+" of a killed server", do(), "does not run", "killed")
			}
		})
	}
}

func TestPause(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			server := start(t, kind.name)
			database := database(t, server)
			old, other := database.Open(t), database.Open(t)
			for _, db := range []*sql.DB{old, other} {
				if _, err := query(t.Context(), db, "SELECT 1"); err != nil {
					t.Fatal(err)
				}
			}
			if err := server.Pause(); err != nil {
				t.Fatal(err)
			}
			for name, db := range map[string]*sql.DB{"an old connection": old, "a new connection": database.Open(t)} {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				_, err := query(ctx, db, "SELECT 1")
				if err == nil || ctx.Err() == nil {
					t.Errorf("%s to a paused server: got error %v, want none before the context's end", name, err)
				}
				cancel()
			}
			answer := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				_, err := query(ctx, other, "SELECT 1")
				answer <- err
			}()
			if err := server.Resume(); err != nil {
				t.Fatal(err)
			}
			if err := <-answer; err != nil {
				t.Errorf("a query begun before Resume: %v", err)
			}
			if _, err := query(t.Context(), database.Open(t), "SELECT 1"); err != nil {
				t.Errorf("a query after Resume: %v", err)
			}
		})
	}
}

// TestTwoServers has the servers of Flickr's ticket scheme: one gives odd numbers, one
// even ones.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	odd := database(t, start(t, dbserver.MySQL, "--auto-increment-increment=2", "--auto-increment-offset=1")).Open(t)
	even := database(t, start(t, dbserver.MySQL, "--auto-increment-increment=2", "--auto-increment-offset=2")).Open(t)
	for name, db := range map[string]*sql.DB{"1,3,5": odd, "2,4,6": even} {
		execSQL(t, db, "CREATE TABLE tickets (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, stub CHAR(1))")
		execSQL(t, db, "INSERT INTO tickets (stub) VALUES ('a'), ('a'), ('a')")
		if got, err := query(t.Context(), db, "SELECT GROUP_CONCAT(id ORDER BY id) FROM tickets"); err != nil || got != name {
			t.Errorf("got ids %q and error %v, want %q", got, err, name)
		}
	}
}

// TestBrokenServer wants the server's own words in the error of one that does not start.
func TestBrokenServer(t *testing.T) {
	dbtest.Long(t)
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	t.Parallel()
	for kind, test := range map[string]struct{ setting, want string }{
		"mysql":    {"--no-such-option", "unknown option '--no-such-option'"},
		"postgres": {"no_such=1", `unrecognized configuration parameter "no_such"`},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := dbserver.Start(t.Context(), kind, test.setting)
			if unavailable := new(dbserver.UnavailableError); errors.As(err, &unavailable) {
				t.Skip(err)
			}
			wantError(t, "Start", err, test.want)
			if took := time.Since(began); took > 45*time.Second {
				t.Errorf("noticing it took %v, as long as waiting for an answer", took)
			}
		})
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	server := start(t, dbserver.MySQL)
	dir := server.Dir()
	for range 2 {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder of a closed server: got error %v, want it gone", err)
		}
	}
	wantError(t, "Start", server.Start(), "has been closed")
}

func TestUnknownKind(t *testing.T) {
	_, err := dbserver.Start(t.Context(), "sqlite")
	wantError(t, "Start", err, `unknown kind of server "sqlite"`)
	_, err = dbserver.Connect(t.Context(), "oracle", "x")
	wantError(t, "Connect", err, `unknown kind of server "oracle"`)
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

// wantError fails the test unless err has one of the texts in it.
func wantError(t testing.TB, what string, err error, texts ...string) {
	t.Helper()
	if err == nil || !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		t.Errorf("%s: got error %v, want one with %q", what, err, texts)
	}
}
