package partition_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/shard/partition"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// scene is a table with one partition to archive, one to make with rows to move, and one to make ahead.
type scene struct {
	e        *engine
	settings partition.Table
	now      time.Time
	all      []int64
	archived map[int64]bool
}

func newScene(t *testing.T, e *engine, concurrently bool) *scene {
	t.Helper()
	s := &scene{e: e, settings: orders(), now: noon, archived: map[int64]bool{}}
	s.settings.Ahead = 1
	e.exec(t, "DROP TABLE IF EXISTS orders")
	for _, name := range strings.Fields(e.tables(t)) {
		e.exec(t, "DROP TABLE "+name)
	}
	e.create(t, s.settings)
	if concurrently {
		e.exec(t, "DROP TABLE orders_default")
	}
	run(t, e.keeper(t, s.settings, &s.now))
	s.now = s.now.Add(48 * time.Hour)
	for day := range 3 {
		if concurrently && day == 2 {
			break
		}
		for n := range int64(3) {
			s.all = append(s.all, e.insert(t, noon.Add(time.Duration(day)*24*time.Hour), n))
		}
	}
	s.settings.Keep, s.settings.Old, s.settings.TrustClock = 1, partition.Archive, true
	s.settings.Archive = func(ctx context.Context, d partition.Detached) error {
		for _, id := range e.texts(t, "SELECT CAST(id AS char(20)) FROM "+d.Name) {
			var n int64
			_, _ = fmt.Sscan(id, &n)
			s.archived[n] = true
		}
		return ctx.Err()
	}
	return s
}

// check runs the keeper to the end, and compares what there is then with what there has to be.
func (s *scene) check(t *testing.T, after string) {
	t.Helper()
	k := s.e.keeper(t, s.settings, &s.now)
	if report, err := k.Run(t.Context()); err != nil {
		t.Fatalf("after %s: %v, steps %v", after, err, report.Done)
	}
	if got := s.e.parts(t); strings.TrimSuffix(got, " pmax") != "p20260311 p20260312 p20260313" {
		t.Errorf("after %s: got the partitions %s", after, got)
	}
	if got := s.e.tables(t); got != "" {
		t.Errorf("after %s: got the tables %s left", after, got)
	}
	var left []int64
	for _, id := range s.e.texts(t, "SELECT CAST(id AS char(20)) FROM orders") {
		var n int64
		_, _ = fmt.Sscan(id, &n)
		left = append(left, n)
	}
	for i, id := range s.all {
		if old := i < 3; slices.Contains(left, id) == old || s.archived[id] != old {
			t.Errorf("after %s: row %d of day %d: in the table %t, archived %t", after, id, i/3+1, slices.Contains(left, id), s.archived[id])
		}
	}
	if strings.HasSuffix(s.e.parts(t), "pmax") && s.e.unplaced(t) != 0 {
		t.Errorf("after %s: got %d rows in no partition of their own", after, s.e.unplaced(t))
	}
}

// TestConnectionKilledAtEveryStatement ends the keeper's connection before the first, second, … statement, until a run has no more of them. On PostgreSQL it is
// every second one, the odd or the even, but with SNOWKEY_TORTURE.
func TestConnectionKilledAtEveryStatement(t *testing.T) {
	dbtest.Long(t)
	for name, concurrently := range map[string]bool{"with a default partition": false, "concurrently": true} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, e *engine) {
				if concurrently && !e.postgres {
					return
				}
				killed, stride := 0, 1
				if e.postgres && os.Getenv("SNOWKEY_TORTURE") == "" {
					killed, stride = rand.IntN(2), 2
				}
				for ; killed < 100; killed += stride {
					s := newScene(t, e, concurrently)
					k := e.keeper(t, s.settings, &s.now)
					seen, where := 0, ""
					k.OnStatement(func(step partition.Step, n int) error {
						if seen++; seen == killed+1 {
							where = fmt.Sprintf("%s, before %s", step, step.SQL[n])
							e.killHolder(t)
						}
						return nil
					})
					_, err := k.Run(t.Context())
					if where == "" {
						break // there are no more statements
					}
					if err == nil {
						t.Fatalf("%s: got no error of a connection that was killed", where)
					}
					s.check(t, where)
				}
				if killed < 11 || killed >= 100 {
					t.Errorf("got %d statements to kill a connection at, want 11 or more", killed)
				}
			})
		})
	}
}

