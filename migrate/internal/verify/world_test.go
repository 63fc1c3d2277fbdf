package verify_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
	"github.com/snowkey-go/snowkey/migrate/internal/verify"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

const (
	layout = "time=41@1ms,node=10,sequence=12;epoch=2020-01-01T00:00:00Z"
	below  = 1 << 40
)

// world is a database with users, who have a boss, and notes of them, and a plan that rekeys the users.
type world struct {
	kind string
	db   *sql.DB
	plan *plan.Plan
}

func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	for kind, database := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, kind, database(t)))
		})
	}
}

func (w *world) exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := w.db.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%.300s: %v", s, err)
		}
	}
}

// pick returns what the database's kind calls something.
func (w *world) pick(sqlite, mysql, postgres string) string {
	return map[string]string{"sqlite": sqlite, "mysql": mysql, "postgres": postgres}[w.kind]
}

func newWorld(t testing.TB, kind string, d dbtest.Database) *world {
	w := &world{kind: kind, db: d.Open(t)}
	quote := w.pick(`"`, "`", `"`)
	w.exec(t,
		fmt.Sprintf(`CREATE TABLE users (id %s, boss_id BIGINT NULL, %[2]sNa'me%[2]s VARCHAR(50) NULL, made %s, bytes %s, price DECIMAL(20,4), ratio %s, doc %s%s)`,
			w.pick("INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY", "BIGINT PRIMARY KEY"), quote, w.pick("datetime", "datetime", "timestamp"), w.pick("blob", "blob", "bytea"),
			w.pick("real", "double", "double precision"), w.pick("text", "json", "jsonb"), w.pick(", FOREIGN KEY (boss_id) REFERENCES users(id) ON DELETE CASCADE", "", "")),
		fmt.Sprintf(`CREATE TABLE notes (number INT, owner_type VARCHAR(20), owner_id VARCHAR(30), doc %s, touched %s)`, w.pick("text", "json", "jsonb"),
			w.pick("datetime", "timestamp null", "timestamptz")),
		`CREATE TABLE users_map (old_id BIGINT PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE)`)
	var users, notes []string
	for id := 1; id <= 40; id++ {
		boss, name, bytes := fmt.Sprint(id/2), fmt.Sprintf("'user %d'", id), w.pick("x'00ff'", "x'00ff'", `'\x00ff'`)
		switch {
		case id == 1:
			boss = "NULL"
		case id == 7:
			name = "NULL"
		case id == 8:
			name = "''"
		case id == 9:
			name = "'ä☃'"
		}
		users = append(users, fmt.Sprintf(`(%d, %s, %s, '2024-05-06T12:00:%02d', %s, %d.25, %d.1, '{"a": [%[1]d]}')`, id, boss, name, id/8, bytes, id, id))
		notes = append(notes, fmt.Sprintf(`(%d, '%s', '%d', '{"user": {"id": %d}}', '2024-05-06T12:00:00')`, id, []string{"users", "boats"}[id%2], id, id))
	}
	notes = append(notes, `(41, 'users', '041', '{"user": {"id": "x"}}', NULL), (42, 'users', '999', '{}', NULL)`)
	w.exec(t, "INSERT INTO users VALUES "+strings.Join(users, ","), "INSERT INTO notes VALUES "+strings.Join(notes, ","))
	w.plan = w.newPlan()
	return w
}

func (w *world) newPlan() *plan.Plan {
	count := func(subject plan.Subject, query string) plan.Step {
		return plan.Step{Title: "count", Phase: "map", Do: plan.Action{Kind: plan.Count, Queries: []plan.Query{{About: "something else", SQL: "SELECT 1000000"}, {About: "it", SQL: query, Subject: subject}}}}
	}
	to := inspect.Reference{To: "users", ToColumn: "id", Orphans: -1}
	boss, owner, document := to, to, to
	boss.Table, boss.Column, boss.Origin, boss.OnDelete, boss.OnUpdate, boss.Name = "users", "boss_id", inspect.Declared, "CASCADE", w.pick("NO ACTION", "RESTRICT", "NO ACTION"), w.pick("", "the_boss", "the_boss")
	owner.Table, owner.Column, owner.Origin, owner.Text, owner.OwnerType, owner.Owner, owner.Orphans = "notes", "owner_id", inspect.Polymorphic, true, "owner_type", "users", 1
	document.Table, document.Column, document.Path, document.Origin = "notes", "doc", "$.user.id", inspect.Given
	return &plan.Plan{
		Schema: plan.Schema, Mode: plan.Rekey, Database: inspect.Database{Kind: w.kind}, Tables: []string{"users", "notes"}, Layout: layout, Node: 1023,
		Keys:       []plan.Key{{Table: "users", Column: "id", Created: "made", Zone: "UTC", Unit: time.Second, Below: below, Map: "users_map"}},
		References: []plan.Reference{{Reference: boss}, {Reference: owner}, {Reference: document}},
		Steps: []plan.Step{
			{Title: "widen", Phase: "expand"}, {Title: "flip", Phase: "flip"},
			count(plan.OrphansOf(plan.Reference{Reference: boss}), "SELECT COUNT(*) FROM users c WHERE boss_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM users p WHERE p.id = c.boss_id)"),
			count(plan.RowsOf("users"), "SELECT COUNT(*) FROM users"),
			{Title: "digest", Phase: "map", Do: plan.Action{Kind: plan.Digest, Table: "users"}},
			{Title: "digest", Phase: "map", Do: plan.Action{Kind: plan.Digest, Table: "notes"}},
			{Title: "fill", Phase: "map", Do: plan.Action{Kind: plan.FillMap, Table: "users"}},
			{Title: "rewrite", Phase: "rewrite"},
			{Title: "contract", Phase: "contract"},
		},
	}
}

