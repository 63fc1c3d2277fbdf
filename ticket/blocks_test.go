package ticket_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// TestBlocksMany takes 200,000 ids from two sources, or a million when SNOWKEY_TORTURE is set, by 32 goroutines over pools of 8 connections, and then counts: what was allocated was given out, is in
// buffer, or is discarded, and the row has allocated no more and no less.
func TestBlocksMany(t *testing.T) {
	t.Parallel()
	total := int64(rounds(200_000, 1_000_000))
	for _, k := range blockKinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			l, d := newBlockLedger(t), k.database(t)
			config := ticket.BlockConfig{Config: ticket.Config{Timeout: blockPatience, ServerTimeout: blockPatience}, Unit: 100, Reserve: 200 * time.Millisecond, MaxStep: 20_000}
			sources := []*ticket.BlockSource{blocksSetUp(t, config, d), blocksOf(t, config, d)}
			var left atomic.Int64
			left.Store(total)
			var group sync.WaitGroup
			for i := range 32 {
				source, book := sources[i%2], l.book(fmt.Sprintf("goroutine %d", i+1))
				group.Go(func() {
					for {
						n := int64(1)
						if rand.IntN(50) == 0 {
							n += rand.Int64N(2000)
						}
						rest := left.Add(-n) + n
						if rest <= 0 {
							return
						}
						keys := make([]int64, min(n, rest))
						if err := fillOrNext(context.Background(), source, keys); err != nil {
							t.Error(err)
							return
						}
						book.add(keys...)
					}
				})
			}
			group.Wait()
			var allocated, issued, discarded int64
			for i, source := range sources {
				idle(t, source)
				s := source.Stats()
				if s.Allocated != s.Issued+s.Buffered+s.Discarded || s.Discarded != 0 {
					t.Errorf("source %d: %d ids allocated, %d issued, %d in the buffer, %d discarded", i+1, s.Allocated, s.Issued, s.Buffered, s.Discarded)
				}
				t.Logf("source %d: %d ids allocated by %d allocations, %d in the buffer, %d calls waited, the last step is %d, an allocation takes %s, at most %s",
					i+1, s.Allocated, s.Refills, s.Buffered, s.Waits, s.Step, s.Latency.P50, s.Latency.Max)
				allocated, issued, discarded = allocated+s.Allocated, issued+s.Issued, discarded+s.Servers[0].Discarded
			}
			if issued != total {
				t.Errorf("%d ids were issued, want %d", issued, total)
			}
			next, layout := blockRow(t, d.Open(t))
			if layout != "1/1x100" {
				t.Errorf("got the layout %q, want 1/1x100", layout)
			}
			if next-1 < allocated || next-1 > allocated+discarded {
				t.Errorf("the row has allocated %d ids, the sources have allocated %d, and lost at most %d", next-1, allocated, discarded)
			}
			if _, most, _ := l.audit(); most >= next {
				t.Errorf("%d was given out, and the row is at %d", most, next)
			}
		})
	}
}

