package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// hostileSchema is a small schema with what makes rewriting hard: a child before its parent in the alphabet, actions that cascade, a cycle, references
// of a table to itself that may be NULL, composite keys, and a composite reference to them.
func hostileSchema(kind string) (tables, statements []string) {
	id := map[string]string{"mysql": "id int NOT NULL AUTO_INCREMENT PRIMARY KEY", "postgres": "id serial PRIMARY KEY", "sqlite": "id INTEGER PRIMARY KEY AUTOINCREMENT"}[kind]
	stamp := map[string]string{"mysql": "datetime", "postgres": "timestamp", "sqlite": "datetime"}[kind]
	end := map[string]string{"mysql": " ENGINE=InnoDB"}[kind]
	tables = []string{"a_item", "a_tag", "m_note", "z_owner"}
	best := "best_item_id int NULL"
	if kind == "sqlite" { // which adds no constraint later, and looks at none yet
		best += " REFERENCES a_item (id) ON UPDATE CASCADE ON DELETE SET NULL"
	}
	// No action cascades from z_owner to itself: MySQL refuses the update that would.
	statements = []string{
		"CREATE TABLE z_owner (" + id + ", code varchar(20) NOT NULL UNIQUE, boss_id int NULL REFERENCES z_owner (id), " + best + ", created_at " + stamp + " NOT NULL)" + end,
		"CREATE TABLE a_item (" + id + ", owner_id int NOT NULL, before_id int NULL, title varchar(20) NOT NULL, created_at " + stamp + " NOT NULL, " +
			"CONSTRAINT a_item_owner FOREIGN KEY (owner_id) REFERENCES z_owner (id) ON UPDATE CASCADE ON DELETE CASCADE, " +
			"CONSTRAINT a_item_before FOREIGN KEY (before_id) REFERENCES a_item (id) ON DELETE SET NULL)" + end,
		"CREATE TABLE a_tag (owner_id int NOT NULL, item_id int NOT NULL, word varchar(20) NOT NULL, PRIMARY KEY (owner_id, item_id), " +
			"CONSTRAINT a_tag_item FOREIGN KEY (item_id) REFERENCES a_item (id) ON UPDATE CASCADE ON DELETE CASCADE, " +
			"CONSTRAINT a_tag_owner FOREIGN KEY (owner_id) REFERENCES z_owner (id) ON UPDATE CASCADE ON DELETE CASCADE)" + end,
		"CREATE TABLE m_note (" + id + ", owner_id int NULL, item_id int NULL, text varchar(20) NOT NULL, created_at " + stamp + " NOT NULL, " +
			"CONSTRAINT m_note_tag FOREIGN KEY (owner_id, item_id) REFERENCES a_tag (owner_id, item_id) ON UPDATE CASCADE ON DELETE CASCADE)" + end,
	}
	const count = 6
	var owners, items, tags, notes []string
	for i := 1; i <= count; i++ {
		at := fmt.Sprintf("'2024-01-0%d 10:00:00'", (i+1)/2)
		boss, before := "NULL", "NULL"
		if i > 1 {
			boss = fmt.Sprint(i / 2)
		}
		if i%3 == 0 {
			before = fmt.Sprint(i - 1)
		}
		owners = append(owners, fmt.Sprintf("('owner %d', %s, %s)", i, boss, at))
		items = append(items, fmt.Sprintf("(%d, %s, 'item %d', %s)", count+1-i, before, i, at))
		tags = append(tags, fmt.Sprintf("(%d, %d, 'tag %d')", i, count+1-i, i))
		notes = append(notes, fmt.Sprintf("(%d, %d, 'note %d', %s)", i, count+1-i, i, at))
	}
	notes = append(notes, "(NULL, NULL, 'of none', '2024-02-01 10:00:00')")
	statements = append(statements, "INSERT INTO z_owner (code, boss_id, created_at) VALUES "+strings.Join(owners, ", "),
		"INSERT INTO a_item (owner_id, before_id, title, created_at) VALUES "+strings.Join(items, ", "),
		"INSERT INTO a_tag (owner_id, item_id, word) VALUES "+strings.Join(tags, ", "),
		"INSERT INTO m_note (owner_id, item_id, text, created_at) VALUES "+strings.Join(notes, ", "),
		"UPDATE z_owner SET best_item_id = 7 - id WHERE id % 2 = 0")
	if kind != "sqlite" { // the cycle
		statements = append(statements, "ALTER TABLE z_owner ADD CONSTRAINT z_owner_best FOREIGN KEY (best_item_id) REFERENCES a_item (id) ON UPDATE CASCADE ON DELETE SET NULL")
	}
	if kind == "mysql" { // an UPDATE that fires one of these is seen in the rows
		statements = append(statements, "CREATE TRIGGER a_shout BEFORE UPDATE ON a_item FOR EACH ROW SET NEW.title = CONCAT(NEW.title, '!')",
			"CREATE TRIGGER z_first BEFORE UPDATE ON z_owner FOR EACH ROW SET NEW.code = CONCAT(NEW.code, '1')",
			"CREATE TRIGGER a_second BEFORE UPDATE ON z_owner FOR EACH ROW SET NEW.code = CONCAT(NEW.code, '2') -- after the first")
	}
	return tables, statements
}

