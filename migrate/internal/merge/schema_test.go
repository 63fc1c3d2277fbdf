package merge_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/internal/merge"
)

// TestRefused wants databases that cannot be merged to be refused with all that is in the way, and nothing to be written.
func TestRefused(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		const plain = "CREATE TABLE a (id BIGINT PRIMARY KEY, name VARCHAR(40))"
		trigger := map[string][]string{
			"sqlite": {"CREATE TRIGGER a_up AFTER INSERT ON a BEGIN UPDATE a SET name = 'x'; END"},
			"mysql":  {"CREATE TRIGGER a_up BEFORE INSERT ON a FOR EACH ROW SET NEW.name = 'x'"},
			"postgres": {"CREATE FUNCTION up() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$",
				"CREATE TRIGGER a_up BEFORE INSERT ON a FOR EACH ROW EXECUTE FUNCTION up()"},
		}[kind]
		for _, test := range []struct {
			name       string
			into, from []string
			tables     []string
			want       error
			texts      []string
		}{
			{"columns", []string{plain, "CREATE TABLE b (id BIGINT PRIMARY KEY, n BIGINT, only_into BIGINT)"}, []string{plain, "CREATE TABLE b (id BIGINT PRIMARY KEY, n VARCHAR(9), only_from BIGINT)"}, nil,
				merge.ErrSchema, []string{"b: the column n is ", "has no column only_into", "has the column only_from, and Into"}},
			{"tables", []string{plain, "CREATE TABLE b (id BIGINT PRIMARY KEY)"}, []string{plain, "CREATE TABLE c (id BIGINT PRIMARY KEY)"}, nil,
				merge.ErrSchema, []string{"has the table c, and Into", "has no table b"}},
			{"keys", []string{"CREATE TABLE b (x BIGINT NOT NULL, y BIGINT NOT NULL, PRIMARY KEY (x, y))"}, []string{"CREATE TABLE b (x BIGINT NOT NULL, y BIGINT NOT NULL, PRIMARY KEY (y, x))"}, nil,
				merge.ErrSchema, []string{"b: the primary key is (x, y) in Into", "and (y, x) in From 1"}},
			{"no key", []string{plain, "CREATE TABLE b (n BIGINT)"}, []string{plain, "CREATE TABLE b (n BIGINT)"}, nil,
				merge.ErrSchema, []string{"b has no key by which its rows can be told apart"}},
			{"trigger", append([]string{plain}, trigger...), []string{plain}, nil, merge.ErrSchema, []string{"a has the trigger a_up (", "drop it for as long as the merge lasts"}},
			{"reference", []string{plain, "CREATE TABLE b (id BIGINT PRIMARY KEY, a_id BIGINT, FOREIGN KEY (a_id) REFERENCES a (id))"}, nil, []string{"b"},
				merge.ErrSchema, []string{"b refers to ", "which is not merged: name it, too"}},
			{"absent", []string{plain}, []string{plain}, []string{"nowhere"}, merge.ErrOption, []string{"has no table nowhere"}},
			{"twice", []string{plain}, []string{plain}, []string{"a", `"a"`}, merge.ErrOption, []string{"the table a is named twice"}},
			{"empty", nil, nil, nil, merge.ErrOption, []string{"has no tables"}},
			{"a view", []string{plain, "CREATE VIEW v AS SELECT id FROM a"}, []string{plain, "CREATE VIEW v AS SELECT id FROM a"}, []string{"v"}, merge.ErrSchema, []string{"v is a view"}},
		} {
			t.Run(test.name, func(t *testing.T) {
				if test.from == nil {
					test.from = test.into
				}
				into, from := anew(t, kind, test.into...), anew(t, kind, test.from...)
				_, err := merge.Run(t.Context(), into.db, []*gorm.DB{from.db}, merge.Options{Tables: test.tables})
				if !errors.Is(err, test.want) {
					t.Fatalf("got %v, want %v", err, test.want)
				}
				for _, text := range test.texts {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("got %v, want %q in it", err, text)
					}
				}
				if _, err := into.pool.ExecContext(t.Context(), "SELECT 1 FROM snowkey_merges"); err == nil {
					t.Error("the journal was made")
				}
			})
		}
	})
}

