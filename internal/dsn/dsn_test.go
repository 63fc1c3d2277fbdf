package dsn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]struct{ kind, public string }{
		"sqlite:a.db":                                           {dsn.SQLite, "sqlite:a.db"},
		"sqlite:C:\\a.db":                                       {dsn.SQLite, "sqlite:C:\\a.db"},
		"sqlite::memory:":                                       {dsn.SQLite, "sqlite::memory:"},
		"sqlite:a.db?_fk=1":                                     {dsn.SQLite, "sqlite:a.db?_fk=1"},
		"sqlite:a@b.db?_auth_pass=sesame&_fk=1":                 {dsn.SQLite, "sqlite:a@b.db?_fk=1"},
		"sqlite:a.db?_auth_pass=sesame":                         {dsn.SQLite, "sqlite:a.db"},
		"mysql:u@tcp(h:1)/d":                                    {dsn.MySQL, "mysql:u@tcp(h:1)/d"},
		"mysql:u:sesame@unix(/s)/d":                             {dsn.MySQL, "mysql:u@unix(/s)/d"},
		"mysql:u:p@ss:sesame@/d":                                {dsn.MySQL, "mysql:u@tcp(127.0.0.1:3306)/d"},
		"postgres://u:sesame@h:1/d":                             {dsn.Postgres, "postgres://u@h:1/d"},
		"postgres://u@h:1/d?password=se;same;sesame":            {dsn.Postgres, "postgres://u@h:1/d"},
		"postgresql://u@h/d":                                    {dsn.Postgres, "postgres://u@h:5432/d"},
		"postgres:///d?host=/run&user=u&password=sesame&port=7": {dsn.Postgres, "postgres://u@/d?host=%2Frun"},
		"postgres://u@h:1/d?sslpassword=sesame&application_name=sesame": {dsn.Postgres, "postgres://u@h:1/d"},
	} {
		got, err := dsn.Parse(text)
		if err != nil || got.Kind != want.kind || got.String() != want.public {
			t.Errorf("%s: got %s %s, %v, want %s %s", text, got.Kind, got, err, want.kind, want.public)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "a.db", "sqlite:", "oracle:x", "mysql:", "mysql:u:sesame@tcp(h:1)/", "mysql:u:sesame@tcp(h:1)", "mysql:u:sesame@tcp(h:1)/d?parseTime=sesam",
		"postgres://u:sesame@h:port/d", "postgres://u:sesame@h/d?sslmode=nosuch", "Sqlite:a.db", "postgres:host=h password=sesame",
		"postgres://u:/sesame@h/d", "postgres://u:sesame%@h/d", "postgres:",
		"postgres://sesame:5#x@h/d", "postgres://sesame:5?x@h/d", "postgres://u:5/sesame@h/d",
		"sesame", "sesame:x", "u:sesame@tcp(h:1)/d", "://u:sesame@h/d", "sqlite://u:sesame@h/d", "sqlite:u:sesame@tcp(h:1)/d",
		"mysql:u:sesame/d", "mysql:u:sesame@h/d?parseTime=x", "mysql:u:x/sesame@tcp(h:1)", "mysql:u:x/sesame%@tcp(h:1)", "mysql:u:sesame(x)/y@tcp(h:1)",
		"mysql:u:x/y?parseTime=sesame@tcp(h:1)", "mysql:u:x/sesame@tcp(h:1)?tls=true", "mysql://u:sesame@h:1/d",
	} {
		_, err := dsn.Parse(text)
		if !errors.Is(err, dsn.ErrDSN) || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "want ") {
			t.Errorf("%q: got %v, want ErrDSN, the right form, and no password", text, err)
		}
	}
}

// What Parse takes opens, and GORM can work over it.
func TestOpen(t *testing.T) {
	for name, database := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			parsed, err := dsn.Parse(database(t).DSN)
			if err != nil {
				t.Fatal(err)
			}
			pool, err := parsed.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = pool.Close() }()
			if err := pool.PingContext(t.Context()); err != nil {
				t.Error(err)
			}
			if got := parsed.Dialector(pool).Name(); got != name {
				t.Errorf("got the dialector %s, want %s", got, name)
			}
		})
	}
}
