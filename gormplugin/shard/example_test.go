package shard_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Booking is sharded by the user whose it is.
type Booking struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID int64
	Item   string
}

// memory opens a database in memory.
func memory() *gorm.DB {
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: logger.Discard})
	check(err)
	pool, err := db.DB()
	check(err)
	pool.SetMaxOpenConns(1) // every connection has a memory of its own
	return db
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Bookings are in four tables. Each is found by its id, and all of a user by the user, with one query of one table.
func Example() {
	db := memory()
	router := shard.New(shard.Config{Shards: shard.Tables(4)})
	check(db.Use(router))
	defer func() { check(router.Close()) }()
	check(router.AutoMigrate(db, &Booking{})) // bookings_00 … bookings_03

	bookings := []Booking{{UserID: 7, Item: "tea"}, {UserID: 8, Item: "milk"}, {UserID: 7, Item: "cups"}}
	check(db.Create(&bookings).Error)

	var booking Booking
	check(db.Scopes(shard.ByID(bookings[1].ID)).First(&booking).Error)
	fmt.Println("by id:", booking.Item)

	var all []Booking
	check(db.Scopes(shard.ByKey(7)).Order("item").Find(&all).Error)
	for _, booking := range all {
		fmt.Println("by key:", booking.Item)
	}

	fmt.Println(db.First(&booking, "item = ?", "tea").Error != nil) // of which table?
	// Output:
	// by id: milk
	// by key: cups
	// by key: tea
	// true
}

// Half of the buckets are in another database. A transaction is one of the database where its rows are.
func ExampleRouter_DB() {
	db, second := memory(), memory()
	router := shard.New(shard.Config{
		Shards:    []shard.Shard{{Name: "a"}, {Name: "b", Database: "second"}},
		Databases: map[string]*gorm.DB{"second": second},
	})
	check(db.Use(router))
	defer func() { check(router.Close()) }()
	check(router.AutoMigrate(db, &Booking{})) // bookings in both

	const user = 7
	err := shard.Retry(context.Background(), func() error {
		where, err := router.DB(context.Background(), user)
		if err != nil {
			return err
		}
		return where.Transaction(func(tx *gorm.DB) error {
			if err := tx.Create(&Booking{UserID: user, Item: "tea"}).Error; err != nil {
				return err
			}
			return tx.Scopes(shard.ByKey(user)).Model(&Booking{}).Update("item", "green tea").Error
		})
	})
	check(err)

	var bookings []Booking
	check(db.Scopes(shard.ByKey(user)).Find(&bookings).Error)
	fmt.Println(len(bookings), bookings[0].Item)
	// Output: 1 green tea
}

// The bookings of the last hour, of all tables, by their ids, which is the booking in which they were made.
func ExampleBetween() {
	db := memory()
	router := shard.New(shard.Config{Shards: shard.Tables(4)})
	check(db.Use(router))
	defer func() { check(router.Close()) }()
	check(router.AutoMigrate(db, &Booking{}))
	for user := range int64(5) {
		check(db.Create(&Booking{UserID: user + 1, Item: "tea"}).Error)
	}

	now := time.Now()
	var ids []sqltype.ID
	for booking, err := range shard.Between[Booking](db.Where("user_id <> ?", 3), now.Add(-time.Hour), now.Add(time.Minute)) {
		check(err)
		ids = append(ids, booking.ID)
	}
	fmt.Println(len(ids), slices.IsSorted(ids))
	// Output: 4 true
}
