package ticket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	grants "github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/storeblocks"
	"github.com/snowkey-go/snowkey/ticket"
)

// hostile is a store whose calls fail when they are told to.
type hostile struct {
	grants.Store
	mu      sync.Mutex
	swap    func(do func() (bool, error)) (bool, error)
	list    func(grants.Listing) grants.Listing
	prepare error
}

func (h *hostile) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

func (h *hostile) Swap(ctx context.Context, space string, old, new grants.Row) (bool, error) {
	h.mu.Lock()
	swap := h.swap
	h.mu.Unlock()
	do := func() (bool, error) { return h.Store.Swap(ctx, space, old, new) }
	if swap != nil {
		return swap(do)
	}
	return do()
}

func (h *hostile) List(ctx context.Context, space string, least, most int64) (grants.Listing, error) {
	l, err := h.Store.List(ctx, space, least, most)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.list != nil {
		l = h.list(l)
	}
	return l, err
}

func (h *hostile) Prepare(ctx context.Context, space, layout string) (string, error) {
	h.mu.Lock()
	err := h.prepare
	h.mu.Unlock()
	if err != nil {
		return "", err
	}
	return h.Store.Prepare(ctx, space, layout)
}

// one is the configuration of a source that allocates one unit of 16 ids at a time.
var one = ticket.BlockConfig{Config: ticket.Config{Timeout: 200 * time.Millisecond, Backoff: time.Millisecond, Logger: slog.New(slog.DiscardHandler)}, Unit: 16, MinStep: 16, MaxStep: 16, Reserve: time.Nanosecond}

func blocksIn(t *testing.T, config ticket.BlockConfig, store grants.Store) *ticket.StoreSource {
	t.Helper()
	source, err := ticket.BlocksIn(config, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

func nextOf(t *testing.T, source *ticket.StoreSource, want int64) {
	t.Helper()
	if id, err := source.Next(t.Context()); err != nil || id != want {
		t.Errorf("got %d and the error %v, want %d", id, err, want)
	}
}

// skip takes ids until the buffer is empty.
func skip(t *testing.T, source *ticket.StoreSource, n int) {
	t.Helper()
	if err := source.Fill(t.Context(), make([]int64, n)); err != nil {
		t.Fatal(err)
	}
}

func set(t *testing.T, do func(context.Context) error) {
	t.Helper()
	if err := do(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// All stores of the package grant pass the conformance of blocks.
func TestBlocksInStores(t *testing.T) {
	stores := map[string]func(t *testing.T) func() grants.Store{
		"memory": func(*testing.T) func() grants.Store {
			store := grants.Memory(nil)
			return func() grants.Store { return store }
		},
		"file": func(t *testing.T) func() grants.Store {
			path := filepath.Join(t.TempDir(), "grants")
			return func() grants.Store { return grants.File(path) }
		},
	}
	for _, database := range []func(testing.TB) dbtest.Database{dbtest.MySQL, dbtest.Postgres, dbtest.SQLite} {
		d := database(t)
		stores[d.Kind] = func(t *testing.T) func() grants.Store {
			dialect, err := grants.LookupDialect(d.Kind)
			if err != nil {
				t.Fatal(err)
			}
			return func() grants.Store { return grants.SQL(d.Open(t), dialect, grants.WithUnsafe()) }
		}
	}
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storeblocks.Run(t, store(t))
		})
	}
}

// A block whose answer was lost is never given out, whether it was taken or not.
func TestBlocksInAnswerLost(t *testing.T) {
	store := &hostile{Store: grants.Memory(nil)}
	var log bytes.Buffer
	config := one
	config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	source := blocksIn(t, config, store)
	lost := errors.New("lost")
	attempts := 0
	store.swap = func(do func() (bool, error)) (bool, error) {
		switch attempts++; attempts { // 1 is that of Setup, 2 the first block
		case 3:
			_, _ = do()
			return false, lost
		case 4:
			return false, lost
		}
		return do()
	}
	set(t, source.Setup)
	skip(t, source, 16)
	nextOf(t, source, 33)
	if s := source.Stats(); s.Err != nil || len(s.Servers) != 0 {
		t.Errorf("got %+v", s)
	}
	_ = source.Close() // ends what logs
	if text := log.String(); strings.Count(text, "gives no blocks") != 1 || strings.Count(text, "gives blocks again") != 1 {
		t.Errorf("got the log %s", text)
	}
}

// Setup and Restore beside an allocation whose answer is under way are no regression.
func TestBlocksInSetupBeside(t *testing.T) {
	store := &hostile{Store: grants.Memory(nil)}
	source := blocksIn(t, one, store)
	set(t, source.Setup)
	for _, beside := range []func(context.Context) error{source.Setup, func(ctx context.Context) error { return source.Restore(ctx, 1) }} {
		once := true
		store.set(func() {
			store.swap = func(do func() (bool, error)) (bool, error) {
				swapped, err := do()
				if once {
					once = false
					set(t, beside)
				}
				return swapped, err
			}
		})
		skip(t, source, 64)
	}
}

// A listing that is out of date costs another attempt, and is no regression.
func TestBlocksInStaleListing(t *testing.T) {
	store := &hostile{Store: grants.Memory(nil)}
	source := blocksIn(t, one, store)
	set(t, source.Setup)
	skip(t, source, 32)
	stale := 2
	store.set(func() {
		store.list = func(l grants.Listing) grants.Listing {
			if stale--; stale >= 0 {
				l.Rows = []grants.Row{{Holder: l.Rows[0].Holder, From: 1, Until: 17}}
			}
			return l
		}
	})
	nextOf(t, source, 33)
}

// A listing that stays out of date, as of a replica that stands still, is asked for ever less often, and the source goes on when it is not any more.
func TestBlocksInListingStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hostile{Store: grants.Memory(nil)}
		config := one
		config.Timeout, config.Backoff = 10*time.Second, 100*time.Millisecond
		source := blocksIn(t, config, store)
		set(t, source.Setup)
		nextOf(t, source, 1)
		synctest.Wait()
		listed, still := 0, time.Now().Add(5*time.Second)
		store.set(func() {
			store.list = func(l grants.Listing) grants.Listing {
				if listed++; listed > 10_000 {
					panic("listed 10,000 times")
				}
				if time.Now().Before(still) {
					l.Rows = []grants.Row{{Holder: l.Rows[0].Holder, From: 1, Until: 1}}
				}
				return l
			}
		})
		skip(t, source, int(source.Stats().Buffered)+16)
		store.set(func() {
			if listed < 10 || listed > 500 {
				t.Errorf("listed %d times in five seconds", listed)
			}
		})
		_ = source.Close()
	})
}

