package monitor_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/monitor"
	"github.com/snowkey-go/snowkey/ticket"
)

// Each test here causes a fault that the torture tests cause, and has the rules evaluated over what is scraped before and after it.

func init() { _ = mysql.SetLogger(log.New(io.Discard, "", 0)) } // what it says is in the errors

var silent = slog.New(slog.DiscardHandler)

// states is a Notify that remembers states until they are asked for.
type states chan grant.State

func (s states) notify(state grant.State) {
	select {
	case s <- state:
	default: // the latest ones are enough
		select {
		case <-s:
		default:
		}
		s <- state
	}
}

// until waits for an attempt after which it is so.
func (s states) until(t *testing.T, is func(grant.State) bool) {
	t.Helper()
	for {
		select {
		case state := <-s:
			if is(state) {
				return
			}
		case <-t.Context().Done():
			t.Fatal("the test has ended")
		}
	}
}

// keep opens a keeper whose grants are short.
func keep(t *testing.T, store grant.Store, config grant.Config) *grant.Keeper {
	t.Helper()
	config.Logger = silent
	if config.For == 0 {
		config.For = time.Second
	}
	if config.Every == 0 {
		config.Every = 20 * time.Millisecond
	}
	k, err := grant.Open(t.Context(), store, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() }) // its database may be gone
	return k
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestDatabaseIsKilled(t *testing.T) {
	t.Parallel()
	server := dbtest.StartPostgres(t)
	store := grant.SQL(server.Database(t).Open(t), grant.Postgres)
	seen, ended := make(states, 1), make(states, 1)
	long := keep(t, store, grant.Config{For: time.Minute, First: 30 * time.Second, Every: 100 * time.Millisecond, Notify: seen.notify})
	short := keep(t, store, grant.Config{Notify: ended.notify})
	lasting := watch(t, map[string]any{"app": long})
	ending := watch(t, map[string]any{"app": short})
	must(t, server.Kill())
	seen.until(t, func(s grant.State) bool { return s.Failures > 0 })
	lasting.fires("SnowkeyGrantEnds", "SnowkeyRenewalsFail")
	ended.until(t, func(s grant.State) bool { return s.Failures > 0 && short.Ready(t.Context()) != nil })
	ending.fires("SnowkeyCreatesFail", "SnowkeyRenewalsFail")
}

func TestDatabaseForgets(t *testing.T) {
	t.Parallel()
	db := dbtest.MySQL(t).Open(t)
	store, seen := grant.SQL(db, grant.MySQL), make(states, 1)
	must(t, keep(t, store, grant.Config{}).Close())
	run(t, db, "CREATE TABLE a_backup AS SELECT * FROM snowkey_nodes")
	k := keep(t, store, grant.Config{For: time.Hour, First: time.Hour, Every: 100 * time.Millisecond, Notify: seen.notify})
	forgotten := watch(t, map[string]any{"app": k})
	run(t, db, "DELETE FROM snowkey_nodes", "INSERT INTO snowkey_nodes SELECT * FROM a_backup")
	seen.until(t, func(s grant.State) bool { return len(s.Losses) > 0 && s.Err == nil })
	forgotten.fires("SnowkeyIdsInDoubt", "SnowkeyNumberLost")
}

func TestDatabaseMayForget(t *testing.T) {
	t.Parallel()
	safe := grant.SQL(dbtest.Postgres(t).Open(t), grant.Postgres)
	before := watch(t, map[string]any{"app": keep(t, safe, grant.Config{For: time.Hour, First: time.Hour})})
	unsafe := grant.SQL(dbtest.StartPostgres(t, "fsync=off").Database(t).Open(t), grant.Postgres, grant.WithUnsafe())
	m, err := monitor.New(map[string]any{"app": keep(t, unsafe, grant.Config{For: time.Hour, First: time.Hour})})
	must(t, err)
	before.of = m // the process is started again, after somebody has set fsync
	before.fires("SnowkeyDatabaseUnsafe")
}

// paused is a store that a process which is paused does not reach.
type paused struct {
	grant.Store
	gate atomic.Pointer[chan struct{}]
}

func (p *paused) Prepare(ctx context.Context, space, layout string) (string, error) {
	if gate := p.gate.Load(); gate != nil {
		<-*gate
	}
	return p.Store.Prepare(ctx, space, layout)
}

func TestHolderIsPaused(t *testing.T) {
	t.Parallel()
	store := grant.SQL(dbtest.MySQL(t).Open(t), grant.MySQL)
	mine, seen, gate := &paused{Store: store}, make(states, 1), make(chan struct{})
	only := []idgen.Option{idgen.WithNode(3)}
	k := keep(t, mine, grant.Config{Generator: only, Notify: seen.notify})
	slept := watch(t, map[string]any{"app": k})
	mine.gate.Store(&gate)
	other := keep(t, store, grant.Config{Generator: only, Wait: time.Minute, Timeout: time.Minute}) // when the grant has ended
	mine.gate.Store(nil)
	close(gate)
	seen.until(t, func(s grant.State) bool { return s.Lost > 0 })
	must(t, other.Close())
	seen.until(t, func(s grant.State) bool { return s.Held && s.Err == nil })
	slept.fires("SnowkeyNumberLost")
}

// stepped is a clock whose wall clock is off by some time.
type stepped struct{ by atomic.Int64 }

func (c *stepped) Wall() time.Time        { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *stepped) Elapsed() time.Duration { return time.Duration(time.Now().UnixNano()) }