// TestBlocksOfSeveral has servers of all kinds at once. Each allocates its own units, and no source goes back.
func TestBlocksOfSeveral(t *testing.T) {
	t.Parallel()
	for _, kinds := range [][]func(testing.TB) dbtest.Database{
		{dbtest.MySQL, dbtest.MySQL},
		{dbtest.MySQL, dbtest.MySQL, dbtest.Postgres},
		{dbtest.MySQL, dbtest.SQLite, dbtest.Postgres, dbtest.MySQL},
	} {
		t.Run(fmt.Sprint(len(kinds)), func(t *testing.T) {
			l, n := newBlockLedger(t), len(kinds)
			databases := make([]dbtest.Database, n)
			for i, database := range kinds {
				databases[i] = database(t)
			}
			config := briskly(ticket.BlockConfig{Config: ticket.Config{ServerTimeout: blockPatience}})
			first := blocksSetUp(t, config, databases...)
			second := blocksOf(t, config, databases...)
			for i := range n { // all are in use
				l.draw("a first try", first, 1)
				inState(t, first, i+1, ticket.Closed)
			}
			var group sync.WaitGroup
			for i := range 6 {
				source, book := []*ticket.BlockSource{first, second}[i%2], l.book(fmt.Sprintf("goroutine %d", i+1))
				group.Go(func() {
					for range 400 {
						keys := make([]int64, 1+rand.IntN(60))
						if err := fillOrNext(context.Background(), source, keys); err != nil {
							t.Error(err)
							return
						}
						book.add(keys...)
					}
				})
			}
			group.Wait()
			idle(t, first)
			idle(t, second)
			next, allocated := make([]int64, n), make([]int, n)
			for i, d := range databases {
				var layout string
				if next[i], layout = blockRow(t, d.Open(t)); layout != fmt.Sprintf("%d/%dx100", i+1, n) {
					t.Errorf("server %d has the layout %q", i+1, layout)
				}
				if first := next[i] - int64(i)*100 - 1; first%int64(100*n) != 0 {
					t.Errorf("server %d is at %d, where none of its units begins", i+1, next[i])
				}
			}
			l.each(func(id int64) {
				i := (id - 1) / 100 % int64(n)
				if allocated[i]++; id >= next[i] {
					t.Errorf("%d was given out, and server %d, whose it is, is at %d", id, i+1, next[i])
				}
			})
			t.Logf("ids by server: %v", allocated)
			for i, count := range allocated {
				if count == 0 {
					t.Errorf("server %d allocated nothing", i+1)
				}
			}
		})
	}
}

// TestBlocksAreUniform takes ids from one server of two, by the default unit. Those who spread rows over shards by id % shards need all of them used, and alike: ids
// that are all odd, as with units of one id, leave half of the shards empty.
func TestBlocksAreUniform(t *testing.T) {
	t.Parallel()
	l, databases, config := newBlockLedger(t), []dbtest.Database{dbtest.SQLite(t), dbtest.MySQL(t)}, briskly(ticket.BlockConfig{Unit: 1024, MaxStep: 5000})
	blocksSetUp(t, config, databases...)
	down := blockServer(t, databases[0])
	noError(t, down.DB.Close())
	source := blocks(t, config, down, blockServer(t, databases[1]))
	const shards, each = 1024, 64
	var count [shards]int
	for _, id := range l.draw("the other", source, shards*each) {
		count[id%shards]++
	}
	for shard, n := range count {
		if n != each {
			t.Errorf("shard %d has %d ids, want %d", shard, n, each)
		}
	}
}

