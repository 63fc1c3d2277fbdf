package inspect_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

func TestKeys(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		for _, tt := range []struct {
			columns string
			key     string // empty: none
			why     string
		}{
			{"n int PRIMARY KEY, id int NOT NULL UNIQUE", "n", ""},
			{"n int, id int NOT NULL UNIQUE, PRIMARY KEY (n, id)", "id", ""},
			{"n int, id int NOT NULL UNIQUE", "id", ""},
			{"n int, id int UNIQUE", "", "there is no primary key"},
			{"n int, id int NOT NULL, UNIQUE (id, n)", "", "there is no primary key"},
			{"n int NOT NULL UNIQUE", "", "there is no primary key"},
			{"n int, id int, PRIMARY KEY (n, id)", "", "the primary key is composite: n, id"},
			{"id varchar(20) PRIMARY KEY", "", "the primary key id is no integer, but"},
		} {
			run(t, db, "CREATE TABLE a ("+tt.columns+")")
			a := tableOf(t, mustInspect(t, db, inspect.Options{}), "a")
			if key := a.Key; (key != nil) != (tt.key != "") || key != nil && key.Column != tt.key || !strings.HasPrefix(a.NoKey, tt.why) || (a.NoKey == "") != (tt.why == "") {
				t.Errorf("%s: got %+v, %q, want %q, %q", tt.columns, key, a.NoKey, tt.key, tt.why)
			}
			run(t, db, "DROP TABLE a")
		}
	})
}

// Of a foreign key of several columns, the one that refers to the key is the reference, and all of them make an orphan.
func TestCompositeReference(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, "CREATE TABLE t (id int PRIMARY KEY, shop int NOT NULL, UNIQUE (id, shop))", "CREATE TABLE u (id int PRIMARY KEY, t_id int, shop int, CONSTRAINT f FOREIGN KEY (t_id, shop) REFERENCES t (id, shop))",
			"INSERT INTO t VALUES (1, 5), (2, 6)", "INSERT INTO u VALUES (1, 1, 5), (2, 2, 6), (3, NULL, 5), (4, 9, NULL)")
		if db.Name() == "sqlite" { // which does not look unless it is told to
			run(t, db, "INSERT INTO u VALUES (5, 1, 6), (6, 0, 5)")
		}
		r := mustInspect(t, db, inspect.Options{})
		want := map[string]string{"sqlite": "u.t_id > t.id declared certain 2"}[db.Name()]
		if want == "" {
			want = "u.t_id > t.id declared certain 0"
		}
		requireLines(t, references(r), want)
		if len(r.References) == 1 && (strings.Join(r.References[0].Columns, " ") != "t_id shop" || strings.Join(r.References[0].ToColumns, " ") != "id shop") {
			t.Errorf("got %+v, want all columns", r.References[0])
		}
	})
}

// What is declared is not guessed at, whatever stands beside it.
func TestDeclaredIsNoGuess(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, "CREATE TABLE people (id KEY!)", "CREATE TABLE owners (id KEY!)", "CREATE TABLE cars (id KEY!, owner_id int, owner_type varchar(9), person_id int, person_type varchar(9), keeper_id int, keeper_type varchar(9), FOREIGN KEY (owner_id) REFERENCES people (id), FOREIGN KEY (keeper_id) REFERENCES people (id))",
			"INSERT INTO people VALUES (1)", "INSERT INTO cars VALUES (1, 1, 'x', 1, 'retail', 1, 'x')")
		r := mustInspect(t, db, inspect.Options{})
		requireLines(t, references(r), "cars.owner_id > people.id declared certain 0", "cars.keeper_id > people.id declared certain 0", "cars.person_id > people.id name likely 0")
		requireLines(t, obstacles(r, "polymorphic"))
	})
}

// The triggers of a migration that is under way are none of the schema.
func TestOwnTriggers(t *testing.T) {
	db := openOn(t, "sqlite")
	run(t, db, "CREATE TABLE a (id INTEGER PRIMARY KEY)", "CREATE TRIGGER snowkey_gate_1 BEFORE INSERT ON a BEGIN SELECT 1; END")
	requireLines(t, obstacles(mustInspect(t, db, inspect.Options{})))
}
