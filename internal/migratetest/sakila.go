package migratetest

import (
	"database/sql"
	"fmt"
	"testing"
	"time"
)

// Sakila makes the Sakila database, a shop that lends films, in an empty database of MySQL or MariaDB. Rentals are as many as rows, at most
// 60,000, for payment_id is a SMALLINT; the other tables' rows are in proportion.
//
//	country ◀─ city ◀─ address ◀─ store, staff, customer          store ─▶ staff ─▶ store
//	language ◀─ film (twice) ◀─ film_actor, film_category         composite keys; ─▶ actor, category
//	film ◁─ film_text                                             filled by triggers of film; FULLTEXT
//	film, store ◀─ inventory ◀─ rental ◀─ payment                 rental, payment ─▶ customer, staff
//
// All tables but film_text have last_update, which UPDATE sets by itself; customer has create_date, rental rental_date and payment
// payment_date, which triggers set to the time of the INSERT. All foreign keys are ON UPDATE CASCADE. The same rows give the same content.
func Sakila(t testing.TB, db *sql.DB, rows int) {
	t.Helper()
	build(t, db, "sakila", "mysql", rows, (*filler).sakila)
}

// Pagila makes the Pagila database, which is Sakila's tables, in an empty database of PostgreSQL, with as many rows. Instead of film_text
// film has a tsvector, filled by a trigger; last_update is set by triggers BEFORE UPDATE; the sequences belong to no column; and payment is
// divided by payment_date, from 2022-01 to 2022-07, where each partition but the last has foreign keys and indexes of its own.
func Pagila(t testing.TB, db *sql.DB, rows int) {
	t.Helper()
	build(t, db, "pagila", "postgres", rows, (*filler).sakila)
}

