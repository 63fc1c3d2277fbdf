package shard_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// The functions for gorm.io/sharding, of 64 tables with one bucket each, so that its generator can be used.
func ExampleNewAlgorithm() {
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(8), idgen.Shard.Bits(6))
	if err != nil {
		log.Fatal(err)
	}
	m, err := shard.NewMap(layout, shard.Tables(64)...)
	if err != nil {
		log.Fatal(err)
	}
	a, err := shard.NewAlgorithm(m, int64(0)) // orders.user_id is a BIGINT
	if err != nil {
		log.Fatal(err)
	}
	source, err := idgen.New(layout, idgen.WithNode(7), idgen.WithShards())
	if err != nil {
		log.Fatal(err)
	}
	next, err := a.Generator(context.Background(), source, func(err error) { log.Print("the row was not written: ", err) })
	if err != nil {
		log.Fatal(err)
	}

	// What gorm.io/sharding does with them.
	suffix, err := a.Suffix(int64(42))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the orders of user 42 are in orders" + suffix)
	fmt.Println("an id made for table 7 leads to orders" + a.SuffixOfID(next(7)))
	fmt.Println("and -1, which is no id, to orders" + a.SuffixOfID(-1))
	// Output:
	// the orders of user 42 are in orders_21
	// an id made for table 7 leads to orders_07
	// and -1, which is no id, to orders_nowhere
}
