package gormplugin_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/plugin/dbresolver"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Memo is what most applications have: a gorm.Model, whose key is a uint and which is deleted softly.
type Memo struct {
	gorm.Model
	Slug string `gorm:"size:64;uniqueIndex"`
	Text string `gorm:"size:64"`
}

// otherSettings runs each thing on tables that are auto-increment still and on ones that were made without.
func otherSettings(t *testing.T, s scene) {
	for i, tt := range []struct {
		name string
		test func(t *testing.T, s scene)
	}{
		{"gorm.Model", gormModel}, {"gen", genStatements}, {"Unscoped", unscoped}, {"ToSQL", toSQL}, {"savepoint", savepoint},
		{"PrepareStmt", prepareStmt}, {"dbresolver", resolver}, {"composite key", compositeKey}, {"nil embedded pointer", nilEmbedded},
		{"other defaults", otherDefaults},
	} {
		for name, prepared := range map[string]bool{"auto-increment": false, "prepared": true} {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				tt.test(t, scene{base: s.base, prefix: fmt.Sprintf("%s%d%c_", s.prefix, i, name[0]), all: true, prepared: prepared})
			})
		}
	}
}

// requireMemos fails unless the table holds these memos, deleted or not, and no others.
func requireMemos(t *testing.T, db *gorm.DB, want ...Memo) {
	t.Helper()
	var rows []Memo
	if err := db.Unscoped().Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	texts := func(memos []Memo) map[string]string {
		m := map[string]string{}
		for _, n := range memos {
			m[n.Slug] = fmt.Sprint(n.ID, " ", n.Text, " ", n.DeletedAt.Valid)
		}
		return m
	}
	if got, want := texts(rows), texts(want); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got the rows %v, want %v", got, want)
	}
}

func gormModel(t *testing.T, s scene) {
	db := s.use(t, &Memo{})
	a, batch, m := Memo{Slug: "a"}, []*Memo{{Slug: "b"}, {Slug: "c", Model: gorm.Model{ID: 5}}}, map[string]any{"slug": "d"}
	create(t, db, &a)
	create(t, db, batch)
	create(t, db.Model(&Memo{}), m)
	requireMade(t, a.ID, batch[0].ID)
	if batch[1].ID != 5 || a.CreatedAt.IsZero() || a.UpdatedAt.IsZero() {
		t.Errorf("got the key %d and the memo %+v, want 5 and times", batch[1].ID, a)
	}
	requireMemos(t, db, a, *batch[0], *batch[1], Memo{Model: gorm.Model{ID: mapKey[uint](t, m, "id")}, Slug: "d"})
}

// gorm/gen gives Create a slice of pointers by value, also for one row, with a model beside it.
func genStatements(t *testing.T, s scene) {
	db := s.use(t, &Memo{})
	do := func() *gorm.DB {
		return db.Session(&gorm.Session{NewDB: true, Context: context.Background()}).Model(new(Memo))
	}
	single, several := &Memo{Slug: "a", Text: "first"}, []*Memo{{Slug: "b", Text: "first"}, {Slug: "c", Text: "first"}}
	create(t, do(), []*Memo{single})
	create(t, do(), several)
	if err := do().CreateInBatches([]*Memo{{Slug: "d", Text: "first"}, {Slug: "e", Text: "first"}}, 1).Error; err != nil {
		t.Fatal(err)
	}
	requireMade(t, single.ID, several[0].ID, several[1].ID)
	again, fresh := &Memo{Slug: "a", Text: "second"}, &Memo{Slug: "f", Text: "second"}
	create(t, do().Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "slug"}}, UpdateAll: true}), []*Memo{again, fresh})
	if again.ID != single.ID {
		t.Errorf("got the key %d of an upsert, want %d", again.ID, single.ID)
	}
	several[0].Text = "saved"
	create(t, do().Clauses(clause.OnConflict{UpdateAll: true}), []*Memo{several[0]}) // what its Save does
	phantom := &Memo{Slug: "b"}
	create(t, do().Clauses(clause.OnConflict{DoNothing: true}), []*Memo{phantom})
	if phantom.ID != 0 {
		t.Errorf("got the key %d of a row that was not written", phantom.ID)
	}
	var de []Memo
	if err := db.Where("slug IN ?", []string{"d", "e"}).Find(&de).Error; err != nil || len(de) != 2 {
		t.Fatalf("got %d rows of a batch, %v, want 2", len(de), err)
	}
	requireMade(t, de[0].ID, de[1].ID, fresh.ID)
	requireMemos(t, db, append(de, *again, *several[0], *several[1], *fresh)...)
}

