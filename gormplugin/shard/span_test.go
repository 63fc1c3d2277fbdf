package shard_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// tables returns how many tables some ids are in.
func (s *shop) tables(ids []sqltype.ID) int {
	in := map[string]bool{}
	for _, id := range ids {
		in[s.table(id)] = true
	}
	return len(in)
}

func (s *shop) ids() (ids []sqltype.ID) {
	for _, o := range s.orders {
		ids = append(ids, o.ID)
	}
	slices.Sort(ids)
	return ids
}

func idsOfOrders(rows []Order) (ids []sqltype.ID) {
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

func TestSeveralTables(t *testing.T) {
	onShop(t, func(t *testing.T, s *shop) {
		all := s.ids()
		some := slices.Sorted(slices.Values(all[5:12]))
		backwards := slices.Clone(all)
		var numbers []int64
		for _, id := range some {
			numbers = append(numbers, id.Int64())
		}
		slices.Reverse(backwards)
		var rows []Order
		fresh := func() *gorm.DB { return s.DB.Session(&gorm.Session{NewDB: true}) }
		for name, tt := range map[string]struct {
			find    func(db *gorm.DB) error
			want    []sqltype.ID
			queries int
		}{
			"all":           {func(db *gorm.DB) error { return db.Scopes(shard.All()).Find(&rows).Error }, all, 8},
			"ids":           {func(db *gorm.DB) error { return db.Scopes(shard.ByIDs(some)).Find(&rows).Error }, some, s.tables(some)},
			"ids of a find": {func(db *gorm.DB) error { return db.Find(&rows, some).Error }, some, s.tables(some)},
			"no ids":        {func(db *gorm.DB) error { return db.Scopes(shard.ByIDs()).Find(&rows).Error }, nil, 1},
			"keys":          {func(db *gorm.DB) error { return db.Scopes(shard.ByKeys(s.users()...)).Find(&rows).Error }, all, s.tables(all)},
			"a list of keys": {func(db *gorm.DB) error {
				return db.Where("user_id", []int64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109}).Find(&rows).Error
			}, all, s.tables(all)},
			"a map of keys": {func(db *gorm.DB) error {
				return db.Where(map[string]any{"user_id": []int64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109}}).Find(&rows).Error
			}, all, s.tables(all)},
			"ids and keys": {func(db *gorm.DB) error {
				return db.Scopes(shard.ByKeys(s.users()...), shard.ByIDs(some)).Find(&rows).Error
			}, some, s.tables(some)},
			"keys, SQL and ids": { // conditions that are written in another order
				func(db *gorm.DB) error {
					return db.Where("user_id", []int64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109}).Where("amount >= 0").Scopes(shard.ByIDs(some)).Find(&rows).Error
				}, some, s.tables(some)},
			"ordered":   {func(db *gorm.DB) error { return db.Scopes(shard.All()).Order("id").Find(&rows).Error }, all, 8},
			"backwards": {func(db *gorm.DB) error { return db.Scopes(shard.All()).Order("id DESC").Find(&rows).Error }, backwards, 8},
			"a page": {func(db *gorm.DB) error {
				return db.Scopes(shard.All()).Order("id").Limit(7).Offset(3).Find(&rows).Error
			}, all[3:10], 8},
			"the rest": {func(db *gorm.DB) error { return db.Scopes(shard.All()).Order("id").Offset(30).Find(&rows).Error }, all[30:], 8},
			"past the end": {func(db *gorm.DB) error {
				return db.Scopes(shard.All()).Order("id").Limit(7).Offset(300).Find(&rows).Error
			}, nil, 8},
			"an Or": {func(db *gorm.DB) error {
				return db.Where("amount < 0").Or("amount >= 0").Scopes(shard.ByIDs(some)).Find(&rows).Error
			}, some, s.tables(some)},
			"an Or of the scope": {func(db *gorm.DB) error { return shard.ByIDs(some)(db).Or("amount >= 0").Find(&rows).Error }, some, s.tables(some)},
			"an Or of lines":     {func(db *gorm.DB) error { return db.Where("id", numbers).Where("amount < 0\nOR 1=1").Find(&rows).Error }, some, s.tables(some)},
			"an Or in a group": {func(db *gorm.DB) error {
				return db.Where("id", numbers).Where(fresh().Or("amount < 0\nOR 1=1")).Find(&rows).Error
			}, some, s.tables(some)},
			"an Or in the ids' group": {func(db *gorm.DB) error {
				return db.Where(fresh().Where("id", numbers).Where("amount < 0\nOR 1=1")).Find(&rows).Error
			}, some, s.tables(some)},
			"an Or in a value": {func(db *gorm.DB) error {
				return db.Where("id", numbers).Where("amount", gorm.Expr("-1 OR 1=1")).Find(&rows).Error
			}, some, s.tables(some)},
			"an Or in a column": {func(db *gorm.DB) error {
				return db.Where("id", numbers).Where(clause.Eq{Column: clause.Column{Name: "amount >= 0 OR 1", Raw: true}, Value: 1}).Find(&rows).Error
			}, some, s.tables(some)},
			"omitted": {func(db *gorm.DB) error {
				err := db.Omit("orders.id").Scopes(shard.All()).Order("id").Limit(3).Find(&rows).Error
				if rows = nil; !errors.Is(err, shard.ErrSpan) {
					return fmt.Errorf("ordered by what is not read: got %w, want ErrSpan", err)
				}
				return nil
			}, nil, 0},
			"selected":   {func(db *gorm.DB) error { return db.Select("id", "item").Scopes(shard.All()).Find(&rows).Error }, all, 8},
			"a relation": {func(db *gorm.DB) error { return db.Joins("User").Scopes(shard.All()).Find(&rows).Error }, all, 8},
			"preloaded": {func(db *gorm.DB) error {
				err := db.Preload("User").Preload("Lines").Scopes(shard.All()).Find(&rows).Error
				for _, row := range rows {
					if row.User == nil || row.User.ID != row.UserID || row.found != 1 {
						return fmt.Errorf("%+v", row)
					}
				}
				return err
			}, all, 10},
			"pointers": {func(db *gorm.DB) error {
				var found []*Order
				err := db.Scopes(shard.All()).Find(&found).Error
				for _, o := range found {
					rows = append(rows, *o)
				}
				return err
			}, all, 8},
			"maps": {func(db *gorm.DB) error {
				var found []map[string]any
				err := db.Model(&Order{}).Scopes(shard.All()).Find(&found).Error
				for _, o := range found {
					rows = append(rows, Order{ID: sqltype.ID(o["id"].(int64))})
				}
				return err
			}, all, 8},
			"another struct": {func(db *gorm.DB) error {
				var found []struct{ ID int64 }
				err := db.Model(&Order{}).Scopes(shard.All()).Find(&found).Error
				for _, o := range found {
					rows = append(rows, Order{ID: sqltype.ID(o.ID)})
				}
				return err
			}, all, 8},
			"plucked": {func(db *gorm.DB) error {
				var found []sqltype.ID
				err := db.Model(&Order{}).Scopes(shard.All()).Order("id desc").Limit(5).Pluck("id", &found).Error
				for _, id := range found {
					rows = append(rows, Order{ID: id})
				}
				return err
			}, backwards[:5], 8},
			"plucked items": {func(db *gorm.DB) error {
				var items []string
				err := db.Model(&Order{}).Scopes(shard.All()).Pluck("Item", &items).Error
				if len(items) != 40 {
					return fmt.Errorf("%d items", len(items))
				}
				return err
			}, nil, 8},
			"in batches": {func(db *gorm.DB) error {
				var batch []Order
				return db.Scopes(shard.All()).FindInBatches(&batch, 15, func(*gorm.DB, int) error { rows = append(rows, batch...); return nil }).Error
			}, all, 24},
			"first": {func(db *gorm.DB) error { rows = make([]Order, 1); return db.Scopes(shard.All()).First(&rows[0]).Error }, all[:1], 8},
			"last":  {func(db *gorm.DB) error { rows = make([]Order, 1); return db.Scopes(shard.All()).Last(&rows[0]).Error }, backwards[:1], 8},
			"first of a map": {func(db *gorm.DB) error {
				found := map[string]any{}
				err := db.Model(&Order{}).Scopes(shard.All()).First(&found).Error
				rows = []Order{{ID: sqltype.ID(found["id"].(int64))}}
				return err
			}, all[:1], 8},
			"count": {func(db *gorm.DB) error {
				var n int64
				err := db.Model(&Order{}).Scopes(shard.All()).Order("amount").Count(&n).Error
				if n != 40 {
					return fmt.Errorf("counted %d", n)
				}
				return err
			}, nil, 8},
			"count of a column": {func(db *gorm.DB) error {
				var n int64
				err := db.Model(&Order{}).Scopes(shard.All()).Select("item").Where("amount > 1000").Count(&n).Error
				if n != 0 {
					return fmt.Errorf("counted %d", n)
				}
				return err
			}, nil, 8},
			"count and find": {func(db *gorm.DB) error {
				var n int64
				q := db.Model(&Order{}).Scopes(shard.All())
				if err := q.Count(&n).Error; err != nil || n != 40 {
					return fmt.Errorf("counted %d, %w", n, err)
				}
				return q.Order("id").Limit(2).Find(&rows).Error
			}, all[:2], 16},
			"preload of orders": {func(db *gorm.DB) error {
				var users []User
				err := db.Preload("Orders").Find(&users).Error
				for _, u := range users {
					rows = append(rows, u.Orders...)
				}
				slices.SortFunc(rows, func(a, b Order) int { return int(a.ID - b.ID) })
				return err
			}, all, 1 + s.tables(all)},
			"association": {func(db *gorm.DB) error {
				return db.Model(&User{ID: 105}).Association("Orders").Find(&rows)
			}, idsOfUser(s, 105), 1},
		} {
			rows = nil
			s.log.take()
			err := tt.find(s.DB)
			if got := s.log.take(); err != nil || !slices.Equal(idsOfOrders(rows), tt.want) || len(got) != tt.queries {
				t.Errorf("%s: got %v, rows %v by %d queries %q, want %v by %d", name, err, idsOfOrders(rows), len(got), got[:min(1, len(got))], tt.want, tt.queries)
			}
		}
		var none Order
		if err := s.Scopes(shard.All()).Where("amount < 0").First(&none).Error; !errors.Is(err, gorm.ErrRecordNotFound) {
			t.Errorf("First of none: got %v", err)
		}
	})
}

