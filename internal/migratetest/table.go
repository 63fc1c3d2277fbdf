package migratetest

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