func unscoped(t *testing.T, s scene) {
	db := s.use(t, &Memo{})
	a, b := Memo{Slug: "a"}, Memo{Slug: "b", Text: "first"}
	create(t, db.Unscoped(), &a)
	create(t, db.Unscoped(), &[]*Memo{&b})
	requireMade(t, a.ID, b.ID)
	if err := db.Delete(&b).Error; err != nil {
		t.Fatal(err)
	}
	again := Memo{Slug: "b", Text: "second"} // meets the row that is deleted
	create(t, db.Unscoped().Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "slug"}}, DoUpdates: clause.AssignmentColumns([]string{"text", "deleted_at"})}), &again)
	if again.ID != b.ID {
		t.Errorf("got the key %d, want %d", again.ID, b.ID)
	}
	if err := db.Delete(&again).Error; err != nil {
		t.Fatal(err)
	}
	batch := []Memo{{Slug: "b", Text: "third"}, {Slug: "c"}}
	create(t, db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "slug"}}, DoUpdates: clause.AssignmentColumns([]string{"text"})}), &batch)
	if batch[0].ID != b.ID {
		t.Errorf("a batch that meets a deleted row: got the key %d, want %d", batch[0].ID, b.ID)
	}
	requireMade(t, batch[1].ID)
	again.Text = "third"
	requireMemos(t, db, a, again, batch[1])
	if err := db.Unscoped().Delete(&a).Error; err != nil {
		t.Fatal(err)
	}
	requireMemos(t, db, again, batch[1])
}

func toSQL(t *testing.T, s scene) {
	db := s.use(t, &Memo{})
	memo := Memo{Slug: "a"}
	sql := db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&memo) })
	if memo.ID != 0 || !regexp.MustCompile(`\b\d{16,}\b`).MatchString(sql) || strings.Contains(sql, "RETURNING") {
		t.Errorf("got %s, and the key %d, want a key in the SQL alone and no RETURNING", sql, memo.ID)
	}
	upsert := db.ToSQL(func(tx *gorm.DB) *gorm.DB {
		return tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "slug"}}, UpdateAll: true}).Create(&[]Memo{{Slug: "a"}, {Slug: "b"}})
	})
	if !strings.HasPrefix(upsert, "INSERT") {
		t.Errorf("got %s, want an INSERT", upsert)
	}
	requireMemos(t, db)
	create(t, db, &memo)
	requireMemos(t, db, memo)
}

func savepoint(t *testing.T, s scene) {
	db := s.use(t, &Memo{})
	kept, lost, after, inner := Memo{Slug: "a"}, Memo{Slug: "b"}, Memo{Slug: "b"}, Memo{Slug: "c"}
	err := db.Transaction(func(tx *gorm.DB) error {
		create(t, tx, &kept)
		tx.SavePoint("here")
		create(t, tx, &[]*Memo{&lost})
		tx.RollbackTo("here")
		create(t, tx, &after)
		_ = tx.Transaction(func(tx *gorm.DB) error {
			create(t, tx, &Memo{Slug: "d"})
			return gorm.ErrInvalidTransaction
		})
		return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&inner).Error })
	})
	if err != nil {
		t.Fatal(err)
	}
	requireMade(t, kept.ID, lost.ID, after.ID, inner.ID)
	requireMemos(t, db, kept, after, inner)
}

