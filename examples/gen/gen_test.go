package gen_test

import (
	"context"
	"path/filepath"
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/examples/gen/model"
	"github.com/snowkey-go/snowkey/examples/gen/query"
	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
)

// node is the node number of all keys that the plugin makes here.
const node = 7

func open(t *testing.T) *query.Query {
	t.Helper()
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "library.db")), &gorm.Config{})
	check(t, err)
	pool, err := db.DB()
	check(t, err)
	t.Cleanup(func() { check(t, pool.Close()) })
	keys, err := idgen.New(idgen.WithNode(node))
	check(t, err)
	// In an application gormplugin.From is not needed: the plugin acquires a node number in the database.
	check(t, db.Use(gormplugin.New(gormplugin.From(keys), gormplugin.AllKeys(), gormplugin.Prepare(&model.Book{}))))
	check(t, db.AutoMigrate(&model.Author{}, &model.Book{}))
	return query.Use(db)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// requireMade fails the test unless the plugin has made the keys, each of them once.
func requireMade(t *testing.T, keys ...int64) {
	t.Helper()
	seen := map[int64]bool{}
	for _, key := range keys {
		parts, err := idgen.Snowkey.Decode(key)
		check(t, err)
		if parts.Node != node {
			t.Errorf("got the key %d of node %d, want node %d", key, parts.Node, node)
		}
		if seen[key] {
			t.Errorf("got the key %d twice", key)
		}
		seen[key] = true
	}
}

// requireAuthor fails the test unless the row with the author's key has the author's name.
func requireAuthor(t *testing.T, q *query.Query, want *model.Author) {
	t.Helper()
	got, err := q.Author.WithContext(t.Context()).Where(q.Author.ID.Eq(want.ID)).First()
	check(t, err)
	if got.Name != want.Name {
		t.Errorf("got %q by the key %d, want %q", got.Name, want.ID, want.Name)
	}
}

func TestCreate(t *testing.T) {
	q := open(t)
	one, two := &model.Author{Email: "ada", Name: "Ada"}, &model.Author{Email: "grace", Name: "Grace"}
	check(t, q.Author.WithContext(t.Context()).Create(one))
	check(t, q.Author.WithContext(t.Context()).Create(two))
	requireMade(t, int64(one.ID), int64(two.ID))
	requireAuthor(t, q, one)
	requireAuthor(t, q, two)
}

// TestSave saves one struct without a key, which is inserted, beside one with a key, which is updated.
func TestSave(t *testing.T) {
	q := open(t)
	old := &model.Book{Title: "Notes"}
	check(t, q.Book.WithContext(t.Context()).Save(old))
	key := old.ID
	old.Title = "Notes, second edition"
	added := &model.Book{Title: "Sketches"}
	check(t, q.Book.WithContext(t.Context()).Save(old, added))
	if old.ID != key {
		t.Errorf("got the key %d after a second Save, want %d as before", old.ID, key)
	}
	requireMade(t, old.ID, added.ID)
	books, err := q.Book.WithContext(t.Context()).Order(q.Book.ID).Find()
	check(t, err)
	if len(books) != 2 || *books[0] != *old || *books[1] != *added {
		t.Errorf("got the rows %+v, want %+v and %+v", books, old, added)
	}
}

func TestCreateInBatches(t *testing.T) {
	q := open(t)
	books := []*model.Book{{Title: "a"}, {Title: "b"}, {Title: "c"}, {Title: "d"}, {Title: "e"}}
	check(t, q.Book.WithContext(t.Context()).CreateInBatches(books, 2))
	var keys []int64
	for _, book := range books {
		keys = append(keys, book.ID)
		got, err := q.Book.WithContext(t.Context()).Where(q.Book.ID.Eq(book.ID)).First()
		check(t, err)
		if got.Title != book.Title {
			t.Errorf("got %q by the key %d, want %q", got.Title, book.ID, book.Title)
		}
	}
	requireMade(t, keys...)
}

// TestUpsert meets a row by its unique column: the struct gets the key of that row.
func TestUpsert(t *testing.T) {
	q := open(t)
	first := &model.Author{Email: "ada", Name: "Ada"}
	check(t, q.Author.WithContext(t.Context()).Create(first))
	again, added := &model.Author{Email: "ada", Name: "Ada Lovelace"}, &model.Author{Email: "grace", Name: "Grace"}
	upsert := clause.OnConflict{
		Columns:   []clause.Column{{Name: q.Author.Email.ColumnName().String()}},
		DoUpdates: clause.AssignmentColumns([]string{q.Author.Name.ColumnName().String()}),
	}
	check(t, q.Author.WithContext(t.Context()).Clauses(upsert).Create(again, added))
	if again.ID != first.ID {
		t.Errorf("got the key %d of an author that was there, want %d", again.ID, first.ID)
	}
	requireMade(t, int64(first.ID), int64(added.ID))
	requireAuthor(t, q, again)
	requireAuthor(t, q, added)
}

// TestAssociations creates books with their author, and appends one later.
func TestAssociations(t *testing.T) {
	q := open(t)
	author := &model.Author{Email: "ada", Name: "Ada", Books: []model.Book{{Title: "Notes"}, {Title: "Sketches"}}}
	check(t, q.Author.WithContext(t.Context()).Create(author))
	letters := &model.Book{Title: "Letters"}
	check(t, q.Author.Books.Model(author).Append(letters))
	requireMade(t, int64(author.ID), author.Books[0].ID, author.Books[1].ID, letters.ID)
	got, err := q.Author.WithContext(t.Context()).Preload(q.Author.Books.Order(q.Book.ID)).Where(q.Author.ID.Eq(author.ID)).First()
	check(t, err)
	var titles []string
	for _, book := range got.Books {
		titles = append(titles, book.Title)
		if book.AuthorID != int64(author.ID) {
			t.Errorf("got a book of author %d, want %d", book.AuthorID, author.ID)
		}
	}
	if len(titles) != 3 || titles[0] != "Notes" || titles[1] != "Sketches" || titles[2] != "Letters" {
		t.Errorf("got the books %q, want Notes, Sketches and Letters", titles)
	}
}

// TestTransaction rolls back: no row is left, and the next row has a key of its own.
func TestTransaction(t *testing.T) {
	q := open(t)
	undone := &model.Book{Title: "undone"}
	err := q.Transaction(func(tx *query.Query) error {
		check(t, tx.Book.WithContext(t.Context()).Create(undone))
		return context.Canceled
	})
	if err != context.Canceled {
		t.Fatalf("got %v, want the error of the function", err)
	}
	done := &model.Book{Title: "done"}
	check(t, q.Book.WithContext(t.Context()).Create(done))
	requireMade(t, undone.ID, done.ID)
	books, err := q.Book.WithContext(t.Context()).Find()
	check(t, err)
	if len(books) != 1 || *books[0] != *done {
		t.Errorf("got the rows %+v, want %+v alone", books, done)
	}
}
