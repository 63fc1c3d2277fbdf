package gormsharding_test

import (
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/shard"
)

// TestIssue144Databases: gorm.io/sharding has one database. The bucket says which of several it is as well: each has a *gorm.DB with both plugins,
// and tables of its own. Here table i of four is in database i % 2, so an id and a sharding key lead to the same one of each.
func TestIssue144Databases(t *testing.T) {
	for kind, make := range kinds {
		t.Run(kind, func(t *testing.T) {
			shops := []*shop{newShop(t, kind, make(t)), newShop(t, kind, make(t))}
			ofKey := func(user int64) *shop {
				bucket, err := shard.Bucket(idgen.Sharded.Layout, user)
				if err != nil {
					t.Fatal(err)
				}
				i, err := shard.Table(bucket, len(shops))
				if err != nil {
					t.Fatal(err)
				}
				return shops[i]
			}
			ofID := func(id int64) *shop { return shops[id%int64(len(shops))] } // of idgen.Sharded, whose bucket is in the low bits
			used := map[*shop]int{}
			for _, user := range everybody {
				s := ofKey(user)
				o := s.order(user, "a")
				used[s]++
				if ofID(o.ID) != s {
					t.Errorf("the id %d leads to another database than the user %d", o.ID, user)
				}
				s.ran.reset()
				var byID, byKey Order
				s.must(ofID(o.ID).db.First(&byID, o.ID))
				s.wants(s.table("orders", user))
				s.must(s.db.Where("user_id = ?", user).First(&byKey))
				s.wants(s.table("orders", user))
			}
			if len(used) != 2 {
				t.Errorf("the orders are in %d databases, want 2", len(used))
			}
			total := int64(0)
			for _, s := range shops {
				total += count(s, "")
			}
			if total != int64(len(everybody)) {
				t.Errorf("%d orders in both databases, want %d", total, len(everybody))
			}
		})
	}
}

// TestIssue160Resolver: of dbresolver and gorm.io/sharding the one that is registered last runs first. Registered first, dbresolver takes the pool
// of gorm.io/sharding for a transaction and stays with the database of gorm.Open. Registered last, it chooses the database, and gorm.io/sharding
// the table there. A table that is named counts as the one of its model there.
func TestIssue160Resolver(t *testing.T) {
	for kind, make := range kinds {
		t.Run(kind, func(t *testing.T) {
			s, second := newShop(t, kind, make(t)), newShop(t, kind, make(t))
			for i, last := range []string{"gorm.io/sharding", "dbresolver"} {
				parsed, err := dsn.Parse(second.database.DSN)
				if err != nil {
					t.Fatal(err)
				}
				pool, err := parsed.Open()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := pool.Close(); err != nil {
						t.Error(err)
					}
				})
				resolver := dbresolver.Register(dbresolver.Config{Sources: []gorm.Dialector{parsed.Dialector(pool)}}, "orders")
				plugins := []gorm.Plugin{s.snowkey(), resolver, s.sharding(s.tables)}
				in := s
				if last == "dbresolver" {
					plugins[1], plugins[2] = plugins[2], plugins[1]
					in = second
				}
				db, _ := s.open()
				s.use(db, plugins...)
				o := Order{UserID: ann, Item: fmt.Sprint("order ", i)}
				s.must(db.Create(&o))
				s.same(last+" last: the order is in", in.where("orders", o.ID), []string{"orders_01"})
				s.must(db.Where("id = ?", o.ID).Take(new(Order)))
				s.must(db.Scopes(at(s.tables, "orders", ann)).Where("id = ?", o.ID).Take(new(Order)))
			}
		})
	}
}
