package inspect_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// shop is a schema with each kind of reference, and what looks like one.
var shop = []string{
	`CREATE TABLE customers (id KEY!, name varchar(40), created_at TIME!)`,
	`CREATE TABLE orders (id KEY!, customer_id int NOT NULL, billing_customer_id int, stripe_customer_id varchar(40), FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE)`,
	`CREATE TABLE order_items (id KEY!, "orderId" int, n int)`,
	`CREATE TABLE categories (id KEY!, parent_id int)`,
	`CREATE TABLE notes (id KEY!, owner_id varchar(30), owner_type varchar(30))`,
	`CREATE TABLE order_tags (order_id int NOT NULL, tag varchar(20) NOT NULL, PRIMARY KEY (order_id, tag))`,
	`CREATE TABLE logs (customer_id int, paid int)`,
	`CREATE TABLE documents (id KEY!, body JSON!)`,
	`CREATE TABLE snowkey_nodes (id KEY!, customer_id int)`,
	`INSERT INTO customers (id, name) VALUES (11, 'a'), (12, 'b'), (13, 'c')`,
	`INSERT INTO orders (id, customer_id, billing_customer_id, stripe_customer_id) VALUES (101, 11, 11, 'cus_1'), (102, 12, 99, 'cus_2'), (103, 12, NULL, NULL)`,
	`INSERT INTO order_items (id, "orderId", n) VALUES (1, 101, 1), (2, 102, 1), (3, 0, 1), (4, NULL, 1)`,
	`INSERT INTO categories (id, parent_id) VALUES (1, NULL), (2, 1), (3, 1)`,
	`INSERT INTO notes (id, owner_id, owner_type) VALUES (1, '11', 'customers'), (2, '12', 'customers'), (3, '101', 'App\Models\Order'), (4, '11', 'Robot'), (5, '13', 'customers')`,
	`INSERT INTO order_tags VALUES (101, 'x'), (102, 'x'), (900, 'x')`,
	`INSERT INTO logs VALUES (11, 12), (12, 13), (0, 0)`,
	`INSERT INTO documents (id, body) VALUES (1, '{"customer": {"id": 11}}'), (2, '{"customer": {"id": "12"}}'), (3, '{"customer": {"id": 77}}'), (4, '{}'), (5, '{"customer": {"id": null}}')`,
}

