package gormsharding_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bwmarrin/snowflake"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/sharding"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard"
)

// The tests here are named for threads of github.com/go-gorm/sharding. doc.go has their table.

// TestIssue37KeyInStruct (also 85): a key that gorm.io/sharding makes is in the statement and not in the struct. With RETURNING the database
// reports it; MySQL has none, which is what the dialector is told here. snowkey's key is in the struct before the statement.
func TestIssue37KeyInStruct(t *testing.T) {
	s := newShop(t, "mysql", dbtest.MySQL(t))
	without := func() *gorm.DB {
		_, ran := s.open()
		db, err := gorm.Open(mysql.New(mysql.Config{Conn: ran, DisableWithReturning: true}), &gorm.Config{Logger: logger.Discard})
		if err != nil {
			s.Fatal(err)
		}
		return db
	}
	db := without()
	c := config(s.tables, nil)
	c.PrimaryKeyGenerator, c.NumberOfShards = sharding.PKSnowflake, 4
	s.use(db, sharding.Register(c, "orders"))
	theirs := Order{UserID: bob, Item: "theirs"}
	s.must(db.Create(&theirs))
	var row Order
	s.must(s.plain.Table("orders_02").Take(&row))
	if theirs.ID != 0 || row.ID == 0 {
		s.Errorf("without snowkey the struct has the id %d and the row %d, want 0 and one", theirs.ID, row.ID)
	}

	db = without()
	s.use(db, s.snowkey(), s.sharding(s.tables))
	batch := []Order{{UserID: ann, Item: "a"}, {UserID: ann, Item: "b"}}
	s.must(db.Create(&batch))
	for _, o := range batch {
		s.same("the order with the id of the struct is in", s.where("orders", o.ID), []string{"orders_01"})
	}
}

// TestIssue41Transaction (also 36): a transaction of the caller's is one. GORM's own around a statement is not begun at all, so after the error of
// a hook the row stays, and the struct has lost its key.
func TestIssue41Transaction(t *testing.T) {
	eachShop(t, func(s *shop) {
		type order = failing
		o := order{UserID: ann, Item: "a"}
		s.fails("a hook", s.db.Create(&o).Error, errHook)
		if n := count(s, ""); n != 1 || o.ID != 0 {
			s.Errorf("%d rows after a statement that failed, and the key %d, want the row to have stayed and no key", n, o.ID)
		}
		err := s.db.Transaction(func(tx *gorm.DB) error { return tx.Create(&order{UserID: bob, Item: "b"}).Error })
		s.fails("a hook in a transaction", err, errHook)
		if n := count(s, ""); n != 1 {
			s.Errorf("%d rows after a transaction that failed, want 1 as before", n)
		}
	})
}

var errHook = errors.New("of the hook")

// failing is an order whose hook after the INSERT fails.
type failing struct {
	ID     int64 `gorm:"snowkey:shard=UserID"`
	UserID int64
	Item   string
}

func (failing) TableName() string { return "orders" }

func (*failing) AfterCreate(*gorm.DB) error { return errHook }

// TestNestedTransaction: the dialector that gorm.io/sharding puts around the database's has no savepoints.
func TestNestedTransaction(t *testing.T) {
	eachShop(t, func(s *shop) {
		nested := func(db *gorm.DB) error {
			return db.Transaction(func(tx *gorm.DB) error {
				return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&Order{UserID: ann, Item: "a"}).Error })
			})
		}
		s.fails("a nested transaction", nested(s.db), gorm.ErrUnsupportedDriver)
		if err := nested(s.db.Session(&gorm.Session{DisableNestedTransaction: true})); err != nil {
			s.Errorf("without savepoints: %v", err)
		}
	})
}

