package gormplugin_test

import (
	"context"
	"fmt"
	"log"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Subscriber has a key that its type has filled.
type Subscriber struct {
	ID    sqltype.ID
	Email string `gorm:"uniqueIndex"`
	Name  string
}

// openSubscribers makes an empty database.
func openSubscribers() *gorm.DB {
	return open(gormplugin.New(gormplugin.From(node(7))), &Subscriber{})
}

// GORM's generic interface needs nothing more than db.Use.
func Example_generics() {
	ctx, db := context.Background(), openSubscribers()
	ada := Subscriber{Email: "ada@example.org", Name: "Ada"}
	if err := gorm.G[Subscriber](db).Create(ctx, &ada); err != nil {
		log.Fatal(err)
	}
	found, err := gorm.G[Subscriber](db).Where("id = ?", ada.ID).First(ctx)
	if err != nil {
		log.Fatal(err)
	}
	parts, err := idgen.Snowkey.Decode(ada.ID.Int64())
	fmt.Println(found.Name, parts.Node, err)
	// Output: Ada 7 <nil>
}

// A batch has ascending keys, and Generic has the scopes of this package read its rows page by page.
func Example_genericsBatches() {
	ctx, db := context.Background(), openSubscribers()
	subscribers := []Subscriber{
		{Email: "ada@example.org", Name: "Ada"}, {Email: "grace@example.org", Name: "Grace"}, {Email: "radia@example.org", Name: "Radia"},
	}
	if err := gorm.G[Subscriber](db).CreateInBatches(ctx, &subscribers, 2); err != nil {
		log.Fatal(err)
	}
	page, err := gorm.G[Subscriber](db).Scopes(gormplugin.Generic(gormplugin.After(subscribers[0].ID))).Limit(2).Find(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range page {
		fmt.Println(s.Name)
	}
	// Output:
	// Grace
	// Radia
}

// An upsert is an option of gorm.G. The struct has the key of the row that was there.
func Example_genericsUpsert() {
	ctx, db := context.Background(), openSubscribers()
	first := Subscriber{Email: "ada@example.org", Name: "Ada"}
	again := Subscriber{Email: "ada@example.org", Name: "Ada Lovelace"}
	upsert := clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
	for _, s := range []*Subscriber{&first, &again} {
		if err := gorm.G[Subscriber](db, upsert).Create(ctx, s); err != nil {
			log.Fatal(err)
		}
	}
	found, err := gorm.G[Subscriber](db).Where("id = ?", first.ID).First(ctx)
	fmt.Println(again.ID == first.ID, found.Name, err)
	// Output: true Ada Lovelace <nil>
}

// Set creates a row from assignments, without a struct that could hold the key: the row is found by another column.
func Example_genericsSet() {
	ctx, db := context.Background(), openSubscribers()
	values := map[string]any{"email": "ada@example.org", "name": "Ada"}
	if err := gorm.G[Subscriber](db).Set(clause.Assignments(values)).Create(ctx); err != nil {
		log.Fatal(err)
	}
	ada, err := gorm.G[Subscriber](db).Where("email = ?", "ada@example.org").First(ctx)
	if err != nil {
		log.Fatal(err)
	}
	parts, err := idgen.Snowkey.Decode(ada.ID.Int64())
	fmt.Println(ada.Name, parts.Node, err)
	// Output: Ada 7 <nil>
}
