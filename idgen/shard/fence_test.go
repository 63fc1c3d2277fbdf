package shard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// hostile is a table's name and its key's, as SQL has them and without quotes.
func hostile(d shard.Dialect) (table, key, column string) {
	if d == shard.MySQL {
		return "`or'd``e\"rs ?.x`", "`Key ``?`", "Key `?"
	}
	return `"or'd` + "`" + `e""rs ?.x"`, `"Key ""?"`, `Key "?`
}

// fencedID returns an id of a bucket.
func fencedID(bucket, n int64) int64 { return 1<<40 | n<<7 | bucket<<4 | n&15 }

func makeFence(t *testing.T, db *sql.DB, d shard.Dialect, f shard.Fence) {
	t.Helper()
	list, err := f.Make(d)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, db, list...)
}

// write runs a statement with @ for the table and # for the key, and tells whether it was fenced.
func write(t *testing.T, db *sql.DB, d shard.Dialect, statement string, args ...any) bool {
	t.Helper()
	table, key, _ := hostile(d)
	_, err := db.ExecContext(t.Context(), fmt.Sprintf(strings.NewReplacer("@", table, "#", key).Replace(statement), args...))
	err = fmt.Errorf("wrapped: %w", err)
	if !shard.IsFenced(err) && errors.Unwrap(err) != nil {
		t.Fatalf("%s %v: %v", statement, args, err)
	}
	return shard.IsFenced(err)
}

// TestFence wants every kind of write of rows of some buckets to be refused, and of no others.
func TestFence(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d shard.Dialect) {
		table, key, column := hostile(d)
		execute(t, db, fmt.Sprintf("CREATE TABLE %s (%s BIGINT PRIMARY KEY, n BIGINT)", table, key))
		m, err := newMap(t).WithLegacy(shard.Legacy{Below: 1000, Shard: newMap(t).Shard(0).Name})
		if err != nil {
			t.Fatal(err)
		}
		for b := range int64(8) {
			write(t, db, d, "INSERT INTO @ VALUES (%d, 1)", fencedID(b, 1))
			write(t, db, d, "INSERT INTO @ VALUES (%d, 1)", b<<4) // from before
		}
		for _, buckets := range [][]int64{{1, 5}, {3}, {0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 6}} {
			f := shard.Fence{Table: table, Key: column, Name: "snowkey_fence", Map: m, Buckets: buckets}
			makeFence(t, db, d, f)
			refused := map[int64]bool{}
			for _, b := range buckets {
				refused[b] = true
			}
			for b := range int64(8) {
				check := func(what string, got, want bool) {
					t.Helper()
					if got != want {
						t.Errorf("buckets %v: %s of bucket %d: got refused %v, want %v", buckets, what, b, got, want)
					}
				}
				check("insert", write(t, db, d, "INSERT INTO @ VALUES (%d, 1)", fencedID(b, 2)), refused[b])
				check("update", write(t, db, d, "UPDATE @ SET n = n + 1 WHERE # = %d", fencedID(b, 1)), refused[b])
				check("update of the key", write(t, db, d, "UPDATE @ SET # = # + 0, n = 3 WHERE # = %d", fencedID(b, 1)), refused[b])
				check("insert or nothing", write(t, db, d, map[shard.Dialect]string{
					shard.MySQL: "INSERT IGNORE INTO @ VALUES (%d, 1)", shard.Postgres: "INSERT INTO @ VALUES (%d, 1) ON CONFLICT DO NOTHING", shard.SQLite: "INSERT OR IGNORE INTO @ VALUES (%d, 1)",
				}[d], fencedID(b, 3)), refused[b])
				check("upsert", write(t, db, d, map[shard.Dialect]string{
					shard.MySQL: "INSERT INTO @ VALUES (%d, 1) ON DUPLICATE KEY UPDATE n = n + 1", shard.Postgres: "INSERT INTO @ AS t VALUES (%d, 1) ON CONFLICT (#) DO UPDATE SET n = t.n + 1",
					shard.SQLite: "INSERT INTO @ VALUES (%d, 1) ON CONFLICT (#) DO UPDATE SET n = n + 1",
				}[d], fencedID(b, 1)), refused[b])
				if d != shard.Postgres {
					check("replace", write(t, db, d, "REPLACE INTO @ VALUES (%d, 7)", fencedID(b, 1)), refused[b])
				}
				write(t, db, d, "DELETE FROM @ WHERE # = %d", fencedID(b, 3)) // which is there unless it was refused
				check("delete", write(t, db, d, "DELETE FROM @ WHERE # = %d", fencedID(b, 1)), refused[b])
				if !refused[b] {
					write(t, db, d, "DELETE FROM @ WHERE # = %d", fencedID(b, 2))
					write(t, db, d, "INSERT INTO @ VALUES (%d, 1)", fencedID(b, 1))
					check("update to a refused bucket", write(t, db, d, "UPDATE @ SET # = %d WHERE # = %d", fencedID(buckets[0], 9), fencedID(b, 1)), true)
				} else {
					check("update from a refused bucket", write(t, db, d, "UPDATE @ SET # = %d WHERE # = %d", 999, fencedID(b, 1)), true)
				}
				check("update of a row from before", write(t, db, d, "UPDATE @ SET n = n + 1 WHERE # = %d", b<<4), false)
			}
			if d == shard.Postgres && !write(t, db, d, "TRUNCATE @") {
				t.Error("TRUNCATE was not refused")
			}
			var rows int
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&rows); err != nil || rows != 16 {
				t.Fatalf("got %d rows, %v, want 16", rows, err)
			}
		}
		f := shard.Fence{Table: table, Key: column, Name: "snowkey_fence", Map: m}
		for _, make := range []func(shard.Dialect) ([]string, error){f.Make, f.Drop, f.Drop} {
			list, err := make(d)
			if err != nil {
				t.Fatal(err)
			}
			execute(t, db, list...)
			if write(t, db, d, "UPDATE @ SET n = n + 1") {
				t.Error("a fence that was taken down refuses")
			}
		}
	})
}