// TestTranslateError: nor does that dialector translate errors.
func TestTranslateError(t *testing.T) {
	eachShop(t, func(s *shop) {
		db, _ := s.open(func(c *gorm.Config) { c.TranslateError = true })
		s.use(db, s.snowkey())
		o := Order{UserID: ann, Item: "a"}
		s.must(db.Table("orders_01").Create(&o))
		again := func() error { return db.Table("orders_01").Create(&Order{UserID: ann, Item: "a"}).Error }
		s.fails("without gorm.io/sharding", again(), gorm.ErrDuplicatedKey)
		s.use(db, s.sharding(s.tables))
		if err := again(); err == nil || errors.Is(err, gorm.ErrDuplicatedKey) {
			s.Errorf("got the error %v, want that of the driver", err)
		}
	})
}

// TestIssue56In: IN on the sharding key is refused. Keys that are grouped by table are read with a statement a table.
func TestIssue56In(t *testing.T) {
	eachShop(t, func(s *shop) {
		for _, user := range everybody {
			s.order(user, "a")
		}
		s.fails("IN", s.db.Where("user_id IN ?", everybody).Find(new([]Order)).Error, sharding.ErrMissingShardingKey)
		s.fails("ids IN", s.db.Where("id IN ?", []int64{1, 2}).Find(new([]Order)).Error, sharding.ErrMissingShardingKey)

		groups, err := byTable(s.tables, everybody, func(user int64) any { return user })
		if err != nil {
			s.Fatal(err)
		}
		var all []Order
		s.ran.reset()
		for suffix, of := range groups {
			var orders []Order
			s.must(s.db.Table("orders"+suffix).Where("user_id IN ?", of).Find(&orders))
			all = append(all, orders...)
		}
		if n := len(s.ran.reset()); len(all) != len(everybody) || n != 4 {
			s.Errorf("got %+v by %d statements, want an order of everybody by 4", all, n)
		}
	})
}

// TestIssue61Preload (also 114, 174): GORM qualifies the columns of an association with their table, which 0.6.2 reads. The sharding key has to be
// in the condition all the same, or the table is named.
func TestIssue61Preload(t *testing.T) {
	eachShop(t, func(s *shop) {
		o := s.order(ann, "a")
		lines := []Line{{UserID: ann, OrderID: o.ID, Text: "x"}, {UserID: ann, OrderID: o.ID, Text: "y"}}
		s.must(s.db.Create(&lines))
		err := s.db.Where("user_id = ?", ann).Preload("Lines").Find(new([]Order)).Error
		s.fails("Preload without the sharding key", err, sharding.ErrMissingShardingKey)
		for name, preload := range map[string]*gorm.DB{
			"with the sharding key": s.db.Preload("Lines", "user_id = ?", ann),
			"named":                 s.db.Preload("Lines", at(s.tables, "lines", ann)),
		} {
			var orders []Order
			if err := preload.Where("user_id = ?", ann).Find(&orders).Error; err != nil || len(orders) != 1 || len(orders[0].Lines) != 2 {
				s.Errorf("Preload %s: got %+v (%v), want two lines", name, orders, err)
			}
		}
	})
}

// TestIssue61Hooks: the rows of a model with hooks are in the tables of their sharding keys, also when the hook sets the sharding key.
func TestIssue61Hooks(t *testing.T) {
	eachShop(t, func(s *shop) {
		o := hooked{Item: "a"}
		s.must(s.db.Create(&o))
		s.same("the order is in", s.where("orders", o.ID), []string{"orders_02"})
	})
}

// hooked is an order whose hook sets its user.
type hooked struct {
	ID     int64 `gorm:"snowkey:shard=UserID"`
	UserID int64
	Item   string
}

func (hooked) TableName() string { return "orders" }

func (o *hooked) BeforeCreate(*gorm.DB) error { o.UserID = bob; return nil }

