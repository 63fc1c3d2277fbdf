package dbserver_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

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
			if got := dbserver.GivenVersion(test.kind, test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
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
		if got := (dbserver.Database{Kind: test.kind, DriverDSN: test.dsn}).Redacted(); got != test.want {
			t.Errorf("of %q: got %q, want %q", test.dsn, got, test.want)
		}
	}
}
