package gormplugin_test

import (
	"context"
	"fmt"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Delivery has no column of the time it was created at: its key says so.
type Delivery struct {
	ID   sqltype.ID
	Item string
}

// openDeliveries makes a database with a delivery at six in the morning and one at six in the evening of the first three days of
// March 2026.
func openDeliveries() (*gorm.DB, error) {
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{})
	if err != nil {
		return nil, err
	}
	keys, err := idgen.New(idgen.WithNode(7))
	if err != nil {
		return nil, err
	}
	if err := db.Use(gormplugin.New(gormplugin.From(keys))); err != nil {
		return nil, err
	}
	if err := db.AutoMigrate(&Delivery{}); err != nil {
		return nil, err
	}
	for day := 1; day <= 3; day++ {
		for hour, item := range map[int]string{6: "milk", 18: "tea"} {
			id, err := keys.Layout().Compose(idgen.Parts{Time: time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC), Node: 7})
			if err != nil {
				return nil, err
			}
			if err := db.Create(&Delivery{ID: sqltype.ID(id), Item: fmt.Sprintf("%s of day %d", item, day)}).Error; err != nil {
				return nil, err
			}
		}
	}
	return db, nil
}

// The rows of one day, and the removal of old ones, by the primary key alone.
func ExampleCreatedBetween() {
	db, err := openDeliveries()
	if err != nil {
		fmt.Println(err)
		return
	}
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	var deliveries []Delivery
	if err := db.Scopes(gormplugin.CreatedBetween(day, day.AddDate(0, 0, 1))).Order("id").Find(&deliveries).Error; err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range deliveries {
		fmt.Println(d.Item)
	}
	removed := db.Scopes(gormplugin.CreatedBefore(day)).Delete(&Delivery{})
	fmt.Println("removed:", removed.RowsAffected, removed.Error)
	// Output:
	// milk of day 2
	// tea of day 2
	// removed: 2 <nil>
}

// The layout is given where the plugin is not registered.
func ExampleCreated() {
	db, err := openDeliveries()
	if err != nil {
		fmt.Println(err)
		return
	}
	created := gormplugin.Created{Layout: idgen.Snowkey.Layout}
	var n int64
	err = db.Model(&Delivery{}).Scopes(created.After(time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC))).Count(&n).Error
	fmt.Println(n, err)
	// Output: 1 <nil>
}

// A table page by page, each from where the one before has ended.
func ExampleAfter() {
	db, err := openDeliveries()
	if err != nil {
		fmt.Println(err)
		return
	}
	for last := sqltype.ID(0); ; {
		var page []Delivery
		if err := db.Scopes(gormplugin.After(last)).Limit(4).Find(&page).Error; err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("page:")
		for _, d := range page {
			fmt.Println(" ", d.Item)
		}
		if len(page) < 4 {
			return
		}
		last = page[len(page)-1].ID
	}
	// Output:
	// page:
	//   milk of day 1
	//   tea of day 1
	//   milk of day 2
	//   tea of day 2
	// page:
	//   milk of day 3
	//   tea of day 3
}

// The newest first, of the rows of a time, by GORM's generic interface.
func ExampleGeneric() {
	db, err := openDeliveries()
	if err != nil {
		fmt.Println(err)
		return
	}
	newest := gormplugin.Before(sqltype.ID(0))
	untilNoon := gormplugin.CreatedBefore(time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC))
	deliveries, err := gorm.G[Delivery](db).Scopes(gormplugin.Generic(untilNoon, newest)).Limit(3).Find(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range deliveries {
		fmt.Println(d.Item)
	}
	// Output:
	// milk of day 3
	// tea of day 2
	// milk of day 2
}