// TestIssue65Snowflake: the ids of gorm.io/sharding's own generator have the table as their node, whoever makes them, so two processes make the
// same ones in a millisecond. Those of snowkey have the node of their process.
func TestIssue65Snowflake(t *testing.T) {
	eachShop(t, func(s *shop) {
		theirs, ours := map[int64]bool{}, map[int64]bool{}
		for process := range int64(2) {
			db, _ := s.open()
			c := config(s.tables, nil)
			c.PrimaryKeyGenerator, c.NumberOfShards = sharding.PKSnowflake, 4
			s.use(db, sharding.Register(c, "orders"))
			item := fmt.Sprint("theirs ", process)
			s.must(db.Create(&Order{UserID: carol, Item: item}))
			var o Order
			s.must(s.plain.Table("orders_03").Where("item = ?", item).Take(&o))
			theirs[snowflake.ParseInt64(o.ID).Node()] = true
			s.must(s.plain.Table("orders_03").Delete(&Order{}, o.ID)) // the other one's id is the same within a millisecond

			db, _ = s.open()
			ids, err := idgen.New(idgen.Sharded, idgen.WithNode(10+process), idgen.WithShards())
			if err != nil {
				s.Fatal(err)
			}
			s.use(db, gormplugin.New(gormplugin.From(ids)), s.sharding(s.tables))
			o = Order{UserID: carol, Item: fmt.Sprint("ours ", process)}
			s.must(db.Create(&o))
			parts, err := idgen.Sharded.Decode(o.ID)
			if err != nil {
				s.Fatal(err)
			}
			ours[parts.Node] = true
		}
		if len(theirs) != 1 || !theirs[3] || len(ours) != 2 {
			s.Errorf("got the nodes %v of two processes there and %v here, want that of table 3 there and two here", theirs, ours)
		}
	})
}

// TestIssue91Locking (also 139, 159, 173): what the parser does not read goes to the table without a suffix, which there is none. The statement
// names its table then.
func TestIssue91Locking(t *testing.T) {
	eachShop(t, func(s *shop) {
		o := s.order(ann, "a")
		statements := map[string]func(db *gorm.DB) *gorm.DB{
			"NOT": func(db *gorm.DB) *gorm.DB { return db.Not("item = ?", "b") },
			"a subquery": func(db *gorm.DB) *gorm.DB {
				return db.Where("id IN (?)", s.db.Table("orders_01").Where("item = ?", "a").Select("id"))
			},
		}
		if s.kind != "sqlite" { // which has none
			statements["FOR UPDATE"] = func(db *gorm.DB) *gorm.DB { return db.Clauses(clause.Locking{Strength: "UPDATE"}) }
		}
		for name, query := range statements {
			err := query(s.db.Where("user_id = ?", ann)).Find(new([]Order)).Error
			s.goesToNoTable(name, err)
			var orders []Order
			err = query(s.db.Scopes(at(s.tables, "orders", ann)).Where("user_id = ?", ann)).Find(&orders).Error
			if err != nil || len(orders) != 1 || orders[0].ID != o.ID {
				s.Errorf("%s, named: got %+v (%v), want %+v", name, orders, err, o)
			}
		}
	})
}

// TestIssue94WithoutEquals (also gorm 6053): a statement needs the sharding key with =. With snowkey's ids the id is enough; all else is refused
// and not sent to every table.
func TestIssue94WithoutEquals(t *testing.T) {
	eachShop(t, func(s *shop) {
		o := s.order(ann, "a")
		for name, query := range map[string]*gorm.DB{
			"no condition":   s.db,
			"other column":   s.db.Where("item = ?", "a"),
			"a range":        s.db.Where("user_id > ?", 0),
			"LIKE":           s.db.Where("user_id LIKE ?", "1%"),
			"a range of ids": s.db.Where("id > ?", 0),
		} {
			s.fails(name, query.Find(new([]Order)).Error, sharding.ErrMissingShardingKey)
		}
		var found Order
		s.ran.reset()
		s.must(s.db.Where("item = ?", "a").First(&found, o.ID))
		s.wants("orders_01")
		var none []Order
		s.fails("a number that is no id", s.db.Where("id = ?", -o.ID).Find(&none).Error, nil)
	})
}

