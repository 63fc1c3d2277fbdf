package catalog_test

import (
	"errors"
	"testing"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]catalog.Name{
		"t": {Name: "t"}, "s.t": {Schema: "s", Name: "t"}, `"a.b".t`: {Schema: "a.b", Name: "t"}, "`a``b`": {Name: "a`b"}, `"a""b"`: {Name: `a"b`},
		"s.`x.y`": {Schema: "s", Name: "x.y"}, " a b ": {Name: " a b "}, `a"b`: {Name: `a"b`},
	} {
		got, err := catalog.Parse(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
		if again, err := catalog.Parse(got.String()); err != nil || again != got {
			t.Errorf("%s: its text %s is read as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", ".", "a.", ".a", "a.b.c", `"a`, `"a"b`, "``", "a\x00", `""."a"`} {
		if got, err := catalog.Parse(text); !errors.Is(err, catalog.ErrName) {
			t.Errorf("%q: got %+v, %v, want an error", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"t", "s.t", `"a.b"."c""d"`, "`a``b`", `"a`, "a.b.c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := catalog.Parse(text)
		if err != nil {
			return
		}
		if again, err := catalog.Parse(got.String()); err != nil || again != got {
			t.Errorf("%q is %+v, whose text %q is %+v, %v", text, got, got.String(), again, err)
		}
	})
}

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
