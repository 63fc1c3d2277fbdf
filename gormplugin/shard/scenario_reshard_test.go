package shard_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// trade is a sharded model that is written while its tables are split.
type trade struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID int64      `gorm:"index"`
	Item   string     `gorm:"size:40"`
	Count  int
}

// market is where trades are: first in four tables of one database, later in two more there and two of another one.
type market struct {
	databases map[string]dbtest.Database // "" and "east"
	shards    []idshard.Shard            // of which four are there first
}

func newMarket(t *testing.T, kind string) *market {
	t.Helper()
	m := &market{databases: map[string]dbtest.Database{"": patient(kinds[kind](t)), "east": patient(kinds[kind](t))}, shards: idshard.Tables(8)}
	m.shards[6].Database, m.shards[7].Database = "east", "east"
	return m
}

// patient returns a database that several processes write to: those of SQLite wait for each other.
func patient(d dbtest.Database) dbtest.Database {
	if d.Kind == "sqlite" {
		d.DSN = "sqlite:file:" + d.DriverDSN + "?_busy_timeout=10000&_journal_mode=WAL&_synchronous=NORMAL&_txlock=immediate"
	}
	return d
}

func dialectOf(db *gorm.DB) idshard.Dialect {
	return map[string]idshard.Dialect{"sqlite": idshard.SQLite, "mysql": idshard.MySQL, "postgres": idshard.Postgres}[db.Name()]
}

// process is a router with connections of its own, as another process has.
func (m *market) process(t *testing.T) (*gorm.DB, *shard.Router) {
	t.Helper()
	db := openGORM(t, m.databases[""])
	return db, use(t, db, shard.Config{Shards: m.shards[:4], Databases: map[string]*gorm.DB{"east": openGORM(t, m.databases["east"])}, Lease: time.Second})
}

// world is what reshard needs to know.
func (m *market) world(t *testing.T) reshard.World {
	t.Helper()
	w := reshard.World{Others: map[string]reshard.Database{}, Tables: []reshard.Table{{Name: "trades", Key: "id", By: "user_id"}}}
	for name, d := range m.databases {
		db := openGORM(t, d)
		pool, err := db.DB()
		must(t, err)
		at := reshard.Database{DB: pool, Dialect: dialectOf(db)}
		if name == "" {
			w.Own = at
		} else {
			w.Others[name] = at
		}
	}
	return w
}

// requireLedger fails unless the rows of a ledger, and no others, are in the tables where the map has them, once, after a split from 4 tables to 8.
func (m *market) requireLedger(t *testing.T, in *idshard.Map, ledger map[sqltype.ID]trade) {
	t.Helper()
	found := map[sqltype.ID]int{}
	split := 0
	for name, d := range m.databases {
		db := openGORM(t, d)
		for i, s := range in.Shards() {
			if s.Database != name {
				continue
			}
			var rows []trade
			must(t, db.Table(s.Table("trades")).Find(&rows).Error)
			for _, row := range rows {
				was := int(row.ID & 1023 % 4)
				if of, err := in.OfID(row.ID.Int64()); err != nil || of != i || i != was && i != was+4 {
					t.Errorf("%+v of the shard %d is in shard %d of 8, its id leads to %d, %v", row, was, i, of, err)
				}
				if i >= 4 {
					split++
				}
				if want, ok := ledger[row.ID]; !ok || row != want {
					t.Errorf("got %+v in shard %d, want %+v, %v", row, i, want, ok)
				}
				found[row.ID]++
			}
		}
	}
	for id, row := range ledger {
		if found[id] != 1 {
			t.Errorf("%+v is there %d times", row, found[id])
		}
	}
	if split == 0 || split == len(ledger) {
		t.Errorf("%d of %d rows have moved", split, len(ledger))
	}
}

// seller writes and reads the trades of some users, whom nobody else has, and keeps a ledger.
type seller struct {
	t      *testing.T
	db     *gorm.DB
	router *shard.Router
	random *rand.Rand
	first  int64 // of 10 users
	ledger map[sqltype.ID]trade
	ids    []sqltype.ID // of the ledger
	tries  int
	steps  int
}

// run goes on until it is told to stop, and a little longer.
func (s *seller) run(ctx context.Context, stop <-chan struct{}) error {
	for left := 10; left > 0; s.steps++ {
		select {
		case <-stop:
			left--
		case <-time.After(5 * time.Millisecond): // so that there are not too many rows
		}
		if err := shard.Retry(ctx, func() error { s.tries++; return s.step(ctx) }); err != nil {
			return fmt.Errorf("seller %d, step %d: %w", s.first, s.steps, err)
		}
	}
	return nil
}

func (s *seller) user() int64 { return s.first + s.random.Int64N(10) }

func (s *seller) note(rows ...trade) {
	for _, row := range rows {
		s.ledger[row.ID] = row
		s.ids = append(s.ids, row.ID)
	}
}

