//go:build linux

package merge_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/migrate/internal/merge"
)

// killedDatabases has the databases of a process of TestKill, a line each, that to merge into first.
const killedDatabases = "SNOWKEY_MERGE_DATABASES"

func TestMain(m *testing.M) {
	if names := os.Getenv(killedDatabases); names != "" {
		if err := mergeKilled(strings.Split(names, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// mergeKilled merges, and says when it begins.
func mergeKilled(names []string) error {
	var dbs []*gorm.DB
	for _, name := range names {
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
		dbs = append(dbs, db)
	}
	fmt.Println("ready")
	_, err := merge.Run(context.Background(), dbs[0], dbs[1:], merge.Options{Target: time.Millisecond})
	return err
}

// TestKill kills merges at random points, 12 in all, or more with SNOWKEY_TORTURE set. What the last has made is what one makes that nobody
// disturbs, and Into had no row that refers to none at any time.
func TestKill(t *testing.T) {
	points := 4
	if os.Getenv("SNOWKEY_TORTURE") != "" {
		points = 67
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	eachKind(t, func(t *testing.T, kind string) {
		dbtest.LongOn(t, kind, "sqlite", "postgres")
		random := rand.New(rand.NewPCG(seed, uint64(len(kind))))
		from := []*place{shop(t, kind, 150, 7), shop(t, kind, 100, 12)}
		want := anew(t, kind, wide(kind)...)
		want.fill(t, 150, 7)
		want.fill(t, 100, 12)
		sum := want.checksum(t)
		took := 2 * time.Second // of a merge that is not disturbed; the first bounds the delays
		for killed := 0; killed < points; {
			into := anew(t, kind, wide(kind)...)
			names := strings.Join([]string{into.name, from[0].name, from[1].name}, "\n")
			began := time.Now()
			for range 5 {
				if !kill(t, names, time.Duration(random.Int64N(int64(took)))) {
					break
				}
				killed++
				if n := into.count(t, "SELECT COUNT(*) FROM orders o LEFT JOIN users u ON u.id = o.user_id WHERE u.id IS NULL"); n != 0 {
					t.Errorf("after %d kills %d orders are nobody's", killed, n)
				}
			}
			kill(t, names, time.Hour)
			took = min(took, time.Since(began))
			if got := into.checksum(t); got != sum {
				t.Errorf("after %d kills got %s, want %s", killed, got, sum)
			}
		}
	})
}

// kill merges in a process of its own that is killed after a time, and reports whether it was; otherwise it got to the end.
func kill(t *testing.T, names string, after time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), killedDatabases+"="+names)
	var stderr bytes.Buffer
	child.Stderr = &stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ready := bufio.NewScanner(stdout).Scan()
	timer := time.AfterFunc(after, func() { _ = child.Process.Kill() })
	defer timer.Stop()
	err = child.Wait()
	if status, ok := child.ProcessState.Sys().(interface{ Signaled() bool }); ok && status.Signaled() && ctx.Err() == nil {
		return true
	}
	if err != nil || !ready {
		t.Fatalf("the merge failed: %v\n%s", err, stderr.String())
	}
	return false
}
