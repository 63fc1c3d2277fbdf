package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// shelf is a schema of which each statement of a rekey can be read in the files of testdata.
func shelf(kind string) []string {
	d, _ := dialect.Lookup(kind)
	return strings.Split(words[d].Replace(`
CREATE TABLE authors ({id}, created_at {time});
CREATE TABLE books ({id}, author_id {ref}, "order" {ref}, updated_at {updated}, created_at {time},
	CONSTRAINT fk_author FOREIGN KEY (author_id) REFERENCES authors (id) ON UPDATE CASCADE ON DELETE SET NULL);
CREATE TABLE notes ({id}, owner_id {text}, owner_type VARCHAR(20), doc {json}, created_at {time})`), ";\n")
}

func shelfReferences() []inspect.Reference {
	to := func(table, column string, origin inspect.Origin) inspect.Reference {
		return inspect.Reference{Table: table, Column: column, To: "authors", ToColumn: "id", Origin: origin, Confidence: inspect.Certain, Type: "bigint"}
	}
	owner, doc, self := to("notes", "owner_id", inspect.Polymorphic), to("notes", "doc", inspect.Given), to("books", "order", inspect.Given)
	owner.OwnerType, owner.Owner, owner.Text = "owner_type", "author's", true
	doc.Path, self.To = "$.author.id", "books"
	return []inspect.Reference{to("books", "author_id", inspect.Declared), self, owner, doc}
}

var shelfKeys = map[string]string{"authors": "id", "books": "id", "notes": "id"}

func shelfPlan(s *schema, change func(*inspect.Report, *plan.Options)) (*plan.Plan, error) {
	s.t.Helper()
	d, _ := dialect.Lookup(s.kind)
	r := handmade(s.t, s.DB, d, shelfKeys, shelfReferences())
	o := plan.Options{Mode: plan.Rekey, Zone: "UTC", Now: made, Created: map[string]string{"notes": "keep"}}
	if change != nil {
		change(r, &o)
	}
	return plan.Make(s.t.Context(), s.DB, r, o)
}

func TestRekeyText(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"mysql", "postgres", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := open(t, kind, shelf(kind)...)
			p, err := shelfPlan(s, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.Steps = p.Steps[slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Phase == "map" }):]
			if kind == "sqlite" {
				p.Database.Name = "shop"
			}
			s.golden(p, "rekey_"+kind)
		})
	}
}

func TestRekeyRefused(t *testing.T) {
	created := func(value string) func(*inspect.Report, *plan.Options) {
		return func(_ *inspect.Report, o *plan.Options) { o.Created["books"] = value }
	}
	for _, c := range []struct {
		name       string
		statements map[string]string // by kind, before it is planned
		change     func(*inspect.Report, *plan.Options)
		err        error
		want       string
	}{
		{"no time", nil, func(r *inspect.Report, _ *plan.Options) {
			for i := range r.Tables {
				r.Tables[i].Created = nil
			}
		}, plan.ErrBlocked, "authors, books: no column tells when rows were created. --created '*=2025-01-02T00:00:00Z' gives all of them one time"},
		{"no such column", nil, created("made"), plan.ErrOption, "books has no column made"},
		{"through no column", nil, created("through made"), plan.ErrOption, "the time of books cannot come through made, which is no column of it"},
		{"a time too early", nil, created("1999-01-01T00:00:00Z"), plan.ErrBlocked, "books: no id of the layout can have the time 1999-01-01T00:00:00Z"},
		{"a time in the future", nil, created("2027-01-01T00:00:00Z"), plan.ErrBlocked, "books: the time 2027-01-01T00:00:00Z of its rows is in the future"},
		{"through no reference", nil, created("through created_at"), plan.ErrBlocked, "books: its time cannot come through created_at"},
		{"through itself", nil, created("through order"), plan.ErrBlocked, "books: its time cannot come through order, which refers to the same table"},
		{"through a table that is kept", nil, func(_ *inspect.Report, o *plan.Options) {
			o.Created["books"], o.Created["authors"] = "through author_id", "keep"
		}, plan.ErrBlocked, "books: its time comes through author_id from authors, whose ids stay"},
		{"through each other", map[string]string{"sqlite": "ALTER TABLE authors ADD book_id INT"},
			func(r *inspect.Report, o *plan.Options) {
				r.References = append(r.References, inspect.Reference{Table: "authors", Column: "book_id", To: "books", ToColumn: "id", Origin: inspect.Given, Confidence: inspect.Certain})
				o.Created["books"], o.Created["authors"] = "through author_id", "through book_id"
			}, plan.ErrBlocked, "its time comes through others from itself"},
		{"times without a zone", map[string]string{"mysql": "SELECT 1", "postgres": "ALTER TABLE books ALTER created_at TYPE timestamp"},
			func(_ *inspect.Report, o *plan.Options) { o.Zone = "" }, plan.ErrBlocked, "books.created_at: these times do not say which instant they are"},
		{"a key that is not unique", map[string]string{
			"mysql":    "ALTER TABLE books DROP PRIMARY KEY, ADD PRIMARY KEY (id, created_at)",
			"postgres": "ALTER TABLE books DROP CONSTRAINT books_pkey, ADD PRIMARY KEY (id, created_at)",
		}, nil, plan.ErrBlocked, "books: no unique index is on its key id alone"},
		{"a check that new ids do not pass", map[string]string{
			"mysql":    "ALTER TABLE books ADD CONSTRAINT small CHECK (`order` < 1000000)",
			"postgres": `ALTER TABLE books ADD CONSTRAINT small CHECK ("order" < 1000000)`,
		}, nil, plan.ErrBlocked, "would not be passed by new ids in 1 rows"},
		{"a computed column", map[string]string{
			"mysql":    "ALTER TABLE books ADD twice BIGINT AS (`order` * 2) STORED",
			"postgres": `ALTER TABLE books ADD twice BIGINT GENERATED ALWAYS AS ("order" * 2) STORED`,
			"sqlite":   `ALTER TABLE books ADD twice BIGINT GENERATED ALWAYS AS ("order" * 2) VIRTUAL`,
		}, nil, plan.ErrBlocked, "books: the column twice is computed from order"},
		{"an engine without transactions", map[string]string{"mysql": "ALTER TABLE notes ENGINE=MyISAM"}, nil, plan.ErrBlocked, "notes has the engine MyISAM"},
		{"two tables' ids in one column", nil, func(r *inspect.Report, _ *plan.Options) {
			r.References = append(r.References, inspect.Reference{Table: "books", Column: "order", To: "authors", ToColumn: "id", Origin: inspect.Given, Confidence: inspect.Certain})
		}, plan.ErrBlocked, "books.order refers to the keys of several tables"},
		{"several places in a document", nil, func(r *inspect.Report, _ *plan.Options) { r.References[3].Path = "$.authors[*].id" }, plan.ErrOption, `the JSON path "$.authors[*].id"`},
		{"a path with a mark", nil, func(r *inspect.Report, _ *plan.Options) { r.References[3].Path = `$.":upto"` }, plan.ErrOption, ":upto"},
		{"an owner with a mark", nil, func(r *inspect.Report, _ *plan.Options) { r.References[2].Owner = "x:after" }, plan.ErrOption, ":after"},
	} {
		for _, kind := range []string{"mysql", "postgres", "sqlite"} {
			statement, ok := c.statements[kind]
			if c.statements == nil && kind != "sqlite" || c.statements != nil && !ok {
				continue
			}
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				d, _ := dialect.Lookup(kind)
				s := open(t, kind, append(shelf(kind), quote(d, `INSERT INTO books ("order", created_at) VALUES (1, '2025-03-01 10:00:00')`))...)
				if ok {
					s.exec(statement)
				}
				_, err := shelfPlan(s, c.change)
				if err == nil || !errors.Is(err, c.err) {
					t.Fatalf("got error %v, want one that wraps %v", err, c.err)
				}
				for _, part := range strings.Split(c.want, "%s") {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("got error %v, want one with %q", err, part)
					}
				}
			})
		}
	}
}