// TestOr: of two sharding keys with = one is taken, and the rows of the other in another table are not found. Nothing says so.
func TestOr(t *testing.T) {
	eachShop(t, func(s *shop) {
		s.order(ann, "a")
		s.order(bob, "b")
		s.order(erin, "e")
		var orders []Order
		s.ran.reset()
		s.must(s.db.Where("user_id = ? OR user_id = ?", ann, bob).Find(&orders))
		s.wants("orders_02")
		s.same("OR of two tables", items(orders), []string{"b"})
		s.must(s.db.Where("user_id = ? OR user_id = ?", ann, erin).Find(&orders))
		s.same("OR of one table", items(orders), []string{"a", "e"})
	})
}

// TestMovedKey: an UPDATE of the sharding key would leave the row where it is, where its new sharding key does not lead. The plugin refuses it before
// its SQL. A row gets another sharding key as a new one.
func TestMovedKey(t *testing.T) {
	eachShop(t, func(s *shop) {
		o := s.order(ann, "a")
		s.ran.reset()
		s.fails("a row that is known", s.db.Model(&Order{ID: o.ID}).Update("user_id", bob).Error, shard.ErrDisagree)
		s.fails("a row that is not known", s.db.Model(&Order{}).Where("id = ?", o.ID).Update("user_id", bob).Error, shard.ErrKey)
		o.UserID = bob
		s.fails("Save", s.db.Save(&o).Error, shard.ErrDisagree)
		if statements := s.ran.reset(); len(statements) > 0 {
			s.Errorf("ran %q, want nothing", statements)
		}
		s.same("the order is in", s.where("orders", o.ID), []string{"orders_01"})
		s.fails("the old id with the new user", s.db.Create(&o).Error, shard.ErrDisagree)
	})
}

// TestIssue126Joins: a join goes to the tables without a suffix. Tables with the same suffix are joined by their names.
func TestIssue126Joins(t *testing.T) {
	eachShop(t, func(s *shop) {
		for _, user := range []int64{ann, erin} {
			o := s.order(user, "a")
			s.must(s.db.Create(&Line{UserID: user, OrderID: o.ID, Text: fmt.Sprint("of ", user)}))
		}
		join := func(db *gorm.DB, lines string) (texts []string, err error) {
			quoted := s.db.Statement.Quote(lines)
			return texts, db.Joins("JOIN "+quoted+" AS l ON l.order_id = o.id").Where("o.user_id = ?", ann).Pluck("l.text", &texts).Error
		}
		_, err := join(s.db.Table("orders AS o"), "lines")
		s.goesToNoTable("a join", err)
		texts, err := join(s.db.Table(s.table("orders", ann)+" AS o"), s.table("lines", ann))
		if err != nil || !slices.Equal(texts, []string{"of 1"}) {
			s.Errorf("got %q (%v), want the lines of a user", texts, err)
		}
	})
}

