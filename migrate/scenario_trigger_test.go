package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// stamping has triggers on UPDATE that stamp rows, and one that raises an error, which a rewriting of keys must not fire; and foreign keys of
// all actions.
var stamping = []string{
	"CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.updated_at := clock_timestamp(); RETURN NEW; END'",
	"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no rows of % are changed'', TG_TABLE_NAME; END'",
	"CREATE TABLE films (id serial PRIMARY KEY, sequel_id int REFERENCES films, title text, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL)",
	"CREATE TABLE prices (id serial PRIMARY KEY, film_id int CONSTRAINT fk_cascade REFERENCES films ON UPDATE CASCADE ON DELETE RESTRICT, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL)",
	"CREATE TABLE rentals (film_id int CONSTRAINT fk_restrict REFERENCES films ON UPDATE RESTRICT ON DELETE CASCADE, price_id int CONSTRAINT fk_null REFERENCES prices ON UPDATE SET NULL, updated_at timestamptz NOT NULL, PRIMARY KEY (film_id, price_id))",
	"INSERT INTO films SELECT g, nullif(g - 1, 0), 'film ' || g, timestamptz '2024-01-01' + g * interval '1 second', '2024-02-02' FROM generate_series(1, 300) g",
	"INSERT INTO prices SELECT g, g, timestamptz '2024-01-01' + g * interval '1 second', '2024-02-02' FROM generate_series(1, 300) g",
	"INSERT INTO rentals SELECT g, 301 - g, '2024-02-02' FROM generate_series(1, 300) g",
	"CREATE TRIGGER stamp BEFORE UPDATE ON films FOR EACH ROW EXECUTE FUNCTION stamp()",
	"CREATE TRIGGER stamp BEFORE UPDATE ON prices FOR EACH ROW EXECUTE FUNCTION stamp()",
	"CREATE TRIGGER refuse AFTER UPDATE ON rentals FOR EACH ROW EXECUTE FUNCTION refuse()",
	"CREATE TRIGGER born AFTER INSERT ON films FOR EACH ROW EXECUTE FUNCTION refuse()",
	"CREATE TRIGGER titles BEFORE UPDATE OF title ON films FOR EACH ROW EXECUTE FUNCTION refuse()",
	"CREATE TRIGGER off BEFORE UPDATE ON prices FOR EACH ROW EXECUTE FUNCTION refuse()",
	"ALTER TABLE prices DISABLE TRIGGER off",
}

// as returns the database as a new role has it, which owns the schema and the tables, and has been granted more.
func (d *database) as(t *testing.T, grants ...string) *database {
	t.Helper()
	role := strings.TrimSpace(d.lines("SELECT 'owner_' || current_database()"))
	d.exec("CREATE ROLE "+role, "GRANT USAGE, CREATE ON SCHEMA public TO "+role)
	for _, table := range d.texts("SELECT relname FROM pg_class WHERE relkind IN ('r', 'v') AND relnamespace = 'public'::regnamespace") {
		d.exec("ALTER TABLE " + table + " OWNER TO " + role)
	}
	for _, grant := range grants {
		d.exec(grant + " TO " + role)
	}
	t.Cleanup(func() {
		for _, s := range []string{"DROP OWNED BY " + role + " CASCADE", "DROP ROLE " + role} {
			if _, err := d.pool.ExecContext(context.Background(), s); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
	})
	separator := "?"
	if strings.Contains(d.name, "?") {
		separator = "&"
	}
	return connect(t, d.kind, d.name+separator+"role="+role)
}

// TestStampingTriggers rewrites keys under triggers that nobody has dropped or accepted, where the user may keep them from firing.
func TestStampingTriggers(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"superuser", "granted"} {
		for _, mode := range []migrate.Mode{migrate.Rekey, migrate.Shadow} {
			t.Run(user+" "+string(mode), func(t *testing.T) {
				if user == "granted" || mode == migrate.Shadow {
					dbtest.Long(t)
				}
				t.Parallel()
				d := open(t, "postgres")
				d.exec(stamping...)
				if user == "granted" {
					d = d.as(t, "GRANT SET ON PARAMETER session_replication_role")
				}
				stampless(t, d, mode)
			})
		}
	}
}

