package migrate_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/migratetest"
	"github.com/snowkey-go/snowkey/migrate"
)

// long is when tables that have no time of their own are said to have been filled.
const long = "2015-06-01T00:00:00Z"

// pascal finds names as in InvoiceLine.
var pascal = regexp.MustCompile(`\b[A-Z][a-z]+[A-Za-z]*\b`)

// chinook is the record shop: a list of tables that refer to each other, one to itself, and one with a composite key.
func chinook(kind string) published {
	// named writes a statement's names as the kind has them; texts stay.
	named := func(statement string) string {
		parts := strings.Split(statement, "'")
		for i := 0; i < len(parts) && kind == "postgres"; i += 2 {
			parts[i] = pascal.ReplaceAllStringFunc(parts[i], func(name string) string {
				return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_$2"))
			})
		}
		return strings.Join(parts, "'")
	}
	made := map[string]string{named("Invoice"): named("InvoiceDate"), named("InvoiceLine"): named("through InvoiceId")}
	for _, table := range []string{"Album", "Artist", "Customer", "Employee", "Genre", "MediaType", "Playlist", "Track"} {
		made[named(table)] = long
	}
	price := func(n int) string { return fmt.Sprintf("%d.%02d", 1000+n/100, n%100) }
	p := published{
		name: "chinook", kind: kind, make: migratetest.Chinook, created: made,
		modes:  []migrate.Mode{migrate.Widen, migrate.Rekey},
		except: map[string]string{},
		writers: []tableWriter{
			writes("Artist", "ArtistId", "Name", nil, nil),
			writes("Track", "TrackId", "Name, Composer, Milliseconds, UnitPrice, AlbumId, MediaTypeId",
				func(n int) string { return fmt.Sprintf("'Album %d', 1, 1", n%40) },
				func(n int) []string {
					return []string{fmt.Sprintf("SELECT AlbumId FROM Album WHERE Title = 'Album %d'", n%40), fmt.Sprintf("SELECT MediaTypeId FROM MediaType WHERE Name = 'Media %d'", n%5)}
				}),
			writes("Invoice", "InvoiceId", "BillingAddress, BillingCity, InvoiceDate, Total, CustomerId",
				func(n int) string {
					return fmt.Sprintf("'customer%d@example.org', '2023-05-01 10:00:%02d', 1", n%10, n%60)
				},
				func(n int) []string {
					return []string{fmt.Sprintf("SELECT CustomerId FROM Customer WHERE Email = 'customer%d@example.org'", n%10)}
				}),
			{Table: "InvoiceLine", Key: "InvoiceLineId", Columns: "UnitPrice, Quantity, InvoiceId, TrackId", Mark: "UnitPrice", MarkOf: price,
				Values: func(n int) string { return fmt.Sprintf("%s, %d", price(n), n%50) },
				Parents: func(n int) []string {
					return []string{fmt.Sprintf("SELECT InvoiceId FROM Invoice WHERE BillingAddress = '%d Main Street'", n%50), fmt.Sprintf("SELECT TrackId FROM Track WHERE Name = 'Track %d'", n%50)}
				}},
		},
		wrong: []string{
			"SELECT COUNT(*) FROM Track t JOIN Album a ON a.AlbumId = t.AlbumId WHERE t.Name LIKE 'w-%' AND t.Composer <> a.Title",
			"SELECT COUNT(*) FROM Invoice i JOIN Customer c ON c.CustomerId = i.CustomerId WHERE i.BillingAddress LIKE 'w-%' AND i.BillingCity <> c.Email",
			"SELECT COUNT(*) FROM InvoiceLine l JOIN Invoice i ON i.InvoiceId = l.InvoiceId JOIN Track t ON t.TrackId = l.TrackId WHERE l.UnitPrice >= 1000" +
				" AND (i.BillingAddress <> " + concat(kind, "l.Quantity", "' Main Street'") + " OR t.Name <> " + concat(kind, "'Track '", "l.Quantity") + ")",
		},
	}
	if kind == "postgres" {
		p.modes = append(p.modes, migrate.Shadow)
	}
	for table, where := range map[string]string{"Artist": "Name LIKE 'w-%'", "Track": "Name LIKE 'w-%'", "Invoice": "BillingAddress LIKE 'w-%'", "InvoiceLine": "UnitPrice >= 1000"} {
		p.except[named(table)] = named(where)
	}
	for i, w := range p.writers {
		parents := w.Parents
		w.Table, w.Key, w.Columns, w.Mark = named(w.Table), named(w.Key), named(w.Columns), named(w.Mark)
		if parents != nil {
			w.Parents = func(n int) []string {
				queries := parents(n)
				for i := range queries {
					queries[i] = named(queries[i])
				}
				return queries
			}
		}
		p.writers[i] = w
	}
	for i := range p.wrong {
		p.wrong[i] = named(p.wrong[i])
	}
	return p
}

