package migratetest

import (
	"fmt"
	"strconv"
	"time"
)

// people fills users, profiles and addresses.
func (f *filler) people(rows int) {
	for n := range rows {
		var deleted any
		if n%7 == 3 {
			deleted = f.now().Add(time.Hour)
		}
		f.add("users", "id, email, name, created_at, updated_at, deleted_at", f.id("users"), fmt.Sprintf("user%d.%d@example.org", n, f.seed), fmt.Sprintf("O'User %d", n),
			f.now(), f.now().Add(time.Minute), deleted)
	}
	f.made = 0
	for n, user := range f.ids["users"] {
		if n%5 < 4 {
			f.add("profiles", "user_id, bio, created_at", user, fmt.Sprintf("bio of %d", n), f.now())
		}
	}
	f.made = 0
	for n := range rows {
		f.add("addresses", "id, user_id, street, created_at", f.id("addresses"), f.any("users"), fmt.Sprintf("Street %d", n), f.now())
	}
}

// goods fills categories, products and product_categories.
func (f *filler) goods(rows int) {
	f.made = 0
	for n := range rows/10 + 3 {
		var parent any
		if n > 1 {
			parent = f.any("categories")
		}
		f.add("categories", "id, parent_id, name, created_at", f.id("categories"), parent, fmt.Sprintf("category %d of %d", n, f.seed), f.now())
	}
	f.made = 0
	for n := range rows {
		var category any
		if n%6 != 5 {
			category = f.any("categories")
		}
		f.add("products", "id, category_id, sku, name, price, created_at", f.id("products"), category, fmt.Sprintf("sku-%d-%d", f.seed, n), fmt.Sprintf("product %d", n),
			fmt.Sprintf("%d.%02d", n, n%100), f.now())
	}
	f.made = 0
	categories := f.ids["categories"]
	for n, product := range f.ids["products"] {
		for k := range n % 3 {
			f.add("product_categories", "product_id, category_id", product, categories[(n+k)%len(categories)])
		}
	}
}

// sales fills orders, order_items and payments.
func (f *filler) sales(rows int) {
	f.made = 0
	for n := range 2 * rows {
		var address, note, deleted any
		if n%4 != 0 {
			address, note = f.any("addresses"), fmt.Sprintf("note %d", n)
		}
		if n%11 == 5 {
			deleted = f.now().Add(time.Hour)
		}
		at := f.now().Add(time.Duration(f.made%3) * 100 * time.Millisecond)
		f.add("orders", "id, user_id, address_id, status, note, created_at, deleted_at", f.id("orders"), f.any("users"), address, []string{"open", "paid", "sent"}[n%3], note, at, deleted)
	}
	f.made = 0
	for n, order := range f.ids["orders"] {
		for line := range n%3 + min(n, 1) {
			f.add("order_items", "order_id, line, product_id, quantity, created_at", order, line+1, f.any("products"), n%9+1, f.now())
		}
	}
	f.made = 0
	for n, order := range f.ids["orders"] {
		if n%3 > 0 {
			f.add("payments", "id, order_id, reference, amount, created_at", f.id("payments"), order, fmt.Sprintf("pay-%d-%d", f.seed, n), fmt.Sprintf("%d.50", n), f.now())
		}
	}
}

// marks fills comments, tags, taggings, events and audit_log.
func (f *filler) marks(rows int) {
	f.made = 0
	for n := range 2 * rows {
		owner := []string{"users", "products"}[f.random.IntN(2)]
		var author any
		if n%5 > 0 {
			author = f.any("users")
		}
		f.add("comments", "id, owner_id, owner_type, author_id, body, created_at", f.id("comments"), strconv.FormatInt(f.any(owner), 10), owner, author, fmt.Sprintf("comment %d", n), f.now())
	}
	f.made = 0
	for n := range 5 {
		f.add("tags", "id, name, created_at", f.id("tags"), fmt.Sprintf("tag %d of %d", n, f.seed), f.now())
	}
	f.made = 0
	for _, of := range []string{"products", "orders"} {
		for n, id := range f.ids[of] {
			if n < rows {
				f.add("taggings", "id, tag_id, taggable_id, taggable_type, created_at", f.id("taggings"), f.any("tags"), id, of, f.now())
			}
		}
	}
	f.made = 0
	for n := range rows {
		f.add("events", "id, data, created_at", f.id("events"), fmt.Sprintf(`{"user": {"id": %d, "n": %d}, "big": 9007199254740993}`, f.any("users"), n), f.now())
	}
	f.made = 0
	for n := range rows {
		user := f.any("users")
		if n == rows/2 {
			user = Orphan
		}
		f.add("audit_log", "id, user_id, action, created_at", f.id("audit_log"), user, fmt.Sprintf("action %d", n), f.now())
	}
}