// TestBlocksAgainstHands has somebody change the row of a source that is running. No id comes twice from it, and it says what is wrong; what is mended is
// used again.
func TestBlocksAgainstHands(t *testing.T) {
	t.Parallel()
	forward := func(db *sql.DB, last int64) []string {
		return []string{fmt.Sprintf("UPDATE snowkey_blocks SET next = %d, layout = '1/1x100'", (last/100+10)*100+1)}
	}
	set := func(text string) func(int64) []string {
		return func(int64) []string { return []string{"UPDATE snowkey_blocks SET " + text} }
	}
	const table = "CREATE TABLE snowkey_blocks (name varchar(64) collate_c NOT NULL PRIMARY KEY, next bigint NOT NULL, layout varchar(32) collate_c NOT NULL)"
	for _, c := range []struct {
		name string
		hand func(last int64) []string
		want error
		// later is the error of a source that is opened afterwards; nil for one that cannot know
		later error
		// forgotten is a row that its error's statement makes
		forgotten bool
	}{
		{"the beginning", set("next = 1"), ticket.ErrRegression, nil, false},
		{"before zero", set("next = -99"), ticket.ErrLayout, ticket.ErrLayout, false},
		{"one unit back", func(last int64) []string {
			return []string{fmt.Sprintf("UPDATE snowkey_blocks SET next = %d", last-99)}
		}, ticket.ErrRegression, nil, false},
		{"off the units", set("next = next + 37"), ticket.ErrLayout, ticket.ErrLayout, false},
		{"another's layout", set("layout = '2/2x100'"), ticket.ErrLayout, ticket.ErrLayout, false},
		{"no layout", set("layout = 'two of them'"), ticket.ErrLayout, ticket.ErrLayout, false},
		{"an empty layout", set("layout = ''"), ticket.ErrLayout, ticket.ErrLayout, false},
		{"DELETE", func(int64) []string { return []string{"DELETE FROM snowkey_blocks"} }, ticket.ErrForgotten, ticket.ErrForgotten, true},
		{"TRUNCATE", func(int64) []string { return []string{"TRUNCATE snowkey_blocks"} }, ticket.ErrForgotten, ticket.ErrForgotten, true},
		{"DROP TABLE", func(int64) []string { return []string{"DROP TABLE snowkey_blocks"} }, ticket.ErrForgotten, ticket.ErrForgotten, true},
		{"another table", func(int64) []string {
			return []string{"DROP TABLE snowkey_blocks", table, "INSERT INTO snowkey_blocks VALUES ('default', 1, '1/1x100')"}
		}, ticket.ErrRegression, nil, false},
		{"another row", func(int64) []string {
			return []string{"DELETE FROM snowkey_blocks", "INSERT INTO snowkey_blocks VALUES ('default', 1, '1/1x100')"}
		}, ticket.ErrRegression, nil, false},
	} {
		for _, k := range blockKinds {
			t.Run(c.name+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				if c.name == "TRUNCATE" && k.name == "sqlite" {
					t.Skip("SQLite has no TRUNCATE")
				}
				l, d := newBlockLedger(t), k.database(t)
				config := briskly(ticket.BlockConfig{})
				source, db := blocksSetUp(t, config, d), d.Open(t)
				l.draw("before", source, 3000)
				idle(t, source)
				next, _ := blockRow(t, db)
				for _, statement := range c.hand(next - 1) {
					collate := map[string]string{"postgres": `COLLATE "C"`}[k.name]
					blockExecute(t, db, strings.ReplaceAll(statement, "collate_c", collate))
				}
				err := l.drain("the buffer", source, 100_000)
				if !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if _, most, _ := l.audit(); most >= next {
					t.Errorf("%d was given out after the row was changed, at %d", most, next)
				}
				if c.later != nil {
					later := blocksOf(t, config, d)
					if c.forgotten {
						if err := later.Setup(t.Context()); !errors.Is(err, c.later) {
							t.Errorf("Setup of another source: got %v, want %v", err, c.later)
						}
					}
					if _, err := later.Next(t.Context()); !errors.Is(err, c.later) {
						t.Errorf("another source: got %v, want %v", err, c.later)
					}
				}
				if c.forgotten {
					var missing *ticket.TableError
					if !errors.As(err, &missing) {
						t.Fatalf("got %v, want a TableError", err)
					}
					if strings.Count(missing.Statement, "?") != 1 {
						t.Fatalf("want a question mark for a number in %s", missing.Statement)
					}
					greatest := fmt.Sprint(next - 1) // in use, at most
					for statement := range strings.SplitSeq(strings.Replace(missing.Statement, "?", greatest, 1), ";\n") {
						blockExecute(t, db, statement)
					}
				} else {
					blockExecute(t, db, forward(db, next)...)
				}
				noError(t, source.Readmit("server 1"))
				l.draw("mended", source, 3000)
				l.draw("another, opened then", blocksOf(t, config, d), 3000)
			})
		}
	}
}

