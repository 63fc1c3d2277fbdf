package plan_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/plan"
)

// mysqlShop is a parent with a self-reference, children with several foreign keys to it, composite ones, and hostile names.
var mysqlShop = []string{
	"CREATE TABLE customers (id INT NOT NULL AUTO_INCREMENT COMMENT 'the AUTO_INCREMENT of \"it\\'s\" COMMENT', boss_id INT DEFAULT NULL COMMENT 'may be none', region SMALLINT NOT NULL DEFAULT 7," +
		" email VARCHAR(80) NOT NULL, changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (id), UNIQUE KEY (region, id), UNIQUE (email)," +
		" CONSTRAINT fk_boss FOREIGN KEY (boss_id) REFERENCES customers (id) ON DELETE SET NULL) COMMENT='people; -- and more'",
	"CREATE TABLE `or``der s` (`Id` INT UNSIGNED NOT NULL AUTO_INCREMENT, customer_id INT NOT NULL COMMENT 'who', payer_id INT DEFAULT NULL, region SMALLINT NOT NULL DEFAULT 7, `select` INT CHECK (`select` > 0)," +
		" PRIMARY KEY (`Id`), CONSTRAINT `fk 1` FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE ON UPDATE CASCADE," +
		" CONSTRAINT `fk``2` FOREIGN KEY (payer_id) REFERENCES customers (id), CONSTRAINT fk_pair FOREIGN KEY (region, customer_id) REFERENCES customers (region, id))",
	"CREATE TABLE `lines` (order_id INT UNSIGNED NOT NULL DEFAULT 1, n INT NOT NULL, note VARCHAR(20), PRIMARY KEY (order_id, n), CONSTRAINT fk_lines FOREIGN KEY (order_id) REFERENCES `or``der s` (`Id`) ON DELETE CASCADE)",
	"CREATE TABLE profiles (customer_id INT NOT NULL PRIMARY KEY AUTO_INCREMENT, text VARCHAR(20), CONSTRAINT fk_profile FOREIGN KEY (customer_id) REFERENCES customers (id))",
	"CREATE TABLE by_mail (id BIGINT NOT NULL PRIMARY KEY, email VARCHAR(80) NOT NULL, CONSTRAINT fk_mail FOREIGN KEY (email) REFERENCES customers (email))",
	"CREATE VIEW bosses AS SELECT id, email FROM customers WHERE boss_id IS NULL",
	"CREATE TRIGGER lower_mail BEFORE INSERT ON customers FOR EACH ROW SET NEW.email = LOWER(NEW.email)",
	"INSERT INTO customers (id, boss_id, email) VALUES (1, NULL, 'a'), (2, 1, 'b'), (3, 1, 'c')",
	"INSERT INTO `or``der s` VALUES (1, 1, NULL, 7, 5), (2, 2, 3, 7, NULL)",
	"INSERT INTO `lines` VALUES (1, 1, 'x'), (2, 1, 'y')",
	"INSERT INTO profiles VALUES (1, 'p'), (3, 'q')",
	"INSERT INTO by_mail VALUES (1, 'a')",
}

var mysqlTables = []string{"customers", "`or``der s`", "`lines`", "profiles", "by_mail"}

var keyLines = regexp.MustCompile("(?m)(^  KEY .*\n)+")

// definitions returns what SHOW CREATE TABLE tells, with the indexes in the order of their names: those that the server has made for a foreign
// key are made anew together with it.
func definitions(s *schema, tables ...string) string {
	var all []string
	for _, table := range tables {
		_, text, _ := strings.Cut(s.text("SHOW CREATE TABLE "+table), " | ")
		text = keyLines.ReplaceAllStringFunc(strings.ReplaceAll(text, "),\n", ")\n"), func(block string) string {
			lines := strings.SplitAfter(block, "\n")
			slices.Sort(lines)
			return strings.Join(lines, "")
		})
		all = append(all, regexp.MustCompile(` AUTO_INCREMENT=\d+`).ReplaceAllString(text, ""))
	}
	return strings.Join(append(all, s.rows("SHOW TRIGGERS")), "\n")
}

func contents(s *schema, tables ...string) string {
	var all []string
	for _, table := range tables {
		all = append(all, s.rows("SELECT * FROM "+table+" ORDER BY 1, 2"))
	}
	return strings.Join(all, "\n")
}

// wide makes of the definitions before what they are to be after.
func wide(before string, auto bool) string {
	before = regexp.MustCompile("(`(?:id|boss_id|customer_id|payer_id)`) int\\(11\\)").ReplaceAllString(before, "$1 bigint(20)")
	before = regexp.MustCompile("(`(?:Id|order_id)`) int\\(10\\) unsigned").ReplaceAllString(before, "$1 bigint(20) unsigned")
	if !auto {
		before = strings.ReplaceAll(before, "NOT NULL AUTO_INCREMENT", "NOT NULL")
	}
	return before
}

