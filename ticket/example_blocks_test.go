package ticket_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

// Blocks of ids are allocated ahead of need: a key takes no round trip, and there are keys for a while when the database is down.
func ExampleBlocks() {
	ctx := context.Background()
	db, done := openExample("blocks.db")
	defer done()

	orders, err := ticket.Blocks(ticket.BlockConfig{
		Config:  ticket.Config{Sequence: "orders"},
		Reserve: 30 * time.Second, // without the database
		Rate:    100,              // ids a second, until it is measured
	}, ticket.Server{DB: db, Dialect: ticket.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	if err := orders.Setup(ctx); err != nil {
		log.Fatal(err)
	}
	if err := orders.Warm(ctx); err != nil { // so that the first calls do not wait
		log.Fatal(err)
	}
	_ = db.Close()
	for range 3 {
		id, err := orders.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id)
	}
	fmt.Println("enough in the buffer:", orders.Stats().Buffered >= 30*100-3)
	// Output:
	// 1
	// 2
	// 3
	// enough in the buffer: true
}