// TestBlocksDropped has the whole table go, and the register: what a source that runs then suggests begins above its ids, and a Setup that begins anew is noticed.
func TestBlocksDropped(t *testing.T) {
	t.Parallel()
	for _, k := range blockKinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			l, d := newBlockLedger(t), k.database(t)
			config := briskly(ticket.BlockConfig{})
			source, db := blocksSetUp(t, config, d), d.Open(t)
			l.draw("before", source, 3000)
			idle(t, source)
			blockExecute(t, db, "DROP TABLE snowkey_blocks", "DROP TABLE snowkey_blocks_register")
			if err := l.drain("the buffer", source, 100_000); !errors.Is(err, ticket.ErrTable) {
				t.Errorf("got %v, want ErrTable", err)
			}
			other := blocksSetUp(t, config, d) // begins anew, as nobody has told it
			if id, err := other.Next(t.Context()); err != nil || id != 1 {
				t.Errorf("got %d, %v, want 1", id, err)
			}
			noError(t, source.Readmit("server 1"))
			if id, err := source.Next(t.Context()); !errors.Is(err, ticket.ErrRegression) {
				t.Errorf("got %d, %v, want ErrRegression", id, err)
			}
		})
	}
}

// TestBlocksRowIsAuthority runs Setup with another unit and another increment than the row was made with, and changes the row's layout to another one
// that the server has the same place in: the row has its way.
func TestBlocksRowIsAuthority(t *testing.T) {
	t.Parallel()
	for _, k := range blockKinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			l, d := newBlockLedger(t), k.database(t)
			first := blocksSetUp(t, briskly(ticket.BlockConfig{}), d)
			l.draw("the first", first, 1000)
			other := briskly(ticket.BlockConfig{Unit: 7})
			other.Increment = 5
			second := blocksSetUp(t, other, d)
			l.draw("the second", second, 1000)
			db := d.Open(t)
			if _, layout := blockRow(t, db); layout != "1/1x100" {
				t.Errorf("got the layout %q, want 1/1x100", layout)
			}
			blockExecute(t, db, "UPDATE snowkey_blocks SET next = 1000001, layout = '1/4x10'")
			l.draw("the first, later", first, 30_000)
			l.draw("the second, later", second, 30_000)
			if got := first.Stats().Servers[0].Layout; got != "1/4x10" {
				t.Errorf("got the layout %q, want 1/4x10", got)
			}
			l.each(func(id int64) {
				if id > 1_000_000 && (id-1)/10%4 != 0 {
					t.Errorf("%d is another server's", id)
				}
			})
		})
	}
}

// TestBlocksPlaces has servers come, twice in one list, and swapped.
func TestBlocksPlaces(t *testing.T) {
	t.Parallel()
	a, b, c := dbtest.MySQL(t), dbtest.Postgres(t), dbtest.SQLite(t)
	config := briskly(ticket.BlockConfig{})
	config.Increment = 4
	l := newBlockLedger(t)
	old := blocksSetUp(t, config, a, b)
	l.draw("two servers", old, 3000)
	added := blocksSetUp(t, config, a, b, c)
	for i := range 3 {
		l.draw("three servers", added, 3000)
		inState(t, added, i+1, ticket.Closed)
	}
	l.draw("two servers, later", old, 3000)
	if _, layout := blockRow(t, c.Open(t)); layout != "3/4x100" {
		t.Errorf("the third server has %q, want 3/4x100", layout)
	}
	allocated := [4]int{}
	l.each(func(id int64) { allocated[(id-1)/100%4]++ })
	if allocated[2] == 0 || allocated[3] != 0 {
		t.Errorf("ids by server: %v, want some of the third and none of the fourth", allocated)
	}

	for _, wrong := range []struct {
		name string
		list []dbtest.Database
		fine bool // some server is at its place
	}{
		{"twice", []dbtest.Database{a, a, b}, true},
		{"swapped", []dbtest.Database{b, a}, false},
		{"moved", []dbtest.Database{c, b, a}, true},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			source := blocksOf(t, config, wrong.list...)
			if err := source.Setup(t.Context()); !errors.Is(err, ticket.ErrLayout) {
				t.Errorf("Setup: got %v, want ErrLayout", err)
			}
			if wrong.fine {
				l.draw(wrong.name, source, 3000)
				return
			}
			if id, err := source.Next(t.Context()); !errors.Is(err, ticket.ErrLayout) {
				t.Errorf("got %d, %v, want ErrLayout", id, err)
			}
		})
	}
	t.Run("twice from the start", func(t *testing.T) {
		l, d := newBlockLedger(t), dbtest.MySQL(t)
		source := blocksOf(t, briskly(ticket.BlockConfig{}), d, d)
		if err := source.Setup(t.Context()); !errors.Is(err, ticket.ErrLayout) {
			t.Errorf("Setup: got %v, want ErrLayout", err)
		}
		l.draw("the first of them", source, 3000)
		if s := source.Stats().Servers[1]; s.State != ticket.Quarantined && s.State != ticket.HalfOpen || s.Draws != 0 {
			t.Errorf("the second one: %+v", s)
		}
	})
}

