package gormplugin_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// watchedMaker makes the ids of a generator and keeps for which buckets it was asked.
type watchedMaker struct {
	*idgen.Snowflake
	calls []int64
	fail  error
}

func (m *watchedMaker) FillFor(ctx context.Context, bucket int64, ids []int64) error {
	m.calls = append(m.calls, bucket)
	return errors.Join(m.fail, m.Snowflake.FillFor(ctx, bucket, ids))
}

// explosive is a sharding key whose Value panics.
type explosive struct{ N int64 }

func (e explosive) Value() (driver.Value, error) {
	if e.N == 13 {
		panic("thirteen")
	}
	return e.N, nil
}

func (e *explosive) Scan(v any) error { e.N, _ = v.(int64); return nil }

func (explosive) GormDataType() string { return "bigint" }

type Stamped struct {
	ID     sqltype.ID `gorm:"snowkey:,shard=user_id"`
	UserID int64      `gorm:"uniqueIndex:of_user"`
	Number int        `gorm:"uniqueIndex:of_user"`
	Code   string     `gorm:"snowkey:plain,base32;size:20"`
	change bool
}

type Explosive struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID explosive
}

func (p *Stamped) BeforeCreate(*gorm.DB) error {
	if p.change {
		p.UserID++
	}
	return nil
}

// usingBuckets opens SQLite with a plugin whose keys are of buckets.
func usingBuckets(t *testing.T, preset idgen.Preset, test func(t *testing.T, db *gorm.DB, source *shard.Source, maker *watchedMaker), options ...gormplugin.Option) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "sqlite" {
			return
		}
		plain, err := idgen.New(idgen.Snowkey, idgen.WithNode(7))
		if err != nil {
			t.Fatal(err)
		}
		generator, err := idgen.New(preset, idgen.WithNode(7), idgen.WithShards())
		if err != nil {
			t.Fatal(err)
		}
		maker := &watchedMaker{Snowflake: generator}
		source, err := shard.NewSource(maker, shard.WithBefore(1_000_000))
		if err != nil {
			t.Fatal(err)
		}
		plugin := gormplugin.New(append(options, gormplugin.From(source), gormplugin.Named("plain", plain))...)
		if err := errors.Join(db.Use(plugin), db.AutoMigrate(&Stamped{}, &Explosive{}, &Order{}, &Line{})); err != nil {
			t.Fatal(err)
		}
		test(t, db, source, maker)
	})
}

func TestShardedKeysAreOfTheirBuckets(t *testing.T) {
	usingBuckets(t, idgen.Sharded, func(t *testing.T, db *gorm.DB, source *shard.Source, maker *watchedMaker) {
		rows := []Stamped{}
		for i, user := range []int64{5, 6, 5, 7, 6, 5} {
			rows = append(rows, Stamped{UserID: user, Number: i})
		}
		create(t, db, rows)
		last := map[int64]sqltype.ID{}
		for i, row := range rows {
			if err := source.Check(row.ID.Int64(), row.UserID); err != nil || row.ID <= last[row.UserID] || row.Code == "" {
				t.Errorf("row %d: %+v after %d: %v", i, row, last[row.UserID], err)
			}
			last[row.UserID] = row.ID
		}
		if len(maker.calls) != 3 {
			t.Errorf("got calls for the buckets %v, want one for each of three", maker.calls)
		}
		order := &Order{Item: "not sharded"}
		create(t, db, order)
		if parts, err := idgen.Sharded.Decode(order.ID.Int64()); err != nil || parts.Shard != 0 {
			t.Errorf("got %+v, %v, want bucket 0", parts, err)
		}
	})
}

