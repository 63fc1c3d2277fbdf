package migrate_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
)

// hostile is a schema that somebody may have, with rows, and what has to stay the same whatever its ids become.
type hostile struct {
	schema     []string
	shape      []string // queries whose rows do not depend on ids
	created    map[string]string
	references []string
	accept     []string
	below      int64
	after      string // what whoever accepts something has to do at the end
	off        bool   // foreign_keys is off, and rows break them
	refused    string // of the error that says that no plan can be made, or that it cannot be run: part of it
}

const rows20 = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) "

// reopen opens the database of SQLite with another setting.
func (d *database) reopen(setting string) *database {
	d.t.Helper()
	parsed, err := dsn.Parse(strings.Replace(d.name, "_foreign_keys=on", setting, 1))
	if err != nil {
		d.t.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = pool.Close() })
	db, err := gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		d.t.Fatal(err)
	}
	return &database{d.t, d.kind, d.name, pool, db}
}

// text returns the rows of a query.
func (d *database) text(query string) string {
	d.t.Helper()
	rows, err := d.pool.QueryContext(d.t.Context(), query)
	if err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		d.t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			d.t.Fatal(err)
		}
		var line []string
		for _, v := range values {
			line = append(line, fmt.Sprintf("%T %[1]v", *v.(*any)))
		}
		out = append(out, strings.Join(line, "|"))
	}
	if err := rows.Err(); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// objects returns the schema without what is snowkey's.
func (d *database) objects() string {
	d.t.Helper()
	return d.text("SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master WHERE name NOT LIKE 'snowkey%' AND tbl_name NOT LIKE 'snowkey%' AND name <> 'sqlite_sequence'")
}

// dump returns all rows of all tables that are not snowkey's.
func (d *database) dump() string {
	d.t.Helper()
	var out []string
	for _, name := range strings.Split(d.text("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'snowkey%' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE '%fts\\_%' ESCAPE '\\' ORDER BY 1"), "\n") {
		name = strings.TrimPrefix(name, "string ")
		out = append(out, name, d.text(`SELECT * FROM "`+strings.ReplaceAll(name, `"`, `""`)+`"`))
	}
	return strings.Join(out, "\n")
}

// sound returns what SQLite says of its own file, and how many rows break foreign keys.
func (d *database) sound() string {
	d.t.Helper()
	return d.text("PRAGMA integrity_check") + " " + d.text("SELECT COUNT(*) FROM pragma_foreign_key_check")
}

func (d *database) shapes(h hostile) string {
	var out []string
	for _, q := range h.shape {
		out = append(out, d.text(q))
	}
	return strings.Join(out, "\n--\n")
}

func differs(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "", ""
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("%s: line %d of %d and %d:\ngot  %q\nwant %q", what, i+1, len(g), len(w), a, b)
			return
		}
	}
}

// TestHostileSQLite takes each schema through rekey, back from where all is rewritten, and to the end.
func TestHostileSQLite(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(hostileSQLite)) {
		h := hostileSQLite[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := h.try(t); (err != nil) != (h.refused != "") || err != nil && !strings.Contains(err.Error(), h.refused) {
				t.Errorf("got %v, want %q", err, h.refused)
			}
		})
	}
}