// concat returns what joins two texts.
func concat(kind, a, b string) string {
	if kind == "mysql" {
		return "CONCAT(" + a + ", " + b + ")"
	}
	return "(" + a + " || " + b + ")"
}

// filmMade are the times of Sakila's rows, and of Pagila's.
func filmMade() map[string]string {
	made := map[string]string{"customer": "create_date", "rental": "rental_date"}
	for _, table := range []string{"actor", "address", "category", "city", "country", "film", "inventory", "language", "staff", "store"} {
		made[table] = "last_update"
	}
	return made
}

// filmWriters insert actors, films and customers.
func filmWriters() []tableWriter {
	return []tableWriter{
		writes("actor", "actor_id", "first_name, last_name", func(int) string { return "'NEW'" }, nil),
		writes("film", "film_id", "title, description, language_id", func(n int) string { return fmt.Sprintf("'Language %d'", n%6) },
			func(n int) []string {
				return []string{fmt.Sprintf("SELECT language_id FROM language WHERE name = 'Language %d'", n%6)}
			}),
		writes("customer", "customer_id", "first_name, last_name, create_date, store_id, address_id", func(n int) string { return fmt.Sprintf("'%d O''Hara Street', CURRENT_DATE", n%15) },
			func(n int) []string {
				return []string{"SELECT store_id FROM staff WHERE username = 'staff1'", fmt.Sprintf("SELECT address_id FROM address WHERE address = '%d O''Hara Street'", n%15)}
			}),
	}
}

// filmWrong finds rows of filmWriters that refer to others than they were to.
var filmWrong = []string{
	"SELECT COUNT(*) FROM film f JOIN language l ON l.language_id = f.language_id WHERE f.title LIKE 'w-%' AND f.description <> l.name",
	"SELECT COUNT(*) FROM customer c JOIN address a ON a.address_id = c.address_id WHERE c.first_name LIKE 'w-%' AND c.last_name <> a.address",
}

// rentalParents are the inventory, customer and staff of a rental: another pair of the first two for a thousand rows.
func rentalParents(n int) []string {
	return []string{fmt.Sprintf("SELECT inventory_id FROM inventory ORDER BY last_update, inventory_id LIMIT 1 OFFSET %d", n/15%70),
		fmt.Sprintf("SELECT customer_id FROM customer WHERE email = 'customer%d@example.org'", n%15), "SELECT staff_id FROM staff WHERE username = 'staff0'"}
}

