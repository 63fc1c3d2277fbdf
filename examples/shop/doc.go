// Command shop is an HTTP service with keys of the plugin: three models, keys as texts in JSON, pages by key, orders of a time, and a stop that
// gives the node number back.
//
//	SHOP_DB=sqlite:shop.db SHOP_ADDR=127.0.0.1:8080 go run ./examples/shop
//
//	curl -d '{"email": "ada@example.org", "name": "Ada"}' 127.0.0.1:8080/customers
//	curl -d '{"customer_id": "…", "lines": [{"item": "tea", "quantity": 2}]}' 127.0.0.1:8080/orders
//	curl 127.0.0.1:8080/orders/…
//	curl '127.0.0.1:8080/orders?limit=20&before=…'
//	curl '127.0.0.1:8080/orders?from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z'
//	curl 127.0.0.1:8080/ready
//
// SHOP_DB is sqlite:FILE, postgres://… or mysql: with a DSN of github.com/go-sql-driver/mysql; both have defaults, those above.
//
// SIGTERM stops it in this order: the server, which lets requests under way end; the plugin, which gives the node number back; the database.
package main
