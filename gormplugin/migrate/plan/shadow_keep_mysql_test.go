package plan_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/inspect"
	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// TestShadowKeepsMySQL checks what a rollback after the swap has to give back: the row 0, defaults, a key that is a foreign key with ON UPDATE CASCADE,
// and tables with zero dates for defaults, in sessions that let nobody declare them.
func TestShadowKeepsMySQL(t *testing.T) {
	t.Parallel()
	d := dbtest.MySQL(t)
	config, err := mysql.ParseDSN(d.DriverDSN)
	must(t, err)
	config.ParseTime, config.Params = true, map[string]string{"time_zone": "'+00:00'", "sql_mode": "'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'"}
	d.DriverDSN = config.FormatDSN()
	e := &changer{t: t, db: d.Open(t), d: dialect.MySQL}
	c, err := e.db.Conn(t.Context())
	must(t, err)
	for _, statement := range []string{
		"SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
		"CREATE TABLE people (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, seen DATETIME NOT NULL DEFAULT 0, created_at TIMESTAMP NOT NULL DEFAULT 0 ON UPDATE CURRENT_TIMESTAMP)",
		"CREATE TABLE faces (people_id BIGINT NOT NULL PRIMARY KEY, text VARCHAR(9), CONSTRAINT face FOREIGN KEY (people_id) REFERENCES people (id) ON DELETE CASCADE ON UPDATE CASCADE)",
		"CREATE TABLE notes (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, people_id BIGINT NOT NULL DEFAULT 0, other_people_id BIGINT DEFAULT 0, text VARCHAR(9), created_at TIMESTAMP NOT NULL, " +
			"CONSTRAINT note FOREIGN KEY (people_id) REFERENCES people (id))",
		"INSERT INTO people VALUES (0, 0, '2026-01-01'), (1, 0, '2026-01-02'), (2, 0, '2026-01-03')",
		"INSERT INTO faces VALUES (0, 'zero'), (1, 'one')",
		"INSERT INTO notes VALUES (1, 0, 0, 'zero', '2026-01-01'), (2, 1, 2, 'one', '2026-01-01')",
	} {
		_, err := c.ExecContext(t.Context(), statement)
		must(t, err)
	}
	_, err = c.ExecContext(t.Context(), "SET sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'")
	must(t, err)
	must(t, c.Close())
	state := func() string {
		var all strings.Builder
		for _, table := range []string{"people", "faces", "notes"} {
			var name, create string
			must(t, e.db.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+table).Scan(&name, &create))
			all.WriteString(create + "\n")
		}
		for _, query := range []string{
			"SELECT GROUP_CONCAT(CONCAT_WS(',', id, seen, created_at) ORDER BY id SEPARATOR ';') FROM people",
			"SELECT GROUP_CONCAT(CONCAT_WS(',', people_id, text) ORDER BY people_id SEPARATOR ';') FROM faces",
			"SELECT GROUP_CONCAT(CONCAT_WS(',', id, people_id, other_people_id, text) ORDER BY id SEPARATOR ';') FROM notes",
		} {
			var text string
			must(t, e.db.QueryRowContext(t.Context(), query).Scan(&text))
			all.WriteString(text + "\n")
		}
		return all.String()
	}
	before := state()
	e.p = shadowPlan(t, e.db, e.d, plan.Options{Keep: true}, inspect.Reference{Table: "notes", Column: "other_people_id", To: "people", ToColumn: "id", Origin: inspect.Given, Sure: inspect.Certain, Type: "bigint", Nullable: true}).p
	at := e.do(0, nil)
	for what, query := range map[string]string{
		"faces that are not of the row of their text": "SELECT count(*) FROM faces f JOIN people p ON p.id = f.people_id WHERE (f.text = 'zero') <> (p.created_at = '2026-01-01')",
		"defaults that are left":                      "SELECT 2 - count(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'notes' AND column_name IN ('people_id', 'other_people_id') AND column_default = '0'",
	} {
		if n := e.number(query); n != 0 {
			t.Errorf("after the swap: %s: %d", what, n)
		}
	}
	e.undo(at)
	different(t, "after all was undone", state(), before)
}

// TestShadowRefusesMySQL checks that attributes that a second column does not get stop the plan.
func TestShadowRefusesMySQL(t *testing.T) {
	t.Parallel()
	e := &changer{t: t, db: openMySQL(t), d: dialect.MySQL}
	e.exec("CREATE TABLE filled (id INT ZEROFILL NOT NULL AUTO_INCREMENT PRIMARY KEY, created_at TIMESTAMP NOT NULL)",
		"CREATE TABLE hidden (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, created_at TIMESTAMP NOT NULL, filled_id INT UNSIGNED INVISIBLE)")
	_, err := plan.Make(t.Context(), e.db, reportOf(t, e.db, e.d, inspect.Reference{Table: "hidden", Column: "filled_id", To: "filled", ToColumn: "id", Origin: inspect.Given, Sure: inspect.Certain}),
		plan.Options{Mode: plan.Shadow, Zone: "UTC"})
	for _, want := range []string{"filled.id is int(10) unsigned zerofill auto_increment:", "hidden.filled_id is int(10) unsigned INVISIBLE:"} {
		if !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ErrBlocked with %q", err, want)
		}
	}
}