// TestIssue142AutoMigrate (also gorm 7533): AutoMigrate makes the tables of all suffixes, and no other. Their keys are plain with
// autoIncrement:false, or of the type sqltype.ID; gormplugin.Prepare does not reach these tables, of which GORM has schemas of their own.
func TestIssue142AutoMigrate(t *testing.T) {
	type Note struct {
		ID     int64 `gorm:"autoIncrement:false;snowkey:shard=UserID"`
		UserID int64 `gorm:"index"`
		Text   string
	}
	eachShop(t, func(s *shop) {
		db, _ := s.open()
		s.use(db, s.snowkey(), sharding.Register(config(s.tables, func(int64) int64 { return 0 }), "notes"))
		for range 2 { // made, and left
			if err := db.AutoMigrate(&Note{}); err != nil {
				s.Fatal(err)
			}
		}
		if s.plain.Migrator().HasTable("notes") {
			s.Error("there is a table without a suffix, where statements go that are not read")
		}
		for _, suffix := range s.tables.Suffixes() {
			columns, err := s.plain.Migrator().ColumnTypes("notes" + suffix)
			if err != nil {
				s.Fatal(err)
			}
			for _, c := range columns {
				if auto, ok := c.AutoIncrement(); ok && auto {
					s.Errorf("notes%s.%s is made by the database", suffix, c.Name())
				}
			}
		}
		type Draft struct {
			ID     int64 `gorm:"snowkey:shard=UserID"`
			UserID int64
		}
		prepared, _ := s.open()
		ids, err := idgen.New(idgen.Sharded, idgen.WithNode(1), idgen.WithShards())
		if err != nil {
			s.Fatal(err)
		}
		s.use(prepared, gormplugin.New(gormplugin.From(ids), gormplugin.Prepare(&Draft{})),
			sharding.Register(config(s.tables, func(int64) int64 { return 0 }), "drafts"))
		if err := prepared.AutoMigrate(&Draft{}); err != nil {
			s.Fatal(err)
		}
		if s.kind != "sqlite" { // which has no such columns here
			columns, err := s.plain.Migrator().ColumnTypes("drafts_00")
			if err != nil {
				s.Fatal(err)
			}
			if auto, ok := columns[0].AutoIncrement(); !ok || !auto {
				s.Error("gormplugin.Prepare reaches the tables; say so in doc.go")
			}
		}

		n := Note{UserID: ann, Text: "x"}
		s.must(db.Create(&n))
		s.same("the note is in", s.where("notes", n.ID), []string{"notes_01"})
	})
}

// TestIssue171PrepareStmt: with prepared statements GORM's own transaction around a write leads past gorm.io/sharding, and within a transaction of
// the caller's the first write commits that. With SkipDefaultTransaction all is well.
func TestIssue171PrepareStmt(t *testing.T) {
	eachShop(t, func(s *shop) {
		db, _ := s.open(func(c *gorm.Config) { c.PrepareStmt = true })
		s.use(db, s.snowkey(), s.sharding(s.tables))
		s.goesToNoTable("Create", db.Create(&Order{UserID: ann, Item: "a"}).Error)
		undone := errors.New("undone")
		err := db.Transaction(func(tx *gorm.DB) error {
			s.must(tx.Create(&Order{UserID: ann, Item: "early"}))
			return undone
		})
		if n := count(s, "item = ?", "early"); !errors.Is(err, undone) || n != 1 {
			s.Errorf("%d rows of a transaction with the error %v, want 1: the first Create commits it", n, err)
		}
		s.must(s.plain.Exec("DELETE FROM orders_01"))

		db, ran := s.open(func(c *gorm.Config) { c.PrepareStmt, c.SkipDefaultTransaction = true, true })
		s.use(db, s.snowkey(), s.sharding(s.tables))
		for _, user := range everybody {
			o := Order{UserID: user, Item: "a"}
			s.must(db.Create(&o))
			s.same("the order is in", s.where("orders", o.ID), []string{s.table("orders", user)})
		}
		s.must(db.Where("user_id = ?", ann).Find(new([]Order)))
		ran.reset()
		s.must(db.Where("user_id = ?", ann).Find(new([]Order)))
		if again := ran.reset(); len(again) != 0 {
			s.Errorf("prepared %q once more", again)
		}
		err = db.Transaction(func(tx *gorm.DB) error {
			s.must(tx.Create(&Order{UserID: ann, Item: "b"}))
			s.must(tx.Create(&Order{UserID: bob, Item: "b"}))
			return undone
		})
		if n := count(s, ""); !errors.Is(err, undone) || n != int64(len(everybody)) {
			s.Errorf("%d orders after a transaction with the error %v, want %d", n, err, len(everybody))
		}
	})
}

