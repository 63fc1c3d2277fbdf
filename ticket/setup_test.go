package ticket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// TestSetupAgain runs Setup again, with other configurations as well: what is there stays.
func TestSetupAgain(t *testing.T) {
	t.Parallel()
	for _, k := range systems {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			d, r := k.database(t), newRecorder(t)
			source := setUp(t, ticket.Config{}, d)
			r.draw("before", source, 10)
			mustSetUp(t, source)
			r.draw("after", source, 10)
			other := setUp(t, ticket.Config{Increment: 7}, d)
			r.draw("another increment", other, 10)
			if layout := other.Stats().Servers[0].Layout; layout != "1/1" {
				t.Errorf("got the layout %s, want that of the row, 1/1", layout)
			}
			sequence := newRecorder(t)
			sequence.draw("another sequence", setUp(t, ticket.Config{Sequence: "Other-2.x_"}, d), 10)
			r.draw("after", source, 10)
		})
	}
}

// setupVariable holds the orders of a process of TestSetupByManyProcesses.
const setupVariable = "SNOWKEY_TICKET_SETUP"

type setupOrders struct {
	Driver, DSN string
	Dialect     ticket.Dialect
}

// setupIDs is how many ids each process draws.
const setupIDs = 50

// TestProcessOfSetup is not a test, but what TestSetupByManyProcesses runs in processes of its own.
func TestProcessOfSetup(t *testing.T) {
	text := os.Getenv(setupVariable)
	if text == "" {
		t.Skip("not a test: TestSetupByManyProcesses runs it in processes of its own")
	}
	var orders setupOrders
	must(t, json.Unmarshal([]byte(text), &orders))
	kindOf := map[ticket.Dialect]string{ticket.SQLite: "sqlite", ticket.MySQL: "mysql", ticket.Postgres: "postgres"}
	source := setUp(t, ticket.Config{Timeout: retryFactor}, dbtest.Database{Kind: kindOf[orders.Dialect], DriverName: orders.Driver, DriverDSN: orders.DSN})
	ids := make([]int64, setupIDs)
	must(t, source.Fill(context.Background(), ids))
	line, err := json.Marshal(ids)
	must(t, err)
	fmt.Printf("\nids %s\n", line)
}

// TestSetupByManyProcesses has many processes set up the same sequence at once, and draw from it.
func TestSetupByManyProcesses(t *testing.T) {
	t.Parallel()
	processes := rounds(6, 20)
	executable, err := os.Executable()
	must(t, err)
	for _, k := range systems {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			d, r := k.database(t), newRecorder(t)
			orders, err := json.Marshal(setupOrders{d.DriverName, d.DriverDSN, k.dialect})
			must(t, err)
			var wg sync.WaitGroup
			for i := range processes {
				wg.Go(func() {
					cmd := exec.Command(executable, "-test.run=^TestProcessOfSetup$", "-test.timeout=2m")
					cmd.Env = append(os.Environ(), setupVariable+"="+string(orders))
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Errorf("process %d: %v\n%s", i+1, err, out)
						return
					}
					_, line, _ := strings.Cut(string(out), "\nids ")
					line, _, _ = strings.Cut(line, "\n")
					var ids []int64
					if err := json.Unmarshal([]byte(line), &ids); err != nil {
						t.Errorf("process %d: %v\n%s", i+1, err, out)
						return
					}
					for _, id := range ids {
						r.add(fmt.Sprintf("process %d", i+1), id)
					}
				})
			}
			wg.Wait()
			if r.count() != processes*setupIDs {
				t.Errorf("got %d different ids, want %d", r.count(), processes*setupIDs)
			}
			r.draw("another process", sourceOf(t, ticket.Config{}, d), 1)
		})
	}
}

