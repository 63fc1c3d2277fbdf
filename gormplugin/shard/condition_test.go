package shard_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

type (
	// Keyed is the key of models that have it in an embedded struct.
	Keyed struct {
		ID int64 `gorm:"primaryKey"`
	}
	byValue struct {
		Text string
		Keyed
		UserID int64
	}
	byPointer struct {
		Text string
		*Keyed
		UserID int64
	}
	named struct {
		Text   string
		Key    Keyed `gorm:"embedded;embeddedPrefix:my_"`
		UserID int64
	}
	unsigned struct {
		Text   string
		ID     uint64
		UserID int64
	}
	pointed struct {
		Text   string
		ID     *int64
		UserID int64
	}
)

// TestKeyOfRow routes by the key in a struct, wherever it is in there, and finds none in a struct without one.
func TestKeyOfRow(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		var models []shard.Model
		for _, of := range []any{&byValue{}, &byPointer{}, &named{}, &unsigned{}, &pointed{}} {
			models = append(models, shard.Model{Of: of, Column: "UserID"})
		}
		db := open()
		router := use(t, db, shard.Config{Shards: idshard.Tables(4), Models: models})
		keyOfRow(t, db, router, &byValue{Text: "a", UserID: 7}, func(row *byValue) any { return &byValue{Keyed: row.Keyed} })
		keyOfRow(t, db, router, &byPointer{Text: "a", Keyed: &Keyed{}, UserID: 7}, func(row *byPointer) any { return &byPointer{Keyed: row.Keyed} })
		keyOfRow(t, db, router, &named{Text: "a", UserID: 7}, func(row *named) any { return &named{Key: row.Key} })
		keyOfRow(t, db, router, &unsigned{Text: "a", UserID: 7}, func(row *unsigned) any { return &unsigned{ID: row.ID} })
		keyOfRow(t, db, router, &pointed{Text: "a", UserID: 7}, func(row *pointed) any { return &pointed{ID: row.ID} })
	})
}

// keyOfRow finds a row, changes and deletes it by a struct with nothing but its key, and fails with one without.
func keyOfRow[T any](t *testing.T, db *gorm.DB, router *shard.Router, row *T, key func(*T) any) {
	t.Helper()
	must(t, router.AutoMigrate(db, row))
	must(t, db.Create(row).Error)
	if tx := db.Model(key(row)).Update("text", "b"); tx.Error != nil || tx.RowsAffected != 1 {
		t.Errorf("%T: update: got %d rows, %v, want 1", row, tx.RowsAffected, tx.Error)
	}
	if tx := db.Take(key(row), "text = ?", "b"); tx.Error != nil {
		t.Errorf("%T: take: got %v", row, tx.Error)
	}
	if tx := db.Delete(key(row)); tx.Error != nil || tx.RowsAffected != 1 {
		t.Errorf("%T: delete: got %d rows, %v, want 1", row, tx.RowsAffected, tx.Error)
	}
	for name, got := range map[string]error{
		"take":   db.Take(new(T)).Error,
		"update": db.Model(new(T)).Update("text", "c").Error,
		"delete": db.Delete(new(T)).Error,
	} {
		if !errors.Is(got, shard.ErrUnrouted) {
			t.Errorf("%T without its key: %s: got %v, want ErrUnrouted", row, name, got)
		}
	}
}
