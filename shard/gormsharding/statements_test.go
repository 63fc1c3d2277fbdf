package gormsharding_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/sharding"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// fails wants an error, of any kind when want is nil.
func (s *shop) fails(what string, got, want error) {
	s.Helper()
	if got == nil || want != nil && !errors.Is(got, want) {
		s.Errorf("%s: got the error %v, want %v", what, got, want)
	}
}

// goesToNoTable wants the error of the database for a table without a suffix, to which gorm.io/sharding sends what its parser does not read.
func (s *shop) goesToNoTable(what string, got error) {
	s.Helper()
	sign := map[string]string{"sqlite": "no such table", "mysql": "Error 1146", "postgres": "SQLSTATE 42P01"}[s.kind]
	if got == nil || !strings.Contains(got.Error(), sign) {
		s.Errorf("%s: got the error %v, want one with %q", what, got, sign)
	}
}

// byTable groups rows by the table of their sharding key, since gorm.io/sharding takes a batch of one table.
func byTable[T any](tables *shard.Tables, rows []T, key func(T) any) (map[string][]T, error) {
	groups := map[string][]T{}
	for _, row := range rows {
		suffix, err := tables.Suffix(key(row))
		if err != nil {
			return nil, err
		}
		groups[suffix] = append(groups[suffix], row)
	}
	return groups, nil
}

