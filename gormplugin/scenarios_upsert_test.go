package gormplugin_test

import (
	"errors"
	"testing"

	sqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

var upsertScenarios = []scenario{
	{name: "01 upsert on unique email", id: upsertOne[sqltype.ID], i64: upsertOne[int64], uint: upsertOne[uint], uuid: upsertOne[sqltype.UUID], ulid: upsertOne[sqltype.ULID], text: upsertOne[nano]},
	{name: "02 upsert of a batch, one row conflicts", id: upsertBatch[sqltype.ID], i64: upsertBatch[int64], uint: upsertBatch[uint], uuid: upsertBatch[sqltype.UUID], ulid: upsertBatch[sqltype.ULID], text: upsertBatch[nano]},
	{name: "03 DoNothing, the row conflicts", id: doNothingOne[sqltype.ID], i64: doNothingOne[int64], uint: doNothingOne[uint], uuid: doNothingOne[sqltype.UUID], ulid: doNothingOne[sqltype.ULID], text: doNothingOne[nano]},
	{name: "04 DoNothing batch, rows are skipped", id: doNothingBatch[sqltype.ID], i64: doNothingBatch[int64], uint: doNothingBatch[uint], uuid: doNothingBatch[sqltype.UUID], ulid: doNothingBatch[sqltype.ULID], text: doNothingBatch[nano]},
	{name: "05 DoNothing batch, RowsAffected", id: doNothingAffected[sqltype.ID], i64: doNothingAffected[int64], uint: doNothingAffected[uint], uuid: doNothingAffected[sqltype.UUID], ulid: doNothingAffected[sqltype.ULID], text: doNothingAffected[nano]},
	{name: "06 belongs-to with a unique clash", id: belongsToClash[sqltype.ID], i64: belongsToClash[int64], uint: belongsToClash[uint], uuid: belongsToClash[sqltype.UUID], ulid: belongsToClash[sqltype.ULID], text: belongsToClash[nano]},
	{name: "07 upsert of a parent with has-many", id: upsertParent[sqltype.ID], i64: upsertParent[int64], uint: upsertParent[uint], uuid: upsertParent[sqltype.UUID], ulid: upsertParent[sqltype.ULID], text: upsertParent[nano]},
	{name: "29 clientFoundRows and a DoNothing no-op", id: clientFoundRows[sqltype.ID], i64: clientFoundRows[int64], uint: clientFoundRows[uint], uuid: clientFoundRows[sqltype.UUID], ulid: clientFoundRows[sqltype.ULID], text: clientFoundRows[nano]},
}

// onEmail is what to do about a row of the same address.
func onEmail(c clause.OnConflict) clause.OnConflict {
	c.Columns = []clause.Column{{Name: "email"}}
	return c
}

var updateName = onEmail(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"name"})})

func upsertOne[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	a := Member[K]{Email: "a", Name: "first", Score: 1}
	create(t, db, &a)
	requireMade(t, a.ID)

	again := Member[K]{Email: "a", Name: "second", Score: 2}
	create(t, db.Clauses(updateName), &again)
	if again.ID != a.ID {
		t.Errorf("DoUpdates: got the key %d, want %d of the row", again.ID, a.ID)
	}
	requireMembers(t, db, Member[K]{ID: a.ID, Email: "a", Name: "second", Score: 1})

	all := Member[K]{Email: "a", Name: "third", Score: 3}
	create(t, db.Clauses(onEmail(clause.OnConflict{UpdateAll: true})), &all)
	if all.ID != a.ID {
		t.Errorf("UpdateAll: got the key %d, want %d of the row", all.ID, a.ID)
	}
	same := Member[K]{Email: "a", Name: "third", Score: 3} // nothing changes, so that MySQL reports no row
	create(t, db.Clauses(updateName), &same)
	if same.ID != a.ID {
		t.Errorf("no change: got the key %d, want %d of the row", same.ID, a.ID)
	}
	b := Member[K]{Email: "b", Name: "new"}
	create(t, db.Clauses(updateName), &b)
	requireMade(t, b.ID)
	own := Member[K]{ID: numbered[K](5), Email: "c", Name: "own"}
	create(t, db.Clauses(updateName), &own)
	own.Name = "own again"
	create(t, db.Clauses(clause.OnConflict{UpdateAll: true}), &own)
	requireMembers(t, db, Member[K]{ID: a.ID, Email: "a", Name: "third", Score: 3}, b, Member[K]{ID: numbered[K](5), Email: "c", Name: "own again"})
}