// TestFenceRefusesAtEveryMoment wants what an old and a new fence refuse to be refused between any two statements of the new one, wherever the run
// before was killed.
func TestFenceRefusesAtEveryMoment(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d shard.Dialect) {
		table, key, column := hostile(d)
		execute(t, db, fmt.Sprintf("CREATE TABLE %s (%s BIGINT PRIMARY KEY, n BIGINT)", table, key))
		f := shard.Fence{Table: table, Key: column, Name: "f", Map: newMap(t), Buckets: []int64{1, 2}}
		makeFence(t, db, d, f)
		g := f
		g.Buckets = []int64{2, 3}
		list, err := g.Make(d)
		if err != nil {
			t.Fatal(err)
		}
		for stop := range len(list) { // killed after each statement, and run again
			makeFence(t, db, d, f)
			for i, s := range append(append([]string{}, list[:stop]...), list...) {
				execute(t, db, s)
				if !write(t, db, d, "INSERT INTO @ VALUES (%d, 1)", fencedID(2, 5)) {
					t.Fatalf("killed after %d statements: a write passed after statement %d: %s", stop, i+1, s)
				}
			}
			if write(t, db, d, "INSERT INTO @ VALUES (%d, 1)", fencedID(1, int64(stop))) || !write(t, db, d, "INSERT INTO @ VALUES (%d, 1)", fencedID(3, 5)) {
				t.Fatal("the fence is not the new one")
			}
		}
	})
}

