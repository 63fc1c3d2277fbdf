package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// checkColumns compares the columns that are wanted, by name, without their Define.
func checkColumns(t *testing.T, got *catalog.Table, want ...catalog.Column) {
	t.Helper()
	for _, w := range want {
		col := got.Column(w.Name, false)
		if col == nil {
			t.Errorf("no column %s", w.Name)
			continue
		}
		g := *col
		g.Define, g.Extra, g.Collation = "", "", ""
		if !reflect.DeepEqual(g, w) {
			t.Errorf("got  %+v\nwant %+v", g, w)
		}
	}
}

func checkIndexes(t *testing.T, got *catalog.Table, want ...catalog.Index) {
	t.Helper()
	var list []catalog.Index
	for _, i := range got.Indexes {
		list = append(list, *i)
		list[len(list)-1].Parts = nil
	}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("got  %+v\nwant %+v", list, want)
	}
}

func TestTableOfMySQL(t *testing.T) {
	db, c := open(t, dialect.MySQL, "CREATE SEQUENCE sq START 7",
		`CREATE TABLE t (id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'c', s smallint, m mediumint, b bigint DEFAULT nextval(sq), d decimal(20,2), f double, v varchar(9) DEFAULT 'x',
			ts timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(), dt datetime, day date, j json, g int AS (s + 1) STORED,
			UNIQUE u (s, m), KEY part (v(3), b), FULLTEXT ft (v), CONSTRAINT ck CHECK (s > 0)) ENGINE=InnoDB`,
		"INSERT INTO t (v) VALUES ('a'), ('b')",
		"CREATE TABLE w (id bigint NOT NULL DEFAULT nextval(sq) PRIMARY KEY)",
		"CREATE TABLE my (id int) ENGINE=MyISAM", "CREATE TABLE hist (id int PRIMARY KEY) WITH SYSTEM VERSIONING", "CREATE VIEW v AS SELECT id FROM t")
	var current string
	if err := db.QueryRow("SELECT DATABASE()").Scan(&current); err != nil {
		t.Fatal(err)
	}
	got := read(t, c, "t")
	auto := "nextval(`" + current + "`.`sq`)"
	checkColumns(t, got,
		catalog.Column{Name: "id", Type: "int(10) unsigned", Class: catalog.Integer, Bits: 32, Unsigned: true, Auto: "AUTO_INCREMENT", Comment: "c"},
		catalog.Column{Name: "s", Type: "smallint(6)", Class: catalog.Integer, Bits: 16, Nullable: true, Default: "NULL"},
		catalog.Column{Name: "m", Type: "mediumint(9)", Class: catalog.Integer, Bits: 24, Nullable: true, Default: "NULL"},
		catalog.Column{Name: "b", Type: "bigint(20)", Class: catalog.Integer, Bits: 64, Nullable: true, Default: auto, Auto: "DEFAULT " + auto, Sequence: catalog.Name{Schema: current, Name: "sq"}, SequenceBits: 64},
		catalog.Column{Name: "d", Type: "decimal(20,2)", Class: catalog.Decimal, Digits: 18, Nullable: true, Default: "NULL"},
		catalog.Column{Name: "f", Type: "double", Class: catalog.Floating, Nullable: true, Default: "NULL"},
		catalog.Column{Name: "v", Type: "varchar(9)", Class: catalog.Text, Digits: 9, Nullable: true, Default: "'x'"},
		catalog.Column{Name: "ts", Type: "timestamp", Class: catalog.Time, Zoned: true, Default: "current_timestamp()", OnUpdate: "current_timestamp()"},
		catalog.Column{Name: "dt", Type: "datetime", Class: catalog.Time, Nullable: true, Default: "NULL"},
		catalog.Column{Name: "day", Type: "date", Nullable: true, Default: "NULL"},
		catalog.Column{Name: "j", Type: "longtext", Class: catalog.JSON, Digits: math.MaxUint32, Nullable: true, Default: "NULL"},
		catalog.Column{Name: "g", Type: "int(11)", Class: catalog.Integer, Bits: 32, Nullable: true, Default: "NULL", Generated: "`s` + 1"})
	checkIndexes(t, got,
		catalog.Index{Name: "PRIMARY", Primary: true, Unique: true, Columns: []string{"id"}, Valid: true},
		catalog.Index{Name: "ft", Columns: []string{"v"}, Valid: true},
		catalog.Index{Name: "part", Columns: []string{"", "b"}, Valid: true},
		catalog.Index{Name: "u", Unique: true, Columns: []string{"s", "m"}, Valid: true})
	if got.Engine != "InnoDB" || got.Next != 3 || got.Rows < 0 || got.Bytes <= 0 || got.Versioned || got.View != "" || !strings.HasPrefix(got.Create, "CREATE TABLE `t` (") || got.Full.Schema != current {
		t.Errorf("got %+v", got)
	}
	if want := []catalog.Check{{Name: "j", Text: "json_valid(`j`)"}, {Name: "ck", Text: "`s` > 0"}}; !slices.Equal(got.Checks, want) {
		t.Errorf("got %v", got.Checks)
	}
	if got := read(t, c, "w").Next; got != 1007 { // the first thousand are those that were taken for t
		t.Errorf("the sequence gives %d next", got)
	}
	if read(t, c, "my").Engine != "MyISAM" || !read(t, c, "hist").Versioned || read(t, c, "v").View != "view" || read(t, c, "sq").View != "sequence" {
		t.Error("the kinds are wrong")
	}
	if got, err := c.Tables(t.Context()); err != nil || fmt.Sprint(got) != "[hist my t w]" {
		t.Errorf("got %v, %v", got, err)
	}
	if outline, err := c.Outline(t.Context(), catalog.Name{Name: "t"}); err != nil || outline.Create != "" || len(outline.Columns) != len(got.Columns) || c.Create(t.Context(), outline) != nil || outline.Create != got.Create {
		t.Errorf("got %+v, %v", outline, err)
	}
}