// TestFaults ends runs and rollbacks before and after their statements: as kill -9 does, after which nothing more is sent, and by the end of the
// context. Then the run goes on to its end, or is rolled back, and the rollback is ended, too. Each comes to what an undisturbed one comes to.
// With SNOWKEY_TORTURE set it is done at each statement; else at some, half of them COMMIT, of a fixed seed. The rollback of a run that got to its
// end is ended, too.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is disturbed at every statement with -short")
	}
	t.Parallel()
	points := map[string]int{"sqlite": 8}
	if dbtest.IsLong() {
		points = map[string]int{"sqlite": 24, "mysql": 6, "postgres": 4}
	}
	const exclusive = "exclusive" // rekey
	modes := []migrate.Mode{migrate.Widen, migrate.Rekey, exclusive, migrate.Shadow}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		for _, mode := range modes {
			if mode == migrate.Shadow && kind != "postgres" || mode == migrate.Widen && kind == "sqlite" { // which has no steps there
				continue
			}
			t.Run(kind+"/"+string(mode), func(t *testing.T) {
				dbtest.LongOn(t, kind, "mysql", "postgres")
				t.Parallel()
				o := migrate.PlanOptions{Mode: mode, Zone: "UTC", Keep: true, Window: time.Millisecond}
				if mode == exclusive {
					o.Mode, o.Exclusive = migrate.Rekey, true
				}
				f := newFaults(t, kind, o)
				total := f.statements
				f.strike(total+1, 4|len(mode)%2)
				if f.flip > 0 { // the statement is done, and the journal does not know
					f.strike(f.flip, 1)
				}
				for i, n := range f.guards { // after one of several triggers, with and without a rollback
					f.strike(n, 1|i*2%8)
				}
				if tortured() {
					for n := range total {
						for how := range 8 {
							f.strike(n+1, how)
						}
					}
					return
				}
				random := rand.New(rand.NewPCG(20261123, uint64(len(kind)+len(mode))))
				for i := range points[kind] {
					n := 1 + (i*total+random.IntN(total))/points[kind]
					if i%4 > 1 { // at what decides whether something was done
						n = f.commits[(i*len(f.commits)+random.IntN(len(f.commits)))/points[kind]]
					}
					f.strike(n, random.IntN(4)|i%2<<2)
				}
			})
		}
	}
}

// faults is a database on which a plan is run and rolled back again and again.
type faults struct {
	*database
	t          *testing.T
	made       dbtest.Database
	tables     []string
	schema     []string
	plan       *migrate.Plan
	before     state
	after      state
	back       state // after a run and its rollback
	statements int   // of a run
	commits    []int // those of them that are COMMIT
	flip       int   // the last of them that ends the keys that MySQL makes; 0: none
	guards     []int // those of them that replace a trigger
	undoing    int   // of a rollback
}

// state is what a database has in it: the rows with their ids, and what is declared.
type state struct{ rows, declared string }

func newFaults(t *testing.T, kind string, o migrate.PlanOptions) *faults {
	t.Helper()
	f := &faults{t: t, made: kinds[kind](t)}
	name := f.made.DSN
	if kind == "sqlite" {
		name += "?_foreign_keys=on"
		f.made.DriverDSN += "?_foreign_keys=on"
	}
	f.database = connect(t, kind, name)
	f.tables, f.schema = hostileSchema(kind)
	f.exec(f.schema...)
	f.before = f.state()
	f.plan = f.database.plan(migrate.InspectOptions{References: []string{"m_note.owner_id=z_owner.id", "m_note.item_id=a_item.id"}}, o)
	f.statements, f.commits = f.count(run.Plan)
	f.after = f.state()
	guards := f.guards
	f.undoing, _ = f.count(run.Rollback)
	f.guards = guards
	f.back = f.state()
	if f.back.rows != f.before.rows {
		t.Fatalf("rolled back: %s", difference(f.back.rows, f.before.rows))
	}
	if got, want := wide(f.back.declared), wide(f.before.declared); got != want {
		t.Fatalf("rolled back: %s", difference(got, want))
	}
	t.Logf("%d statements of the run of %d steps, %d of the rollback", f.statements, len(f.plan.Steps), f.undoing)
	return f
}

