package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// bucketSource counts ids up, with the last three digits for the bucket, which is the sharding key modulo 1000.
type bucketSource struct {
	next  int64
	calls []int64 // the buckets of FillFor
	keys  []any   // of Place
	fail  error
}

func (s *bucketSource) Next(context.Context) (int64, error) { s.next++; return s.next * 1000, nil }
func (s *bucketSource) Fill(ctx context.Context, ids []int64) error {
	return s.FillFor(ctx, 0, ids)
}
func (s *bucketSource) Layout() idgen.Layout { return idgen.Snowkey.Layout }
func (s *bucketSource) Place(_ context.Context, key any) (int64, error) {
	s.keys = append(s.keys, key)
	if key == int64(13) {
		panic("thirteen")
	}
	sum, err := idshard.Sum(key)
	return int64(sum % 1000), errors.Join(err, s.fail)
}
func (s *bucketSource) FillFor(_ context.Context, bucket int64, ids []int64) error {
	s.calls = append(s.calls, bucket)
	for i := range ids {
		s.next++
		ids[i] = s.next*1000 + bucket
	}
	return nil
}
func (s *bucketSource) Check(_ context.Context, id int64, key any) error {
	sum, err := idshard.Sum(key)
	if bucket := int64(sum % 1000); err == nil && id%1000 != bucket {
		return &idshard.DisagreeError{ID: id, Key: key, Bucket: id % 1000, Buckets: []int64{bucket}}
	}
	return err
}

type Stamped struct {
	ID     sqltype.ID `gorm:"snowkey:,shard=user_id"`
	UserID int64
	Code   string `gorm:"snowkey:plain,base32;size:20"`
	change bool
}

func (p *Stamped) BeforeCreate(*gorm.DB) error {
	if p.change {
		p.UserID++
	}
	return nil
}

// usingBuckets opens SQLite with a plugin whose keys are those of a bucketSource.
func usingBuckets(t *testing.T, test func(t *testing.T, db *gorm.DB, source *bucketSource, plugin *gormplugin.Plugin), options ...gormplugin.Option) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "sqlite" {
			return
		}
		generator, err := idgen.New(idgen.Snowkey, idgen.WithNode(7))
		if err != nil {
			t.Fatal(err)
		}
		source := &bucketSource{}
		plugin := gormplugin.New(append(options, gormplugin.From[int64](source), gormplugin.Named[int64]("plain", generator))...)
		if err := errors.Join(db.Use(plugin), db.AutoMigrate(&Stamped{}, &Order{}, &Line{})); err != nil {
			t.Fatal(err)
		}
		test(t, db, source, plugin)
	})
}

func TestShardedKeysAreOfTheirBuckets(t *testing.T) {
	usingBuckets(t, func(t *testing.T, db *gorm.DB, source *bucketSource, _ *gormplugin.Plugin) {
		rows := []Stamped{}
		for _, user := range []int64{5, 6, 5, 7, 6, 5} {
			rows = append(rows, Stamped{UserID: user})
		}
		create(t, db, rows)
		last := map[int64]sqltype.ID{}
		for i, row := range rows {
			if err := source.Check(t.Context(), row.ID.Int64(), row.UserID); err != nil || row.ID <= last[row.UserID] || row.Code == "" {
				t.Errorf("row %d: %+v after %d: %v", i, row, last[row.UserID], err)
			}
			last[row.UserID] = row.ID
		}
		if len(source.calls) != 3 || fmt.Sprintf("%T", source.keys[0]) != "int64" {
			t.Errorf("got calls for the buckets %v with keys as %T, want one each of three", source.calls, source.keys[0])
		}
		create(t, db, &Order{Item: "not sharded"})
	})
}

