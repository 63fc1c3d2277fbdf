package gormplugin_test

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Rows that are counted, and that nobody reads afterwards.
func ExampleWithoutKeys() {
	type Visit struct {
		ID    sqltype.ID
		Page  string `gorm:"uniqueIndex"`
		Count int
	}
	db := open(gormplugin.New(gormplugin.From(node(7))), &Visit{})
	more := clause.OnConflict{Columns: []clause.Column{{Name: "page"}}, DoUpdates: clause.Assignments(map[string]any{"count": gorm.Expr("visits.count + excluded.count")})}
	for _, visits := range [][]Visit{{{Page: "/", Count: 1}, {Page: "/tea", Count: 2}}, {{Page: "/", Count: 3}}} {
		if err := db.Clauses(more, gormplugin.WithoutKeys()).Create(&visits).Error; err != nil {
			log.Fatal(err)
		}
		fmt.Println(visits[0].ID)
	}
	var visits []Visit
	if err := db.Order("page").Find(&visits).Error; err != nil {
		log.Fatal(err)
	}
	for _, v := range visits {
		fmt.Println(v.Page, v.Count, v.ID != 0)
	}
	// Output:
	// 0
	// 0
	// / 4 true
	// /tea 2 true
}

// requireOneInsert fails unless an INSERT that returns nothing is the only statement.
func requireOneInsert(t *testing.T, statements []string) {
	t.Helper()
	if len(statements) != 1 || strings.Contains(statements[0], "RETURNING") || strings.Contains(statements[0], "LAST_INSERT_ID") {
		t.Errorf("got %q, want an INSERT alone that returns nothing", statements)
	}
}

// keyText is the key of a map, 0 when it has none.
func keyText(m map[string]any) string {
	for _, name := range []string{"id", "ID"} {
		if m[name] != nil {
			return fmt.Sprint(m[name])
		}
	}
	return "0"
}

func TestWithoutKeys(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.Table("plain", "id"), &Seat{})
		do(t, db.Exec("CREATE TABLE plain (id bigint PRIMARY KEY, code varchar(64) UNIQUE, place varchar(64), name varchar(64))").Error)
		where := on("code")
		where.Where = always
		for name, conflict := range map[string]clause.Expression{
			"update": on("code"), "where": where, "all": clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, UpdateAll: true},
			"nothing": clause.OnConflict{DoNothing: true}, "primary": clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoNothing: true}, "insert": gormplugin.WithoutKeys(),
		} {
			for n := 1; n < 4; n++ {
				t.Run(fmt.Sprint(name, n), func(t *testing.T) {
					do(t, db.Exec("DELETE FROM seats").Error)
					do(t, db.Exec("DELETE FROM plain").Error)
					create(t, db, &Seat{Code: "old", Place: "old"})
					create(t, db.Table("plain"), map[string]any{"code": "old"})
					tx := db.Clauses(conflict, gormplugin.WithoutKeys()).Session(&gorm.Session{})
					seats := []*Seat{{Code: "old", Place: "old"}, {Code: "a", Place: "a"}, {ID: 5, Code: "b", Place: "b"}}[:n]
					maps := []map[string]any{{"code": "old", "place": "old"}, {"code": "c", "place": "c"}, {"ID": 6, "code": "d", "place": "d"}}[:n]
					rows := []map[string]any{{"code": "old"}, {"code": "c"}, {"code": "d", "id": 7}}[:n]
					if name == "insert" || name == "primary" && db.Name() != "mysql" { // which would clash
						seats[0].Code, seats[0].Place, maps[0]["code"], maps[0]["place"], rows[0]["code"] = "new", "new", "new map", "new map", "new"
					}
					requireOneInsert(t, recorded(db, func() { do(t, createAll(tx, seats).Error) }))
					requireOneInsert(t, recorded(db, func() { create(t, tx.Model(&Seat{}), maps) }))
					if name != "all" {
						requireOneInsert(t, recorded(db, func() { create(t, tx.Table("plain"), rows) }))
					}
					for i := range n {
						want := [][3]string{{"0", "0", "0"}, {"0", "0", "0"}, {"5", "6", "7"}}[i]
						got := [3]string{fmt.Sprint(seats[i].ID), keyText(maps[i]), keyText(rows[i])}
						if name == "all" {
							got[2] = want[2]
						}
						if got != want {
							t.Errorf("%d: got the keys %q, want %q", i, got, want)
						}
						if key := keyAt(t, db, "seats", "code", seats[i].Code); key == 0 {
							t.Errorf("%d: the row is not there", i)
						}
					}
				})
			}
		}
	})
}

