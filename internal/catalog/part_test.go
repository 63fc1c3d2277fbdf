package catalog_test

import (
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// What MySQL 8 has of expressions no server here tells.
func TestPartsOfIndexes(t *testing.T) {
	want := map[dialect.Dialect]struct {
		statements []string
		parts      []catalog.Part
	}{
		dialect.MySQL: {
			[]string{"CREATE TABLE t (id int PRIMARY KEY, a varchar(9) COLLATE utf8mb4_bin, b text)", "CREATE UNIQUE INDEX u ON t (a, b(4))"},
			[]catalog.Part{{Column: "a"}, {Column: "b", Length: 4}},
		},
		dialect.Postgres: {
			[]string{"CREATE TABLE t (id int PRIMARY KEY, a varchar(9), b text)", `CREATE UNIQUE INDEX u ON t (a, (a || ','), lower(b) COLLATE "C" text_pattern_ops DESC) INCLUDE (id)`},
			[]catalog.Part{{Column: "a"}, {Expression: "(a::text || ','::text)"}, {Expression: "lower(b)"}},
		},
		dialect.SQLite: {
			[]string{"CREATE TABLE t (id int PRIMARY KEY, a text, b text)", `CREATE UNIQUE INDEX u ON t ("a" DESC, a || ',', b COLLATE NOCASE, coalesce(a, b) DESC, [b]) WHERE id IN (1, 2)`},
			[]catalog.Part{{Column: "a"}, {Expression: "a || ','"}, {Expression: "b COLLATE NOCASE"}, {Expression: "coalesce(a, b)"}, {Column: "b"}},
		},
	}
	eachDialect(t, func(t *testing.T, d dialect.Dialect) {
		_, c := open(t, d, want[d].statements...)
		got := read(t, c, "t")
		if last := got.Indexes[len(got.Indexes)-1]; !slices.Equal(last.Parts, want[d].parts) {
			t.Errorf("got  %+v\nwant %+v", last.Parts, want[d].parts)
		}
		if primary := got.Indexes[0].Parts; !slices.Equal(primary, []catalog.Part{{Column: "id"}}) {
			t.Errorf("got %+v of the primary key", primary)
		}
		if collation := got.Columns[1].Collation; (collation == "utf8mb4_bin") != (d == dialect.MySQL) {
			t.Errorf("got the collation %q", collation)
		}
	})
}