func TestShardedKeysWithoutARouter(t *testing.T) {
	usingBuckets(t, func(t *testing.T, db *gorm.DB, source *bucketSource, plugin *gormplugin.Plugin) {
		for _, tt := range []struct {
			name string
			row  any
			want error
		}{
			{"no sharding key", &Stamped{}, idshard.ErrKey},
			{"another one's id", &Stamped{ID: 1, UserID: 3}, idshard.ErrDisagree},
			{"a panic", &Stamped{UserID: 13}, gormplugin.ErrSourcePanic},
			{"a row that is nil", []*Stamped{{UserID: 4}, nil}, gorm.ErrInvalidValue},
			{"no rows", []Stamped{}, gorm.ErrEmptySlice},
			{"by value", Stamped{UserID: 4}, gorm.ErrInvalidValue},
		} {
			if err := db.Create(tt.row).Error; !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
			}
		}
		source.fail = errors.New("down")
		if err := db.Create(&Stamped{UserID: 4}).Error; !errors.Is(err, source.fail) {
			t.Errorf("got %v, want the source's error", err)
		}
		source.fail = nil
		var count int64
		if err := db.Model(&Stamped{}).Count(&count).Error; err != nil || count != 0 {
			t.Errorf("got %d rows, %v, want none", count, err)
		}
		set := &Stamped{change: true} // by the hook
		create(t, db, set)
		if err := source.Check(t.Context(), set.ID.Int64(), int64(1)); err != nil || set.UserID != 1 {
			t.Errorf("got %+v: %v", set, err)
		}

		stmt := &gorm.Statement{DB: db}
		for model, want := range map[any]string{&Stamped{}: "ID UserID", &Order{}: ""} {
			if err := stmt.Parse(model); err != nil {
				t.Fatal(err)
			}
			key, by, err := plugin.Sharding(stmt.Schema)
			got := ""
			if key != nil {
				got = key.Name + " " + by.Name
			}
			if err != nil || got != want {
				t.Errorf("%T: got %q, %v, want %q", model, got, err, want)
			}
		}
		var found []Stamped
		tx := gormplugin.Narrow(db, clause.Eq{Column: "user_id", Value: 1}).Where("1 = 1").Or("2 = 2").Find(&found)
		if tx.Error != nil || len(found) != 1 {
			t.Errorf("got %d rows, %v, want the one that is left", len(found), tx.Error)
		}
	})
}

func TestShardingKeyChangedByAHook(t *testing.T) {
	usingBuckets(t, func(t *testing.T, db *gorm.DB, source *bucketSource, _ *gormplugin.Plugin) {
		row := &Stamped{UserID: 3, change: true}
		create(t, db, row)
		if err := source.Check(t.Context(), row.ID.Int64(), row.UserID); err != nil || row.UserID == 3 {
			t.Errorf("got %+v: %v", row, err)
		}
	})
	usingBuckets(t, func(t *testing.T, db *gorm.DB, _ *bucketSource, _ *gormplugin.Plugin) {
		row := &Stamped{UserID: 3, change: true}
		if err := db.Create(row).Error; !errors.Is(err, idshard.ErrDisagree) || row.ID != 0 || count(t, db, &Stamped{}) != 0 {
			t.Errorf("got %v and %+v, want ErrDisagree and no row", err, row)
		}
	}, gormplugin.BeforeHooks())
}

func TestShardingOption(t *testing.T) {
	for name, option := range map[string]gormplugin.Option{
		"no struct": gormplugin.Sharding(5, "UserID"), "nil": gormplugin.Sharding(nil, "UserID"), "no column": gormplugin.Sharding(&Order{}, ""),
	} {
		if err := gormplugin.New(gormplugin.From[int64](&bucketSource{}), option).Initialize(nil); !errors.Is(err, gormplugin.ErrKey) {
			t.Errorf("%s: got %v, want ErrKey", name, err)
		}
	}
	twice := gormplugin.New(gormplugin.From[int64](&bucketSource{}), gormplugin.Sharding(&Order{}, "Item"), gormplugin.Sharding(Order{}, "Item"))
	if err := twice.Initialize(nil); !errors.Is(err, gormplugin.ErrKey) {
		t.Errorf("got %v for a model that is given twice, want ErrKey", err)
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		source := &bucketSource{}
		if err := errors.Join(db.Use(gormplugin.New(gormplugin.From[int64](source), gormplugin.Sharding(&Order{}, "item"))), db.AutoMigrate(&Order{}, &Line{})); err != nil {
			t.Fatal(err)
		}
		rows := []Order{{Item: "a"}, {Item: "b"}, {Item: "a"}}
		create(t, db, rows)
		for _, row := range rows {
			if err := source.Check(t.Context(), row.ID.Int64(), row.Item); err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(source.keys, []any{"a", "b", "a"}) {
			t.Errorf("got the keys %v", source.keys)
		}
	})
}
