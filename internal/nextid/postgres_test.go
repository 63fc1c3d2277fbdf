package nextid_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// pausing has sessions of PostgreSQL wait for a lock at two places of the function: 1 without its lock, before it takes a word; and 2 with its lock, before it sets
// the word. A session waits where test.pause names the place.
func pausing(statement string) string {
	pause := func(place int) string {
		return fmt.Sprintf("IF current_setting('test.pause', true) = '%d' THEN PERFORM pg_advisory_lock(%[1]d), pg_advisory_unlock(%[1]d); END IF;\n", place)
	}
	statement = strings.Replace(statement, "word := nextval", pause(1)+"word := nextval", 1)
	statement = strings.Replace(statement, "word := setval", pause(2)+"word := setval", 1)
	return stepped(statement)
}

// until waits for a query to return a number.
func until(t *testing.T, f *fixture, what, query string, want int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := mustCall(t, f.pool, query)
		if got[0] == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: got %d, want %d", what, got[0], want)
		}
	}
}

const waiting = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"

// While one session is about to set the word, others that would take words beyond it wait: those that begin then, and one that has looked before.
func TestSetWord(t *testing.T) {
	far := regexp.MustCompile(`earliest \+ \d+`)
	f := newFixture(t, dbtest.Postgres(t), idgen.Snowkey.Layout, func(statement string) string {
		return far.ReplaceAllString(pausing(statement), "earliest + (1::bigint << 62)") // without the lock also where the word is an hour ahead
	})
	control, setting, early, late := f.session(t), f.session(t), f.session(t), f.session(t)
	// The last word is the last one of a tick an hour ahead, so that the next one is where the word will be set.
	ahead := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	tick := ahead.Sub(f.function.Layout.Epoch()).Milliseconds()
	mustCall(t, control, nextKey)
	mustCall(t, control, fmt.Sprintf("SELECT setval('snowkey_next_id_word12', %d)", tick<<12-2))
	for _, lock := range []int{1, 2} {
		mustCall(t, control, fmt.Sprintf("SELECT 1 FROM pg_advisory_lock(%d)", lock))
	}
	keys := make(chan []int64, 3)
	begin := func(who string, session queryer, count int) {
		go func() {
			got, err := call(t.Context(), session, fmt.Sprintf("SELECT snowkey_next_id() FROM generate_series(1, %d)", count))
			if err != nil {
				t.Errorf("%s: %v", who, err)
			}
			keys <- got
		}()
	}
	for _, s := range []struct {
		session queryer
		pause   string
	}{{early, "1"}, {setting, "2"}} {
		if _, err := call(t.Context(), s.session, "SELECT length(set_config('test.pause', '"+s.pause+"', false))"); err != nil {
			t.Fatal(err)
		}
	}
	begin("early", early, 1)
	until(t, f, "early waits", waiting, 1)
	f.step(t, setting, 7200)
	begin("setting", setting, 1)
	until(t, f, "setting waits", waiting, 2)
	begin("late", late, 20_000)
	until(t, f, "late waits", waiting, 3)
	mustCall(t, control, "SELECT COUNT(*) FROM (SELECT pg_advisory_unlock(1)) AS free")
	until(t, f, "early waits for the function's lock", waiting, 3)
	mustCall(t, control, "SELECT COUNT(*) FROM (SELECT pg_advisory_unlock(2)) AS free")
	var all seen
	for i := range 3 {
		all.add(t, fmt.Sprint("session ", i), <-keys...)
	}
	increase(t, append([]int64{all.most}, mustCall(t, control, nextKey)...)) // though its clock, and that of two, is an hour behind the word
}

// A call that is canceled under the lock frees it, and the next calls go on, with and without the lock.
func TestCanceled(t *testing.T) {
	f := newFixture(t, dbtest.Postgres(t), idgen.Snowkey.Layout, pausing)
	control, canceled := f.session(t), f.session(t)
	before := mustCall(t, control, nextKey)
	mustCall(t, control, "SELECT 1 FROM pg_advisory_lock(2)")
	mustCall(t, canceled, "SELECT length(set_config('test.pause', '2', false))")
	mustCall(t, canceled, "SELECT length(set_config('statement_timeout', '100', false))")
	f.step(t, canceled, 60)
	if keys, err := call(t.Context(), canceled, nextKey); err == nil {
		t.Fatalf("got %d, want a timeout", keys)
	}
	turn := "SELECT last_value % 2 FROM snowkey_next_id_turn"
	if got := mustCall(t, control, turn); got[0] != 1 {
		t.Errorf("got an even turn, want it left odd")
	}
	// The word is an hour ahead: who makes the turn even leaves it there.
	before = append(before, mustCall(t, control, fmt.Sprintf("SELECT setval('snowkey_next_id_word12', (extract(epoch from clock_timestamp()) * 1000 - %d + 3600000)::bigint << 12) << 10", f.function.Layout.Epoch().UnixMilli()))...)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	after, err := call(ctx, control, "SELECT snowkey_next_id() FROM generate_series(1, 3)")
	if err != nil {
		t.Fatal(err)
	}
	increase(t, append(before, after...))
	if got := mustCall(t, control, turn); got[0] != 0 {
		t.Errorf("got an odd turn, want it even again")
	}
}

