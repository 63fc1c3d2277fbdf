package inspect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// TestKeylessPrograms has programs that insert rows, with their keys and without. The proof is a call after the database makes no keys any more.
func TestKeylessPrograms(t *testing.T) {
	t.Parallel()
	const function = "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
	const fire, insert = " RETURN NEW; END$$; CREATE TRIGGER t AFTER INSERT ON a FOR EACH ROW EXECUTE FUNCTION f()", "INSERT INTO a (id) VALUES (7)"
	const trigger = "CREATE TRIGGER t AFTER INSERT ON a FOR EACH ROW "
	for _, tt := range []struct {
		name, kind, program, call string
		fails                     bool
	}{
		{"a trigger", "mysql", trigger + "INSERT INTO log (a_id) VALUES (NEW.id)", insert, true},
		{"a trigger with the key", "mysql", trigger + "INSERT INTO log (a_id, id) VALUES (NEW.id, NEW.id)", insert, false},
		{"NULL", "mysql", trigger + "BEGIN INSERT IGNORE INTO `log` VALUES (NULL, (NEW.id)); INSERT INTO log (id, a_id) VALUES (DEFAULT, NEW.id); END", insert, true},
		{"no columns", "mysql", trigger + "INSERT INTO log () VALUES ()", insert, true},
		{"no values", "mysql", trigger + "INSERT INTO log VALUES ()", insert, true},
		{"SET", "mysql", trigger + "BEGIN IF NEW.id > 3 THEN INSERT log SET a_id = NEW.id; END IF; END", insert, true},
		{"SET with the key", "mysql", trigger + "REPLACE log SET a_id = NEW.id, ID = NEW.id", insert, false},
		{"a comment", "mysql", trigger + "INSERT INTO log /* (a_id) */ VALUES (NEW.id, NEW.id) -- INSERT INTO log (a_id)", insert, false},
		{"a procedure", "mysql", "CREATE PROCEDURE p(n BIGINT) INSERT INTO log (a_id) SELECT n", "CALL p(7)", true},
		{"a trigger", "postgres", function + "INSERT INTO log (a_id) VALUES (NEW.id);" + fire, insert, true},
		{"a trigger with the key", "postgres", function + "INSERT INTO public.log AS l VALUES (NEW.id, NEW.id);" + fire, insert, false},
		{"DEFAULT", "postgres", function + "INSERT INTO log VALUES (DEFAULT, NEW.id) ON CONFLICT DO NOTHING;" + fire, insert, true},
		{"DEFAULT VALUES", "postgres", function + "INSERT INTO public.log DEFAULT VALUES;" + fire, insert, true},
		{"another table", "postgres", "CREATE TABLE logs (n bigint); " + function + "INSERT INTO logs (n) VALUES (NEW.id); PERFORM id FROM log;" + fire, insert, false},
		{"a procedure", "postgres", "CREATE PROCEDURE p(n bigint) LANGUAGE sql BEGIN ATOMIC INSERT INTO log (a_id) VALUES (n); END", "CALL p(7)", true},
	} {
		t.Run(tt.kind+", "+tt.name, func(t *testing.T) {
			t.Parallel()
			db := openOn(t, tt.kind)
			key, flip := "bigint AUTO_INCREMENT PRIMARY KEY", "ALTER TABLE log MODIFY id bigint NOT NULL"
			if tt.kind == "postgres" {
				key, flip = "bigserial PRIMARY KEY", "ALTER TABLE log ALTER id DROP DEFAULT"
			}
			run(t, db, "CREATE TABLE a (id bigint PRIMARY KEY)", "CREATE TABLE log (id "+key+", a_id bigint)", tt.program)
			found := obstacles(mustInspect(t, db, inspect.Options{}), "keyless")
			if reported := len(found) > 0 && strings.HasSuffix(found[0], "widen,rekey,shadow"); reported != tt.fails {
				t.Errorf("got %v, want an obstacle: %t", found, tt.fails)
			}
			if left := obstacles(mustInspect(t, db, inspect.Options{Tables: []string{"!log"}}), "keyless"); len(left) > 0 {
				t.Errorf("with log left out: got %v, want no obstacle", left)
			}
			run(t, db, flip)
			if err := db.Exec(tt.call).Error; (err != nil) != tt.fails {
				t.Fatalf("%s: got %v, want an error: %t", tt.call, err, tt.fails)
			}
		})
	}
}