const snowflake = "7130316800000020481"

func TestWidenMySQL(t *testing.T) {
	t.Parallel()
	s := open(t, "mysql", mysqlShop...)
	before, rows := definitions(s, mysqlTables...), contents(s, mysqlTables...)
	p := s.plan(plan.Options{})
	if strings.HasPrefix(p.Database.Version, "MariaDB") {
		s.golden(p, "widen_mysql")
	}
	if want := []string{"ALTER", "CREATE", "INSERT", "REFERENCES", "TRIGGER"}; !slices.Equal(slices.Sorted(slices.Values(p.Privileges)), want) {
		t.Errorf("got the privileges %q, want %q", p.Privileges, want)
	}
	e := s.executor(p)
	held := false
	e.hold = func() {
		held = true
		same(t, "the definitions at the hold", regexp.MustCompile("(?m)^snowkey_gate.*\n").ReplaceAllString(definitions(s, mysqlTables...), ""), wide(before, true))
		s.refused("INSERT INTO customers (id, email) VALUES ("+snowflake+", 'x')", "before the flip; next: snowkey migrate status")
		s.exec("INSERT INTO customers (email) VALUES ('old')")
		s.exec("DELETE FROM customers WHERE email = 'old'")
	}
	e.run(len(p.Steps))
	if !held {
		t.Error("there was no hold")
	}
	same(t, "the definitions after it", definitions(s, mysqlTables...), wide(before, false))
	same(t, "the rows after it", contents(s, mysqlTables...), rows)
	s.refused("INSERT INTO customers (email) VALUES ('z')", "1364")
	s.refused("INSERT INTO `lines` VALUES (77, 1, '')", "fk_lines")
	s.exec("INSERT INTO customers (id, email) VALUES (" + snowflake + ", 'x')")
	s.exec("INSERT INTO profiles VALUES (" + snowflake + ", 'x')")
	e.undo(len(p.Steps))
	same(t, "the definitions after the rollback", definitions(s, mysqlTables...), wide(before, true))
	s.exec("DELETE FROM profiles WHERE text = 'x'")
	s.exec("DELETE FROM customers WHERE email = 'x'")
	same(t, "the rows after the rollback", contents(s, mysqlTables...), rows)
}

// TestWidenOwnIndexes checks that the index that the server makes for a foreign key without one keeps its name, and its place among the others.
func TestWidenOwnIndexes(t *testing.T) {
	t.Parallel()
	s := open(t, "mysql",
		"CREATE TABLE p (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TABLE c (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, p_id INT, n INT, KEY n (n), FOREIGN KEY (p_id) REFERENCES p (id))")
	create := func() string {
		_, text, _ := strings.Cut(s.text("SHOW CREATE TABLE c"), " | ")
		return strings.ReplaceAll(text, "int(11)", "bigint(20)")
	}
	before := create()
	p := s.plan(plan.Options{})
	for n := range len(p.Steps) + 1 {
		e := s.executor(p)
		e.hold = func() {}
		e.run(n)
		if got := create(); !strings.Contains(got, "KEY `p_id` (`p_id`)") {
			t.Errorf("after %d steps: got %s, want the key p_id", n, got)
		}
		e.undo(n)
		same(t, fmt.Sprintf("the definition after the rollback of %d steps", n), create(), before)
	}
}

// TestWidenMySQLHalfway rolls back after each step: no foreign key may be missing.
func TestWidenMySQLHalfway(t *testing.T) {
	t.Parallel()
	s := open(t, "mysql",
		"CREATE TABLE p (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, p_id INT, CONSTRAINT fk_self FOREIGN KEY (p_id) REFERENCES p (id))",
		"CREATE TABLE c (p_id INT NOT NULL PRIMARY KEY, n INT, CONSTRAINT fk_c FOREIGN KEY (p_id) REFERENCES p (id) ON DELETE CASCADE)",
		"INSERT INTO p VALUES (1, NULL), (2, 1)", "INSERT INTO c VALUES (1, 5)")
	tables := []string{"p", "c"}
	before, rows := definitions(s, tables...), contents(s, tables...)
	types := regexp.MustCompile(`(?:big)?int\((?:11|10|20)\)`)
	p := s.plan(plan.Options{})
	for n, step := range p.Steps {
		e := s.executor(p)
		e.run(n)
		e.undo(n)
		same(t, "a rollback before the step: "+step.String(), types.ReplaceAllString(definitions(s, tables...), "int"), types.ReplaceAllString(before, "int"))
		same(t, "the rows", contents(s, tables...), rows)
		if t.Failed() {
			return
		}
		for _, again := range []string{
			"ALTER TABLE c DROP FOREIGN KEY fk_c", "ALTER TABLE p DROP FOREIGN KEY fk_self", "ALTER TABLE c MODIFY p_id INT NOT NULL", "ALTER TABLE p MODIFY id INT NOT NULL AUTO_INCREMENT, MODIFY p_id INT",
			"ALTER TABLE p ADD CONSTRAINT fk_self FOREIGN KEY (p_id) REFERENCES p (id)", "ALTER TABLE c ADD CONSTRAINT fk_c FOREIGN KEY (p_id) REFERENCES p (id) ON DELETE CASCADE",
		} {
			s.exec(again)
		}
	}
}

