//go:build linux

package migrate_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/internal/migratetest"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
)

// A process of TestKill has the database and the plan's file in these, and runs the plan to its end, or rolls it back.
const (
	killDatabase = "SNOWKEY_MIGRATE_DATABASE"
	killPlan     = "SNOWKEY_MIGRATE_PLAN"
	killRollback = "SNOWKEY_MIGRATE_ROLLBACK"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(killDatabase); name != "" {
		if err := runKilled(name, os.Getenv(killPlan), os.Getenv(killRollback) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// runKilled runs a plan through all its holds, or rolls it back, and says when the first step begins.
func runKilled(name, path string, rollback bool) error {
	parsed, err := dsn.Parse(name)
	if err != nil {
		return err
	}
	pool, err := parsed.Open()
	if err != nil {
		return err
	}
	db, err := gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	p, err := migrate.ReadPlan(text)
	if err != nil {
		return err
	}
	begun := sync.OnceFunc(func() { fmt.Println("begun") })
	o := migrate.RunOptions{Target: 5 * time.Millisecond, Progress: func(migrate.Progress) { begun() }}
	if rollback {
		_, err := migrate.Rollback(context.Background(), db, p, o)
		return err
	}
	for range p.Steps {
		outcome, err := migrate.Run(context.Background(), db, p, o)
		if err != nil || outcome.Done {
			return err
		}
		o.Continue = outcome.Hold
	}
	return errors.New("the plan has no end")
}

// TestKill kills a run, and a run and its rollback, at random points. A run comes to the same rows and the same schema as one that nobody disturbed; what is
// rolled back has every row and every id that it had before. With SNOWKEY_TORTURE set it does so until 200 were killed, in a plan for the whole of the
// sample. TestFaults has the points themselves, and the exclusive rekey; here the server is left with what the process had asked for.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("no process is killed with -short")
	}
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	forEach(t, func(t *testing.T, d *database) {
		if d.kind == "postgres" { // whose DDL is in transactions, as that of SQLite is
			dbtest.Long(t)
		}
		k := &killer{random: rand.New(rand.NewPCG(seed, uint64(len(d.kind))))}
		k.undisturbed(d)
		for round := 0; round == 0 || tortured() && k.killed < 67; round++ {
			k.forward(open(t, d.kind))
			k.backward(open(t, d.kind))
		}
		t.Logf("%d kills, %d of them while a statement or a batch was begun; a run takes %s", k.killed, k.amid, k.took)
	})
}

// killer kills the runs on some databases, one after another.
type killer struct {
	random   *rand.Rand
	took     time.Duration // a run, from its first step to its end; a rollback takes less
	checksum string        // of the sample
	declared string        // after the run
	killed   int
	amid     int // of killed: the journal had a step as begun
}

const (
	killRows   = 150
	killRounds = 4 // kills of one run, or of one rollback
)

// undisturbed measures, and notes what is to come of the others.
func (k *killer) undisturbed(d *database) {
	d.t.Helper()
	path := d.killPlan(false)
	k.checksum = d.checksum()
	_, k.took = d.kill(path, false, time.Hour)
	k.declared = d.declared()
	if after := d.checksum(); after != k.checksum {
		d.t.Errorf("undisturbed: got %s, want %s", after, k.checksum)
	}
}

// forward kills a run, and lets it come to its end.
func (k *killer) forward(d *database) {
	d.t.Helper()
	path := d.killPlan(false)
	k.strike(d, path, false)
	d.kill(path, false, time.Hour)
	if after := d.checksum(); after != k.checksum {
		d.t.Errorf("after %d kills got %s, want %s", k.killed, after, k.checksum)
	}
	if after := d.declared(); after != k.declared {
		d.t.Errorf("after %d kills the schema is another than that of an undisturbed run:\n%s", k.killed, difference(after, k.declared))
	}
	if left := d.number("SELECT COUNT(*) FROM users WHERE id < 4398046511104"); left != 0 {
		d.t.Errorf("after %d kills %d users have old ids", k.killed, left)
	}
}

// backward kills a run and does not go on with it, but rolls it back, which is killed, too.
func (k *killer) backward(d *database) {
	d.t.Helper()
	path := d.killPlan(true)
	before := d.contents()
	k.strike(d, path, false)
	k.strike(d, path, true)
	d.kill(path, true, time.Hour)
	d.isBack(fmt.Sprintf("after %d kills", k.killed), before)
}

// strike kills a run or a rollback again and again. The delays are such that together they are as long as the whole, on average, and a bit
// less: the points are anywhere in it. It returns early when the end was reached.
func (k *killer) strike(d *database, path string, rollback bool) {
	d.t.Helper()
	for range killRounds {
		delay := time.Duration(k.random.Int64N(int64(2*k.took/(killRounds+1)) + 1))
		killed, _ := d.kill(path, rollback, delay)
		if !killed {
			return
		}
		k.killed++
		status, err := migrate.ReadStatus(d.t.Context(), d.gorm)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, step := range status.Steps {
			if step.State == journal.StepBegun || step.State == journal.StepUndoing {
				k.amid++
				break
			}
		}
	}
}

// killPlan fills a new database, and writes a plan for it to a file, without the last phase where it is to be rolled back.
func (d *database) killPlan(keep bool) (path string) {
	d.t.Helper()
	d.sample(killRows)
	o := samplePlan(migrate.Rekey)
	o.Keep = keep
	if !tortured() {
		o.Tables = []string{"categories", "users"} // which rows of themselves, foreign keys, texts and documents refer to
	}
	text, err := d.plan(sampleInspection, o).Encode()
	if err != nil {
		d.t.Fatal(err)
	}
	path = filepath.Join(d.t.TempDir(), "plan.sql")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		d.t.Fatal(err)
	}
	return path
}

