package ticket_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// TestResize goes from two servers to three, while sources of the old list and of the new one draw.
func TestResize(t *testing.T) {
	t.Parallel()
	for _, k := range systems {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			d := make([]dbtest.Database, 3)
			if k.dialect == ticket.MySQL {
				_, databases := pair(t, k)
				d = append(databases, dbtest.StartMySQL(t).Database(t))
			} else {
				for i := range d {
					d[i] = k.database(t)
				}
			}
			// begin makes a sequence on two servers.
			begin := func(t *testing.T, name string) (*recorder, ticket.Config) {
				t.Helper()
				if k.dialect == ticket.MySQL {
					for i := range d {
						execute(t, open(t, d[i]), fmt.Sprintf("SET GLOBAL auto_increment_increment = %d, GLOBAL auto_increment_offset = %d", []int{2, 2, 1}[i], []int{1, 2, 1}[i]))
					}
				}
				r, config := newRecorder(t), quick(ticket.Config{Sequence: name, Timeout: retryFactor})
				r.draw("before", setUp(t, config, d[0], d[1]), 50)
				return r, config
			}
			// end draws from sources of the new list, and of processes that start only now.
			end := func(t *testing.T, r *recorder, config ticket.Config, loads ...*load) {
				t.Helper()
				for _, l := range loads {
					l.more(60)
				}
				resized := sourceOf(t, config, d...)
				mustSetUp(t, resized)
				l := r.load("the new list", resized, 8)
				l.more(60)
				eventually(t, "all three servers give tickets", func() bool {
					for i, s := range resized.Stats().Servers {
						if s.Draws < 10 || s.Layout != fmt.Sprintf("%d/3", i+1) {
							return false
						}
					}
					return true
				})
				for _, l := range append(loads, l) {
					l.more(40)
					l.stop()
					if errs := l.errors(); len(errs) > 0 {
						t.Errorf("calls failed: %v", errs)
					}
				}
				r.draw("a new process with the old list", sourceOf(t, config, d[0], d[1]), 20)
				r.draw("a new process with the new list", sourceOf(t, config, d...), 20)
			}

			t.Run("under load", func(t *testing.T) {
				r, config := begin(t, "load")
				loads := []*load{r.load("old 1", sourceOf(t, config, d[0], d[1]), 8), r.load("old 2", sourceOf(t, config, d[0], d[1]), 4)}
				for _, l := range loads {
					l.more(60)
				}
				must(t, sourceOf(t, config, d...).Resize(t.Context()))
				high := r.greatest()
				end(t, r, config, loads...)
				if r.greatest() <= high {
					t.Errorf("no ids after %d", high)
				}
				must(t, sourceOf(t, config, d...).Resize(t.Context())) // to what it is
				r.draw("after", sourceOf(t, config, d...), 20)
			})
			t.Run("interrupted", func(t *testing.T) {
				r, config := begin(t, "interrupted")
				l := r.load("old", sourceOf(t, config, d[0], d[1]), 8)
				l.more(60)
				early := r.load("new, before it is done", sourceOf(t, config, d...), 2)
				cut := 0
				for try := range 40 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.Int64N(int64(1+try)*int64(4*time.Millisecond))))
					err := sourceOf(t, config, d...).Resize(ctx)
					cancel()
					if err == nil {
						break
					}
					cut++
				}
				t.Logf("%d interrupted", cut)
				must(t, sourceOf(t, config, d...).Resize(t.Context()))
				early.more(10)
				early.stop()
				end(t, r, config, l)
			})
			t.Run("two at once", func(t *testing.T) {
				r, config := begin(t, "two")
				l := r.load("old", sourceOf(t, config, d[0], d[1]), 8)
				l.more(60)
				var wg sync.WaitGroup
				errs := make([]error, 2)
				for i := range errs {
					source := sourceOf(t, config, d...)
					wg.Go(func() { errs[i] = source.Resize(context.Background()) })
				}
				wg.Wait()
				for _, err := range errs {
					if err != nil {
						t.Logf("one of two at once: %v", err)
					}
				}
				if errs[0] != nil && errs[1] != nil {
					must(t, sourceOf(t, config, d...).Resize(t.Context()))
				}
				end(t, r, config, l)
			})
			t.Run("hopeless", func(t *testing.T) {
				r, config := begin(t, "hopeless")
				source := sourceOf(t, config, d[0], d[1])
				for i := range 2 {
					waitForDrawing(t, r, source, i+1)
				}
				closed := serverOf(t, d[2])
				_ = closed.DB.Close()
				wide := config
				wide.Increment = 3
				tests := map[string]*ticket.Tickets{
					"one of before is not in the list": sourceOf(t, wide, d[0]),
					"in another order":                 sourceOf(t, config, d[0], d[2], d[1]),
					"the new one is down":              flickr(t, config, serverOf(t, d[0]), serverOf(t, d[1]), closed),
				}
				if k.dialect == ticket.MySQL {
					name := d[0].DriverDSN[strings.LastIndex(d[0].DriverDSN, "/")+1:]
					name, _, _ = strings.Cut(name, "?")
					execute(t, open(t, d[0]), "CREATE USER plain@localhost", "GRANT ALL ON "+name+".* TO plain@localhost")
					tests["no right to set variables"] = flickr(t, config, serverOf(t, withUser(d[0], "plain")), serverOf(t, d[1]), serverOf(t, d[2]))
				}
				for name, test := range tests {
					err := test.Resize(t.Context())
					var failure *ticket.ServerError
					if !errors.As(err, &failure) {
						t.Errorf("%s: got %v, want a ServerError", name, err)
					}
					if strings.Contains(name, "right") && (!errors.Is(err, ticket.ErrLayout) || !strings.Contains(err.Error(), "SET GLOBAL") || strings.Contains(err.Error(), "CREATE TABLE")) {
						t.Errorf("%s: got %v, want ErrLayout, and the statement that somebody else has to run", name, err)
					}
					for range 4 { // nothing is frozen
						r.draw("after", source, 1)
					}
					for i, s := range source.Stats().Servers {
						if s.Layout != fmt.Sprintf("%d/2", i+1) || s.State == ticket.Quarantined {
							t.Errorf("%s: got %+v, want the layout %d/2", name, s, i+1)
						}
					}
					r.draw("a new process", sourceOf(t, config, d[0], d[1]), 6)
				}
			})
			t.Run("frozen", func(t *testing.T) { // by a Resize that never ended
				r, config := begin(t, "frozen")
				source := sourceOf(t, config, d[0], d[1])
				r.draw("before", source, 20)
				for i := range 2 {
					freeze := fmt.Sprintf("UPDATE snowkey_tickets SET layout = '>%d/3' WHERE stub = 'frozen'", i+1)
					if k.dialect == ticket.Postgres {
						freeze = `DO $$ BEGIN EXECUTE 'ALTER SEQUENCE "snowkey_tickets.frozen" MAXVALUE ' || nextval('"snowkey_tickets.frozen"'); END $$`
						execute(t, open(t, d[i]), fmt.Sprintf(`COMMENT ON SEQUENCE "snowkey_tickets.frozen" IS '>%d/3'`, i+1))
					}
					execute(t, open(t, d[i]), freeze)
				}
				for _, s := range []*ticket.Tickets{source, sourceOf(t, config, d[0], d[1]), sourceOf(t, config, d...)} {
					probes := 0
					err := reasonOf(t, ticket.ErrMoving, s.Next, func(id int64) { // drawn by the probes of before
						r.add("a probe", id)
						if probes++; probes > 2 {
							t.Errorf("got %d ids, want 2 at most", probes)
						}
					})
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("got %v, want ErrMoving until the deadline", err)
					}
					if err := s.Setup(t.Context()); !errors.Is(err, ticket.ErrMoving) {
						t.Errorf("Setup: got %v, want ErrMoving", err)
					}
				}
				l := r.load("throughout", source, 4)
				must(t, sourceOf(t, config, d...).Resize(t.Context()))
				end(t, r, config, l)
			})
		})
	}
}