// Neither is read back what the database fills in beside the key.
func TestWithoutKeysReturnsNoDefaults(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Order{}, &Line{}, &Memo{})
		do(t, db.Exec("CREATE TABLE sums (id bigint PRIMARY KEY, email varchar(64) UNIQUE, total bigint DEFAULT 3)").Error)
		type Sum struct {
			ID    int64
			Email string
			Total int64 `gorm:"default:(3)"`
		}
		for _, conflict := range []clause.OnConflict{{DoNothing: true}, {Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"email"})}} {
			for range 2 {
				sums := []*Sum{{Email: "a"}, {Email: "b"}}
				tx := db.Clauses(conflict, clause.Returning{}, gormplugin.WithoutKeys())
				requireOneInsert(t, recorded(db, func() { create(t, tx, sums) }))
				if *sums[0] != (Sum{Email: "a"}) || *sums[1] != (Sum{Email: "b"}) {
					t.Errorf("got %v and %v, want them as they were", *sums[0], *sums[1])
				}
			}
		}
		if n := count(t, db.Where("total = 3"), &Sum{}); n != 2 {
			t.Errorf("got %d rows, want 2", n)
		}
	})
}

// It is for the statement alone: associations before it have their keys, those after it cannot have its.
func TestWithoutKeysAndAssociations(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Author{}, &Label{}, &Post{}, &Cover{}, &Comment{})
		create(t, db, &Post{Title: "old", Author: Author{Email: "a"}})
		update := clause.OnConflict{Columns: []clause.Column{{Name: "title"}}, DoUpdates: clause.AssignmentColumns([]string{"author_id"})}
		tx := db.Clauses(update, gormplugin.WithoutKeys()).Session(&gorm.Session{})
		posts := []*Post{{Title: "old", Author: Author{Email: "a"}, Remarks: []Comment{}}, {Title: "new", Author: Author{Email: "b"}}}
		create(t, tx.Omit("Cover"), posts)
		for _, post := range posts {
			author := keyAt(t, db, "authors", "email", post.Author.Email)
			if stored := valueAt(t, db, "posts", "author_id", "title", post.Title); post.ID != 0 || post.Author.ID != author || stored != author {
				t.Errorf("got the post %d, the author %d, stored %d, want none and %d", post.ID, post.Author.ID, stored, author)
			}
		}
		for name, post := range map[string]*Post{
			"Cover": {Title: "x", Cover: Cover{File: "x"}}, "Remarks": {Title: "x", Remarks: []Comment{{Slug: "x"}}}, "Labels": {Title: "x", Labels: []Label{{Text: "x"}}},
		} {
			before := rowsOf(t, db, "posts")
			for _, posts := range [][]*Post{{post}, {{Title: "y"}, post}} {
				err := createAll(tx, posts).Error
				if !errors.Is(err, gormplugin.ErrUpsert) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "db.Omit(clause.Associations)") {
					t.Errorf("%s: got %v, want an ErrUpsert that names it and what helps", name, err)
				}
				requireUnwritten(t, db, "posts", before)
			}
			post.Title = name
			create(t, tx.Omit(clause.Associations), post)
			create(t, tx.Select("Title"), &Post{Title: name + "2", Cover: post.Cover, Remarks: post.Remarks, Labels: post.Labels})
		}
		for _, table := range []string{"covers", "comments", "labels", "post_labels"} {
			if n := count(t, db.Table(table), nil); n != 0 {
				t.Errorf("got %d rows of %s, want none", n, table)
			}
		}
	})
}
