package verify_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/verify"
)

func failed(checks []verify.Check) (names []string) {
	for _, c := range checks {
		switch c.Result {
		case verify.Failed:
			names = append(names, c.Name+" "+c.Table)
		case verify.Unknown:
			names = append(names, "? "+c.Name+" "+c.Table)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func skipped(checks []verify.Check) (names []string) {
	for _, c := range checks {
		if c.Result == verify.Skipped {
			names = append(names, c.Name+" "+c.Table)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestPassed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.migrated(t)
		checks := w.verify(t)
		if len(failed(checks)) > 0 {
			t.Fatalf("got %+v", checks)
		}
		want := []string{"orphans notes", "rows notes"} // of the documents, and what the plan does not count
		if w.kind == "sqlite" {
			want = []string{"auto-increment users", "orphans notes", "rows notes"}
		}
		if got := skipped(checks); !slices.Equal(got, want) {
			t.Errorf("skipped: got %q, want %q", got, want)
		}
		var names []string
		for _, c := range checks {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		if got, want := strings.Join(slices.Compact(names), ", "), "auto-increment, bijection, digest, foreign keys, old values, order, orphans, rows, times, types"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestFaults plants one fault after another, and sees the check fail that is for it.
func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.migrated(t)
		id := func(old int) string { return fmt.Sprintf("(SELECT new_id FROM users_map WHERE old_id = %d)", old) }
		for _, of := range []struct {
			name        string
			plant, mend []string
			want        []string
		}{
			{"a lost row", []string{`DELETE FROM users WHERE id = ` + id(40)},
				[]string{`INSERT INTO users SELECT ` + id(40) + `, ` + id(20) + `, 'user 40', '2024-05-06T12:00:05', bytes, 40.25, 40.1, '{"a": [40]}' FROM users WHERE id = ` + id(1)},
				[]string{"? digest users", "? orphans notes", "? rows users"}},
			{"another value", []string{`UPDATE users SET price = 8 WHERE id = ` + id(3)}, []string{`UPDATE users SET price = 3.25 WHERE id = ` + id(3)}, []string{"? digest users"}},
			{"a table's value", []string{`UPDATE notes SET touched = '2024-05-06T12:00:01' WHERE number = 4`}, []string{`UPDATE notes SET touched = '2024-05-06T12:00:00' WHERE number = 4`}, []string{"? digest notes"}},
			{"another document", []string{`UPDATE users SET doc = '{"a": [99]}' WHERE id = ` + id(3)}, []string{`UPDATE users SET doc = '{"a": [3]}' WHERE id = ` + id(3)}, []string{"? digest users"}},
			{"two rows' values changed places", []string{`UPDATE users SET price = CASE price WHEN 3.25 THEN 4.25 ELSE 3.25 END WHERE id IN (` + id(3) + `, ` + id(4) + `)`},
				[]string{`UPDATE users SET price = CASE price WHEN 3.25 THEN 4.25 ELSE 3.25 END WHERE id IN (` + id(3) + `, ` + id(4) + `)`}, []string{"? digest users"}},
			{"another time", []string{`UPDATE users SET made = '2024-05-06T13:00:00' WHERE id = ` + id(40)}, []string{`UPDATE users SET made = '2024-05-06T12:00:05' WHERE id = ` + id(40)}, []string{"? digest users", "? times users"}},
			{"a pair that is none", []string{`UPDATE users_map SET new_id = -1 WHERE old_id = 2`},
				[]string{`UPDATE users_map SET new_id = (SELECT n FROM (SELECT MIN(new_id) + 1 AS n FROM users_map WHERE old_id = 1) x) WHERE old_id = 2`}, []string{"? digest users", "? rows users", "bijection users"}},
			{"an old row", []string{`INSERT INTO users (id, made) VALUES (500, '2024-05-06T12:00:00')`}, []string{`DELETE FROM users WHERE id = 500`}, []string{"bijection users"}},
			{"a row twice", []string{`INSERT INTO users (id, made) VALUES (5, '2024-05-06T12:00:00')`}, []string{`DELETE FROM users WHERE id = 5`}, []string{"? digest users", "bijection users"}},
			{"a text's old value", []string{`UPDATE notes SET owner_id = '7' WHERE number = 8`}, []string{`UPDATE notes SET owner_id = ` + id(8) + ` WHERE number = 8`}, []string{"? orphans notes", "old values notes"}},
			{"a document's old value", []string{`UPDATE notes SET doc = '{"user": {"id": "12"}}' WHERE number = 8`}, []string{`UPDATE notes SET doc = '{}' WHERE number = 8`}, []string{"old values notes"}},
			{"an orphan", []string{`UPDATE notes SET owner_id = '9000' WHERE number = 8`}, []string{`UPDATE notes SET owner_id = ` + id(8) + ` WHERE number = 8`}, []string{"orphans notes"}},
		} {
			for _, s := range of.plant {
				w.exec(t, w.free(s))
			}
			if got := failed(w.verify(t)); !slices.Equal(got, of.want) {
				t.Errorf("%s: got %q, want %q: %+v", of.name, got, of.want, w.verify(t))
			}
			for _, s := range of.mend {
				w.exec(t, w.free(s))
			}
			if got := w.verify(t); len(failed(got)) > 0 {
				t.Fatalf("%s: mended, got %+v", of.name, got)
			}
		}
	})
}

// free makes a statement one that a kind of database takes: MySQL does not read a table that it changes, and PostgreSQL makes no text of a number by itself.
func (w *world) free(statement string) string {
	if w.kind == "postgres" && strings.Contains(statement, "owner_id = (SELECT new_id") {
		return strings.Replace(statement, "SELECT new_id", "SELECT new_id::text", 1)
	}
	return statement
}

// TestDeclared changes what the tables are declared as.
func TestDeclared(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.migrated(t)
		if w.kind == "sqlite" { // which changes no column and no foreign key
			w.plan.References[0].OnDelete = "SET NULL"
			w.journal(t, 8, nil)
			if got := failed(w.verify(t)); !slices.Equal(got, []string{"foreign keys users"}) {
				t.Errorf("got %q", got)
			}
			return
		}
		w.exec(t, w.pick("", "ALTER TABLE users DROP FOREIGN KEY the_boss", "ALTER TABLE users DROP CONSTRAINT the_boss"))
		if got := failed(w.verify(t)); !slices.Equal(got, []string{"foreign keys users"}) {
			t.Errorf("without the foreign key: got %q", got)
		}
		w.exec(t, "ALTER TABLE users ADD CONSTRAINT the_boss FOREIGN KEY (boss_id) REFERENCES users(id) ON DELETE SET NULL")
		if got := failed(w.verify(t)); !slices.Equal(got, []string{"foreign keys users"}) {
			t.Errorf("with another action: got %q", got)
		}
		w.exec(t, w.pick("", "ALTER TABLE users DROP FOREIGN KEY the_boss", "ALTER TABLE users DROP CONSTRAINT the_boss"), "UPDATE users SET boss_id = NULL",
			w.pick("", "ALTER TABLE users MODIFY boss_id INT", "ALTER TABLE users ALTER boss_id TYPE INT"), "ALTER TABLE notes "+w.pick("", "MODIFY owner_type", "ALTER owner_type TYPE")+" VARCHAR(21)",
			w.pick("", "ALTER TABLE users MODIFY id BIGINT AUTO_INCREMENT", "ALTER TABLE users ALTER id ADD GENERATED BY DEFAULT AS IDENTITY"))
		if got := failed(w.verify(t)); !slices.Equal(got, []string{"? digest users", "auto-increment users", "foreign keys users", "types users"}) {
			t.Errorf("narrow, and with keys of the database's: got %q", got)
		}
	})
}

// TestSteps runs as far as a plan can be, and sees that what was not run is not judged.
func TestSteps(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if got, err := verify.Plan(t.Context(), w.db, w.plan, nil); !errors.Is(err, journal.ErrState) {
			t.Errorf("never run: got %+v, %v, want ErrState", got, err)
		}
		w.journal(t, 0, nil)
		if got := w.verify(t); len(failed(got)) > 0 || len(skipped(got)) < 7 {
			t.Errorf("not run: got %+v", got)
		}
		found := map[int]string{3: "[7,0]", 4: "[7,40]", 5: w.digest(t, "users"), 6: w.digest(t, "notes")}
		w.fill(t)
		for upto := 1; upto <= 7; upto++ {
			w.journal(t, upto, found)
			if got := w.verify(t); len(failed(got)) > 0 {
				t.Errorf("step %d: got %+v", upto, got)
			}
		}
		w.rewrite(t)
		w.exec(t, "DROP TABLE users_map")
		w.journal(t, 9, found)
		checks := w.verify(t)
		if len(failed(checks)) > 0 {
			t.Errorf("without the map: got %+v", checks)
		}
		for _, c := range checks {
			if (c.Name == "bijection" || c.Name == "old values") && !strings.Contains(c.Text, "was dropped") {
				t.Errorf("without the map: got %+v", c)
			}
		}
	})
}

// TestOrder gives two rows of one second each other's new id, with all that goes with it.
func TestOrder(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.fill(t)
		w.exec(t, "UPDATE users_map SET new_id = -new_id WHERE old_id IN (1, 2)",
			"UPDATE users_map SET new_id = CASE old_id WHEN 1 THEN 1 ELSE -1 END - new_id WHERE old_id IN (1, 2)") // 1 gets the one after it, 2 the one before
		found := map[int]string{3: "[7,0]", 4: "[7,40]", 5: w.digest(t, "users"), 6: w.digest(t, "notes")}
		w.rewrite(t)
		w.journal(t, 8, found)
		if got := failed(w.verify(t)); !slices.Equal(got, []string{"order users"}) {
			t.Errorf("got %q", got)
		}
	})
}
