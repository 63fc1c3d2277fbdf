package ticket_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// TestBlocksFaults has a server of either kind, and faults of one or both of them.
func TestBlocksFaults(t *testing.T) {
	t.Parallel()
	servers := []*dbtest.Server{dbtest.StartMySQL(t), dbtest.StartPostgres(t)}
	t.Run("killed", func(t *testing.T) { blocksKilled(t, servers) })
	t.Run("hung", func(t *testing.T) { blocksHung(t, servers) })
	t.Run("behind", func(t *testing.T) { blocksBehind(t, servers) })
}

// databasesOn makes a database on each server.
func databasesOn(t *testing.T, servers []*dbtest.Server) (databases []dbtest.Database) {
	t.Helper()
	for _, s := range servers {
		databases = append(databases, s.Database(t))
	}
	return databases
}

// inVain asks a source that has no ids, by many callers at once, each of which has to be told so at its own deadline.
func inVain(t *testing.T, source *ticket.BlockSource) {
	t.Helper()
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			id, err := source.Next(ctx)
			var unavailable *ticket.UnavailableError
			if !errors.As(err, &unavailable) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ticket.ErrUnavailable) {
				t.Errorf("got %d, %v, want an UnavailableError that wraps DeadlineExceeded", id, err)
			}
		})
	}
	group.Wait()
}

// emptied takes all that is in the buffer, while no server answers: no call waits.
func emptied(t *testing.T, l *blockLedger, source *ticket.BlockSource) {
	t.Helper()
	before, taken := source.Stats(), 0
	book := l.book("the buffer")
	for taken < 1_000_000 && source.Stats().Buffered > 0 {
		id, err := source.Next(t.Context())
		noError(t, err)
		book.add(id)
		taken++
	}
	if after := source.Stats(); after.Waits != before.Waits || taken == 0 {
		t.Errorf("%d calls of %d waited, while there were ids: %+v", after.Waits-before.Waits, taken, after)
	}
	t.Logf("%d ids without a server", taken)
}

// blocksKilled kills servers with SIGKILL under load, one of two and both.
func blocksKilled(t *testing.T, servers []*dbtest.Server) {
	l, config, databases := newBlockLedger(t), briskly(ticket.BlockConfig{}), databasesOn(t, servers)
	source := blocksSetUp(t, config, databases...)
	load := l.load("before", source, 8)
	load.more(1000)
	for i := range rounds(4, 20) {
		n := i % 2
		noError(t, servers[n].Kill())
		load.more(2000) // of the other one
		noError(t, servers[n].Start())
		l.draw(fmt.Sprintf("a new process after %d", i+1), blocksOf(t, config, databases...), 500)
		inState(t, source, n+1, ticket.Closed)
		load.more(1000)
	}
	load.stop()
	if errs := load.errors(); len(errs) > 0 {
		t.Errorf("calls failed while one of two servers was up: %v", errs)
	}
	for i := range rounds(2, 10) {
		load := l.load(fmt.Sprintf("with both, %d", i+1), source, 8)
		load.more(2000)
		noError(t, errors.Join(servers[0].Kill(), servers[1].Kill()))
		// Less than one call takes: all goroutines may wait for more than what is left.
		blockEventually(t, func() string { return fmt.Sprintf("the end of the buffer: %+v", source.Stats()) }, func() bool { return source.Stats().Buffered < 40 })
		noError(t, errors.Join(servers[0].Start(), servers[1].Start()))
		load.more(2000)
		load.stop()
		l.draw(fmt.Sprintf("a new process after both, %d", i+1), blocksOf(t, config, databases...), 500)
	}
	discarded := int64(0)
	for _, s := range source.Stats().Servers {
		discarded += s.Discarded
	}
	t.Logf("at most %d ids lost in answers that did not come", discarded)
}