// wide returns declarations without the widths of integers, which a rollback leaves as they are.
func wide(declared string) string {
	return regexp.MustCompile(`\b(big)?int(eger)?\b(\(\d+\))?`).ReplaceAllString(declared, "int")
}

type doing func(context.Context, *sql.DB, *plan.Plan, run.Options) (run.Outcome, error)

// through does something to the end, past all holds.
func (f *faults) through(ctx context.Context, db *sql.DB, do doing) error {
	o := run.Options{Target: time.Millisecond, LockWait: time.Second, Attempts: 3}
	for {
		outcome, err := do(ctx, db, f.plan, o)
		if err != nil || outcome.Done {
			return err
		}
		o.Continue = outcome.Hold
	}
}

// count does something undisturbed, and returns how many statements it took, and which of them are COMMIT.
func (f *faults) count(do doing) (n int, commits []int) {
	f.t.Helper()
	db, err := dbtest.Hooked(f.made.DriverName, f.made.DriverDSN, func(text string, do func() error) error {
		if n++; strings.HasPrefix(text, "COMMIT") {
			commits = append(commits, n)
		}
		if kind := f.plan.Database.Kind; kind == "mysql" && slices.ContainsFunc(f.plan.Steps, func(s plan.Step) bool { return s.Phase == "flip" && slices.Contains(s.Do.SQL, text) }) {
			f.flip = n
		}
		if strings.HasPrefix(text, "CREATE OR REPLACE DEFINER") {
			f.guards = append(f.guards, n)
		}
		return do()
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := errors.Join(f.through(f.t.Context(), db, do), db.Close()); err != nil {
		f.t.Fatal(err)
	}
	return n, commits
}

// errKilled is what every statement of a process comes to from its end on.
var errKilled = errors.New("the process is dead")

// ended does something that is ended at a statement: killed before or after it, or told to end by its context.
func (f *faults) ended(do doing, n int, after, cancels bool) (query string) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	at, dead := 0, false
	end := func() {
		if cancels {
			cancel()
		} else {
			dead = true
		}
	}
	db, err := dbtest.Hooked(f.made.DriverName, f.made.DriverDSN, func(text string, do func() error) error {
		if dead {
			return errKilled
		}
		if at++; at != n {
			return do()
		}
		query = text
		if !after {
			end()
			if dead {
				return errKilled
			}
			return do()
		}
		err := do()
		end()
		if dead {
			return errKilled
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	_ = f.through(ctx, db, do) // it ends as it may
	if err := db.Close(); err != nil {
		f.t.Fatal(err)
	}
	return query
}

// strike ends a run at a statement. The lowest bit of how says after it, or before; the next, by the context or killed; the next, whether it is
// rolled back, with another fault in that, or goes on.
func (f *faults) strike(n, how int) {
	f.t.Helper()
	after, cancels, undo := how&1 != 0, how&2 != 0, how&4 != 0
	f.reset()
	at := f.ended(run.Plan, n, after, cancels)
	where := fmt.Sprintf("statement %d (after %t, by the context %t): %.200s", n, after, cancels, at)
	f.writable(where)
	if !undo {
		if err := f.through(f.t.Context(), f.pool, run.Plan); err != nil {
			f.t.Fatalf("run again after an end at %s: %v", where, err)
		}
		f.same(where, f.state(), f.after)
		return
	}
	m := 1 + n*f.undoing/(f.statements+1)
	if n > f.statements {
		m = 1 + f.undoing/2
	}
	at = f.ended(run.Rollback, m, after, cancels)
	where += fmt.Sprintf(", then of the rollback statement %d: %.200s", m, at)
	f.writable(where)
	if err := f.through(f.t.Context(), f.pool, run.Rollback); err != nil && !f.unbegun(err) {
		f.t.Fatalf("rollback again after an end at %s: %v", where, err)
	}
	now := f.state()
	now.declared = wide(now.declared)
	f.same(where, now, state{f.before.rows, wide(f.before.declared)})
}

// unbegun reports whether there is nothing to roll back, since the run has not begun.
func (f *faults) unbegun(err error) bool {
	return strings.Contains(err.Error(), "nothing to roll back")
}

func (f *faults) same(where string, got, want state) {
	f.t.Helper()
	if got.rows != want.rows {
		f.t.Fatalf("rows after an end at %s:\n%s", where, difference(got.rows, want.rows))
	}
	if got.declared != want.declared {
		f.t.Fatalf("the schema after an end at %s:\n%s", where, difference(got.declared, want.declared))
	}
}

// state reads rows and declarations, but for what is the journal's and the maps', which a plan with Keep leaves.
func (f *faults) state() state {
	f.t.Helper()
	f.pool.SetMaxIdleConns(0) // a connection of PostgreSQL's that is kept has plans from before the types were changed
	f.pool.SetMaxIdleConns(maxConns)
	var rows strings.Builder
	for _, table := range f.tables {
		lines := strings.Split(f.lines("SELECT * FROM "+table), "\n")
		slices.Sort(lines)
		fmt.Fprintln(&rows, table, strings.Join(lines, "\n"))
	}
	declared := slices.DeleteFunc(f.declarations(), func(text string) bool { return strings.Contains(text, "snowkey_") })
	return state{rows.String(), strings.Join(declared, "\n")}
}

// reset makes the schema anew, with the rows that it had.
func (f *faults) reset() {
	f.t.Helper()
	conn, err := f.pool.Conn(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	statements := []string{"DROP SCHEMA public CASCADE", "CREATE SCHEMA public"}
	if f.kind != "postgres" {
		list := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
		statements = []string{"PRAGMA foreign_keys = OFF"}
		if f.kind == "mysql" {
			list, statements = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()", []string{"SET foreign_key_checks = 0"}
		}
		for _, table := range f.texts(list) {
			statements = append(statements, "DROP TABLE "+table)
		}
		statements = append(statements, map[string]string{"sqlite": "PRAGMA foreign_keys = ON", "mysql": "SET foreign_key_checks = 1"}[f.kind])
		if f.kind == "sqlite" {
			statements = append(statements, "DELETE FROM sqlite_sequence")
		}
	}
	for _, text := range append(statements, f.schema...) {
		if _, err := conn.ExecContext(f.t.Context(), text); err != nil {
			f.t.Fatalf("%s: %v", text, err)
		}
	}
}

// writable sees that at least one kind of writers can insert, those that fill their keys or those that leave them to the database, and that the
// status has the command that goes on, and says who can.
func (f *faults) writable(where string) {
	f.t.Helper()
	said := ""
	if status := f.status(); len(status.Plans) > 0 {
		said = status.Stands.Writers
		command, _, _ := strings.Cut(status.Stands.Next, " ")
		if want := map[journal.State]string{journal.Running: "run", journal.Undoing: "rollback"}[journal.State(status.Plans[0].State)]; command != want {
			f.t.Errorf("after an end at %s: status says %+v, want the command %q", where, status.Stands, want)
		}
	}
	for table, columns := range map[string]string{"z_owner": "code", "m_note": "text"} {
		var refused []string
		keyless := false
		for i, insert := range []string{"INSERT INTO %s (%s, created_at) VALUES ('late', '2026-01-01 00:00:00')",
			"INSERT INTO %s (id, %s, created_at) VALUES (5000000000000000000, 'late', '2026-01-01 00:00:00')"} {
			tx, err := f.pool.BeginTx(f.t.Context(), nil)
			if err != nil {
				f.t.Fatal(err)
			}
			if _, err := tx.ExecContext(f.t.Context(), fmt.Sprintf(insert, table, columns)); err != nil {
				refused = append(refused, err.Error())
			} else if i == 0 {
				keyless = true
			}
			_ = tx.Rollback()
		}
		if len(refused) == 2 {
			f.t.Errorf("after an end at %s: nobody can write %s: %s", where, table, strings.Join(refused, "; "))
		}
		one := strings.HasPrefix(said, "only those") // fill their keys, or leave them to the database
		if one && len(refused) == 0 || strings.HasPrefix(said, "only those that fill") == keyless && one || strings.HasPrefix(said, "those that leave") && !keyless {
			f.t.Errorf("after an end at %s: status says of writers %q, and of %s was refused: %q", where, said, table, refused)
		}
	}
}
