package dbtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// onOwnServer has [dbtest.MySQL] use the server that the tests share, whose administrator
// may do everything.
func onOwnServer(t *testing.T) {
	t.Helper()
	t.Setenv("SNOWKEY_TEST_MYSQL", "")
}

// nameOf returns a database's name.
func nameOf(t *testing.T, d dbtest.Database) string {
	t.Helper()
	name, err := query(t.Context(), d.Open(t), "SELECT DATABASE()")
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestAccountsSeeTheirOwnTables has tables of the same name in two databases.
func TestAccountsSeeTheirOwnTables(t *testing.T) {
	onOwnServer(t)
	databases := []dbtest.Database{dbtest.MySQL(t), dbtest.MySQL(t)}
	names := []string{nameOf(t, databases[0]), nameOf(t, databases[1])}
	for i, d := range databases {
		db, second := d.Open(t), names[i]+"_2"
		execSQL(t, db, "CREATE TABLE mine (n INT PRIMARY KEY)")
		execSQL(t, db, "CREATE VIEW mine_too AS SELECT n FROM mine")
		execSQL(t, db, "CREATE TRIGGER counts BEFORE INSERT ON mine FOR EACH ROW SET NEW.n = NEW.n + 1")
		execSQL(t, db, "CREATE PROCEDURE insert_mine () INSERT INTO mine VALUES (1)")
		execSQL(t, db, "CALL insert_mine()")
		execSQL(t, db, "CREATE DATABASE `"+second+"`")
		t.Cleanup(func() {
			if _, err := db.Exec("DROP DATABASE `" + second + "`"); err != nil {
				t.Error(err)
			}
		})
		execSQL(t, db, "CREATE TABLE `"+second+"`.mine (n INT PRIMARY KEY)")
	}
	for what, test := range map[string]struct{ statement, want string }{
		"tables":     {"SELECT GROUP_CONCAT(TABLE_SCHEMA ORDER BY 1) FROM information_schema.TABLES WHERE TABLE_NAME = 'mine'", "%[1]s,%[1]s_2"},
		"columns":    {"SELECT GROUP_CONCAT(TABLE_SCHEMA ORDER BY 1) FROM information_schema.COLUMNS WHERE TABLE_NAME = 'mine'", "%[1]s,%[1]s_2"},
		"indexes":    {"SELECT GROUP_CONCAT(TABLE_SCHEMA ORDER BY 1) FROM information_schema.STATISTICS WHERE TABLE_NAME = 'mine'", "%[1]s,%[1]s_2"},
		"views":      {"SELECT GROUP_CONCAT(TABLE_SCHEMA ORDER BY 1) FROM information_schema.VIEWS WHERE TABLE_NAME = 'mine_too'", "%[1]s"},
		"triggers":   {"SELECT GROUP_CONCAT(TRIGGER_SCHEMA ORDER BY 1) FROM information_schema.TRIGGERS WHERE TRIGGER_NAME = 'counts'", "%[1]s"},
		"procedures": {"SELECT GROUP_CONCAT(ROUTINE_SCHEMA ORDER BY 1) FROM information_schema.ROUTINES WHERE ROUTINE_NAME = 'insert_mine'", "%[1]s"},
		"databases":  {"SELECT GROUP_CONCAT(SCHEMA_NAME ORDER BY 1) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME <> 'information_schema' AND SCHEMA_NAME <> 'performance_schema'", "%[1]s,%[1]s_2"},
		"rows":       {"SELECT GROUP_CONCAT(n) FROM mine_too", "2"},
	} {
		for i, d := range databases {
			want := strings.ReplaceAll(test.want, "%[1]s", names[i])
			if got, err := query(t.Context(), d.Open(t), test.statement); err != nil || got != want {
				t.Errorf("%s: the account of %s sees %q (error %v), want %q", what, names[i], got, err, want)
			}
		}
	}
	_, err := query(t.Context(), databases[0].Open(t), "SELECT COUNT(*) FROM `"+names[1]+"`.mine")
	wantError(t, "reading the other's table", err, "denied")
	if n, err := query(t.Context(), databases[0].Admin().Open(t), "SELECT COUNT(*) FROM `"+names[1]+"`.mine"); err != nil || n != "1" {
		t.Errorf("the administrator reads %s rows of the other's table (error %v), want 1", n, err)
	}
}

// TestAccountIsDropped looks for the account of a test that has passed.
func TestAccountIsDropped(t *testing.T) {
	onOwnServer(t)
	count := func(user string) string {
		t.Helper()
		n, err := query(t.Context(), dbtest.MySQL(t).Admin().Open(t), "SELECT COUNT(*) FROM mysql.user WHERE User = ?", user)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var user string
	r := record(t, func(t testing.TB) {
		config, err := mysql.ParseDSN(dbtest.MySQL(t).DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		if user = config.User; count(user) != "1" {
			t.Errorf("the account %s is there %s times during its test, want once", user, count(user))
		}
	})
	if r.failed || count(user) != "0" {
		t.Errorf("the account %s is there %s times after its test, want it dropped:\n%s", user, count(user), r.messages.String())
	}
}

// TestGivenAccounts uses servers by users who may do less than a root may.
func TestGivenAccounts(t *testing.T) {
	server := dbtest.StartMySQL(t)
	admin := server.Database(t).Admin()
	config, err := mysql.ParseDSN(admin.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	for i, test := range []struct {
		name   string
		rights []string
		own    bool // account
	}{
		{"no right to create users", []string{"GRANT SELECT, CREATE, DROP ON *.* TO %s WITH GRANT OPTION"}, false},
		{"no right to grant", []string{"GRANT ALL ON *.* TO %s"}, false},
		{"not all global rights", []string{"GRANT ALL ON *.* TO %s WITH GRANT OPTION", "REVOKE SUPER, PROCESS ON *.* FROM %s"}, true},
		{"all rights", []string{"GRANT ALL ON *.* TO %s WITH GRANT OPTION"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			user := fmt.Sprintf("given%d", i)
			execSQL(t, admin.Open(t), "CREATE USER "+user+"@localhost IDENTIFIED BY 'sesame'")
			for _, right := range test.rights {
				execSQL(t, admin.Open(t), fmt.Sprintf(right, user+"@localhost"))
			}
			given := config.Clone()
			given.User, given.Passwd, given.DBName = user, "sesame", ""
			t.Setenv("SNOWKEY_TEST_MYSQL", given.FormatDSN())
			accounts := func() string {
				t.Helper()
				all, err := query(t.Context(), admin.Open(t), "SELECT GROUP_CONCAT(User ORDER BY User) FROM mysql.user")
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			before := accounts()
			r := record(t, func(t testing.TB) {
				d := dbtest.MySQL(t)
				execSQL(t, d.Open(t), "CREATE TABLE mine (n INT)")
				user, err := query(t.Context(), d.Open(t), "SELECT CURRENT_USER()")
				if own := !strings.HasPrefix(user, "given"); err != nil || own != test.own {
					t.Errorf("got the account %s (error %v), want one of its own %t", user, err, test.own)
				}
				user, err = query(t.Context(), d.Admin().Open(t), "SELECT CURRENT_USER()")
				if err != nil || !strings.HasPrefix(user, "given") {
					t.Errorf("got the administrator %s (error %v), want the given user", user, err)
				}
			})
			if got := r.messages.String(); r.failed || test.own == strings.Contains(got, "no account of its own") {
				t.Errorf("got failed=%v and\n%s\nwant that there is no account if there is none", r.failed, got)
			}
			if after := accounts(); after != before {
				t.Errorf("got the accounts %s after the test, want %s as before", after, before)
			}
		})
	}
}

func TestAccountName(t *testing.T) {
	for database, want := range map[string]string{
		"t_testx_0123abcd":                                "t_testx_0123abcd",
		"t_" + strings.Repeat("x", 21) + "_0123abcd":      "t_" + strings.Repeat("x", 21) + "_0123abcd",
		"t_" + strings.Repeat("x", 22) + "_0123abcd":      "t_" + strings.Repeat("x", 21) + "_0123abcd",
		"t_" + strings.Repeat("x", 42) + "_0123abcd":      "t_" + strings.Repeat("x", 21) + "_0123abcd",
		dbtest.DatabaseName("")[:len("t__")] + "0123abcd": "t__0123abcd",
	} {
		if got := dbtest.AccountName(database); got != want || len(got) > 32 {
			t.Errorf("of %q: got %q, want %q", database, got, want)
		}
	}
}
