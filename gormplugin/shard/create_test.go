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

// statements records the SQL that GORM's logger is told of.
type statements struct {
	mu  sync.Mutex
	all []string
}

func (s *statements) LogMode(logger.LogLevel) logger.Interface { return s }
func (s *statements) Info(context.Context, string, ...any)     {}
func (s *statements) Warn(context.Context, string, ...any)     {}
func (s *statements) Error(context.Context, string, ...any)    {}
func (s *statements) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	sql, _ := fc()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, sql)
}

// recorded returns a session with a record of its own.
func recorded(db *gorm.DB) (*gorm.DB, *statements) {
	s := &statements{}
	return db.Session(&gorm.Session{Logger: s}), s
}

// routed opens a database with a router over n tables and migrates models.
func routed(t testing.TB, db *gorm.DB, n int, models ...any) *shard.Router {
	t.Helper()
	r := use(t, db, shard.Config{Shards: idshard.Tables(n)})
	must(t, r.AutoMigrate(db, models...))
	return r
}

// rowsOf reads a table, around the router: column by id.
func rowsOf(t testing.TB, db *gorm.DB, table, column string) map[int64]string {
	t.Helper()
	pool, err := db.DB()
	must(t, err)
	rows, err := pool.Query("SELECT id, " + column + " FROM " + table)
	must(t, err)
	defer rows.Close()
	got := map[int64]string{}
	for rows.Next() {
		var id int64
		var value string
		must(t, rows.Scan(&id, &value))
		got[id] = value
	}
	must(t, rows.Err())
	return got
}

// everywhere reads all tables of a model, and fails when an id is in a table where it does not lead.
func everywhere(t testing.TB, db *gorm.DB, r *shard.Router, base, column string) map[int64]string {
	t.Helper()
	all := map[int64]string{}
	for i, s := range r.Map().Shards() {
		for id, value := range rowsOf(t, db, s.Table(base), column) {
			if of, err := r.Map().OfID(id); err != nil || of != i {
				t.Errorf("the row %d is in %s, its id leads to shard %d, %v", id, s.Table(base), of, err)
			}
			if _, twice := all[id]; twice {
				t.Errorf("the row %d is there twice", id)
			}
			all[id] = value
		}
	}
	return all
}

func purchases(n int) []purchase {
	rows := make([]purchase, n)
	for i := range rows {
		rows[i] = purchase{UserID: int64(i + 1), Item: fmt.Sprint("item ", i), Count: i}
	}
	return rows
}

// requirePlaced fails unless the rows have ids of their own and of their sharding keys, and are in the tables, and nothing else.
func requirePlaced(t testing.TB, db *gorm.DB, r *shard.Router, rows []purchase) {
	t.Helper()
	got := everywhere(t, db, r, "purchases", "item")
	if len(got) != len(rows) {
		t.Errorf("got %d rows in the tables, want %d", len(got), len(rows))
	}
	for i, row := range rows {
		if err := r.Map().Check(row.ID.Int64(), row.UserID); err != nil || got[row.ID.Int64()] != row.Item {
			t.Errorf("row %d: got %q in the table for %+v, %v", i, got[row.ID.Int64()], row, err)
		}
	}
}

func TestCreateSplitsABatch(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 16, &purchase{})
		for _, session := range []gorm.Session{{}, {SkipDefaultTransaction: true}, {PrepareStmt: true}} {
			rows := purchases(100)
			tables := map[int]bool{}
			tx, log := recorded(db.Session(&session))
			created := tx.Create(rows)
			must(t, created.Error)
			for i, row := range rows {
				if row.Count != i {
					t.Errorf("row %d is %+v now", i, row)
				}
				of, err := r.Map().OfID(row.ID.Int64())
				must(t, err)
				tables[of] = true
			}
			requirePlaced(t, db, r, rows)
			if created.RowsAffected != 100 || len(log.all) != len(tables) || len(tables) < 10 {
				t.Errorf("got %d rows affected by %d statements, want 100 by %d", created.RowsAffected, len(log.all), len(tables))
			}
			truncate(t, db, r, "purchases")
		}
	})
}

