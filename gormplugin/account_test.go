package gormplugin_test

import (
	"crypto/rand"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// limited makes an account without any right in a database, and returns its name and what opens the database as that account.
func limited(t *testing.T, admin *gorm.DB, d dbtest.Database) (name string, open func() *gorm.DB) {
	t.Helper()
	name, text := "r"+strings.ToLower(rand.Text()[:10]), ""
	switch d.Kind {
	case dsn.MySQL:
		config, err := mysql.ParseDSN(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		mustRun(t, admin, "CREATE USER "+name+" IDENTIFIED BY 'sesame'")
		t.Cleanup(func() { admin.Exec("DROP USER " + name) })
		config.User, config.Passwd = name, "sesame"
		text = "mysql:" + config.FormatDSN()
	case dsn.Postgres:
		mustRun(t, admin, "CREATE ROLE "+name+" LOGIN PASSWORD 'sesame'", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		t.Cleanup(func() { admin.Exec("DROP OWNED BY " + name + " CASCADE"); admin.Exec("DROP ROLE " + name) })
		address, err := url.Parse(d.DSN)
		if err != nil {
			t.Fatal(err)
		}
		query := address.Query()
		query.Del("user")
		query.Del("password")
		if address.Host != "" {
			address.User = url.UserPassword(name, "sesame")
		} else {
			query.Set("user", name)
			query.Set("password", "sesame")
		}
		address.RawQuery = query.Encode()
		text = address.String()
	}
	return name, func() *gorm.DB { return openDatabase(t, text) }
}