// blocksAllDown has no server at all, killed and hung: ids go on for as long as there are some, calls end with their contexts after that, and nothing
// piles up. An outage makes the steps no smaller.
func blocksAllDown(t *testing.T, servers []*dbtest.Server) {
	l, databases := newBlockLedger(t), databasesOn(t, servers)
	config := briskly(ticket.BlockConfig{})
	blocksSetUp(t, config, databases...)
	config.ServerTimeout = time.Second
	source := blocksOf(t, config, databases...)
	for _, outage := range []struct {
		name       string
		begin, end func(*dbtest.Server) error
	}{
		{"killed", (*dbtest.Server).Kill, func(s *dbtest.Server) error { return s.Start() }},
		{"hung", (*dbtest.Server).Pause, (*dbtest.Server).Resume},
	} {
		t.Run(outage.name, func(t *testing.T) {
			load := l.load("before "+outage.name, source, 4)
			load.more(10_000)
			load.stop()
			noError(t, source.Warm(t.Context()))
			idle(t, source)
			for _, s := range servers {
				noError(t, outage.begin(s))
			}
			before := source.Stats()
			emptied(t, l, source)
			inVain(t, source)
			goroutines := runtime.NumGoroutine()
			for range 10 {
				inVain(t, source)
			}
			// A probe of each server, and drivers' helpers of theirs.
			if after := runtime.NumGoroutine(); after > goroutines+20 {
				t.Errorf("from %d goroutines to %d after 320 calls", goroutines, after)
			}
			for _, s := range servers {
				noError(t, outage.end(s))
			}
			l.draw("after "+outage.name, source, 1)
			// An outage that counts as time in which few ids were taken halves it. There may be an allocation more by now, which takes less than half of the
			// time that the rate is averaged over: that is no more than 39 %.
			after, least := source.Stats(), before.Step
			for range after.Refills - before.Refills - 1 {
				least = least * 6 / 10
			}
			if after.Step < least {
				t.Errorf("the step was %d, and is %d after the outage and %d allocations", before.Step, after.Step, after.Refills-before.Refills)
			}
			l.draw("after "+outage.name, source, 1000)
			l.draw("a new process after "+outage.name, blocksOf(t, config, databases...), 1000)
		})
	}
}

// blocksHung stops one of two servers under load: no call fails, and none waits with a buffer that outlasts the attempt at the server that hangs.
func blocksHung(t *testing.T, servers []*dbtest.Server) {
	l, databases := newBlockLedger(t), databasesOn(t, servers)
	config := briskly(ticket.BlockConfig{Reserve: 3 * time.Second, Rate: 10_000, MinStep: 1000, MaxStep: 10_000})
	blocksSetUp(t, config, databases...)
	config.ServerTimeout, config.Failures = 200*time.Millisecond, 1
	source := blocksOf(t, config, databases...)
	noError(t, source.Warm(t.Context()))
	idle(t, source)
	for i, s := range servers {
		noError(t, s.Pause())
		waits := source.Stats().Waits
		load := l.load(fmt.Sprintf("while %d hangs", i+1), source, 4)
		blockEventually(t, func() string { return fmt.Sprintf("an attempt fails at %d: %+v", i+1, source.Stats()) }, func() bool {
			return load.given.Load() > 5000 && source.Stats().Servers[i].State != ticket.Closed
		})
		load.stop()
		if after := source.Stats(); after.Waits != waits || len(load.errors()) > 0 {
			t.Errorf("%d calls waited, %v: %+v", after.Waits-waits, load.errors(), after)
		}
		noError(t, s.Resume())
		load = l.load(fmt.Sprintf("after %d", i+1), source, 8)
		inState(t, source, i+1, ticket.Closed)
		load.stop()
	}
}

// blocksBehind has a server away while the other one allocates a million ids. Its first allocation thereafter is beyond them.
func blocksBehind(t *testing.T, servers []*dbtest.Server) {
	l, databases := newBlockLedger(t), databasesOn(t, servers)
	config := briskly(ticket.BlockConfig{MinStep: 1000, MaxStep: 10_000, Reserve: 100 * time.Millisecond})
	source := blocksSetUp(t, config, databases...)
	l.draw("both", source, 20_000)
	inState(t, source, 1, ticket.Closed)
	inState(t, source, 2, ticket.Closed)
	noError(t, servers[1].Kill())
	book, before := l.book("one of them"), source.Stats().Servers[1].Last
	for range 100 {
		keys := make([]int64, 10_000)
		noError(t, source.Fill(t.Context(), keys))
		book.add(keys...)
	}
	noError(t, servers[1].Start())
	load := l.load("both again", source, 4)
	blockEventually(t, func() string { return fmt.Sprintf("server 2 allocates: %+v", source.Stats()) }, func() bool { return source.Stats().Servers[1].Last > before+100 })
	load.stop()
	if s := source.Stats().Servers[1]; s.Last < 1_000_000 {
		t.Errorf("server 2 was at %d, and allocated up to %d while the other was beyond 1,000,000", before, s.Last)
	}
	for range 100 { // all of the buffer is the one goroutine's: it increases
		keys := make([]int64, 1000)
		noError(t, source.Fill(t.Context(), keys))
		book.add(keys...)
	}
}

