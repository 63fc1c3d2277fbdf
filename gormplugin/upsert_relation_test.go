package gormplugin_test

import (
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/sqltype"
)

// Post has one of each kind of association, each with a value that no two rows have. No constraint helps.
type Post struct {
	ID       sqltype.ID
	Title    string `gorm:"size:64;uniqueIndex"`
	AuthorID sqltype.ID
	Author   Author    `gorm:"constraint:-"`
	Cover    Cover     `gorm:"constraint:-"`
	Remarks  []Comment `gorm:"constraint:-"`
	Labels   []Label   `gorm:"many2many:post_labels;constraint:-"`
}

type Author struct {
	ID    sqltype.ID
	Email string `gorm:"size:64;uniqueIndex"`
}

type Cover struct {
	ID     sqltype.ID
	PostID sqltype.ID
	File   string `gorm:"size:64;uniqueIndex"`
}

type Comment struct {
	ID     sqltype.ID
	PostID sqltype.ID
	Slug   string `gorm:"size:64;uniqueIndex"`
}

type Label struct {
	ID   sqltype.ID
	Text string `gorm:"size:64;uniqueIndex"`
}

// requireWhole fails unless all foreign keys are those of rows that are there.
func requireWhole(t *testing.T, db *gorm.DB) {
	t.Helper()
	for _, reference := range [][3]string{
		{"posts", "author_id", "authors"}, {"covers", "post_id", "posts"}, {"comments", "post_id", "posts"}, {"post_labels", "post_id", "posts"}, {"post_labels", "label_id", "labels"},
	} {
		var broken []sqltype.ID
		do(t, db.Raw(fmt.Sprintf("SELECT %s FROM %s WHERE %[1]s NOT IN (SELECT id FROM %[3]s)", reference[1], reference[0], reference[2])).Scan(&broken).Error)
		if len(broken) > 0 {
			t.Errorf("got the keys %d in %s.%s, of which no row is in %s", broken, reference[0], reference[1], reference[2])
		}
	}
}

// requirePost fails unless a post and all that it has have the keys of the rows of the same values, and the rows refer to each other.
func requirePost(t *testing.T, db *gorm.DB, post *Post) {
	t.Helper()
	same := func(what string, got, want sqltype.ID) {
		t.Helper()
		if got != want || want == 0 {
			t.Errorf("%s of %s: got the key %d, want %d", what, post.Title, got, want)
		}
	}
	same("row", post.ID, keyAt(t, db, "posts", "title", post.Title))
	author := keyAt(t, db, "authors", "email", post.Author.Email)
	same("author", post.Author.ID, author)
	same("author's key", post.AuthorID, author)
	same("stored author", valueAt(t, db, "posts", "author_id", "title", post.Title), author)
	if post.Cover.File != "" {
		same("cover", post.Cover.ID, keyAt(t, db, "covers", "file", post.Cover.File))
		same("cover's post", valueAt(t, db, "covers", "post_id", "file", post.Cover.File), post.ID)
	}
	for _, remark := range post.Remarks {
		same("remark "+remark.Slug, remark.ID, keyAt(t, db, "comments", "slug", remark.Slug))
		same("post of "+remark.Slug, valueAt(t, db, "comments", "post_id", "slug", remark.Slug), post.ID)
	}
	for _, label := range post.Labels {
		same("label "+label.Text, label.ID, keyAt(t, db, "labels", "text", label.Text))
		if n := count(t, db.Table("post_labels").Where("post_id = ? AND label_id = ?", post.ID, label.ID), nil); n != 1 {
			t.Errorf("got %d rows that join %s and %s, want one", n, post.Title, label.Text)
		}
	}
}

