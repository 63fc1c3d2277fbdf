package ticket_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

// published is the table as Flickr published it.
const published = "CREATE TABLE Tickets64 (id bigint unsigned NOT NULL auto_increment, stub char(1) NOT NULL default '', PRIMARY KEY (id), UNIQUE KEY stub (stub))"

// TestFlickr has two MariaDB servers with the published configuration, and faults that leave them running.
func TestFlickr(t *testing.T) {
	t.Parallel()
	servers, databases := pair(t, mysqlKind)
	list := func(t *testing.T) []ticket.Server {
		return []ticket.Server{serverOf(t, databases[0]), serverOf(t, databases[1])}
	}
	globals := func(t *testing.T, number, increment, offset int) {
		t.Helper()
		execute(t, open(t, databases[number-1]), fmt.Sprintf("SET GLOBAL auto_increment_increment = %d, GLOBAL auto_increment_offset = %d", increment, offset))
	}

	for name, config := range map[string]ticket.Config{"own table": {Sequence: "turns"}, "published table": {Table: "Tickets64", Sequence: "a"}} {
		t.Run(name, func(t *testing.T) {
			config := quick(config)
			config.Timeout = retryFactor
			r, list := newRecorder(t), list(t)
			if config.Table != "" {
				for _, s := range list {
					execute(t, s.DB, published)
				}
			}
			source := flickr(t, config, list...)
			mustSetUp(t, source)
			eventually(t, "both servers are in use", func() bool {
				r.draw("first", source, 1)
				s := source.Stats().Servers
				return s[0].State == ticket.Closed && s[1].State == ticket.Closed
			})
			r.draw("first", source, 2) // which the probes have drawn
			ids := r.draw("turns", source, 100)
			for i, id := range ids[1:] {
				if id%2 == ids[i]%2 {
					t.Fatalf("%d after %d: the servers do not take turns", id, ids[i])
				}
			}
			for i, s := range source.Stats().Servers {
				if want := fmt.Sprintf("%d/2", i+1); s.Layout != want || s.Last%2 != int64((i+1)%2) {
					t.Errorf("got %+v, want the layout %s", s, want)
				}
			}
			load := r.load("at once", source, 16)
			load.more(400)
			load.stop()
			r.draw("a new process", flickr(t, config, list...), 20)
			findings, err := source.Check(t.Context())
			must(t, err)
			warned := 0
			for _, f := range findings {
				if f.Refused() {
					t.Errorf("got %v, want no more than warnings", f)
				}
				if strings.Contains(f.Text, "as published") {
					warned++
				}
			}
			if want := map[bool]int{true: 2}[config.Table != ""]; warned != want {
				t.Errorf("got %d warnings of the published keys, want %d: %v", warned, want, findings)
			}
		})
	}

	t.Run("paused", func(t *testing.T) {
		r, config := newRecorder(t), quick(ticket.Config{Sequence: "paused", Timeout: retryFactor})
		mustSetUp(t, flickr(t, config, list(t)...))
		config.ServerTimeout = 500 * time.Millisecond
		source := flickr(t, config, list(t)...)
		load := r.load("throughout", source, 8)
		load.more(200)
		must(t, servers[1].Pause())
		load.more(250)
		eventually(t, "the paused server is left alone", func() bool { return source.Stats().Servers[1].State != ticket.Closed })
		behind := source.Stats().Servers[1].Last
		r.draw("ahead", source, 200)
		high := r.greatest()
		if high <= behind+10 {
			t.Errorf("the other server is at %d, and this one at %d", high, behind)
		}
		load.stop()
		must(t, servers[1].Resume())
		s := waitForDrawing(t, r, source, 2)
		if s.Fences < 1 || s.Last <= high {
			t.Errorf("got %+v, want a server that was moved beyond %d", s, high)
		}
		for _, id := range r.draw("after", source, 50) {
			if id%2 == 0 && id <= behind {
				t.Errorf("server 2 gave %d after %d", id, behind)
			}
		}
		r.draw("a new process", flickr(t, config, list(t)...), 50)
		if errs := load.errors(); len(errs) > 0 {
			t.Errorf("calls failed while one of two servers was up: %v", errs)
		}
	})

	t.Run("SET GLOBAL", func(t *testing.T) {
		r, config := newRecorder(t), quick(ticket.Config{Timeout: retryFactor})
		servers := list(t)
		source := flickr(t, config, servers...)
		mustSetUp(t, source)
		fillPool(t, servers[1])
		load := r.load("throughout", source, 8)
		load.more(150)
		waitForDrawing(t, r, source, 2)
		globals(t, 2, 1, 1)
		load.more(150) // the sessions have what they had
		if s := source.Stats().Servers[1]; s.State != ticket.Closed {
			t.Errorf("got %+v, want a server in use by sessions from before", s)
		}
		r.draw("a new process", flickr(t, config, list(t)...), 20)
		servers[1].DB.SetMaxIdleConns(0) // which closes them
		if s := waitFor(t, source, 2, ticket.Open); !errors.Is(s.Err, ticket.ErrLayout) {
			t.Errorf("got %v, want ErrLayout", s.Err)
		}
		load.more(150)
		at := position(t, servers[1].DB, ticket.MySQL)
		must(t, source.Readmit("server 2")) // too early
		load.more(20)
		waitFor(t, source, 2, ticket.Open)
		if now := position(t, servers[1].DB, ticket.MySQL); now != at {
			t.Errorf("the server went from %d to %d with the wrong settings", at, now)
		}
		wantFinding(t, source, ticket.ErrLayout, "auto_increment_increment is 1")
		servers[1].DB.SetMaxIdleConns(8)
		fillPool(t, servers[1]) // with sessions that have the wrong values, and keep them
		globals(t, 2, 2, 2)
		waitFor(t, source, 2, ticket.Closed)
		from := source.Stats().Servers[1].Draws
		eventually(t, "server 2 gives tickets", func() bool { return source.Stats().Servers[1].Draws > from+20 })
		if s := source.Stats().Servers[1]; s.State != ticket.Closed {
			t.Errorf("got %+v, want a server in use", s)
		}
		load.stop()
		if errs := load.errors(); len(errs) > 0 {
			t.Errorf("calls failed while one of two servers was up: %v", errs)
		}
		if err := source.Readmit("server 3"); !errors.Is(err, ticket.ErrConfig) {
			t.Errorf("got %v, want ErrConfig", err)
		}
		r.draw("a new process", flickr(t, config, list(t)...), 50)
	})

	// A pool whose sessions are made anew all the time, so that each statement finds the settings of now.
	t.Run("SET GLOBAL without a pool", func(t *testing.T) {
		for _, wrong := range [][2]int{{1, 1}, {2, 1}, {4, 2}, {3, 3}} {
			r, config := newRecorder(t), quick(ticket.Config{Sequence: fmt.Sprint("anew", wrong[0]), Timeout: retryFactor})
			servers := list(t)
			servers[1].DB.SetMaxIdleConns(-1)
			source := flickr(t, config, servers...)
			mustSetUp(t, source)
			load := r.load("throughout", source, 4)
			load.more(50)
			waitFor(t, source, 2, ticket.Closed)
			globals(t, 2, wrong[0], wrong[1])
			s := waitFor(t, source, 2, ticket.Open)
			if !errors.Is(s.Err, ticket.ErrLayout) {
				t.Errorf("got %v, want ErrLayout", s.Err)
			}
			if id := ask(t, servers[1].DB, "SELECT id FROM snowkey_tickets WHERE stub = '"+config.Sequence+"'"); id%2 != 0 {
				t.Errorf("server 2 went to %d, which is a number of server 1", id)
			}
			globals(t, 2, 2, 2)
			load.stop()
		}
	})

	t.Run("restarted without the offset", func(t *testing.T) {
		r, config := newRecorder(t), quick(ticket.Config{Sequence: "restarted", Timeout: retryFactor})
		source := flickr(t, config, list(t)...)
		mustSetUp(t, source)
		load := r.load("throughout", source, 8)
		load.more(150)
		must(t, servers[1].Stop())
		must(t, servers[1].Start("--max-connections=100"))
		refused := func() bool { // a server that is stopped is open as well
			s := source.Stats().Servers[1]
			return s.State == ticket.Open && errors.Is(s.Err, ticket.ErrLayout)
		}
		eventually(t, "server 2 is refused", refused)
		load.more(150)
		fresh := flickr(t, config, list(t)...)
		for _, id := range r.draw("a new process", fresh, 20) {
			if id%2 != 1 {
				t.Errorf("got %d of a server that has the wrong offset", id)
			}
		}
		wantFinding(t, fresh, ticket.ErrLayout, "want 2 and 2")
		must(t, servers[1].Stop())
		must(t, servers[1].Start(offset(2, 2)...))
		waitFor(t, source, 2, ticket.Closed)
		load.more(100)
		load.stop()
		if errs := load.errors(); len(errs) > 0 {
			t.Errorf("calls failed while one of two servers was up: %v", errs)
		}
		r.draw("another new process", flickr(t, config, list(t)...), 20)
	})

	// The offsets are changed, and with them the two servers' numbers exchanged: the rows say who is who.
	t.Run("swapped in the list", func(t *testing.T) {
		r, config := newRecorder(t), quick(ticket.Config{Sequence: "swapped", Timeout: retryFactor})
		servers := list(t)
		r.draw("before", func() *ticket.Tickets { s := flickr(t, config, servers...); mustSetUp(t, s); return s }(), 20)
		swapped := flickr(t, config, ticket.Server{DB: servers[1].DB, Dialect: ticket.MySQL}, ticket.Server{DB: servers[0].DB, Dialect: ticket.MySQL})
		if err := swapped.Setup(t.Context()); !errors.Is(err, ticket.ErrLayout) {
			t.Errorf("Setup: got %v, want ErrLayout", err)
		}
		if err := swapped.Resize(t.Context()); !errors.Is(err, ticket.ErrLayout) {
			t.Errorf("Resize: got %v, want ErrLayout", err)
		}
		id, err := swapped.Next(context.Background())
		if !errors.Is(err, ticket.ErrLayout) || !errors.Is(err, ticket.ErrUnavailable) {
			t.Errorf("got %d, %v, want ErrLayout", id, err)
		}
		r.draw("after", flickr(t, config, servers...), 20)
	})
}