// TestShardedKeysOfGrants has the plugin's own node number make keys of buckets, and a generator that was made for all shards.
func TestShardedKeysOfGrants(t *testing.T) {
	generator, err := idgen.New(idgen.Scattered, idgen.WithNode(7), idgen.WithShards())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := idgen.New(idgen.Snowkey, idgen.WithNode(7))
	if err != nil {
		t.Fatal(err)
	}
	named := gormplugin.Named("plain", plain)
	for name, option := range map[string]gormplugin.Option{
		"grants":    gormplugin.Grants(grant.Config{Generator: []idgen.Option{idgen.Scattered, idgen.WithShards()}}),
		"generator": gormplugin.From(generator),
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				plugin := gormplugin.New(option, named)
				if err := errors.Join(db.Use(plugin), db.AutoMigrate(&Stamped{}, &Order{}, &Line{})); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := plugin.Close(); err != nil {
						t.Error(err)
					}
				}()
				row := &Stamped{UserID: -3}
				create(t, db, row)
				create(t, db, &Order{Item: "not sharded"})
				want, err := shard.Bucket(idgen.Scattered.Layout, int64(-3))
				if err != nil {
					t.Fatal(err)
				}
				if parts, err := idgen.Scattered.Decode(row.ID.Int64()); err != nil || parts.Shard != want {
					t.Errorf("got %+v, %v, want bucket %d", parts, err, want)
				}
			})
		})
	}
	db := openOn(t, dsn.SQLite)
	if err := db.Use(gormplugin.New(gormplugin.From(plain), named)); err != nil {
		t.Fatal(err)
	}
	if err := db.Create(&Stamped{UserID: 3}).Error; !errors.Is(err, gormplugin.ErrKey) || !strings.Contains(err.Error(), "WithShards") {
		t.Errorf("a source without shards: got %v, want ErrKey", err)
	}
}

// TestShardedKeysRefused has rows fail whose key cannot fit their sharding key, before any SQL.
func TestShardedKeysRefused(t *testing.T) {
	usingBuckets(t, idgen.Sharded, func(t *testing.T, db *gorm.DB, source *shard.Source, maker *watchedMaker) {
		for _, tt := range []struct {
			name string
			row  any
			want error
		}{
			{"no sharding key", &Stamped{}, shard.ErrKey},
			{"another one's id", &Stamped{ID: 1 << 40, UserID: 3}, shard.ErrDisagree},
			{"another one's id in a batch", []Stamped{{UserID: 3}, {ID: 1 << 40, UserID: 3, Number: 1}}, shard.ErrDisagree},
			{"no id", &Stamped{ID: -1, UserID: 3}, shard.ErrID},
			{"a text for a number", map[string]any{"user_id": "3"}, shard.ErrKey},
			{"a panic", &Explosive{UserID: explosive{13}}, gormplugin.ErrSourcePanic},
			{"a row that is nil", []*Stamped{{UserID: 4}, nil}, gorm.ErrInvalidValue},
			{"no rows", []Stamped{}, gorm.ErrEmptySlice},
			{"by value", Stamped{UserID: 4}, gorm.ErrInvalidValue},
		} {
			tx := db
			if _, isMap := tt.row.(map[string]any); isMap {
				tx = db.Model(&Stamped{})
			}
			if err := tx.Create(tt.row).Error; !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
			}
		}
		maker.fail = errors.New("down")
		if err := db.Create(&Stamped{UserID: 4}).Error; !errors.Is(err, maker.fail) {
			t.Errorf("got %v, want the source's error", err)
		}
		maker.fail = nil
		if n := count(t, db, &Stamped{}); n != 0 {
			t.Errorf("got %d rows, want none", n)
		}
		set := &Stamped{change: true} // by the hook
		for _, row := range []any{set, &Stamped{ID: 999_999, UserID: 3}, &Explosive{UserID: explosive{12}}} {
			create(t, db, row)
		}
		if err := source.Check(set.ID.Int64(), int64(1)); err != nil || set.UserID != 1 {
			t.Errorf("got %+v: %v", set, err)
		}
	})
}

func TestShardingKeyChangedByAHook(t *testing.T) {
	usingBuckets(t, idgen.Sharded, func(t *testing.T, db *gorm.DB, source *shard.Source, _ *watchedMaker) {
		row := &Stamped{UserID: 3, change: true}
		create(t, db, row)
		if err := source.Check(row.ID.Int64(), row.UserID); err != nil || row.UserID == 3 {
			t.Errorf("got %+v: %v", row, err)
		}
	})
	usingBuckets(t, idgen.Sharded, func(t *testing.T, db *gorm.DB, _ *shard.Source, _ *watchedMaker) {
		row := &Stamped{UserID: 3, change: true}
		if err := db.Create(row).Error; !errors.Is(err, shard.ErrDisagree) || row.ID != 0 || count(t, db, &Stamped{}) != 0 {
			t.Errorf("got %v and %+v, want ErrDisagree and no row", err, row)
		}
	}, gormplugin.BeforeHooks())
}

