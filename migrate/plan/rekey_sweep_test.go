package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// mover returns the mover of a plan up to its last hold.
func (s *schema) mover(p *plan.Plan) *mover {
	d, _ := dialect.Lookup(s.kind)
	p.Steps = p.Steps[:slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Do.Kind == plan.Hold && s.Phase == "contract" })+1]
	return &mover{t: s.t, db: s.DB, d: d, p: p, found: counts{}}
}

// A program that has read an id before the rows moved writes it afterwards, forwards and in a rollback, where no foreign key is in the way.
func TestRekeySweepsWhatCameLate(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"mysql", "postgres", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := open(t, kind, shelf(kind)...)
			d, _ := dialect.Lookup(kind)
			for i := range 20 {
				s.exec("INSERT INTO authors (created_at) VALUES ('2025-03-01 10:00:00')")
				s.exec(quote(d, fmt.Sprintf(`INSERT INTO books ("order", author_id, updated_at, created_at) VALUES (%d, %[1]d, '2025-03-01 10:00:00', '2025-03-01 10:00:00')`, i+1)))
			}
			p, err := shelfPlan(s, nil)
			if err != nil {
				t.Fatal(err)
			}
			id := 1_000_000
			write := func(author, book int64) {
				id++
				s.exec(fmt.Sprintf("INSERT INTO notes (id, owner_id, owner_type, doc) VALUES (%d, '%d', 'author''s', '%s')", id, author, fmt.Sprintf(`{"author": {"id": %d}}`, author)))
				s.exec(quote(d, fmt.Sprintf(`INSERT INTO books (id, "order") VALUES (%d, %d)`, int64(id)+7e18, book)))
			}
			key := func(table string) int {
				return slices.IndexFunc(p.Keys, func(k plan.Key) bool { return k.Table == table })
			}
			e := s.mover(p)
			moving := func(s plan.Step) bool { return strings.HasPrefix(s.String(), "give the rows of") }
			e.after = func(s plan.Step) {
				if moving(s) {
					write(7, 8)
				}
			}
			look := func(when string, author, book int64) {
				t.Helper()
				for query, want := range map[string]string{
					"SELECT DISTINCT owner_id FROM notes WHERE id > 1000000":                                                                         fmt.Sprint(author),
					quote(d, `SELECT DISTINCT "order" FROM books WHERE id > 7000000000001000000 AND updated_at IS NULL OR id > 7999999999999999999`): fmt.Sprint(book),
				} {
					if strings.Contains(query, "updated_at") && kind == "mysql" {
						query = "SELECT DISTINCT `order` FROM books WHERE author_id IS NULL"
					}
					if got := s.text(query); got != want {
						t.Errorf("%s: %s: got %s, want %s", when, query, got, want)
					}
				}
			}
			e.run()
			look("after the rekey", planted(key("authors"), 7), planted(key("books"), 8))
			e.back = func(s plan.Step) {
				if moving(s) {
					write(planted(key("authors"), 7), planted(key("books"), 8))
				}
			}
			e.undo()
			look("after the rollback", 7, 8)
		})
	}
}

// Foreign keys of all sorts are afterwards what they were, in a schema and with names that have to be quoted.
func TestRekeyForeignKeysPostgres(t *testing.T) {
	t.Parallel()
	t.Run("silent", func(t *testing.T) { rekeyForeignKeys(t, salesOf(t)) })
	t.Run("of an owner", func(t *testing.T) { rekeyForeignKeys(t, salesOf(t).owner()) })
}

func salesOf(t *testing.T) *schema {
	t.Parallel()
	return open(t, "postgres",
		`CREATE SCHEMA "Sales x"`,
		`CREATE TABLE "Sales x"."The ""Order""" ("Id" serial PRIMARY KEY, tenant int NOT NULL, mark text, created_at timestamptz DEFAULT '2025-03-01', UNIQUE (tenant, "Id"))`,
		`CREATE TABLE "Sales x".lines (id serial PRIMARY KEY, tenant int, o int, mark text, created_at timestamptz DEFAULT '2025-03-01',
			CONSTRAINT "full (ON UPDATE CASCADE)" FOREIGN KEY (tenant, o) REFERENCES "Sales x"."The ""Order""" (tenant, "Id") MATCH FULL ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
			CONSTRAINT "part" FOREIGN KEY (tenant, o) REFERENCES "Sales x"."The ""Order""" (tenant, "Id") ON UPDATE RESTRICT ON DELETE SET NULL (o))`,
		`CREATE TABLE old (o int, mark text)`,
		`INSERT INTO "Sales x"."The ""Order""" (tenant, mark) SELECT g % 3, 'o' || g FROM generate_series(1, 30) g`,
		`INSERT INTO "Sales x".lines (tenant, o, mark) SELECT g % 3, g, 'l' || g FROM generate_series(1, 30) g`,
		`INSERT INTO old SELECT g, 'x' || g FROM generate_series(20, 50) g`,
		`ALTER TABLE old ADD CONSTRAINT fk_old FOREIGN KEY (o) REFERENCES "Sales x"."The ""Order""" ("Id") ON UPDATE SET NULL NOT VALID`,
		`COMMENT ON CONSTRAINT fk_old ON old IS 'it''s old\'`)
}

