package gormplugin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// fromHint is what db.Use says to an application that makes no keys.
const fromHint = "gormplugin.New(gormplugin.From(source))"

// An account that lacks rights on the table of node numbers is told which: those on the table where there is one, and the table itself only where
// there may be none. The statements of the error are all that is missing.
func TestUseWithoutRights(t *testing.T) {
	const made = "the table of node numbers"
	for _, tt := range []struct {
		name   string
		kind   string
		setup  []string // <> is the account
		create bool     // the error has to ask for the table too
		says   string
	}{
		{"nothing", dsn.Postgres, nil, true, "permission denied for schema public"},
		{"nothing on the table", dsn.Postgres, []string{made}, false, "permission denied for table"},
		{"SELECT", dsn.Postgres, []string{made, "GRANT SELECT ON snowkey_nodes TO <>"}, false, "permission denied for table"},
		{"INSERT", dsn.Postgres, []string{made, "GRANT INSERT ON snowkey_nodes TO <>"}, false, "permission denied for table"},
		{"no UPDATE", dsn.Postgres, []string{made, "GRANT SELECT, INSERT ON snowkey_nodes TO <>"}, false, "permission denied for table"},
		{"CREATE on the schema", dsn.Postgres, []string{made, "GRANT CREATE ON SCHEMA public TO <>"}, false, "permission denied for table"},
		{"a schema of its own", dsn.Postgres, []string{made, "CREATE SCHEMA <> AUTHORIZATION <>"}, false, "permission denied for table"},
		{"another schema", dsn.Postgres, []string{made, "CREATE SCHEMA s", "ALTER TABLE snowkey_nodes SET SCHEMA s", "GRANT SELECT, INSERT, UPDATE ON s.snowkey_nodes TO <>"}, false, "permission denied for schema s"},
		{"nothing", dsn.MySQL, []string{"GRANT SELECT ON other TO <>"}, true, "it is missing, or it is there and hidden"},
		{"nothing on the table", dsn.MySQL, []string{made, "GRANT SELECT ON other TO <>"}, true, "it is missing, or it is there and hidden"},
		{"SELECT", dsn.MySQL, []string{made, "GRANT SELECT ON snowkey_nodes TO <>"}, false, "UPDATE command denied"},
		{"INSERT", dsn.MySQL, []string{made, "GRANT INSERT ON snowkey_nodes TO <>"}, false, "SELECT command denied"},
		{"no UPDATE", dsn.MySQL, []string{made, "GRANT SELECT, INSERT ON snowkey_nodes TO <>"}, false, "UPDATE command denied"},
		{"SELECT on all", dsn.MySQL, []string{made, "GRANT SELECT ON * TO <>"}, false, "UPDATE command denied"},
		{"CREATE on all", dsn.MySQL, []string{made, "GRANT CREATE ON * TO <>"}, false, "SELECT command denied"},
		{"CREATE on all, no table", dsn.MySQL, []string{"GRANT CREATE ON * TO <>"}, false, "SELECT command denied"},
	} {
		t.Run(tt.kind+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			d := map[string]func(testing.TB) dbtest.Database{dsn.MySQL: dbtest.MySQL, dsn.Postgres: dbtest.Postgres}[tt.kind](t)
			admin := openDatabase(t, d.DSN)
			mustRun(t, admin, "CREATE TABLE other (id int)")
			account, open := limited(t, admin, d)
			for _, statement := range tt.setup {
				if statement == made {
					if err := granted(t, another(t, admin)).Close(); err != nil {
						t.Fatal(err)
					}
					continue
				}
				mustRun(t, admin, strings.ReplaceAll(statement, "<>", account))
			}
			err := open().Use(gormplugin.New())
			var missing *grant.TableError
			if !errors.As(err, &missing) || !errors.Is(err, grant.ErrTable) {
				t.Fatalf("got %v, want a TableError", err)
			}
			rights := "GRANT SELECT, INSERT, UPDATE ON "
			if !strings.Contains(missing.Statement, rights) || strings.Contains(missing.Statement, "CREATE TABLE") != tt.create {
				t.Errorf("got the statement %s, want %s, and CREATE TABLE %t", missing.Statement, rights, tt.create)
			}
			for _, want := range []string{tt.says, missing.Statement, fromHint} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want it to say %s", err, want)
				}
			}
			for statement := range strings.SplitSeq(missing.Statement, ";") {
				if statement = strings.TrimSpace(statement); statement == "" {
					continue
				}
				if err := admin.Exec(statement).Error; err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			granted(t, open())
		})
	}
}

