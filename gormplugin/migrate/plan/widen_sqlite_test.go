package plan_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

var sqliteShop = []string{
	"CREATE TABLE customers (id INTEGER PRIMARY KEY AUTOINCREMENT, -- AUTOINCREMENT, but not [autoincrement]\n boss_id INT REFERENCES customers ON DELETE SET NULL, email VARCHAR(80) NOT NULL UNIQUE COLLATE NOCASE, \"AUTOINCREMENT\" TEXT DEFAULT 'AUTOINCREMENT', up TEXT AS (upper(email)) STORED, CHECK (id <> 13))",
	"CREATE TABLE \"or\"\"der s\" (\"Id\" INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER NOT NULL REFERENCES customers (id) ON DELETE CASCADE)",
	"CREATE TABLE plain (id INTEGER PRIMARY KEY, order_id INT REFERENCES \"or\"\"der s\")",
	"CREATE INDEX part ON customers (boss_id) WHERE boss_id IS NOT NULL",
	"CREATE TABLE log (n INTEGER)",
	"CREATE VIEW bosses AS SELECT id FROM customers WHERE boss_id IS NULL",
	"CREATE TRIGGER logged AFTER INSERT ON customers BEGIN INSERT INTO log VALUES (NEW.id); END",
	"CREATE TRIGGER other AFTER DELETE ON plain BEGIN DELETE FROM \"or\"\"der s\" WHERE \"Id\" = OLD.order_id; END",
	"INSERT INTO customers (id, boss_id, email) VALUES (0, NULL, 'zero'), (1, NULL, 'a'), (2, 1, 'b'), (9, 1, 'gone')",
	"DELETE FROM customers WHERE id = 9",
	"INSERT INTO \"or\"\"der s\" (customer_id) VALUES (1), (2), (0)",
	"INSERT INTO plain VALUES (1, 1), (2, 3)",
}

func sqliteState(s *schema) string {
	// RENAME leaves the name in quotes; indexes and triggers are listed where they were made.
	return strings.ReplaceAll(s.rows("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name <> 'log' ORDER BY 1, 2"), `TABLE "customers"`, "TABLE customers")
}

func sqliteRows(s *schema) string {
	return s.rows("SELECT * FROM customers ORDER BY 1") + s.rows(`SELECT * FROM "or""der s" ORDER BY 1`) + s.rows("SELECT * FROM plain ORDER BY 1") + s.rows("SELECT * FROM log ORDER BY 1")
}

func TestWidenSQLite(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite", sqliteShop...)
	s.SetMaxOpenConns(5)
	before, rows, sequence := sqliteState(s), sqliteRows(s), s.rows("SELECT * FROM sqlite_sequence ORDER BY 1")
	p := s.plan(plan.Options{Accept: []string{`trigger:"or""der s".main.other`}})
	s.golden(p, "widen_sqlite")
	c, err := catalog.New(s.DB, dialect.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	var names []catalog.Name // as whoever has the plan alone reads them
	for _, table := range p.Tables {
		name, err := catalog.Parse(table)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if got, err := c.Fingerprint(t.Context(), names...); err != nil || got != p.Fingerprint {
		t.Errorf("got the fingerprint %s, %v of the plan's tables, want the plan's, %s", got, err, p.Fingerprint)
	}
	e := s.executor(p)
	e.run(len(p.Steps))
	want := strings.ReplaceAll(before, "PRIMARY KEY AUTOINCREMENT", "PRIMARY KEY")
	same(t, "the schema after it", sqliteState(s), want)
	same(t, "the rows after it", sqliteRows(s), rows)
	if got := s.rows("SELECT * FROM sqlite_sequence"); got != "" {
		t.Errorf("rows are left of sqlite_sequence: %s", got)
	}
	s.exec("INSERT INTO customers (id, email) VALUES (" + snowflake + ", 'x')")
	s.exec("DELETE FROM customers WHERE email = 'x'")
	s.exec("DELETE FROM log WHERE n > 9")
	e.undo(len(p.Steps))
	same(t, "the schema after the rollback", sqliteState(s), before)
	same(t, "the rows after the rollback", sqliteRows(s), rows)
	same(t, "the sequences after the rollback", s.rows("SELECT * FROM sqlite_sequence ORDER BY 1"), sequence)
	s.exec("PRAGMA foreign_keys = ON")
	s.refused("PRAGMA foreign_keys = ON; INSERT INTO plain VALUES (7, 77)", "FOREIGN KEY")
}

func TestBlockedSQLite(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite", "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, c INT CHECK (\"T\".c > 0))")
	_, err := plan.Make(t.Context(), s.DB, s.report(), plan.Options{Now: made})
	if !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), "names the table itself") {
		t.Errorf("got %v, want ErrBlocked", err)
	}
}

func TestSQLiteCreate(t *testing.T) {
	for create, want := range map[string]string{
		"CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT)":                          "CREATE TABLE n(id INTEGER PRIMARY KEY)",
		"CREATE TABLE 't' (id INTEGER, PRIMARY KEY(id autoincrement)) STRICT":           "CREATE TABLE n (id INTEGER, PRIMARY KEY(id)) STRICT",
		"CREATE TABLE [a]]b] (id INTEGER PRIMARY KEY AUTOINCREMENT)":                    "CREATE TABLE n]b] (id INTEGER PRIMARY KEY)",
		"CREATE TABLE `a``AUTOINCREMENT`(i INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL)": "CREATE TABLE n(i INTEGER PRIMARY KEY NOT NULL)",
		"CREATE TABLE t (id INTEGER PRIMARY KEY /* AUTOINCREMENT */ AUTOINCREMENT/**/)": "CREATE TABLE n (id INTEGER PRIMARY KEY /* AUTOINCREMENT *//**/)",
		"CREATE TABLE t (id INTEGER PRIMARY KEY) -- AUTOINCREMENT":                      "",
		"CREATE TABLE t (id DEFAULT 'AUTOINCREMENT')":                                   "",
		"CREATE VIRTUAL TABLE t USING fts5(AUTOINCREMENT)":                              "",
		"CREATE TABLE ": "",
	} {
		if _, got, _ := plan.SQLiteCreate(create, "n", "t"); got != want {
			t.Errorf("%s: got %s, want %s", create, got, want)
		}
	}
}
