package plan_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// A forum with all that refers to keys: a reference to the same table; two of one table to one key; foreign keys that CASCADE, SET NULL and
// RESTRICT; a composite key of references; a key that is a reference, and what refers to that; a foreign key of two columns; texts with the
// ids of two tables; JSON in a table with a key and in one without; names that have to be quoted; rows that are deleted softly.
const forum = `
CREATE TABLE users ({id}, name VARCHAR(40), manager_id {ref} NULL, created_at {time}, updated_at {updated}, deleted_at {time},
	CONSTRAINT fk_manager FOREIGN KEY (manager_id) REFERENCES users (id));
CREATE TABLE languages ({id}, name VARCHAR(40), created_at {time});
CREATE TABLE user_languages (user_id {ref} NOT NULL, language_id {ref} NOT NULL, level INT, PRIMARY KEY (user_id, language_id),
	CONSTRAINT fk_ul_user FOREIGN KEY (user_id) REFERENCES users (id) ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TABLE posts ({id}, author_id {ref} NULL, editor_id {ref} NULL, created_at {time}, updated_at {updated}, deleted_at {time},
	CONSTRAINT "fk author" FOREIGN KEY (author_id) REFERENCES users (id) ON UPDATE CASCADE ON DELETE SET NULL,
	CONSTRAINT fk_editor FOREIGN KEY (editor_id) REFERENCES users (id) ON UPDATE SET NULL ON DELETE SET NULL);
CREATE TABLE messages ({id}, sender_id {ref}, receiver_id {ref}, updated_at {updated},
	CHECK (sender_id > 0 AND (sender_id <= receiver_id OR receiver_id >= 0)));
CREATE TABLE comments ({id}, owner_id {text}, owner_type VARCHAR(20), created_at {time});
CREATE TABLE profiles (user_id {ref} NOT NULL PRIMARY KEY, bio VARCHAR(40),
	CONSTRAINT fk_profile FOREIGN KEY (user_id) REFERENCES users (id) ON UPDATE RESTRICT);
CREATE TABLE photos ({id}, profile_id {ref}, created_at {time}, CONSTRAINT fk_photo FOREIGN KEY (profile_id) REFERENCES profiles (user_id) {deferred});
CREATE TABLE orders ({id}, tenant INT NOT NULL, created_at {time}, CONSTRAINT u_orders UNIQUE (tenant, id));
CREATE TABLE order_items (tenant INT NOT NULL, order_id {ref} NOT NULL, line INT NOT NULL, PRIMARY KEY (tenant, order_id, line),
	CONSTRAINT fk_item FOREIGN KEY (tenant, order_id) REFERENCES orders (tenant, id) ON UPDATE CASCADE);
CREATE TABLE events ({id}, doc {json}, created_at {time});
CREATE TABLE logs (doc {json}, n INT);
CREATE TABLE "a ""Table"" Of" ({id}, "The User's" {ref}, created_at {time})`

var words = map[dialect.Dialect]*strings.Replacer{
	dialect.SQLite: strings.NewReplacer("{id}", "id INTEGER PRIMARY KEY AUTOINCREMENT", "{ref}", "INTEGER", "{time}", "DATETIME", "{updated}", "DATETIME",
		"{text}", "TEXT COLLATE RTRIM", "{json}", "TEXT", "{deferred}", "DEFERRABLE INITIALLY DEFERRED"),
	dialect.MySQL: strings.NewReplacer("{id}", "id INT NOT NULL AUTO_INCREMENT PRIMARY KEY", "{ref}", "INT", "{time}", "DATETIME NULL",
		"{updated}", "TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP",
		"{text}", "VARCHAR(40) COLLATE utf8mb4_unicode_ci", "{json}", "JSON", "{deferred}", "", `""`, `"`, `"`, "`"),
	dialect.Postgres: strings.NewReplacer("{id}", "id SERIAL PRIMARY KEY", "{ref}", "INTEGER", "{time}", "TIMESTAMPTZ", "{updated}", "TIMESTAMPTZ",
		"{text}", "VARCHAR(40)", "{json}", "JSONB", "{deferred}", "DEFERRABLE INITIALLY DEFERRED"),
}

// quote writes a statement's double quotes as the dialect has them.
func quote(d dialect.Dialect, statement string) string {
	if d == dialect.MySQL {
		return strings.NewReplacer(`""`, `"`, `"`, "`").Replace(statement)
	}
	return statement
}

