package strategy_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestFlickr has two databases of MySQL whose sessions have the increment and the offsets that the published scheme needs.
func TestFlickr(t *testing.T) {
	t.Parallel()
	var pools [2]*sql.DB
	for i := range pools {
		d := dbtest.MySQL(t)
		d.DSN += fmt.Sprintf("&auto_increment_increment=2&auto_increment_offset=%d", i+1)
		pools[i] = open(t, d)
	}
	at := strategy.Environment{DB: pools[0], Kind: "mysql", Pair: pools[1], Prefix: prefix, Processes: 2}
	conform(t, byName(t, "flickr"), at, pools[0])
	// Where the database counts, the sessions' settings are heeded too, and the keys that are returned are those that the rows have.
	conform(t, byName(t, "autoincrement"), at, pools[0])
}

func byName(t testing.TB, name string) strategy.Strategy {
	t.Helper()
	s, err := strategy.Select(name)
	if err != nil {
		t.Fatal(err)
	}
	return s[0]
}

// TestNotHere has environments that are without what strategies need.
func TestNotHere(t *testing.T) {
	t.Parallel()
	sqlite, mysql := open(t, dbtest.SQLite(t)), open(t, dbtest.MySQL(t))
	flickr := strategy.Environment{DB: mysql, Kind: "mysql", Pair: open(t, dbtest.MySQL(t))}
	for _, c := range []struct {
		strategy string
		at       strategy.Environment
		want     string
	}{
		{"ticket", strategy.Environment{Kind: "sqlite"}, "none in memory"},
		{"blocks", strategy.Environment{Kind: "sqlite"}, "none in memory"},
		{"blocks", strategy.Environment{DB: sqlite, Kind: "oracle"}, `not "oracle"`},
		{"sequence", strategy.Environment{Kind: "postgres"}, "needs a database"},
		{"sequence", strategy.Environment{DB: sqlite, Kind: "sqlite"}, "SQLite has no sequences"},
		{"flickr", strategy.Environment{DB: sqlite, Kind: "sqlite"}, "second server"},
		{"flickr", flickr, "auto_increment_increment"},
	} {
		c.at.Prefix, c.at.Processes = prefix, 1
		keys, err := byName(t, c.strategy).Open(t.Context(), c.at)
		if keys != nil || !errors.Is(err, strategy.ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want ErrUnavailable with %q", c.strategy, keys, err, c.want)
			continue
		}
		// It stands in a report beside the strategy's name.
		for _, noise := range []string{"\n", "compare:", "not possible", c.strategy + ":"} {
			if strings.Contains(err.Error(), noise) {
				t.Errorf("%s: got %q, want the reason alone", c.strategy, err)
			}
		}
	}
	unsafe := dbtest.SQLite(t)
	unsafe.DSN += "?_synchronous=OFF"
	at := strategy.Environment{DB: open(t, unsafe), Kind: "sqlite", Prefix: prefix, Processes: 1}
	if keys, err := byName(t, "blocks").Open(t.Context(), at); keys != nil || !errors.Is(err, strategy.ErrUnavailable) {
		t.Errorf("blocks of a database that forgets: got %v, %v, want ErrUnavailable", keys, err)
	}
}

// TestOpenFails has databases that are not there, and a context that has ended: failures, and not what a strategy needs.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	gone := open(t, dbtest.SQLite(t))
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	there := open(t, dbtest.MySQL(t))
	for _, name := range []string{"ticket", "blocks", "snowkey", "flickr", "sequence"} {
		at := strategy.Environment{DB: gone, Kind: "mysql", Pair: gone, Prefix: prefix, Processes: 1}
		if keys, err := byName(t, name).Open(t.Context(), at); keys != nil || err == nil || errors.Is(err, strategy.ErrUnavailable) {
			t.Errorf("%s of a closed pool: got %v, %v, want another error than ErrUnavailable", name, keys, err)
		}
		at.DB, at.Pair = there, there
		if keys, err := byName(t, name).Open(ended, at); keys != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that has ended: got %v, %v, want %v", name, keys, err, context.Canceled)
		}
	}
}

// TestOneFile has two processes insert into a file of SQLite at once, whose keys come from the same file by another pool.
func TestOneFile(t *testing.T) {
	for _, settings := range []string{"", "?_journal_mode=WAL"} {
		for _, name := range []string{"ticket", "blocks", "snowkey"} {
			t.Run(name+settings, func(t *testing.T) {
				t.Parallel()
				made := dbtest.SQLite(t)
				made.DSN += settings
				pool := open(t, made)
				var (
					all  []strategy.Key
					lock sync.Mutex
					work sync.WaitGroup
				)
				for process := range 2 {
					keys, err := byName(t, name).Open(t.Context(), strategy.Environment{DB: pool, Kind: "sqlite", Prefix: prefix, Process: process, Processes: 2})
					if err != nil {
						t.Fatal(err)
					}
					defer keys.Close()
					rows := open(t, made)
					rows.SetMaxOpenConns(1)
					table, err := keys.Table(t.Context(), session(t, "sqlite", rows), fmt.Sprint(prefix, "_rows_", process))
					if err != nil {
						t.Fatal(err)
					}
					work.Go(func() {
						orders := strategy.NewOrders(1)
						for range 8 {
							got, err := table.Insert(t.Context(), orders.Make(10))
							if err != nil {
								t.Error(err)
								return
							}
							lock.Lock()
							all = append(all, got...)
							lock.Unlock()
						}
					})
				}
				work.Wait()
				slices.Sort(all)
				if got := len(slices.Compact(all)); got != 160 {
					t.Errorf("%d different keys, want 160", got)
				}
			})
		}
	}
}