// TestFenceWaits wants a fence to wait for a transaction that has written before it, and what it commits to be there when the fence is.
func TestFenceWaits(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d shard.Dialect) {
		table, key, column := hostile(d)
		execute(t, db, fmt.Sprintf("CREATE TABLE %s (%s BIGINT PRIMARY KEY, n BIGINT)", table, key))
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s VALUES (%d, 1)", table, fencedID(1, 1))); err != nil {
			t.Fatal(err)
		}
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		execute(t, conn, map[shard.Dialect]string{
			shard.MySQL: "SET SESSION lock_wait_timeout = 1", shard.Postgres: "SET lock_timeout = '300ms'", shard.SQLite: "PRAGMA busy_timeout = 300"}[d])
		list, err := shard.Fence{Table: table, Key: column, Name: "f", Map: newMap(t), Buckets: []int64{1}}.Make(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ExecContext(t.Context(), list[0]); err == nil || shard.IsFenced(err) {
			t.Fatalf("got %v while a transaction is open, want the error of a lock", err)
		}
		execute(t, conn, map[shard.Dialect]string{
			shard.MySQL: "SET SESSION lock_wait_timeout = 60", shard.Postgres: "SET lock_timeout = 0", shard.SQLite: "PRAGMA busy_timeout = 60000"}[d])
		made := make(chan error, 1)
		go func() {
			for _, s := range list {
				if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), s); err != nil {
					made <- err
					return
				}
			}
			made <- nil
		}()
		select {
		case err := <-made:
			t.Errorf("the fence was there before the transaction's end: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		if _, err := tx.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s VALUES (%d, 1)", table, fencedID(1, 2))); err != nil {
			t.Errorf("the transaction that was there before was refused: %v", err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-made; err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&rows); err != nil || rows != 2 {
			t.Errorf("got %d rows, %v, want 2", rows, err)
		}
		if !write(t, db, d, "INSERT INTO @ VALUES (%d, 1)", fencedID(1, 3)) {
			t.Error("a write passed")
		}
	})
}

