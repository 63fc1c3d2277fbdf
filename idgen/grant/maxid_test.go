package grant_test

import (
	"errors"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestMaxID(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			dialect, err := grant.LookupDialect(name)
			if err != nil {
				t.Fatal(err)
			}
			pool := make(t).Open(t)
			for _, statement := range []string{
				"CREATE TABLE orders (id bigint PRIMARY KEY)", "CREATE TABLE empty (id bigint)", "CREATE TABLE texts (id varchar(20))",
				"INSERT INTO orders VALUES (5), (-7), (9007199254740993)", "INSERT INTO texts VALUES ('abc')",
			} {
				if _, err := pool.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			for _, tt := range []struct {
				columns []string
				want    int64
				err     bool
			}{
				{[]string{"orders.id"}, 9007199254740993, false},
				{[]string{"empty.id", "orders.id"}, 9007199254740993, false},
				{[]string{"empty.id"}, 0, false},
				{[]string{"texts.id"}, 0, true},
				{[]string{"missing.id"}, 0, true},
				{[]string{"orders"}, 0, true},
				{[]string{"orders.id; DROP TABLE orders"}, 0, true},
				{nil, 0, true},
			} {
				got, err := grant.MaxID(t.Context(), pool, dialect, tt.columns...)
				if got != tt.want || (err != nil) != tt.err {
					t.Errorf("%v: got %d, %v, want %d", tt.columns, got, err, tt.want)
				}
			}
			// Beside it: a generator that begins above what is in the table.
			floor, err := grant.MaxID(t.Context(), pool, dialect, "orders.id")
			if err != nil {
				t.Fatal(err)
			}
			g, err := idgen.New(idgen.WithNode(1), idgen.WithFloor(floor))
			if err != nil {
				t.Fatal(err)
			}
			if id, err := g.Next(t.Context()); err != nil || id <= floor {
				t.Errorf("got %d, %v, want more than %d", id, err, floor)
			}
		})
	}
	if _, err := grant.MaxID(t.Context(), nil, grant.MySQL, "a.b"); !errors.Is(err, grant.ErrConfig) {
		t.Errorf("got %v, want ErrConfig", err)
	}
	if _, err := grant.MaxID(t.Context(), nil, 0, "a.b"); !errors.Is(err, grant.ErrDialect) {
		t.Errorf("got %v, want ErrDialect", err)
	}
}
