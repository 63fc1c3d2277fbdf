package shard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Order is sharded, and its Lines are by its user.
type Order struct {
	ID        sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID    int64
	Item      string
	Amount    int
	User      *User
	Lines     []Line `gorm:"foreignKey:OrderID"`
	DeletedAt gorm.DeletedAt
	found     int
}

// AfterFind counts.
func (o *Order) AfterFind(*gorm.DB) error {
	o.found++
	return nil
}

// Plain is an order in one table.
type Plain struct {
	ID        sqltype.ID
	UserID    int64
	Item      string
	Amount    int
	DeletedAt gorm.DeletedAt
}

// User is not sharded.
type User struct {
	ID     int64 `gorm:"autoIncrement:false"`
	Name   string
	Orders []Order
}

// Line is not sharded.
type Line struct {
	ID      sqltype.ID
	OrderID sqltype.ID
	Text    string
}

// recorder notes the statements of a database.
type recorder struct {
	logger.Interface
	mu  sync.Mutex
	sql []string
}

func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }

func (r *recorder) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	text, _ := fc()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sql = append(r.sql, text)
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.sql
	r.sql = nil
	return taken
}

// shop is a database with 40 orders of 10 users over 8 tables, and the same ones in one table.
type shop struct {
	*gorm.DB
	log    *recorder
	router *shard.Router
	orders []Order
}

func newShop(t *testing.T, open func() *gorm.DB) *shop {
	t.Helper()
	s := &shop{DB: open(), log: &recorder{Interface: logger.Discard}}
	s.DB.Logger = s.log
	s.router = use(t, s.DB, shard.Config{Shards: idshard.Tables(8)})
	must(t, s.router.AutoMigrate(s.DB, &User{}, &Order{}, &Plain{}, &Line{}))
	for i := range 40 {
		s.orders = append(s.orders, Order{UserID: int64(i % 10), Item: fmt.Sprintf("item %d", i), Amount: i * 7 % 40})
	}
	for user := range int64(10) {
		must(t, s.Create(&User{ID: user + 100, Name: fmt.Sprint("user ", user)}).Error)
	}
	for i := range s.orders {
		s.orders[i].UserID += 100
	}
	must(t, s.Omit(clause.Associations).Create(&s.orders).Error)
	var plain []Plain
	for _, o := range s.orders {
		plain = append(plain, Plain{ID: o.ID, UserID: o.UserID, Item: o.Item, Amount: o.Amount})
	}
	must(t, s.Create(&plain).Error)
	s.log.take()
	return s
}

func (s *shop) table(id sqltype.ID) string {
	i, err := s.router.Map().OfID(id.Int64())
	if err != nil {
		return err.Error()
	}
	return s.router.Map().Shard(i).Table("orders")
}

// onShop runs a test in a shop on each kind of database.
func onShop(t *testing.T, test func(t *testing.T, s *shop)) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) { test(t, newShop(t, open)) })
}

// inShop rolls back what a function does.
func (s *shop) undone(t *testing.T, do func(tx *gorm.DB)) {
	t.Helper()
	rollback := errors.New("rollback")
	if err := s.Transaction(func(tx *gorm.DB) error { do(tx); return rollback }); !errors.Is(err, rollback) {
		t.Error(err)
	}
	s.log.take()
}