func TestTableOfPostgres(t *testing.T) {
	_, c := open(t, dialect.Postgres, "CREATE DOMAIN dom AS int DEFAULT 7", "CREATE SCHEMA e", "CREATE SEQUENCE e.loose AS smallint INCREMENT 10 START 50",
		`CREATE TABLE t (id serial PRIMARY KEY, i bigint GENERATED ALWAYS AS IDENTITY, d smallint GENERATED BY DEFAULT AS IDENTITY, l int DEFAULT nextval('e.loose'), dm dom, n numeric(20,2), r real, v varchar(9),
			ts timestamptz NOT NULL DEFAULT now(), tz timestamp, j jsonb, g int GENERATED ALWAYS AS (l + 1) STORED, CONSTRAINT ck CHECK (l > 0) NO INHERIT)`,
		"COMMENT ON COLUMN t.v IS 'c'", "CREATE INDEX part ON t (l) INCLUDE (v) WHERE l > 1", "CREATE UNIQUE INDEX expr ON t (lower(v), l)", "INSERT INTO t (l) VALUES (3), (4)",
		"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'expr'::regclass",
		"CREATE TABLE e.t (id int DEFAULT nextval('e.loose') PRIMARY KEY)", "CREATE VIEW v AS SELECT 1 AS one", "CREATE TABLE parent (id int)", "CREATE TABLE heir () INHERITS (parent)", "CREATE TABLE odd (id text DEFAULT 'nextval(''x'')')")
	got := read(t, c, "t")
	public := func(name string) catalog.Name { return catalog.Name{Schema: "public", Name: name} }
	checkColumns(t, got,
		catalog.Column{Name: "id", Type: "integer", Class: catalog.Integer, Bits: 32, Default: "nextval('t_id_seq'::regclass)", Auto: "DEFAULT nextval('t_id_seq'::regclass)", Sequence: public("t_id_seq"), SequenceBits: 32, Owned: true},
		catalog.Column{Name: "i", Type: "bigint", Class: catalog.Integer, Bits: 64, Auto: "GENERATED ALWAYS AS IDENTITY", Always: true, Sequence: public("t_i_seq"), SequenceBits: 64, Owned: true},
		catalog.Column{Name: "d", Type: "smallint", Class: catalog.Integer, Bits: 16, Auto: "GENERATED BY DEFAULT AS IDENTITY", Sequence: public("t_d_seq"), SequenceBits: 16, Owned: true},
		catalog.Column{Name: "l", Type: "integer", Class: catalog.Integer, Bits: 32, Nullable: true, Default: "nextval('e.loose'::regclass)", Auto: "DEFAULT nextval('e.loose'::regclass)", Sequence: catalog.Name{Schema: "e", Name: "loose"}, SequenceBits: 16},
		catalog.Column{Name: "dm", Type: "dom", Class: catalog.Integer, Bits: 32, Nullable: true, Default: "7", Domain: true},
		catalog.Column{Name: "n", Type: "numeric(20,2)", Class: catalog.Decimal, Digits: 18, Nullable: true},
		catalog.Column{Name: "r", Type: "real", Class: catalog.Floating, Nullable: true},
		catalog.Column{Name: "v", Type: "character varying(9)", Class: catalog.Text, Digits: 9, Nullable: true, Comment: "c"},
		catalog.Column{Name: "ts", Type: "timestamp with time zone", Class: catalog.Time, Zoned: true, Default: "now()"},
		catalog.Column{Name: "tz", Type: "timestamp without time zone", Class: catalog.Time, Nullable: true},
		catalog.Column{Name: "j", Type: "jsonb", Class: catalog.JSON, Nullable: true},
		catalog.Column{Name: "g", Type: "integer", Class: catalog.Integer, Bits: 32, Nullable: true, Generated: "(l + 1)"})
	checkIndexes(t, got,
		catalog.Index{Name: "t_pkey", Primary: true, Unique: true, Columns: []string{"id"}, Definition: "CREATE UNIQUE INDEX t_pkey ON public.t USING btree (id)", Valid: true},
		catalog.Index{Name: "expr", Unique: true, Columns: []string{"", "l"}, Definition: "CREATE UNIQUE INDEX expr ON public.t USING btree (lower((v)::text), l)"},
		catalog.Index{Name: "part", Columns: []string{"l"}, Where: "(l > 1)", Definition: "CREATE INDEX part ON public.t USING btree (l) INCLUDE (v) WHERE (l > 1)", Valid: true})
	if got.OID == 0 || got.Next != 3 || got.Rows != -1 || got.Bytes <= 0 || got.Create != "" || !slices.Equal(got.Checks, []catalog.Check{{Name: "ck", Text: "(l > 0)"}}) {
		t.Errorf("got %+v", got)
	}
	if other := read(t, c, "e.t"); other.Schema != "e" || other.Next != 50 || other.Full != other.Name {
		t.Errorf("got %+v", other)
	}
	if read(t, c, "v").View != "view" || read(t, c, "parent").Related != "inherited" || read(t, c, "heir").Related != "inherited" || read(t, c, "e.loose").View != "sequence" || read(t, c, "odd").Columns[0].Auto != "" {
		t.Error("the kinds are wrong")
	}
	if got := read(t, c, "v"); len(got.Columns) != 1 || got.Columns[0].Name != "one" {
		t.Errorf("got %+v", got)
	}
	if got, err := c.Tables(t.Context()); err != nil || fmt.Sprint(got) != "[heir odd parent t]" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTableOfSQLite(t *testing.T) {
	db, c := open(t, dialect.SQLite,
		"CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, n varchar(9) NOT NULL DEFAULT 'x', created datetime, d decimal, j json, r REAL, b BLOB, g INT GENERATED ALWAYS AS (id + 1) VIRTUAL, UNIQUE (n, d))",
		"CREATE INDEX part ON t (n, lower(n)) WHERE n > 'where'", "INSERT INTO t (n) VALUES ('a'), ('b')", "DELETE FROM t WHERE n = 'b'",
		"CREATE TABLE plain (id int PRIMARY KEY, a text)", "CREATE TABLE alias (id integer PRIMARY KEY, a text DEFAULT 'AUTOINCREMENT')",
		"CREATE TABLE rowless (a int, b text, PRIMARY KEY (b, a)) STRICT, WITHOUT ROWID", "CREATE TABLE rowless1 (a integer PRIMARY KEY) WITHOUT ROWID",
		"CREATE VIEW v AS SELECT id FROM t", "CREATE VIRTUAL TABLE ft USING fts4 (x)",
		"CREATE TABLE big AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100001) SELECT i FROM n", "CREATE INDEX big_i ON big (i)")
	got := read(t, c, "T")
	checkColumns(t, got,
		catalog.Column{Name: "id", Type: "INTEGER", Class: catalog.Integer, Bits: 64, Auto: "AUTOINCREMENT"},
		catalog.Column{Name: "n", Type: "varchar(9)", Class: catalog.Text, Default: "'x'"},
		catalog.Column{Name: "created", Type: "datetime", Class: catalog.Time, Nullable: true},
		catalog.Column{Name: "d", Type: "decimal", Class: catalog.Decimal, Nullable: true},
		catalog.Column{Name: "j", Type: "json", Class: catalog.JSON, Nullable: true},
		catalog.Column{Name: "r", Type: "REAL", Class: catalog.Floating, Nullable: true},
		catalog.Column{Name: "b", Type: "BLOB", Nullable: true},
		catalog.Column{Name: "g", Type: "INT", Class: catalog.Integer, Bits: 64, Nullable: true, Generated: "id + 1"})
	checkIndexes(t, got,
		catalog.Index{Primary: true, Unique: true, Columns: []string{"id"}, Valid: true},
		catalog.Index{Name: "part", Columns: []string{"n", ""}, Where: "n > 'where'", Definition: "CREATE INDEX part ON t (n, lower(n)) WHERE n > 'where'", Valid: true},
		catalog.Index{Name: "sqlite_autoindex_t_1", Unique: true, Columns: []string{"n", "d"}, Valid: true})
	if got.Name.Name != "t" || got.Next != 3 || got.Rows != 1 || got.Bytes != -1 || got.Rowless || got.Full.Schema != "main" {
		t.Errorf("got %+v", got)
	}
	if id := read(t, c, "plain").Columns[0]; !id.Nullable || id.Auto != "" {
		t.Errorf("got %+v", id)
	}
	if id := read(t, c, "alias").Columns[0]; id.Nullable || id.Auto != "" {
		t.Errorf("got %+v", id)
	}
	if got := read(t, c, "rowless"); !got.Rowless || !slices.Equal(got.Key(), []string{"b", "a"}) {
		t.Errorf("got %+v", got)
	}
	if got := read(t, c, "rowless1"); !got.Rowless || got.Columns[0].Nullable || got.Columns[0].Auto != "" {
		t.Errorf("got %+v", got)
	}
	if got := read(t, c, "big"); got.Rows != -1 {
		t.Errorf("got %d rows, want none without ANALYZE", got.Rows)
	}
	run(t, db, "ANALYZE", "INSERT INTO t (id) VALUES (9223372036854775807)")
	if got := read(t, c, "big"); got.Rows != 100001 {
		t.Errorf("got %d rows", got.Rows)
	}
	if got := read(t, c, "t"); got.Next != math.MaxInt64 {
		t.Errorf("the next is %d", got.Next)
	}
	if read(t, c, "v").View != "view" || read(t, c, "ft").View != "virtual table" {
		t.Error("the kinds are wrong")
	}
	if got, err := c.Tables(t.Context()); err != nil || fmt.Sprint(got) != "[alias big plain rowless rowless1 t]" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestOtherSchemasOfSQLite(t *testing.T) {
	db, c := open(t, dialect.SQLite, "CREATE TABLE t (id integer PRIMARY KEY)", "CREATE TABLE u (id integer PRIMARY KEY)")
	db.SetMaxOpenConns(1)
	run(t, db, "CREATE TEMP TABLE t (a text)", "ATTACH ':memory:' AS [e x]", "CREATE TABLE [e x].u (b text)", "CREATE TABLE [e x].w (c int REFERENCES u)")
	for text, want := range map[string]string{"t": "t temp.t a", "main.t": "main.t main.t id", "MAIN.U": "u main.u id", "temp.t": "temp.t temp.t a", "e x.U": "e x.u e x.u b", "w": "w e x.w c"} {
		got := read(t, c, text)
		if s := got.String() + " " + got.Full.String() + " " + got.Columns[0].Name; s != want {
			t.Errorf("%s: got %s, want %s", text, s, want)
		}
	}
	if got, err := c.Table(t.Context(), catalog.Name{Schema: "none", Name: "t"}); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	refs, err := c.References(t.Context(), read(t, c, "e x.u"))
	if err != nil || len(refs) != 1 || refs[0].Child != (catalog.Name{Schema: "e x", Name: "w"}) {
		t.Errorf("got %v, %v", refs, err)
	}
}

func TestNoTable(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect.Dialect) {
		_, c := open(t, d)
		for _, name := range []catalog.Name{{Name: "none"}, {Schema: "none", Name: "none"}} {
			if got, err := c.Table(t.Context(), name); got != nil || err != nil {
				t.Errorf("%v: got %v, %v", name, got, err)
			}
		}
		if got, err := c.References(t.Context()); len(got) != 0 || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Table(ctx, catalog.Name{Name: "none"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that of the context", err)
		}
	})
}

func TestWithoutRights(t *testing.T) {
	d := dbtest.MySQL(t)
	db := d.Open(t)
	run(t, db, "CREATE TABLE hidden (id int PRIMARY KEY)", "CREATE TABLE part (id int PRIMARY KEY, a int)", "CREATE TABLE seen (id int PRIMARY KEY, h int, FOREIGN KEY (h) REFERENCES hidden (id))",
		"CREATE VIEW v AS SELECT id FROM hidden")
	user := "u" + fmt.Sprint(len(t.Name())) + "_catalog"
	run(t, db, "CREATE USER "+user+" IDENTIFIED BY 'x'")
	defer run(t, db, "DROP USER "+user)
	var current string
	if err := db.QueryRow("SELECT DATABASE()").Scan(&current); err != nil {
		t.Fatal(err)
	}
	run(t, db, "GRANT SELECT ON seen TO "+user, "GRANT SELECT (id) ON part TO "+user, "GRANT SELECT ON v TO "+user)
	conn := openAs(t, d, user, "x")
	c, err := catalog.New(conn, dialect.MySQL)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Table(t.Context(), catalog.Name{Name: "hidden"}); got != nil || err != nil {
		t.Errorf("got %v, %v, want none", got, err)
	}
	if got, err := c.Table(t.Context(), catalog.Name{Name: "part"}); err == nil || got != nil {
		t.Errorf("got %v, want an error", got)
	}
	got := read(t, c, "seen")
	sameList(t, usersOf(got), "view v") // its definition is hidden, so it may be
	if got.Users[0].Definition != "" {
		t.Errorf("got %+v", got.Users)
	}
}

// TestCaseOfMySQL reads tables whose names differ in case alone, which information_schema takes for the same.
func TestCaseOfMySQL(t *testing.T) {
	_, c := open(t, dialect.MySQL, "CREATE TABLE t (a int PRIMARY KEY)", "CREATE TABLE T (b bigint, c int, UNIQUE k (c))", "CREATE TRIGGER tr BEFORE INSERT ON T FOR EACH ROW SET NEW.c = 1",
		"ALTER TABLE t COMMENT 'c'", "CREATE TABLE `É` (id int)")
	small, big := read(t, c, "t"), read(t, c, "T")
	if len(small.Columns) != 1 || small.Columns[0].Name != "a" || len(small.Indexes) != 1 || len(small.Triggers) != 0 {
		t.Errorf("got %+v", small)
	}
	if len(big.Columns) != 2 || big.Columns[0].Name != "b" || len(big.Indexes) != 1 || len(big.Triggers) != 1 || big.Key() != nil {
		t.Errorf("got %+v", big)
	}
	for _, name := range []string{"é", "e"} {
		if got, err := c.Table(t.Context(), catalog.Name{Name: name}); got != nil || err != nil {
			t.Errorf("%s: got %v, %v, want none", name, got, err)
		}
	}
}