// TestBlocksToTheEnd allocates all ids up to a limit. Then calls fail at once: they have no deadline here.
func TestBlocksToTheEnd(t *testing.T) {
	t.Parallel()
	const step = 1000
	for _, c := range []struct {
		name    string
		limit   int64
		before  int64 // the limit, the row is moved to
		servers int
	}{
		{"a small one", 60_000, 60_000, 1},
		{"a small one of two", 60_000, 60_000, 2},
		{"not at a unit's end", 43_210, 43_210, 1},
		{"less than a unit", 99, 99, 1},
		{"JavaScript", 1<<53 - 1, 25_000, 1},
		{"JavaScript of two", 1<<53 - 1, 25_000, 2},
		{"all", math.MaxInt64, 25_000, 1},
		{"all of two", math.MaxInt64, 25_000, 2},
	} {
		for i, k := range blockKinds {
			if c.servers > 1 && i > 0 {
				break // they are of two kinds
			}
			t.Run(c.name+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				l := newBlockLedger(t)
				var warnings atomic.Int64
				var told sync.Map // the last state, by name
				config := briskly(ticket.BlockConfig{Reserve: 10 * time.Millisecond, MinStep: step, MaxStep: step})
				config.Limit, config.Timeout, config.ServerTimeout = c.limit, -1, blockPatience
				config.Notify = func(s ticket.ServerStats) {
					if before, _ := told.Swap(s.Name, s.State); before == s.State && s.State == ticket.Closed { // not because it has changed
						if warnings.Add(1); s.Used < 0.9 || s.Used > 1 {
							t.Errorf("warned at %.3f", s.Used)
						}
					}
				}
				databases := make([]dbtest.Database, c.servers)
				for i := range databases {
					databases[i] = k.database(t)
					k = blockKinds[1]
				}
				source := blocksSetUp(t, config, databases...)
				jump := int64(100 * c.servers)
				start := (c.limit - c.before) / jump * jump // ids up to there are used
				for i, d := range databases {
					blockExecute(t, d.Open(t), fmt.Sprintf("UPDATE snowkey_blocks SET next = %d", start+int64(i)*100+1))
				}
				if c.limit < 100 {
					l.book("nobody").add(1)
				}
				done := make(chan error, 1)
				book, n := l.book("the source"), int64(0)
				go func() {
					for {
						id, err := source.Next(context.Background())
						if err != nil || n > 100_000 {
							done <- err
							return
						}
						book.add(id)
						if n++; id > c.limit {
							t.Errorf("%d is beyond the limit", id)
						}
					}
				}()
				var err error
				select {
				case err = <-done:
				case <-time.After(blockPatience):
					t.Fatalf("a call hangs: %+v", source.Stats())
				}
				var exhausted *ticket.ExhaustedError
				if !errors.Is(err, ticket.ErrExhausted) || !errors.As(err, &exhausted) || exhausted.Limit != c.limit {
					t.Errorf("got %v, want an ExhaustedError with the limit %d", err, c.limit)
				}
				// What a server can allocate, and with several the other ones' share of each step.
				if least := c.limit - start - step*int64(c.servers) - jump; c.servers == 1 && n < least || c.servers > 1 && n < least/int64(c.servers) {
					t.Errorf("%d ids of %d were allocated", n, c.limit-start)
				}
				if most, stats := int64(c.servers), source.Stats(); c.limit > 100 && (warnings.Load() < 1 || warnings.Load() > most) {
					t.Errorf("%d warnings of %d servers: %+v", warnings.Load(), most, stats.Servers)
				}
				if id, err := source.Next(t.Context()); !errors.Is(err, ticket.ErrExhausted) {
					t.Errorf("then %d, %v, want ErrExhausted", id, err)
				}
				if id, err := blocksOf(t, config, databases...).Next(t.Context()); err == nil {
					l.book("another").add(id)
				} else if !errors.Is(err, ticket.ErrExhausted) {
					t.Errorf("another source: got %d, %v, want an id or ErrExhausted", id, err)
				}
			})
		}
	}
}

