package gormplugin_test

import (
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

type Mailbox struct {
	ID    sqltype.ID
	Email string `gorm:"uniqueIndex;size:100"`
	Name  string
}

type NamedBox struct {
	ID    string `gorm:"primaryKey;size:40;snowkey:,base32"`
	Email string `gorm:"uniqueIndex;size:100"`
	Name  string
}

type PlainBox struct {
	ID    int64
	Email string `gorm:"uniqueIndex;size:100"`
	Name  string
}

// box is a mailbox of any of the models.
type box struct{ id, email, name string }

// upsertStructs creates boxes as rows of a model.
func upsertStructs[T any](row func(box) *T, id func(*T) any) func(*gorm.DB, []box) ([]box, *gorm.DB) {
	return func(db *gorm.DB, boxes []box) ([]box, *gorm.DB) {
		rows := make([]*T, len(boxes))
		for i, b := range boxes {
			rows[i] = row(b)
		}
		tx := createAll(db, rows)
		for i, r := range rows {
			boxes[i].id = fmt.Sprint(id(r))
		}
		return boxes, tx
	}
}

// upsertMaps creates boxes as maps, of a model or a table.
func upsertMaps(of func(*gorm.DB) *gorm.DB, email string) func(*gorm.DB, []box) ([]box, *gorm.DB) {
	return func(db *gorm.DB, boxes []box) ([]box, *gorm.DB) {
		rows := make([]map[string]any, len(boxes))
		for i, b := range boxes {
			rows[i] = map[string]any{email: b.email, "name": b.name}
		}
		var tx *gorm.DB
		if len(rows) == 1 {
			tx = of(db).Create(rows[0])
		} else {
			tx = of(db).Create(rows)
		}
		for i, r := range rows {
			boxes[i].id = fmt.Sprint(r["id"])
		}
		return boxes, tx
	}
}

func TestUpserts(t *testing.T) {
	models := map[string]func(*gorm.DB, []box) ([]box, *gorm.DB){
		"id":    upsertStructs(func(b box) *Mailbox { return &Mailbox{Email: b.email, Name: b.name} }, func(m *Mailbox) any { return m.ID }),
		"text":  upsertStructs(func(b box) *NamedBox { return &NamedBox{Email: b.email, Name: b.name} }, func(n *NamedBox) any { return n.ID }),
		"plain": upsertStructs(func(b box) *PlainBox { return &PlainBox{Email: b.email, Name: b.name} }, func(p *PlainBox) any { return p.ID }),
		"map":   upsertMaps(func(db *gorm.DB) *gorm.DB { return db.Model(&Mailbox{}) }, "Email"),
		"table": upsertMaps(func(db *gorm.DB) *gorm.DB { return db.Table("mailboxes") }, "email"),
	}
	tables := map[string]string{"id": "mailboxes", "text": "named_boxes", "plain": "plain_boxes", "map": "mailboxes", "table": "mailboxes"}
	email := []clause.Column{{Name: "email"}}
	conflicts := map[string]clause.OnConflict{
		"update":  {Columns: email, DoUpdates: clause.AssignmentColumns([]string{"name"})},
		"all":     {Columns: email, UpdateAll: true},
		"where":   {Columns: email, DoUpdates: clause.AssignmentColumns([]string{"name"}), Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "1 = 0"}}}},
		"nothing": {DoNothing: true},
		"columns": {Columns: email, DoNothing: true},
		// What GORM saves associations with. MySQL heeds other unique indexes then too.
		"primary": {Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})},
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), gormplugin.Table("mailboxes", "id"))
		migrate(t, db, &Mailbox{}, &NamedBox{}, &PlainBox{})
		for model, upsert := range models {
			for name, conflict := range conflicts {
				if model == "table" && name == "all" || name == "primary" && db.Name() != "mysql" {
					continue // GORM knows no columns to update; the database refuses it
				}
				for _, n := range []int{1, 3} {
					t.Run(fmt.Sprintf("%s/%s/%d", model, name, n), func(t *testing.T) {
						clear := db.Exec("DELETE FROM " + tables[model])
						if clear.Error != nil {
							t.Fatal(clear.Error)
						}
						old, tx := upsert(db.Session(&gorm.Session{}), []box{{email: "old", name: "first"}})
						if tx.Error != nil {
							t.Fatal(tx.Error)
						}
						boxes := []box{{email: "old", name: "second"}, {email: "a", name: "a"}, {email: "b", name: "b"}}[:n]
						boxes, tx = upsert(db.Clauses(conflict), boxes)
						if tx.Error != nil {
							t.Fatal(tx.Error)
						}
						want := old[0].id
						if conflict.DoNothing {
							want = map[string]string{"id": "0", "text": "", "plain": "0", "map": "<nil>", "table": "<nil>"}[model]
							if tx.RowsAffected != int64(n-1) {
								t.Errorf("got %d rows affected, want %d", tx.RowsAffected, n-1)
							}
						}
						if boxes[0].id != want {
							t.Errorf("got the id %s of a row that was there, want %s", boxes[0].id, want)
						}
						for _, b := range boxes[1:] {
							if row := find(t, db, tables[model], b.email); b.id != row.id {
								t.Errorf("got the id %s of %s, want %s", b.id, b.email, row.id)
							}
						}
						name := map[bool]string{true: "first", false: "second"}[conflict.DoNothing || len(conflict.Where.Exprs) > 0 && db.Name() != "mysql"]
						if row := find(t, db, tables[model], "old"); row.id != old[0].id || row.name != name {
							t.Errorf("got the row %+v, want %s of the id %s", row, name, old[0].id)
						}
					})
				}
			}
		}
	})
}

