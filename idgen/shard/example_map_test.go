package shard_test

import (
	"fmt"
	"log"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/shard"
)

// A row's id and its sharding key lead to the same table, and go on doing so when there are twice as many.
func ExampleMap() {
	m, err := shard.NewMap(idgen.Sharded.Layout, shard.Tables(4)...)
	if err != nil {
		log.Fatal(err)
	}
	const id, userID = 158112743210189770, int64(10) // an id that was made for bucket 970
	show := func(m *shard.Map) {
		byID, err := m.OfID(id)
		if err != nil {
			log.Fatal(err)
		}
		byKey, err := m.OfKey(nil, userID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("version", m.Version(), m.Shard(byID).Table("orders"), m.Shard(byKey[0]).Table("orders"))
	}
	show(m)
	next, err := m.Grow(shard.Tables(8)[4:]...)
	if err != nil {
		log.Fatal(err)
	}
	show(next)
	moves, err := m.Moves(next)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(moves), "of", m.Buckets(), "buckets move, the first:", moves[0])
	fmt.Println(m.Check(id, int64(11)))
	// Output:
	// version 1 orders_02 orders_02
	// version 2 orders_02 orders_02
	// 512 of 1024 buckets move, the first: {4 00 04}
	// shard: the id and the sharding key disagree: 158112743210189770 is of bucket 970, the key 11 of [157]; a row keeps its sharding key, and an id is made for it
}

// A map as a person reads it: who has which buckets, where the rows from before are, and whose keys are spread.
func ExampleMap_MarshalJSON() {
	m, err := shard.NewMap(idgen.Sharded.Layout, shard.Tables(2)...)
	if err != nil {
		log.Fatal(err)
	}
	if m, err = m.Move("01", 0, 2, 4, 6); err != nil {
		log.Fatal(err)
	}
	if m, err = m.Spread("acme", 8); err != nil {
		log.Fatal(err)
	}
	text, err := m.MarshalJSON()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", text)
	// Output:
	// {
	//   "version": "3",
	//   "layout": "time=41@1ms,node=8,sequence=4,shard=10;epoch=2025-01-01T00:00:00Z",
	//   "shards": [
	//     {"name":"00","suffix":"_00","buckets":"8-1022/2"},
	//     {"name":"01","suffix":"_01","buckets":"0-7,9-1023/2"}
	//   ],
	//   "spread": [
	//     {"text":"acme","over":8}
	//   ]
	// }
}