// TestBlocksShortDeadlines asks with deadlines that are shorter than an allocation, and with contexts that have ended. Such calls allocate nothing for themselves, and
// lose nothing.
func TestBlocksShortDeadlines(t *testing.T) {
	t.Parallel()
	for _, k := range blockKinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			l, d := newBlockLedger(t), k.database(t)
			// No attempt is ended by anything but Close, so that none is in doubt.
			config := briskly(ticket.BlockConfig{Config: ticket.Config{ServerTimeout: blockPatience}})
			blocksSetUp(t, config, d)
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			var failed atomic.Int64
			for range 5 {
				source := blocksOf(t, config, d)
				var group sync.WaitGroup
				for range 8 {
					book := l.book("a source")
					group.Go(func() {
						for range 25 {
							ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
							if rand.IntN(4) == 0 {
								ctx = ended
							}
							keys := make([]int64, 1+rand.IntN(2)*rand.IntN(3000))
							err := fillOrNext(ctx, source, keys)
							if err == nil {
								book.add(keys...)
							} else if failed.Add(1); !errors.Is(err, ticket.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
								t.Errorf("got %v, want how the context ended", err)
							}
							if err := source.Warm(ctx); err != nil && !errors.Is(err, ticket.ErrUnavailable) {
								t.Errorf("Warm: %v", err)
							}
							cancel()
						}
					})
				}
				group.Wait()
				if s := source.Stats(); s.Allocated != s.Issued+s.Buffered || s.Servers[0].Discarded != 0 {
					t.Errorf("%d ids allocated, %d issued, %d in the buffer; %d may be lost", s.Allocated, s.Issued, s.Buffered, s.Servers[0].Discarded)
				}
				l.draw("afterwards", source, 200)
			}
			t.Logf("%d calls failed", failed.Load())
			if failed.Load() == 0 {
				t.Error("no call failed")
			}
		})
	}
}

// TestBlocksClose closes sources that are at work: while they are probed, while they allocate, while calls wait.
func TestBlocksClose(t *testing.T) {
	t.Parallel()
	for _, k := range blockKinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			l, d := newBlockLedger(t), k.database(t)
			config := briskly(ticket.BlockConfig{})
			blocksSetUp(t, config, d)
			discarded, ends := int64(0), rounds(8, 50)
			for i := range ends {
				source := blocksOf(t, config, d)
				var group sync.WaitGroup
				var given atomic.Int64
				begun := make(chan struct{}, 100)
				for range 8 {
					book := l.book("a source")
					group.Go(func() {
						for n := range 10_000 {
							keys := make([]int64, 1+rand.IntN(2)*rand.IntN(1000))
							select {
							case begun <- struct{}{}:
							default:
							}
							if err := fillOrNext(context.Background(), source, keys); err != nil {
								if !errors.Is(err, ticket.ErrClosed) {
									t.Errorf("got %v, want ErrClosed", err)
								}
								return
							}
							book.add(keys...)
							given.Add(int64(len(keys)))
							if n%3 == 0 {
								_ = source.Warm(context.Background())
							}
						}
					})
				}
				<-begun
				blockEventually(t, func() string { return "ids" }, func() bool { return given.Load() >= int64(i%10)*500 })
				noError(t, source.Close())
				group.Wait()
				noError(t, source.Close())
				s := source.Stats()
				if s.Allocated != s.Issued+s.Discarded || s.Issued != given.Load() {
					t.Errorf("%d ids allocated, %d issued, %d discarded; %d were given out", s.Allocated, s.Issued, s.Discarded, given.Load())
				}
				discarded += s.Discarded
			}
			t.Logf("%d ids discarded by %d ends", discarded, ends)
			l.draw("afterwards", blocksOf(t, config, d), 200)
		})
	}
}

