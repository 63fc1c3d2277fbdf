package ticket_test

import (
	"context"
	"fmt"
	"log"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
	"github.com/snowkey-go/snowkey/ticket"
)

// Blocks give a GORM model its keys, from a pool of their own: a transaction that creates rows never waits for itself.
func Example_model() {
	type Order struct {
		ID    sqltype.ID
		Total int64
	}
	ctx := context.Background()
	pool, done := openExample("keys.db")
	defer done()
	keys, err := ticket.Blocks(ticket.BlockConfig{Config: ticket.Config{Sequence: "orders"}}, ticket.Server{DB: pool, Dialect: ticket.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	defer keys.Close()
	if err := keys.Setup(ctx); err != nil {
		log.Fatal(err)
	}

	rows, done := openExample("rows.db")
	defer done()
	db, err := gorm.Open(sqlite.Dialector{Conn: rows})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Use(gormplugin.New(gormplugin.From[int64](keys))); err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(&Order{}); err != nil {
		log.Fatal(err)
	}
	orders := []Order{{Total: 30}, {Total: 40}}
	if err := db.Create(&orders).Error; err != nil {
		log.Fatal(err)
	}
	fmt.Println(orders[0].ID, orders[1].ID)
	// Output: 1 2
}