// disagree makes the row of the sequence "default" on a server by hand: number 2 of two, at about a million.
func disagree(t *testing.T, s ticket.Server) {
	t.Helper()
	if s.Dialect == ticket.Postgres {
		execute(t, s.DB, `ALTER SEQUENCE "snowkey_tickets.default" INCREMENT BY 2 START WITH 2 RESTART WITH 1000000`, `COMMENT ON SEQUENCE "snowkey_tickets.default" IS '2/2'`)
		return
	}
	execute(t, s.DB, "UPDATE snowkey_tickets SET id = 1000000, layout = '2/2'")
}

// TestResizeOfRowsThatDisagree has rows that were made one by one: 1/1 and 2/2, which give the same numbers. Sources refuse them; Resize moves both beyond all that they
// gave.
func TestResizeOfRowsThatDisagree(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, k := range []system{sqliteKind, postgresKind} {
		t.Run("tickets/"+k.String(), func(t *testing.T) {
			t.Parallel()
			d, r, config := []dbtest.Database{k.database(t), k.database(t)}, newRecorder(t), quick(ticket.Config{Timeout: retryFactor})
			r.draw("the first, alone", setUp(t, config, d[0]), 50)
			setUp(t, config, d[1])
			disagree(t, serverOf(t, d[1]))
			source := sourceOf(t, config, d...)
			var err error
			eventually(t, "the two are known to disagree", func() bool { // one may be in use before the other
				var id int64
				if id, err = source.Next(t.Context()); err == nil {
					r.add("before it is known", id)
				}
				return err != nil
			})
			if !errors.Is(err, ticket.ErrLayout) {
				t.Errorf("got %v, want ErrLayout", err)
			}
			for i := range d {
				waitFor(t, source, i+1, ticket.Quarantined)
			}
			if err := source.Setup(t.Context()); !errors.Is(err, ticket.ErrLayout) {
				t.Errorf("Setup: got %v, want ErrLayout", err)
			}
			wantFinding(t, source, ticket.ErrLayout, "another server has")
			moveTo(t, serverOf(t, d[0]), "2000000")
			r.draw("the first, alone again", sourceOf(t, config, d[0]), 50)
			high := r.greatest()
			must(t, source.Resize(t.Context()))
			fresh := flickr(t, config, nowhere(t), serverOf(t, d[1]))
			if id := r.draw("the second, alone", fresh, 50)[0]; id <= high {
				t.Errorf("got %d, and the first had given %d", id, high)
			}
			for i := range d {
				must(t, source.Readmit(fmt.Sprintf("server %d", i+1)))
				waitForDrawing(t, r, source, i+1)
			}
			r.draw("both", source, 100)
		})
	}
	for _, k := range systems {
		t.Run("blocks/"+k.String(), func(t *testing.T) {
			t.Parallel()
			l, d, config := newBlockLedger(t), []dbtest.Database{dbtest.SQLite(t), k.database(t)}, briskly(ticket.BlockConfig{})
			first := blocksSetUp(t, config, d[0])
			l.draw("the first, alone", first, 500)
			idle(t, first)
			noError(t, first.Close())
			blocksSetUp(t, config, d[1])
			blockExecute(t, d[1].Open(t), "UPDATE snowkey_blocks SET next = 1000101, layout = '2/2x100'")
			source := blocksOf(t, config, d...)
			book := l.book("before it is known")
			var err error
			blockEventually(t, func() string { return fmt.Sprintf("the two are known to disagree: %+v", source.Stats()) }, func() bool {
				var id int64
				if id, err = source.Next(t.Context()); err == nil {
					book.add(id)
				}
				return err != nil
			})
			if !errors.Is(err, ticket.ErrLayout) {
				t.Errorf("got %v, want ErrLayout", err)
			}
			for i := range d {
				inState(t, source, i+1, ticket.Quarantined)
			}
			blockExecute(t, d[0].Open(t), "UPDATE snowkey_blocks SET next = 2000001")
			alone := blocksOf(t, config, d[0])
			l.draw("the first, alone again", alone, 500)
			idle(t, alone)
			noError(t, alone.Close())
			_, most, _ := l.audit()
			inTime(t, "Resize", source.Resize)
			if id := l.draw("the second, alone", blocks(t, config, nowhere(t), blockServer(t, d[1])), 3000)[0]; id <= most {
				t.Errorf("got %d, and the first had allocated %d", id, most)
			}
			for i := range d {
				noError(t, source.Readmit(fmt.Sprintf("server %d", i+1)))
			}
			l.draw("both", source, 10_000)
		})
	}
}