// truncate empties the tables of a model.
func truncate(t testing.TB, db *gorm.DB, r *shard.Router, base string) {
	t.Helper()
	pool, err := db.DB()
	must(t, err)
	for _, s := range r.Map().Shards() {
		_, err := pool.Exec("DELETE FROM " + s.Table(base))
		must(t, err)
	}
}

func TestCreateShapes(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := routed(t, db, 4, &purchase{})
	values := func(n int) (all []*purchase) {
		rows := purchases(n)
		for i := range rows {
			all = append(all, &rows[i])
		}
		return all
	}
	p := values(12)
	array := [3]purchase{*p[3], *p[4], *p[5]}
	list := []purchase{*p[9], *p[10], *p[11]}
	must(t, db.Create(p[0]).Error)
	must(t, db.Create(p[1:3]).Error)
	must(t, db.Create(&array).Error)
	must(t, db.CreateInBatches(p[6:9], 2).Error)
	must(t, db.Save(&list).Error)
	all := []purchase{*p[0], *p[1], *p[2], array[0], array[1], array[2], *p[6], *p[7], *p[8], list[0], list[1], list[2]}
	requirePlaced(t, db, r, all)
	if err := db.Create(&[]purchase{}).Error; !errors.Is(err, gorm.ErrEmptySlice) {
		t.Errorf("got %v for no rows, want ErrEmptySlice", err)
	}
	tx, log := recorded(db)
	if err := tx.Create([]*purchase{{UserID: 1}, nil, {UserID: 2}}).Error; !errors.Is(err, gorm.ErrInvalidData) || len(log.all) > 0 {
		t.Errorf("got %v and %q for a row that is nil, want ErrInvalidData and no SQL", err, log.all)
	}
	requirePlaced(t, db, r, all)
}

// thirdTable returns rows of which those of the third table cannot be inserted, since there is one with an id of theirs, and how many there are.
func thirdTable(t *testing.T, db *gorm.DB, r *shard.Router) (rows []purchase, table string, there purchase) {
	t.Helper()
	rows = purchases(60)
	for i := range rows {
		of, err := r.Map().OfKey(nil, rows[i].UserID)
		must(t, err)
		if of[0] == 2 {
			there = rows[i]
			must(t, db.Create(&there).Error)
			rows[i].ID = there.ID
			return rows, r.Map().Shard(2).Table("purchases"), there
		}
	}
	t.Fatal("no row of the third table")
	return nil, "", there
}

func TestCreateFailsInTheMiddle(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 8, &purchase{})
		rows, table, there := thirdTable(t, db, r)
		check := func(name string, err error) {
			t.Helper()
			if err == nil || !contains(err, table) {
				t.Errorf("%s: got %v, want an error of %s", name, err, table)
			}
			requirePlaced(t, db, r, []purchase{there})
			for i, row := range rows {
				if row.ID == 0 {
					t.Errorf("%s: row %d has no id", name, i)
				}
			}
		}
		tx := db.Create(rows)
		check("Create", tx.Error)
		if tx.RowsAffected != 0 {
			t.Errorf("got %d rows affected, want none", tx.RowsAffected)
		}
		check("SkipDefaultTransaction", db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(rows).Error)
		var failed error
		must(t, db.Transaction(func(tx *gorm.DB) error {
			failed = tx.Create(rows).Error
			return nil // and the caller commits all the same
		}))
		check("a transaction that is committed", failed)
		must(t, db.Session(&gorm.Session{PrepareStmt: true}).Transaction(func(tx *gorm.DB) error {
			failed = tx.Create(rows).Error
			return nil
		}))
		check("prepared", failed)
	})
}

