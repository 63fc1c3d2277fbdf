package shard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

type inSchema struct {
	ID     int64 `gorm:"snowkey:shard=UserID"`
	UserID int64
}

func (inSchema) TableName() string { return "app.orders" }

type noColumn struct {
	ID int64 `gorm:"snowkey:shard=UserID"`
}

// TestPart names tables, and finds the database of a statement, of a session and of a transaction.
func TestPart(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		own, far, r := twoDatabases(t, open)
		session := func(name string) *gorm.DB {
			db, err := r.DB(t.Context(), keyIn(t, r.Map(), name))
			must(t, err)
			return db
		}
		begin := func(db *gorm.DB) *gorm.DB {
			tx := db.Begin()
			must(t, tx.Error)
			t.Cleanup(func() { tx.Rollback() })
			return tx
		}
		prepared := &gorm.Session{PrepareStmt: true}
		for name, c := range map[string]struct {
			db          *gorm.DB
			near, other bool // whether the statement's own pool is the one of the first shard, and of the third
			refused     bool // the other one
		}{
			"own":                              {own, true, false, false},
			"own, prepared":                    {own.Session(prepared), true, false, false},
			"far":                              {session("far0"), false, true, false},
			"far, prepared":                    {session("far0").Session(prepared), false, true, false},
			"a transaction":                    {begin(own), true, false, true},
			"a transaction, prepared before":   {begin(own.Session(prepared)), true, false, true},
			"a transaction, prepared after":    {begin(own).Session(prepared), true, false, true},
			"a transaction of far":             {begin(session("far1")), false, true, true},
			"a transaction of far, prepared":   {begin(session("far1").Session(prepared)), false, true, true},
			"a transaction of far, in a scope": {begin(session("far1")).Where("1 = 1"), false, true, true},
			"a transaction in a transaction":   {begin(own).Begin(), true, false, true},
		} {
			if c.db.Error != nil { // a nested transaction is not possible without Transaction
				continue
			}
			for index, want := range map[int]bool{0: c.near, 2: c.other} {
				table, is, err := shard.Part(r, c.db, &purchase{}, index)
				if c.refused && !want {
					if !errors.Is(err, shard.ErrTransaction) {
						t.Errorf("%s, shard %d: got %v, want ErrTransaction", name, index, err)
					}
					continue
				}
				if err != nil || is != want || table != "purchases_00" {
					t.Errorf("%s, shard %d: got %s, own pool %t, %v, want %t", name, index, table, is, err, want)
				}
			}
		}
		_ = far
		if table, _, err := shard.Part(r, own, &inSchema{}, 1); table != "app.orders_01" || err != nil {
			t.Errorf("got %s, %v, want app.orders_01", table, err)
		}
		if _, _, err := shard.Part(r, own, &noColumn{}, 1); !errors.Is(err, shard.ErrModel) {
			t.Errorf("a model without its sharding column: got %v, want ErrModel", err)
		}
	})
}

// TestExplain turns a fence's error into ErrMoved, and no other error.
func TestExplain(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
	refused := errors.New("ERROR: snowkey:fenced: the bucket of this row has moved; read the map again (SQLSTATE P0001)")
	for name, c := range map[string]struct {
		err   error
		moved bool
	}{"none": {nil, false}, "another": {gorm.ErrRecordNotFound, false}, "a fence's": {refused, true}, "its once more": {shard.ErrMoved, true}} {
		tx := db.Session(&gorm.Session{})
		tx.Error = c.err
		shard.Explain(r, tx)
		if errors.Is(tx.Error, shard.ErrMoved) != c.moved || !errors.Is(tx.Error, c.err) {
			t.Errorf("%s: got %v, want ErrMoved %t and the cause", name, tx.Error, c.moved)
		}
	}
	next, err := r.Map().Spread(1, 2)
	must(t, err)
	must(t, storeOf(t, db).Swap(t.Context(), "default", next))
	tx := db.Session(&gorm.Session{})
	tx.Error = refused
	shard.Explain(r, tx)
	if m, err := shard.Current(t.Context(), r); err != nil || m.Version() != 2 {
		t.Errorf("after it: got version %d, %v, want 2", m.Version(), err)
	}
}

// TestExplainInTransaction does not wait for the connection that the transaction holds; the next statement does, for the map.
func TestExplainInTransaction(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
	next, err := r.Map().Spread(1, 2)
	must(t, err)
	must(t, storeOf(t, db).Swap(t.Context(), "default", next))
	pool, err := db.DB()
	must(t, err)
	pool.SetMaxOpenConns(1)
	tx := db.Begin()
	must(t, tx.Error)
	failed := tx.Session(&gorm.Session{})
	failed.Error = errors.New("snowkey:fenced: the bucket of this row has moved")
	shard.Explain(r, failed)
	must(t, tx.Rollback().Error)
	if m, err := shard.Current(t.Context(), r); err != nil || m.Version() != 2 {
		t.Errorf("got version %d, %v, want 2", m.Version(), err)
	}
}

// BenchmarkCurrent is the way of each statement to the map and to its table.
func BenchmarkCurrent(b *testing.B) {
	db := openGORM(b, kinds["sqlite"](b))
	r := use(b, db, shard.Config{Shards: idshard.Tables(16)})
	for b.Loop() {
		if _, err := shard.Current(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// A database tells the table of an id by its bits, which a text has not: All left out rows of other text forms on SQLite and MariaDB.
func TestModelWithTextForItsKey(t *testing.T) {
	type ticket struct {
		ID     string `gorm:"snowkey:,base32,shard=UserID"`
		UserID int64
	}
	db := openGORM(t, kinds["sqlite"](t))
	r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
	for name, do := range map[string]func(*gorm.DB) error{
		"AutoMigrate": func(db *gorm.DB) error { return r.AutoMigrate(db, &ticket{}) },
		"Create":      func(db *gorm.DB) error { return db.Create(&ticket{UserID: 1}).Error },
		"Find":        func(db *gorm.DB) error { return db.Scopes(shard.All()).Find(&[]ticket{}).Error },
	} {
		tx, log := recorded(db)
		if err := do(tx); !errors.Is(err, shard.ErrModel) || slices.ContainsFunc(log.all, func(sql string) bool { return strings.Contains(sql, "tickets_") }) {
			t.Errorf("%s: got %v and %q, want ErrModel and no SQL", name, err, log.all)
		}
	}
}
