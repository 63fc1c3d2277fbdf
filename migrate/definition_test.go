package migrate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
)

// shopOf is a small schema with a bit of everything, by database.
var shopOf = map[string][]string{
	"sqlite": {
		"CREATE TABLE people (id integer PRIMARY KEY AUTOINCREMENT, created_at datetime NOT NULL, name text DEFAULT 'x')",
		"CREATE TABLE pets (id integer PRIMARY KEY AUTOINCREMENT, created_at datetime NOT NULL, person_id int REFERENCES people (id) ON DELETE CASCADE, CHECK (person_id <> 5))",
		"CREATE INDEX pets_person ON pets (person_id)",
		"CREATE VIEW named AS SELECT id, name FROM people",
		"CREATE TRIGGER pets_gone AFTER DELETE ON pets BEGIN UPDATE people SET name = 'gone' WHERE id = -1; END",
	},
	"mysql": {
		"CREATE TABLE people (id int NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'it is AUTO_INCREMENT', created_at datetime NOT NULL, name varchar(9) DEFAULT 'x', KEY people_name (name))",
		"CREATE TABLE pets (id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, created_at datetime NOT NULL, person_id int COMMENT 'whose', CONSTRAINT pets_person FOREIGN KEY (person_id) REFERENCES people (id) ON DELETE CASCADE, CONSTRAINT pets_five CHECK (person_id <> 5))",
		"CREATE VIEW named AS SELECT id, name FROM people",
		"CREATE TRIGGER pets_gone AFTER DELETE ON pets FOR EACH ROW SET @gone = OLD.id",
	},
	"postgres": {
		"CREATE TABLE people (id serial PRIMARY KEY, created_at timestamptz NOT NULL, name varchar(9) DEFAULT 'x')",
		"CREATE TABLE pets (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz NOT NULL, person_id int CONSTRAINT pets_person REFERENCES people ON DELETE CASCADE ON UPDATE CASCADE, CONSTRAINT pets_five CHECK (person_id <> ALL ('{5,-5}') OR person_id IN (7, 8)))",
		"CREATE INDEX pets_person_id ON pets (person_id) WHERE person_id <> 9",
		"COMMENT ON COLUMN pets.person_id IS 'whose'",
		"CREATE VIEW named AS SELECT id, name FROM people WHERE id NOT IN (5, 6)",
		"GRANT SELECT ON named TO PUBLIC",
		"GRANT SELECT (name) ON people TO PUBLIC",
		"CREATE FUNCTION gone () RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
		"CREATE TRIGGER pets_gone AFTER DELETE ON pets FOR EACH ROW EXECUTE FUNCTION gone ()",
		"CREATE POLICY own ON pets USING (created_at IS NOT NULL)",
		"CREATE STATISTICS people_both ON created_at, name FROM people",
		"CREATE PUBLICATION names FOR TABLE people (name) WITH (publish = 'insert')",
	},
}