// TestBatch: a batch over several tables is refused as a whole. Grouped by table, and in one transaction, it is created.
func TestBatch(t *testing.T) {
	eachShop(t, func(s *shop) {
		batch := func() (orders []*Order) {
			for i := range 20 {
				orders = append(orders, &Order{UserID: everybody[i%len(everybody)], Item: string(rune('a' + i))})
			}
			return orders
		}
		orders := batch()
		s.fails("a batch over tables", s.db.Create(&orders).Error, sharding.ErrInsertDiffSuffix)
		if n := count(s, ""); n != 0 {
			s.Errorf("%d rows of a batch that was refused", n)
		}

		orders = batch()
		groups, err := byTable(s.tables, orders, func(o *Order) any { return o.UserID })
		if err != nil {
			s.Fatal(err)
		}
		err = s.db.Transaction(func(tx *gorm.DB) error {
			for _, group := range groups {
				if err := tx.Create(&group).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			s.Fatal(err)
		}
		for _, o := range orders {
			s.same("the order is in", s.where("orders", o.ID), []string{s.table("orders", o.UserID)})
		}
		s.must(s.db.CreateInBatches([]Order{{UserID: ann, Item: "x"}, {UserID: erin, Item: "x"}, {UserID: ann, Item: "y"}}, 2)) // of one table
		if n := count(s, ""); n != 23 {
			s.Errorf("%d rows, want 23", n)
		}
	})
}

// count adds up the rows of all tables, by a loop in the application: no statement reads more than one.
func count(s *shop, condition string, args ...any) (n int64) {
	s.Helper()
	for _, suffix := range s.tables.Suffixes() {
		var of int64
		query := s.db.Table("orders" + suffix)
		if condition != "" {
			query = query.Where(condition, args...)
		}
		s.must(query.Count(&of))
		n += of
	}
	return n
}

// TestAggregate: a sum over all tables is a loop over the suffixes. One without a sharding key is refused, instead of being that of one table.
func TestAggregate(t *testing.T) {
	eachShop(t, func(s *shop) {
		for i, user := range everybody {
			s.order(user, string(rune('a'+i)))
			s.order(user, "same")
		}
		if n := count(s, ""); n != 10 {
			s.Errorf("%d orders, want 10", n)
		}
		if n := count(s, "item = ?", "same"); n != 5 {
			s.Errorf("%d of the same item, want 5", n)
		}
		var n int64
		s.fails("a count without a sharding key", s.db.Model(&Order{}).Where("item = ?", "same").Count(&n).Error, sharding.ErrMissingShardingKey)
		s.ran.reset()
		s.must(s.db.Model(&Order{}).Where("user_id = ?", ann).Count(&n))
		s.wants("orders_01")
		if n != 2 {
			s.Errorf("%d orders of a user, want 2", n)
		}
	})
}

// TestFind reads by each way of GORM that has the id or the sharding key with =.
func TestFind(t *testing.T) {
	eachShop(t, func(s *shop) {
		one, two := s.order(bob, "b"), s.order(bob, "c")
		s.order(ann, "a")
		for name, test := range map[string]struct {
			find func(orders *[]Order) *gorm.DB
			want []string
		}{
			"Find(&orders, id)":        {func(o *[]Order) *gorm.DB { return s.db.Find(o, one.ID) }, []string{"b"}},
			"Where struct":             {func(o *[]Order) *gorm.DB { return s.db.Where(&Order{UserID: bob}).Find(o) }, []string{"b", "c"}},
			"Where map":                {func(o *[]Order) *gorm.DB { return s.db.Where(map[string]any{"user_id": bob}).Find(o) }, []string{"b", "c"}},
			"id and sharding key":      {func(o *[]Order) *gorm.DB { return s.db.Where("id = ? AND user_id = ?", two.ID, bob).Find(o) }, []string{"c"}},
			"text of the sharding key": {func(o *[]Order) *gorm.DB { return s.db.Where("user_id = 2").Find(o) }, []string{"b", "c"}},
			"order, limit and offset": {func(o *[]Order) *gorm.DB {
				return s.db.Where("user_id = ?", bob).Order("id DESC").Limit(1).Offset(1).Find(o)
			}, []string{"b"}},
			"ids after the last page": {func(o *[]Order) *gorm.DB {
				return s.db.Where("user_id = ?", bob).Scopes(gormplugin.After(one.ID)).Limit(9).Find(o)
			}, []string{"c"}},
			"gormplugin.OfShardingKey": {func(o *[]Order) *gorm.DB { return s.db.Scopes(gormplugin.OfShardingKey(int64(bob))).Find(o) }, []string{"b", "c"}},
			"IN on another column": {func(o *[]Order) *gorm.DB {
				return s.db.Where("user_id = ? AND item IN ?", bob, []string{"a", "c"}).Find(o)
			}, []string{"c"}},
			"a sharding key of other table": {func(o *[]Order) *gorm.DB { return s.db.Where("id = ? AND user_id = ?", one.ID, ann).Find(o) }, nil},
		} {
			s.ran.reset()
			var orders []Order
			s.must(test.find(&orders))
			s.same(name, items(orders), test.want)
			if test.want != nil {
				s.wants("orders_02")
			}
		}
		s.ran.reset()
		var first Order
		s.must(s.db.First(&first, two.ID))
		s.wants("orders_02")
		if first.ID != two.ID {
			s.Errorf("got %+v, want %+v", first, two)
		}
	})
}

// TestFirstOrCreate finds a row by its sharding key, or creates it there.
func TestFirstOrCreate(t *testing.T) {
	eachShop(t, func(s *shop) {
		var ids []int64
		for range 2 {
			var o Order
			s.must(s.db.Where(Order{UserID: bob, Item: "b"}).FirstOrCreate(&o))
			s.same("the order is in", s.where("orders", o.ID), []string{"orders_02"})
			ids = append(ids, o.ID)
		}
		if ids[0] != ids[1] {
			s.Errorf("got the ids %d, want one", ids)
		}
	})
}

// TestMaps creates rows of maps with a model.
func TestMaps(t *testing.T) {
	eachShop(t, func(s *shop) {
		rows := []map[string]any{{"user_id": int64(bob), "item": "b"}, {"user_id": int64(bob), "item": "c"}}
		s.must(s.db.Model(&Order{}).Create(rows))
		for _, row := range rows {
			id, ok := row["id"].(int64)
			if !ok {
				s.Fatalf("got %v, want an id", row)
			}
			s.same("the order is in", s.where("orders", id), []string{"orders_02"})
		}
	})
}

// TestWrite changes and deletes rows by their id alone.
func TestWrite(t *testing.T) {
	eachShop(t, func(s *shop) {
		o, other := s.order(bob, "b"), s.order(ann, "a")
		for name, write := range map[string]func() *gorm.DB{
			"Update":       func() *gorm.DB { return s.db.Model(&o).Update("item", "update") },
			"Updates":      func() *gorm.DB { return s.db.Model(&Order{}).Where("id = ?", o.ID).Updates(Order{Item: "updates"}) },
			"UpdateColumn": func() *gorm.DB { return s.db.Model(&Order{ID: o.ID}).UpdateColumn("item", "column") },
			"Save":         func() *gorm.DB { o.Item = "save"; return s.db.Save(&o) },
		} {
			if result := write(); result.Error != nil || result.RowsAffected != 1 {
				s.Errorf("%s: %d rows, %v", name, result.RowsAffected, result.Error)
			}
		}
		if result := s.db.Delete(&o); result.Error != nil || result.RowsAffected != 1 {
			s.Errorf("Delete: %d rows, %v", result.RowsAffected, result.Error)
		}
		s.same("after Delete the order is in", s.where("orders", o.ID), nil)
		s.same("the order of another user is in", s.where("orders", other.ID), []string{"orders_01"})
	})
}

// TestIssue201TimeRange reads rows by the time in their ids: in one table by the sharding key, and in all tables by a loop.
func TestIssue201TimeRange(t *testing.T) {
	eachShop(t, func(s *shop) {
		now := time.Now()
		made := func(user int64, item string, ago time.Duration) {
			bucket, err := shard.Bucket(idgen.Sharded.Layout, user)
			if err != nil {
				s.Fatal(err)
			}
			id, err := idgen.Sharded.Compose(idgen.Parts{Time: now.Add(-ago), Node: 9, Shard: bucket})
			if err != nil {
				s.Fatal(err)
			}
			s.must(s.db.Create(&Order{ID: id, UserID: user, Item: item}))
		}
		for _, user := range everybody {
			made(user, "old", 48*time.Hour)
			made(user, "yesterday", 24*time.Hour)
			s.order(user, "today")
		}
		from, to := now.Add(-25*time.Hour), now.Add(-23*time.Hour)
		yesterday := gormplugin.CreatedBetween(from, to)
		s.ran.reset()
		for name, find := range map[string]*gorm.DB{
			"CreatedBetween":        s.db.Where("user_id = ?", ann).Scopes(yesterday),
			"OfShardingKeyBetween":  s.db.Scopes(gormplugin.OfShardingKeyBetween(int64(ann), from, to)),
			"CreatedBetween, named": s.db.Scopes(at(s.tables, "orders", ann), yesterday).Where("user_id = ?", ann),
		} {
			var orders []Order
			if err := find.Find(&orders).Error; err != nil || len(orders) != 1 || orders[0].UserID != ann || orders[0].Item != "yesterday" {
				s.Errorf("%s: got %+v (%v), want that of yesterday", name, orders, err)
			}
			s.wants("orders_01")
		}
		s.fails("without a sharding key", s.db.Scopes(yesterday).Find(new([]Order)).Error, sharding.ErrMissingShardingKey)

		var all []Order
		for _, suffix := range s.tables.Suffixes() {
			var of []Order
			s.must(s.db.Table("orders" + suffix).Scopes(yesterday).Find(&of))
			all = append(all, of...)
		}
		slices.SortFunc(all, func(a, b Order) int { return int(a.ID - b.ID) })
		if got := items(all); len(got) != len(everybody) || slices.Compact(got)[0] != "yesterday" {
			s.Errorf("in all tables: got %q", got)
		}
	})
}

// TestIssue173Upsert meets a row over another unique index than the key's, and has the id that the row has. gorm.io/sharding does not read MySQL's ON
// DUPLICATE KEY: there the statement names the table.
func TestIssue173Upsert(t *testing.T) {
	eachShop(t, func(s *shop) {
		o := s.order(ann, "a")
		again := func(db *gorm.DB) (Order, error) {
			o := Order{UserID: ann, Item: "a"}
			return o, db.Clauses(clause.OnConflict{
				Columns: []clause.Column{{Name: "user_id"}, {Name: "item"}}, DoUpdates: clause.AssignmentColumns([]string{"item"}),
			}).Create(&o).Error
		}
		got, err := again(s.db)
		if s.kind == "mysql" {
			s.goesToNoTable("ON DUPLICATE KEY", err)
		} else if err != nil || got.ID != o.ID {
			s.Errorf("got the id %d (%v), want %d", got.ID, err, o.ID)
		}
		if got, err = again(s.db.Scopes(at(s.tables, "orders", ann))); err != nil || got.ID != o.ID {
			s.Errorf("named: got the id %d (%v), want %d", got.ID, err, o.ID)
		}
		if got, err = again(s.db.Table(s.table("orders", ann))); err != nil || got.ID != o.ID {
			s.Errorf("Table: got the id %d (%v), want %d", got.ID, err, o.ID)
		}
		if n := count(s, ""); n != 1 {
			s.Errorf("%d orders, want 1", n)
		}
	})
}

// TestAssociation: the lines of an order have its sharding key, so they are in the table with the same suffix. GORM saves them with an ON CONFLICT
// clause, which gorm.io/sharding reads on PostgreSQL and SQLite. On MySQL the lines are created by themselves, in a transaction with the order.
func TestAssociation(t *testing.T) {
	eachShop(t, func(s *shop) {
		order := Order{UserID: ann, Item: "a", Lines: []Line{{UserID: ann, Text: "x"}, {UserID: ann, Text: "y"}}}
		err := s.db.Create(&order).Error
		if s.kind == "mysql" {
			s.goesToNoTable("ON DUPLICATE KEY", err)
			order = Order{UserID: ann, Item: "b", Lines: []Line{{UserID: ann, Text: "x"}, {UserID: ann, Text: "y"}}}
			err = s.db.Transaction(func(tx *gorm.DB) error {
				if err := tx.Omit(clause.Associations).Create(&order).Error; err != nil {
					return err
				}
				for i := range order.Lines {
					order.Lines[i].OrderID = order.ID
				}
				return tx.Create(&order.Lines).Error
			})
		}
		if err != nil {
			s.Fatal(err)
		}
		for _, line := range order.Lines {
			if line.OrderID != order.ID {
				s.Errorf("got %+v, want a line of %d", line, order.ID)
			}
			s.same("the line is in", s.where("lines", line.ID), []string{"lines_01"})
		}
	})
}

// TestTransaction: several tables are written in one transaction, all or none.
func TestTransaction(t *testing.T) {
	eachShop(t, func(s *shop) {
		undone := errors.New("undone")
		for _, want := range []error{undone, nil} {
			err := s.db.Transaction(func(tx *gorm.DB) error {
				for _, user := range everybody {
					if err := tx.Create(&Order{UserID: user, Item: "a"}).Error; err != nil {
						return err
					}
				}
				var own []Order
				if err := tx.Where("user_id = ?", bob).Find(&own).Error; err != nil || len(own) != 1 {
					s.Errorf("within the transaction: got %+v (%v), want its order", own, err)
				}
				return want
			})
			if !errors.Is(err, want) {
				s.Fatal(err)
			}
			rows := int64(len(everybody))
			if want != nil {
				rows = 0
			}
			if n := count(s, ""); n != rows {
				s.Errorf("%d orders after a transaction with the error %v, want %d", n, want, rows)
			}
		}
	})
}