func (s *shop) users() (users []any) {
	for user := range int64(10) {
		users = append(users, user+100)
	}
	return users
}

func idsOfUser(s *shop, user int64) (ids []sqltype.ID) {
	for _, o := range s.orders {
		if o.UserID == user {
			ids = append(ids, o.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

func TestWrites(t *testing.T) {
	onShop(t, func(t *testing.T, s *shop) {
		o := s.orders[7]
		var ids []sqltype.ID
		for _, o := range s.orders[:9] {
			ids = append(ids, o.ID)
		}
		three := []Order{{ID: s.orders[0].ID}, {ID: s.orders[1].ID}, {ID: s.orders[2].ID}}
		for name, tt := range map[string]struct {
			do      func(db *gorm.DB) *gorm.DB
			rows    int64
			queries int
		}{
			"update of a row":  {func(db *gorm.DB) *gorm.DB { return db.Model(&Order{ID: o.ID}).Update("item", "x") }, 1, 1},
			"updates of a row": {func(db *gorm.DB) *gorm.DB { return db.Updates(&Order{ID: o.ID, Item: "x"}) }, 1, 1},
			"with its own key": {func(db *gorm.DB) *gorm.DB { return db.Updates(&Order{ID: o.ID, UserID: o.UserID, Item: "x"}) }, 1, 1},
			"with its own ids": {func(db *gorm.DB) *gorm.DB {
				return db.Model(&Order{ID: o.ID}).Updates(Order{ID: o.ID, UserID: o.UserID, Item: "x"})
			}, 1, 1},
			"key omitted": {func(db *gorm.DB) *gorm.DB { return db.Omit("UserID").Updates(&Order{ID: o.ID, UserID: 1, Item: "x"}) }, 1, 1},
			"by value":    {func(db *gorm.DB) *gorm.DB { return db.Updates(Order{ID: o.ID, Item: "x"}) }, 1, 1},
			"save":        {func(db *gorm.DB) *gorm.DB { o := o; o.Item = "x"; return db.Save(&o) }, 1, 1},
			"save in other words": {func(db *gorm.DB) *gorm.DB {
				return db.Model(&Order{}).Where("orders.user_id", o.UserID).Update("item", "x")
			}, 4, 1},
			"update of a key": {func(db *gorm.DB) *gorm.DB {
				return db.Model(&Order{}).Scopes(shard.ByKey(o.UserID)).Updates(map[string]any{"item": "x", "user_id": o.UserID})
			}, 4, 1},
			"update column": {func(db *gorm.DB) *gorm.DB {
				return db.Model(&Order{}).Where("id", o.ID).UpdateColumn("amount", gorm.Expr("amount + 1"))
			}, 1, 1},
			"update of ids":  {func(db *gorm.DB) *gorm.DB { return db.Model(&Order{}).Scopes(shard.ByIDs(ids)).Update("item", "x") }, 9, s.tables(ids)},
			"update of rows": {func(db *gorm.DB) *gorm.DB { return db.Model(&three).Update("item", "x") }, 3, s.tables(ids[:3])},
			"update of all": {func(db *gorm.DB) *gorm.DB {
				return db.Model(&Order{}).Scopes(shard.All()).Where("amount >= 0").Update("item", "x")
			}, 40, 8},
			"update, an Or": {func(db *gorm.DB) *gorm.DB {
				return db.Model(&Order{}).Where("amount = 1").Or("1 = 1").Scopes(shard.ByID(o.ID)).Update("item", "x")
			}, 1, 1},
			"delete of a row": {func(db *gorm.DB) *gorm.DB { return db.Delete(&Order{ID: o.ID}) }, 1, 1},
			"delete by id":    {func(db *gorm.DB) *gorm.DB { return db.Delete(&Order{}, o.ID) }, 1, 1},
			"delete of a key": {func(db *gorm.DB) *gorm.DB { return db.Scopes(shard.ByKey(o.UserID)).Delete(&Order{}) }, 4, 1},
			"delete of rows":  {func(db *gorm.DB) *gorm.DB { return db.Delete(&three) }, 3, s.tables(ids[:3])},
			"real delete":     {func(db *gorm.DB) *gorm.DB { return db.Unscoped().Delete(&Order{ID: o.ID}) }, 1, 1},
			"real delete, its table": {func(db *gorm.DB) *gorm.DB {
				return db.Unscoped().Where(clause.Eq{Column: clause.Column{Table: "orders", Name: "user_id"}, Value: o.UserID}).Delete(&Order{})
			}, 4, 1},
			"real delete of ids": {func(db *gorm.DB) *gorm.DB { return db.Unscoped().Delete(&Order{}, ids) }, 9, s.tables(ids)},
			"real delete of all": {func(db *gorm.DB) *gorm.DB {
				return db.Unscoped().Scopes(shard.All()).Where("amount >= 0").Delete(&Order{})
			}, 40, 8},
		} {
			s.undone(t, func(tx *gorm.DB) {
				s.log.take()
				done := tt.do(tx)
				if got := s.log.take(); done.Error != nil || done.RowsAffected != tt.rows || len(got) != tt.queries {
					t.Errorf("%s: got %v, %d rows by %q, want %d by %d", name, done.Error, done.RowsAffected, got, tt.rows, tt.queries)
				}
				if strings.Contains(name, "delete") || name == "update column" {
					return
				}
				var n int64
				if err := tx.Model(&Order{}).Scopes(shard.All()).Where("item = 'x'").Count(&n).Error; err != nil || n != tt.rows {
					t.Errorf("%s: got %d rows changed, %v, want %d", name, n, err, tt.rows)
				}
			})
		}
		// All of it or nothing, also without the transaction of GORM's.
		for _, skip := range []bool{false, true} {
			err := s.Session(&gorm.Session{SkipDefaultTransaction: skip}).Model(&Order{}).Scopes(shard.All()).Where("amount >= 0").
				Update("amount", gorm.Expr("CASE WHEN id = ? THEN ? ELSE amount + 1 END", s.orders[39].ID, gorm.Expr("no_such_column"))).Error
			if err == nil {
				t.Fatal("an unknown column: got no error")
			}
			var sum int
			must(t, s.Table("plains").Select("sum(amount)").Scan(&sum).Error)
			if now := s.sum(t); now != sum {
				t.Errorf("skip %v: a failed update has left %d, want %d", skip, now, sum)
			}
		}
	})
}

// sum returns that of all amounts.
func (s *shop) sum(t *testing.T) (sum int) {
	var amounts []int
	must(t, s.Model(&Order{}).Scopes(shard.All()).Pluck("amount", &amounts).Error)
	for _, n := range amounts {
		sum += n
	}
	return sum
}

// A statement over the tables gives what one over the same rows in one table does.
func TestRandomStatements(t *testing.T) {
	onShop(t, func(t *testing.T, s *shop) {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 1))
		ids := s.ids()
		for range 150 {
			var text []string
			note := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
			sharded, plain := s.DB.Session(&gorm.Session{}), s.DB.Session(&gorm.Session{})
			sharded, plain = sharded.Model(&Order{}), plain.Model(&Plain{})
			both := func(do func(db *gorm.DB) *gorm.DB) { sharded, plain = do(sharded), do(plain) }
			for range random.IntN(3) {
				n := random.IntN(40)
				kind := random.IntN(3)
				if len(text) == 0 && kind == 1 {
					kind = 0 // GORM writes an Or that comes first otherwise beside a soft deletion
				}
				switch kind {
				case 0:
					note("amount < %d", n)
					both(func(db *gorm.DB) *gorm.DB { return db.Where("amount < ?", n) })
				case 1:
					note("or amount = %d", n)
					both(func(db *gorm.DB) *gorm.DB { return db.Or("amount = ?", n) })
				case 2:
					note("amount <> %d", n)
					both(func(db *gorm.DB) *gorm.DB { return db.Not("amount", n) })
				}
			}
			switch kind := random.IntN(4); kind {
			case 0:
				note("all")
				sharded = sharded.Scopes(shard.All())
			case 1:
				var some []int64
				for range random.IntN(12) {
					some = append(some, ids[random.IntN(len(ids))].Int64())
				}
				note("ids %v", some)
				sharded = sharded.Scopes(shard.ByIDs(some))
				plain = plain.Session(&gorm.Session{NewDB: true}).Model(&Plain{}).Where(plain).Where("id IN ?", append([]int64{0}, some...))
			case 2, 3:
				var users []int64
				for range 1 + random.IntN(kind) {
					users = append(users, 100+random.Int64N(11))
				}
				note("users %v", users)
				sharded = sharded.Scopes(shard.ByKeys(users))
				plain = plain.Session(&gorm.Session{NewDB: true}).Model(&Plain{}).Where(plain).Where("user_id IN ?", users)
			}
			desc := random.IntN(2) == 0
			both(func(db *gorm.DB) *gorm.DB {
				return db.Order(clause.OrderByColumn{Column: clause.PrimaryColumn, Desc: desc})
			})
			if random.IntN(2) == 0 {
				limit, offset := 1+random.IntN(9), random.IntN(5)
				note("limit %d offset %d", limit, offset)
				both(func(db *gorm.DB) *gorm.DB { return db.Limit(limit).Offset(offset) })
			}
			var got, want []struct {
				ID     int64
				UserID int64
				Item   string
			}
			err := errors.Join(sharded.Session(&gorm.Session{}).Find(&got).Error, plain.Session(&gorm.Session{}).Find(&want).Error)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d: %s, desc %v: got %v, want %v, %v", seed, strings.Join(text, ", "), desc, got, want, err)
			}
			var counted, right int64
			both(func(db *gorm.DB) *gorm.DB { return db.Session(&gorm.Session{}).Limit(-1).Offset(-1) })
			err = errors.Join(sharded.Count(&counted).Error, plain.Count(&right).Error)
			if err != nil || counted != right {
				t.Fatalf("seed %d: %s: counted %d, want %d, %v", seed, strings.Join(text, ", "), counted, right, err)
			}
		}
	})
}

// While buckets move, and until what is left of them is removed, rows are in two tables.
func TestRowsOfMovedBuckets(t *testing.T) {
	onShop(t, func(t *testing.T, s *shop) {
		o := s.orders[7]
		from := s.table(o.ID)
		to := "orders_00"
		if from == to {
			to = "orders_01"
		}
		must(t, s.Exec(fmt.Sprintf("INSERT INTO %s SELECT * FROM %s WHERE id = ?", to, from), o.ID).Error)
		var n int64
		must(t, s.Model(&Order{}).Scopes(shard.All()).Count(&n).Error)
		var rows []Order
		must(t, s.Scopes(shard.All()).Find(&rows).Error)
		if n != 40 || len(rows) != 40 {
			t.Errorf("got %d counted and %d rows, want 40", n, len(rows))
		}
		done := s.Model(&Order{}).Scopes(shard.All()).Where("id > 0").Update("item", "x")
		if done.Error != nil || done.RowsAffected != 40 {
			t.Errorf("got %d updated, %v, want 40", done.RowsAffected, done.Error)
		}
	})
}
