//go:build linux

package migrate_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/migrate"
)

// TestMemory rewrites tables of which one has ten times the rows of the other, each in a process of its own, and compares the most memory that the
// processes have had, with that of SQLite.
func TestMemory(t *testing.T) {
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
