package inspect_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// TestNarrowPrograms has routines and triggers that keys of 64 bits break, which has to be reported, and others that it does not break. The proof is a call with
// a snowflake.
func TestNarrowPrograms(t *testing.T) {
	t.Parallel()
	const id = "7130316800000020481"
	for _, tt := range []struct {
		name, kind string
		setup      []string
		call       string
		fails      bool
	}{
		{"an argument", "postgres", []string{"CREATE FUNCTION f(p_order_id integer) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM orders WHERE id = p_order_id'"}, "SELECT f(" + id + ")", true},
		{"a wide argument", "postgres", []string{"CREATE FUNCTION f(p_order_id bigint, most int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM orders WHERE id = p_order_id LIMIT most); END'"}, "SELECT f(" + id + ", 1)", false},
		{"a result", "postgres", []string{"CREATE FUNCTION f() RETURNS SETOF integer LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT o.id FROM orders o; END'"}, "SELECT f()", true},
		{"a greatest id", "postgres", []string{"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT max(o.id) FROM orders o'"}, "SELECT f()", true},
		{"a number of ids", "postgres", []string{"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT CAST(count(id) AS int) FROM orders'"}, "SELECT f()", false},
		{"rows", "postgres", []string{"CREATE FUNCTION f(most integer) RETURNS SETOF orders LANGUAGE sql AS 'SELECT * FROM orders WHERE n <= most'"}, "SELECT f(1)", false},
		{"a variable", "postgres", []string{"CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS 'DECLARE found int; BEGIN SELECT id INTO found FROM orders; RETURN found; END'"}, "SELECT f()", true},
		{"a trigger's variable", "postgres", []string{"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'DECLARE mine int; BEGIN mine := NEW.id; RETURN NEW; END'", "CREATE TRIGGER t BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION f()"}, "INSERT INTO orders VALUES (" + id + "1 / 10, 1)", true},
		{"an argument", "mysql", []string{"CREATE FUNCTION f(p_order_id INT) RETURNS BIGINT READS SQL DATA RETURN (SELECT COUNT(*) FROM orders WHERE id = p_order_id)"}, "SELECT f(" + id + ")", true},
		{"a result", "mysql", []string{"CREATE FUNCTION f() RETURNS INT READS SQL DATA BEGIN DECLARE found BIGINT; SELECT id INTO found FROM orders LIMIT 1; RETURN found; END"}, "SELECT f()", true},
		{"a greatest id", "mysql", []string{"CREATE FUNCTION f() RETURNS INT READS SQL DATA RETURN (SELECT MAX(id) FROM orders)"}, "SELECT f()", true},
		{"a variable", "mysql", []string{"CREATE FUNCTION f() RETURNS TEXT READS SQL DATA BEGIN DECLARE a, found INT; SELECT id INTO found FROM orders LIMIT 1; RETURN found; END"}, "SELECT f()", true},
		{"numbers", "mysql", []string{"CREATE FUNCTION f(most INT) RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM orders WHERE n < most)"}, "SELECT f(1)", false},
		{"a trigger's variable", "mysql", []string{"CREATE TRIGGER t BEFORE INSERT ON orders FOR EACH ROW BEGIN DECLARE mine INT; SET mine = NEW.id; END"}, "INSERT INTO orders VALUES (" + id + " + 1, 1)", true},
	} {
		t.Run(tt.kind+", "+tt.name, func(t *testing.T) {
			t.Parallel()
			db := openOn(t, tt.kind)
			run(t, db, append([]string{"CREATE TABLE orders (id bigint PRIMARY KEY, n int)", "INSERT INTO orders VALUES (" + id + ", 1)"}, tt.setup...)...)
			if err := db.Exec(tt.call).Error; (err != nil) != tt.fails {
				t.Fatalf("%s: got %v, want an error: %t", tt.call, err, tt.fails)
			}
			found := obstacles(mustInspect(t, db, inspect.Options{}), "routine", "trigger")
			if reported := len(found) > 0 && strings.HasSuffix(found[0], "widen,rekey,shadow"); reported != tt.fails {
				t.Errorf("got %v, want an obstacle: %t", found, tt.fails)
			}
		})
	}
}
