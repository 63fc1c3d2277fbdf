package catalog_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

func server(t *testing.T, c *catalog.Catalog) catalog.Server {
	t.Helper()
	got, err := c.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestServer(t *testing.T) {
	product := map[dialect.Dialect]string{dialect.SQLite: "SQLite 3.", dialect.MySQL: "M", dialect.Postgres: "PostgreSQL "}
	eachDialect(t, func(t *testing.T, d dialect.Dialect) {
		_, c := open(t, d)
		got := server(t, c)
		if got.Kind != d.String() || c.Dialect() != d || !strings.HasPrefix(got.Version, product[d]) || strings.ContainsAny(got.Version, "-()") || got.Name == "" || got.ID == "" {
			t.Errorf("got %+v", got)
		}
		if again := server(t, c); again != got {
			t.Errorf("got %+v, then %+v", got, again)
		}
		_, other := open(t, d)
		if twin := server(t, other); twin.Name == got.Name || (twin.ID == got.ID) != (d != dialect.SQLite) {
			t.Errorf("another database is %+v, this one %+v", twin, got)
		}
		if d == dialect.SQLite && (!filepath.IsAbs(got.Name) || got.ID != got.Name) {
			t.Errorf("got %+v, want an absolute path", got)
		}
	})
}

func TestServerInMemory(t *testing.T) {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := catalog.New(db, dialect.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	if got := server(t, c); got.Name != ":memory:" {
		t.Errorf("got %+v", got)
	}
}

func TestOtherServer(t *testing.T) {
	starts := map[dialect.Dialect]func() dbtest.Database{
		dialect.MySQL:    func() dbtest.Database { return dbtest.StartMySQL(t).Database(t) },
		dialect.Postgres: func() dbtest.Database { return dbtest.StartPostgres(t).Database(t) },
	}
	for d, start := range starts {
		// The definer is part of a definition, and databases have accounts of their own.
		_, one := openDatabase(t, d, databases[d](t).Admin(), schemaOf[d]...)
		other := start().Admin().Open(t)
		run(t, other, schemaOf[d]...)
		c, err := catalog.New(other, d)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := server(t, one), server(t, c); a.ID == b.ID || a.Version != b.Version {
			t.Errorf("got %+v and %+v", a, b)
		}
		if fingerprint(t, c) != fingerprint(t, one) {
			t.Errorf("%s: the fingerprint differs between servers", d)
		}
	}
}

func TestServerWithoutRights(t *testing.T) {
	db, c := open(t, dialect.Postgres, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public")
	db.SetMaxOpenConns(1)
	all := server(t, c)
	run(t, db, "CREATE ROLE nobody_of_catalog")
	defer run(t, db, "DROP ROLE nobody_of_catalog")
	run(t, db, "SET ROLE nobody_of_catalog")
	got := server(t, c)
	run(t, db, "RESET ROLE")
	if got.ID == "" || got.ID == all.ID || got.Name != all.Name {
		t.Errorf("got %+v, with all rights %+v", got, all)
	}
}

func TestUnknownDialect(t *testing.T) {
	if _, err := catalog.New(nil, 0); !errors.Is(err, catalog.ErrDialect) {
		t.Errorf("got %v", err)
	}
}
