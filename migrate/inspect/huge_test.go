package inspect_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// Tables that the database takes for huge are not read as a whole.
func TestHugeTables(t *testing.T) {
	db := openOn(t, "postgres")
	run(t, db, "CREATE TABLE people (id bigserial PRIMARY KEY)", "INSERT INTO people SELECT generate_series(1, 2000)",
		"CREATE TABLE visits (id bigserial PRIMARY KEY, person_id int, owner_id int, owner_type text, topic_id int, topic_type text)",
		"INSERT INTO visits SELECT n, n, n, CASE WHEN n % 2 = 0 THEN 'people' ELSE 'visits' END, n, 'people' FROM generate_series(1, 2000) n",
		"CREATE INDEX ON visits (owner_type)", "CREATE TABLE logs (person_id int)", "INSERT INTO logs VALUES (1)",
		"ANALYZE", "UPDATE pg_class SET reltuples = 2e7 WHERE relname IN ('visits', 'logs')")
	r := mustInspect(t, db, inspect.Options{})
	requireLines(t, references(r),
		"visits.person_id > people.id name likely -1",
		"visits.owner_id[owner_type=people] > people.id polymorphic likely -1",
		"visits.owner_id[owner_type=visits] > visits.id polymorphic likely -1",
		"logs.person_id > people.id name possible -1", // the first rows say little
	)
	requireLines(t, obstacles(r), "no key:logs", "polymorphic:visits.topic_type rekey,shadow")
	for _, f := range r.References {
		if f.Table == "visits" && !strings.Contains(f.Why, "orphans were not counted, since visits has too many rows, about 20,000,000") {
			t.Errorf("got %q", f.Why)
		}
		if f.Table == "logs" && !strings.Contains(f.Why, "in the first rows") {
			t.Errorf("got %q", f.Why)
		}
	}
	if v := tableOf(t, r, "visits"); v.Exact || v.Rows != 20_000_000 {
		t.Errorf("got %+v, want the estimate", v)
	}
}

func TestTooManyTypes(t *testing.T) {
	db := openOn(t, "postgres")
	run(t, db, "CREATE TABLE people (id bigserial PRIMARY KEY, owner_id int, owner_type text)", "INSERT INTO people SELECT n, n, 'x' || n FROM generate_series(1, 101) n")
	r := mustInspect(t, db, inspect.Options{})
	requireLines(t, references(r))
	requireLines(t, obstacles(r), "polymorphic:people.owner_type rekey,shadow")
}