// TestDefinitions has verify find each thing that is not as it was, at a hold, at the end and after a rollback, and nothing where only the plan was at work.
func TestDefinitions(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	broken := map[string][][2]string{ // a statement, and what verify says of it
		"sqlite": {
			{"DROP INDEX pets_person", "CREATE INDEX pets_person ON pets (person_id)"},
			{"DROP TRIGGER pets_gone", "CREATE TRIGGER pets_gone"},
			{"CREATE INDEX people_name ON people (name)", "none"},
			{"DROP VIEW named", "CREATE VIEW named"},
		},
		"mysql": {
			{"ALTER TABLE people DROP INDEX people_name", "ADD KEY `people_name` (`name`)"},
			{"ALTER TABLE pets DROP FOREIGN KEY pets_person", "ADD CONSTRAINT `pets_person` FOREIGN KEY"},
			{"ALTER TABLE pets MODIFY person_id bigint COMMENT 'who'", "COMMENT 'whose'"},
			{"ALTER TABLE people ALTER name SET DEFAULT 'y'", "DEFAULT 'x'"},
			{"DROP TRIGGER pets_gone", "CREATE"},
			{"ALTER TABLE pets ADD other int", "none"},
		},
		"postgres": {
			{"DROP INDEX pets_person_id", "CREATE INDEX pets_person_id ON public.pets"},
			{"ALTER TABLE pets DROP CONSTRAINT pets_five", `ALTER TABLE "public"."pets" ADD CONSTRAINT "pets_five" CHECK`},
			{"ALTER TABLE people ALTER name SET DEFAULT 'y'", `ALTER COLUMN "name" SET DEFAULT 'x'`},
			{"COMMENT ON COLUMN pets.person_id IS NULL", `IS 'whose'`},
			{"ALTER TABLE pets DISABLE TRIGGER pets_gone", "disabled"},
			{"REVOKE SELECT ON named FROM PUBLIC", "=r/"},
			{"REVOKE SELECT (name) ON people FROM PUBLIC", "=r/"},
			{"GRANT UPDATE ON people TO PUBLIC", "Rights were granted"},
			{"ALTER TABLE people REPLICA IDENTITY FULL", "FULL"},
			{"DROP POLICY own ON pets", "created_at IS NOT NULL"},
			{"DROP STATISTICS people_both", "CREATE STATISTICS"},
			{"ALTER PUBLICATION names SET TABLE people (name, created_at)", `of insert columns ["name"]`},
			{"ALTER TABLE pets ALTER CONSTRAINT pets_person DEFERRABLE", "DEFERRABLE"},
		},
	}
	for _, mode := range []migrate.Mode{migrate.Widen, migrate.Rekey, migrate.Shadow} {
		kinds := []string{"sqlite", "mysql", "postgres"}
		switch mode {
		case migrate.Shadow:
			kinds = kinds[2:]
		case migrate.Widen: // which has no steps on SQLite
			kinds = kinds[1:]
		}
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			forEach(t, func(t *testing.T, d *database) {
				d.exec(shopOf[d.kind]...)
				d.exec("INSERT INTO people (created_at) VALUES ('2026-01-01 00:00:01'), ('2026-01-01 00:00:02')",
					"INSERT INTO pets (created_at, person_id) VALUES ('2026-01-01 00:00:03', 1), ('2026-01-01 00:00:04', 2)")
				o := migrate.PlanOptions{Mode: mode, Zone: "UTC", Accept: []string{"check:pets.pets_five"}}
				statements := broken[d.kind]
				if mode == migrate.Shadow {
					d.exec("ALTER TABLE pets DROP CONSTRAINT pets_five")
					statements = append(statements[:1:1], statements[2:]...)
				}
				p := d.plan(migrate.InspectOptions{}, o)
				d.runUntil(p, "flip")
				d.verify(p)
				if mode != migrate.Widen {
					d.runUntil(p, "contract")
					d.verify(p)
					d.exec("CREATE INDEX unannounced ON people (created_at)") // at the last point from which there is a way back
					if found := d.unequal(p); !strings.Contains(found, "unannounced") {
						t.Errorf("at the hold, with an index that nobody announced, verify says %q", found)
					}
					d.exec(map[bool]string{true: "DROP INDEX unannounced ON people", false: "DROP INDEX unannounced"}[d.kind == "mysql"])
				}
				d.rollback(p)
				d.verify(p)
				p = d.plan(migrate.InspectOptions{}, o)
				for range 5 {
					if d.runUntil(p, "").Done {
						break
					}
				}
				d.verify(p)
				for _, s := range statements {
					d.exec(s[0])
					found := d.unequal(p)
					if !strings.Contains(found, s[1]) {
						t.Errorf("%s: verify says %q, want %q in it", s[0], found, s[1])
					}
				}
			}, kinds...)
		})
	}
}

