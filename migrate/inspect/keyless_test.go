package inspect_test

import (
	"slices"
	"strings"
	"testing"

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