// fillPool opens all connections that a server's pool may have.
func fillPool(t *testing.T, s ticket.Server) {
	t.Helper()
	conns := make([]*sql.Conn, 8)
	for i := range conns {
		var err error
		conns[i], err = s.DB.Conn(t.Context())
		must(t, err)
		must(t, conns[i].PingContext(t.Context()))
	}
	for _, conn := range conns {
		must(t, conn.Close())
	}
}

// waitForDrawing waits until a server is in use while it is asked for.
func waitForDrawing(t *testing.T, r *recorder, source *ticket.Tickets, number int) (s ticket.ServerStats) {
	t.Helper()
	eventually(t, fmt.Sprintf("server %d is in use", number), func() bool {
		r.draw("waiting", source, 1)
		s = source.Stats().Servers[number-1]
		return s.State == ticket.Closed
	})
	return s
}

// wantFinding tests that Check refuses a server because of an error, with a text. A nil error is a warning.
func wantFinding(t *testing.T, source *ticket.Tickets, want error, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), retryFactor)
	defer cancel()
	findings, err := source.Check(ctx)
	for _, f := range findings {
		if strings.Contains(f.Text, text) && (want == nil) == (f.Err == nil) && errors.Is(f.Err, want) && f.Refused() == (want != nil) {
			if f.Server == "" || !strings.HasPrefix(f.String(), f.Server+": ") {
				t.Errorf("%v does not say which server", f)
			}
			return
		}
	}
	t.Errorf("got %v, %v, want a finding with %q and the error %v", findings, err, text, want)
}
