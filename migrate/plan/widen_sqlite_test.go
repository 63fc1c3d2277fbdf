package plan_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/plan"
)

// TestWidenSQLite wants a plan without steps, that copies no table to take AUTOINCREMENT away, and tries the trigger that its note offers.
func TestWidenSQLite(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite",
		"CREATE TABLE \"or\"\"der s\" (\"Id\" INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER)",
		"CREATE TABLE plain (id INTEGER PRIMARY KEY, order_id MEDIUMINT REFERENCES \"or\"\"der s\")",
		"CREATE TABLE codes (id INT PRIMARY KEY, plain_id INT REFERENCES plain)",
		"CREATE TABLE rowless (id INTEGER PRIMARY KEY) WITHOUT ROWID",
	)
	p := s.plan(plan.Options{})
	s.golden(p, "widen_sqlite")
	for _, note := range p.Notes {
		if trigger := regexp.MustCompile("CREATE TRIGGER .* END").FindString(note); trigger != "" {
			s.exec(trigger)
		}
	}
	const table = `"or""der s"`
	s.exec("INSERT INTO " + table + " VALUES (" + snowflake + ", 1)")
	for _, form := range []string{"(customer_id) VALUES (1)", "VALUES (NULL, 1)", "(customer_id) SELECT customer_id FROM " + table, "DEFAULT VALUES", "(customer_id) VALUES (1) ON CONFLICT DO NOTHING"} {
		s.refused("INSERT INTO "+table+" "+form, "no key")
		s.refused("REPLACE INTO "+table+" "+strings.TrimSuffix(form, " ON CONFLICT DO NOTHING"), "no key")
	}
}