// TestUnreadablePrograms has a routine and a view of another definer, whose texts the user may not see, until a right lets the user read them.
func TestUnreadablePrograms(t *testing.T) {
	t.Parallel()
	database := dbtest.MySQL(t)
	admin, user := open(t, database.Admin()), open(t, database)
	run(t, admin, "CREATE TABLE customers (id int AUTO_INCREMENT PRIMARY KEY, name text)", "CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, customer_id int REFERENCES customers (id))",
		"CREATE PROCEDURE addorder(c int unsigned) INSERT INTO orders (customer_id) VALUES (c)", "CREATE TRIGGER twice AFTER INSERT ON customers FOR EACH ROW INSERT INTO orders (customer_id) VALUES (NEW.id)",
		"CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY DISABLE DO INSERT INTO orders (customer_id) VALUES (1)")
	const blocks = " widen,rekey,shadow"
	seen := []string{"keyless:orders.nightly" + blocks, "keyless:orders.twice" + blocks}
	report := mustInspect(t, user, inspect.Options{})
	requireLines(t, obstacles(report, "keyless", "unreadable", "routine"), append(seen, "unreadable:addorder"+blocks)...)
	for _, o := range report.Obstacles {
		if o.Kind == "unreadable" && (!slices.Equal(o.Tables, []string{"customers", "orders"}) || !strings.Contains(o.Do, "GRANT SELECT ON mysql.proc")) {
			t.Errorf("got %+v, want both tables and the right", o)
		}
	}
	var account string
	if err := user.Raw("SELECT CONCAT(QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@', QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)))").Scan(&account).Error; err != nil {
		t.Fatal(err)
	}
	run(t, admin, "GRANT SELECT ON mysql.proc TO "+account)
	requireLines(t, obstacles(mustInspect(t, open(t, database), inspect.Options{}), "keyless", "unreadable", "routine"), append(seen, "keyless:orders.addorder"+blocks)...)
}

// TestUnreadable has a user who may read and write the tables, and no more.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	database := dbtest.MySQL(t)
	admin := open(t, database.Admin())
	run(t, admin, "CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, customer_id int)", "CREATE VIEW v AS SELECT id FROM orders", "CREATE VIEW w AS SELECT id FROM orders",
		"CREATE TRIGGER t AFTER INSERT ON orders FOR EACH ROW SET @a = 1")
	name := admin.Migrator().CurrentDatabase()
	user := "u" + name[len(name)-8:]
	run(t, admin, "CREATE USER "+user+"@localhost IDENTIFIED BY 'word'", "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER ON `"+name+"`.* TO "+user+"@localhost")
	defer run(t, admin, "DROP USER "+user+"@localhost")
	config, err := mysql.ParseDSN(database.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	config.User, config.Passwd = user, "word"
	database.DSN = "mysql:" + config.FormatDSN()
	const blocks = " widen,rekey,shadow"
	requireLines(t, obstacles(mustInspect(t, open(t, database), inspect.Options{})), "unreadable:events"+blocks, "unreadable:t"+blocks, "unreadable:v"+blocks, "unreadable:w"+blocks)
	run(t, admin, "GRANT EVENT, TRIGGER, SHOW VIEW ON `"+name+"`.* TO "+user+"@localhost")
	requireLines(t, obstacles(mustInspect(t, open(t, database), inspect.Options{})), "view:orders."+name+".v", "view:orders."+name+".w")
}

// TestDefinerGone has triggers for UPDATE whose definer was dropped, or may have been.
func TestDefinerGone(t *testing.T) {
	t.Parallel()
	database := dbtest.MySQL(t)
	admin := open(t, database.Admin())
	user := admin.Migrator().CurrentDatabase()
	user = "u" + user[len(user)-8:]
	run(t, admin, "CREATE TABLE notes (id int AUTO_INCREMENT PRIMARY KEY, n int)", "CREATE USER "+user+"@localhost", "CREATE USER "+user+"_there@'%'",
		"CREATE DEFINER="+user+"@localhost TRIGGER touched BEFORE UPDATE ON notes FOR EACH ROW SET NEW.n = 1", "CREATE DEFINER="+user+"@localhost TRIGGER made BEFORE INSERT ON notes FOR EACH ROW SET NEW.n = 1",
		"CREATE DEFINER="+user+"_there@localhost TRIGGER other AFTER UPDATE ON notes FOR EACH ROW SET @a = 1", "DROP USER "+user+"@localhost")
	defer run(t, admin, "DROP USER "+user+"_there@'%'")
	report := mustInspect(t, admin, inspect.Options{})
	requireLines(t, obstacles(report), "definer:notes.touched rekey,shadow")
	for _, o := range report.Obstacles {
		if o.Kind == "definer" && (!strings.Contains(o.Text, user+"@localhost, and there is no such account") || !slices.Contains(o.Firm, "rekey")) {
			t.Errorf("got %+v, want the account, and that accepting it is of no use", o)
		}
	}
	requireLines(t, obstacles(mustInspect(t, open(t, database), inspect.Options{})), "definer:notes.other", "definer:notes.touched")
}

// TestTablesLeftOut names tables that are not to be looked at.
func TestTablesLeftOut(t *testing.T) {
	t.Parallel()
	db := openOn(t, "sqlite")
	run(t, db, "CREATE TABLE a (id integer PRIMARY KEY)", "CREATE TABLE log (id integer PRIMARY KEY, a_id integer REFERENCES a (id))")
	report := mustInspect(t, db, inspect.Options{Tables: []string{"!log"}})
	if !slices.ContainsFunc(report.Tables, func(t inspect.Table) bool { return t.Name == "a" }) || len(report.Tables) != 1 || len(report.References) != 1 {
		t.Errorf("got %v and references %v, want a, and what log refers to", report.Tables, report.References)
	}
	if _, err := inspect.Read(t.Context(), db, inspect.Options{Tables: []string{"!nothing"}}); err == nil {
		t.Error("a table that is not there: got no error")
	}
}