func TestCreateInATransactionOfTheCallers(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 8, &purchase{})
		rows := purchases(20)
		undo := errors.New("undo")
		if err := db.Transaction(func(tx *gorm.DB) error { must(t, tx.Create(rows).Error); return undo }); !errors.Is(err, undo) {
			t.Fatal(err)
		}
		requirePlaced(t, db, r, nil)
		must(t, db.Transaction(func(tx *gorm.DB) error { return tx.Create(rows).Error }))
		requirePlaced(t, db, r, rows)
	})
}

// hooked has hooks that set the sharding key.
type hooked struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID int64
	Item   string
	set    int64
	after  int
}

func (h *hooked) BeforeCreate(*gorm.DB) error {
	if h.set != 0 {
		h.UserID = h.set
	}
	return nil
}

func (h *hooked) AfterCreate(*gorm.DB) error { h.after++; return nil }

func TestCreateAfterHooks(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := routed(t, db, 8, &hooked{})
	rows := []hooked{{set: 7}, {UserID: 8}, {UserID: 9, set: 9}, {set: 10}}
	must(t, db.Create(rows).Error)
	if got := everywhere(t, db, r, "hookeds", "user_id"); len(got) != 4 {
		t.Errorf("got %v, want 4 rows", got)
	}
	for i, h := range rows {
		if err := r.Map().Check(h.ID.Int64(), h.UserID); err != nil || h.after != 1 {
			t.Errorf("row %d: %+v: %v, want AfterCreate once", i, h, err)
		}
	}
	changed := hooked{UserID: 1, set: 2}
	must(t, db.Create(&changed).Error)
	if err := r.Map().Check(changed.ID.Int64(), int64(2)); err != nil {
		t.Errorf("got %+v for a hook that changes the sharding key: %v", changed, err)
	}
	tx, log := recorded(db)
	err := tx.Create([]*hooked{{UserID: 3}, {ID: changed.ID, UserID: 2, set: 1}}).Error
	if disagree := (*idshard.DisagreeError)(nil); !errors.As(err, &disagree) || len(log.all) > 0 {
		t.Errorf("got %v and %q for a hook that changes the sharding key of a row with its key, want a DisagreeError and no SQL", err, log.all)
	}
	if got := everywhere(t, db, r, "hookeds", "user_id"); len(got) != 5 {
		t.Errorf("got %v, want 5 rows still", got)
	}
}

