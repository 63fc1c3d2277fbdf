package gormsharding_test

import (
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/sharding"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Parcel has its key from gorm.io/sharding, by its table.
type Parcel struct {
	ID     int64
	UserID int64
	Item   string
}

// users are sharding keys, without the zero, which stands for none.
var users = func() (users []int64) {
	for u := int64(-10); u <= 20; u++ {
		if u != 0 {
			users = append(users, u)
		}
	}
	return users
}()

// TestKeysOfThePlugin has keys made by snowkey's plugin, registered before and after gorm.io/sharding: rows are in the table of their sharding key,
// and found by it and by their id alone. Each read is one statement of one table.
func TestKeysOfThePlugin(t *testing.T) {
	eachShop(t, func(s *shop) {
		other, ran := s.open()
		s.use(other, s.sharding(s.tables), s.snowkey())
		for name, way := range map[string]*shop{"snowkey first": s, "snowkey second": {T: s.T, kind: s.kind, tables: s.tables, plain: s.plain, db: other, ran: ran}} {
			for _, user := range users {
				order := way.order(user, name)
				invoice := Invoice{UserID: sqltype.ID(user), Item: name}
				s.must(way.db.Create(&invoice))
				s.same("the order is in", s.where("orders", order.ID), []string{s.table("orders", user)})
				s.same("the invoice is in", s.where("invoices", int64(invoice.ID)), []string{s.table("invoices", user)})

				way.ran.reset()
				for how, find := range map[string]*gorm.DB{
					"by id":           way.db.Where("id = ?", order.ID),
					"by sharding key": way.db.Where("user_id = ? AND item = ?", user, name),
				} {
					var found []Order
					s.must(find.Find(&found))
					if len(found) != 1 || found[0].ID != order.ID || found[0].UserID != user || found[0].Item != name {
						s.Errorf("%s: got %+v, want %+v", how, found, order)
					}
					way.wants(s.table("orders", user))
				}
				for how, find := range map[string]*gorm.DB{
					"by id":           way.db.Where("id = ?", int64(invoice.ID)),
					"by sharding key": way.db.Where("user_id = ? AND item = ?", invoice.UserID, name),
				} {
					var found Invoice
					s.must(find.Take(&found))
					if found != invoice {
						s.Errorf("%s: got %+v, want %+v", how, found, invoice)
					}
					way.wants(s.table("invoices", user))
				}
			}
		}
	})
}

// TestKeysOfTheTable has keys made by the generator that is told the table.
func TestKeysOfTheTable(t *testing.T) {
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(10), idgen.Shard.Bits(2))
	if err != nil {
		t.Fatal(err)
	}
	eachShop(t, func(s *shop) {
		tables, err := shard.NewTables(layout, 4, int64(0))
		if err != nil {
			s.Fatal(err)
		}
		for _, suffix := range tables.Suffixes() {
			s.must(s.plain.Exec("CREATE TABLE parcels" + suffix + " (id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT NOT NULL, item VARCHAR(20) NOT NULL)"))
		}
		ids, err := idgen.New(layout, idgen.WithNode(1), idgen.WithShards())
		if err != nil {
			s.Fatal(err)
		}
		next, err := tables.Generator(s.Context(), ids, func(err error) { s.Error(err) })
		if err != nil {
			s.Fatal(err)
		}
		db, _ := s.open()
		s.use(db, sharding.Register(config(tables, next), "parcels"))
		for _, user := range users {
			s.must(db.Create(&Parcel{UserID: user, Item: "a"}))
			want, err := tables.Suffix(user)
			if err != nil {
				s.Fatal(err)
			}
			var parcel, byID Parcel
			s.must(db.Where("user_id = ?", user).Take(&parcel))
			if got := tables.SuffixOfID(parcel.ID); got != want {
				s.Errorf("the id %d of user %d leads to %s, want %s", parcel.ID, user, got, want)
			}
			s.must(db.Where("id = ?", parcel.ID).Take(&byID))
			if byID != parcel {
				s.Errorf("by the id: got %+v, want %+v", byID, parcel)
			}
		}
	})
}

// TestGrants has the node numbers of two processes granted by the database with the sharded tables.
func TestGrants(t *testing.T) {
	eachShop(t, func(s *shop) {
		nodes, seen := map[int64]bool{}, map[int64]bool{}
		for i := range 2 {
			db, _ := s.open()
			plugin := gormplugin.New(gormplugin.Grants(grant.Config{Generator: []idgen.Option{idgen.Sharded, idgen.WithShards()}}))
			s.use(db, plugin, s.sharding(s.tables))
			s.Cleanup(func() {
				if err := plugin.Close(); err != nil {
					s.Error(err)
				}
			})
			for _, user := range everybody {
				o := Order{UserID: user, Item: fmt.Sprint("process ", i)}
				s.must(db.Create(&o))
				parts, err := idgen.Sharded.Decode(o.ID)
				if err != nil {
					s.Fatal(err)
				}
				nodes[parts.Node], seen[o.ID] = true, true
				s.same("the order is in", s.where("orders", o.ID), []string{s.table("orders", user)})
			}
		}
		if len(nodes) != 2 || len(seen) != 2*len(everybody) {
			s.Errorf("got the nodes %v and %d ids, want two nodes and %d ids", nodes, len(seen), 2*len(everybody))
		}
	})
}

// TestDisagree: an id that is set already and is not of its row's sharding key is refused before the row is in a table where its id does not lead.
func TestDisagree(t *testing.T) {
	eachShop(t, func(s *shop) {
		o := s.order(ann, "a")
		s.ran.reset()
		err := s.db.Create(&Order{ID: o.ID + 1<<10, UserID: bob, Item: "b"}).Error
		s.fails("an id of another bucket", err, shard.ErrDisagree)
		s.same("statements that ran", s.ran.reset(), nil)
		s.must(s.db.Create(&Order{ID: o.ID + 1<<10, UserID: ann, Item: "b"}))
	})
}