// TestResizesToDifferentLists has two Resizes at once, one to three servers and one to four. Whatever they leave, one Resize to one of the lists ends it: no row stays
// frozen for ever.
func TestResizesToDifferentLists(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	rounds := rounds(5, 100)
	for _, k := range []system{sqliteKind, postgresKind} {
		t.Run("tickets/"+k.String(), func(t *testing.T) {
			t.Parallel()
			list := []ticket.Server{serverOf(t, k.database(t)), serverOf(t, k.database(t)), serverOf(t, k.database(t)), serverOf(t, k.database(t))}
			for i := range rounds {
				r, config := newRecorder(t), quick(ticket.Config{Sequence: fmt.Sprintf("lists%d", i), Timeout: retryFactor, ServerTimeout: retryFactor})
				old := flickr(t, config, list[:2]...)
				mustSetUp(t, old)
				l := r.load("the old list", old, 2)
				l.more(20)
				resizeAtOnce(t, func(n int) func(context.Context) error { return flickr(t, config, list[:n]...).Resize })
				l.more(20)
				l.stop()
				r.draw("a new process with all", flickr(t, config, list...), 20)
			}
		})
	}
	t.Run("blocks", func(t *testing.T) {
		t.Parallel()
		list := []ticket.Server{blockServer(t, dbtest.MySQL(t)), blockServer(t, dbtest.Postgres(t)), blockServer(t, dbtest.SQLite(t)), blockServer(t, dbtest.SQLite(t))}
		for i := range rounds {
			l, config := newBlockLedger(t), briskly(ticket.BlockConfig{Config: ticket.Config{Sequence: fmt.Sprintf("lists%d", i)}})
			old := blocks(t, config, list[:2]...)
			inTime(t, "Setup", old.Setup)
			load := l.load("the old list", old, 2)
			load.more(500)
			resizeAtOnce(t, func(n int) func(context.Context) error { return blocks(t, config, list[:n]...).Resize })
			load.more(500)
			load.stop()
			l.draw("a new process with all", blocks(t, config, list...), 1000)
		}
	})
}

// resizeAtOnce has Resizes to three and to four servers run at once, and then one of them again.
func resizeAtOnce(t *testing.T, resize func(servers int) func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), retryFactor)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		call := resize(3 + i)
		wg.Go(func() { errs[i] = call(ctx) })
	}
	wg.Wait()
	if three := resize(3)(ctx); three != nil {
		if four := resize(4)(ctx); four != nil {
			t.Fatalf("neither list can be resized to: %v; %v; before, both at once: %v", three, four, errs)
		}
	}
}