func TestCreateRefusesBeforeAnySQL(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := routed(t, db, 8, &purchase{})
	mine := purchase{UserID: 1, Item: "mine"}
	must(t, db.Create(&mine).Error)
	var other int64 = 2
	for r.Map().Check(mine.ID.Int64(), other) == nil {
		other++
	}
	for _, tt := range []struct {
		name string
		do   func(tx *gorm.DB) error
		want error
	}{
		{"another key's id", func(tx *gorm.DB) error { return tx.Create(&purchase{ID: mine.ID, UserID: other}).Error }, idshard.ErrDisagree},
		{"in a batch", func(tx *gorm.DB) error { return tx.Create([]purchase{{UserID: 4}, {ID: mine.ID, UserID: other}}).Error }, idshard.ErrDisagree},
		{"in a map", func(tx *gorm.DB) error {
			return tx.Model(&purchase{}).Create(map[string]any{"ID": mine.ID, "user_id": other, "item": "a", "count": 1}).Error
		}, idshard.ErrDisagree},
		{"Save of several", func(tx *gorm.DB) error { return tx.Save([]purchase{{ID: mine.ID, UserID: other}}).Error }, idshard.ErrDisagree},
		{"no sharding key", func(tx *gorm.DB) error { return tx.Create(&purchase{Item: "a"}).Error }, idshard.ErrKey},
		{"no sharding key in a map", func(tx *gorm.DB) error { return tx.Model(&purchase{}).Create(map[string]any{"item": "a"}).Error }, idshard.ErrKey},
		{"a text for the number in a map", func(tx *gorm.DB) error {
			return tx.Model(&purchase{}).Create(map[string]any{"user_id": "5", "item": "a"}).Error
		}, idshard.ErrKey},
		{"two names in a map", func(tx *gorm.DB) error {
			return tx.Model(&purchase{}).Create(map[string]any{"user_id": 5, "UserID": 6}).Error
		}, idshard.ErrKey},
		{"an id that is a fraction", func(tx *gorm.DB) error {
			return tx.Model(&purchase{}).Create(map[string]any{"id": 5.5, "UserID": 6}).Error
		}, gormplugin.ErrKey},
		{"Omit of the sharding column", func(tx *gorm.DB) error { return tx.Omit("UserID").Create(&purchase{UserID: 5}).Error }, idshard.ErrKey},
		{"Omit of the key", func(tx *gorm.DB) error { return tx.Omit("ID").Create(&purchase{UserID: 5}).Error }, idshard.ErrKey},
		{"Select without the sharding column", func(tx *gorm.DB) error { return tx.Select("Item").Create(&purchase{UserID: 5}).Error }, idshard.ErrKey},
		{"a table", func(tx *gorm.DB) error { return tx.Table("purchases_00").Create(&purchase{UserID: 5}).Error }, shard.ErrUnrouted},
		{"a table of an INSERT", func(tx *gorm.DB) error {
			return tx.Clauses(clause.Insert{Table: clause.Table{Name: "purchases_00"}}).Create(&purchase{UserID: 5}).Error
		}, shard.ErrUnrouted},
		{"an update of the sharding column", func(tx *gorm.DB) error {
			return tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.Assignments(map[string]any{"user_id": 9})}).Create(&purchase{UserID: 5}).Error
		}, gormplugin.ErrUpsert},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tx, log := recorded(db)
			if err := tt.do(tx); !errors.Is(err, tt.want) || len(log.all) > 0 && log.all[0] != "" {
				t.Errorf("got %v and %q, want %v and no SQL", err, log.all, tt.want)
			}
		})
	}
	must(t, db.Table("purchases").Create(&purchase{UserID: 5}).Error) // its own name
	if got := everywhere(t, db, r, "purchases", "item"); len(got) != 2 {
		t.Errorf("got the rows %v, want two", got)
	}
}

func TestCreateWithAContextThatEnds(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 8, &purchase{})
		ctx, cancel := context.WithCancel(t.Context())
		stop := &stopper{after: 3, stop: cancel}
		err := db.Session(&gorm.Session{Logger: stop, Context: ctx}).Create(purchases(60)).Error
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		requirePlaced(t, db, r, nil)
	})
}

// stopper ends a context after some statements.
type stopper struct {
	statements
	after int
	stop  context.CancelFunc
	count int
}

func (s *stopper) LogMode(logger.LogLevel) logger.Interface { return s }
func (s *stopper) Trace(context.Context, time.Time, func() (string, int64), error) {
	if s.count++; s.count == s.after {
		s.stop()
	}
}

func TestCreateDryRun(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := routed(t, db, 4, &purchase{})
	stmt := db.Session(&gorm.Session{DryRun: true}).Create(purchases(40)).Statement
	text := stmt.SQL.String()
	for _, s := range r.Map().Shards() {
		if !strings.Contains(text, "INSERT INTO `"+s.Table("purchases")+"`") {
			t.Errorf("got no INSERT into %s in %s", s.Table("purchases"), text)
		}
	}
	one := db.Session(&gorm.Session{DryRun: true}).Create(&purchase{UserID: 5}).Statement
	if len(one.Vars) != 4 || !strings.HasPrefix(one.SQL.String(), "INSERT INTO `purchases_0") {
		t.Errorf("got %s with %v", one.SQL.String(), one.Vars)
	}
	requirePlaced(t, db, r, nil)
}