// GORM saves what a row has by upserts: of what is there already under another key the row has that one, never one that was only made.
// Where the database refuses them nothing is written.
func TestUpsertOfAssociations(t *testing.T) {
	for _, full := range []bool{false, true} {
		t.Run(fmt.Sprintf("FullSaveAssociations=%t", full), func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				use(t, db, &Author{}, &Label{}, &Post{}, &Cover{}, &Comment{})
				db = db.Session(&gorm.Session{FullSaveAssociations: full})
				create(t, db, &Post{Title: "first", Author: Author{Email: "a"}, Cover: Cover{File: "f"}, Remarks: []Comment{{Slug: "n1"}}, Labels: []Label{{Text: "l1"}, {Text: "l2"}}})
				for _, tt := range []struct {
					name    string
					posts   []*Post
					refused bool // by other databases than MySQL
					fully   bool // so only with FullSaveAssociations
				}{
					{name: "belongs to", fully: true, posts: []*Post{{Title: "b1", Author: Author{Email: "a"}}, {Title: "b2", Author: Author{Email: "b"}}}},
					{name: "belongs to, one row", fully: true, posts: []*Post{{Title: "c1", Author: Author{Email: "a"}}}},
					{name: "many to many", fully: true, posts: []*Post{
						{Title: "m1", Author: Author{Email: "m"}, Labels: []Label{{Text: "l2"}, {Text: "l3"}}}, {Title: "m2", Author: Author{Email: "n"}, Labels: []Label{{Text: "l1"}, {Text: "l4"}}},
					}},
					{name: "many to many, one row", fully: true, posts: []*Post{{Title: "o1", Author: Author{Email: "o"}, Labels: []Label{{Text: "l2"}}}}},
					{name: "has one", refused: true, posts: []*Post{{Title: "h1", Author: Author{Email: "h"}, Cover: Cover{File: "f"}}, {Title: "h2", Author: Author{Email: "i"}, Cover: Cover{File: "g"}}}},
					{name: "has many", refused: true, posts: []*Post{{Title: "p1", Author: Author{Email: "p"}, Remarks: []Comment{{Slug: "n1"}, {Slug: "n2"}}}, {Title: "p2", Author: Author{Email: "q"}, Remarks: []Comment{{Slug: "n3"}}}}},
					{name: "has many, one row", refused: true, posts: []*Post{{Title: "r1", Author: Author{Email: "r"}, Remarks: []Comment{{Slug: "n1"}}}}},
					{name: "all new", posts: []*Post{{Title: "s1", Author: Author{Email: "s"}, Cover: Cover{File: "s"}, Remarks: []Comment{{Slug: "s"}}, Labels: []Label{{Text: "s"}}}}},
				} {
					before := count(t, db, &Post{})
					err := createAll(db, tt.posts).Error
					refused := db.Name() != "mysql" && (tt.refused || tt.fully && full)
					if (err != nil) != refused {
						t.Errorf("%s: got %v, want an error: %t", tt.name, err, refused)
					}
					if err != nil {
						if n := count(t, db, &Post{}); n != before {
							t.Errorf("%s: got %d posts, want %d", tt.name, n, before)
						}
					} else {
						for _, post := range tt.posts {
							requirePost(t, db, post)
						}
					}
					requireWhole(t, db)
				}
			})
		})
	}
}

// A key that the caller has set is kept, though another row is met, of one row as of several. Where the database checks references it refuses
// one to that key.
func TestUpsertOfAnAssociationWithAKey(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &User{}, &Letterhead{}, &Bill{})
		create(t, db, &Letterhead{Name: "a"})
		for n := 1; n <= 2; n++ {
			bills := []Bill{{Letterhead: &Letterhead{ID: 50, Name: "a"}}, {Letterhead: &Letterhead{Name: "b"}}}[:n]
			create(t, db, &bills)
			if bills[0].LetterheadID != 50 || bills[0].Letterhead.ID != 50 {
				t.Errorf("%d rows: got a reference to %d, and the key %d, want 50", n, bills[0].LetterheadID, bills[0].Letterhead.ID)
			}
			if n < 2 {
				continue
			}
			if want := keyAt(t, db, "letterheads", "name", "b"); bills[1].LetterheadID != want {
				t.Errorf("got a reference to %d, want %d", bills[1].LetterheadID, want)
			}
		}
		type Invoice struct { // with a constraint
			ID           sqltype.ID
			LetterheadID sqltype.ID
			Letterhead   *Letterhead
		}
		migrate(t, db, &Invoice{})
		do(t, map[bool]error{true: db.Exec("PRAGMA foreign_keys = ON").Error}[db.Name() == "sqlite"])
		for n := 1; n <= 2; n++ {
			invoices := []Invoice{{Letterhead: &Letterhead{ID: 50, Name: "a"}}, {Letterhead: &Letterhead{Name: "c"}}}[:n]
			if err := db.Create(&invoices).Error; err == nil || count(t, db, &Letterhead{}) != 2 {
				t.Errorf("%d rows: got %v of a reference to a key that no row has, and %d letterheads, want an error and 2", n, err, count(t, db, &Letterhead{}))
			}
		}
	})
}

// Bill belongs to a Letterhead, without a constraint in the database.
type Bill struct {
	ID           sqltype.ID
	LetterheadID sqltype.ID
	Letterhead   *Letterhead `gorm:"-:migration"`
}

type Letterhead struct {
	ID   sqltype.ID
	Name string `gorm:"size:64;uniqueIndex"`
}