// TestOptions wants a database that is given twice, and others that cannot be, to be refused.
func TestOptions(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		a, b := anew(t, kind), anew(t, kind)
		other := anew(t, map[string]string{"sqlite": "mysql", "mysql": "postgres", "postgres": "sqlite"}[kind])
		unknown := *a.db
		unknown.Config = &gorm.Config{Dialector: strange{a.db.Dialector}}
		for _, test := range []struct {
			name string
			into *gorm.DB
			from []*gorm.DB
			o    merge.Options
			want string
		}{
			{"none", a.db, nil, merge.Options{}, "one or more to merge"},
			{"no into", nil, []*gorm.DB{b.db}, merge.Options{}, "needs a database to merge into"},
			{"nil", a.db, []*gorm.DB{nil}, merge.Options{}, "From 1 is nil"},
			{"into itself", a.db, []*gorm.DB{b.db, a.db}, merge.Options{}, "is the same database as Into"},
			{"twice", a.db, []*gorm.DB{b.db, b.db}, merge.Options{}, "is the same database as From 1"},
			{"other dialect", a.db, []*gorm.DB{other.db}, merge.Options{}, "only databases of one kind are merged"},
			{"strange dialect", a.db, []*gorm.DB{&unknown}, merge.Options{}, `the dialect "strange"`},
			{"target", a.db, []*gorm.DB{b.db}, merge.Options{Target: -1}, "the target -1ns is negative"},
			{"name", a.db, []*gorm.DB{b.db}, merge.Options{Tables: []string{`"a`}}, "is not closed"},
		} {
			if _, err := merge.Run(t.Context(), test.into, test.from, test.o); !errors.Is(err, merge.ErrOption) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, want ErrOption with %q", test.name, err, test.want)
			}
		}
	})
}

// strange is a dialect that nobody knows.
type strange struct{ gorm.Dialector }

func (strange) Name() string { return "strange" }

// TestCircles merges a table that refers to itself, and two that refer to each other, the child with the least key.
func TestCircles(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dbtest.LongOn(t, kind, "sqlite", "mysql")
		ddl := []string{
			"CREATE TABLE nodes (id BIGINT PRIMARY KEY, parent_id BIGINT NOT NULL, FOREIGN KEY (parent_id) REFERENCES nodes (id))",
			"CREATE TABLE teams (id BIGINT PRIMARY KEY, captain_id BIGINT)",
			"CREATE TABLE leaves (id BIGINT PRIMARY KEY, node_id BIGINT, FOREIGN KEY (node_id) REFERENCES nodes (id))",
			"CREATE TABLE players (id BIGINT PRIMARY KEY, team_id BIGINT NOT NULL, FOREIGN KEY (team_id) REFERENCES teams (id))",
		}
		const back = "ALTER TABLE teams ADD CONSTRAINT captain FOREIGN KEY (captain_id) REFERENCES players (id)"
		if kind == "sqlite" {
			ddl[1] = "CREATE TABLE teams (id BIGINT PRIMARY KEY, captain_id BIGINT REFERENCES players (id))"
		} else {
			ddl = append(ddl, back)
		}
		fill := []string{
			"INSERT INTO nodes VALUES (9000, 9000)", "INSERT INTO nodes VALUES (8000, 9000), (7, 8000), (6, 9000)",
			"INSERT INTO teams VALUES (1, NULL), (2, NULL)", "INSERT INTO players VALUES (10, 1), (11, 1), (12, 2)", "UPDATE teams SET captain_id = id + 10",
		}
		into, from := anew(t, kind, ddl...), anew(t, kind, append(ddl, fill...)...)
		off := map[string]string{"mysql": "SET foreign_key_checks = 0", "postgres": "SET session_replication_role = replica", "sqlite": "PRAGMA foreign_keys = 0"}[kind]
		if kind == "sqlite" {
			into.pool.SetMaxOpenConns(1) // the connection that is used before and after the merge
			into.execute(t, "PRAGMA foreign_keys = 1")
		}
		got, err := merge.Run(t.Context(), into.db, []*gorm.DB{from.db}, merge.Options{})
		if err != nil || got.Copied != 9 {
			t.Fatalf("got %d rows copied, %v, want 9", got.Copied, err)
		}
		if a, b := into.contents(t, "nodes", "teams", "players"), from.contents(t, "nodes", "teams", "players"); !slices.Equal(a, b) {
			t.Errorf("got %q, want %q", a, b)
		}
		if _, err := into.pool.ExecContext(t.Context(), "INSERT INTO nodes VALUES (1, 1234)"); err == nil {
			t.Error("Into's foreign keys are off after the merge")
		}
		// What refers to no row, because the foreign key was off when it was written, is refused.
		bad := func(insert ...string) error {
			p := anew(t, kind, ddl...)
			p.pool.SetMaxOpenConns(1)
			p.execute(t, append([]string{off}, insert...)...)
			_, err := merge.Run(t.Context(), into.db, []*gorm.DB{p.db}, merge.Options{})
			return err
		}
		if err := bad("INSERT INTO nodes VALUES (1, 1234)"); !errors.Is(err, merge.ErrCopied) || !strings.Contains(err.Error(), "1 rows of nodes refer by (parent_id)") {
			t.Errorf("got %v, want ErrCopied with the reference", err)
		}
		// Of tables that are in no circle the foreign keys are on while they are copied.
		if err := bad("INSERT INTO nodes VALUES (1, 1)", "INSERT INTO leaves VALUES (1, 1), (2, 1234)"); err == nil || !strings.Contains(err.Error(), "leaves from From 1") || !strings.Contains(err.Error(), "the row 2") {
			t.Errorf("got %v, want the row that refers to none", err)
		}
	})
}
