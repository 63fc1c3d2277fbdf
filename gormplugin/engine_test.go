package gormplugin_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/sqltype"
)

type dividedOrder struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID int64
	Item   string
}

// TestPartitionsByTheBucket creates rows of a table that the database divides by the bucket of the key, which the plugin takes from that of the
// sharding column: all rows of a user are in one partition, and where the map has them.
func TestPartitionsByTheBucket(t *testing.T) {
	m, err := shard.NewMap(idgen.Sharded.Layout, shard.Tables(4)...)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Spread(int64(7), 512); err != nil { // of which every shard has some
		t.Fatal(err)
	}
	table := ddl.Table{Name: "divided_orders", Key: "id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL, item VARCHAR(20)", Map: m}
	for kind, engine := range map[string]struct {
		statements func() ([]string, error)
		partition  string // of a shard
	}{
		dsn.MySQL:    {table.MySQL, "divided_orders PARTITION (`%s`)"},
		dsn.Postgres: {table.PostgresList, "divided_orders_%s"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db := openOn(t, kind)
			statements, err := engine.statements()
			if err != nil {
				t.Fatal(err)
			}
			mustRun(t, db, statements...)
			generator, err := idgen.New(idgen.Sharded, idgen.WithNode(1), idgen.WithShards())
			if err != nil {
				t.Fatal(err)
			}
			keys, err := shard.NewSource(m, generator)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Use(gormplugin.New(gormplugin.From(keys))); err != nil {
				t.Fatal(err)
			}

			orders := make([]dividedOrder, 300)
			for i := range orders {
				orders[i] = dividedOrder{UserID: 7, Item: fmt.Sprint(i)}
				if i%2 == 0 {
					orders[i].UserID = int64(10 + i%12)
				}
			}
			if err := db.Create(&orders).Error; err != nil {
				t.Fatal(err)
			}
			rows, seen := 0, map[int64]map[int]bool{}
			for i, part := range m.Shards() {
				var of []dividedOrder
				if err := db.Raw("SELECT * FROM " + fmt.Sprintf(engine.partition, part.Name)).Scan(&of).Error; err != nil {
					t.Fatal(err)
				}
				rows += len(of)
				for _, o := range of {
					if in, err := m.OfID(int64(o.ID)); err != nil || in != i {
						t.Errorf("%+v: is in the partition of shard %d, want %d (%v)", o, i, in, err)
					}
					if seen[o.UserID] == nil {
						seen[o.UserID] = map[int]bool{}
					}
					seen[o.UserID][i] = true
				}
			}
			if rows != len(orders) || len(seen) != 7 {
				t.Errorf("%d rows of %d users, want %d of 7", rows, len(seen), len(orders))
			}
			for user, partitions := range seen {
				if want := map[bool]int{false: 1, true: 4}[user == 7]; len(partitions) != want {
					t.Errorf("user %d has rows in %d partitions, want %d", user, len(partitions), want)
				}
			}
			err = db.Create(&dividedOrder{ID: orders[0].ID + 1, UserID: orders[0].UserID}).Error // of the bucket beside
			if !errors.Is(err, shard.ErrDisagree) {
				t.Errorf("an id of another bucket: got the error %v, want ErrDisagree", err)
			}
		})
	}
}