func prepareStmt(t *testing.T, s scene) {
	db := s.use(t, &Memo{}).Session(&gorm.Session{PrepareStmt: true})
	var want []Memo
	for i := range 3 { // the statement of the first is used again
		memo, batch := Memo{Slug: fmt.Sprint(i)}, []Memo{{Slug: fmt.Sprint(i, "b")}, {Slug: fmt.Sprint(i, "c")}}
		create(t, db, &memo)
		create(t, db, &batch)
		again := Memo{Slug: fmt.Sprint(i), Text: "second"}
		upsert := db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "slug"}}, DoUpdates: clause.AssignmentColumns([]string{"text"})}).Session(&gorm.Session{})
		create(t, upsert, &again)
		several := []Memo{{Slug: fmt.Sprint(i, "b"), Text: "second"}, {Slug: fmt.Sprint(i, "d")}}
		create(t, upsert, &several)
		if again.ID != memo.ID || several[0].ID != batch[0].ID {
			t.Errorf("got the keys %d and %d of upserts, want %d and %d", again.ID, several[0].ID, memo.ID, batch[0].ID)
		}
		requireMade(t, memo.ID, batch[0].ID, batch[1].ID, several[1].ID)
		want = append(want, again, batch[1], several[0], several[1])
	}
	requireMemos(t, db, want...)
}

// anew returns a dialector of another empty database of the same kind, which may be opened once.
func anew(t *testing.T, db *gorm.DB) gorm.Dialector {
	t.Helper()
	database := map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}[db.Name()](t)
	parsed, pool := openPool(t, database.DSN)
	if !(scene{base: db}).returning() {
		return mysql.New(mysql.Config{Conn: pool, DisableWithReturning: true})
	}
	return parsed.Dialector(pool)
}

// resolver reads from a replica that has nothing but the table, and so shows what is read from there.
func resolver(t *testing.T, s scene) {
	db := s.use(t, &Memo{})
	other := anew(t, db)
	replica := s
	replica.base = &gorm.DB{Config: &gorm.Config{Dialector: other}}
	replica.use(t, &Memo{})
	if err := db.Use(dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{other}})); err != nil {
		t.Fatal(err)
	}
	var all []Memo
	for _, session := range []*gorm.Session{{}, {SkipDefaultTransaction: true}} {
		db := db.Session(session)
		name := fmt.Sprint(session.SkipDefaultTransaction)
		a, batch, m := Memo{Slug: name}, []Memo{{Slug: name + "b"}, {Slug: name + "c"}}, map[string]any{"slug": name + "d"}
		create(t, db, &a)
		create(t, db, &batch)
		create(t, db.Model(&Memo{}), m)
		update := db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "slug"}}, DoUpdates: clause.AssignmentColumns([]string{"text"})}).Session(&gorm.Session{})
		again, several := Memo{Slug: name, Text: "second"}, []Memo{{Slug: name + "e"}, {Slug: name + "b", Text: "second"}}
		create(t, update, &again)
		create(t, update, &several)
		if again.ID != a.ID || several[1].ID != batch[0].ID {
			t.Errorf("SkipDefaultTransaction %s: got the keys %d and %d of upserts, want %d and %d of the source", name, again.ID, several[1].ID, a.ID, batch[0].ID)
		}
		skipped := []Memo{{Slug: name}, {Slug: name + "f"}}
		create(t, db.Clauses(clause.OnConflict{DoNothing: true}), &skipped)
		if skipped[0].ID != 0 {
			t.Errorf("SkipDefaultTransaction %s: got the key %d of a row that was not written", name, skipped[0].ID)
		}
		requireMade(t, a.ID, batch[0].ID, batch[1].ID, several[0].ID, skipped[1].ID)
		all = append(all, again, batch[1], Memo{Model: gorm.Model{ID: mapKey[uint](t, m, "id")}, Slug: name + "d"}, several[0], several[1], skipped[1])
	}
	requireMemos(t, db) // the replica
	requireMemos(t, db.Clauses(dbresolver.Write).Session(&gorm.Session{}), all...)
}