func TestOneTableOneQuery(t *testing.T) {
	onShop(t, func(t *testing.T, s *shop) {
		o := s.orders[7]
		id, user := o.ID, o.UserID
		pointer := &user
		var row Order
		var rows []Order
		var n int64
		var items []string
		type named uint64
		for name, query := range map[string]func(db *gorm.DB) error{
			"scope by id":          func(db *gorm.DB) error { return db.Scopes(shard.ByID(id)).First(&row).Error },
			"scope by int64":       func(db *gorm.DB) error { return db.Scopes(shard.ByID(id.Int64())).First(&row).Error },
			"scope by pointer":     func(db *gorm.DB) error { return db.Scopes(shard.ByID(&id)).First(&row).Error },
			"scope by named":       func(db *gorm.DB) error { return db.Scopes(shard.ByID(named(id))).First(&row).Error },
			"scope by key":         func(db *gorm.DB) error { return db.Scopes(shard.ByKey(user)).Find(&rows).Error },
			"scope by text key":    func(db *gorm.DB) error { return db.Scopes(shard.ByKey(fmt.Sprint(user))).Find(&rows).Error },
			"scope by pointer key": func(db *gorm.DB) error { return db.Scopes(shard.ByKey(&pointer)).Find(&rows).Error },
			"scope called":         func(db *gorm.DB) error { return shard.ByKey(user)(db).Find(&rows).Error },
			"both scopes":          func(db *gorm.DB) error { return db.Scopes(shard.ByKey(user), shard.ByID(id)).Take(&row).Error },
			"ids of one":           func(db *gorm.DB) error { return db.Scopes(shard.ByIDs([]sqltype.ID{id})).Last(&row).Error },
			"keys of one":          func(db *gorm.DB) error { return db.Scopes(shard.ByKeys(user, user)).Find(&rows).Error },
			"all and by key":       func(db *gorm.DB) error { return db.Scopes(shard.All(), shard.ByKey(user)).Find(&rows).Error },
			"first by id":          func(db *gorm.DB) error { return db.First(&row, id).Error },
			"first by number":      func(db *gorm.DB) error { return db.First(&row, id.Int64()).Error },
			"first by text":        func(db *gorm.DB) error { return db.First(&row, id.String()).Error },
			"first of a row":       func(db *gorm.DB) error { row := Order{ID: id}; return db.First(&row).Error },
			"where a struct":       func(db *gorm.DB) error { return db.Where(&Order{UserID: user}).Find(&rows).Error },
			"where a struct and SQL": func(db *gorm.DB) error {
				return db.Where("item <> ?", "x").Where(&Order{UserID: user}).Find(&rows).Error
			},
			"where a map": func(db *gorm.DB) error { return db.Where(map[string]any{"user_id": user}).Find(&rows).Error },
			"where a map of text": func(db *gorm.DB) error {
				return db.Where(map[string]string{"user_id": fmt.Sprint(user)}).Find(&rows).Error
			},
			"where a map of a float": func(db *gorm.DB) error { return db.Where(map[string]any{"user_id": float64(user)}).Find(&rows).Error },
			"where a column":         func(db *gorm.DB) error { return db.Where("user_id", user).Find(&rows).Error },
			"where its table":        func(db *gorm.DB) error { return db.Where("orders.user_id", user).Find(&rows).Error },
			"its table in SQL": func(db *gorm.DB) error {
				return db.Scopes(shard.ByKey(user)).Where("orders.user_id > 0").Find(&rows).Error
			},
			"table by its own name": func(db *gorm.DB) error { return db.Table("orders").Where("user_id", user).Find(&rows).Error },
			"a slice":               func(db *gorm.DB) error { return db.Find(&rows, []int64{id.Int64()}).Error },
			"count":                 func(db *gorm.DB) error { return db.Model(&Order{}).Scopes(shard.ByKey(user)).Count(&n).Error },
			"pluck": func(db *gorm.DB) error {
				return db.Model(&Order{}).Scopes(shard.ByKey(user)).Pluck("item", &items).Error
			},
			"scan": func(db *gorm.DB) error {
				return db.Model(&Order{}).Scopes(shard.ByKey(user)).Select("sum(amount)").Scan(&n).Error
			},
			"group": func(db *gorm.DB) error {
				return db.Model(&Order{}).Scopes(shard.ByKey(user)).Select("user_id").Group("user_id").Having("count(*) > 0").Find(&[]struct{ UserID int64 }{}).Error
			},
			"distinct": func(db *gorm.DB) error {
				return db.Model(&Order{}).Scopes(shard.ByKey(user)).Distinct("item").Order("item").Offset(1).Limit(2).Find(&rows).Error
			},
			"lock": func(db *gorm.DB) error {
				if db.Name() == "sqlite" {
					return db.First(&row, id).Error
				}
				return db.Clauses(clause.Locking{Strength: "UPDATE"}).First(&row, id).Error
			},
			"unscoped": func(db *gorm.DB) error { return db.Unscoped().Scopes(shard.ByKey(user)).Find(&rows).Error },
			"rows": func(db *gorm.DB) error {
				rows, err := db.Model(&Order{}).Scopes(shard.ByID(id)).Rows()
				if err != nil {
					return err
				}
				defer rows.Close()
				if !rows.Next() {
					return errors.New("none")
				}
				return db.ScanRows(rows, &row)
			},
			"row": func(db *gorm.DB) error {
				return db.Model(&Order{}).Select("item").Scopes(shard.ByID(id)).Row().Scan(&row.Item)
			},
			"generics": func(db *gorm.DB) error {
				got, err := gorm.G[Order](db).Scopes(gormplugin.Generic(shard.ByKey(user))).Find(t.Context())
				if len(got) != 4 {
					return fmt.Errorf("%d rows", len(got))
				}
				return err
			},
			"generics, a condition": func(db *gorm.DB) error { _, err := gorm.G[Order](db).Where("id", id).First(t.Context()); return err },
			"first or init": func(db *gorm.DB) error {
				var o Order
				err := db.Where(Order{UserID: user, Item: "none"}).FirstOrInit(&o).Error
				if o.UserID != user || o.Item != "none" {
					return fmt.Errorf("%+v", o)
				}
				return err
			},
			"relation join": func(db *gorm.DB) error {
				var o Order
				if err := db.Joins("User").Scopes(shard.ByID(id)).First(&o).Error; err != nil {
					return err
				}
				if o.User == nil || o.User.ID != user {
					return fmt.Errorf("%+v", o)
				}
				return nil
			},
			"join in SQL": func(db *gorm.DB) error {
				return db.Joins("JOIN users ON users.id = orders.user_id").Scopes(shard.ByID(id)).First(&row).Error
			},
			"subquery of another": func(db *gorm.DB) error {
				return db.Scopes(shard.ByKey(user)).Where("user_id IN (?)", db.Session(&gorm.Session{NewDB: true}).Model(&User{}).Select("id")).Find(&rows).Error
			},
			"in a subquery": func(db *gorm.DB) error {
				var users []User
				err := db.Where("id IN (?)", db.Session(&gorm.Session{NewDB: true}).Model(&Order{}).Scopes(shard.ByKey(user)).Select("user_id")).Find(&users).Error
				if len(users) != 1 {
					return fmt.Errorf("%v, %w", users, err)
				}
				return err
			},
			"with another scope": func(db *gorm.DB) error {
				return db.Scopes(shard.ByKey(user), gormplugin.After(sqltype.ID(0))).Find(&rows).Error
			},
		} {
			row, rows, items, n = Order{}, nil, nil, 0
			s.log.take()
			err := query(s.DB)
			got := s.log.take()
			if err != nil || len(got) != 1 || !strings.Contains(got[0], s.table(id)) {
				t.Errorf("%s: got %v by %q, want one of %s", name, err, got, s.table(id))
			}
			if row.ID != 0 && row.ID != id && name != "first or init" {
				t.Errorf("%s: got the row %d, want %d", name, row.ID, id)
			}
			if strings.Contains(name, "where") && len(rows) != 4 {
				t.Errorf("%s: got %d rows, want 4", name, len(rows))
			}
		}
	})
}