func createAll[T any](db *gorm.DB, rows []*T) *gorm.DB {
	if len(rows) == 1 {
		return db.Create(rows[0])
	}
	return db.Create(rows)
}

func find(t *testing.T, db *gorm.DB, table, email string) box {
	t.Helper()
	b := box{email: email}
	if err := db.Raw("SELECT id, name FROM "+table+" WHERE email = ?", email).Row().Scan(&b.id, &b.name); err != nil {
		t.Fatal(err)
	}
	return b
}

// Children are saved with a clause about their primary key: where no other row can be met nothing is asked for.
func TestChildrenAreNotAskedFor(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "mysql" {
			t.Skip("MySQL heeds other unique indexes too")
		}
		use(t, db, &Order{}, &Line{})
		statements := recorded(db, func() { create(t, db, &Order{Lines: []Line{{Text: "a"}, {Text: "b"}}}) })
		if len(statements) != 2 || strings.Contains(strings.Join(statements, ""), "RETURNING") {
			t.Errorf("got %q, want two INSERTs that return nothing", statements)
		}
	})
}

// A row that is passed by value, with a key, cannot be told another one.
func TestUpsertByValue(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Mailbox{}, &Emblem{})
		create(t, db, &Mailbox{ID: 7, Email: "old"})
		create(t, db, &Emblem{ID: 7, Code: "old"})
		update := clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"name"}), Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "1 = 1"}}}}
		for _, value := range []any{Mailbox{ID: 8, Email: "old", Name: "new"}, [2]Mailbox{{ID: 9, Email: "old", Name: "new"}, {ID: 10, Email: "b"}}} {
			if err := db.Clauses(update).Create(value).Error; err != nil {
				t.Errorf("%T: got %v", value, err)
			}
		}
		if err := db.Clauses(clause.OnConflict{DoNothing: true}).Create([2]Emblem{{ID: 8, Code: "old"}, {ID: 9, Code: "b"}}).Error; err != nil {
			t.Error(err)
		}
		if n := count(t, db, &Mailbox{}) + count(t, db, &Emblem{}); n != 4 {
			t.Errorf("got %d rows, want 2 and 2", n)
		}
	})
}
