package catalog_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

func TestQuote(t *testing.T) {
	for d, want := range map[dialect.Dialect]string{dialect.MySQL: "`s`.`a\"``b`", dialect.Postgres: "\"s\".\"a\"\"`b\"", dialect.SQLite: "\"s\".\"a\"\"`b\""} {
		c, err := catalog.New(nil, d)
		if err != nil {
			t.Fatal(err)
		}
		n := catalog.Name{Schema: "s", Name: "a\"`b"}
		if got := c.Quoted(n); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
		if got := c.Quoted(catalog.Name{Name: "t"}); got != c.Quote("t") {
			t.Errorf("%v: got %s", d, got)
		}
	}
}