// step is one statement or transaction. When it fails it is done again.
func (s *seller) step(ctx context.Context) error {
	db := s.db.WithContext(ctx)
	if len(s.ids) == 0 {
		row := trade{UserID: s.user(), Item: "first"}
		err := db.Create(&row).Error
		if err == nil {
			s.note(row)
		}
		return err
	}
	at := s.random.IntN(len(s.ids))
	row := s.ledger[s.ids[at]]
	switch s.random.IntN(6) {
	case 0:
		rows := []trade{{UserID: s.user(), Item: "a"}, {UserID: s.user(), Item: "b"}, {UserID: s.user(), Item: "c"}}
		err := db.Create(&rows).Error
		if err == nil {
			s.note(rows...)
		}
		return err
	case 1:
		row.Count++
		err := one(db.Model(&trade{ID: row.ID}).Update("count", row.Count))
		if err == nil {
			s.ledger[row.ID] = row
		}
		return err
	case 2:
		err := one(db.Delete(&trade{}, row.ID))
		if err == nil {
			delete(s.ledger, row.ID)
			s.ids[at] = s.ids[len(s.ids)-1]
			s.ids = s.ids[:len(s.ids)-1]
		}
		return err
	case 3: // in a transaction where the user's rows are
		fresh := trade{UserID: row.UserID, Item: "of a transaction"}
		row.Item = "changed"
		home, err := s.router.DB(ctx, row.UserID)
		if err == nil {
			err = home.Transaction(func(tx *gorm.DB) error {
				if err := tx.Create(&fresh).Error; err != nil {
					return err
				}
				return one(tx.Save(&row))
			})
		}
		if err == nil {
			s.note(fresh)
			s.ledger[row.ID] = row
		}
		return err
	case 4:
		var got trade
		if err := db.Scopes(shard.ByID(row.ID)).First(&got).Error; err != nil || got != row {
			return fmt.Errorf("by id: got %+v, want %+v: %w", got, row, err)
		}
		return nil
	default:
		var rows []trade
		err := db.Scopes(shard.ByKey(row.UserID)).Find(&rows).Error
		want := maps.Collect(func(yield func(sqltype.ID, trade) bool) {
			for id, r := range s.ledger {
				if r.UserID == row.UserID && !yield(id, r) {
					return
				}
			}
		})
		got := map[sqltype.ID]trade{}
		for _, r := range rows {
			got[r.ID] = r
		}
		if err != nil || !maps.Equal(got, want) || len(rows) != len(got) {
			return fmt.Errorf("by key: got %v, want %v: %w", got, want, err)
		}
		return nil
	}
}

// TestScenarioSplit makes 8 tables of 4, two of them in another database, while processes write to them.
func TestScenarioSplit(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel() // most of the time a lease has to end
			split(t, newMarket(t, kind))
		})
	}
}

func split(t *testing.T, m *market) {
	db, router := m.process(t)
	must(t, router.AutoMigrate(db, &trade{}))
	before := router.Map()
	still := make([]trade, 200) // nobody writes to these
	for i := range still {
		still[i] = trade{UserID: 1000 + int64(i), Item: "still", Count: i}
	}
	must(t, db.Create(&still).Error)
	ledger := map[sqltype.ID]trade{}
	for _, row := range still {
		ledger[row.ID] = row
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop := make(chan struct{})
	var sellers []*seller
	var group sync.WaitGroup
	for i := range 4 {
		if i == 2 {
			db, router = m.process(t)
		}
		s := &seller{t: t, db: db, router: router, random: rand.New(rand.NewPCG(6, uint64(i))), first: int64(10*i + 1), ledger: map[sqltype.ID]trade{}}
		sellers = append(sellers, s)
		group.Go(func() {
			if err := s.run(ctx, stop); err != nil {
				t.Error(err)
			}
		})
	}

	// The tables of another database are made before.
	maker := openGORM(t, m.databases[""])
	all := use(t, maker, shard.Config{Name: "all", Shards: m.shards, Databases: map[string]*gorm.DB{"east": openGORM(t, m.databases["east"])}})
	must(t, all.AutoMigrate(maker, &trade{}))
	must(t, all.Close())

	old := newOutdated(t, m, still)
	defer old.end()
	w := m.world(t)
	next, err := before.Grow(m.shards[4:]...)
	must(t, err)
	plan, err := reshard.NewPlan(t.Context(), w, "default", next)
	must(t, err)
	seen := map[string]bool{}
	err = reshard.Move(t.Context(), w, plan, reshard.Options{Batch: 50, Progress: func(p reshard.Progress) {
		if !seen[p.State] {
			seen[p.State] = true
			old.at(p.State)
		}
	}})
	if err != nil {
		t.Errorf("Move: %v", err)
	}
	close(stop)
	group.Wait()
	if t.Failed() {
		return
	}
	old.at("after")
	for _, s := range sellers {
		t.Logf("%d steps, %d tries", s.steps, s.tries)
		maps.Copy(ledger, s.ledger)
	}
	for _, row := range old.written {
		ledger[row.ID] = row
	}
	m.requireLedger(t, next, ledger)
	if report, err := reshard.Verify(t.Context(), w, "default", nil); err != nil {
		t.Errorf("Verify: %v, %+v", err, report)
	}
	if got := router.Map().Version(); got != next.Version() {
		t.Errorf("a router has version %d of the map, want %d", got, next.Version())
	}
}
