package database_test

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// user makes a user of the server who has these rights in the database, on MySQL, or on its schema public, on PostgreSQL, and on MySQL more, and returns
// the DSN.
func user(t *testing.T, at dbtest.Database, rights string, more ...string) string {
	t.Helper()
	name := "u" + strings.ToLower(rand.Text()[:12])
	admin := at.Admin().Open(t) // who may grant all of more
	run := func(statements ...string) {
		t.Helper()
		for _, statement := range statements {
			if _, err := admin.Exec(statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
	if at.Kind == "mysql" {
		config, err := mysql.ParseDSN(at.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		run(fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY 'sesame'", name), fmt.Sprintf("GRANT %s ON `%s`.* TO %s@'%%'", rights, config.DBName, name))
		for _, right := range more {
			run(fmt.Sprintf("GRANT %s TO %s@'%%'", right, name))
		}
		t.Cleanup(func() { run(fmt.Sprintf("DROP USER %s@'%%'", name)) })
		config.User, config.Passwd = name, "sesame"
		return "mysql:" + config.FormatDSN()
	}
	address, err := url.Parse(at.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	run("REVOKE ALL ON SCHEMA public FROM public", "CREATE ROLE "+name+" LOGIN PASSWORD 'sesame'", "GRANT "+rights+" ON SCHEMA public TO "+name)
	t.Cleanup(func() { run("DROP OWNED BY "+name, "DROP ROLE "+name) })
	query := address.Query()
	query.Set("user", name)
	query.Set("password", "sesame")
	address.RawQuery, address.User = query.Encode(), nil
	return address.String()
}
