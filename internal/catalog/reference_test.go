package catalog_test

import (
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

func references(t *testing.T, c *catalog.Catalog, tables ...*catalog.Table) []*catalog.Reference {
	t.Helper()
	found, err := c.References(t.Context(), tables...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestReferences(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect.Dialect) {
		_, c := open(t, d,
			"CREATE TABLE g (a int NOT NULL, b int NOT NULL, PRIMARY KEY (a, b))",
			"CREATE TABLE p (id int NOT NULL PRIMARY KEY, up int, CONSTRAINT p_up FOREIGN KEY (up) REFERENCES p (id))",
			"CREATE TABLE c (id int NOT NULL PRIMARY KEY, p_id int, x int, y int, CONSTRAINT c_a FOREIGN KEY (p_id) REFERENCES p (id) ON DELETE CASCADE ON UPDATE SET NULL, CONSTRAINT c_b FOREIGN KEY (y, x) REFERENCES g (a, b))",
			"CREATE TABLE d (c_id int, CONSTRAINT d_c FOREIGN KEY (c_id) REFERENCES c (id))")
		p, cc, g := read(t, c, "p"), read(t, c, "c"), read(t, c, "g")
		found := references(t, c, p)
		if len(found) != 2 || found[0].Child != cc.Full || found[1].Child != p.Full || found[1].Parent != p.Full {
			t.Fatalf("of p: got %+v", found)
		}
		r := found[0]
		if r.Parent != p.Full || !slices.Equal(r.Columns, []string{"p_id"}) || !slices.Equal(r.To, []string{"id"}) || r.OnDelete != "CASCADE" || r.OnUpdate != "SET NULL" || !r.Valid || r.Deferrable || (r.Name == "c_a") == (d == dialect.SQLite) {
			t.Errorf("got %+v", r)
		}
		if found := references(t, c, g); len(found) != 1 || !slices.Equal(found[0].Columns, []string{"y", "x"}) || !slices.Equal(found[0].To, []string{"a", "b"}) {
			t.Errorf("of g: got %+v", found)
		}
		if found := references(t, c, cc, p, cc); len(found) != 4 {
			t.Errorf("of c and p: got %d, want each of the 4 once", len(found))
		}
	})
}

func TestReferencesOverDatabases(t *testing.T) {
	db, c := open(t, dialect.MySQL, "CREATE TABLE p (id int NOT NULL PRIMARY KEY)")
	p := read(t, c, "p")
	here := p.Full.Schema
	there := here + "_e`x"
	q := c.Quote(there)
	run(t, db, "CREATE DATABASE "+q)
	defer run(t, db, "DROP DATABASE "+q)
	run(t, db, "CREATE TABLE "+q+".c (p_id int, a int NOT NULL PRIMARY KEY, up int, CONSTRAINT `k``1` FOREIGN KEY (p_id) REFERENCES "+c.Quoted(p.Full)+" (id), CONSTRAINT k2 FOREIGN KEY (up) REFERENCES c (a) ON DELETE CASCADE)")
	found := references(t, c, p)
	if len(found) != 1 || found[0].Child != (catalog.Name{Schema: there, Name: "c"}) || found[0].Name != "k`1" {
		t.Fatalf("got %+v", found)
	}
	child := read(t, c, catalog.Name{Schema: there, Name: "c"}.String())
	if child.Schema != there {
		t.Errorf("got %+v", child.Name)
	}
	all := references(t, c, child, p)
	if len(all) != 2 {
		t.Fatalf("got %+v", all)
	}
	// Each definition makes its foreign key again.
	for _, r := range all {
		alter := "ALTER TABLE " + c.Quoted(r.Child)
		run(t, db, alter+" DROP FOREIGN KEY "+c.Quote(r.Name), alter+" ADD CONSTRAINT "+c.Quote(r.Name)+" "+r.Definition)
	}
	for i, r := range references(t, c, child, p) {
		if r.Definition != all[i].Definition || r.Parent != all[i].Parent {
			t.Errorf("got %+v, want %+v", r, all[i])
		}
	}
}

func TestDeferredOfSQLite(t *testing.T) {
	_, c := open(t, dialect.SQLite, "CREATE TABLE p (id integer PRIMARY KEY)",
		`CREATE TABLE c (a int REFERENCES P, b int REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED CHECK (b <> 'REFERENCES'), d int REFERENCES p NOT DEFERRABLE INITIALLY DEFERRED, e int, FOREIGN KEY (e) REFERENCES p DEFERRABLE)`)
	got := map[string][2]bool{}
	for _, r := range references(t, c, read(t, c, "c")) {
		got[r.Columns[0]] = [2]bool{r.Deferrable, r.Deferred}
		if r.Parent.Name != "p" || !slices.Equal(r.To, []string{"id"}) {
			t.Errorf("got %+v", r)
		}
	}
	for column, want := range map[string][2]bool{"a": {}, "b": {true, true}, "d": {}, "e": {true, false}} {
		if got[column] != want {
			t.Errorf("%s: got %v, want %v", column, got[column], want)
		}
	}
}
