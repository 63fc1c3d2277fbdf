//go:build linux

package migrate_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/migrate"
)

// TestMemory rewrites tables of which one has ten times the rows of the other, each in a process of its own, and compares the most memory that the
// processes have had, with that of SQLite.
func TestMemory(t *testing.T) {
	dbtest.Long(t)
	if inChild(t, func(db *gorm.DB, p *migrate.Plan) {
		for outcome := (migrate.Outcome{}); !outcome.Done; {
			var err error
			if outcome, err = migrate.Run(t.Context(), db, p, migrate.RunOptions{Continue: outcome.Hold}); err != nil {
				t.Fatal(err)
			}
		}
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s\n", status)
	}) {
		return
	}
	if testing.Short() {
		t.Skip("-short leaves the 200,000 rows out")
	}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector keeps some memory of every goroutine that was, and a driver may start one for each statement")
	}
	t.Parallel()
	few, many := memoryOf(t, 20_000), memoryOf(t, 200_000)
	t.Logf("20,000 rows: %d MB, 200,000 rows: %d MB", few>>20, many>>20)
	if most := few*3/2 + 20<<20; many > most {
		t.Errorf("got %d MB for 200,000 rows, and %d MB for 20,000, want at most %d MB", many>>20, few>>20, most>>20)
	}
}

var highest = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// memoryOf returns the most bytes that a process has had in memory that rewrites so many parents, and as many children.
func memoryOf(t *testing.T, rows int) int64 {
	t.Helper()
	d := open(t, "sqlite")
	d.exec(d.parents(rows)...)
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC"})
	said, err := d.child(t.Context(), "TestMemory", p).CombinedOutput()
	if err != nil {
		t.Fatalf("the run failed: %v\n%s", err, said)
	}
	if n := d.number("SELECT COUNT(*) FROM parents WHERE id >= 4398046511104"); n != int64(rows) {
		t.Fatalf("%d rows were rewritten, want %d", n, rows)
	}
	found := highest.FindSubmatch(said)
	if found == nil {
		t.Fatalf("the process has not said how much memory it had:\n%s", said)
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// What a process of this package's tests is to do is in these: the database, and the plan's file.
const (
	childDatabase = "SNOWKEY_MIGRATE_CHILD_DATABASE"
	childPlan     = "SNOWKEY_MIGRATE_CHILD_PLAN"
)

// inChild calls a function with the database and the plan that a process was started with, and reports whether it is such a process.
func inChild(t *testing.T, do func(*gorm.DB, *migrate.Plan)) bool {
	t.Helper()
	name := os.Getenv(childDatabase)
	if name == "" {
		return false
	}
	parsed, err := dsn.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	db, err := gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(os.Getenv(childPlan))
	if err != nil {
		t.Fatal(err)
	}
	p, err := migrate.ReadPlan(text)
	if err != nil {
		t.Fatal(err)
	}
	do(db, p)
	return true
}

// child returns the command for a process that runs the test of a name, with the database and a file of the plan.
func (d *database) child(ctx context.Context, test string, p *migrate.Plan) *exec.Cmd {
	d.t.Helper()
	text, err := p.Encode()
	if err != nil {
		d.t.Fatal(err)
	}
	path := filepath.Join(d.t.TempDir(), "plan.sql")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		d.t.Fatal(err)
	}
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+test+"$", "-test.v")
	child.Env = append(os.Environ(), childDatabase+"="+d.name, childPlan+"="+path)
	return child
}