func upsertBatch[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	b := Member[K]{Email: "b", Name: "first"}
	create(t, db, &b)
	want := map[string]K{"b": b.ID}
	check := func(what string, batch []*Member[K]) {
		t.Helper()
		for i, m := range batch {
			if _, known := want[m.Email]; !known {
				requireMade(t, m.ID)
				want[m.Email] = m.ID
			}
			if m.ID != want[m.Email] {
				t.Errorf("%s: got the key %d in element %d, want %d of the row %s", what, m.ID, i, want[m.Email], m.Email)
			}
		}
	}

	batch := []Member[K]{{Email: "a", Name: "second"}, {Email: "b", Name: "second"}, {Email: "c", Name: "second"}}
	create(t, db.Clauses(updateName), &batch)
	check("values", []*Member[K]{&batch[0], &batch[1], &batch[2]})

	pointers := []*Member[K]{{Email: "c", Name: "third"}, {ID: numbered[K](5), Email: "e", Name: "third"}, {Email: "d", Name: "third"}, {Email: "a", Name: "third"}}
	want["e"] = numbered[K](5)
	create(t, db.Clauses(onEmail(clause.OnConflict{UpdateAll: true})), pointers)
	check("pointers", pointers)

	same := []*Member[K]{{Email: "d", Name: "third"}, {Email: "c", Name: "third"}} // no change
	create(t, db.Clauses(updateName), same)
	check("no change", same)
	requireMembers(t, db,
		Member[K]{ID: want["a"], Email: "a", Name: "third"}, Member[K]{ID: want["b"], Email: "b", Name: "second"},
		Member[K]{ID: want["c"], Email: "c", Name: "third"}, Member[K]{ID: want["d"], Email: "d", Name: "third"}, Member[K]{ID: numbered[K](5), Email: "e", Name: "third"})
}

func doNothingOne[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	a := Member[K]{Email: "a", Name: "first"}
	create(t, db, &a)
	for _, conflict := range []clause.OnConflict{{DoNothing: true}, onEmail(clause.OnConflict{DoNothing: true})} {
		phantom := Member[K]{Email: "a", Name: "second"}
		result := db.Clauses(conflict).Create(&phantom)
		if result.Error != nil || result.RowsAffected != 0 || phantom.ID != numbered[K](0) {
			t.Errorf("got the key %d, %d rows, %v, want none", phantom.ID, result.RowsAffected, result.Error)
		}
		own := Member[K]{ID: numbered[K](5), Email: "a", Name: "second"}
		create(t, db.Clauses(conflict), &own)
		if own.ID != numbered[K](5) {
			t.Errorf("got the key %d in place of the caller's 5", own.ID)
		}
	}
	b := Member[K]{Email: "b"}
	result := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&b)
	if result.Error != nil || result.RowsAffected != 1 {
		t.Errorf("no conflict: got %d rows, %v, want 1", result.RowsAffected, result.Error)
	}
	requireMade(t, b.ID)
	requireMembers(t, db, a, b)
}