// TestIssue187ShardingKeys (also 46, 62, 84, 87, 117): one connection has one configuration. Tables with another sharding key have a *gorm.DB of
// their own on the same pool, which can take part in a transaction.
func TestIssue187ShardingKeys(t *testing.T) {
	type Message struct {
		ID     int64 `gorm:"snowkey:shard=RoomID"`
		RoomID int64
		Text   string
	}
	eachShop(t, func(s *shop) {
		for _, suffix := range s.tables.Suffixes() {
			s.must(s.plain.Exec("CREATE TABLE messages" + suffix + " (id BIGINT NOT NULL PRIMARY KEY, room_id BIGINT NOT NULL, text VARCHAR(20) NOT NULL)"))
		}
		c := config(s.tables, func(int64) int64 { return 0 })
		c.ShardingKey = "room_id"
		s.fails("a second configuration", s.db.Use(sharding.Register(c, "messages")), gorm.ErrRegistered)

		rooms, _ := s.open()
		s.use(rooms, s.snowkey(), sharding.Register(c, "messages"))
		m := Message{RoomID: carol, Text: "x"}
		undone := errors.New("undone")
		for _, want := range []error{undone, nil} {
			err := s.db.Transaction(func(tx *gorm.DB) error {
				s.must(tx.Create(&Order{UserID: ann, Item: "a"}))
				in := rooms.Session(&gorm.Session{NewDB: true})
				in.Statement.ConnPool = tx.Statement.ConnPool
				m = Message{RoomID: carol, Text: "x"}
				s.must(in.Create(&m))
				return want
			})
			if !errors.Is(err, want) {
				s.Fatal(err)
			}
			tables := s.where("messages", m.ID)
			if want != nil {
				s.same("after an error the message is in", tables, nil)
			} else {
				s.same("the message is in", tables, []string{s.table("messages", carol)})
			}
		}
		if n := count(s, ""); n != 1 {
			s.Errorf("%d orders, want 1", n)
		}
	})
}

// TestIssue196IDTypes (also 118): the value of an id has to be an int64 and its column be named id. An id of another type is found by int64(id); a
// statement of GORM's own for such a model is refused, also beside the sharding key, and names its table instead.
func TestIssue196IDTypes(t *testing.T) {
	eachShop(t, func(s *shop) {
		i := Invoice{UserID: ann, Item: "a"}
		s.must(s.db.Create(&i))
		var found Invoice
		s.fails("a sqltype.ID", s.db.Where("id = ?", i.ID).Take(&found).Error, nil)
		s.fails("beside the sharding key", s.db.Where("user_id = ? AND id = ?", ann, i.ID).Take(&found).Error, nil)
		s.fails("Save", s.db.Save(&i).Error, nil)
		s.must(s.db.Where("id = ?", int64(i.ID)).Take(&found))
		i.Item = "b"
		s.must(s.db.Scopes(at(s.tables, "invoices", ann)).Save(&i))
		var saved Invoice
		s.must(s.db.Where("user_id = ?", i.UserID).Take(&saved))
		if saved != i {
			s.Errorf("got %+v, want %+v", saved, i)
		}
	})
}

// TestIssue111TextKeys (also 180): a sharding key that is a text. The suffixes are numbers all the same, so gorm.io/sharding finds their index.
func TestIssue111TextKeys(t *testing.T) {
	type File struct {
		ID      int64 `gorm:"snowkey:shard=Project"`
		Project string
		Path    string
	}
	eachShop(t, func(s *shop) {
		var err error
		if s.tables, err = shard.NewTables(idgen.Sharded.Layout, 4, ""); err != nil {
			s.Fatal(err)
		}
		for _, suffix := range s.tables.Suffixes() {
			s.must(s.plain.Exec("CREATE TABLE files" + suffix + " (id BIGINT NOT NULL PRIMARY KEY, project VARCHAR(20) NOT NULL, path VARCHAR(20) NOT NULL)"))
		}
		c := config(s.tables, func(int64) int64 { return 0 })
		c.ShardingKey = "project"
		db, _ := s.open()
		s.use(db, s.snowkey(), sharding.Register(c, "files"))
		for _, project := range []string{"a", "b", "Über", "42"} {
			f := File{Project: project, Path: "x"}
			s.must(db.Create(&f))
			want, err := s.tables.Suffix(project)
			if err != nil {
				s.Fatal(err)
			}
			s.same("the file is in", s.where("files", f.ID), []string{"files" + want})
			var byKey File
			s.must(db.Where("project = ?", project).Take(&byKey))
			if byKey != f {
				s.Errorf("got %+v, want %+v", byKey, f)
			}
		}
	})
}