// TestSetupRace has two lists set up at once, one with a server more. Whichever is first, no number comes twice.
func TestSetupRace(t *testing.T) {
	t.Parallel()
	for _, k := range []system{sqliteKind, postgresKind} {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			d := []dbtest.Database{k.database(t), k.database(t), k.database(t)}
			for i := range rounds(5, 50) {
				r, config := newRecorder(t), quick(ticket.Config{Sequence: fmt.Sprintf("race%d", i), Timeout: retryFactor})
				sources := []*ticket.Tickets{sourceOf(t, config, d[0], d[1]), sourceOf(t, config, d...)}
				errs := make([]error, len(sources))
				var wg sync.WaitGroup
				for i, source := range sources {
					wg.Go(func() { errs[i] = source.Setup(context.Background()) })
				}
				wg.Wait()
				if errs[0] != nil && errs[1] != nil {
					t.Errorf("both were refused: %v; %v", errs[0], errs[1])
				}
				for i, source := range sources {
					if errs[i] != nil && !errors.Is(errs[i], ticket.ErrLayout) {
						t.Errorf("source %d: got %v, want none or ErrLayout", i+1, errs[i])
					}
					wg.Go(func() { // also if it was refused
						for range 60 {
							id, err := source.Next(context.Background())
							if err != nil {
								if errs[i] == nil {
									t.Errorf("source %d: %v", i+1, err)
								}
								return
							}
							r.add(fmt.Sprintf("source %d", i+1), id)
						}
					})
				}
				wg.Wait()
			}
		})
	}
}

// TestSetupWithoutAutocommit has sessions that do not commit by themselves.
func TestSetupWithoutAutocommit(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	d, r := dbtest.MySQL(t), newRecorder(t)
	config := quick(ticket.Config{})
	source := flickr(t, config, serverOf(t, d, "autocommit=0"))
	mustSetUp(t, source)
	id, err := source.Next(context.Background())
	if !errors.Is(err, ticket.ErrUnsafe) {
		t.Errorf("got %d, %v, want ErrUnsafe", id, err)
	}
	if s := source.Stats().Servers[0]; s.State != ticket.Open {
		t.Errorf("got %+v, want it open", s)
	}
	wantFinding(t, source, ticket.ErrUnsafe, "autocommit is 0")
	r.draw("with autocommit", setUp(t, config, d), 20)
	// And sessions of a pool that are changed under way.
	server := serverOf(t, d)
	server.DB.SetMaxOpenConns(1)
	source = flickr(t, config, server)
	r.draw("with autocommit", source, 5)
	execute(t, server.DB, "SET autocommit = 0")
	r.draw("in another session", source, 5)
	execute(t, server.DB, "ROLLBACK")
	r.draw("after it", source, 5)
	r.draw("a new process", sourceOf(t, config, d), 5)
}