// What is exact to the second has another map than what is exact to the microsecond, and the names of maps are nobody else's.
func TestRekeyKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60)
	for _, kind := range []string{"mysql", "postgres", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d, _ := dialect.Lookup(kind)
			statements := append(shelf(kind), "CREATE TABLE snowkey_map_books (x INT)", words[d].Replace("CREATE TABLE "+long+" ({id}, created_at {time})"))
			if kind == "sqlite" {
				statements = append(statements, "INSERT INTO authors (created_at) VALUES ('2025-01-01 10:00:00.5'), (NULL)", "INSERT INTO books (created_at) VALUES ('2025-01-01 10:00:00')")
			}
			s := open(t, kind, statements...)
			keys := map[string]string{"authors": "id", "books": "id", "notes": "id", long: "id"}
			p, err := shelfPlan(s, func(r *inspect.Report, o *plan.Options) {
				*r = *handmade(t, s.DB, d, keys, shelfReferences())
				o.Created[long] = "2025-03-01T00:00:00+01:00"
				o.Created["books"] = "through author_id"
				if kind == "sqlite" {
					o.Created["books"] = "created_at"
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]plan.Key{}
			var order []string
			for _, k := range p.Keys {
				found[k.Table] = k
				order = append(order, k.Table)
			}
			if slices.Index(order, "authors") > slices.Index(order, "books") {
				t.Errorf("got the keys %v, want authors before books, whose time comes through them", order)
			}
			unit := map[string]time.Duration{"mysql": time.Second, "postgres": time.Millisecond, "sqlite": time.Millisecond}[kind]
			if got := found["authors"]; got.Created != "created_at" || got.Unit != unit || got.Map != "snowkey_map_authors" {
				t.Errorf("got authors %+v, want the column created_at, exact to %s", got, unit)
			}
			if got := found["books"]; got.Map == "" || got.Map == "snowkey_map_books" || kind == "sqlite" && got.Unit != time.Second || kind != "sqlite" && (got.Through != "author_id" || got.Parent != "authors" || got.Created != "created_at" || got.Unit != found["authors"].Unit) {
				t.Errorf("got books %+v", got)
			}
			if got := found["notes"]; got.Map != "" || got.Created != "" {
				t.Errorf("got notes %+v, want no map: its ids stay", got)
			}
			if got := found[long]; len(got.Map) > 63 || !strings.HasPrefix(got.Map, "snowkey_map_xxx") || got.Instant == nil || !got.Instant.Equal(time.Date(2025, 2, 28, 23, 0, 0, 0, time.UTC)) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