// A role that may only insert gets keys, also with functions of its own before those of the system in its search_path, and cannot change the state.
func TestRole(t *testing.T) {
	f := newFixture(t, dbtest.Postgres(t), idgen.Snowkey.Layout, nil)
	role := "insert_only_" + filepath.Base(t.TempDir()) + fmt.Sprint(time.Now().UnixNano())
	session := f.session(t)
	for _, statement := range []string{
		"CREATE ROLE " + role, "GRANT INSERT, SELECT ON orders TO " + role, "CREATE SCHEMA own AUTHORIZATION " + role, "SET ROLE " + role,
		"CREATE FUNCTION own.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'", "CREATE FUNCTION own.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
		"SET search_path = own, pg_catalog, public", "INSERT INTO orders (item) VALUES (1), (2)",
	} {
		if _, err := session.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for _, query := range []string{"SELECT pg_catalog.nextval('public.snowkey_next_id_word12')", "SELECT setval('public.snowkey_next_id_turn', 7)", "SELECT node FROM public.snowkey_nodes"} {
		if got, err := call(t.Context(), session, query); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: got %d and the error %v", query, got, err)
		}
	}
	increase(t, mustCall(t, session, "SELECT id FROM orders ORDER BY item"))
	for _, statement := range []string{"RESET ROLE", "DROP OWNED BY " + role, "DROP ROLE " + role} {
		if _, err := session.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// COPY has keys that increase.
func TestCopy(t *testing.T) {
	f := newFixture(t, dbtest.Postgres(t), idgen.Snowkey.Layout, nil)
	rows := 5_000
	if dbtest.IsLong() {
		rows = 100_000
	}
	var input strings.Builder
	for i := range rows {
		fmt.Fprintln(&input, i)
	}
	command := exec.CommandContext(t.Context(), testprocess.Path(t, "psql", "postgres"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", "COPY orders (item) FROM STDIN", f.database.DriverDSN)
	command.Stdin = strings.NewReader(input.String())
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	keys := mustCall(t, f.pool, "SELECT id FROM orders ORDER BY item")
	if len(keys) != rows {
		t.Errorf("got %d rows, want %d", len(keys), rows)
	}
	increase(t, keys)
}

// A dump of the schema alone has the function and not its row: it fails and says what to do. A whole dump goes on after the last key, with a clock that is behind.
func TestDump(t *testing.T) {
	f := newFixture(t, dbtest.Postgres(t), idgen.Snowkey.Layout, stepped)
	f.exec(t, "INSERT INTO orders (item) VALUES (1), (2)")
	before := mustCall(t, f.pool, nextKey)
	for _, flag := range []string{"--schema-only", "--no-comments"} {
		dump, err := exec.CommandContext(t.Context(), testprocess.Path(t, "pg_dump", "postgres"), flag, f.database.DriverDSN).Output()
		if err != nil {
			t.Fatal(err)
		}
		restored := &fixture{database: dbtest.Postgres(t)}
		restored.pool = restored.database.Open(t)
		command := exec.CommandContext(t.Context(), testprocess.Path(t, "psql", "postgres"), "-X", "-q", "-v", "ON_ERROR_STOP=1", restored.database.DriverDSN)
		command.Stdin = strings.NewReader(string(dump))
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		_, err = restored.pool.ExecContext(t.Context(), "INSERT INTO orders (item) VALUES (3)")
		if flag == "--schema-only" {
			if err == nil || !strings.Contains(err.Error(), "run snowkey ddl function again") {
				t.Errorf("the schema alone: got the error %v", err)
			}
			restored.install(t, idgen.Snowkey.Layout, nil)
			restored.exec(t, "INSERT INTO orders (item) VALUES (3)")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		restored.function.Dialect = f.function.Dialect
		session := restored.session(t)
		restored.step(t, session, -3600)
		increase(t, append(before, mustCall(t, session, nextKey)...))
	}
}
