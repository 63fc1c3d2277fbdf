package ticket_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3"

	"github.com/snowkey-go/snowkey/ticket"
)

// One server gives the keys of all processes. On MySQL or MariaDB it is a REPLACE INTO on a small table, on PostgreSQL a SEQUENCE; here it is SQLite.
func ExampleReplace() {
	ctx := context.Background()
	db, done := openExample("tickets.db")
	defer done()

	orders, err := ticket.Replace(ticket.Config{Sequence: "orders"}, ticket.Server{DB: db, Dialect: ticket.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	if err := orders.Setup(ctx); err != nil { // makes what is missing, in any number of processes
		log.Fatal(err)
	}
	for range 3 {
		id, err := orders.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id)
	}
	// Output:
	// 1
	// 2
	// 3
}

// openExample opens a database that is removed by the function it returns.
func openExample(name string) (*sql.DB, func()) {
	dir, err := os.MkdirTemp("", "snowkey-example-")
	if err != nil {
		log.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, name)+"?_busy_timeout=5000")
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		_ = db.Close()
		_ = os.RemoveAll(dir)
	}
}