func stampless(t *testing.T, d *database, mode migrate.Mode) {
	const wrong = `SELECT COUNT(*) FROM rentals r LEFT JOIN films f ON f.id = r.film_id LEFT JOIN prices p ON p.id = r.price_id LEFT JOIN films q ON q.id = p.film_id
		WHERE f.created_at IS DISTINCT FROM timestamptz '2024-01-01' + 301 * interval '1 second' - (p.created_at - timestamptz '2024-01-01') OR q.created_at IS DISTINCT FROM p.created_at`
	const late = "SELECT (SELECT COUNT(*) FROM films WHERE updated_at <> '2024-02-02') + (SELECT COUNT(*) FROM prices WHERE updated_at <> '2024-02-02')"
	d.none("rows of other parents before", wrong)
	p := d.plan(migrate.InspectOptions{Tables: []string{"films", "prices"}}, migrate.PlanOptions{Mode: mode, Zone: "UTC"})
	if mode == migrate.Rekey && !slices.ContainsFunc(p.Notes, func(note string) bool {
		return strings.Contains(note, "for all others they go on: films.stamp, prices.stamp, rentals.refuse. ")
	}) {
		t.Errorf("got the notes\n%s\nwant one that names the triggers that do not fire", strings.Join(p.Notes, "\n"))
	}
	d.runUntil(p, "contract")
	d.verify(p)
	d.none("films with old ids", "SELECT COUNT(*) FROM films WHERE id < 4398046511104 OR sequel_id < 4398046511104")
	d.none("rows of other parents", wrong)
	d.none("rows that were stamped", late)
	d.none("triggers that are not as they were", "SELECT COUNT(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> CASE tgname WHEN 'off' THEN 'D' ELSE 'O' END")
	const held = "DELETE FROM films WHERE title = 'film 300'"
	d.refused(held) // the foreign key of prices
	d.refused("UPDATE rentals SET film_id = 1")
	d.rollback(p)
	d.none("films with new ids", "SELECT COUNT(*) FROM films WHERE id > 300 OR sequel_id <> id - 1")
	d.none("rows of other parents after the rollback", wrong)
	d.none("rows that were stamped by the rollback", late)
	d.exec("UPDATE films SET sequel_id = NULL WHERE title = 'film 9'", "UPDATE prices SET film_id = film_id WHERE id = 9")
	if n := d.number(late); n != 2 {
		t.Errorf("%d rows were stamped by an update of somebody else afterwards, want 2", n)
	}
	d.refused(held)
}