// TestForgotten takes the row of a sequence away under load, in all ways that there are. It is not made again by itself; the statement of the error does
// it, with the greatest id in use for its question mark.
func TestForgotten(t *testing.T) {
	t.Parallel()
	tests := []struct {
		system    system
		name      string
		statement []string
		forgotten bool // the register is still there
	}{
		{mysqlKind, "TRUNCATE", []string{"TRUNCATE TABLE snowkey_tickets"}, true},
		{mysqlKind, "DELETE", []string{"DELETE FROM snowkey_tickets"}, true},
		{mysqlKind, "DROP", []string{"DROP TABLE snowkey_tickets"}, true},
		{mysqlKind, "DROP of both", []string{"DROP TABLE snowkey_tickets_register", "DROP TABLE snowkey_tickets"}, false},
		{sqliteKind, "DELETE", []string{"DELETE FROM snowkey_tickets"}, true},
		{sqliteKind, "DROP", []string{"DROP TABLE snowkey_tickets"}, true},
		{postgresKind, "DROP", []string{`DROP SEQUENCE "snowkey_tickets.default"`}, true},
	}
	for _, test := range tests {
		t.Run(test.system.String()+"/"+test.name, func(t *testing.T) {
			t.Parallel()
			d, r, config := test.system.database(t), newRecorder(t), quick(ticket.Config{})
			source := setUp(t, config, d)
			load := r.load("throughout", source, 8)
			load.more(100)
			db := open(t, d)
			execute(t, db, test.statement...)
			eventually(t, "calls fail", func() bool { return load.failed.Load() >= 8 })
			load.stop()
			high := r.greatest()

			id, err := source.Next(context.Background())
			var table *ticket.TableError
			if !errors.As(err, &table) || !errors.Is(err, ticket.ErrTable) || !errors.Is(err, ticket.ErrUnavailable) {
				t.Fatalf("got %d, %v, want a TableError", id, err)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it waited for what does not come: %v", err)
			}
			fresh := sourceOf(t, config, d)
			if id, err := fresh.Next(context.Background()); !errors.Is(err, ticket.ErrTable) || errors.Is(err, ticket.ErrForgotten) != test.forgotten {
				t.Errorf("a new process got %d, %v, want ErrTable, and ErrForgotten: %v", id, err, test.forgotten)
			}
			if !test.forgotten {
				return // as new as a database can be
			}
			if _, err := fresh.Check(t.Context()); !errors.Is(err, ticket.ErrForgotten) {
				t.Errorf("Check: got %v, want ErrForgotten", err)
			}
			for _, s := range []*ticket.Tickets{source, fresh} {
				if err := s.Setup(t.Context()); !errors.Is(err, ticket.ErrForgotten) {
					t.Errorf("Setup: got %v, want ErrForgotten", err)
				}
				if err := s.Resize(t.Context()); !errors.Is(err, ticket.ErrForgotten) {
					t.Errorf("Resize: got %v, want ErrForgotten", err)
				}
			}
			// What a new process says, which knows no number, has a place for one as well.
			for _, s := range []*ticket.Tickets{fresh, source} {
				_, err = s.Next(context.Background())
				if table = nil; !errors.As(err, &table) || strings.Count(table.Statement, "?") != 1 {
					t.Fatalf("got %v, want a TableError whose statement has a question mark", err)
				}
			}
			statements := strings.Replace(table.Statement, "?", fmt.Sprint(high), 1)
			execute(t, db, strings.Split(statements, ";\n")...)
			eventually(t, "the source goes on", func() bool {
				id, err := source.Next(context.Background())
				if err == nil {
					r.add("healed", id)
				}
				return err == nil
			})
			r.draw("healed", source, 50)
			mustSetUp(t, fresh)
			for _, id := range r.draw("a new process", fresh, 50) {
				if id <= high {
					t.Errorf("got %d after %d", id, high)
				}
			}
		})
	}
}

// TestSetBack has a row that is there again and further back, as after a restored backup: sources that run notice, and draw nothing.
func TestSetBack(t *testing.T) {
	t.Parallel()
	for _, k := range systems {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			d, r, config := k.database(t), newRecorder(t), quick(ticket.Config{})
			server := serverOf(t, d)
			source := flickr(t, config, server)
			mustSetUp(t, source)
			r.draw("before", source, 100)
			switch k.dialect {
			case ticket.MySQL:
				execute(t, server.DB, "TRUNCATE TABLE snowkey_tickets", "INSERT INTO snowkey_tickets (id, stub, layout) VALUES (50, 'default', '1/1')")
			case ticket.SQLite:
				execute(t, server.DB, "UPDATE snowkey_tickets SET id = 50", "UPDATE sqlite_sequence SET seq = 50 WHERE name = 'snowkey_tickets'")
			case ticket.Postgres:
				moveTo(t, server, "50")
			}
			for range 2 {
				id, err := source.Next(context.Background())
				if !errors.Is(err, ticket.ErrRegression) {
					t.Fatalf("got %d, %v, want ErrRegression", id, err)
				}
				if s := source.Stats().Servers[0]; s.State != ticket.Quarantined {
					t.Errorf("got %+v, want it in quarantine", s)
				}
				must(t, source.Readmit("server 1")) // which does not help
			}
			if at := position(t, server.DB, k.dialect); k.dialect != ticket.Postgres && at != 50 {
				t.Errorf("the row is at %d, want 50: nothing is drawn from it", at)
			}
			moveTo(t, server, "1000")
			must(t, source.Readmit("server 1"))
			r.draw("moved forward", source, 10)
			if r.greatest() < 1000 {
				t.Errorf("got up to %d, want more than 1000", r.greatest())
			}
		})
	}
}
