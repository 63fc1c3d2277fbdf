package migratetest

// Schema returns the statements that make the shop in an empty database of the kind: mysql, postgres or sqlite. There are none for another.
//
//	users ◀─ profiles        shared primary key
//	      ◀─ addresses       ON DELETE CASCADE
//	      ◀─ orders          soft-deleted; a view and a partial index (not on MySQL) are made of it
//	      ◀─ comments        author_id; and owner_id, a text, which is a user's or a product's as owner_type says
//	      ◁─ events          $.user.id in the JSON column data
//	      ◁─ audit_log       user_id, which is not declared, has no index, and has an orphan
//	addresses ◀─ orders      ON DELETE SET NULL
//	categories ◀─ categories parent_id
//	           ◀─ products
//	products, categories ◀─ product_categories   composite key
//	orders, products ◀─ order_items              composite key (order_id, line)
//	orders ◀─ payments
//	tags ◀─ taggings         and taggable_id, a number, which is a product's or an order's as taggable_type says
//
// Every table but product_categories has created_at. On MySQL it is DATETIME, of milliseconds in orders, and a TIMESTAMP in payments; on
// PostgreSQL it is timestamptz, but a timestamp in categories. Times without zone are of UTC.
func Schema(kind string) []string {
	text, err := schemas.ReadFile("testdata/shop." + kind + ".sql")
	if err != nil {
		return nil
	}
	return statements(string(text))
}

// table is a table as Fill and Checksum see it.
type table struct {
	name    string
	key     string   // the integer key; empty for a composite one
	columns []string // all others that are no reference
	refs    []ref
}

// ref is a column whose values are keys of other tables.
type ref struct {
	column string
	to     string            // the table; empty where kind says which
	by     string            // the column of that table; empty for its key
	more   [][2]string       // further columns of the same reference, and those of that table
	kind   string            // the column that says which table is meant
	tables map[string]string // by what kind says
	path   []string          // in a JSON document
}

// tables are the shop's, parents before children.
var tables = []table{
	{"users", "id", []string{"email", "name", "created_at", "updated_at", "deleted_at"}, nil},
	{"profiles", "", []string{"bio", "created_at"}, []ref{{column: "user_id", to: "users"}}},
	{"addresses", "id", []string{"street", "created_at"}, []ref{{column: "user_id", to: "users"}}},
	{"categories", "id", []string{"name", "created_at"}, []ref{{column: "parent_id", to: "categories"}}},
	{"products", "id", []string{"sku", "name", "price", "created_at"}, []ref{{column: "category_id", to: "categories"}}},
	{"product_categories", "", nil, []ref{{column: "product_id", to: "products"}, {column: "category_id", to: "categories"}}},
	{"orders", "id", []string{"status", "note", "created_at", "deleted_at"}, []ref{{column: "user_id", to: "users"}, {column: "address_id", to: "addresses"}}},
	{"order_items", "", []string{"line", "quantity", "created_at"}, []ref{{column: "order_id", to: "orders"}, {column: "product_id", to: "products"}}},
	{"payments", "id", []string{"reference", "amount", "created_at"}, []ref{{column: "order_id", to: "orders"}}},
	{"comments", "id", []string{"owner_type", "body", "created_at"},
		[]ref{{column: "owner_id", kind: "owner_type", tables: map[string]string{"users": "users", "products": "products"}}, {column: "author_id", to: "users"}}},
	{"tags", "id", []string{"name", "created_at"}, nil},
	{"taggings", "id", []string{"taggable_type", "created_at"},
		[]ref{{column: "tag_id", to: "tags"}, {column: "taggable_id", kind: "taggable_type", tables: map[string]string{"products": "products", "orders": "orders"}}}},
	{"events", "id", []string{"created_at"}, []ref{{column: "data", to: "users", path: []string{"user", "id"}}}},
	{"audit_log", "id", []string{"action", "created_at"}, []ref{{column: "user_id", to: "users"}}},
}