// TestBlocksResized adds a third server to two while sources that have the list of two are at work.
func TestBlocksResized(t *testing.T) {
	t.Parallel()
	l, config := newBlockLedger(t), briskly(ticket.BlockConfig{})
	databases := []dbtest.Database{dbtest.MySQL(t), dbtest.Postgres(t), dbtest.SQLite(t)}
	old := blocksSetUp(t, config, databases[:2]...)
	load := l.load("the old list", old, 8)
	load.more(5000)

	renewed := blocksOf(t, config, databases...)
	if err := renewed.Setup(t.Context()); !errors.Is(err, ticket.ErrLayout) {
		t.Errorf("Setup with three servers: got %v, want ErrLayout", err)
	}
	ended := 0
	for i := range 12 { // interrupted, here and there
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i*i)*time.Millisecond)
		if renewed.Resize(ctx) != nil {
			ended++
		}
		cancel()
	}
	t.Logf("%d of 12 were interrupted", ended)
	inTime(t, "Resize", renewed.Resize)
	other := l.load("the new list", renewed, 8)
	for i := range databases {
		inState(t, renewed, i+1, ticket.Closed)
	}
	other.more(5000)
	load.more(5000)
	l.draw("the new list, opened then", blocksOf(t, config, databases...), 3000)
	l.draw("the old list, opened then", blocksOf(t, config, databases[:2]...), 3000)
	load.stop()
	other.stop()
	if errs := append(load.errors(), other.errors()...); len(errs) > 0 {
		t.Errorf("calls failed: %v", errs)
	}
	for i, d := range databases {
		if _, layout := blockRow(t, d.Open(t)); layout != fmt.Sprintf("%d/3x100", i+1) {
			t.Errorf("server %d has the layout %q", i+1, layout)
		}
	}
}

// TestBlocksResizeInterrupted leaves the rows as a Resize does that has died halfway: nothing is allocated from those that are frozen, and the next one ends it. It
// changes the unit, too.
func TestBlocksResizeInterrupted(t *testing.T) {
	t.Parallel()
	l, config := newBlockLedger(t), briskly(ticket.BlockConfig{})
	databases := []dbtest.Database{dbtest.MySQL(t), dbtest.Postgres(t), dbtest.SQLite(t)}
	old := blocksSetUp(t, config, databases[:2]...)
	l.draw("before", old, 5000)
	idle(t, old)
	for i, d := range databases[:2] {
		blockExecute(t, d.Open(t), fmt.Sprintf("UPDATE snowkey_blocks SET layout = '>%d/3x10'", i+1))
	}
	book := l.book("the buffer")
	if err := reasonOf(t, ticket.ErrMoving, old.Next, func(id int64) { book.add(id) }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want ErrMoving, and the context's end", err)
	}
	load := l.load("the old list", old, 4)
	renewed := blocksOf(t, briskly(ticket.BlockConfig{Unit: 10}), databases...)
	inTime(t, "Resize", renewed.Resize)
	load.more(5000)
	l.draw("the new list", renewed, 5000)
	eventually(t, "the old list knows the new layout of server 1", func() bool { return old.Stats().Servers[0].Layout == "1/3x10" })
	load.stop()
}

// TestBlocksUnflushed has somebody make a server's commits wait for the disk no more, while it is drawn from, and then kills it.
func TestBlocksUnflushed(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	l, config, server := newBlockLedger(t), briskly(ticket.BlockConfig{}), dbtest.StartMySQL(t)
	config.Timeout = 50 * time.Millisecond // calls are to fail meanwhile
	d := server.Database(t)
	source, db := blocksSetUp(t, config, d), d.Open(t)
	for i := range rounds(2, 10) {
		load := l.load(fmt.Sprintf("round %d", i+1), source, 8)
		load.more(2000)
		blockExecute(t, db, "SET GLOBAL innodb_flush_log_at_trx_commit = 0")
		inState(t, source, 1, ticket.Open)
		if err := source.Stats().Servers[0].Err; !errors.Is(err, ticket.ErrUnsafe) {
			t.Errorf("got %v, want ErrUnsafe", err)
		}
		load.stop()
		noError(t, server.Kill())
		noError(t, server.Start())
		slow := config
		slow.Timeout = blockPatience
		l.draw("a new process", blocksOf(t, slow, d), 3000)
		blockEventually(t, func() string { return fmt.Sprintf("the source goes on: %+v", source.Stats()) }, func() bool { return source.Warm(t.Context()) == nil })
	}
}

// TestBlocksAsynchronous kills PostgreSQL where neither its sessions nor the server wait for the disk with a commit: blocks do.
func TestBlocksAsynchronous(t *testing.T) {
	t.Parallel()
	l, config := newBlockLedger(t), briskly(ticket.BlockConfig{})
	server := dbtest.StartPostgres(t, "synchronous_commit=off", "wal_writer_delay=10s", "wal_writer_flush_after=1GB")
	d := server.Database(t)
	source := blocks(t, config, blockServer(t, d, "synchronous_commit=off"))
	inTime(t, "Setup", source.Setup)
	for i := range rounds(3, 20) {
		load := l.load(fmt.Sprintf("round %d", i+1), source, 8)
		load.more(2000)
		noError(t, server.Kill())
		load.stop()
		noError(t, server.Start())
		l.draw("a new process", blocks(t, config, blockServer(t, d, "synchronous_commit=off")), 3000)
	}
}
