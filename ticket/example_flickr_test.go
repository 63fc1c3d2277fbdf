package ticket_test

import (
	"context"
	"fmt"
	"log"

	"github.com/snowkey-go/snowkey/ticket"
)

// Two servers share the work, one with the odd numbers and one with the even ones, and stand in for each other. Two MariaDB servers would have
//
//	[mysqld]                        [mysqld]
//	auto-increment-increment = 2    auto-increment-increment = 2
//	auto-increment-offset    = 1    auto-increment-offset    = 2
//
// and sql.Open("mysql", …) each; SQLite needs nothing.
func ExampleFlickr() {
	ctx := context.Background()
	odd, done := openExample("odd.db")
	defer done()
	even, done := openExample("even.db")
	defer done()

	pair, err := ticket.Flickr(ticket.Config{},
		ticket.Server{Name: "odd", DB: odd, Dialect: ticket.SQLite},
		ticket.Server{Name: "even", DB: even, Dialect: ticket.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	defer pair.Close()
	if err := pair.Setup(ctx); err != nil {
		log.Fatal(err)
	}
	ids := make([]int64, 6)
	if err := pair.Fill(ctx, ids); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pair.Stats().Issued, "tickets of", len(pair.Stats().Servers), "servers")
	_ = odd.Close() // and this server is down
	id, err := pair.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("even:", id%2 == 0)
	// Output:
	// 6 tickets of 2 servers
	// even: true
}
