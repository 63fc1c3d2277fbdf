package gormsharding_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/sharding"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// users are sharding keys, without the zero, which stands for none.
var users = func() (users []int64) {
	for u := int64(-20); u <= 40; u++ {
		if u != 0 {
			users = append(users, u)
		}
	}
	return users
}()

// in returns the suffixes of the tables that have a row of an id, asked around gorm.io/sharding.
func in(t *testing.T, plain *gorm.DB, name string, a *shard.Algorithm, id int64) (suffixes []string) {
	t.Helper()
	for _, suffix := range a.Suffixes() {
		var n int64
		if err := plain.Table(name+suffix).Where("id = ?", id).Count(&n).Error; err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			suffixes = append(suffixes, suffix)
		}
	}
	return suffixes
}

// TestKeysOfThePlugin has keys made by snowkey's plugin: rows are where the map has their sharding key, and found by it and by their id.
func TestKeysOfThePlugin(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		plain := open()
		m, a := newMap(t, idgen.Sharded.Layout)
		tables(t, plain, "orders", a)
		tables(t, plain, "invoices", a)
		for _, before := range []bool{true, false} {
			db := open()
			use(t, db, m, a, before)
			for _, user := range users {
				order, invoice := Order{UserID: user, Item: fmt.Sprint(before)}, Invoice{UserID: sqltype.ID(user), Item: fmt.Sprint(before)}
				if err := db.Create(&order).Error; err != nil {
					t.Fatal(err)
				}
				if err := db.Create(&invoice).Error; err != nil {
					t.Fatal(err)
				}
				want, err := a.Suffix(user)
				if err != nil {
					t.Fatal(err)
				}
				if got := in(t, plain, "orders", a, order.ID); !slices.Equal(got, []string{want}) {
					t.Errorf("the order of user %d is in %v, want %s", user, got, want)
				}
				if got := in(t, plain, "invoices", a, int64(invoice.ID)); !slices.Equal(got, []string{want}) {
					t.Errorf("the invoice of user %d is in %v, want %s", user, got, want)
				}

				var byID, byKey Order
				if err := db.Where("id = ?", order.ID).Take(&byID).Error; err != nil || byID != order {
					t.Errorf("by the id: got %+v (%v), want %+v", byID, err, order)
				}
				if err := db.Where("user_id = ? AND item = ?", user, order.Item).Take(&byKey).Error; err != nil || byKey != order {
					t.Errorf("by the sharding key: got %+v (%v), want %+v", byKey, err, order)
				}
				var invoiceByID, invoiceByKey Invoice
				if err := db.Where("id = ?", int64(invoice.ID)).Take(&invoiceByID).Error; err != nil || invoiceByID != invoice {
					t.Errorf("by the id: got %+v (%v), want %+v", invoiceByID, err, invoice)
				}
				if err := db.Where("user_id = ? AND item = ?", invoice.UserID, invoice.Item).Take(&invoiceByKey).Error; err != nil || invoiceByKey != invoice {
					t.Errorf("by the sharding key: got %+v (%v), want %+v", invoiceByKey, err, invoice)
				}
			}
		}
	})
}

// TestKeysOfTheTable has keys made by the generator that is told the table.
func TestKeysOfTheTable(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		plain, db := open(), open()
		_, a := newMap(t, narrow(t))
		tables(t, plain, "parcels", a)
		ids, err := idgen.New(narrow(t), idgen.WithNode(1), idgen.WithShards())
		if err != nil {
			t.Fatal(err)
		}
		next, err := a.Generator(context.Background(), ids, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Use(sharding.Register(config(a, next), "parcels")); err != nil {
			t.Fatal(err)
		}
		for _, user := range users {
			if err := db.Create(&Parcel{UserID: user, Item: "a"}).Error; err != nil {
				t.Fatal(err)
			}
			want, err := a.Suffix(user)
			if err != nil {
				t.Fatal(err)
			}
			var parcel, byID Parcel
			if err := db.Where("user_id = ?", user).Take(&parcel).Error; err != nil {
				t.Fatal(err)
			}
			if got := a.SuffixOfID(parcel.ID); got != want {
				t.Errorf("the id %d of user %d leads to %s, want %s", parcel.ID, user, got, want)
			}
			if err := db.Where("id = ?", parcel.ID).Take(&byID).Error; err != nil || byID != parcel {
				t.Errorf("by the id: got %+v (%v), want %+v", byID, err, parcel)
			}
		}
	})
}

// TestWatch sees what the comment of Algorithm says of gorm.io/sharding.
func TestWatch(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		plain, db := open(), open()
		m, a := newMap(t, idgen.Sharded.Layout)
		tables(t, plain, "orders", a)
		use(t, db, m, a, true)
		one, other := Order{UserID: 1, Item: "of 1"}, Order{UserID: 2, Item: "of 2"}
		for _, o := range []*Order{&one, &other} {
			if err := db.Create(o).Error; err != nil {
				t.Fatal(err)
			}
		}
		if a.SuffixOfID(one.ID) == a.SuffixOfID(other.ID) {
			t.Fatal("both users are in one table, which shows nothing")
		}
		fails := func(what string, got, want error) {
			t.Helper()
			if got == nil || want != nil && !errors.Is(got, want) {
				t.Errorf("%s: got the error %v, want %v", what, got, want)
			}
		}

		fails("a batch over tables", db.Create(&[]Order{{UserID: 1}, {UserID: 2}}).Error, sharding.ErrInsertDiffSuffix)
		if err := db.Create(&[]Order{{UserID: 1, Item: "batch"}, {UserID: 1, Item: "batch"}}).Error; err != nil {
			t.Errorf("a batch of one user: %v", err)
		}
		fails("IN", db.Where("user_id IN ?", []int64{1, 2}).Find(new([]Order)).Error, sharding.ErrMissingShardingKey)
		fails("a range", db.Where("user_id > ?", 0).Find(new([]Order)).Error, sharding.ErrMissingShardingKey)
		fails("First(&order, id), whose column is qualified", db.First(new(Order), one.ID).Error, sharding.ErrMissingShardingKey)
		fails("Delete(&order), whose column is qualified", db.Delete(&one).Error, sharding.ErrMissingShardingKey)
		fails("an id that is no int64", db.Where("id = ?", sqltype.ID(one.ID)).Take(new(Order)).Error, nil)
		fails("a join", db.Joins("JOIN orders AS o ON o.id = orders.id").Where("user_id = ?", 1).Find(new([]Order)).Error, nil)

		var either, both []Order
		if err := db.Where("user_id = ? OR user_id = ?", 1, 2).Find(&either).Error; err != nil {
			t.Error(err)
		}
		for _, o := range either {
			if o.UserID != either[0].UserID {
				t.Errorf("OR read the tables of both: %+v", either)
			}
		}
		if err := db.Where("user_id = ? AND id = ?", 1, other.ID).Find(&both).Error; err != nil || len(both) != 0 {
			t.Errorf("a sharding key and the id of another: got %+v (%v), want nothing", both, err)
		}
		if err := db.Model(&Order{}).Where("id = ?", one.ID).Update("user_id", 2).Error; err != nil {
			t.Error(err)
		}
		if got := in(t, plain, "orders", a, one.ID); !slices.Equal(got, []string{a.SuffixOfID(one.ID)}) {
			t.Errorf("with another sharding key the row is in %v, want it where it was", got)
		}
	})
}