func (w *world) verify(t testing.TB) []verify.Check {
	t.Helper()
	checks, err := verify.Plan(t.Context(), w.db, w.plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	return checks
}

func (w *world) digest(t testing.TB, table string) string {
	t.Helper()
	d, err := verify.Digest(t.Context(), w.db, w.plan, table)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// journal writes steps as done, up to a number.
func (w *world) journal(t testing.TB, upto int, found map[int]string) {
	t.Helper()
	d, _ := dialect.Lookup(w.kind)
	hash, err := w.plan.Hash()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := w.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := journal.Create(t.Context(), conn, d); err != nil {
		t.Fatal(err)
	}
	w.exec(t, "DELETE FROM "+journal.StepsTable, "DELETE FROM "+journal.PlansTable)
	writer, err := journal.NewWriter(d, hash)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Begin(t.Context(), tx, string(w.plan.Mode), "none", "", w.plan.Tables); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= upto; n++ {
		if err := writer.Put(t.Context(), tx, journal.Step{Number: n, Title: w.plan.Steps[n-1].Title, State: journal.StepDone, Found: found[n]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// fill fills the map.
func (w *world) fill(t testing.TB) {
	t.Helper()
	f, err := mapping.NewFiller(t.Context(), w.db, w.plan, w.plan.Keys[0])
	if err != nil {
		t.Fatal(err)
	}
	tx, err := w.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, n, _, err := f.Fill(t.Context(), tx, math.MinInt64, 1000); n != 40 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// rewrite does what a rekey does.
func (w *world) rewrite(t testing.TB) {
	t.Helper()
	w.exec(t, `UPDATE users SET boss_id = (SELECT new_id FROM users_map WHERE old_id = boss_id) WHERE boss_id IS NOT NULL`,
		`UPDATE users SET id = (SELECT new_id FROM users_map WHERE old_id = id) WHERE id < 1000`)
	text := w.pick("CAST(m.new_id AS TEXT)", "CAST(m.new_id AS CHAR)", "CAST(m.new_id AS TEXT)")
	w.exec(t, `UPDATE notes SET owner_id = (SELECT `+text+` FROM users_map m WHERE `+strings.Replace(text, "new_id", "old_id", 1)+` = owner_id) WHERE owner_type = 'users' AND number <= 40`)
	w.exec(t, w.pick(`UPDATE notes SET doc = json_set(doc, '$.user.id', (SELECT new_id FROM users_map WHERE old_id = json_extract(doc, '$.user.id'))) WHERE number <= 40`,
		`UPDATE notes SET doc = JSON_SET(doc, '$.user.id', (SELECT new_id FROM users_map WHERE old_id = JSON_EXTRACT(doc, '$.user.id'))) WHERE number <= 40`,
		`UPDATE notes SET doc = jsonb_set(doc, '{user,id}', (SELECT to_jsonb(new_id) FROM users_map WHERE old_id = (doc #>> '{user,id}')::bigint)) WHERE number <= 40`))
	if w.kind != "sqlite" {
		w.exec(t, `ALTER TABLE users ADD CONSTRAINT the_boss FOREIGN KEY (boss_id) REFERENCES users(id) ON DELETE CASCADE`)
	}
}

// migrated is the world after the plan's last step but the contraction.
func (w *world) migrated(t testing.TB) {
	t.Helper()
	found := map[int]string{3: "[7,0]", 4: "[7,40]", 5: w.digest(t, "users"), 6: w.digest(t, "notes")}
	w.fill(t)
	w.rewrite(t)
	w.journal(t, 8, found)
}
