package shard_test

import (
	"errors"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

type (
	album struct {
		ID    sqltype.ID `gorm:"snowkey:shard=Owner"`
		Owner int64
		Songs []song `gorm:"many2many:album_songs"`
	}
	song struct {
		ID     sqltype.ID `gorm:"snowkey:shard=Singer"`
		Singer int64
	}
	albumSong struct {
		AlbumID, SongID sqltype.ID `gorm:"primaryKey"`
	}
)

// GORM gives the columns of a join table the tags of the keys that they refer to.
func TestCreateOfManyToMany(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 4, &album{}, &song{}, &albumSong{})
		albums := []album{{Owner: 1, Songs: []song{{Singer: 1}, {Singer: 2}}}, {Owner: 2, Songs: []song{{Singer: 3}}}}
		must(t, db.Create(&albums).Error)
		must(t, db.Model(&albums[1]).Association("Songs").Append(&song{Singer: 9}, &albums[0].Songs[0]))
		must(t, db.Save(&albums[0]).Error)
		var joined int64
		must(t, db.Model(&albumSong{}).Count(&joined).Error)
		singers := everywhere(t, db, r, "songs", "singer")
		if got := everywhere(t, db, r, "albums", "owner"); len(got) != 2 || len(singers) != 4 || joined != 5 {
			t.Errorf("got %d albums, %d songs and %d in the join table, want 2, 4 and 5", len(got), len(singers), joined)
		}
		for _, song := range append(albums[0].Songs, albums[1].Songs...) {
			if singers[song.ID.Int64()] != fmt.Sprint(song.Singer) || r.Map().Check(song.ID.Int64(), song.Singer) != nil {
				t.Errorf("got %q for %+v", singers[song.ID.Int64()], song)
			}
		}
	})
}

// The relations of a row are saved with the pool of its database.
func TestSaveOfAssociationsOverDatabases(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		all, r := servers(t, open, &album{}, &song{}, &albumSong{})
		for _, name := range []string{"b", "c"} { // a table that nobody reads
			must(t, all[name].AutoMigrate(&albumSong{}))
		}
		db, joined := all[""], int64(0)
		for owner := range int64(6) {
			row := album{Owner: owner + 1}
			must(t, db.Create(&row).Error)
			for i, session := range []gorm.Session{{}, {SkipDefaultTransaction: true}} {
				row.Songs = append(row.Songs, song{Singer: owner + int64(i) + 1})
				must(t, db.Session(&session).Save(&row).Error)
				joined++
			}
			must(t, db.Model(&row).Association("Songs").Append(&song{Singer: owner + 5}))
			joined++
		}
		count := func(db *gorm.DB) (n int64) { must(t, db.Model(&albumSong{}).Count(&n).Error); return n }
		if b, c := count(all["b"]), count(all["c"]); count(db) != joined || b+c > 0 {
			t.Errorf("got %d rows of the join table, and %d and %d in other databases; want %d and none", count(db), b, c, joined)
		}
		if got := spread(t, all, r, "songs", "singer"); int64(len(got)) != joined {
			t.Errorf("got %d songs, want %d", len(got), joined)
		}

		there, err := r.DB(t.Context(), keyOf(t, r, "b"))
		must(t, err)
		err = there.Transaction(func(tx *gorm.DB) error { return tx.Create(&albumSong{AlbumID: 1, SongID: 1}).Error })
		if !errors.Is(err, shard.ErrTransaction) || count(all["b"]) > 0 {
			t.Errorf("got %v and %d rows in b, want ErrTransaction and none", err, count(all["b"]))
		}
	})
}

// keyOf returns a sharding key whose rows are in a database.
func keyOf(t *testing.T, r *shard.Router, database string) (key int64) {
	t.Helper()
	for {
		key++
		of, err := r.Map().OfKey(nil, key)
		if must(t, err); r.Map().Shard(of[0]).Database == database {
			return key
		}
	}
}