// What takes no writes is named, and what an application does that only reads. No statement is offered, since none would mend that.
func TestUseReadOnly(t *testing.T) {
	type database struct {
		all  func() *gorm.DB // takes writes
		only func() *gorm.DB // takes none
	}
	file := func(t *testing.T, parameter string) database {
		d := dbtest.SQLite(t)
		mustRun(t, openDatabase(t, d.DSN), "CREATE TABLE other (id int)")
		return database{
			func() *gorm.DB { return openDatabase(t, d.DSN) },
			func() *gorm.DB { return openDatabase(t, "sqlite:file:"+d.DriverDSN+"?"+parameter) },
		}
	}
	for _, tt := range []struct {
		name string
		open func(t *testing.T) database
		says string
	}{
		{"sqlite mode=ro", func(t *testing.T) database { return file(t, "mode=ro") }, "test.db was opened with mode=ro"},
		{"sqlite query_only", func(t *testing.T) database { return file(t, "_query_only=1") }, "query_only is on"},
		{"sqlite file without write permission", func(t *testing.T) database {
			if os.Geteuid() == 0 {
				t.Skip("root may write to any file; run the test as another user")
			}
			d := dbtest.SQLite(t)
			mustRun(t, openDatabase(t, d.DSN), "CREATE TABLE other (id int)")
			mode := func(mode os.FileMode) *gorm.DB {
				if err := os.Chmod(d.DriverDSN, mode); err != nil {
					t.Fatal(err)
				}
				return openDatabase(t, d.DSN)
			}
			return database{func() *gorm.DB { return mode(0o600) }, func() *gorm.DB { return mode(0o400) }}
		}, "the process may not write to it"},
		{"postgres default_transaction_read_only", func(t *testing.T) database {
			d := dbtest.Postgres(t)
			return database{
				func() *gorm.DB { return openDatabase(t, d.DSN) },
				func() *gorm.DB { return openDatabase(t, withParameter(d.DSN, "default_transaction_read_only=on")) },
			}
		}, "default_transaction_read_only is on"},
		{"postgres standby", func(t *testing.T) database {
			dbtest.Long(t)
			server := dbtest.StartPostgres(t)
			d := server.Database(t)
			var folder string
			if err := openDatabase(t, d.DSN).Raw("SHOW data_directory").Scan(&folder).Error; err != nil {
				t.Fatal(err)
			}
			signal := filepath.Join(folder, "standby.signal")
			restart := func() *gorm.DB {
				if err := errors.Join(server.Stop(), server.Start()); err != nil {
					t.Fatal(err)
				}
				return openDatabase(t, d.DSN)
			}
			t.Cleanup(func() { // a standby drops no database
				if err := os.Remove(signal); err == nil {
					restart()
				}
			})
			return database{
				func() *gorm.DB {
					if err := os.Remove(signal); err == nil {
						return restart()
					}
					return openDatabase(t, d.DSN)
				},
				func() *gorm.DB {
					if err := os.WriteFile(signal, nil, 0o644); err != nil {
						t.Fatal(err)
					}
					return restart()
				},
			}
		}, "the server is a standby"},
		{"mysql read_only", func(t *testing.T) database {
			server := dbtest.StartMySQL(t)
			d := server.Database(t)
			admin := openDatabase(t, d.Admin().DSN)
			account, open := limited(t, admin, d)
			mustRun(t, admin, "GRANT ALL ON * TO "+account)
			set := func(value int) *gorm.DB {
				mustRun(t, admin, fmt.Sprint("SET GLOBAL read_only = ", value))
				return open()
			}
			t.Cleanup(func() { set(0) })
			return database{func() *gorm.DB { return set(0) }, func() *gorm.DB { return set(1) }}
		}, "read_only is on"},
		{"mysql session", func(t *testing.T) database {
			d := dbtest.MySQL(t)
			return database{
				func() *gorm.DB { return openDatabase(t, d.DSN) },
				func() *gorm.DB { return openDatabase(t, withParameter(d.DSN, "tx_read_only=1")) },
			}
		}, "READ ONLY transaction"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			database := tt.open(t)
			for _, table := range []string{"no table", "a table"} {
				if table == "a table" {
					if err := granted(t, database.all()).Close(); err != nil {
						t.Fatal(err)
					}
				}
				db := database.only()
				err := db.Use(gormplugin.New())
				if !errors.Is(err, grant.ErrReadOnly) {
					t.Fatalf("%s: got %v, want ErrReadOnly", table, err)
				}
				for _, want := range []string{tt.says, fromHint} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s: got %v, want it to say %s", table, err, want)
					}
				}
				for _, never := range []string{"CREATE TABLE IF", "GRANT"} {
					if strings.Contains(err.Error(), never) {
						t.Errorf("%s: got %v, want no %s", table, err, never)
					}
				}
				if err := db.Use(gormplugin.New(gormplugin.From(mustGenerator(t)))); err != nil {
					t.Errorf("%s: with From: got %v", table, err)
				}
			}
		})
	}
}

// withParameter adds a parameter to a DSN.
func withParameter(text, parameter string) string {
	if strings.Contains(text, "?") {
		return text + "&" + parameter
	}
	return text + "?" + parameter
}
