package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// usersOf returns the users of a table, each as kind, name and columns.
func usersOf(t *catalog.Table) (found []string) {
	for _, u := range t.Users {
		text := u.Kind + " " + u.Name.Name
		if len(u.Columns) > 0 {
			text += " (" + strings.Join(u.Columns, ", ") + ")"
		}
		found = append(found, text)
	}
	return found
}

func sameList(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestUsersOfSQLite(t *testing.T) {
	db, c := open(t, dialect.SQLite,
		`CREATE TABLE "t x" ("id y" integer PRIMARY KEY AUTOINCREMENT, "b" text CHECK (length("b") > 1), g int AS ("id y" + 1) STORED, CONSTRAINT cc CHECK (b <> ')'))`,
		`CREATE TABLE other (id integer PRIMARY KEY)`,
		`CREATE VIEW v AS SELECT "id y" FROM [t x]`,
		`CREATE VIEW w AS SELECT * FROM V`,
		`CREATE VIEW x AS SELECT 't x' AS "t", * FROM other -- "t x"`,
		`CREATE TRIGGER tr AFTER UPDATE OF b ON "T X" BEGIN SELECT 1; END`,
		`CREATE TRIGGER "insert" INSTEAD OF DELETE ON v BEGIN SELECT 1; END`,
		`CREATE TRIGGER tr3 INSERT ON other BEGIN DELETE FROM "t x"; END`,
		`CREATE TRIGGER tr4 INSERT ON other BEGIN SELECT 1; END`,
		`CREATE VIRTUAL TABLE ft USING fts4 (content="t x", b)`,
		`CREATE VIRTUAL TABLE ft2 USING fts4 (content="other", b)`)
	db.SetMaxOpenConns(1)
	run(t, db, `CREATE TEMP VIEW tv AS SELECT 1 FROM main."t x"`)
	got := read(t, c, `"t x"`)
	sameList(t, usersOf(got), "generated column g (id y)", "view v", "view tv", "view w", "full-text table ft (id y)", "trigger insert", "trigger tr3")
	if len(got.Triggers) != 1 || got.Triggers[0].Name != "tr" || got.Triggers[0].Timing != "AFTER UPDATE" || !strings.HasPrefix(got.Triggers[0].Definition, "CREATE TRIGGER tr ") {
		t.Errorf("got %+v", got.Triggers)
	}
	if len(got.Checks) != 2 || got.Checks[0] != (catalog.Check{Text: `length("b") > 1`}) || got.Checks[1] != (catalog.Check{Name: "cc", Text: "b <> ')'"}) {
		t.Errorf("got %+v", got.Checks)
	}
	sameList(t, usersOf(read(t, c, "other")), "view x", "full-text table ft2 (id)")
}

func TestUsersOfMySQL(t *testing.T) {
	db, c := open(t, dialect.MySQL,
		"CREATE TABLE `t x` (`id y` int NOT NULL AUTO_INCREMENT PRIMARY KEY, b int, g int AS (b + 1))",
		"CREATE TABLE other (id int)",
		"CREATE VIEW v AS SELECT `id y` FROM `t x`",
		"CREATE VIEW a AS SELECT * FROM v",
		"CREATE VIEW z AS SELECT 't x' AS c FROM other",
		"CREATE TRIGGER tr BEFORE INSERT ON `t x` FOR EACH ROW SET NEW.b = 1",
		"CREATE TRIGGER tr0 BEFORE INSERT ON `t x` FOR EACH ROW PRECEDES tr SET NEW.b = 2",
		"CREATE TRIGGER tr2 AFTER DELETE ON other FOR EACH ROW DELETE FROM `T x` WHERE b = OLD.id",
		"CREATE PROCEDURE narrow (i int) SELECT * FROM `t x` WHERE `id y` = i",
		"CREATE PROCEDURE wide (i bigint) SELECT * FROM `t x` WHERE `id y` = i",
		"CREATE PROCEDURE apart (i int) SELECT * FROM other WHERE id = i",
		"CREATE TRIGGER tr3 BEFORE DELETE ON other FOR EACH ROW SET @a = 'it\\' `t x` \\''", // in a text
		"CREATE TRIGGER tr4 AFTER UPDATE ON other FOR EACH ROW BEGIN SET @a = 'q\\\\'; DELETE FROM `t x`; END",
		"CREATE EVENT ev ON SCHEDULE EVERY 1 YEAR DO DELETE FROM `t x`")
	var current string
	if err := db.QueryRow("SELECT DATABASE()").Scan(&current); err != nil {
		t.Fatal(err)
	}
	elsewhere := c.Quote(current + "_e")
	run(t, db, "CREATE DATABASE "+elsewhere, "CREATE VIEW "+elsewhere+".ve AS SELECT b FROM "+c.Quote(current)+".`t x`", "CREATE TABLE "+elsewhere+".`t x` (id int)",
		"CREATE VIEW "+elsewhere+".vf AS SELECT * FROM "+elsewhere+".`t x`")
	defer run(t, db, "DROP DATABASE "+elsewhere)
	got := read(t, c, "`t x`")
	sameList(t, usersOf(got), "generated column g (b)", "view v", "view ve", "view a", "event ev", "routine narrow", "trigger tr2", "trigger tr4")
	if len(got.Triggers) != 2 || got.Triggers[0].Name != "tr0" || got.Triggers[1].Timing != "BEFORE INSERT" || !strings.Contains(got.Triggers[1].Definition, "SET NEW.b = 1") {
		t.Errorf("got %+v", got.Triggers)
	}
	// Each definition makes again what it is of.
	for _, u := range got.Users[1:] {
		run(t, db, "DROP "+strings.ToUpper(strings.ReplaceAll(u.Kind, "routine", "procedure"))+" "+c.Quoted(u.Name))
		if u.Name.Schema == current {
			run(t, db, u.Definition)
		}
	}
	if again := read(t, c, "`t x`"); len(again.Users) != len(got.Users)-1 {
		t.Errorf("got %v", usersOf(again))
	}
}

func TestUsersOfPostgres(t *testing.T) {
	db, c := open(t, dialect.Postgres,
		"CREATE SCHEMA e",
		`CREATE TABLE "T x" ("Id" int PRIMARY KEY, b int NOT NULL, g int GENERATED ALWAYS AS (b + 1) STORED)`,
		"CREATE TABLE other (id int)",
		`CREATE VIEW z WITH (security_barrier) AS SELECT "Id" AS n FROM "T x"`,
		"CREATE VIEW e.y (m) AS SELECT n FROM z",
		"CREATE MATERIALIZED VIEW a AS SELECT m FROM e.y",
		"CREATE VIEW apart AS SELECT id FROM other",
		`CREATE RULE ru AS ON DELETE TO "T x" WHERE OLD.b = 1 DO INSTEAD NOTHING`,
		`CREATE RULE ru2 AS ON INSERT TO other DO ALSO DELETE FROM "T x"`,
		`CREATE POLICY po ON "T x" USING (b > 0)`,
		`CREATE POLICY po2 ON other USING (id IN (SELECT b FROM "T x"))`,
		`CREATE STATISTICS st ON "Id", b FROM "T x"`,
		"CREATE PUBLICATION pu FOR ALL TABLES",
		`CREATE UNIQUE INDEX ri ON "T x" (b)`, `ALTER TABLE "T x" REPLICA IDENTITY USING INDEX ri`,
		`CREATE TABLE typed (x "T x", y "T x"[])`,
		`CREATE FUNCTION narrow (i int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT b FROM "T x" WHERE "Id" = i); END'`,
		`CREATE FUNCTION wide (i bigint) RETURNS bigint LANGUAGE sql AS 'SELECT b FROM "T x" WHERE "Id" = i'`,
		"CREATE FUNCTION f () RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
		`CREATE TRIGGER tr AFTER INSERT OR UPDATE OF b ON "T x" FOR EACH ROW WHEN (NEW.b > 0) EXECUTE FUNCTION f ()`)
	got := read(t, c, `T x`)
	sameList(t, usersOf(got), "generated column g (b)", "view z (Id)", "view y", "materialized view a", "policy po (b)", "policy po2 (b)", "publication pu", "replica identity ri",
		"rule ru (b)", "rule ru2", "statistics st (Id, b)", "type column x of table typed", "type column y of table typed", "routine narrow")
	if len(got.Triggers) != 1 || got.Triggers[0].Timing != "AFTER INSERT OR UPDATE" || !strings.HasPrefix(got.Triggers[0].Definition, "CREATE TRIGGER tr ") {
		t.Errorf("got %+v", got.Triggers)
	}
	// Views are dropped from the last to the first, and made again from the first to the last.
	views := got.Users[1:4]
	for _, u := range slices.Backward(views) {
		run(t, db, "DROP "+strings.ToUpper(u.Kind)+" "+c.Quoted(u.Name))
	}
	for _, u := range views {
		run(t, db, u.Definition)
	}
	sameList(t, usersOf(read(t, c, "T x")), usersOf(got)...)
}

func TestPartitions(t *testing.T) {
	db, c := open(t, dialect.Postgres,
		"CREATE TABLE p (id int NOT NULL, day int NOT NULL, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
		"CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (9)",
		"CREATE TABLE c (id int PRIMARY KEY, p_id int, day int, CONSTRAINT fk FOREIGN KEY (p_id, day) REFERENCES p ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED)",
		"CREATE VIEW v AS SELECT id FROM p1")
	root, part := read(t, c, "p"), read(t, c, "p1")
	if root.Related != "partitioned" || part.Full != root.Full || root.Rows != 0 {
		t.Errorf("got %+v, %+v", root, part)
	}
	sameList(t, usersOf(root), "view v (id)", "partition p1")
	run(t, db, "INSERT INTO p SELECT n, 1 + n % 8 FROM generate_series(1, 5000) n", "ANALYZE")
	if got := read(t, c, "p"); got.Rows != 5000 || got.Bytes < 100_000 {
		t.Errorf("got %d rows of %d bytes", got.Rows, got.Bytes)
	}
	refs, err := c.References(t.Context(), root)
	if err != nil || len(refs) != 1 {
		t.Fatalf("got %v, %v", refs, err)
	}
	r := refs[0]
	if r.Parent != root.Full || !slices.Equal(r.Columns, []string{"p_id", "day"}) || !slices.Equal(r.To, []string{"id", "day"}) || r.OnDelete != "SET NULL" || r.OnUpdate != "NO ACTION" || !r.Deferrable || !r.Deferred || !r.Valid {
		t.Errorf("got %+v", r)
	}
	run(t, db, "ALTER TABLE c DROP CONSTRAINT fk", "ALTER TABLE c ADD CONSTRAINT fk "+r.Definition+" NOT VALID")
	if again, err := c.References(t.Context(), root); err != nil || len(again) != 1 || again[0].Valid || again[0].Definition != r.Definition+" NOT VALID" {
		t.Errorf("got %+v, %v", again, err)
	}
	_, c = open(t, dialect.MySQL, "CREATE TABLE p (id int NOT NULL PRIMARY KEY, a text COMMENT 'PARTITION BY') PARTITION BY HASH (id) PARTITIONS 3", "CREATE TABLE q (id int COMMENT 'PARTITION BY')")
	if got := read(t, c, "p"); got.Related != "partitioned" || got.Columns[1].Define == "" {
		t.Errorf("got %+v", got)
	}
	if got := read(t, c, "q"); got.Related != "" {
		t.Errorf("got %+v", got)
	}
}