func doNothingBatch[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	b := Member[K]{Email: "b", Name: "first"}
	create(t, db, &b)
	for _, conflict := range []clause.OnConflict{{DoNothing: true}, onEmail(clause.OnConflict{DoNothing: true})} {
		batch := []Member[K]{{Email: "a", Name: "second"}, {Email: "b", Name: "second"}, {ID: numbered[K](5), Email: "b"}, {Email: "c", Name: "second"}, {ID: numbered[K](6), Email: "d"}}
		create(t, db.Clauses(conflict), &batch)
		requireMade(t, batch[0].ID, batch[3].ID)
		if batch[1].ID != numbered[K](0) || batch[2].ID != numbered[K](5) || batch[4].ID != numbered[K](6) {
			t.Errorf("got the keys %d of a skipped row, %d and %d of ones with a key, want 0, 5 and 6", batch[1].ID, batch[2].ID, batch[4].ID)
		}
		requireMembers(t, db, batch[0], b, batch[3], batch[4])

		none := []*Member[K]{{Email: "a"}, {Email: "b"}}
		create(t, db.Clauses(conflict), none)
		if none[0].ID != numbered[K](0) || none[1].ID != numbered[K](0) {
			t.Errorf("got the keys %d and %d of skipped rows, want none", none[0].ID, none[1].ID)
		}
		requireMembers(t, db, batch[0], b, batch[3], batch[4])
		if err := db.Where("email <> ?", "b").Delete(&Member[K]{}).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func doNothingAffected[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	create(t, db, &[]Member[K]{{Email: "b"}, {Email: "d"}})
	ignore := db.Clauses(clause.OnConflict{DoNothing: true}).Session(&gorm.Session{})
	for _, tt := range []struct {
		batch []Member[K]
		want  int64
	}{
		{[]Member[K]{{Email: "a"}, {Email: "b"}, {Email: "c"}}, 2},
		{[]Member[K]{{Email: "a"}, {Email: "b"}}, 0},
		{[]Member[K]{{Email: "e"}, {Email: "f"}}, 2},
	} {
		before := count(t, db, &Member[K]{})
		result := ignore.Create(&tt.batch)
		if written := count(t, db, &Member[K]{}) - before; result.Error != nil || result.RowsAffected != tt.want || written != tt.want {
			t.Errorf("%d rows: got RowsAffected %d, %v, and %d rows written, want %d", len(tt.batch), result.RowsAffected, result.Error, written, tt.want)
		}
	}
}

// GORM saves what a row belongs to with DoNothing: with a clash the row belongs to the one that is there, never to one that is not.
func belongsToClash[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	a := Member[K]{Email: "a"}
	create(t, db, &a)
	letter := Letter[K]{Text: "x", Member: &Member[K]{Email: "a", Name: "second"}}
	create(t, db, &letter)
	if letter.MemberID != a.ID || letter.Member.ID != a.ID {
		t.Errorf("got a letter of member %d, %d, want %d", letter.MemberID, letter.Member.ID, a.ID)
	}
	letters := []Letter[K]{{Text: "y", Member: &Member[K]{Email: "a"}}, {Text: "z", Member: &Member[K]{Email: "b"}}}
	create(t, db, &letters)
	requireMade(t, letter.ID, letters[0].ID, letters[1].ID, letters[1].MemberID)
	if letters[0].MemberID != a.ID || letters[1].MemberID != letters[1].Member.ID {
		t.Errorf("got letters of the members %d and %d, want %d and %d", letters[0].MemberID, letters[1].MemberID, a.ID, letters[1].Member.ID)
	}
	var stored []K
	if err := db.Model(&Letter[K]{}).Order("text").Pluck("member_id", &stored).Error; err != nil {
		t.Fatal(err)
	}
	if len(stored) != 3 || stored[0] != a.ID || stored[1] != a.ID || stored[2] != letters[1].MemberID {
		t.Errorf("got rows of the members %d, want %d, %d and %d", stored, a.ID, a.ID, letters[1].MemberID)
	}
	requireMembers(t, db, a, *letters[1].Member)
}

func upsertParent[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	a := Member[K]{Email: "a", Letters: []Letter[K]{{Text: "w"}}}
	create(t, db, &a)
	again := Member[K]{Email: "a", Name: "second", Letters: []Letter[K]{{Text: "x"}, {Text: "y"}}}
	create(t, db.Clauses(updateName), &again)
	batch := []Member[K]{{Email: "b", Letters: []Letter[K]{{Text: "v"}}}, {Email: "a", Name: "third", Letters: []Letter[K]{{Text: "z"}}}}
	create(t, db.Clauses(updateName), &batch)
	if again.ID != a.ID || batch[1].ID != a.ID {
		t.Errorf("got the parents %d and %d, want %d", again.ID, batch[1].ID, a.ID)
	}
	requireMade(t, batch[0].ID)
	for _, letter := range []Letter[K]{again.Letters[0], again.Letters[1], batch[1].Letters[0]} {
		requireMade(t, letter.ID)
		if letter.MemberID != a.ID {
			t.Errorf("got a letter of member %d, want %d", letter.MemberID, a.ID)
		}
	}
	for id, want := range map[K]int64{a.ID: 4, batch[0].ID: 1} {
		if n := count(t, db.Where("member_id = ?", id), &Letter[K]{}); n != want {
			t.Errorf("got %d rows of member %d, want %d", n, id, want)
		}
	}
	requireMembers(t, db, Member[K]{ID: a.ID, Email: "a", Name: "third"}, Member[K]{ID: batch[0].ID, Email: "b"})
}

// With clientFoundRows MySQL reports a row that was found and not changed as one that was affected. Elsewhere there is no such
// setting, and the same is done on a second gorm.DB.
func clientFoundRows[K key](t *testing.T, s scene) {
	if s.base.Name() == "mysql" {
		config, err := sqldriver.ParseDSN(dbtest.MySQL(t).DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		config.ClientFoundRows = true
		s.base, err = gorm.Open(mysql.New(mysql.Config{DSN: config.FormatDSN(), DisableWithReturning: !s.returning()}), &gorm.Config{})
		if err != nil {
			t.Fatal(err)
		}
		pool, err := s.base.DB()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pool.Close() })
	}
	db := useMembers[K](t, s)
	a := Member[K]{Email: "a"}
	create(t, db, &a)
	phantom := Member[K]{Email: "a", Name: "second"}
	create(t, db.Clauses(clause.OnConflict{DoNothing: true}), &phantom)
	batch := []Member[K]{{Email: "b"}, {Email: "a"}}
	result := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&batch)
	if phantom.ID != numbered[K](0) || batch[1].ID != numbered[K](0) {
		t.Errorf("got the keys %d and %d of skipped rows, want none", phantom.ID, batch[1].ID)
	}
	if result.Error != nil || result.RowsAffected != 1 {
		t.Errorf("got %d rows, %v, want 1", result.RowsAffected, result.Error)
	}
	requireMade(t, batch[0].ID)
	again := Member[K]{Email: "a"}
	create(t, db.Clauses(updateName), &again)
	if again.ID != a.ID {
		t.Errorf("got the key %d of an upsert without a change, want %d", again.ID, a.ID)
	}
	requireMembers(t, db, a, batch[0])
}