// TestAuditTriggersOfARollback undoes a swap when rows were written since, which a trigger copies into another table of the plan, as a superuser and as one who may not
// set session_replication_role, for whom the trigger fires in the batches.
func TestAuditTriggersOfARollback(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, user := range []string{"superuser", "owner"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			d := open(t, "postgres")
			d.exec(
				"CREATE TABLE customers (id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT '2024-01-01')",
				"CREATE TABLE orders (id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, customer_id integer NOT NULL REFERENCES customers, created_at timestamptz NOT NULL DEFAULT '2024-01-01')",
				"CREATE TABLE audit (id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, text text, created_at timestamptz NOT NULL DEFAULT '2024-01-01')",
				"CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO audit (id, text) SELECT COALESCE(max(id), 0) + 1, 'changed' FROM audit; RETURN NULL; END $$",
				"CREATE TRIGGER audit AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION audit()",
				"CREATE TRIGGER off AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION audit()", "ALTER TABLE orders DISABLE TRIGGER off",
				"INSERT INTO customers SELECT FROM generate_series(1, 3)",
				"INSERT INTO orders (customer_id) SELECT 1 FROM generate_series(1, 20)",
			)
			o, filled := migrate.PlanOptions{Mode: migrate.Shadow, Zone: "UTC"}, int64(0)
			if user == "owner" {
				d = d.as(t)
				o.Accept, filled = []string{"trigger:orders.audit"}, 20
			}
			triggers := d.lines("SELECT tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1")
			p := d.plan(migrate.InspectOptions{}, o)
			d.runUntil(p, "contract")
			if n := d.number("SELECT COUNT(*) FROM audit"); n != filled {
				t.Errorf("%d rows of the audit of the batches, want %d", n, filled)
			}
			d.exec("UPDATE orders SET customer_id = (SELECT max(id) FROM customers)")
			before := d.number("SELECT COUNT(*) FROM audit")
			d.rollback(p)
			if n := d.number("SELECT COUNT(*) FROM orders WHERE customer_id = 3 AND id <= 20"); n != 20 {
				t.Errorf("%d orders have their new customer and their old id, want 20", n)
			}
			if n := d.number("SELECT COUNT(*) FROM audit"); n != before || n < 20 {
				t.Errorf("%d rows of the audit, want the %d of before the rollback", n, before)
			}
			d.same("the triggers", d.lines("SELECT tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1"), triggers)
		})
	}
}

// TestStampingTriggersOfOthers: a user who may not keep triggers from firing is told how to, or accepts them, and then they fire.
func TestStampingTriggersOfOthers(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	super := open(t, "postgres")
	super.exec(slices.DeleteFunc(slices.Clone(stamping), func(s string) bool { return strings.HasPrefix(s, "CREATE TRIGGER refuse") })...)
	d := super.as(t)
	o := migrate.PlanOptions{Mode: migrate.Rekey}
	i := migrate.InspectOptions{Tables: []string{"films", "prices"}}
	_, err := d.tryPlan(i, o)
	for _, want := range []string{"the trigger stamp (BEFORE UPDATE) fires", "GRANT SET ON PARAMETER session_replication_role", "--accept trigger:films.stamp", "--accept trigger:prices.stamp"} {
		if !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it blocked with %q", err, want)
		}
	}
	for _, never := range []string{"born", "titles", "off"} { // they do not fire
		if err != nil && strings.Contains(err.Error(), never) {
			t.Errorf("got %v, want nothing of the trigger %s", err, never)
		}
	}
	o.Accept = []string{"trigger:films.stamp", "trigger:prices.stamp"}
	p := d.plan(i, o)
	d.runUntil(p, "contract")
	d.none("films that were not stamped", "SELECT COUNT(*) FROM films WHERE updated_at = '2024-02-02'")
	d.none("films with old ids", "SELECT COUNT(*) FROM films WHERE id < 4398046511104 OR sequel_id < 4398046511104")
	d.rollback(p)
	d.none("films with new ids", "SELECT COUNT(*) FROM films WHERE id > 300 OR sequel_id <> id - 1")

	// A plan of a superuser's is not for others to run.
	super.exec("DROP TABLE snowkey_migrate_steps, snowkey_migrate")
	p = super.plan(i, migrate.PlanOptions{Mode: migrate.Rekey})
	if _, err := migrate.Run(t.Context(), d.gorm, p, migrate.RunOptions{}); !errors.Is(err, run.ErrRights) || !strings.Contains(err.Error(), "session_replication_role") {
		t.Errorf("got %v, want ErrRights that names session_replication_role", err)
	}
}