func TestClockIsStepped(t *testing.T) {
	t.Parallel()
	clock := new(stepped)
	g, err := idgen.New(idgen.WithNode(1), idgen.WithClock(clock), idgen.RefuseBack())
	must(t, err)
	refuses := watch(t, map[string]any{"app": g})
	clock.by.Store(-int64(time.Hour))
	if _, err := g.Next(t.Context()); !errors.Is(err, idgen.ErrClockBack) {
		t.Fatalf("got %v, want ErrClockBack", err)
	}
	refuses.fires("SnowkeyClockStepped", "SnowkeyRefusals")
}

func TestAllNumbersAreHeld(t *testing.T) {
	t.Parallel()
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(1), idgen.Sequence.Bits(12))
	must(t, err)
	for kind, store := range map[string]grant.Store{
		"postgres": grant.SQL(dbtest.Postgres(t).Open(t), grant.Postgres), "mysql": grant.SQL(dbtest.MySQL(t).Open(t), grant.MySQL),
	} {
		t.Run(kind, func(t *testing.T) {
			config := grant.Config{Generator: []idgen.Option{layout}, For: time.Hour, First: time.Hour}
			one := keep(t, store, config)
			numbers := watch(t, map[string]any{"numbers": monitor.NewNumbers(one)})
			two := keep(t, store, config)
			m, err := monitor.New(map[string]any{"numbers": monitor.NewNumbers(two)}) // the first reads again in a minute
			must(t, err)
			numbers.of = m
			numbers.fires("SnowkeyNumbersTaken")
		})
	}
}

// broken is a source that makes no keys.
type broken struct{ idgen.Source[int64] }

func (broken) Next(context.Context) (int64, error) { return 0, errors.New("no keys today") }

type order struct {
	ID   int64 `gorm:"primaryKey;snowkey"`
	Item string
}

func TestKeysAreNotFilled(t *testing.T) {
	t.Parallel()
	db, err := gorm.Open(sqlite.Open(dbtest.SQLite(t).DriverDSN), &gorm.Config{Logger: logger.New(nil, logger.Config{LogLevel: logger.Silent})})
	must(t, err)
	pool, err := db.DB()
	must(t, err)
	defer func() { _ = pool.Close() }()
	plugin := gormplugin.New(gormplugin.From[int64](broken{}), gormplugin.Logger(silent))
	must(t, db.Use(plugin))
	must(t, db.AutoMigrate(&order{}))
	orders := watch(t, map[string]any{"app": plugin})
	if err := db.Create(&order{}).Error; err == nil {
		t.Fatal("got a row without a key")
	}
	orders.fires("SnowkeyFillErrors")
}

// draw opens the single tickets of a database of PostgreSQL, and draws one.
func draw(t *testing.T, d dbtest.Database, config ticket.Config) *ticket.Tickets {
	t.Helper()
	config.Logger, config.AllowUnsafe = silent, true
	s, err := ticket.Flickr(config, ticket.Server{DB: d.Open(t), Dialect: ticket.Postgres})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	must(t, s.Setup(t.Context()))
	_, err = s.Next(t.Context())
	must(t, err)
	return s
}

func TestTicketServerIsSetBack(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	s := draw(t, d, ticket.Config{})
	servers := watch(t, map[string]any{"tickets": s})
	run(t, d.Open(t), `SELECT setval('"snowkey_tickets.default"', 1, false)`)
	if id, err := s.Next(t.Context()); err == nil {
		t.Fatalf("got %d again", id)
	}
	servers.fires("SnowkeyServerQuarantined")
}

func TestTicketsEnd(t *testing.T) {
	t.Parallel()
	s := draw(t, dbtest.Postgres(t), ticket.Config{Limit: 10})
	servers := watch(t, map[string]any{"tickets": s})
	must(t, s.Fill(t.Context(), make([]int64, 9)))
	servers.fires("SnowkeyServerEnds")
}

func TestStockOfBlocksIsEmpty(t *testing.T) {
	t.Parallel()
	server := dbtest.StartMySQL(t)
	config := ticket.BlockConfig{Config: ticket.Config{Logger: silent, AllowUnsafe: true, Failures: 1, Timeout: 500 * time.Millisecond}, MaxStep: 100}
	s, err := ticket.Blocks(config, ticket.Server{DB: server.Database(t).Open(t), Dialect: ticket.MySQL})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	must(t, s.Setup(t.Context()))
	_, err = s.Next(t.Context())
	must(t, err)
	stock := watch(t, map[string]any{"blocks": s})
	must(t, server.Kill())
	for err == nil {
		_, err = s.Next(t.Context())
	}
	for s.Stats().Servers[0].State == ticket.Closed { // a call may end before the attempt that fails
		_, _ = s.Next(t.Context())
	}
	stock.fires("SnowkeyServerDown", "SnowkeyStockEmpty")
}

func TestStockOfStoreIsEmpty(t *testing.T) {
	t.Parallel()
	s, err := ticket.BlocksIn(ticket.BlockConfig{Config: ticket.Config{Logger: silent, Timeout: 500 * time.Millisecond, Limit: 4096}}, grant.Memory(nil))
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	must(t, s.Setup(t.Context()))
	_, err = s.Next(t.Context())
	must(t, err)
	stock := watch(t, map[string]any{"blocks": s})
	for err == nil { // up to the limit
		_, err = s.Next(t.Context())
	}
	stock.fires("SnowkeyStockEmpty")
}

// A monitor refuses what it cannot read.
func TestNewRefuses(t *testing.T) {
	for name, of := range map[string]any{"nothing": nil, "a writer": io.Discard, "a source of others": broken{}} {
		if _, err := monitor.New(map[string]any{name: of}); !errors.Is(err, monitor.ErrSource) {
			t.Errorf("%s: got %v, want ErrSource", name, err)
		}
	}
}
