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
