// The scenarios that the sharded keys are for, from end to end, through what packages export. Where one is shown by the tests of a part already, on SQLite,
// MariaDB and PostgreSQL where there is a database in it, these are named:
//
//	 1. 50 ids a second on one node, evenly over 16 shards     idgen TestLanesAreSpreadAtLowTraffic
//	 2. a million sharding keys of a pattern, evenly           idgen/shard TestBucketsAreEven
//	 3. two processes, one sharded table, no id twice          TestScenarioProcesses; the generators alone: idgen/grant TestShardsOfProcesses
//	 4. by id and by key, the same table, one query            TestScenarioLookup; in all forms: TestOneTableOneQuery
//	 5. disagreement, and another sharding key: before SQL     TestRefusedBeforeSQL, TestCreateRefusesBeforeAnySQL, TestCreateUpsertKeepsTheShardingKey,
//	                                                           TestHooksCannotLeadAway
//	 6. 4 tables become 8 under writes                         TestScenarioSplit; killed: reshard TestKilledMoves; fences alone: reshard TestStaleWriter
//	 7. 100 rows over 16 tables in their order                 TestCreateSplitsABatch; one fails: TestCreateFailsInTheMiddle; over databases:
//	                                                           TestCreateOverDatabases, TestCreatePartlyCommitted
//	 8. a hot bucket of 20,000 ids a second                    idgen TestHotLane, TestLanesAreUniqueAndIncrease; who has the number next:
//	                                                           idgen/grant TestHandOverOfBorrowedTicks
//	 9. an hour of all tables is the query by created_at       TestScenarioHour; ranges of the primary key: TestBetweenPlan
//	10. ids from before, and keys of all kinds                 TestScenarioBefore; kinds: TestCreateWithAllKindsOfKeys, idgen/shard TestSumVectors
//	    another map's version or widths refused                TestScenarioOtherMaps; idgen/shard TestOtherWidths; a map that went back: TestMapGoesBack

package shard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// TestScenarioLookup finds rows by the id alone and by the sharding key alone, in the table where they are, with one query.
func TestScenarioLookup(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 16, &purchase{})
		rows := purchases(48)
		must(t, db.Create(&rows).Error)
		for _, s := range r.Map().Shards() {
			table := s.Table("purchases")
			for id := range rowsOf(t, db, table, "item") {
				tx, log := recorded(db)
				var byID, byKey purchase
				must(t, tx.Scopes(shard.ByID(id)).Take(&byID).Error)
				must(t, tx.Scopes(shard.ByKey(byID.UserID)).Take(&byKey).Error)
				if byID.ID.Int64() != id || byKey != byID || !slices.Contains(rows, byID) {
					t.Errorf("got %+v by id %d, and %+v by key", byID, id, byKey)
				}
				if len(log.all) != 2 || !strings.Contains(log.all[0], table) || !strings.Contains(log.all[1], table) {
					t.Errorf("got the queries %q, want one of %s for each", log.all, table)
				}
			}
		}
	})
}

// arrival is a sharded model that has its time in a column besides.
type arrival struct {
	ID        sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID    int64
	CreatedAt time.Time `gorm:"precision:6"`
}

// TestScenarioHour reads an hour of all tables, which is what the query by created_at finds.
func TestScenarioHour(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 16, &arrival{})
		var rows []arrival
		for i := range 721 { // every ten seconds of two hours
			row := arrival{UserID: int64(i%97 + 1), CreatedAt: noon.Add(time.Duration(i) * 10 * time.Second)}
			bucket, err := r.Map().Place(row.UserID, 0)
			must(t, err)
			least, err := r.Map().Layout().MinID(row.CreatedAt)
			must(t, err)
			row.ID = sqltype.ID(least | bucket)
			rows = append(rows, row)
		}
		must(t, db.CreateInBatches(&rows, 200).Error)
		from, to := noon.Add(30*time.Minute), noon.Add(90*time.Minute)
		var want, got []sqltype.ID
		must(t, db.Model(&arrival{}).Scopes(shard.All()).Where("created_at >= ? AND created_at < ?", from, to).Order("id").Pluck("id", &want).Error)
		for row, err := range shard.Between[arrival](db, from, to) {
			must(t, err)
			got = append(got, row.ID)
		}
		if len(want) != 360 || !slices.Equal(got, want) {
			t.Errorf("got %d rows, want the %d by created_at, which are to be 360", len(got), len(want))
		}
	})
}

// booking is the model of a table that had its ids of AUTO_INCREMENT.
type booking struct {
	ID     sqltype.ID `gorm:"snowkey:shard=Name"`
	Name   string     `gorm:"size:40"`
	Seats  int
	Number uint64
}