// Of the members of a composite key only one named ID is filled, when its type or a tag says so.
func compositeKey(t *testing.T, s scene) {
	type Typed struct {
		Tenant int64      `gorm:"primaryKey;autoIncrement:false"`
		ID     sqltype.ID `gorm:"primaryKey"`
	}
	type Tagged struct {
		Tenant int64 `gorm:"primaryKey;autoIncrement:false"`
		ID     int64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
	}
	type Untouched struct {
		Tenant int64 `gorm:"primaryKey;autoIncrement:false"`
		Number int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	db := s.use(t, &Typed{}, &Tagged{}, &Untouched{})
	typed, tagged, untouched := []Typed{{Tenant: 3}, {}, {Tenant: 3}}, []Tagged{{Tenant: 3}, {}, {Tenant: 3}}, Untouched{Tenant: 3}
	create(t, db, &typed)
	create(t, db, &tagged)
	create(t, db, &untouched)
	for i, tenant := range []int64{3, 0, 3} {
		requireMade(t, typed[i].ID)
		requireMade(t, tagged[i].ID)
		if typed[i].Tenant != tenant || tagged[i].Tenant != tenant {
			t.Errorf("got the tenants %d and %d, want %d", typed[i].Tenant, tagged[i].Tenant, tenant)
		}
		if n := count(t, db.Where("tenant = ? AND id = ?", tenant, typed[i].ID), &Typed{}); n != 1 {
			t.Errorf("got %d rows %v, want 1", n, typed[i])
		}
		if n := count(t, db.Where("tenant = ? AND id = ?", tenant, tagged[i].ID), &Tagged{}); n != 1 {
			t.Errorf("got %d rows %v, want 1", n, tagged[i])
		}
	}
	if n := count(t, db.Where("tenant = 3 AND number = 0"), &Untouched{}); n != 1 || untouched != (Untouched{Tenant: 3}) {
		t.Errorf("got %d rows and %v, want the key untouched", n, untouched)
	}
}

func nilEmbedded(t *testing.T, s scene) {
	type Root struct {
		ID     int64
		Author string
	}
	type Leaf struct {
		*Root
		Text string
	}
	db := s.use(t, &Leaf{})
	leaves := []Leaf{{Text: "a"}, {Root: &Root{Author: "x"}, Text: "b"}, {Root: &Root{ID: 5}, Text: "c"}}
	single := Leaf{Text: "d"}
	create(t, db, &leaves)
	create(t, db, &single)
	if leaves[0].Root == nil || single.Root == nil {
		t.Fatal("got no embedded struct")
	}
	requireMade(t, leaves[0].ID, leaves[1].ID, single.ID)
	requireKeys(t, db, &Leaf{}, leaves[0].ID, leaves[1].ID, 5, single.ID)
	if leaves[1].Author != "x" {
		t.Errorf("got the author %q, want x", leaves[1].Author)
	}
}

// Columns that the database fills are still read back where GORM does that.
func otherDefaults(t *testing.T, s scene) {
	type Ticket struct {
		ID    int64
		Text  string
		Grade string `gorm:"size:8;default:(upper('new'))"`
	}
	db := s.use(t, &Ticket{})
	one, batch := Ticket{Text: "a"}, []Ticket{{Text: "b"}, {Text: "c"}}
	create(t, db, &one)
	create(t, db, &batch)
	for _, ticket := range []Ticket{one, batch[0], batch[1]} {
		requireMade(t, ticket.ID)
		if s.returning() && ticket.Grade != "NEW" {
			t.Errorf("got the grade %q of the key %d, want NEW", ticket.Grade, ticket.ID)
		}
		if n := count(t, db.Where("id = ? AND text = ? AND grade = ?", ticket.ID, ticket.Text, "NEW"), &Ticket{}); n != 1 {
			t.Errorf("got %d rows of the key %d, want 1", n, ticket.ID)
		}
	}
	if n := count(t, db, &Ticket{}); n != 3 {
		t.Errorf("got %d rows, want 3", n)
	}
}
