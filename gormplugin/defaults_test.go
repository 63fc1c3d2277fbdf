package gormplugin_test

import (
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
)

// Emblem has a column, not the key, that the database fills: GORM has every INSERT return it.
type Emblem struct {
	ID    int64
	Code  string `gorm:"size:64;uniqueIndex"`
	Name  string `gorm:"size:64"`
	Grade string `gorm:"size:8;default:(upper('new'))"`
}

// GORM appends what an INSERT returns to a list of maps, and fails with one by value. With a key that is known neither needs to be.
func TestMapsWithOtherDefaults(t *testing.T) {
	update := clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Emblem{})
		model := db.Model(&Emblem{}).Session(&gorm.Session{})
		one, byValue, byPointer := map[string]any{"code": "a"}, []map[string]any{{"code": "b"}, {"code": "c"}}, []map[string]any{{"code": "d"}, {"code": "e"}}
		create(t, model, one)
		if err := model.Create(byValue).Error; err != nil {
			t.Errorf("by value: got %v", err)
		}
		if err := model.Create(&byPointer).Error; err != nil || len(byPointer) != 2 {
			t.Errorf("by pointer: got %d maps back: %v, %v, want 2", len(byPointer), byPointer, err)
		}
		upsert := []map[string]any{{"code": "a", "name": "second"}, {"code": "f", "name": "second"}}
		if err := model.Clauses(update).Create(&upsert).Error; err != nil || len(upsert) != 2 || upsert[0]["id"] != one["id"] {
			t.Errorf("upsert: got %d maps back: %v, %v, want 2, the first with the key %d", len(upsert), upsert, err, one["id"])
		}
		if n := count(t, db.Where("grade = ?", "NEW"), &Emblem{}); n != 6 {
			t.Errorf("got %d rows, want 6", n)
		}
	})
}

// GORM gives what is returned to the first rows of a batch, also when these were skipped.
func TestDoNothingWithOtherDefaults(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Emblem{})
		create(t, db, &Emblem{Code: "a"})
		batch := []Emblem{{Code: "a"}, {Code: "b"}, {Code: "c"}}
		result := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&batch)
		if result.Error != nil || result.RowsAffected != 2 || batch[0].ID != 0 {
			t.Errorf("got %d rows, %v, and the key %d of a skipped row, want 2 and none", result.RowsAffected, result.Error, batch[0].ID)
		}
		if batch[0].Grade != "" {
			t.Errorf("got the grade %q of another row in one that was skipped", batch[0].Grade)
		}
		requireMade(t, batch[1].ID, batch[2].ID)
		alone := Emblem{Code: "a"}
		create(t, db.Clauses(clause.OnConflict{DoNothing: true}), &alone)
		if alone.ID != 0 || alone.Grade != "" {
			t.Errorf("got the row %+v, want nothing of one that was skipped", alone)
		}
	})
}

// A RETURNING clause of the caller's own does not change what a batch reports.
func TestDoNothingWithReturning(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Emblem{})
		create(t, db, &Emblem{Code: "a"})
		for i, returning := range []clause.Returning{{Columns: []clause.Column{{Name: "id"}}}, {}} {
			batch := []Emblem{{Code: "a"}, {Code: string(rune('b' + i))}}
			result := db.Clauses(clause.OnConflict{DoNothing: true}, returning).Create(&batch)
			if result.Error != nil || result.RowsAffected != 1 {
				t.Errorf("%d columns: got RowsAffected %d, %v, of one row that was written, want 1", len(returning.Columns), result.RowsAffected, result.Error)
			}
		}
		if n := count(t, db, &Emblem{}); n != 3 {
			t.Errorf("got %d rows, want 3", n)
		}
	})
}