// TestTriggersThatFireAlways are in no session silent, or in replicas' alone, which the migration's are.
func TestTriggersThatFireAlways(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, enable := range []string{"ALWAYS", "REPLICA"} {
		t.Run(enable, func(t *testing.T) {
			t.Parallel()
			d := open(t, "postgres")
			d.exec(stamping...)
			d.exec("ALTER TABLE films ENABLE " + enable + " TRIGGER stamp")
			o := migrate.PlanOptions{Mode: migrate.Rekey}
			i := migrate.InspectOptions{Tables: []string{"films", "prices"}}
			if _, err := d.tryPlan(i, o); !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), "--accept trigger:films.stamp") || strings.Contains(err.Error(), "prices") {
				t.Fatalf("got %v, want it blocked by the trigger of films alone", err)
			}
			o.Accept = []string{"trigger:films.stamp"}
			d.runUntil(d.plan(i, o), "contract")
			d.none("films that were not stamped", "SELECT COUNT(*) FROM films WHERE updated_at = '2024-02-02'")
			d.none("prices that were stamped", "SELECT COUNT(*) FROM prices WHERE updated_at <> '2024-02-02'")
		})
	}
}

// TestStampingTriggersOfSQLite are dropped and made again in each batch.
func TestStampingTriggersOfSQLite(t *testing.T) {
	t.Parallel()
	d := open(t, "sqlite")
	d.exec(d.parents(300)...)
	d.exec("ALTER TABLE parents ADD updated_at TEXT", "ALTER TABLE children ADD updated_at TEXT",
		"CREATE TRIGGER stamp AFTER UPDATE ON parents BEGIN UPDATE parents SET updated_at = 'now' WHERE id = new.id; END",
		"CREATE TRIGGER \"re fuse\" BEFORE UPDATE OF Parent_ID ON children BEGIN SELECT RAISE(ABORT, 'children stay'); END",
		"CREATE TRIGGER named AFTER UPDATE OF name ON parents BEGIN SELECT RAISE(ABORT, 'names stay'); END")
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC"})
	const stamped = "SELECT COUNT(*) FROM parents WHERE updated_at IS NOT NULL"
	triggers := d.lines("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY 1")
	d.runUntil(p, "contract")
	d.verify(p)
	d.none("parents with old ids", "SELECT COUNT(*) FROM parents WHERE id < 4398046511104")
	d.none("children of other parents", wrong)
	d.none("stamped parents", stamped)
	d.same("the triggers after the run", d.lines("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY 1"), triggers)
	d.rollback(p)
	d.none("parents with new ids", "SELECT COUNT(*) FROM parents WHERE id > 300")
	d.none("parents that the rollback has stamped", stamped)
	d.same("the triggers after the rollback", d.lines("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY 1"), triggers)
	d.refused("UPDATE children SET parent_id = 7 WHERE id = 1")
	d.refused("UPDATE parents SET name = 'x'")
}

// hostileTriggers have texts that are hard to put into others: labels, comments at the end, quotes of all kinds, other settings. Those of parents change what is not
// theirs when they fire in another order.
var hostileTriggers = [][]string{
	{"CREATE TRIGGER stamp BEFORE UPDATE ON parents FOR EACH ROW SET NEW.updated_at = NOW(3), NEW.said = 'stamp ' -- at last"},
	{"CREATE TRIGGER `it's \"a\"` BEFORE UPDATE ON parents FOR EACH ROW\n\tx: BEGIN\n\tIF NEW.mark = OLD.mark THEN LEAVE x; END IF; -- none\n" +
		"\tSET NEW.said = CONCAT(NEW.said, 'it''s \\'b\\' \"q\" \\\\ # no /* no; größe 🙂 '); END x # the end"},
	{"SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', character_set_client = latin1, collation_connection = latin1_german1_ci",
		`CREATE TRIGGER "an""si" BEFORE UPDATE ON "parents" FOR EACH ROW PRECEDES "it's ""a""" SET NEW."said" = CONCAT(NEW."said", 'c:\', NEW.mark, ' "');`},
	{"/*!50003 CREATE */ /*!50017 DEFINER = CURRENT_USER */ /*!50003 TRIGGER audit AFTER UPDATE ON parents FOR EACH ROW BEGIN\nINSERT INTO audit (said) VALUES (NEW.said); END */"},
	{"SET sql_mode = 'NO_ZERO_DATE', NAMES latin1", "CREATE TRIGGER refuse AFTER UPDATE ON children FOR EACH ROW\nSIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'children stay' /* really */"},
	{"CREATE TRIGGER born BEFORE INSERT ON parents FOR EACH ROW SET NEW.said = 'born'"},
}