// TestOfShardingKey finds the rows of a sharding key, and those of a time, with the bucket low and on top.
func TestOfShardingKey(t *testing.T) {
	for _, preset := range []idgen.Preset{idgen.Sharded, idgen.Scattered} {
		t.Run(preset.Name(), func(t *testing.T) {
			usingBuckets(t, preset, func(t *testing.T, db *gorm.DB, _ *shard.Source, _ *watchedMaker) {
				start := time.Now().Add(-time.Second)
				rows := []Stamped{{ID: 17, UserID: 5}, {ID: 18, UserID: 6}}
				for i := range 50 {
					rows = append(rows, Stamped{UserID: int64(5 + i%3), Number: i + 1})
				}
				create(t, db, rows)
				later := time.Now().Add(time.Minute) // ids begin up to a second ahead
				for _, tt := range []struct {
					name  string
					scope func(*gorm.DB) *gorm.DB
					want  int
				}{
					{"the rows of 5", gormplugin.OfShardingKey(int64(5)), 18},
					{"another type of integer", gormplugin.OfShardingKey(5), 18},
					{"a pointer", gormplugin.OfShardingKey(&rows[0].UserID), 18},
					{"nobody's", gormplugin.OfShardingKey(99), 0},
					{"of the time", gormplugin.OfShardingKeyBetween(5, start, later), 17},
					{"of all time", gormplugin.OfShardingKeyBetween(5, time.Time{}, later), 17},
					{"before", gormplugin.OfShardingKeyBetween(5, time.Time{}, start), 0},
					{"after", gormplugin.OfShardingKeyBetween(5, later, later.Add(time.Hour)), 0},
				} {
					var found []Stamped
					if err := db.Scopes(tt.scope).Where("1 = 1").Or("2 = 2").Find(&found).Error; err != nil || len(found) != tt.want {
						t.Errorf("%s: got %d rows, %v, want %d", tt.name, len(found), err, tt.want)
					}
					if slices.ContainsFunc(found, func(s Stamped) bool { return s.UserID != 5 }) {
						t.Errorf("%s: got rows of others: %+v", tt.name, found)
					}
				}
				for _, tt := range []struct {
					name  string
					of    any
					scope func(*gorm.DB) *gorm.DB
					want  error
				}{
					{"a text", &[]Stamped{}, gormplugin.OfShardingKey("5"), shard.ErrKey},
					{"nil", &[]Stamped{}, gormplugin.OfShardingKey(nil), shard.ErrKey},
					{"not sharded", &[]Order{}, gormplugin.OfShardingKey(5), gormplugin.ErrNotFilled},
					{"a range that ends before it begins", &[]Stamped{}, gormplugin.OfShardingKeyBetween(5, later, start), gormplugin.ErrRange},
				} {
					if err := db.Scopes(tt.scope).Find(tt.of).Error; !errors.Is(err, tt.want) {
						t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
					}
				}
			})
		})
	}
}

// TestUpsertKeepsTheShardingKey has an upsert over another index leave the sharding column of the row that is there.
func TestUpsertKeepsTheShardingKey(t *testing.T) {
	usingBuckets(t, idgen.Sharded, func(t *testing.T, db *gorm.DB, source *shard.Source, _ *watchedMaker) {
		first := &Stamped{UserID: 3, Number: 1}
		create(t, db, first)
		again := &Stamped{UserID: 3, Number: 1}
		onUser := clause.OnConflict{Columns: []clause.Column{{Name: "user_id"}, {Name: "number"}}, UpdateAll: true}
		if err := db.Clauses(onUser).Create(again).Error; err != nil || again.ID != first.ID {
			t.Errorf("got the id %d, %v, want %d", again.ID, err, first.ID)
		}
		onUser.UpdateAll, onUser.DoUpdates = false, clause.Assignments(map[string]any{"user_id": 4})
		if err := db.Clauses(onUser).Create(&Stamped{UserID: 3, Number: 1}).Error; !errors.Is(err, gormplugin.ErrUpsert) {
			t.Errorf("an upsert that writes the sharding column: got %v, want ErrUpsert", err)
		}
		var left Stamped
		if err := db.First(&left, first.ID).Error; err != nil || left.UserID != 3 || source.Check(left.ID.Int64(), left.UserID) != nil {
			t.Errorf("got %+v, %v", left, err)
		}
	})
}