// TestScenarioBefore shards a table that has rows with ids of AUTO_INCREMENT: these stay where they are and are found there, new ones go to the tables.
func TestScenarioBefore(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		id := map[string]string{"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mysql": "BIGINT PRIMARY KEY AUTO_INCREMENT", "postgres": "BIGSERIAL PRIMARY KEY"}[db.Name()]
		must(t, db.Exec("CREATE TABLE bookings (id "+id+", name VARCHAR(40), seats BIGINT, number BIGINT)").Error)
		names := []string{"ann", "bob", "Ümit", "-5"}
		for i := range 40 {
			must(t, db.Exec("INSERT INTO bookings (name, seats, number) VALUES (?, ?, 1)", names[i%4], i).Error)
		}
		first, err := idshard.NewMap(idgen.Sharded.Layout, idshard.Tables(4)...)
		must(t, err)
		first, err = first.WithShards(idshard.Shard{Name: "before"})
		must(t, err)
		first, err = first.WithLegacy(idshard.Legacy{Below: 41, Shard: "before"})
		must(t, err)
		must(t, storeOf(t, db).Setup(t.Context()))
		must(t, storeOf(t, db).Create(t.Context(), "default", first.First()))
		r := use(t, db, shard.Config{})
		must(t, r.AutoMigrate(db, &booking{}))

		fresh := []booking{{Name: "ann", Seats: 100}, {Name: "bob", Seats: 101}, {Name: "Ümit", Seats: 102, Number: 1 << 62}, {Name: "-5", Seats: 103}}
		must(t, db.Create(&fresh).Error)
		if got := everywhere(t, db, r, "bookings", "seats"); len(got) != 44 || len(rowsOf(t, db, "bookings", "seats")) != 40 {
			t.Errorf("got %d rows, want 44 and of these 40 in the table from before", len(got))
		}
		for i, name := range names {
			var all []booking
			must(t, db.Scopes(shard.ByKey(name)).Find(&all).Error)
			if len(all) != 11 || all[10] != fresh[i] {
				t.Errorf("%s: got %+v, want ten from before and %+v", name, all, fresh[i])
			}
			for _, row := range all {
				var byID booking
				tx, log := recorded(db)
				if err := tx.Scopes(shard.ByID(row.ID)).Take(&byID).Error; err != nil || byID != row || len(log.all) != 1 {
					t.Errorf("got %+v by %q, %v, want %+v by one query", byID, log.all, err, row)
				}
			}
		}

		must(t, one(db.Model(&booking{ID: 1}).Update("seats", 500)))
		must(t, one(db.Model(&booking{ID: fresh[0].ID}).Update("seats", 501)))
		must(t, one(db.Delete(&booking{}, 5)))
		if done := db.Model(&booking{}).Scopes(shard.ByKey("ann")).Update("number", 9); done.Error != nil || done.RowsAffected != 10 {
			t.Errorf("got %d rows of a key updated, %v, want 10", done.RowsAffected, done.Error)
		}
		var got booking
		must(t, db.First(&got, 1).Error)
		if want := (booking{ID: 1, Name: "ann", Seats: 500, Number: 9}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if err := db.First(&booking{}, 5).Error; !errors.Is(err, gorm.ErrRecordNotFound) {
			t.Errorf("a row that was deleted: got %v", err)
		}
		if err := db.First(&booking{}, fresh[0].ID-1).Error; !errors.Is(err, gorm.ErrRecordNotFound) { // another bucket's
			t.Errorf("an id that there is not: got %v", err)
		}
		if n := len(everywhere(t, db, r, "bookings", "seats")); n != 43 {
			t.Errorf("got %d rows, want 43", n)
		}
	})
}

// TestScenarioOtherMaps refuses what is of other widths than the map, and what was made for another version of it.
func TestScenarioOtherMaps(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: idshard.Tables(4), Lease: time.Hour})
		must(t, r.AutoMigrate(db, &purchase{}))
		narrow, err := idgen.NewLayout(idgen.Sharded.Epoch(), time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(6), idgen.Shard.Bits(8))
		must(t, err)
		pool, err := db.DB()
		must(t, err)
		second, err := gorm.Open(db.Dialector, &gorm.Config{ConnPool: pool, Logger: db.Logger})
		must(t, err)
		if err := second.Use(shard.New(shard.Config{Layout: narrow})); !errors.Is(err, shard.ErrConfig) {
			t.Errorf("a router of other widths: got %v, want ErrConfig", err)
		}
		w := reshard.World{Own: reshard.Database{DB: pool, Dialect: dialectOf(db)}, Tables: []reshard.Table{{Name: "purchases", Key: "id", By: "user_id"}}}
		next, err := r.Map().Grow(idshard.Tables(8)[4:]...)
		must(t, err)
		plan, err := reshard.NewPlan(t.Context(), w, "default", next)
		must(t, err)
		other, err := r.Map().Spread(int64(7), 2)
		must(t, err)
		must(t, storeOf(t, db).Swap(t.Context(), "default", other))
		if err := reshard.Move(t.Context(), w, plan, reshard.Options{}); !errors.Is(err, idshard.ErrVersion) {
			t.Errorf("a plan of the version before: got %v, want ErrVersion", err)
		}
		if err := storeOf(t, db).Swap(t.Context(), "default", next); !errors.Is(err, idshard.ErrVersion) {
			t.Errorf("another version 2: got %v, want ErrVersion", err)
		}
		undone := errors.New("undone")
		err = db.Transaction(func(tx *gorm.DB) error {
			must(t, tx.Create(&purchase{UserID: 1}).Error)
			must(t, r.Reload(t.Context()))
			if err := tx.Create(&purchase{UserID: 1}).Error; !errors.Is(err, shard.ErrMoved) {
				t.Errorf("a transaction of the version before: got %v, want ErrMoved", err)
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Error(err)
		}
	})
}