// killHolder ends the connection that holds the lock of a run.
func (e *engine) killHolder(t testing.TB) {
	t.Helper()
	db := e.db
	if !e.postgres {
		db = e.database.Admin().Open(t)
	}
	holder, err := e.d.LockHolder(t.Context(), db, e.lock)
	if err != nil {
		t.Fatal(err)
	}
	if holder == 0 {
		t.Error("got no connection with the lock, want one")
		return
	}
	kill := map[bool]string{true: "SELECT pg_terminate_backend(%d, 5000)", false: "KILL %d"}[e.postgres]
	if _, err := db.ExecContext(t.Context(), fmt.Sprintf(kill, holder)); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // until the server has ended it
		if other, err := e.d.LockHolder(t.Context(), db, e.lock); err != nil || other != holder {
			return
		}
	}
}

// The variables of the process that TestProcessKilled kills.
const (
	processDriver = "SNOWKEY_TEST_PARTITION_DRIVER"
	processDSN    = "SNOWKEY_TEST_PARTITION_DSN"
)

func TestMain(m *testing.M) {
	if driver := os.Getenv(processDriver); driver != "" {
		if err := keeperProcess(driver, os.Getenv(processDSN)); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// keeperProcess runs a keeper, and says before each statement which, until a line comes.
func keeperProcess(driver, dsn string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	d, err := partition.LookupDialect(map[string]string{"pgx": "postgres", "mysql": "mysql"}[driver])
	if err != nil {
		return err
	}
	settings := orders()
	settings.Ahead, settings.Keep, settings.Old, settings.TrustClock = 1, 1, partition.Archive, true
	settings.LockWait = time.Minute
	settings.Archive = func(context.Context, partition.Detached) error { return errors.New("this process has no archive") }
	k, err := partition.New(db, d, settings)
	if err != nil {
		return err
	}
	now := func() time.Time { return noon.Add(48 * time.Hour) }
	k.SetClocks(now, now)
	in := bufio.NewScanner(os.Stdin)
	k.OnStatement(func(step partition.Step, n int) error {
		fmt.Println(step.SQL[n])
		if !in.Scan() {
			return errors.New("no line")
		}
		return nil
	})
	_, err = k.Run(context.Background())
	return err
}

// TestProcessKilled kills a process before a statement, and while the server waits in one of it.
func TestProcessKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is killed at every statement with -short")
	}
	for _, tt := range []struct {
		name             string
		postgres, within string
		mysql            string
	}{
		{name: "before the partition is attached", postgres: "ALTER TABLE", mysql: "ALTER TABLE"},
		{name: "within the making of a partition", postgres: "LOCK TABLE", mysql: "ALTER TABLE", within: "yes"},
		{name: "within the detaching of a partition", postgres: "DETACH PARTITION", mysql: "LOCK TABLES", within: "yes"},
		{name: "before the commit", postgres: "COMMENT ON", mysql: "DROP PARTITION"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, e *engine) {
				s := newScene(t, e, false)
				end := func() {}
				if tt.within != "" {
					defer func() { end() }()
				}
				command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
				command.Env = append(os.Environ(), processDriver+"="+e.database.DriverName, processDSN+"="+e.database.DriverDSN)
				in, err := command.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				out, err := command.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := command.Start(); err != nil {
					t.Fatal(err)
				}
				want, found := map[bool]string{true: tt.postgres, false: tt.mysql}[e.postgres], false
				for lines := bufio.NewScanner(out); lines.Scan(); {
					if found = strings.Contains(lines.Text(), want); found {
						break
					}
					_, _ = fmt.Fprintln(in, "on")
				}
				if !found {
					t.Fatalf("the process came to no %s", want)
				}
				if tt.within != "" {
					end = e.begin(t)
					_, _ = fmt.Fprintln(in, "on")
					e.awaitBlocked(t)
				}
				_ = command.Process.Kill()
				_ = command.Wait()
				end()
				s.check(t, "a kill "+tt.name)
			})
		})
	}
}

// awaitBlocked waits until a statement waits for the lock of a transaction.
func (e *engine) awaitBlocked(t testing.TB) {
	t.Helper()
	query := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE 'Waiting for table metadata lock%'"
	if e.postgres {
		query = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	}
	for range 100_000 {
		if e.count(t, query) > 0 {
			return
		}
	}
	t.Fatal("no statement waits")
}