// sakila has keys of eight and sixteen bits, ON UPDATE CASCADE, a circle of foreign keys, triggers, and a full-text table that a trigger fills.
func sakila() published {
	stamp := func(n int) string { return fmt.Sprintf("'2030-01-01 %02d:%02d:%02d'", n/3600, n/60%60, n%60) }
	marked := func(table, key, columns string, values func(n int) string, parents func(n int) []string) tableWriter {
		return tableWriter{Table: table, Key: key, Columns: columns, Mark: "last_update", MarkOf: stamp, Parents: parents,
			Values: func(n int) string { return stamp(n) + ", " + values(n) }}
	}
	made := filmMade()
	made["payment"] = "payment_date"
	return published{
		name: "sakila", kind: "mysql", make: func(t testing.TB, db *sql.DB, _ string, rows int) { migratetest.Sakila(t, db, rows) },
		modes: []migrate.Mode{migrate.Widen, migrate.Rekey}, created: made,
		inspect: migrate.InspectOptions{References: []string{"film_text.film_id=film.film_id"}},
		refer:   [][3]string{{"film_text", "film_id", "film"}},
		except: map[string]string{"actor": "first_name LIKE 'w-%'", "film": "title LIKE 'w-%'", "film_text": "title LIKE 'w-%'", "customer": "first_name LIKE 'w-%'",
			"rental": "last_update >= '2030-01-01'", "payment": "last_update >= '2030-01-01'"},
		writers: append(filmWriters(),
			marked("rental", "rental_id", "last_update, rental_date, inventory_id, customer_id, staff_id", func(int) string { return "NOW()" }, rentalParents),
			marked("payment", "payment_id", "last_update, payment_date, amount, customer_id, staff_id, rental_id", func(n int) string { return fmt.Sprintf("NOW(), %d", n%15) },
				func(n int) []string {
					return append(rentalParents(n)[1:], "SELECT rental_id FROM rental WHERE last_update < '2030-01-01' ORDER BY rental_date LIMIT 1")
				})),
		wrong: append([]string{
			"SELECT COUNT(*) FROM payment p JOIN customer c ON c.customer_id = p.customer_id WHERE p.last_update >= '2030-01-01' AND c.email <> CONCAT('customer', ROUND(p.amount), '@example.org')",
			"SELECT COUNT(*) FROM film f LEFT JOIN film_text x ON x.film_id = f.film_id WHERE x.title IS NULL OR x.title <> f.title",
		}, filmWrong...),
	}
}

// pagila has Sakila's tables with triggers that stamp, a tsvector, a generated column, and payment in partitions with foreign keys of their own.
// The materialized view is dropped first, as the plan asks for.
func pagila() published {
	uuid := func(n int) string { return fmt.Sprintf("'00000000-0000-7000-9000-%012x'", n) }
	marked := func(table, key, columns string, values func(n int) string, parents func(n int) []string) tableWriter {
		return tableWriter{Table: table, Key: key, Columns: columns, Mark: "uuid", MarkOf: uuid, Parents: parents,
			Values: func(n int) string { return uuid(n) + ", " + values(n) }}
	}
	day := func(n int) string {
		return fmt.Sprintf("timestamptz '2022-06-01 00:00:00+00' + interval '%d minutes'", n)
	}
	return published{
		name: "pagila", kind: "postgres", make: func(t testing.TB, db *sql.DB, _ string, rows int) { migratetest.Pagila(t, db, rows) },
		modes: []migrate.Mode{migrate.Widen, migrate.Rekey, migrate.Shadow}, created: filmMade(),
		shadow: []string{"actor", "address", "category", "city", "country", "film", "inventory", "language", "store"},
		before: []string{"DROP MATERIALIZED VIEW rental_by_category"},
		except: map[string]string{"actor": "first_name LIKE 'w-%'", "film": "title LIKE 'w-%'", "customer": "first_name LIKE 'w-%'",
			"rental": "uuid::text LIKE '%-9000-%'", "payment": "uuid::text LIKE '%-9000-%'"},
		writers: append(filmWriters(),
			marked("rental", "rental_id", "uuid, rental_date, inventory_id, customer_id, staff_id", day, rentalParents),
			marked("payment", "", "uuid, payment_date, amount, customer_id, staff_id, rental_id", func(n int) string { return fmt.Sprintf("%s, %d", day(n), n%15) },
				func(n int) []string {
					return append(rentalParents(n)[1:], "SELECT rental_id FROM rental WHERE uuid = '00000000-0000-7000-8000-000000000003'")
				})),
		wrong: append([]string{
			"SELECT COUNT(*) FROM payment p JOIN customer c ON c.customer_id = p.customer_id WHERE p.uuid::text LIKE '%-9000-%' AND c.email <> 'customer' || round(p.amount) || '@example.org'",
		}, filmWrong...),
	}
}
