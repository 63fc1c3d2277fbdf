//go:build unix

package gormplugin_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// pooled is a row that is created under load.
type pooled struct {
	ID   sqltype.ID
	Name string
}

// poolVariable has the orders of a process of TestStoppedUnderLoad: a DSN, the size of its pool, and how many goroutines create rows.
const poolVariable = "SNOWKEY_TEST_POOL"

// TestProcessOfPool is not a test, but a process of TestStoppedUnderLoad. It creates rows, and says when some were created, until its input ends.
func TestProcessOfPool(t *testing.T) {
	orders := strings.Split(os.Getenv(poolVariable), "\n")
	if len(orders) != 4 {
		t.Skip("not a test: TestStoppedUnderLoad runs it in processes of its own")
	}
	size, err1 := strconv.Atoi(orders[1])
	goroutines, err2 := strconv.Atoi(orders[2])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	parsed, pool := openPool(t, orders[0])
	pool.SetMaxOpenConns(size)
	db := openGORM(t, parsed.Dialector(pool), &gorm.Config{Logger: new(recorder)})
	// With a timeout that outlasts the test: a renewal that waits for what waits for it would wait for ever.
	config := grant.Config{For: time.Second, Every: 100 * time.Millisecond, Timeout: time.Hour}
	plugin := gormplugin.New(gormplugin.Grants(config))
	if err := db.Use(plugin); err != nil {
		t.Fatal(err)
	}
	var created, failed atomic.Int64
	for range goroutines {
		go func() {
			for {
				err := db.Create(&pooled{Name: "x"}).Error
				if orders[3] == "explicit" && err == nil {
					err = db.Transaction(func(tx *gorm.DB) error { return tx.Create(&pooled{Name: "y"}).Error })
				}
				if err != nil {
					failed.Add(1)
				} else {
					created.Add(1)
				}
			}
		}()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
	}()
	for {
		select {
		case <-ended:
			os.Exit(0)
		case <-time.After(50 * time.Millisecond):
			fmt.Printf("created %d %d\n", created.Load(), failed.Load())
		}
	}
}

// A process that is stopped for longer than its grant, under load, creates rows again as soon as it goes on, however small its pool: a renewal
// never waits for creates that wait for it. Before, it waited for the time that an attempt has.
func TestStoppedUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("no processes are stopped with -short")
	}
	databases := map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}
	for kind, database := range databases {
		for _, size := range []int{1, 4, 10} {
			for _, how := range []string{"default", "explicit"} {
				if how == "explicit" && size != 4 {
					continue // the transaction is the caller's instead of GORM's, which is the same to the pool
				}
				if (how == "explicit" || size != 4) && !dbtest.IsLong() {
					continue
				}
				t.Run(fmt.Sprintf("%s/pool=%d/%s", kind, size, how), func(t *testing.T) {
					t.Parallel()
					d := database(t)
					if kind == "sqlite" {
						d.DSN += "?_journal_mode=WAL&_busy_timeout=2000"
						d.DriverDSN += "?_journal_mode=WAL"
					}
					stopUnderLoad(t, d, size, how)
				})
			}
		}
	}
}

func stopUnderLoad(t *testing.T, d dbtest.Database, size int, how string) {
	pool := d.Open(t)
	if _, err := pool.Exec("CREATE TABLE pooleds (id BIGINT PRIMARY KEY, name VARCHAR(20))"); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestProcessOfPool$", "-test.timeout=0")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%d\n%d\n%s", poolVariable, d.DSN, size, 4*size+4, how))
	in, err1 := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	if err := errors.Join(err1, err2, c.Start()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	counts := make(chan [2]int64)
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var n [2]int64
			if _, err := fmt.Sscanf(lines.Text(), "created %d %d", &n[0], &n[1]); err == nil {
				counts <- n
			}
		}
	}()
	defer func() {
		_ = in.Close()
		_ = c.Process.Kill()
		for range 2 {
			select {
			case <-counts:
			case <-ended:
			}
		}
		go func() {
			for range counts {
			}
		}()
		<-ended
		_ = c.Wait()
		close(counts)
	}()
	// more returns when more rows were created, with all that were.
	more := func(than int64) [2]int64 {
		limit := time.After(time.Minute)
		for {
			select {
			case n := <-counts:
				if n[0] > than {
					return n
				}
			case <-ended:
				t.Fatal("the process has ended")
			case <-limit:
				t.Fatalf("no row was created in a minute, after %d", than)
			}
		}
	}
	before := more(20)
	for range 3 {
		if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		stopped := before
		for drained := false; !drained; { // what it had said before
			select {
			case stopped = <-counts:
			case <-time.After(1500 * time.Millisecond): // it is stopped for longer than its grant
				drained = true
			}
		}
		if err := c.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		before = more(stopped[0] + int64(8*size)) // more than were under way
		t.Logf("%d rows, %d failed, %s after it went on", before[0]-stopped[0], before[1]-stopped[1], time.Since(began).Round(time.Millisecond))
	}
	var rows, ids int64
	err := pool.QueryRow("SELECT COUNT(*), COUNT(DISTINCT id) FROM pooleds").Scan(&rows, &ids)
	if err != nil || rows != ids || rows == 0 {
		t.Errorf("got %d rows with %d ids, %v", rows, ids, err)
	}
}

// On SQLite a transaction that has written keeps the renewal from writing. A create in it that needs one fails at once, so that the transaction ends; the
// creates after it have their keys as soon as the renewal has the lock.
func TestLockedUnderATransaction(t *testing.T) {
	d := dbtest.SQLite(t)
	parsed, pool := openPool(t, d.DSN+"?_journal_mode=WAL&_busy_timeout=60000")
	db := openGORM(t, parsed.Dialector(pool), &gorm.Config{Logger: new(recorder)})
	granted(t, db, gormplugin.Grants(grant.Config{For: 500 * time.Millisecond, Timeout: time.Hour}))
	if err := db.AutoMigrate(&pooled{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&pooled{Name: "first"}).Error; err != nil {
			return err
		}
		time.Sleep(time.Second) // beyond the grant
		return tx.Create(&pooled{Name: "second"}).Error
	})
	if !errors.Is(err, grant.ErrEnded) || ctx.Err() != nil {
		t.Errorf("got %v, %v, want ErrEnded before the context's end", err, ctx.Err())
	}
	for err = errors.New("none yet"); err != nil && ctx.Err() == nil; {
		err = db.WithContext(ctx).Create(&pooled{Name: "third"}).Error
	}
	if err != nil {
		t.Error(err)
	}
}
