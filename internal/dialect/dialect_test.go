package dialect_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

func TestLookup(t *testing.T) {
	for name, want := range map[string]dialect.Dialect{"mysql": dialect.MySQL, "postgres": dialect.Postgres, "sqlite": dialect.SQLite} {
		if got, ok := dialect.Lookup(name); !ok || got != want || got.String() != name || !got.Valid() {
			t.Errorf("%s: got %v, %t", name, got, ok)
		}
	}
	for _, name := range []string{"", "MySQL", "mariadb", "Dialect(0)"} {
		if got, ok := dialect.Lookup(name); got != 0 || ok {
			t.Errorf("%q: got %v, %t, want none", name, got, ok)
		}
	}
}

func TestNoDialect(t *testing.T) {
	for d, want := range map[dialect.Dialect]string{-1: "Dialect(-1)", 0: "Dialect(0)", 4: "Dialect(4)"} {
		if got := d.String(); got != want || d.Valid() {
			t.Errorf("got %s, valid %t, want %s, not valid", got, d.Valid(), want)
		}
	}
}

func TestValidName(t *testing.T) {
	long := strings.Repeat("x", 63)
	for name, want := range map[string]bool{
		"a": true, "_": true, "A_1": true, "a.b": true, long: true, long + "." + long: true,
		"": false, ".": false, "a.": false, ".b": false, "a.b.c": false, "1a": false, "a.1b": false, "a b": false, "a\n": false, "ä": false,
		"`a`": false, `"a"`: false, "a?": false, "a-b": false, long + "x": false, long + "x.a": false, "a." + long + "x": false,
	} {
		if got := dialect.ValidName(name); got != want {
			t.Errorf("%q: got %t, want %t", name, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for d, want := range map[dialect.Dialect][2]string{
		dialect.MySQL:    {"`a`", "`a`.`b`"},
		dialect.Postgres: {`"a"`, `"a"."b"`},
		dialect.SQLite:   {`"a"`, `"a"."b"`},
	} {
		if got := [2]string{d.Quote("a"), d.Quote("a.b")}; got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestBind(t *testing.T) {
	const text = "UPDATE t SET a = ?, b = ? WHERE c = ?"
	for d, want := range map[dialect.Dialect]string{
		dialect.MySQL: text, dialect.Postgres: "UPDATE t SET a = $1, b = $2 WHERE c = $3", dialect.SQLite: text,
	} {
		if got := d.Bind(text); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
		if got := d.Bind("SELECT 1"); got != "SELECT 1" {
			t.Errorf("%v: got %s, want it unchanged", d, got)
		}
	}
	if got, want := dialect.Postgres.Bind(strings.Repeat("?", 11)), "$1$2$3$4$5$6$7$8$9$10$11"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
