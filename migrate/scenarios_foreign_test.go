package migrate_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/migrate"
)

func init() {
	scenarios = append(scenarios, scenario{"02 32 bits under foreign keys", []string{"mysql", "postgres"}, testForeign})
}

// testForeign widens a key with two children and a reference to itself: all that is declared beside the types has to be the same afterwards.
func testForeign(t *testing.T, d *database) {
	d.exec(foreignSchema[d.kind]...)
	d.exec(
		"INSERT INTO parents (id, parent_id, weight) VALUES (1, NULL, 1), (2, 1, 1), (3, 2, 2147483647), (7, 7, 4)",
		"INSERT INTO firsts (id, parent_id, backup_id, amount) VALUES (1, 1, NULL, 5), (2, 3, 7, 6)",
		"INSERT INTO seconds (parent_id, line) VALUES (1, 1), (1, 2), (3, 1)",
	)
	before := d.declared()
	d.run(d.plan(migrate.InspectOptions{}, migrate.PlanOptions{}))
	d.exec("DROP TABLE snowkey_migrate_steps", "DROP TABLE snowkey_migrate") // the journal stays, for those who ask what was done
	want, got := widened(d.kind, before), d.declared()
	if got != want {
		t.Errorf("declared otherwise afterwards:\n%s", difference(got, want))
	}
	if want == before {
		t.Error("nothing was to be widened, so the test tests nothing")
	}
	const big = "9000000000000000001"
	d.exec("INSERT INTO parents (id, parent_id, weight) VALUES ("+big+", 7, 1)", "INSERT INTO firsts (id, parent_id, backup_id, amount) VALUES ("+big+", "+big+", "+big+", 1)",
		"INSERT INTO seconds (parent_id, line) VALUES ("+big+", 1)")
	for _, refused := range []string{
		"DELETE FROM parents WHERE id = 3",
		"INSERT INTO firsts (id, parent_id, amount) VALUES (9, 99, 1)",
		"INSERT INTO firsts (id, parent_id, amount) VALUES (9, NULL, 1)",
		"INSERT INTO seconds (parent_id, line) VALUES (99, 1)",
		"UPDATE parents SET parent_id = 99 WHERE id = 1",
	} {
		if _, err := d.pool.ExecContext(t.Context(), refused); err == nil {
			t.Errorf("%s: got no error, want that of a constraint", refused)
		}
	}
	d.exec("DELETE FROM firsts WHERE id = "+big, "UPDATE firsts SET backup_id = 2 WHERE id = 2", "DELETE FROM parents WHERE id IN (2, "+big+")")
	for query, want := range map[string]int64{
		"SELECT COUNT(*) FROM seconds":                                      3, // the cascade
		"SELECT COUNT(*) FROM parents WHERE id = 3 AND parent_id IS NULL":   1, // SET NULL
		"SELECT COUNT(*) FROM firsts WHERE id = 2 AND backup_id IS NULL":    1,
		"SELECT COUNT(*) FROM firsts":                                       2,
		"SELECT COUNT(*) FROM parents":                                      3,
		"SELECT COUNT(*) FROM parents WHERE id = 3 AND weight = 2147483647": 1,
	} {
		if n := d.number(query); n != want {
			t.Errorf("%s: got %d, want %d", query, n, want)
		}
	}
}

var (
	wideMySQL    = regexp.MustCompile("(`(?:id|[a-z]+_id)`) int\\(\\d+\\)")
	widePostgres = regexp.MustCompile(`(?m)^(column \S+ (?:id|[a-z]+_id)) integer(.*)$`)
)

// widened returns definitions as they are to be afterwards: the keys and references have 64 bits, and the database makes no keys.
func widened(kind, definitions string) string {
	switch kind {
	case "mysql":
		return regexp.MustCompile("(?m)^(  `id` bigint.*?) AUTO_INCREMENT( COMMENT|$)").ReplaceAllString(wideMySQL.ReplaceAllString(definitions, "$1 bigint(20)"), "$1$2")
	case "postgres":
		wide := widePostgres.ReplaceAllString(definitions, "$1 bigint$2")
		wide = regexp.MustCompile(`(?m)^sequence .*\n`).ReplaceAllString(wide, "")
		return regexp.MustCompile(`identity=[ad]| nextval\('[^']+'::regclass\)`).ReplaceAllStringFunc(wide, func(s string) string {
			if strings.HasPrefix(s, "identity") {
				return "identity="
			}
			return ""
		})
	}
	return definitions
}