func exec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

const hostile = `a "Table" Of`

// hostileTable is its name in reports.
var hostileTable = catalog.Name{Name: hostile}.String()

// populate fills the forum.
func populate(t *testing.T, db *sql.DB, d dialect.Dialect) {
	t.Helper()
	for _, s := range strings.Split(words[d].Replace(forum), ";\n") {
		exec(t, db, s)
	}
	if d == dialect.MySQL {
		exec(t, db, "CREATE INDEX by_profile ON photos (profile_id)")
	}
	const at = "'2025-03-01 10:00:00'"
	defer func() {
		if d != dialect.MySQL {
			return
		}
		// A zero date, which the usual sql_mode takes from nobody.
		conn, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"SET SESSION sql_mode=''", "UPDATE users SET updated_at = '0000-00-00 00:00:00' WHERE id = 3", "SET SESSION sql_mode=DEFAULT"} {
			if _, err := conn.ExecContext(context.Background(), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	for i := 1; i <= 40; i++ {
		manager, deleted := "NULL", "NULL"
		if i > 1 {
			manager = strconv.Itoa(max(1, i/3))
		}
		if i%5 == 0 {
			deleted = at
		}
		name := fmt.Sprintf("'u%d'", i)
		if i == 1 {
			manager, name = "1", "'boss'"
		}
		exec(t, db, fmt.Sprintf("INSERT INTO users (name, manager_id, created_at, updated_at, deleted_at) VALUES (%s, %s, %s, %[3]s, %[4]s)", name, manager, at, deleted))
		exec(t, db, fmt.Sprintf("INSERT INTO languages (name, created_at) VALUES ('l%d', %s)", i, at))
	}
	for i := 1; i <= 30; i++ {
		exec(t, db, fmt.Sprintf("INSERT INTO user_languages VALUES (%d, %d, %d)", i, i, i))
		exec(t, db, fmt.Sprintf("INSERT INTO user_languages VALUES (%d, %d, %d)", i, 99-i, i)) // from 41 on orphans
		exec(t, db, fmt.Sprintf("INSERT INTO posts (author_id, editor_id, created_at, updated_at, deleted_at) VALUES (%d, %s, %s, %[3]s, NULL)", i%7+1, []string{"NULL", "2", "40"}[i%3], at))
		exec(t, db, fmt.Sprintf("INSERT INTO messages (sender_id, receiver_id, updated_at) VALUES (%d, %d, %s)", i, []int{i, 40 - i, 0, 1000}[i%4], at))
		exec(t, db, fmt.Sprintf("INSERT INTO profiles VALUES (%d, 'b')", i))
		exec(t, db, fmt.Sprintf("INSERT INTO photos (profile_id, created_at) VALUES (%d, %s)", i, at))
		exec(t, db, fmt.Sprintf("INSERT INTO orders (tenant, created_at) VALUES (%d, %s)", i%3, at))
		exec(t, db, fmt.Sprintf("INSERT INTO order_items VALUES (%d, %d, 1)", i%3, i))
		exec(t, db, fmt.Sprintf("INSERT INTO order_items VALUES (%d, %d, 2)", i%3, i))
		exec(t, db, fmt.Sprintf(`INSERT INTO events (doc, created_at) VALUES ('{"user": {"id": %d, "big": 9007199254740993123}, "n": 1.50, "ids": [7, %d]}', %s)`, i, i, at))
		exec(t, db, fmt.Sprintf(`INSERT INTO events (doc, created_at) VALUES ('{"user": {"id": "%d"}}', %s)`, i, at))
		exec(t, db, fmt.Sprintf(`INSERT INTO logs VALUES ('{"a b": [{"id": %d}]}', %d)`, i, i))
		exec(t, db, quote(d, fmt.Sprintf(`INSERT INTO "a ""Table"" Of" ("The User's", created_at) VALUES (%d, %s)`, i, at)))
		for _, owner := range []string{"users", "posts", "tags"} {
			exec(t, db, fmt.Sprintf("INSERT INTO comments (owner_id, owner_type, created_at) VALUES ('%d', '%s', %s)", i, owner, at))
		}
	}
	for _, odd := range []string{"07", " 7", "7 ", "+7", "7.0", "x", "", "99999999999999999999", "41"} {
		exec(t, db, fmt.Sprintf("INSERT INTO comments (owner_id, owner_type, created_at) VALUES ('%s', 'users', %s)", odd, at))
	}
	for _, odd := range []string{`{"user": {"id": 7.5}}`, `{"user": {"id": "07"}}`, `{"user": {"id": null}}`, `{"user": 7}`, `[]`, `{"user": {"id": 41}}`} {
		exec(t, db, fmt.Sprintf("INSERT INTO events (doc, created_at) VALUES ('%s', %s)", odd, at))
	}
	exec(t, db, "INSERT INTO events (doc, created_at) VALUES (NULL, "+at+")")
	if d == dialect.SQLite { // the others take no such text
		exec(t, db, "INSERT INTO events (doc, created_at) VALUES ('{', "+at+"), ('', "+at+")")
	}
}

var forumKeys = map[string]string{"users": "id", "languages": "id", "posts": "id", "messages": "id", "comments": "id", "profiles": "user_id", "photos": "id",
	"orders": "id", "events": "id", hostile: "id"}

func reference(table, column, to string, origin inspect.Origin) inspect.Reference {
	return inspect.Reference{Table: table, Column: column, To: to, ToColumn: forumKeys[to], Origin: origin, Confidence: inspect.Certain, Type: "bigint"}
}

func forumReferences() []inspect.Reference {
	polymorphic := func(to string) inspect.Reference {
		r := reference("comments", "owner_id", to, inspect.Polymorphic)
		r.OwnerType, r.Owner, r.Text = "owner_type", to, true
		return r
	}
	at := func(table, path string) inspect.Reference {
		r := reference(table, "doc", "users", inspect.Given)
		r.Path = path
		return r
	}
	item := reference("order_items", "order_id", "orders", inspect.Declared)
	item.Columns, item.ToColumns = []string{"tenant", "order_id"}, []string{"tenant", "id"}
	return []inspect.Reference{
		reference("users", "manager_id", "users", inspect.Declared), reference("user_languages", "user_id", "users", inspect.Declared),
		reference("user_languages", "language_id", "languages", inspect.Model), reference("posts", "author_id", "users", inspect.Declared),
		reference("posts", "editor_id", "users", inspect.Declared), reference("messages", "sender_id", "users", inspect.Named),
		reference("messages", "receiver_id", "users", inspect.Named), reference("profiles", "user_id", "users", inspect.Declared),
		reference("photos", "profile_id", "profiles", inspect.Declared), item, polymorphic("users"), polymorphic("posts"),
		at("events", "$.user.id"), at("events", "$.ids[1]"), at("logs", `$."a b"[0].id`), reference(hostileTable, "The User's", "users", inspect.Named),
	}
}

func plannedForum(t *testing.T, db *sql.DB, d dialect.Dialect) *plan.Plan {
	t.Helper()
	p, err := plan.Make(context.Background(), db, handmade(t, db, d, forumKeys, forumReferences()), plan.Options{
		Mode: plan.Rekey, Zone: "UTC", Created: map[string]string{"messages": "through sender_id", "photos": "2025-02-01T00:00:00Z", "profiles": "keep"},
		Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var forumTables = []string{"users", "languages", "user_languages", "posts", "messages", "comments", "profiles", "photos", "orders", "order_items", "events", "logs", hostile}

func snapshot(t *testing.T, db *sql.DB, d dialect.Dialect) map[string][]map[string]string {
	t.Helper()
	all := map[string][]map[string]string{}
	for _, table := range forumTables {
		all[table] = rows(t, db, quote(d, `"`+strings.ReplaceAll(table, `"`, `""`)+`"`))
	}
	return all
}

// moved returns what the rows have to be afterwards.
func moved(p *plan.Plan, before map[string][]map[string]string) map[string][]map[string]string {
	after := map[string][]map[string]string{}
	for table, rows := range before {
		for _, row := range rows {
			after[table] = append(after[table], maps.Clone(row))
		}
	}
	for i, k := range p.Keys {
		if k.Map == "" {
			continue
		}
		fresh := map[string]string{}
		name := strings.ReplaceAll(strings.Trim(k.Table, `"`), `""`, `"`)
		for _, row := range before[name] {
			old, _ := strconv.ParseInt(row[k.Column], 10, 64)
			fresh[row[k.Column]] = strconv.FormatInt(planted(i, old), 10)
		}
		for n, row := range before[name] {
			after[name][n][k.Column] = fresh[row[k.Column]]
		}
		for _, r := range p.References {
			if r.To != k.Table {
				continue
			}
			table := strings.ReplaceAll(strings.Trim(r.Table, `"`), `""`, `"`)
			for n, row := range before[table] {
				value, change := row[r.Column], fresh[row[r.Column]]
				switch {
				case r.Path == "$.user.id":
					for _, form := range []string{`"id":%s}`, `"id":"%s"}`} {
						for old, id := range fresh {
							if strings.Contains(value, `"user":{`) {
								after[table][n][r.Column] = strings.Replace(after[table][n][r.Column], fmt.Sprintf(form, old), fmt.Sprintf(form, id), 1)
							}
						}
					}
				case r.Path == "$.ids[1]":
					for old, id := range fresh {
						after[table][n][r.Column] = strings.Replace(after[table][n][r.Column], `[7,`+old+`]`, `[7,`+id+`]`, 1)
					}
				case r.Path != "":
					for old, id := range fresh {
						after[table][n][r.Column] = strings.Replace(after[table][n][r.Column], `[{"id":`+old+`}]`, `[{"id":`+id+`}]`, 1)
					}
				case r.OwnerType != "" && row[r.OwnerType] != r.Owner || change == "":
				default:
					after[table][n][r.Column] = change
				}
			}
		}
	}
	return after
}

func differ(t *testing.T, what string, got, want map[string][]map[string]string) {
	t.Helper()
	for _, table := range forumTables {
		g, w := sorted(got[table]), sorted(want[table])
		for i := range max(len(g), len(w)) {
			if i >= len(g) || i >= len(w) || g[i] != w[i] {
				t.Errorf("%s: %s has %d rows, want %d; the first that differs:\ngot  %s\nwant %s", what, table, len(g), len(w), lineOf(g, i), lineOf(w, i))
				break
			}
		}
	}
}

func lineOf(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "none"
}

// foreignKeys returns those of the forum, as JSON without what numbers tables.
func foreignKeys(t *testing.T, db *sql.DB, d dialect.Dialect) []string {
	t.Helper()
	c, err := catalog.New(db, d)
	if err != nil {
		t.Fatal(err)
	}
	var tables []*catalog.Table
	for _, name := range forumTables {
		table, err := c.Table(context.Background(), catalog.Name{Name: name})
		if err != nil || table == nil {
			t.Fatal(table, err)
		}
		tables = append(tables, table)
	}
	found, err := c.References(context.Background(), tables...)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range found {
		if d == dialect.MySQL {
			// One and the same to InnoDB; MariaDB takes RESTRICT for NO ACTION in an ALTER TABLE that copies nothing.
			r.Definition = strings.NewReplacer(" ON DELETE NO ACTION", "", " ON UPDATE NO ACTION", "", " ON DELETE RESTRICT", "", " ON UPDATE RESTRICT", "").Replace(r.Definition)
			r.OnDelete, r.OnUpdate = strings.Replace(r.OnDelete, "NO ACTION", "RESTRICT", 1), strings.Replace(r.OnUpdate, "NO ACTION", "RESTRICT", 1)
		}
		out, _ := json.Marshal(r) // texts and booleans
		all = append(all, string(out))
	}
	slices.Sort(all)
	return all
}

func TestRekeyMovesEveryReferenceAndBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		populate(t, db, d)
		before, keys := snapshot(t, db, d), foreignKeys(t, db, d)
		p := plannedForum(t, db, d)
		e := mover{t: t, db: db, d: d, p: p, found: counts{}}
		e.after = func(s plan.Step) {
			if s.Do.Kind == plan.Hold && s.Phase == "contract" {
				differ(t, "after the rekey", snapshot(t, db, d), moved(p, before))
			}
		}
		held := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Do.Kind == plan.Hold && s.Phase == "contract" })
		whole := p.Steps
		p.Steps = whole[:held+1]
		e.run()
		if got := foreignKeys(t, db, d); !reflect.DeepEqual(got, keys) {
			t.Errorf("after the rekey: foreign keys\ngot  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(keys, "\n     "))
		}
		e.undo()
		differ(t, "after the rollback", snapshot(t, db, d), before)
		if got := foreignKeys(t, db, d); !reflect.DeepEqual(got, keys) {
			t.Errorf("after the rollback: foreign keys\ngot  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(keys, "\n     "))
		}
	})
}
