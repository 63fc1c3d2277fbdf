package shard_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// The bucket of a user is in the ids of the user's orders, so the id of an order and the user lead to the same one of 16 tables.
func Example() {
	ids, err := idgen.New(idgen.Sharded, idgen.WithNode(7), idgen.WithShards())
	if err != nil {
		log.Fatal(err)
	}
	bucket, err := shard.Bucket(idgen.Sharded.Layout, int64(42)) // orders.user_id
	if err != nil {
		log.Fatal(err)
	}
	id, err := ids.NextFor(context.Background(), bucket)
	if err != nil {
		log.Fatal(err)
	}
	table, err := shard.Table(bucket, 16)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("bucket", bucket, "and in the id", id&1023)
	fmt.Println("table", table, "and by the id", id%16)
	// Output:
	// bucket 661 and in the id 661
	// table 5 and by the id 5
}

// An id that comes with another user's number is told from the user's own.
func ExampleSource_Check() {
	ids, err := idgen.New(idgen.Sharded, idgen.WithNode(7), idgen.WithShards())
	if err != nil {
		log.Fatal(err)
	}
	source, err := shard.NewSource(ids, shard.WithBefore(1_000_000)) // orders had an auto-increment key that ended at 999,999
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(source.Check(1<<40|661, int64(42)))
	fmt.Println(errors.Is(source.Check(1<<40|661, int64(43)), shard.ErrDisagree))
	fmt.Println(source.Check(999_999, int64(43)))
	// Output:
	// <nil>
	// true
	// <nil>
}

// A table that a database splits by ranges of its key has the orders of bucket 661 between two ids.
func ExampleRange() {
	least, greatest, err := shard.Range(idgen.Scattered.Layout, 661)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("WHERE id BETWEEN %d AND %d\n", least, greatest)
	// Output: WHERE id BETWEEN 5953758707383795712 AND 5962765906638536703
}

// The functions for gorm.io/sharding of 16 tables.
func ExampleNewTables() {
	t, err := shard.NewTables(idgen.Sharded.Layout, 16, int64(0)) // orders.user_id is a BIGINT
	if err != nil {
		log.Fatal(err)
	}
	suffix, err := t.Suffix(int64(42))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the orders of user 42 are in orders" + suffix)
	fmt.Println("an id of bucket 661 leads to orders" + t.SuffixOfID(1<<40|661))
	fmt.Println("and -1, which is no id, to orders" + t.SuffixOfID(-1))
	// Output:
	// the orders of user 42 are in orders_05
	// an id of bucket 661 leads to orders_05
	// and -1, which is no id, to orders_nowhere
}

// Without snowkey's GORM plugin gorm.io/sharding makes the ids. It tells the generator the table alone, so each of the 64 tables has one bucket.
func ExampleTables_Generator() {
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(8), idgen.Shard.Bits(6))
	if err != nil {
		log.Fatal(err)
	}
	t, err := shard.NewTables(layout, 64, int64(0))
	if err != nil {
		log.Fatal(err)
	}
	source, err := idgen.New(layout, idgen.WithNode(7), idgen.WithShards())
	if err != nil {
		log.Fatal(err)
	}
	next, err := t.Generator(context.Background(), source, func(err error) { log.Print("the row was not written: ", err) })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("an id made for table 7 leads to orders" + t.SuffixOfID(next(7)))
	// Output: an id made for table 7 leads to orders_07
}