// mariadb returns a database of MariaDB with parents, children and these triggers.
func mariadb(t *testing.T, triggers ...[]string) *database {
	t.Helper()
	d := open(t, "mysql")
	if !strings.Contains(d.lines("SELECT VERSION()"), "MariaDB") {
		t.Skip("the server is no MariaDB, and has no CREATE OR REPLACE TRIGGER")
	}
	d.exec(d.parents(300)...)
	d.exec("ALTER TABLE parents ADD mark INT NOT NULL DEFAULT 0, ADD updated_at DATETIME(3) NULL, ADD said VARCHAR(200) CHARACTER SET utf8mb4", "CREATE TABLE audit (said TEXT CHARACTER SET utf8mb4)")
	for _, texts := range triggers {
		conn, err := d.pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range append(texts, "SET SESSION sql_mode = DEFAULT", "SET NAMES utf8mb4") {
			if _, err := conn.ExecContext(t.Context(), text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

const declaredTriggers = "SELECT EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER, TRIGGER_NAME, DEFINER, SQL_MODE, CHARACTER_SET_CLIENT, COLLATION_CONNECTION, ACTION_STATEMENT " +
	"FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY 1, 2, 3, 4"

// TestStampingTriggersOfMariaDB fire for the application's updates in the middle of a run and of a rollback, and for none of the migration's own.
func TestStampingTriggersOfMariaDB(t *testing.T) {
	t.Parallel()
	for _, exclusive := range []bool{false, true} {
		t.Run(fmt.Sprintf("exclusive %t", exclusive), func(t *testing.T) {
			t.Parallel()
			d := mariadb(t, hostileTriggers...)
			triggers := d.lines(declaredTriggers)
			p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC", Exclusive: exclusive})
			beside := func(do func()) {
				if exclusive { // nobody else writes
					do()
					return
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan int)
				other := connect(t, d.kind, d.name)
				go func() {
					written := 0
					for tick := time.NewTicker(10 * time.Millisecond); ctx.Err() == nil; <-tick.C {
						if _, err := other.pool.ExecContext(context.Background(), "UPDATE parents SET mark = mark + 1 WHERE name = '7'"); err == nil { // else it met the lock of a batch
							written++
						}
					}
					ended <- written
				}()
				do()
				cancel()
				if n := <-ended; n == 0 {
					t.Error("nobody wrote beside the run")
				}
			}
			definitions := func(p *migrate.Plan) {
				t.Helper()
				for _, c := range d.checks(p) {
					if !c.Result.Good() && (exclusive || c.Name != "digest") { // the row 7 was changed
						t.Errorf("verify: %+v", c)
					}
				}
			}
			seen := func(when string) {
				t.Helper()
				d.none("children of other parents "+when, wrong)
				d.none("parents that were stamped "+when, "SELECT COUNT(*) FROM parents WHERE name <> '7' AND (updated_at IS NOT NULL OR said IS NOT NULL)")
				if got, want := d.number("SELECT COUNT(*) FROM audit"), d.number("SELECT SUM(mark) FROM parents"); got != want {
					t.Errorf("%s: the triggers fired for %d updates, want %d, those of others", when, got, want)
				}
				d.none("updates that fired other triggers "+when, `SELECT COUNT(*) FROM audit WHERE said NOT REGEXP '^stamp c:.[0-9]+ "it''s ''b'' "q" . # no /[*] no; größe 🙂 $'`)
				d.same("the triggers "+when, d.lines(declaredTriggers), triggers)
				d.refused("UPDATE children SET name = name WHERE name = '1'")
			}
			d.exec("UPDATE parents SET mark = mark + 1 WHERE name = '7'")
			seen("before")
			beside(func() { d.runUntil(p, "contract") })
			definitions(p)
			d.none("parents with old ids", "SELECT COUNT(*) FROM parents WHERE id < 4398046511104")
			seen("after the run")
			beside(func() { d.rollback(p) })
			d.none("parents with new ids", "SELECT COUNT(*) FROM parents WHERE id > 300")
			definitions(p)
			seen("after the rollback")
		})
	}
}

// TestTriggersOfOtherDefiners are for those to replace who may make triggers of another user.
func TestTriggersOfOtherDefiners(t *testing.T) {
	t.Parallel()
	owner := mariadb(t, hostileTriggers...)
	user := strings.TrimSpace(owner.lines("SELECT CONCAT('u', LEFT(MD5(DATABASE()), 12))"))
	account := func(name string) *database {
		return connect(t, owner.kind, regexp.MustCompile("^mysql:[^@]*@").ReplaceAllString(owner.name, "mysql:"+name+"@"))
	}
	owner.exec("CREATE USER "+user+"@localhost", "GRANT ALL ON * TO "+user+"@localhost")
	t.Cleanup(func() {
		if _, err := owner.pool.ExecContext(context.Background(), "DROP USER "+user+"@localhost"); err != nil {
			t.Error(err)
		}
	})
	d := account(user)
	d.exec("CREATE OR REPLACE TRIGGER refuse AFTER UPDATE ON children FOR EACH ROW SIGNAL SQLSTATE '45000'")
	i, o := migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC"}
	_, err := d.tryPlan(i, o)
	for _, want := range []string{"its definer is ", "the privilege SET USER", "--accept trigger:parents.stamp", "--accept trigger:parents.audit"} {
		if !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it blocked with %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "refuse") {
		t.Errorf("got %v, want nothing of the user's own trigger", err)
	}
	root := account("root")
	if err := root.pool.PingContext(t.Context()); err != nil {
		t.Skipf("no account that may grant SET USER: %v", err)
	}
	root.exec("GRANT SET USER ON *.* TO " + user + "@localhost")
	triggers := d.lines(declaredTriggers)
	p := d.plan(i, o)
	d.runUntil(p, "contract")
	d.verify(p)
	d.none("rows that fired a trigger", "SELECT COUNT(*) FROM audit")
	d.same("the triggers", d.lines(declaredTriggers), triggers)
}

// TestDeployedTrigger has the application replace a trigger in the middle of a run: it is not overwritten.
func TestDeployedTrigger(t *testing.T) {
	t.Parallel()
	d := mariadb(t, hostileTriggers...)
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC"})
	deploy := func(progress migrate.Progress) {
		if strings.HasPrefix(progress.Title, "give the rows of parents") && progress.Rows == 0 {
			d.exec("CREATE OR REPLACE TRIGGER refuse AFTER UPDATE ON children FOR EACH ROW SET @deployed = 1")
		}
	}
	outcome, err := migrate.Run(t.Context(), d.gorm, p, migrate.RunOptions{})
	for err == nil && !outcome.Done && p.Steps[outcome.Step].Phase != "contract" {
		outcome, err = migrate.Run(t.Context(), d.gorm, p, migrate.RunOptions{Continue: outcome.Hold, Progress: deploy})
	}
	if !errors.Is(err, run.ErrSchema) {
		t.Errorf("got %+v, %v, want ErrSchema", outcome, err)
	}
	d.none("triggers that were overwritten", "SELECT COUNT(*) = 0 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() AND ACTION_STATEMENT = 'SET @deployed = 1'")
	// What the plan's file has for it, and the run goes on.
	for _, step := range p.Steps {
		for _, text := range step.Do.SQL {
			if strings.Contains(text, "TRIGGER refuse") && strings.Contains(text, catalog.Guarded) {
				d.exec(text)
			}
		}
	}
	d.runUntil(p, "contract")
	d.verify(p)
}