// TestStockOfServerSetBack has a server set back, or emptied, that has given a stock of ids. The source notices without an allocation, throws the stock away, and
// goes on with the ids of another server, if there is one.
func TestStockOfServerSetBack(t *testing.T) {
	t.Parallel()
	for what, hand := range map[string]struct {
		statement string
		want      error
		restored  bool // by the source itself, right before: the server is half-open then
	}{
		"set back":               {"UPDATE snowkey_blocks SET next = 1", ticket.ErrRegression, false},
		"set back after Restore": {"UPDATE snowkey_blocks SET next = 1", ticket.ErrRegression, true},
		"off":                    {"UPDATE snowkey_blocks SET next = 37", ticket.ErrLayout, false},
		"emptied":                {"DELETE FROM snowkey_blocks", ticket.ErrForgotten, false},
		"dropped":                {"DROP TABLE snowkey_blocks", ticket.ErrForgotten, false},
	} {
		for _, k := range blockKinds {
			for _, servers := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s/%s/%d", what, k.name, servers), func(t *testing.T) {
					t.Parallel()
					l := newBlockLedger(t)
					var d []dbtest.Database
					for range servers {
						d = append(d, k.database(t))
					}
					config := briskly(ticket.BlockConfig{MinStep: 5000})
					source, db := blocksSetUp(t, config, d...), d[0].Open(t)
					l.draw("before", source, 10_001)
					for wait := 0; source.Stats().Servers[0].Last == 0; wait++ { // it may be the slower one to start
						if wait == 2000 {
							t.Fatal("server 1 gives nothing for twenty seconds")
						}
						l.draw("until server 1 has given ids", source, 10)
						time.Sleep(10 * time.Millisecond)
					}
					idle(t, source)
					if source.Stats().Buffered < 1000 {
						t.Fatalf("got %+v, want a stock", source.Stats())
					}
					if hand.restored {
						must(t, source.Restore(t.Context(), "server 1", 1))
						if got := source.Stats(); got.Servers[0].State != ticket.HalfOpen || got.Buffered < 1000 {
							t.Fatalf("got %+v, want a stock, and the server half-open", got)
						}
					}
					blockExecute(t, db, hand.statement)
					for wait := 0; source.Stats().Discarded == 0; wait++ {
						if wait == 2000 {
							t.Fatalf("the source keeps its stock for twenty seconds: %+v", source.Stats())
						}
						time.Sleep(10 * time.Millisecond)
					}
					stats := source.Stats()
					if got := stats.Servers[0]; got.State == ticket.Closed || !errors.Is(got.Err, hand.want) {
						t.Errorf("got %+v, want it to be put aside", got)
					}
					if servers == 2 {
						l.draw("the other server", source, 20_000)
						if again := source.Stats(); again.Discarded != stats.Discarded {
							t.Errorf("%d ids of the other server were thrown away", again.Discarded-stats.Discarded)
						}
						return
					}
					if id, err := source.Next(t.Context()); !errors.Is(err, hand.want) {
						t.Errorf("got %d and the error %v, want %v", id, err, hand.want)
					}
					if hand.want == ticket.ErrLayout { // which Restore leaves to people
						return
					}
					must(t, source.Restore(t.Context(), "server 1", 1_000_000))
					l.draw("restored", source, 100)
				})
			}
		}
	}
}