// A row that could have met either of two rows, over two unique indexes, is not known where nothing is returned: the statement fails, and
// nothing is written. The model need not know of the indexes.
func TestUpsertThatCannotBeFollowed(t *testing.T) {
	type Coupon struct {
		ID    sqltype.ID
		Code  string `gorm:"size:64"`
		Alias string `gorm:"size:64"`
		Name  string `gorm:"size:64"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Coupon{})
		for _, column := range []string{"code", "alias"} {
			if err := db.Exec("CREATE UNIQUE INDEX ix_" + column + " ON coupons (" + column + ")").Error; err != nil {
				t.Fatal(err)
			}
		}
		there := []Coupon{{Code: "a", Alias: "x", Name: "first"}, {Code: "b", Alias: "y", Name: "first"}}
		create(t, db, &there)
		update := clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
		batch := []Coupon{{Code: "c", Alias: "z", Name: "second"}, {Code: "a", Alias: "y", Name: "second"}}
		err := db.Clauses(update).Create(&batch).Error
		if !(scene{base: db}).returning() {
			if !errors.Is(err, gormplugin.ErrUpsert) {
				t.Errorf("got %v, want ErrUpsert", err)
			}
			if n := count(t, db.Where("name = ?", "first"), &Coupon{}); n != 2 || count(t, db, &Coupon{}) != 2 {
				t.Errorf("got %d rows of before and %d in all, want 2 and 2", n, count(t, db, &Coupon{}))
			}
			return
		}
		if err != nil || batch[1].ID != there[0].ID {
			t.Errorf("got the key %d, %v, want %d", batch[1].ID, err, there[0].ID)
		}
		if n := count(t, db.Where("name = ?", "second"), &Coupon{}); n != 2 {
			t.Errorf("got %d rows, want 2", n)
		}
	})
}
