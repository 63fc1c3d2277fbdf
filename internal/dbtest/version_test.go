package dbtest_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestVersion logs the versions of the servers that the tests run against.
func TestVersion(t *testing.T) {
	for _, test := range []struct {
		kind     string
		server   func(testing.TB) *dbtest.Server
		products string
	}{
		{"mysql", dbtest.MySQLServer, "MariaDB MySQL"},
		{"postgres", dbtest.PostgresServer, "PostgreSQL"},
	} {
		t.Run(test.kind, func(t *testing.T) {
			version := test.server(t).Version()
			t.Log(version)
			product, number, _ := strings.Cut(version, " ")
			if !strings.Contains(test.products, product) || number == "" || strings.Trim(number, "0123456789.") != "" {
				t.Errorf("got version %q, want a product among %q and a number", version, test.products)
			}
		})
	}
}

func TestVersionText(t *testing.T) {
	for _, test := range []struct{ kind, text, want string }{
		{"mysql", "10.11.6-MariaDB-0+deb12u1", "MariaDB 10.11.6"},
		{"mysql", "5.5.5-10.4.34-MariaDB-log", "MariaDB 10.4.34"},
		{"mysql", "8.0.36-0ubuntu0.22.04.1", "MySQL 8.0.36"},
		{"mysql", "9.1.0", "MySQL 9.1.0"},
		{"postgres", "15.6 (Debian 15.6-0+deb12u1)", "PostgreSQL 15.6"},
		{"postgres", "18beta1", "PostgreSQL 18beta1"},
	} {
		t.Run(test.text, func(t *testing.T) {
			if got := dbtest.GivenVersion(test.kind, test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