// TestFlipZeroMySQL checks that a row 0 stays 0 when the key is AUTO_INCREMENT again.
func TestFlipZeroMySQL(t *testing.T) {
	t.Parallel()
	s := open(t, "mysql",
		"CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, c INT)", "INSERT INTO t (c) VALUES (1), (2)",
		"UPDATE t SET id = 0 WHERE id = 1")
	e := s.executor(s.plan(plan.Options{}))
	e.run(len(e.plan.Steps))
	e.undo(len(e.plan.Steps))
	same(t, "the rows", s.rows("SELECT * FROM t ORDER BY id"), "0 | 1\n2 | 2\n")
	s.exec("INSERT INTO t (c) VALUES (3)")
	same(t, "the next id", s.text("SELECT MAX(id) FROM t"), "3")
}

// TestFlipRefusedMySQL checks that the flip does not come while a writer is at work that leaves its keys to the database.
func TestFlipRefusedMySQL(t *testing.T) {
	t.Parallel()
	s := open(t, "mysql", "CREATE TABLE t (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, c INT)")
	p := s.plan(plan.Options{})
	e := s.executor(p)
	e.still = func([]string, []string) { s.exec("INSERT INTO t (c) VALUES (1)") }
	for _, step := range p.Steps {
		err := e.do(step.String(), step.Do)
		if step.Do.Kind == plan.AssertStable {
			if err == nil {
				t.Error("the flip goes on while an old writer is at work")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("no step looks for old writers")
}

// TestWidenMySQLOrphan deletes rows that others refer to, and adds one that refers to none, while the foreign keys are not there. The orphans are found, and the
// statements that the step has for them do what ON DELETE would have done.
func TestWidenMySQLOrphan(t *testing.T) {
	t.Parallel()
	s := open(t, "mysql", "CREATE TABLE p (id INT NOT NULL PRIMARY KEY, p_id INT, CONSTRAINT fk_self FOREIGN KEY (p_id) REFERENCES p (id) ON DELETE CASCADE)",
		"CREATE TABLE c (id BIGINT NOT NULL PRIMARY KEY, p_id INT, CONSTRAINT fk FOREIGN KEY (p_id) REFERENCES p (id))",
		"CREATE TABLE d (id BIGINT NOT NULL PRIMARY KEY, p_id INT, CONSTRAINT fk_d FOREIGN KEY (p_id) REFERENCES p (id) ON DELETE CASCADE)",
		"CREATE TABLE n (id BIGINT NOT NULL PRIMARY KEY, p_id INT, CONSTRAINT fk_n FOREIGN KEY (p_id) REFERENCES p (id) ON DELETE SET NULL)",
		"INSERT INTO p VALUES (1, NULL), (2, 1), (3, 2), (4, NULL)", "INSERT INTO d VALUES (1, 1), (2, 3), (3, 4)", "INSERT INTO n VALUES (1, 1), (2, 3), (3, 4)")
	p := s.plan(plan.Options{})
	e := s.executor(p)
	for i, step := range p.Steps {
		if p.Steps[max(i-1, 0)].Do.Kind == plan.Assert && strings.HasPrefix(step.String(), "give") {
			s.exec("INSERT IGNORE INTO c VALUES (1, 77)")
			s.exec("DELETE FROM p WHERE id = 1")
		}
		err := e.do(step.String(), step.Do)
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "do what ON DELETE would have done") {
			t.Fatal(err)
		}
		for range 3 { // rows that refer to rows that refer to none
			for _, q := range step.Do.Queries {
				if q.Remedy != "" {
					s.exec(q.Remedy)
				}
			}
		}
		s.exec("DELETE FROM c")
		if err := e.do(step.String(), step.Do); err != nil {
			t.Error(err)
		}
		same(t, "p", s.rows("SELECT id FROM p"), "4\n")
		same(t, "d", s.rows("SELECT * FROM d"), "3 | 4\n")
		same(t, "n", s.rows("SELECT id, COALESCE(p_id, 0) FROM n ORDER BY id"), "1 | 0\n2 | 0\n3 | 4\n")
		return
	}
	t.Error("an orphan was not found")
}