func makeShop(t *testing.T, db *gorm.DB) {
	t.Helper()
	statements := shop
	if db.Name() == "mysql" { // a backslash is more than one there
		statements = strings.Split(strings.ReplaceAll(strings.Join(statements, "\x00"), `\`, `\\`), "\x00")
	}
	run(t, db, statements...)
}

func TestReferences(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		makeShop(t, db)
		r := mustInspect(t, db, inspect.Options{References: []string{"documents.body:$.customer.id=customers.id"}})
		requireLines(t, references(r),
			"orders.customer_id > customers.id declared certain 0",
			"orders.billing_customer_id > customers.id name possible -1",
			"orders.stripe_customer_id > customers.id name unlikely -1 text",
			"order_items.orderId > orders.id name likely 0",
			"categories.parent_id > categories.id name possible -1",
			"notes.owner_id[owner_type=customers] > customers.id polymorphic likely 0 text",
			`notes.owner_id[owner_type=App\Models\Order] > orders.id polymorphic likely 0 text`,
			"order_tags.order_id > orders.id name possible -1",
			"logs.customer_id > customers.id name likely 0",
			"documents.body:$.customer.id > customers.id given certain 1 text",
		)
		requireLines(t, obstacles(r, "polymorphic"), "polymorphic:notes.Robot rekey,shadow")
		for _, f := range r.References {
			if f.Column == "customer_id" && f.Table == "orders" && (f.OnDelete != "CASCADE" || f.Nullable) {
				t.Errorf("got %+v, want NOT NULL and ON DELETE CASCADE", f)
			}
			if f.Table == "order_tags" && (!f.Indexed || !strings.Contains(f.Why, "2 of 3 different")) {
				t.Errorf("got %+v, want it to be indexed, and the numbers in Why", f)
			}
		}
		if logs := tableOf(t, r, "logs"); logs.Key != nil || !strings.Contains(logs.NoKey, "no primary key") || logs.Rows != 3 || !logs.Exact {
			t.Errorf("got %+v, want 3 rows and no key", logs)
		}
		if tags := tableOf(t, r, "order_tags"); tags.Key != nil || !strings.Contains(tags.NoKey, "composite: order_id, tag") {
			t.Errorf("got %+v, want that the key is composite", tags)
		}
	})
}

func TestOneTable(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		makeShop(t, db)
		r := mustInspect(t, db, inspect.Options{Tables: []string{"orders"}, References: []string{"!order_tags.order_id=orders.id"}})
		if len(r.Tables) != 1 || r.Tables[0].Name != "orders" {
			t.Errorf("got %+v, want orders alone", r.Tables)
		}
		requireLines(t, references(r),
			"orders.customer_id > customers.id declared certain 0",
			"order_items.orderId > orders.id name likely 0",
			`notes.owner_id[owner_type=App\Models\Order] > orders.id polymorphic likely 0 text`,
		)
	})
}

// Values of the first rows are all keys, and of the later ones none is.
func TestSampleIsSpread(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, `CREATE TABLE people (id KEY!)`, `CREATE TABLE visits (id KEY!, person_id int)`)
		var people, visits []string
		for n := 1; n <= 2000; n++ {
			people = append(people, fmt.Sprintf("(%d)", n))
			visits = append(visits, fmt.Sprintf("(%d, %d)", n, n), fmt.Sprintf("(%d, %d)", 10_000+n, 10_000+n))
		}
		run(t, db, "INSERT INTO people VALUES "+strings.Join(people, ","), "INSERT INTO visits VALUES "+strings.Join(visits, ","), "INSERT INTO visits VALUES (2000000000, 9999)")
		r := mustInspect(t, db, inspect.Options{Sample: 320})
		requireLines(t, references(r), "visits.person_id > people.id name possible -1")
		run(t, db, "UPDATE visits SET person_id = NULL WHERE person_id > 2000")
		r = mustInspect(t, db, inspect.Options{Sample: 320})
		requireLines(t, references(r), "visits.person_id > people.id name likely 0")
		run(t, db, "UPDATE visits SET person_id = NULL WHERE id <> 11999", "UPDATE visits SET person_id = 3 WHERE id = 11999") // one value in 4,000 rows
		r = mustInspect(t, db, inspect.Options{Sample: 320})
		if len(r.References) != 1 || !strings.Contains(r.References[0].Why, "all 1 different") {
			t.Errorf("got %+v, want the one value to be found", r.References)
		}
	})
}

// It is the published case: a serial key at 97 % of int4, 1,000 rows of which came within the last week.
func TestHeadroom(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, `CREATE TABLE events (id KEY!, created_at TIME!)`)
		const greatest, week, day = 2_083_059_138, 7 * 86400, 86400
		values := []string{"(5, AGO(99999999))"}
		for n := range 28 { // four a day, 250,000 keys apart
			values = append(values, fmt.Sprintf("(%d, AGO(%d))", greatest-250_000*n, n*day/4))
		}
		values = append(values, fmt.Sprintf("(%d, AGO(%d))", greatest-28*250_000-1, week+day))
		run(t, db, "INSERT INTO events (id, created_at) VALUES "+strings.Join(values, ","))
		k := tableOf(t, mustInspect(t, db, inspect.Options{}), "events").Key
		if k == nil || k.Column != "id" || k.Least != 5 || k.Greatest != greatest || k.Auto == "" {
			t.Fatalf("got %+v", k)
		}
		// The 27 steps between the rows of the week, over 7 days.
		if want := (27*250_000 + 1) / 7.0; math.Abs(k.PerDay-want) > 1 {
			t.Errorf("got %f ids a day, want %f", k.PerDay, want)
		}
		limit, used := uint64(math.MaxInt32), 0.97
		if db.Name() == "sqlite" {
			limit, used = math.MaxInt64, 0
		}
		if k.Limit != limit || math.Abs(k.Used-used) > 0.0001 {
			t.Errorf("got a limit of %d, %f of it used, want %d and %f", k.Limit, k.Used, limit, used)
		}
		if want := (float64(limit) - greatest) / k.PerDay; math.Abs(k.DaysLeft-want) > 0.001*want+1 {
			t.Errorf("got %f days left, want %f", k.DaysLeft, want)
		}
	})
}

// A sequence that is narrower than its column ends the keys, and it is ahead of a table whose last rows were deleted.
func TestHeadroomOfASequence(t *testing.T) {
	db := openOn(t, "postgres")
	run(t, db, `CREATE TABLE a (id serial PRIMARY KEY)`, `ALTER TABLE a ALTER id TYPE bigint`, `SELECT setval('a_id_seq', 2000000000)`, `INSERT INTO a DEFAULT VALUES`, `DELETE FROM a`)
	r := mustInspect(t, db, inspect.Options{})
	if k := r.Tables[0].Key; k.Bits != 64 || k.Limit != math.MaxInt32 || k.Greatest != 0 || k.Used < 0.93 {
		t.Errorf("got %+v, want the limit of the sequence, and what it has used", k)
	}
	requireLines(t, obstacles(r), "sequence:a.public.a_id_seq")
}

func TestRateOfIntegers(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, `CREATE TABLE a (id KEY!, created bigint)`)
		now := map[string]string{"sqlite": "strftime('%s','now')", "mysql": "unix_timestamp()", "postgres": "CAST(extract(epoch FROM now()) AS bigint)"}[db.Name()]
		for n := range 10 { // one a day
			run(t, db, fmt.Sprintf("INSERT INTO a (id, created) VALUES (%d, (%s - %d) * 1000)", 100-n, now, n*86400))
		}
		a := tableOf(t, mustInspect(t, db, inspect.Options{}), "a")
		if a.Created == nil || !strings.HasSuffix(a.Created.Type, ", unix milliseconds") || !a.Created.Zoned || !a.Created.Nulls {
			t.Errorf("got %+v", a.Created)
		}
		if a.Key.PerDay < 0.9 || a.Key.PerDay > 1.2 {
			t.Errorf("got %f a day, want 1", a.Key.PerDay)
		}
	})
}

func TestUnsigned(t *testing.T) {
	db := openOn(t, "mysql")
	run(t, db, "CREATE TABLE a (id bigint unsigned AUTO_INCREMENT PRIMARY KEY, created_at datetime)", "INSERT INTO a VALUES (18446744073709551610, now() - interval 9 day), (5, now())",
		"CREATE TABLE b (id int unsigned PRIMARY KEY)", "INSERT INTO b VALUES (4294967295)", "CREATE TABLE c (id bigint PRIMARY KEY, a_id bigint unsigned)", "INSERT INTO c VALUES (1, 18446744073709551610), (2, 6)")
	r := mustInspect(t, db, inspect.Options{})
	if k := tableOf(t, r, "a").Key; k.Limit != math.MaxUint64 || k.Greatest != math.MaxInt64 || k.Used != 1 || !k.Unsigned {
		t.Errorf("got %+v", k)
	}
	if k := tableOf(t, r, "b").Key; k.Limit != math.MaxUint32 || k.Greatest != math.MaxUint32 || k.Used != 1 {
		t.Errorf("got %+v", k)
	}
	requireLines(t, obstacles(r), "unsigned:a.id widen,rekey,shadow", "unsigned:b.id")
}

func TestNoTables(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		r := mustInspect(t, db, inspect.Options{})
		if len(r.Tables)+len(r.References)+len(r.Obstacles) > 0 || r.Database.Kind != db.Name() || r.Database.Name == "" || r.Database.ID == "" {
			t.Errorf("got %+v", r)
		}
	})
}

func TestEmptyTables(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		run(t, db, `CREATE TABLE users (id KEY!, created_at TIME!)`, `CREATE TABLE posts (id KEY!, user_id int, owner_id int, owner_type varchar(9))`)
		r := mustInspect(t, db, inspect.Options{})
		requireLines(t, references(r), "posts.user_id > users.id name possible -1")
		if k := tableOf(t, r, "users"); k.Key.Least != 0 || k.Key.Greatest != 0 || k.Key.Used != 0 || k.Key.PerDay != 0 || !k.Exact || k.Rows != 0 || k.Created.Column != "created_at" {
			t.Errorf("got %+v", k)
		}
	})
}

func TestHostileNames(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		parent, child, column := `Or'der? $1:x`, `li"nk.s`, `order? $1:x'_id`
		quote := func(name string) string {
			if db.Name() == "mysql" {
				return "`" + strings.ReplaceAll(name, "`", "``") + "`"
			}
			return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
		typ := map[string]string{"sqlite": "INTEGER", "mysql": "int", "postgres": "integer"}[db.Name()]
		err := db.Connection(func(tx *gorm.DB) error {
			for _, s := range []string{
				"CREATE TABLE " + quote(parent) + " (" + quote("select") + " " + typ + " PRIMARY KEY, created_at varchar(9))",
				"CREATE TABLE " + quote(child) + " (" + quote("from") + " " + typ + " PRIMARY KEY, " + quote(column) + " " + typ + ", " + quote("what? id") + " varchar(20), " + quote("what? type") + " varchar(40))",
				"INSERT INTO " + quote(parent) + " VALUES (7, NULL)",
				"INSERT INTO " + quote(child) + " VALUES (1, 7, '7', 'Or''der? $1:x'), (2, 8, '7', 'x')",
			} {
				pool := tx.Statement.ConnPool
				if _, err := pool.ExecContext(t.Context(), s); err != nil {
					return fmt.Errorf("%s: %w", s, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		given := `"li""nk.s"."order? $1:x'_id"="Or'der? $1:x".select`
		r := mustInspect(t, db, inspect.Options{References: []string{given}})
		requireLines(t, references(r),
			`"li""nk.s".order? $1:x'_id > Or'der? $1:x.select given certain 1`,
			`"li""nk.s".what? id[what? type=Or'der? $1:x] > Or'der? $1:x.select polymorphic likely 0 text`,
		)
		requireLines(t, obstacles(r), `polymorphic:"li""nk.s".x rekey,shadow`)
	})
}