// TestIssue96Concurrency writes and reads from several goroutines; the race detector sees what it finds.
func TestIssue96Concurrency(t *testing.T) {
	eachShop(t, func(s *shop) {
		if s.kind == "sqlite" {
			s.Skip("SQLite refuses writers at the same time: database is locked")
		}
		var group sync.WaitGroup
		for _, user := range everybody {
			group.Go(func() {
				for i := range 20 {
					if err := s.db.Create(&Order{UserID: user, Item: fmt.Sprint(i)}).Error; err != nil {
						s.Error(err)
					}
					var orders []Order
					if err := s.db.Where("user_id = ?", user).Find(&orders).Error; err != nil || len(orders) != i+1 {
						s.Errorf("got %d orders (%v), want %d", len(orders), err, i+1)
					}
				}
			})
		}
		group.Wait()
	})
}

// TestLoggerPanics: 0.6.2 logs a statement that failed with the rows of a result that there is none, and panics, when the level is Info, or when
// the statement took longer than the logger's SlowThreshold and the level is Warn. Reads do not.
func TestLoggerPanics(t *testing.T) {
	eachShop(t, func(s *shop) {
		for name, test := range map[string]struct {
			config logger.Config
			panics bool
		}{
			"Info":           {logger.Config{LogLevel: logger.Info}, true},
			"Warn, slow":     {logger.Config{LogLevel: logger.Warn, SlowThreshold: 1}, true},
			"Warn, not slow": {logger.Config{LogLevel: logger.Warn}, false},
			"Error, slow":    {logger.Config{LogLevel: logger.Error, SlowThreshold: 1}, false},
		} {
			db, _ := s.open(func(c *gorm.Config) { c.Logger = logger.New(log.New(io.Discard, "", 0), test.config) })
			s.use(db, s.snowkey(), s.sharding(s.tables))
			s.must(db.Exec("UPDATE orders SET item = ? WHERE user_id = ?", "b", ann))
			var panicked any
			func() {
				defer func() { panicked = recover() }()
				s.fails(name, db.Exec("UPDATE orders SET colour = ? WHERE user_id = ?", "b", ann).Error, nil)
			}()
			if got := strings.Contains(fmt.Sprint(panicked), "nil pointer"); got != test.panics || !got && panicked != nil {
				s.Errorf("%s: got the panic %v, want that of a nil pointer: %t", name, panicked, test.panics)
			}
			s.fails("a read", db.Where("user_id = ? AND colour = 1", ann).Find(new([]Order)).Error, nil)
		}
	})
}

// TestTheirAlgorithm: the algorithm of gorm.io/sharding takes the remainder with the sign, and its generator panics then.
func TestTheirAlgorithm(t *testing.T) {
	eachShop(t, func(s *shop) {
		theirs := sharding.Register(sharding.Config{ShardingKey: "user_id", NumberOfShards: 4, PrimaryKeyGenerator: sharding.PKSnowflake}, "orders")
		db, _ := s.open()
		s.use(db, theirs)
		s.fails("a negative sharding key", db.Where("user_id = ?", -3).Find(new([]Order)).Error, nil)
		if got := theirs.LastQuery(); !strings.Contains(got, "orders_-3") {
			s.Errorf("ran %q, want the table orders_-3", got)
		}
		var panicked any
		func() {
			defer func() { panicked = recover() }()
			db.Create(&Order{UserID: -3, Item: "a"})
		}()
		if panicked == nil {
			s.Error("Create of a negative sharding key does not panic any more; say so in doc.go")
		}
		o := s.order(-3, "a")
		s.same("here the order is in", s.where("orders", o.ID), []string{s.table("orders", -3)})
	})
}