// TestFencePass wants the session with the pass, and no other, to get through.
func TestFencePass(t *testing.T) {
	everywhere(t, func(t *testing.T, db *sql.DB, d shard.Dialect) {
		if d == shard.SQLite {
			return // it has no settings of sessions; who may pass takes the fence down within a transaction
		}
		table, key, column := hostile(d)
		execute(t, db, fmt.Sprintf("CREATE TABLE %s (%s BIGINT PRIMARY KEY, n BIGINT)", table, key))
		makeFence(t, db, d, shard.Fence{Table: table, Key: column, Name: "f", Map: newMap(t), Buckets: []int64{1}, Pass: "secret_1"})
		for pass, want := range map[string]bool{"": true, "other": true, "secret_1": false} {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			execute(t, conn, map[shard.Dialect]string{shard.MySQL: "SET @snowkey_mover = '" + pass + "'", shard.Postgres: "SELECT set_config('snowkey.mover', '" + pass + "', false)"}[d])
			for _, statement := range []string{"INSERT INTO %s VALUES (%d, 1)", "DELETE FROM %s WHERE " + strings.ReplaceAll(key, "%", "%%") + " = %d"} {
				_, err := conn.ExecContext(t.Context(), fmt.Sprintf(statement, table, fencedID(1, 1)))
				if shard.IsFenced(err) != want && (err != nil || strings.HasPrefix(statement, "INSERT")) {
					t.Errorf("pass %q: got %v, want refused %v", pass, err, want)
				}
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			db.SetMaxIdleConns(0) // the session ends
		}
	})
}

// TestFenceRefused wants fences that cannot be made to be refused.
func TestFenceRefused(t *testing.T) {
	good := shard.Fence{Table: "t", Key: "id", Name: "f", Map: newMap(t), Buckets: []int64{1}}
	for name, change := range map[string]func(*shard.Fence){
		"no table": func(f *shard.Fence) { f.Table = "" }, "no key": func(f *shard.Fence) { f.Key = "" }, "no name": func(f *shard.Fence) { f.Name = "" },
		"a long name": func(f *shard.Fence) { f.Name = strings.Repeat("f", 41) }, "a name with a quote": func(f *shard.Fence) { f.Name = "f'" },
		"a pass with a quote": func(f *shard.Fence) { f.Pass = "f'" }, "no map": func(f *shard.Fence) { f.Map = nil }, "bucket -1": func(f *shard.Fence) { f.Buckets = []int64{-1} },
		"bucket 8": func(f *shard.Fence) { f.Buckets = []int64{8} },
	} {
		f := good
		change(&f)
		for _, make := range []func(shard.Dialect) ([]string, error){f.Make, f.Drop} {
			if _, err := make(shard.MySQL); !errors.Is(err, shard.ErrMap) {
				t.Errorf("%s: got %v, want ErrMap", name, err)
			}
		}
	}
	if _, err := good.Make(0); !errors.Is(err, shard.ErrMap) {
		t.Errorf("got %v of no dialect, want ErrMap", err)
	}
	// What MariaDB has told a writer when the notes of resharding and their triggers went.
	if !shard.IsFenced(errors.New("Error 1146 (42S02): Table 'shop.snowkey_notes_02005586b817e901' doesn't exist")) {
		t.Error("the end of the notes is not taken for a reason to do it again")
	}
	if shard.IsFenced(nil) || shard.IsFenced(errors.New("duplicate key")) || shard.IsFenced(errors.New("Error 1146 (42S02): Table 'shop.orders' doesn't exist")) {
		t.Error("an error of something else is taken for one of a fence")
	}
}

// TestFenceDoesNotSee holds the documentation to what the databases let through.
func TestFenceDoesNotSee(t *testing.T) {
	m := newMap(t)
	for name, test := range map[string]struct {
		open    func(testing.TB) dbtest.Database
		dialect shard.Dialect
		make    []string
		write   string
		refused bool
	}{
		"a partition of PostgreSQL": {dbtest.Postgres, shard.Postgres, []string{"CREATE TABLE t (id BIGINT) PARTITION BY RANGE (id)", "CREATE TABLE p PARTITION OF t DEFAULT"}, "TRUNCATE p", false},
		"all of PostgreSQL":         {dbtest.Postgres, shard.Postgres, []string{"CREATE TABLE t (id BIGINT) PARTITION BY RANGE (id)", "CREATE TABLE p PARTITION OF t DEFAULT"}, "TRUNCATE t", true},
		"a partition of MySQL":      {dbtest.MySQL, shard.MySQL, []string{"CREATE TABLE t (id BIGINT) PARTITION BY KEY (id) PARTITIONS 1"}, "ALTER TABLE t TRUNCATE PARTITION p0", false},
		"an engine without transactions": {dbtest.MySQL, shard.MySQL, []string{"CREATE TABLE t (id BIGINT) ENGINE = MyISAM"},
			fmt.Sprintf("DELETE FROM t WHERE id = %d", fencedID(1, 1)), true},
	} {
		t.Run(name, func(t *testing.T) {
			db := test.open(t).Open(t)
			execute(t, db, append(test.make, fmt.Sprintf("INSERT INTO t VALUES (%d)", fencedID(1, 1)))...)
			makeFence(t, db, test.dialect, shard.Fence{Table: "t", Key: "id", Name: "f", Map: m, Buckets: []int64{1}})
			if _, err := db.ExecContext(t.Context(), test.write); shard.IsFenced(err) != test.refused || err != nil && !test.refused {
				t.Errorf("%s: got %v, want refused %v", test.write, err, test.refused)
			}
			var rows int
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if kept := rows == 1; kept != (test.write == "TRUNCATE t") {
				t.Errorf("%s: %d rows are left", test.write, rows)
			}
		})
	}
}

// TestFenceGoesFromAnotherSearchPath wants a fence to be taken down by a session that would make its function in another schema.
func TestFenceGoesFromAnotherSearchPath(t *testing.T) {
	db := dbtest.Postgres(t).Open(t)
	db.SetMaxOpenConns(1)
	f := shard.Fence{Table: "t", Key: "id", Name: "f", Map: newMap(t), Buckets: []int64{1}}
	drop, err := f.Drop(shard.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, db, `CREATE SCHEMA "a ""b"`, "CREATE TABLE public.t (id BIGINT)", `SET search_path = "a ""b", public`)
	makeFence(t, db, shard.Postgres, f)
	execute(t, db, append([]string{"SET search_path = public"}, drop...)...)
	execute(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d)", fencedID(1, 1)))
	makeFence(t, db, shard.Postgres, f)
	execute(t, db, append([]string{"DROP TABLE t"}, drop...)...)
	var functions int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_proc WHERE proname LIKE 'f\\_%'").Scan(&functions); err != nil || functions != 0 {
		t.Errorf("%d functions are left, %v", functions, err)
	}
}