// foreignSchema has keys with every action, written out or not, and columns that are narrow and must stay so.
var foreignSchema = map[string][]string{
	"mysql": {
		`CREATE TABLE parents (
	id INT NOT NULL AUTO_INCREMENT COMMENT 'it''s "the" int AUTO_INCREMENT, said \\ here',
	parent_id INT NULL DEFAULT NULL COMMENT 'of the same, or none',
	weight INT NOT NULL DEFAULT 3 COMMENT 'stays an int',
	PRIMARY KEY (id),
	KEY up (parent_id, weight),
	CONSTRAINT ` + "`the parent's`" + ` FOREIGN KEY (parent_id) REFERENCES parents (id) ON DELETE SET NULL) COMMENT='the parents'`,
		`CREATE TABLE firsts (
	id INT NOT NULL AUTO_INCREMENT,
	parent_id INT NOT NULL DEFAULT 1 COMMENT 'never NULL',
	backup_id INT NULL DEFAULT 7,
	amount INT UNSIGNED NULL,
	PRIMARY KEY (id),
	KEY named (backup_id),
	CONSTRAINT fk_restrict FOREIGN KEY (parent_id) REFERENCES parents (id) ON DELETE RESTRICT ON UPDATE RESTRICT,
	CONSTRAINT fk_mixed FOREIGN KEY (backup_id) REFERENCES parents (id) ON DELETE SET NULL ON UPDATE CASCADE)`,
		`CREATE TABLE seconds (
	parent_id INT NOT NULL,
	line INT NOT NULL,
	spare_id INT NULL COMMENT 'left at the default',
	other_id INT NULL,
	none_id INT NULL,
	PRIMARY KEY (parent_id, line),
	CONSTRAINT fk_cascade FOREIGN KEY (parent_id) REFERENCES parents (id) ON DELETE CASCADE,
	CONSTRAINT fk_plain FOREIGN KEY (spare_id) REFERENCES firsts (id),
	CONSTRAINT fk_half FOREIGN KEY (other_id) REFERENCES firsts (id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_none FOREIGN KEY (none_id) REFERENCES firsts (id) ON DELETE NO ACTION ON UPDATE RESTRICT)`,
	},
	"postgres": {
		`CREATE TABLE parents (
	id serial PRIMARY KEY,
	parent_id integer DEFAULT NULL,
	weight integer NOT NULL DEFAULT 3,
	CONSTRAINT "the parent's" FOREIGN KEY (parent_id) REFERENCES parents (id) ON DELETE SET NULL)`,
		`COMMENT ON COLUMN parents.id IS 'it''s "the" integer'`,
		`COMMENT ON CONSTRAINT "the parent's" ON parents IS 'up'`,
		`CREATE INDEX up ON parents (parent_id, weight) WHERE parent_id > 0`,
		`CREATE TABLE firsts (
	id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	parent_id integer NOT NULL DEFAULT 1,
	backup_id integer DEFAULT 7,
	amount integer,
	CONSTRAINT fk_restrict FOREIGN KEY (parent_id) REFERENCES parents (id) ON DELETE RESTRICT ON UPDATE RESTRICT,
	CONSTRAINT fk_mixed FOREIGN KEY (backup_id) REFERENCES parents (id) ON DELETE SET NULL ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED)`,
		`COMMENT ON COLUMN firsts.parent_id IS 'never NULL'`,
		`CREATE TABLE seconds (
	parent_id integer NOT NULL,
	line integer NOT NULL,
	spare_id integer,
	other_id integer,
	none_id integer,
	PRIMARY KEY (parent_id, line),
	CONSTRAINT fk_cascade FOREIGN KEY (parent_id) REFERENCES parents (id) ON DELETE CASCADE,
	CONSTRAINT fk_plain FOREIGN KEY (spare_id) REFERENCES firsts (id),
	CONSTRAINT fk_half FOREIGN KEY (other_id) REFERENCES firsts (id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_none FOREIGN KEY (none_id) REFERENCES firsts (id) NOT VALID)`,
	},
}
