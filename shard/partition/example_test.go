package partition_test

import (
	"fmt"

	"github.com/snowkey-go/snowkey/shard/partition"
)

func ExampleTable_Create() {
	orders := partition.Table{Name: "orders", Every: partition.Month}
	statements, err := orders.Create(partition.Postgres, "id bigint NOT NULL", "note text")
	if err != nil {
		fmt.Println(err)
	}
	for _, statement := range statements {
		fmt.Println(statement)
	}
	// Output:
	// CREATE TABLE "orders" (
	//   id bigint NOT NULL,
	//   note text,
	//   PRIMARY KEY ("id")
	// ) PARTITION BY RANGE ("id")
	// CREATE TABLE "orders_default" PARTITION OF "orders" DEFAULT
}
