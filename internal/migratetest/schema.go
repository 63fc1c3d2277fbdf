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