// TestUpdateOfTheShardingKey refuses an UPDATE with a sharding key that does not fit the key of the row, before its SQL.
func TestUpdateOfTheShardingKey(t *testing.T) {
	usingBuckets(t, idgen.Sharded, func(t *testing.T, db *gorm.DB, source *shard.Source, _ *watchedMaker) {
		row := &Stamped{UserID: 3, Number: 1}
		create(t, db, row)
		other := int64(4) // of another bucket
		for source.Check(row.ID.Int64(), other) == nil {
			other++
		}
		same := int64(4) // of the same bucket
		for source.Check(row.ID.Int64(), same) != nil {
			same++
		}
		moved := *row
		moved.UserID = other
		model := func() *gorm.DB { return db.Model(&Stamped{ID: row.ID}) }
		for name, tt := range map[string]struct {
			tx   func() error
			want error
		}{
			"Save":             {func() error { return db.Save(&moved).Error }, shard.ErrDisagree},
			"Updates":          {func() error { return model().Updates(Stamped{UserID: other}).Error }, shard.ErrDisagree},
			"Updates of a map": {func() error { return model().Updates(map[string]any{"user_id": other}).Error }, shard.ErrDisagree},
			"Update":           {func() error { return model().Update("user_id", other).Error }, shard.ErrDisagree},
			"UpdateColumn":     {func() error { return model().UpdateColumn("user_id", other).Error }, shard.ErrDisagree},
			"of several rows":  {func() error { return db.Model(&[]Stamped{*row}).Update("user_id", other).Error }, shard.ErrDisagree},
			"an expression":    {func() error { return model().Update("user_id", gorm.Expr("user_id + 1")).Error }, shard.ErrKey},
			"NULL":             {func() error { return model().Update("user_id", nil).Error }, shard.ErrKey},
			"a text":           {func() error { return model().Update("user_id", "4").Error }, shard.ErrKey},
			"rows not known":   {func() error { return db.Model(&Stamped{}).Where("id = ?", row.ID).Update("user_id", other).Error }, shard.ErrKey},
			"generics": {func() error {
				_, err := gorm.G[Stamped](db).Where("id = ?", row.ID).Update(t.Context(), "user_id", other)
				return err
			}, shard.ErrKey},
		} {
			if err := tt.tx(); !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", name, err, tt.want)
			}
			var left Stamped
			if err := db.First(&left, row.ID).Error; err != nil || left.UserID != 3 {
				t.Fatalf("%s: got %+v, %v, want the sharding key that the row had", name, left, err)
			}
		}
		row.Number = 2
		for name, err := range map[string]error{
			"Save of another column":            db.Save(row).Error,
			"Updates of another column":         db.Model(&Stamped{}).Where("id = ?", row.ID).Update("number", 3).Error,
			"a sharding key of the same bucket": model().Update("user_id", same).Error,
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestShardingKeysOfAnyType finds rows by sharding keys whose type has a text of its own in the database, or may be NULL, and refuses keys that are text.
func TestShardingKeysOfAnyType(t *testing.T) {
	generator, err := idgen.New(idgen.Scattered, idgen.WithNode(7), idgen.WithShards())
	if err != nil {
		t.Fatal(err)
	}
	type ByStatus struct {
		ID     sqltype.ID `gorm:"snowkey:shard=Status"`
		Status status     `gorm:"type:varchar(10)"`
	}
	type ByName struct {
		ID   sqltype.ID `gorm:"snowkey:shard=Name"`
		Name sql.NullString
	}
	type TextID struct {
		ID     string `gorm:"size:13;primaryKey;snowkey:,base32,shard=UserID"`
		UserID int64
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if err := errors.Join(db.Use(gormplugin.New(gormplugin.From(generator))), db.AutoMigrate(&ByStatus{}, &ByName{}, &TextID{})); err != nil {
			t.Fatal(err)
		}
		create(t, db, &ByStatus{Status: 3})
		name := sql.NullString{String: "ann", Valid: true}
		create(t, db, &ByName{Name: name})
		create(t, db, &TextID{UserID: 9})
		var n int64
		if err := db.Model(&ByStatus{}).Scopes(gormplugin.OfShardingKey(3)).Count(&n).Error; err != nil || n != 1 {
			t.Errorf("by a status: got %d rows, %v, want 1", n, err)
		}
		if err := db.Model(&ByName{}).Scopes(gormplugin.OfShardingKey(name)).Count(&n).Error; err != nil || n != 1 {
			t.Errorf("by a name: got %d rows, %v, want 1", n, err)
		}
		if err := db.Model(&TextID{}).Scopes(gormplugin.OfShardingKey(9)).Count(&n).Error; !errors.Is(err, gormplugin.ErrKey) {
			t.Errorf("keys that are text: got %v, want ErrKey", err)
		}
	})
}

// status is a number that is a text in the database.
type status int

func (s status) Value() (driver.Value, error) { return fmt.Sprintf("s%d", int(s)), nil }

func (s *status) Scan(v any) error {
	_, err := fmt.Sscanf(fmt.Sprintf("%s", v), "s%d", (*int)(s))
	return err
}