// refused are statements that are for no table, or for one that is not known.
func refusedStatements(s *shop) map[string]struct {
	do   func(db *gorm.DB) error
	want error
} {
	o := s.orders[7]
	id, user := o.ID, o.UserID
	other := s.orders[8]
	var row Order
	var rows []Order
	var n int64
	type refused = struct {
		do   func(db *gorm.DB) error
		want error
	}
	model := func(db *gorm.DB) *gorm.DB { return db.Model(&Order{}) }
	fresh := func(db *gorm.DB) *gorm.DB { return db.Session(&gorm.Session{NewDB: true}) }
	return map[string]refused{
		"find":      {func(db *gorm.DB) error { return db.Find(&rows).Error }, shard.ErrUnrouted},
		"first":     {func(db *gorm.DB) error { return db.First(&row).Error }, shard.ErrUnrouted},
		"SQL":       {func(db *gorm.DB) error { return db.First(&row, "id = ?", id).Error }, shard.ErrUnrouted},
		"or":        {func(db *gorm.DB) error { return db.Where("id", id).Or("amount", 1).Find(&rows).Error }, shard.ErrUnrouted},
		"or of ids": {func(db *gorm.DB) error { return db.Where("id", id).Or("id", other.ID).Find(&rows).Error }, shard.ErrUnrouted},
		"not":       {func(db *gorm.DB) error { return db.Not("id", id).Find(&rows).Error }, shard.ErrUnrouted},
		"scope in an or": {func(db *gorm.DB) error {
			return db.Where("amount = 1").Or(fresh(db).Scopes(shard.ByID(id))).Find(&rows).Error
		}, shard.ErrUnrouted},
		"group and or": {func(db *gorm.DB) error {
			return db.Where(fresh(db).Scopes(shard.ByID(id))).Or("amount = 1").Find(&rows).Error
		}, shard.ErrUnrouted},
		"a column":        {func(db *gorm.DB) error { return db.Where("user_id", clause.Column{Name: "amount"}).Find(&rows).Error }, shard.ErrUnrouted},
		"another table's": {func(db *gorm.DB) error { return db.Where("users.id", id).Find(&rows).Error }, shard.ErrUnrouted},
		"table by hand":   {func(db *gorm.DB) error { return db.Table(s.table(id)).Where("id", id).Find(&rows).Error }, shard.ErrUnrouted},
		"alias by hand":   {func(db *gorm.DB) error { return db.Table("orders AS o").Where("id", id).Find(&rows).Error }, shard.ErrUnrouted},
		"table a subquery": {func(db *gorm.DB) error {
			return db.Table("(?) AS orders", fresh(db).Model(&User{})).Where("id", id).Find(&rows).Error
		}, shard.ErrUnrouted},
		"WHERE by hand": {func(db *gorm.DB) error {
			tx := db.Unscoped().Session(&gorm.Session{AllowGlobalUpdate: true}).Scopes(shard.All())
			tx.Statement.Clauses["WHERE"] = clause.Clause{Name: "WHERE", Expression: clause.Expr{SQL: "amount < 3"}}
			return tx.Delete(&Order{}).Error
		}, shard.ErrUnrouted},
		"FROM by hand": {func(db *gorm.DB) error {
			return db.Where("id", id).Clauses(clause.From{Tables: []clause.Table{{Name: "orders_00", Alias: "orders"}}}).Find(&rows).Error
		}, shard.ErrUnrouted},
		"UPDATE by hand": {func(db *gorm.DB) error {
			return db.Unscoped().Model(&Order{ID: id}).Clauses(clause.Update{Table: clause.Table{Name: "orders_00"}}).Update("item", "x").Error
		}, shard.ErrUnrouted},
		"DELETE FROM by hand": {func(db *gorm.DB) error {
			return db.Unscoped().Clauses(clause.From{Tables: []clause.Table{{Name: "orders_00"}}}).Delete(&Order{ID: id}).Error
		}, shard.ErrUnrouted},
		"raw":            {func(db *gorm.DB) error { return db.Raw("SELECT * FROM users").Find(&rows).Error }, shard.ErrUnrouted},
		"raw, model":     {func(db *gorm.DB) error { return model(db).Raw("SELECT * FROM users").Scan(&rows).Error }, shard.ErrUnrouted},
		"raw, scope":     {func(db *gorm.DB) error { return db.Raw("SELECT * FROM users").Scopes(shard.ByID(id)).Scan(&n).Error }, shard.ErrUnrouted},
		"exec":           {func(db *gorm.DB) error { return model(db).Exec("DELETE FROM users").Error }, shard.ErrUnrouted},
		"exec, generics": {func(db *gorm.DB) error { return gorm.G[Order](db).Exec(context.Background(), "DELETE FROM users") }, shard.ErrUnrouted},
		"rows":           {func(db *gorm.DB) error { _, err := model(db).Rows(); return err }, shard.ErrUnrouted},
		"rows of all":    {func(db *gorm.DB) error { _, err := model(db).Scopes(shard.All()).Rows(); return err }, shard.ErrSpan},
		"row":            {func(db *gorm.DB) error { return model(db).Row().Scan(&n) }, shard.ErrUnrouted},
		"scan":           {func(db *gorm.DB) error { return model(db).Scan(&rows).Error }, shard.ErrUnrouted},
		"count":          {func(db *gorm.DB) error { return model(db).Count(&n).Error }, shard.ErrUnrouted},
		"pluck":          {func(db *gorm.DB) error { return model(db).Pluck("id", &[]int64{}).Error }, shard.ErrUnrouted},
		"generics":       {func(db *gorm.DB) error { _, err := gorm.G[Order](db).Find(context.Background()); return err }, shard.ErrUnrouted},
		"find in batches": {func(db *gorm.DB) error {
			return db.FindInBatches(&rows, 10, func(*gorm.DB, int) error { return nil }).Error
		}, shard.ErrUnrouted},
		"join sharded": {func(db *gorm.DB) error { return db.Joins("Orders").Find(&[]User{}).Error }, shard.ErrUnrouted},
		"subquery": {func(db *gorm.DB) error {
			return db.Where("id IN (?)", fresh(db).Model(&Order{}).Select("user_id")).Find(&[]User{}).Error
		}, shard.ErrUnrouted},
		"not in subquery": {func(db *gorm.DB) error {
			return db.Not("id IN (?)", fresh(db).Model(&Order{}).Select("user_id")).Find(&[]User{}).Error
		}, shard.ErrUnrouted},
		"subquery of all": {func(db *gorm.DB) error {
			return db.Where("id IN (?)", fresh(db).Model(&Order{}).Scopes(shard.All()).Select("user_id")).Find(&[]User{}).Error
		}, shard.ErrSpan},
		"subquery in a subquery": {func(db *gorm.DB) error {
			return db.Where("id IN (?)", fresh(db).Model(&User{}).Where("id IN (?)", fresh(db).Model(&Order{}).Select("user_id")).Select("id")).Find(&[]User{}).Error
		}, shard.ErrUnrouted},
		"table of a subquery": {func(db *gorm.DB) error { return db.Table("(?) AS u", fresh(db).Model(&Order{})).Find(&[]User{}).Error }, shard.ErrUnrouted},
		"a join's subquery": {func(db *gorm.DB) error {
			return db.Joins("JOIN (?) o ON o.user_id = users.id", fresh(db).Model(&Order{})).Find(&[]User{}).Error
		}, shard.ErrUnrouted},
		"an assigned subquery": {func(db *gorm.DB) error {
			return db.Model(&User{ID: 1}).Update("name", fresh(db).Model(&Order{}).Select("item")).Error
		}, shard.ErrUnrouted},
		"a subquery assigned to a sharded row": {func(db *gorm.DB) error {
			return db.Model(&Order{ID: id}).Update("item", fresh(db).Model(&Order{}).Select("item")).Error
		}, shard.ErrUnrouted},
		"a subquery assigned by a clause": {func(db *gorm.DB) error {
			set := clause.Set{{Column: clause.Column{Name: "item"}, Value: fresh(db).Model(&Order{}).Select("item")}}
			return db.Model(&Order{ID: id}).Clauses(set).Updates(map[string]any{}).Error
		}, shard.ErrUnrouted},
		"scope of no model":     {func(db *gorm.DB) error { return db.Scopes(shard.All()).Find(&[]User{}).Error }, shard.ErrModel},
		"id scope of no model":  {func(db *gorm.DB) error { return db.Scopes(shard.ByID(1)).Find(&[]User{}).Error }, shard.ErrModel},
		"negative id":           {func(db *gorm.DB) error { return db.Scopes(shard.ByID(-1)).Find(&rows).Error }, idshard.ErrID},
		"wide id":               {func(db *gorm.DB) error { return db.Scopes(shard.ByID(uint64(1) << 63)).Find(&rows).Error }, idshard.ErrID},
		"no id":                 {func(db *gorm.DB) error { return db.Scopes(shard.ByID(nil)).Find(&rows).Error }, idshard.ErrID},
		"text id":               {func(db *gorm.DB) error { return db.Scopes(shard.ByID("x")).Find(&rows).Error }, idshard.ErrID},
		"float id":              {func(db *gorm.DB) error { return db.Where("id", float64(id)).Find(&rows).Error }, idshard.ErrID},
		"fraction key":          {func(db *gorm.DB) error { return db.Where("user_id", 7.5).Find(&rows).Error }, idshard.ErrKey},
		"no key":                {func(db *gorm.DB) error { return db.Scopes(shard.ByKey(nil)).Find(&rows).Error }, idshard.ErrKey},
		"nil key":               {func(db *gorm.DB) error { return db.Scopes(shard.ByKey((*int64)(nil))).Find(&rows).Error }, idshard.ErrKey},
		"text key":              {func(db *gorm.DB) error { return db.Scopes(shard.ByKey("x")).Find(&rows).Error }, idshard.ErrKey},
		"disagree":              {func(db *gorm.DB) error { return db.Scopes(shard.ByKey(other.UserID), shard.ByID(id)).Find(&rows).Error }, idshard.ErrDisagree},
		"disagree, conditions":  {func(db *gorm.DB) error { return db.Where("user_id", other.UserID).First(&row, id).Error }, idshard.ErrDisagree},
		"update":                {func(db *gorm.DB) error { return model(db).Where("amount = 1").Update("item", "x").Error }, shard.ErrUnrouted},
		"delete":                {func(db *gorm.DB) error { return db.Where("amount = 1").Delete(&Order{}).Error }, shard.ErrUnrouted},
		"update, other id":      {func(db *gorm.DB) error { return model(db).Where("id", id).Update("id", other.ID).Error }, idshard.ErrDisagree},
		"update, other key":     {func(db *gorm.DB) error { return model(db).Where("id", id).Update("user_id", other.UserID).Error }, idshard.ErrDisagree},
		"update, other field":   {func(db *gorm.DB) error { return model(db).Where("id", id).Update("UserID", other.UserID).Error }, idshard.ErrDisagree},
		"update, other letters": {func(db *gorm.DB) error { return model(db).Where("id", id).Update("orders.USER_ID", other.UserID).Error }, idshard.ErrDisagree},
		"update, in quotes":     {func(db *gorm.DB) error { return model(db).Where("id", id).Update("`user_id`", other.UserID).Error }, idshard.ErrDisagree},
		"update, in quotes, too": {func(db *gorm.DB) error {
			return model(db).Where("id", id).Clauses(clause.Set{{Column: clause.Column{Name: `"user_id"`}, Value: other.UserID}}).Update("item", "x").Error
		}, idshard.ErrDisagree},
		"update, expression": {func(db *gorm.DB) error {
			return model(db).Where("id", id).Update("user_id", gorm.Expr("user_id + 1")).Error
		}, idshard.ErrKey},
		"update, key to key": {func(db *gorm.DB) error {
			return model(db).Scopes(shard.ByKey(user)).Update("user_id", other.UserID).Error
		}, idshard.ErrDisagree},
		"update, all": {func(db *gorm.DB) error {
			return model(db).Scopes(shard.All()).Where("amount = 1").Update("user_id", user).Error
		}, idshard.ErrDisagree},
		"updates, struct": {func(db *gorm.DB) error { return db.Model(&Order{ID: id}).Updates(Order{UserID: other.UserID}).Error }, idshard.ErrDisagree},
		"updates, selected": {func(db *gorm.DB) error {
			return db.Model(&Order{ID: id}).Select("user_id").Updates(Order{Item: "x"}).Error
		}, idshard.ErrKey},
		"save without the key": {func(db *gorm.DB) error { return db.Save(&Order{ID: id, Item: "x"}).Error }, idshard.ErrKey},
		"updates, other struct": {func(db *gorm.DB) error {
			return db.Model(&Order{ID: id}).Updates(struct{ UserID int64 }{other.UserID}).Error
		}, idshard.ErrDisagree},
		"update, generics": {func(db *gorm.DB) error {
			_, err := gorm.G[Order](db).Where("id", id).Update(context.Background(), "user_id", other.UserID)
			return err
		}, idshard.ErrDisagree},
		"save":            {func(db *gorm.DB) error { o := o; o.UserID = other.UserID; return db.Save(&o).Error }, idshard.ErrDisagree},
		"first of two":    {func(db *gorm.DB) error { return db.Scopes(shard.All()).Order("amount").First(&row).Error }, nil},
		"order by amount": {func(db *gorm.DB) error { return db.Scopes(shard.All()).Order("amount").Find(&rows).Error }, shard.ErrSpan},
		"group": {func(db *gorm.DB) error {
			return model(db).Scopes(shard.All()).Select("user_id").Group("user_id").Find(&[]User{}).Error
		}, shard.ErrSpan},
		"distinct":       {func(db *gorm.DB) error { return model(db).Scopes(shard.All()).Distinct("user_id").Find(&rows).Error }, shard.ErrSpan},
		"count distinct": {func(db *gorm.DB) error { return model(db).Scopes(shard.All()).Distinct("user_id").Count(&n).Error }, shard.ErrSpan},
		"aggregate": {func(db *gorm.DB) error {
			return model(db).Scopes(shard.All()).Select("sum(amount)").Find(&[]int64{}).Error
		}, shard.ErrSpan},
		"aggregate with an argument": {func(db *gorm.DB) error {
			return model(db).Scopes(shard.All()).Select("sum(amount + ?) AS amount", 1).Find(&rows).Error
		}, shard.ErrSpan},
		"count of SQL": {func(db *gorm.DB) error {
			return model(db).Scopes(shard.All()).Select("COUNT(?)", gorm.Expr("DISTINCT amount")).Find(&n).Error
		}, shard.ErrSpan},
		"pluck SQL":      {func(db *gorm.DB) error { return model(db).Scopes(shard.All()).Pluck("max(amount)", &[]int64{}).Error }, shard.ErrSpan},
		"pluck into one": {func(db *gorm.DB) error { return model(db).Scopes(shard.All()).Pluck("amount", &n).Error }, shard.ErrSpan},
		"join in SQL": {func(db *gorm.DB) error {
			return db.Scopes(shard.All()).Joins("RIGHT JOIN users ON true").Find(&rows).Error
		}, shard.ErrSpan},
		"limited lock": {func(db *gorm.DB) error {
			return db.Scopes(shard.All()).Clauses(clause.Locking{Strength: "UPDATE"}).Limit(1).Find(&rows).Error
		}, shard.ErrSpan},
		"limited write": {func(db *gorm.DB) error {
			return model(db).Scopes(shard.All()).Limit(1).Where("1 = 1").Update("item", "x").Error
		}, shard.ErrSpan},
		"delete all":       {func(db *gorm.DB) error { return db.Scopes(shard.All()).Delete(&Order{}).Error }, gorm.ErrMissingWhereClause},
		"preload of other": {func(db *gorm.DB) error { return db.Model(&Order{}).Preload("User").Find(&rows).Error }, shard.ErrUnrouted},
	}
}

func TestRefusedBeforeSQL(t *testing.T) {
	onShop(t, func(t *testing.T, s *shop) {
		for name, tt := range refusedStatements(s) {
			if tt.want == nil {
				continue
			}
			s.log.take()
			err := tt.do(s.DB)
			var executed []string
			for _, text := range s.log.take() {
				if text != "" && !strings.Contains(text, "refused by") && name != "delete all" {
					executed = append(executed, text)
				}
			}
			if !errors.Is(err, tt.want) || len(executed) > 0 {
				t.Errorf("%s: got %v by %q, want %v", name, err, executed, tt.want)
			}
		}
		// A subquery in raw SQL has no other statement around it that could be looked at, so the database refuses it.
		var users []User
		err := s.Raw("SELECT * FROM users WHERE id NOT IN (?)", s.Model(&Order{}).Select("user_id")).Scan(&users).Error
		if err == nil || len(users) > 0 {
			t.Errorf("raw SQL with a subquery: got %v, %d rows", err, len(users))
		}
	})
}