// unequal returns what verify says of definitions that are not as they should be.
func (d *database) unequal(p *migrate.Plan) string {
	d.t.Helper()
	checks := d.checks(p)
	var text strings.Builder
	for _, c := range checks {
		if c.Name == "definitions" && !c.Result.Good() {
			text.WriteString(strings.Join([]string{c.Table, c.Want, c.Got, c.Text}, " | ") + "\n")
		}
	}
	return text.String()
}

// TestAddedColumn has a column added at a hold, as a deployment's own migration does: run and rollback name it, and one that no statement of the rollback can meet is
// no reason to refuse the rollback. A plan that was rolled back says that the types are as it left them.
func TestAddedColumn(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		dbtest.LongOn(t, d.kind, "postgres")
		d.exec(shopOf[d.kind]...)
		d.exec("INSERT INTO people (created_at) VALUES ('2026-01-01 00:00:01')", "INSERT INTO pets (created_at, person_id) VALUES ('2026-01-01 00:00:03', 1)")
		p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC", Accept: []string{"check:pets.pets_five"}})
		d.runUntil(p, "contract")
		refused := func(do func(context.Context, *gorm.DB, *migrate.Plan, migrate.RunOptions) (migrate.Outcome, error), want ...string) {
			t.Helper()
			_, err := do(t.Context(), d.gorm, p, migrate.RunOptions{})
			for _, text := range want {
				if !errors.Is(err, run.ErrSchema) || !strings.Contains(err.Error(), text) {
					t.Errorf("got %v, want ErrSchema with %q", err, text)
				}
			}
		}
		for _, column := range []string{"x int", "y int NOT NULL DEFAULT 5"} {
			d.exec("ALTER TABLE pets ADD " + column)
			refused(migrate.Run, "pets: the column "+column[:1]+" is new", "undo that change")
		}
		refused(migrate.Rollback, "pets: the column y is new", "undo that change")
		d.exec("ALTER TABLE pets DROP COLUMN y")
		trigger := "CREATE TRIGGER another AFTER DELETE ON pets FOR EACH ROW "
		if d.kind == "mysql" {
			trigger += "SET @gone = OLD.id"
		} else {
			trigger += "EXECUTE FUNCTION gone ()"
		}
		d.exec(trigger)
		refused(migrate.Rollback, "pets: the trigger another is new")
		d.exec(map[bool]string{true: "DROP TRIGGER another", false: "DROP TRIGGER another ON pets"}[d.kind == "mysql"])
		d.rollback(p)
		if found := d.unequal(p); strings.Count(found, "\n") != 3 || strings.Count(found, "column x")+strings.Count(found, "columns: ") != 6 {
			t.Errorf("after the rollback verify says %q, want the column x alone", found)
		}
		refused(migrate.Run, "by the rollback of this plan, which leaves types wide", "people: the type of column id was int", "make a new plan")
	}, "mysql", "postgres")
}

// TestSearchPath has another user look at a plan of one whose tables are in a schema of its own: it is told where they are.
func TestSearchPath(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		d.exec("CREATE SCHEMA app")
		parameter := "?"
		if strings.Contains(d.name, "?") {
			parameter = "&"
		}
		app := connect(t, d.kind, d.name+parameter+"search_path=app")
		app.exec("CREATE TABLE people (id serial PRIMARY KEY, name text)")
		p := app.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Widen})
		_, err := migrate.Run(t.Context(), d.gorm, p, migrate.RunOptions{Dry: true})
		if !errors.Is(err, run.ErrSchema) || !strings.Contains(err.Error(), "the table people, which is in the schema app") || !strings.Contains(err.Error(), "search_path") {
			t.Errorf("got %v, want the schema", err)
		}
		app.runUntil(p, "flip")
		if s, err := migrate.ReadStatus(t.Context(), d.gorm); err != nil || !strings.Contains(s.Elsewhere, "snowkey_migrate, which is in the schema app") {
			t.Errorf("got %+v, %v, want the schema of the journal", s, err)
		}
	}, "postgres")
}
