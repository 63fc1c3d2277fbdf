package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/shard"
)

// shards makes sharded tables with rows where they belong: shards FILE TABLE N ROWS.
func shards(ts *testscript.TestScript, _ bool, args []string) {
	db := openScript(ts, args[0])
	tables, err := strconv.ParseInt(args[2], 10, 64)
	ts.Check(err)
	rows, err := strconv.ParseInt(args[3], 10, 64)
	ts.Check(err)
	for i := range tables {
		_, err := db.Exec(fmt.Sprintf("CREATE TABLE %s_%02d (id integer PRIMARY KEY, user_id integer NOT NULL)", args[1], i))
		ts.Check(err)
	}
	for user := range rows {
		bucket, err := shard.Bucket(idgen.Sharded.Layout, user)
		ts.Check(err)
		at := time.Date(2026, 1, 1, 0, 0, int(user), 0, time.UTC)
		id, err := idgen.Sharded.Compose(idgen.Parts{Time: at, Shard: bucket})
		ts.Check(err)
		_, err = db.Exec(fmt.Sprintf("INSERT INTO %s_%02d VALUES (?, ?)", args[1], bucket%tables), id, user)
		ts.Check(err)
	}
}