// try returns the error of the plan or its run.
func (h hostile) try(t *testing.T) error {
	t.Helper()
	d := open(t, "sqlite")
	if h.off {
		d = d.reopen("_foreign_keys=off")
	}
	if strings.Contains(strings.Join(h.schema, "\n"), "fts5") && d.number("SELECT COUNT(*) FROM pragma_module_list WHERE name = 'fts5'") == 0 {
		t.Skip("the driver was built without FTS5: go test -tags sqlite_fts5")
	}
	d.exec(h.schema...)
	objects, dump, shape, sound := d.objects(), d.dump(), d.shapes(h), d.sound()
	p, err := d.tryPlan(migrate.InspectOptions{References: h.references},
		migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC", Created: h.created, Accept: h.accept, Below: h.below})
	if err != nil {
		differs(t, "rows after a refused plan", d.dump(), dump)
		return err
	}
	for _, back := range []bool{true, false} {
		for outcome := (migrate.Outcome{}); !outcome.Done && !(back && outcome.Hold == migrate.DropMaps); {
			if outcome, err = migrate.Run(t.Context(), d.gorm, p, migrate.RunOptions{Continue: outcome.Hold}); err != nil {
				if _, back := migrate.Rollback(t.Context(), d.gorm, p, migrate.RunOptions{}); back != nil && !errors.Is(back, journal.ErrState) {
					t.Errorf("neither run, %v, nor rolled back: %v", err, back)
				}
				differs(t, "rows after a run that failed and a rollback", d.dump(), dump)
				differs(t, "the schema after a run that failed and a rollback", d.objects(), objects)
				return err
			}
		}
		d.verify(p)
		if h.after != "" {
			d.exec(h.after)
		}
		differs(t, "the shape", d.shapes(h), shape)
		differs(t, "the schema", d.objects(), objects)
		differs(t, "soundness", d.sound(), sound)
		if !back {
			break
		}
		if _, err := migrate.Rollback(t.Context(), d.gorm, p, migrate.RunOptions{}); err != nil {
			return fmt.Errorf("rolling back: %w", err)
		}
		differs(t, "rows after the rollback", d.dump(), dump)
		differs(t, "the schema after the rollback", d.objects(), objects)
		differs(t, "soundness after the rollback", d.sound(), sound)
	}
	return nil
}

var users = []string{
	"CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, created_at DATETIME NOT NULL)",
	rows20 + "INSERT INTO users SELECT i, 'u' || i, datetime('2024-05-01', '+' || i || ' hours') FROM n",
}

func with(more ...string) []string { return append(slices.Clone(users), more...) }

const childShape = "SELECT c.t, u.name FROM c LEFT JOIN users u ON u.id = c.user_id"

func child(definition string, more ...string) []string {
	return with(append([]string{"CREATE TABLE c (id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT, created_at DATETIME, " + definition,
		rows20 + "INSERT INTO c (t, created_at, user_id) SELECT 't' || i, datetime('2024-06-01', '+' || i || ' hours'), 1 + i * 7 % 20 FROM n"}, more...)...)
}

var hostileSQLite = map[string]hostile{
	"quotes": {schema: []string{
		`CREATE TABLE "Or""der 's" ("I D" INTEGER PRIMARY KEY AUTOINCREMENT, "na""me" TEXT DEFAULT 'AUTOINCREMENT' /* AUTOINCREMENT */, [created at] TEXT, created_at DATETIME)`,
		rows20 + `INSERT INTO "Or""der 's" SELECT i, 'n' || i, NULL, datetime('2024-05-01', '+' || i || ' hours') FROM n`,
		`CREATE TABLE [select] (` + "`from`" + ` INTEGER PRIMARY KEY AUTOINCREMENT, "the ref" INTEGER REFERENCES "Or""der 's" ("I D") ON DELETE CASCADE, created_at DATETIME)`,
		rows20 + `INSERT INTO [select] SELECT i, 21 - i, datetime('2024-05-01', '+' || i || ' hours') FROM n`,
		`CREATE INDEX "in""dex" ON "select" ("the ref")`,
	}, shape: []string{`SELECT o."na""me", s.created_at FROM "select" s JOIN "Or""der 's" o ON o."I D" = s."the ref"`}},
	"without rowid": {schema: []string{
		"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, created_at DATETIME) WITHOUT ROWID",
		rows20 + "INSERT INTO users SELECT i, 'u' || i, datetime('2024-05-01', '+' || i || ' hours') FROM n",
		"CREATE TABLE c (id INT PRIMARY KEY, t TEXT, created_at DATETIME, user_id INT REFERENCES users) WITHOUT ROWID",
		rows20 + "INSERT INTO c SELECT i, 't' || i, datetime('2024-06-01', '+' || i || ' hours'), 1 + i * 7 % 20 FROM n",
	}, shape: []string{childShape}},
	"strict":         {schema: with("CREATE TABLE c (id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT, created_at TEXT, user_id INTEGER REFERENCES users (id)) STRICT", "INSERT INTO c SELECT id, 't' || id, created_at, id FROM users"), created: map[string]string{"c": "created_at"}, shape: []string{childShape}},
	"int key":        {schema: []string{"CREATE TABLE users (id INT PRIMARY KEY, name TEXT, created_at DATETIME)", users[1], "CREATE TABLE c (id BIGINT PRIMARY KEY NOT NULL, t TEXT, created_at DATETIME, user_id INT REFERENCES users)", rows20 + "INSERT INTO c SELECT i, 't' || i, datetime('2024-06-01', '+' || i || ' hours'), 1 + i * 7 % 20 FROM n"}, shape: []string{childShape}},
	"no column":      {schema: child("user_id INTEGER REFERENCES users)"), shape: []string{childShape}},
	"untyped":        {schema: child("user_id REFERENCES users)", "UPDATE c SET user_id = CAST(user_id AS TEXT) WHERE id % 2"), shape: []string{childShape}},
	"text reference": {schema: child("user_id TEXT REFERENCES users)"), shape: []string{childShape}},
	"real reference": {schema: child("user_id REAL REFERENCES users)"), shape: []string{childShape}, refused: "rounds"},
	"numeric":        {schema: child("user_id NUMERIC REFERENCES users)"), shape: []string{childShape}},
	"cascades":       {schema: child("user_id INTEGER REFERENCES users ON DELETE CASCADE ON UPDATE CASCADE)", "CREATE TABLE e (id INTEGER PRIMARY KEY, created_at DATETIME, c_id INTEGER DEFAULT 0 REFERENCES c ON DELETE SET NULL ON UPDATE SET DEFAULT)", "INSERT INTO e SELECT id, created_at, id FROM c"), shape: []string{childShape, "SELECT c.t, e.created_at FROM e JOIN c ON c.id = e.c_id"}},
	"set null":       {schema: child("user_id INTEGER REFERENCES users ON DELETE SET NULL ON UPDATE SET NULL)"), shape: []string{childShape}},
	"restrict":       {schema: child("user_id INTEGER NOT NULL REFERENCES users ON DELETE RESTRICT ON UPDATE RESTRICT)"), shape: []string{childShape}},
	"deferred":       {schema: child("user_id INTEGER REFERENCES users DEFERRABLE INITIALLY DEFERRED)"), shape: []string{childShape}},
	"orphans":        {off: true, schema: child("user_id INTEGER REFERENCES users)", "UPDATE c SET user_id = 7000 + id WHERE id > 15", "UPDATE c SET user_id = 0 WHERE id = 3"), shape: []string{childShape}},
	"missing table":  {off: true, schema: child("user_id INTEGER REFERENCES users, x INTEGER REFERENCES nowhere (id))", "UPDATE c SET x = 3"), shape: []string{childShape}},
	"self":           {schema: child("user_id INTEGER REFERENCES users, parent_id INTEGER REFERENCES c (id) ON DELETE CASCADE)", "UPDATE c SET parent_id = 21 - id", "UPDATE c SET parent_id = id WHERE id = 5"), shape: []string{childShape, "SELECT a.t, b.t FROM c a JOIN c b ON b.id = a.parent_id"}},
	"generated":      {accept: []string{"generated:c.label", "generated:c.twice"}, schema: child("user_id INTEGER REFERENCES users, label TEXT AS ('user ' || user_id) VIRTUAL, twice INTEGER GENERATED ALWAYS AS (user_id * 2) STORED)", "CREATE INDEX c_twice ON c (twice)"), refused: "is computed from user_id", shape: []string{childShape, "SELECT COUNT(*) FROM c WHERE twice = user_id * 2 AND label = 'user ' || user_id"}},
	"check":          {accept: []string{"check:c"}, schema: child("user_id INTEGER REFERENCES users CHECK (user_id < 1000000))"), shape: []string{childShape}, refused: "the check (user_id < 1000000) would not be passed by new ids in 20 rows"},
	"harmless check": {accept: []string{"check:c"}, schema: child("user_id INTEGER REFERENCES users CHECK (user_id > 0), CHECK (typeof(id) = 'integer'))"), shape: []string{childShape}},
	"indexes":        {schema: child("user_id INTEGER REFERENCES users)", "CREATE UNIQUE INDEX c1 ON c (user_id, t) WHERE user_id > 3", "CREATE INDEX c2 ON c (user_id % 10, abs(user_id))", "CREATE UNIQUE INDEX c3 ON c (t COLLATE NOCASE DESC)", "CREATE INDEX u1 ON users (id % 3) WHERE id < 10", "CREATE UNIQUE INDEX u2 ON users (name COLLATE RTRIM)"), shape: []string{childShape}},
	"unique child":   {schema: child("user_id INTEGER UNIQUE REFERENCES users)"), shape: []string{childShape}},
	"shared keys": {schema: with("CREATE TABLE p (user_id INTEGER PRIMARY KEY REFERENCES users ON DELETE CASCADE, t TEXT)", "INSERT INTO p SELECT id, 'p' || name FROM users", "CREATE TABLE q (user_id INTEGER PRIMARY KEY REFERENCES p (user_id), t TEXT)", "INSERT INTO q SELECT user_id, 'q' || t FROM p WHERE user_id % 2"),
		shape: []string{"SELECT u.name, p.t, q.t FROM users u LEFT JOIN p ON p.user_id = u.id LEFT JOIN q ON q.user_id = u.id"}},
	"two parents": {schema: append([]string{"CREATE TABLE o (id INTEGER PRIMARY KEY, created_at DATETIME)"}, child("user_id INTEGER REFERENCES users REFERENCES o (id))", "UPDATE c SET user_id = 1")...), off: true, refused: "refers to the keys of several tables"},
	"composite reference": {schema: []string{
		"CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, tenant INT NOT NULL, name TEXT, created_at DATETIME, UNIQUE (id, tenant))",
		rows20 + "INSERT INTO users SELECT i, i % 3, 'u' || i, datetime('2024-05-01', '+' || i || ' hours') FROM n",
		"CREATE TABLE c (id INTEGER PRIMARY KEY, t TEXT, created_at DATETIME, user_id INT, tenant INT, FOREIGN KEY (user_id, tenant) REFERENCES users (id, tenant))",
		"INSERT INTO c SELECT id, 't' || id, created_at, id, tenant FROM users",
	}, shape: []string{"SELECT c.t, u.name FROM c LEFT JOIN users u ON u.id = c.user_id AND u.tenant = c.tenant"}},
	"other unique":          {schema: with("CREATE UNIQUE INDEX un ON users (name)", "CREATE TABLE c (id INTEGER PRIMARY KEY, created_at DATETIME, who TEXT REFERENCES users (name))", "INSERT INTO c SELECT id, created_at, name FROM users"), shape: []string{"SELECT u.created_at, c.created_at FROM c JOIN users u ON u.name = c.who"}},
	"odd ids":               {accept: []string{"negative:users.id"}, schema: child("user_id INTEGER REFERENCES users)", "INSERT INTO users VALUES (0, 'zero', '2024-05-03 00:00:00'), (-5, 'minus', '2024-05-04 00:00:00'), (4000000000, 'large', '2024-05-05 00:00:00')", "INSERT INTO c (t, created_at, user_id) SELECT 'of ' || id, created_at, id FROM users"), shape: []string{childShape}},
	"mixed with snowflakes": {schema: child("user_id INTEGER REFERENCES users)", "INSERT INTO users VALUES (4000000000000001, 'snow', '2024-05-03 00:00:00')", "INSERT INTO c (t, created_at, user_id) SELECT 'of ' || id, created_at, id FROM users"), shape: []string{childShape}},
	"view triggers": {schema: child("user_id INTEGER REFERENCES users)", "CREATE VIEW v AS SELECT c.*, u.name FROM c JOIN users u ON u.id = c.user_id", "CREATE VIEW v2 AS SELECT * FROM v WHERE t > 't3'",
		"CREATE TRIGGER vi INSTEAD OF INSERT ON v BEGIN INSERT INTO c (t, user_id) VALUES (NEW.t, NEW.user_id); END", "CREATE TRIGGER vu INSTEAD OF UPDATE ON v2 BEGIN UPDATE c SET t = NEW.t WHERE id = OLD.id; END"),
		shape: []string{childShape, "SELECT t, name FROM v", "SELECT t, name FROM v2"}, accept: []string{"trigger:c.vi", "trigger:c.vu", "trigger:users.vi", "trigger:users.vu", "trigger:c.main.vi", "trigger:c.main.vu", "trigger:users.main.vi", "trigger:users.main.vu"}},
	"triggers": {schema: child("user_id INTEGER REFERENCES users)", "CREATE TABLE log (what TEXT, n INTEGER)",
		"CREATE TRIGGER a AFTER INSERT ON c BEGIN INSERT INTO log VALUES ('i', NEW.id); END", "CREATE TRIGGER b BEFORE DELETE ON c BEGIN INSERT INTO log VALUES ('d', OLD.id); END",
		"CREATE TRIGGER \"a d\" AFTER DELETE ON users BEGIN DELETE FROM c WHERE user_id = OLD.id; END", "CREATE TRIGGER up AFTER UPDATE OF t ON c WHEN NEW.t <> OLD.t BEGIN INSERT INTO log VALUES ('u', OLD.id); END"),
		shape: []string{childShape, "SELECT * FROM log"}, accept: []string{"trigger:c.a", "trigger:c.b", "trigger:c.up", "trigger:users.a d", "trigger:c.main.a d", "trigger:users.main.a d"}},
	"full text": {schema: with("CREATE VIRTUAL TABLE ufts USING fts4(name, content=users)", "INSERT INTO ufts(ufts) VALUES ('rebuild')",
		"CREATE TRIGGER ui AFTER INSERT ON users BEGIN INSERT INTO ufts(docid, name) VALUES (NEW.id, NEW.name); END",
		"CREATE TRIGGER ud BEFORE DELETE ON users BEGIN DELETE FROM ufts WHERE docid = OLD.id; END"),
		shape:  []string{"SELECT u.name FROM ufts JOIN users u ON u.id = ufts.docid WHERE ufts MATCH 'u7'", "SELECT COUNT(*) FROM ufts WHERE ufts MATCH 'u*'"},
		accept: []string{"trigger:users.ui", "trigger:users.ud", "full text:users.main.ufts"}, after: "INSERT INTO ufts(ufts) VALUES ('rebuild')"},
	"full text without triggers": {schema: with("CREATE VIRTUAL TABLE ufts USING fts4(name, content=users)", "INSERT INTO ufts(ufts) VALUES ('rebuild')"),
		shape: []string{"SELECT u.name FROM ufts JOIN users u ON u.id = ufts.docid WHERE ufts MATCH 'u7'"}},
	"fts5": {schema: with("CREATE VIRTUAL TABLE ufts USING fts5(name, content='users', content_rowid='id')", "INSERT INTO ufts(ufts) VALUES ('rebuild')",
		"CREATE TRIGGER ui AFTER INSERT ON users BEGIN INSERT INTO ufts(rowid, name) VALUES (NEW.id, NEW.name); END",
		"CREATE TRIGGER uu AFTER UPDATE ON users BEGIN INSERT INTO ufts(ufts, rowid, name) VALUES ('delete', OLD.id, OLD.name); INSERT INTO ufts(rowid, name) VALUES (NEW.id, NEW.name); END"),
		shape:  []string{"SELECT u.name FROM ufts JOIN users u ON u.id = ufts.rowid WHERE ufts MATCH 'u7'", "SELECT COUNT(*) FROM ufts JOIN users u ON u.id = ufts.rowid WHERE ufts MATCH 'u*'"},
		accept: []string{"trigger:users.uu"}, after: "INSERT INTO ufts(ufts) VALUES ('integrity-check')"},
	"fts5 of its own":    {schema: with("CREATE VIRTUAL TABLE search USING fts5(name)", "INSERT INTO search (rowid, name) SELECT id, name FROM users"), refused: "users: the full-text table main.search has rows of its own"},
	"fts5 without texts": {schema: with("CREATE VIRTUAL TABLE search USING fts5(name, content='')", "INSERT INTO search (rowid, name) SELECT id, name FROM users"), refused: "users: the full-text table main.search has rows of its own"},
	"fts4 of its own":    {schema: with("CREATE VIRTUAL TABLE user_fts USING fts4(name)", "INSERT INTO user_fts (docid, name) SELECT id, name FROM users"), refused: "users: the full-text table main.user_fts has rows of its own"},
	"like sqlite": {schema: []string{"CREATE TABLE sqlitely (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, created_at DATETIME)", rows20 + "INSERT INTO sqlitely SELECT i, 'u' || i, datetime('2024-05-01', '+' || i || ' hours') FROM n",
		"CREATE TABLE snowkeys (id INTEGER PRIMARY KEY AUTOINCREMENT, s_id INTEGER REFERENCES sqlitely, created_at DATETIME)", "INSERT INTO snowkeys SELECT id, id, created_at FROM sqlitely", "CREATE TABLE snowkey_map_sqlitely (old_id INTEGER)"},
		shape: []string{"SELECT s.name, k.created_at FROM snowkeys k JOIN sqlitely s ON s.id = k.s_id"}},
	"rowid columns": {schema: []string{"CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, rowid TEXT, oid TEXT, _rowid_ TEXT, name TEXT, created_at DATETIME)", rows20 + "INSERT INTO users SELECT i, 'r', 'o', 'x', 'u' || i, datetime('2024-05-01', '+' || i || ' hours') FROM n"}, shape: []string{"SELECT rowid, oid, _rowid_, name FROM users"}},
	"times":         {schema: []string{"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, created_at)", "INSERT INTO users VALUES (1, 'a', 1714521600), (2, 'b', 1714521600123), (3, 'c', '2024-05-01T00:00:01Z'), (4, 'd', '2024-05-01 02:00:02+02:00'), (5, 'e', '2024-05-01'), (6, 'f', '2024-05-01 00:00:03.456'), (7, 'g', '2024-05-01T00:00'), (8, 'h', '1714521600')"}, created: map[string]string{"users": "created_at"}, shape: []string{"SELECT name FROM users"}},
	"null time":     {schema: with("CREATE TABLE t (id INTEGER PRIMARY KEY, created_at DATETIME)", "INSERT INTO t VALUES (1, NULL), (2, '2024-01-01 00:00:00')"), shape: []string{"SELECT COUNT(*) FROM t"}, refused: "created_at"},
	"created":       {schema: child("user_id INTEGER NOT NULL REFERENCES users)", "CREATE TABLE k (id INTEGER PRIMARY KEY, n TEXT)", "INSERT INTO k VALUES (1, 'a'), (2, 'b')", "CREATE TABLE i (id INTEGER PRIMARY KEY AUTOINCREMENT, n TEXT)", "INSERT INTO i VALUES (10, 'a'), (20, 'b')"), created: map[string]string{"c": "through user_id", "k": "keep", "i": "2024-05-01T00:00:00Z", "users": "created_at"}, shape: []string{childShape, "SELECT * FROM k", "SELECT n FROM i"}},
	"below":         {schema: child("user_id INTEGER REFERENCES users)"), below: 11, shape: []string{childShape}},
	"case":          {schema: child("USER_ID INTEGER REFERENCES USERS (ID))", "CREATE INDEX ci ON C (user_ID)"), shape: []string{childShape}},
	"affinity key":  {schema: []string{"CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT, created_at DATETIME)", "INSERT INTO users VALUES ('abc', 'x', '2024-05-01 00:00:00'), (1.5, 'y', '2024-05-01 00:00:00'), (NULL, 'z', '2024-05-01 00:00:00'), (3, 'ok', '2024-05-01 00:00:00')"}, shape: []string{"SELECT name FROM users"}, refused: "none of the report's 1 tables has a key"},
}