// A source that looks at its stock, and reads what is out of date, keeps it.
func TestBlocksInStaleLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hostile{Store: grants.Memory(nil)}
		config := one
		config.MinStep, config.MaxStep = 64, 64
		source := blocksIn(t, config, store)
		set(t, source.Setup)
		nextOf(t, source, 1)
		synctest.Wait()
		buffered := source.Stats().Buffered
		stale := 1
		store.set(func() {
			store.list = func(l grants.Listing) grants.Listing {
				if stale--; stale >= 0 {
					l.Rows = []grants.Row{{Holder: l.Rows[0].Holder, From: 1, Until: 17}}
				}
				return l
			}
		})
		time.Sleep(5 * time.Second)
		var looks int
		store.set(func() { looks = 1 - stale })
		if stats := source.Stats(); stats.Buffered != buffered || buffered == 0 || stats.Discarded != 0 || looks < 5 {
			t.Errorf("got %+v after %d looks, want %d ids", stats, looks, buffered)
		}
		nextOf(t, source, 2)
		_ = source.Close()
	})
}

// What the store forgets, or takes back, ends the source until Restore, and the ids go on after all that it knows.
func TestBlocksInLoss(t *testing.T) {
	for name, test := range map[string]struct {
		lose func(t *testing.T, store *hostile)
		want error
	}{
		"emptied":         {func(_ *testing.T, h *hostile) { h.Store = grants.Memory(nil) }, ticket.ErrForgotten},
		"made in another": {func(t *testing.T, h *hostile) { h.Store = grants.Memory(nil); set(t, blocksIn(t, one, h.Store).Setup) }, ticket.ErrForgotten},
		"set back": {func(t *testing.T, h *hostile) {
			l, err := h.Store.List(t.Context(), "blocks.default", 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			back := l.Rows[0]
			back.From, back.Until = 17, 17
			if swapped, err := h.Store.Swap(t.Context(), "blocks.default", l.Rows[0], back); err != nil || !swapped {
				t.Fatal(swapped, err)
			}
		}, ticket.ErrRegression},
	} {
		t.Run(name, func(t *testing.T) {
			store := &hostile{Store: grants.Memory(nil)}
			source := blocksIn(t, one, store)
			set(t, source.Setup)
			skip(t, source, 48)
			for source.Stats().Refilling {
				time.Sleep(time.Millisecond)
			}
			store.set(func() { test.lose(t, store) })
			last, err := int64(0), error(nil)
			for err == nil && last < 100 {
				var id int64
				if id, err = source.Next(t.Context()); err == nil {
					last = id
				}
			}
			for range 2 {
				if id, err := source.Next(t.Context()); !errors.Is(err, test.want) || !errors.Is(err, ticket.ErrUnavailable) || !strings.Contains(err.Error(), "call Restore") {
					t.Fatalf("after %d: got %d and the error %v, want %v", last, id, err, test.want)
				}
			}
			if err := source.Setup(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("Setup: got the error %v, want %v", err, test.want)
			}
			set(t, func(ctx context.Context) error { return source.Restore(ctx, 20) })
			if id, err := source.Next(t.Context()); err != nil || id <= last || id%16 != 1 {
				t.Errorf("got %d and the error %v, want the first id of a unit after %d", id, err, last)
			}
		})
	}
}

// A row that was deleted is not made again by Setup.
func TestBlocksInRowDeleted(t *testing.T) {
	database := dbtest.SQLite(t)
	pool := database.Open(t)
	store := grants.SQL(pool, grants.SQLite, grants.WithUnsafe())
	source := blocksIn(t, one, store)
	set(t, source.Setup)
	skip(t, source, 40)
	if _, err := pool.ExecContext(t.Context(), "DELETE FROM snowkey_nodes WHERE space = 'blocks.default' AND node = 0"); err != nil {
		t.Fatal(err)
	}
	fresh := blocksIn(t, one, store)
	for range 2 { // the first Prepare has counted the rows anew
		for what, err := range map[string]error{"Setup": fresh.Setup(t.Context()), "Next": func() error { _, err := fresh.Next(t.Context()); return err }()} {
			if !errors.Is(err, ticket.ErrForgotten) {
				t.Errorf("%s: got the error %v", what, err)
			}
		}
	}
	set(t, func(ctx context.Context) error { return fresh.Restore(ctx, 1) })
	if id, err := fresh.Next(t.Context()); err != nil || id <= 40 {
		t.Errorf("got %d and the error %v, want more than 40, since the store knows how far it was", id, err)
	}
}

// What is not set up, or is another thing, is refused with what to do.
func TestBlocksInRefused(t *testing.T) {
	store := &hostile{Store: grants.Memory(nil)}
	source := blocksIn(t, one, store)
	if _, err := source.Next(t.Context()); !errors.Is(err, ticket.ErrTable) || !strings.Contains(err.Error(), "run Setup") {
		t.Errorf("before Setup: got the error %v", err)
	}
	if l, err := store.List(t.Context(), "blocks.default", 0, 0); err != nil || l.ID != "" {
		t.Errorf("before Setup: the space was made, %+v (error %v)", l, err)
	}
	set(t, source.Setup)
	other := one
	other.Unit = 32
	for _, do := range []func(context.Context) error{blocksIn(t, other, store).Setup, func(ctx context.Context) error { _, err := blocksIn(t, other, store).Next(ctx); return err }} {
		if err := do(t.Context()); !errors.Is(err, ticket.ErrLayout) || !strings.Contains(err.Error(), "blocks=16") {
			t.Errorf("another unit: got the error %v", err)
		}
	}
	unsafe := fmt.Errorf("%w: appendonly is no", grants.ErrUnsafe)
	store.set(func() { store.prepare = unsafe })
	if _, err := source.Next(t.Context()); !errors.Is(err, grants.ErrUnsafe) {
		t.Errorf("an unsafe store: got the error %v", err)
	}
	store.set(func() { store.prepare = errors.New("down") })
	if _, err := source.Next(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "down") {
		t.Errorf("a store that is down: got the error %v", err)
	}
	store.set(func() { store.prepare = nil })
	nextOf(t, source, 1)

	for name, config := range map[string]ticket.BlockConfig{
		"table":     {Config: ticket.Config{Table: "t"}},
		"increment": {Config: ticket.Config{Increment: 2}},
		"unsafe":    {Config: ticket.Config{AllowUnsafe: true}},
		"failures":  {Config: ticket.Config{Failures: 2}},
		"notify":    {Config: ticket.Config{Notify: func(ticket.ServerStats) {}}},
		"sequence":  {Config: ticket.Config{Sequence: strings.Repeat("s", 58)}},
		"unit":      {Unit: -1},
		"limit":     {Config: ticket.Config{Limit: 1000}},
	} {
		if _, err := ticket.BlocksIn(config, store); !errors.Is(err, ticket.ErrConfig) {
			t.Errorf("%s: got the error %v", name, err)
		}
	}
	if _, err := ticket.BlocksIn(one, nil); !errors.Is(err, ticket.ErrConfig) {
		t.Errorf("no store: got the error %v", err)
	}
	for _, after := range []int64{0, 1<<62 - 16, 1<<62 - 2, 1<<63 - 1} {
		if err := source.Restore(t.Context(), after); !errors.Is(err, ticket.ErrConfig) {
			t.Errorf("Restore(%d): got the error %v", after, err)
		}
	}
}

// The last block ends within the limit.
func TestBlocksInLimit(t *testing.T) {
	for limit, last := range map[int64]int64{100: 96, 112: 112, 0: 1<<62 - 16} {
		config := one
		config.Limit = limit
		source := blocksIn(t, config, grants.Memory(nil))
		set(t, source.Setup)
		if limit == 0 {
			set(t, func(ctx context.Context) error { return source.Restore(ctx, last-20) })
			nextOf(t, source, last-15)
			skip(t, source, 15)
		} else {
			skip(t, source, int(last))
		}
		if id, err := source.Next(t.Context()); !errors.Is(err, ticket.ErrExhausted) {
			t.Errorf("limit %d: got %d and the error %v", limit, id, err)
		}
	}
}