// sakila fills the tables of Sakila or Pagila, parents before children but for store, which is before staff.
func (f *filler) sakila(rows int) {
	old := func(n int) time.Time {
		return time.Date(2021, 2, 15, 4, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	} // when masters were entered
	f.places(rows, old)
	f.films(rows, old)
	f.rentals(rows)
	var keys [][3]string
	for _, table := range []string{"actor", "address", "category", "city", "country", "customer", "film", "inventory", "language", "payment", "rental", "staff", "store"} {
		keys = append(keys, [3]string{table, table + "_id", table + "_" + table + "_id_seq"})
	}
	f.counters(keys...)
}

// places fills country, city, address, store, staff and customer.
func (f *filler) places(rows int, old func(int) time.Time) {
	for n := range rows/150 + 3 {
		f.add("country", "country_id, country, last_update", f.id("country"), fmt.Sprintf("Country %d", n), old(n))
	}
	for n := range rows/27 + 4 {
		f.add("city", "city_id, city, country_id, last_update", f.id("city"), fmt.Sprintf("City %d", n), f.any("country"), old(n))
	}
	customers := rows/27 + 5
	for n := range customers + 4 {
		var postal any
		if n%4 > 0 {
			postal = fmt.Sprint(10000 + n)
		}
		f.add("address", "address_id, address, district, city_id, postal_code, phone, last_update", f.id("address"), fmt.Sprintf("%d O'Hara Street", n), fmt.Sprintf("District %d", n%7), f.any("city"),
			postal, fmt.Sprintf("555-%d", n), old(n))
	}
	address := f.ids["address"]
	for n := range 2 {
		f.add("store", "store_id, manager_staff_id, address_id, last_update", f.id("store"), n+1, address[n], old(n))
	}
	for n := range 2 {
		f.add("staff", "staff_id, first_name, last_name, address_id, email, store_id, active, username, last_update", f.id("staff"), fmt.Sprintf("Staff %d", n), "Hill", address[2+n],
			fmt.Sprintf("staff%d@example.org", n), f.ids["store"][n], f.yes(), fmt.Sprintf("staff%d", n), old(n))
	}
	for n := range customers {
		columns, created := "customer_id, store_id, first_name, last_name, email, address_id, create_date, last_update, ", any(dated(n/4, customers))
		values := []any{f.id("customer"), f.any("store"), fmt.Sprintf("First %d", n), fmt.Sprintf("Last %d", n), fmt.Sprintf("customer%d@example.org", n), address[4+n], created, dated(n, customers)}
		if f.kind == "postgres" {
			columns, values = columns+"active, uuid", append(values, 1, uuid(n))
		} else {
			columns, values = columns+"active", append(values, f.yes())
		}
		f.add("customer", columns, values...)
	}
}

// films fills actor, category, language, film (and film_text, by its trigger), film_actor, film_category and inventory.
func (f *filler) films(rows int, old func(int) time.Time) {
	for n := range rows/80 + 5 {
		f.add("actor", "actor_id, first_name, last_name, last_update", f.id("actor"), fmt.Sprintf("ACTOR%d", n), fmt.Sprintf("GUINESS%d", n%40), old(n))
	}
	for n := range 16 {
		f.add("category", "category_id, name, last_update", f.id("category"), fmt.Sprintf("Category %d", n), old(n))
	}
	for n := range 6 {
		f.add("language", "language_id, name, last_update", f.id("language"), fmt.Sprintf("Language %d", n), old(n))
	}
	for n := range rows/16 + 5 {
		var original, features any
		if n%9 == 4 {
			original = f.any("language")
		}
		if n%5 > 0 {
			features = map[string]string{"mysql": "Trailers,Deleted Scenes", "postgres": `{Trailers,"Deleted Scenes"}`}[f.kind]
		}
		f.add("film", "film_id, title, description, release_year, language_id, original_language_id, length, rating, special_features, last_update", f.id("film"), fmt.Sprintf("ACADEMY DINOSAUR %d", n),
			fmt.Sprintf("An epic drama of number %d", n), 2006, f.any("language"), original, 60+n%120, []string{"G", "PG", "PG-13", "R", "NC-17"}[n%5], features, old(n))
	}
	actors, categories := f.ids["actor"], f.ids["category"]
	for n, film := range f.ids["film"] {
		for k := range n%5 + 1 {
			f.add("film_actor", "actor_id, film_id, last_update", actors[(n+k)%len(actors)], film, old(n))
		}
	}
	for n, film := range f.ids["film"] {
		f.add("film_category", "film_id, category_id, last_update", film, categories[n%len(categories)], old(n))
	}
	for n := range rows/4 + 5 {
		f.add("inventory", "inventory_id, film_id, store_id, last_update", f.id("inventory"), f.any("film"), f.any("store"), old(n))
	}
}

// rentals fills rental and payment. A rental in fifty has no payment; on MySQL a payment in a hundred is of no rental.
func (f *filler) rentals(rows int) {
	f.flush()
	customers := make([]int64, rows)
	for n := range rows {
		var back any
		if n%90 != 17 {
			back = dated(n, rows).Add(50 * time.Hour)
		}
		customers[n] = f.any("customer")
		columns := "rental_id, rental_date, inventory_id, customer_id, return_date, staff_id, last_update"
		values := []any{f.id("rental"), dated(n, rows), f.any("inventory"), customers[n], back, f.any("staff"), dated(n, rows).Add(time.Hour)}
		if f.kind == "postgres" {
			columns, values = columns+", uuid", append(values, uuid(n))
		}
		f.add("rental", columns, values...)
	}
	for n, rental := range f.ids["rental"] {
		if n%50 == 11 {
			continue
		}
		columns, of := "payment_id, customer_id, staff_id, rental_id, amount, payment_date, ", any(rental)
		if f.kind == "mysql" && n%100 == 62 {
			of = nil
		}
		values := []any{f.id("payment"), customers[n], f.any("staff"), of, fmt.Sprintf("%d.99", n%12), dated(n, rows).Add(time.Second)}
		if f.kind == "postgres" {
			columns, values = columns+"uuid", append(values, uuid(n))
		} else {
			columns, values = columns+"last_update", append(values, dated(n, rows).Add(time.Hour))
		}
		f.add("payment", columns, values...)
	}
}

// yes returns what a boolean column takes for true.
func (f *filler) yes() any {
	if f.kind == "postgres" {
		return "true"
	}
	return 1
}
