package shard_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
)

// outdated are processes that have the map from before a split: one whose lease is not over, one that writes for ever by it, and some that stand still in a
// statement.
type outdated struct {
	t       *testing.T
	rows    []trade // that nobody else writes to
	moving  trade   // one of them, of a bucket that moves
	reader  *gorm.DB
	of      *shard.Router // the reader's
	writer  *gorm.DB
	asleep  *gorm.DB
	create  [2]*sleeper
	others  map[string]*sleeper
	written []trade
}

func newOutdated(t *testing.T, m *market, rows []trade) *outdated {
	t.Helper()
	o := &outdated{t: t, rows: rows, others: map[string]*sleeper{}}
	for _, row := range rows {
		if row.ID%8 >= 4 {
			o.moving = row
		}
	}
	o.reader, o.of = m.process(t)
	shard.Prolong(o.of)
	var writer *shard.Router
	o.writer, writer = m.process(t)
	shard.Prolong(writer)
	db, _ := m.process(t)
	o.asleep = db.Session(&gorm.Session{SkipDefaultTransaction: true}) // one that is begun has locks, and the move waits for it
	return o
}

// at is called when a split has come to a state, and does what belongs there.
func (o *outdated) at(state string) {
	switch state {
	case "verify": // the tables are fenced
		o.refused("a statement before the flip", o.writer.Create(&trade{UserID: o.moving.UserID}).Error)
		o.sleep()
	case "lease": // the new map is in force
		o.refused("a statement after the flip", o.writer.Create(&trade{UserID: o.moving.UserID}).Error)
		o.refused("a row that was late", o.create[0].wake())
		o.read()
	case "after": // the rows are not where they were
		o.refused("a row that was very late", o.create[1].wake())
		for name, s := range o.others {
			o.refused(name, s.wake())
		}
		row := trade{UserID: o.moving.UserID, Item: "late"}
		must(o.t, o.writer.Create(&row).Error)
		changed := o.moving
		changed.Item = "late"
		must(o.t, one(o.asleep.Save(&changed)))
		o.written = append(o.written, row, changed)
	}
}

// refused fails unless the error is an ErrMoved.
func (o *outdated) refused(what string, err error) {
	o.t.Helper()
	if !errors.Is(err, shard.ErrMoved) {
		o.t.Errorf("%s, by the map from before: got %v, want ErrMoved", what, err)
	}
}

// sleep has processes stand still in statements that were routed by the map from before.
func (o *outdated) sleep() {
	for i := range o.create {
		o.create[i] = fallAsleep(0, func(l late) error {
			return o.asleep.Model(&trade{}).Create(map[string]any{"user_id": o.moving.UserID, "item": l}).Error
		})
	}
	o.others["an update"] = fallAsleep(0, func(l late) error {
		return o.asleep.Model(&trade{ID: o.moving.ID}).UpdateColumn("item", l).Error
	})
	o.others["a delete"] = fallAsleep(0, func(l late) error {
		return o.asleep.Where("item <> ?", l).Delete(&trade{}, o.moving.ID).Error
	})
	o.others["a query by key"] = fallAsleep(0, func(l late) error {
		return o.asleep.Where("item <> ?", l).Scopes(shard.ByKey(o.moving.UserID)).Find(&[]trade{}).Error
	})
	o.others["Row"] = fallAsleep(0, func(l late) error {
		var item string
		return o.asleep.Model(&trade{}).Select("item").Where("item <> ?", l).Scopes(shard.ByID(o.moving.ID)).Row().Scan(&item)
	})
	for name, skip := range map[string]int64{"a query of all, at its first table": 0, "a query of all, at its last": 3} {
		o.others[name] = fallAsleep(skip, func(l late) error {
			return o.asleep.Where("item <> ?", l).Scopes(shard.All()).Find(&[]trade{}).Error
		})
	}
}

// read wants a process whose lease is not over to see all rows by the map from before.
func (o *outdated) read() {
	var rows []trade
	if err := o.reader.Where("item = ?", "still").Scopes(shard.All()).Find(&rows).Error; err != nil || len(rows) != len(o.rows) {
		o.t.Errorf("by the map from before: got %d rows, %v, want %d", len(rows), err, len(o.rows))
	}
	for _, row := range o.rows[:20] {
		var got, by trade
		if err := errors.Join(o.reader.First(&got, row.ID).Error, o.reader.Scopes(shard.ByKey(row.UserID)).First(&by).Error); err != nil || got != row || by != row {
			o.t.Errorf("by the map from before: got %+v and %+v, %v, want %+v", got, by, err, row)
		}
	}
	if got := o.of.Map().Version(); got != 1 {
		o.t.Errorf("the reader has version %d of the map, want 1", got)
	}
}

// end wakes those that stand still.
func (o *outdated) end() {
	for _, s := range append(slices.Collect(maps.Values(o.others)), o.create[:]...) {
		if s != nil {
			_ = s.wake()
		}
	}
}