func rekeyForeignKeys(t *testing.T, s *schema) {
	order, lines := catalog.Name{Schema: "Sales x", Name: `The "Order"`}.String(), catalog.Name{Schema: "Sales x", Name: "lines"}.String()
	r := handmade(t, s.DB, dialect.Postgres, nil, nil)
	for table, key := range map[string]string{order: "Id", lines: "id"} {
		r.Tables = append(r.Tables, inspect.Table{Name: table, Key: &inspect.Key{Column: key, Bits: 32}, Created: &inspect.Created{Column: "created_at"}})
	}
	r.References = []inspect.Reference{
		{Table: lines, Column: "o", To: order, ToColumn: "Id", Origin: inspect.Declared, Confidence: inspect.Certain, Columns: []string{"tenant", "o"}, ToColumns: []string{"tenant", "Id"}},
		{Table: "old", Column: "o", To: order, ToColumn: "Id", Origin: inspect.Declared, Confidence: inspect.Certain},
	}
	p, err := plan.Make(t.Context(), s.DB, r, plan.Options{Mode: plan.Rekey, Now: made})
	if err != nil {
		t.Fatal(err)
	}
	const (
		constraints = `SELECT conrelid::regclass, conname, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint'), condeferrable, condeferred, convalidated
			FROM pg_constraint WHERE contype = 'f' ORDER BY 1, 2`
		related = `SELECT o.mark, l.mark, x.mark FROM "Sales x"."The ""Order""" o LEFT JOIN "Sales x".lines l ON l.o = o."Id" AND l.tenant = o.tenant LEFT JOIN old x ON x.o = o."Id" ORDER BY 1`
		moved   = `SELECT count(*) FROM "Sales x"."The ""Order""" WHERE "Id" > 7000000000000000000`
	)
	keys, relations := s.rows(constraints), s.rows(related)
	e := s.mover(p)
	e.run()
	same(t, "foreign keys after the rekey", s.rows(constraints), keys)
	same(t, "relations after the rekey", s.rows(related), relations)
	if got := s.text(moved) + s.text("SELECT count(*) FROM old WHERE o > 7000000000000000000"); got != "3011" {
		t.Errorf("got %s rows with new ids, want 30 and 11", got)
	}
	e.undo()
	same(t, "foreign keys after the rollback", s.rows(constraints), keys)
	same(t, "relations after the rollback", s.rows(related), relations)
	if got := s.text(moved); got != "0" {
		t.Errorf("got %s rows with new ids after the rollback, want none", got)
	}
}

// A full-text table that goes by the numbers of rows finds them by their new ones, and after a rollback by the old.
func TestRekeyRebuildsFullText(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite",
		"CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT, created_at DATETIME DEFAULT '2025-03-01 10:00:00')",
		"INSERT INTO docs (id, body) VALUES (1, 'one'), (2, 'two')",
		`CREATE VIRTUAL TABLE "the fts" USING fts4(content="docs", body)`, `INSERT INTO "the fts" ("the fts") VALUES ('rebuild')`)
	r := handmade(t, s.DB, dialect.SQLite, map[string]string{"docs": "id"}, nil)
	p, err := plan.Make(t.Context(), s.DB, r, plan.Options{Mode: plan.Rekey, Zone: "UTC", Now: made})
	if err != nil {
		t.Fatal(err)
	}
	const found = `SELECT docid FROM "the fts" WHERE "the fts" MATCH 'two'`
	e := s.mover(p)
	e.run()
	if got, want := s.text(found), fmt.Sprint(planted(0, 2)); got != want {
		t.Errorf("after the rekey: got the row %s, want %s", got, want)
	}
	e.undo()
	if got := s.text(found); got != "2" {
		t.Errorf("after the rollback: got the row %s, want 2", got)
	}
}
