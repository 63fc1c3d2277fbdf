//go:build linux

package migrate_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin/migrate"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

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

// TestKillRollback kills a rollback at random points, until one gets to the end. It comes to the rows and ids of before.
func TestKillRollback(t *testing.T) {
	if inChild(t, func(db *gorm.DB, p *migrate.Plan) {
		fmt.Println("ready")
		if _, err := migrate.Rollback(t.Context(), db, p, migrate.RunOptions{Target: 5 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
	}) {
		return
	}
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	forEach(t, func(t *testing.T, d *database) {
		random := rand.New(rand.NewPCG(seed, uint64(len(d.kind))))
		within := map[string]time.Duration{"sqlite": 80 * time.Millisecond, "mysql": 400 * time.Millisecond, "postgres": 400 * time.Millisecond}[d.kind]
		if d.kind == "sqlite" {
			d.sample(100)
		} else { // whose steps take longer
			d.exec(d.parents(1000)...)
		}
		before := d.ids()
		options, inspection := samplePlan(migrate.Rekey), migrate.InspectOptions{}
		options.Keep = true
		if d.kind == "sqlite" {
			inspection = sampleInspection
		}
		p := d.plan(inspection, options)
		d.runUntil(p, "")
		if d.ids() == before {
			t.Fatal("the run has changed no ids, so nothing is shown")
		}
		killed := 0
		for range 6 {
			if !d.killRollback(p, time.Duration(random.Int64N(int64(within)))) {
				break
			}
			killed++
		}
		d.killRollback(p, time.Hour)
		t.Logf("killed %d times", killed)
		d.same("the ids", d.ids(), before)
		if _, err := migrate.Run(t.Context(), d.gorm, p, migrate.RunOptions{}); err == nil && d.ids() != before {
			t.Error("the plan was run on")
		}
	})
}

// ids returns keys and references.
func (d *database) ids() string {
	d.t.Helper()
	if d.kind != "sqlite" {
		return d.lines("SELECT id, name, created_at FROM parents ORDER BY name") + d.lines("SELECT id, parent_id, name FROM children ORDER BY name")
	}
	return d.lines("SELECT id, email FROM users ORDER BY email") + d.lines("SELECT id, user_id FROM orders ORDER BY 1, 2") +
		d.lines("SELECT id, owner_id, owner_type FROM comments ORDER BY 1") + d.lines("SELECT id, parent_id FROM categories ORDER BY 1") +
		d.lines("SELECT * FROM product_categories ORDER BY 1, 2") + d.lines("SELECT id, user_id FROM audit_log ORDER BY 1")
}

// killRollback rolls back in a process of its own that is killed a time after it has begun, and reports whether it was; otherwise it got to the end.
func (d *database) killRollback(p *migrate.Plan, after time.Duration) bool {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 5*time.Minute)
	defer cancel()
	child := d.child(ctx, "TestKillRollback", p)
	var printed, said bytes.Buffer // the second is written by the command's own goroutine until Wait
	child.Stderr = &said
	stdout, err := child.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		d.t.Fatal(err)
	}
	var line [4096]byte
	n, _ := stdout.Read(line[:]) // it begins, or has failed, which Wait tells
	printed.Write(line[:n])
	timer := time.AfterFunc(after, func() { _ = child.Process.Kill() })
	defer timer.Stop()
	_, _ = printed.ReadFrom(stdout) // up to its end
	err = child.Wait()
	if status, ok := child.ProcessState.Sys().(interface{ Signaled() bool }); ok && status.Signaled() && ctx.Err() == nil {
		return true
	}
	if err != nil {
		d.t.Fatalf("the rollback failed: %v\n%s%s", err, printed.String(), said.String())
	}
	return false
}
