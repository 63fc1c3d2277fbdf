package inspect_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// Every value of these columns is a key of every table, so that the name alone decides.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tables []string // beside refers
		column string
		want   []string
	}{
		{"singular", []string{"people"}, "person_id", []string{"refers.person_id > people.id name likely 0"}},
		{"the table's own name", []string{"staff"}, "staff_id", []string{"refers.staff_id > staff.id name likely 0"}},
		{"plural", []string{"order"}, "orders_id", []string{"refers.orders_id > order.id name likely 0"}},
		{"two words", []string{"order_items", "items"}, "orderItemID", []string{"refers.orderItemID > order_items.id name likely 0"}},
		{"an upper case table", []string{"OrderItems"}, "order_item_id", []string{"refers.order_item_id > OrderItems.id name likely 0"}},
		{"a word before it", []string{"items", "item"}, "first_item_id", []string{"refers.first_item_id > items.id name possible -1", "refers.first_item_id > item.id name possible -1"}},
		{"the longest end", []string{"items", "order_items"}, "first_order_item_id", []string{"refers.first_order_item_id > order_items.id name possible -1"}},
		{"a table with a prefix", []string{"shop_items"}, "item_id", []string{"refers.item_id > shop_items.id name possible -1"}},
		{"two tables of the name", []string{"item", "items"}, "item_id", []string{"refers.item_id > item.id name possible -1", "refers.item_id > items.id name possible -1"}},
		{"in one word", []string{"items"}, "itemid", []string{"refers.itemid > items.id name possible -1"}},
		{"parent", nil, "parent_id", []string{"refers.parent_id > refers.id name possible -1"}},
		{"itself", nil, "refer_id", []string{"refers.refer_id > refers.id name possible -1"}},
		{"another word", []string{"items"}, "valid", nil},
		{"no table", []string{"items"}, "thing_id", nil},
		{"no id", []string{"items"}, "item", nil},
		{"no name", []string{"items"}, "_id", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := openOn(t, "sqlite")
			run(t, db, `CREATE TABLE refers (id INTEGER PRIMARY KEY, "`+tt.column+`" int)`, "INSERT INTO refers VALUES (1, 1), (2, 2)")
			for _, table := range tt.tables {
				run(t, db, `CREATE TABLE "`+table+`" (id INTEGER PRIMARY KEY)`, `INSERT INTO "`+table+`" VALUES (1), (2)`)
			}
			requireLines(t, references(mustInspect(t, db, inspect.Options{})), tt.want...)
		})
	}
}

func TestLists(t *testing.T) {
	db := openOn(t, "sqlite")
	run(t, db, "CREATE TABLE tags (id INTEGER PRIMARY KEY)", "CREATE TABLE posts (id INTEGER PRIMARY KEY, tag_ids text)")
	requireLines(t, obstacles(mustInspect(t, db, inspect.Options{})), "list:posts.tag_ids rekey,shadow")
	requireLines(t, obstacles(mustInspect(t, db, inspect.Options{References: []string{"!posts.tag_ids=tags.id"}})))
}