// kill runs a plan in a process of its own that is killed at a time after its first step has begun, and reports whether it was; otherwise it
// got to the end, in the time that it returns.
func (d *database) kill(path string, rollback bool, after time.Duration) (killed bool, took time.Duration) {
	d.t.Helper()
	// A connection of PostgreSQL's that is kept has plans from before the types were changed: all are closed, and from then on kept again. To
	// inspect with a new one for each query takes a minute.
	d.pool.SetMaxIdleConns(0)
	d.pool.SetMaxIdleConns(maxConns)
	ctx, cancel := context.WithTimeout(d.t.Context(), 5*time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	// A process with the race detector sleeps for a second when it ends otherwise, in which most of the kills would come, too late.
	child.Env = append(os.Environ(), killDatabase+"="+d.name, killPlan+"="+path, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	if rollback {
		child.Env = append(child.Env, killRollback+"=yes")
	}
	var stderr bytes.Buffer
	child.Stderr = &stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		d.t.Fatal(err)
	}
	bufio.NewScanner(stdout).Scan() // false when there is nothing left to do
	began := time.Now()
	timer := time.AfterFunc(after, func() { _ = child.Process.Kill() })
	defer timer.Stop()
	err = child.Wait()
	if status, ok := child.ProcessState.Sys().(interface{ Signaled() bool }); ok && status.Signaled() && ctx.Err() == nil {
		return true, 0
	}
	if err != nil {
		d.t.Fatalf("the run failed: %v\n%s", err, stderr.String())
	}
	return false, time.Since(began)
}

// contents returns all rows with their ids, and all that is declared, but for the widths of integers, which a rollback leaves as they are. Documents are written
// anew by a rollback, in other words perhaps: they are in the checksum alone.
func (d *database) contents() string {
	d.t.Helper()
	all := []string{d.checksum(), regexp.MustCompile(`\b(big)?int(eger)?\b(\(\d+\))?`).ReplaceAllString(d.declared(), "int")}
	for _, table := range strings.Fields("users profiles addresses categories products product_categories orders order_items payments comments tags taggings audit_log") {
		var lines []string
		rows, err := d.pool.QueryContext(d.t.Context(), "SELECT * FROM "+table)
		if err != nil {
			d.t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			d.t.Fatal(err)
		}
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				d.t.Fatal(err)
			}
			lines = append(lines, fmt.Sprint(table, columns, values))
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			d.t.Fatal(err)
		}
		slices.Sort(lines)
		all = append(all, lines...)
	}
	return strings.Join(all, "\n")
}

// isBack sees that all is as it was, but for what a rollback leaves on purpose: the journal, and the node that was taken for all time.
func (d *database) isBack(when, before string) {
	d.t.Helper()
	for _, left := range []string{"snowkey_migrate_steps", "snowkey_migrate", "snowkey_nodes"} {
		d.exec("DROP TABLE IF EXISTS " + left)
	}
	if after := d.contents(); after != before {
		d.t.Errorf("%s: rolled back, and not as it was before:\n%s", when, difference(after, before))
	}
}

// sample makes the sample schema with rows in it.
func (d *database) sample(rows int) {
	d.t.Helper()
	d.exec(migratetest.Schema(d.kind)...)
	if err := migratetest.Fill(d.t.Context(), d.pool, d.kind, rows, 1); err != nil {
		d.t.Fatal(err)
	}
}

// checksum returns a digest of the sample's contents, in which a row's key is what the row has.
func (d *database) checksum() string {
	d.t.Helper()
	sum, err := migratetest.Checksum(d.t.Context(), d.pool, d.kind)
	if err != nil {
		d.t.Fatal(err)
	}
	return sum
}
