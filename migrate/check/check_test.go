package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/migrate/check"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/sqltype"
)

// mustRun runs statements, in which @ is a key that was made now.
func mustRun(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := db.Session(&gorm.Session{NewDB: true}).Exec(strings.ReplaceAll(statement, "@", snowflake(t))).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// snowflake returns a key of this test's.
func snowflake(t *testing.T) string {
	t.Helper()
	id, err := idgen.Snowkey.MinID(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(id)
}

// briefly returns findings as "table.column kind", with a * after those that have statements.
func briefly(findings []check.Finding) []string {
	texts := []string{}
	for _, f := range findings {
		text := f.Table + "." + f.Column + " " + f.Kind.String()
		if len(f.Fix) > 0 {
			text += "*"
		}
		texts = append(texts, text)
	}
	return texts
}

func requireFindings(t *testing.T, got []check.Finding, want ...string) {
	t.Helper()
	if got := briefly(got); !slices.Equal(got, want) {
		t.Fatalf("got the findings\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, f := range got {
		if f.Text == "" || strings.Contains(f.Text, "%!") || strings.HasSuffix(f.Text, ".") || slices.Contains(f.Fix, "") {
			t.Errorf("got %+v, want a text and whole statements", f)
		}
	}
}

func checkTables(t *testing.T, db *gorm.DB, tables ...string) []check.Finding {
	t.Helper()
	findings, err := check.Tables(t.Context(), db, idgen.Snowkey.Layout, tables...)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

// openOn opens a fresh database of a kind.
func openOn(t *testing.T, kind string) *gorm.DB {
	t.Helper()
	make := map[string]func(testing.TB) dbtest.Database{dsn.SQLite: dbtest.SQLite, dsn.MySQL: dbtest.MySQL, dsn.Postgres: dbtest.Postgres}[kind]
	return openDatabase(t, make(t).DSN)
}

// checkCase is a database that is found to be at fault. Once the statements of its findings have run, nothing is found but what has none,
// and rows with a key that is made now can be inserted.
type checkCase struct {
	name   string
	kind   string
	setup  []string
	tables []string
	want   []string
	insert []string
	keeps  string // a query that has the same answer before and after
	each   bool   // mend each finding alone too
}

// filled is a table of InnoDB with rows of about 250 bytes that arrive in the order given.
func filled(name, order string) []string {
	return []string{
		"CREATE TABLE " + name + " (id bigint PRIMARY KEY, user_id bigint, at datetime(3) NOT NULL, price decimal(10, 2) NOT NULL, note varchar(200) CHARACTER SET latin1)",
		"INSERT INTO " + name + " SELECT seq, seq, '2025-01-01', 1, REPEAT('x', 200) FROM seq_1_to_80000 ORDER BY " + order,
		"ANALYZE TABLE " + name,
	}
}

var checkCases = []checkCase{
	{
		name: "rows in and out of the order of their keys", kind: dsn.MySQL,
		setup:  slices.Concat(filled("orders", "seq + 64 * RAND(1)"), filled("sorted", "seq")),
		tables: []string{"orders", "sorted"},
		want:   []string{"orders.id half-empty*"},
		insert: []string{"INSERT INTO orders VALUES (@, NULL, NOW(), 1, NULL)"},
		keeps:  "SELECT SUM(user_id) FROM orders",
	},
	{
		name: "int auto_increment", kind: dsn.MySQL, each: true,
		setup: []string{
			"CREATE TABLE orders (id int unsigned NOT NULL AUTO_INCREMENT COMMENT 'it''s AUTO_INCREMENT, \"of\" DEFAULT nextval(s) NOT NULL', item text, PRIMARY KEY (id))",
			"INSERT INTO orders (item) VALUES ('tea'), ('milk')",
		},
		tables: []string{"orders"},
		want:   []string{"orders.id narrow-key*", "orders.id auto-increment*"},
		insert: []string{"INSERT INTO orders VALUES (@, 'x')"},
		keeps:  "SELECT CONCAT(IS_NULLABLE, COLUMN_COMMENT, COLUMN_KEY, COLUMN_TYPE LIKE '%unsigned') FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND COLUMN_NAME = 'id'",
	},
	{
		name: "bigint auto_increment that foreign keys refer to", kind: dsn.MySQL,
		setup: []string{
			"CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY)",
			"CREATE TABLE line (id bigint PRIMARY KEY, order_id bigint, FOREIGN KEY (order_id) REFERENCES orders (id))",
		},
		tables: []string{"orders", "line"},
		want:   []string{"orders.id auto-increment*"},
		insert: []string{"INSERT INTO orders VALUES (@)", "INSERT INTO line VALUES (@, (SELECT id FROM orders))"},
	},
	{
		name: "default of a sequence", kind: dsn.MySQL, each: true,
		setup: []string{
			"CREATE SEQUENCE `s)q`", "CREATE TABLE orders (id int NOT NULL DEFAULT nextval(`s)q`) COMMENT 'x' PRIMARY KEY, b int INVISIBLE DEFAULT 3 CHECK (b > 2))",
		},
		tables: []string{"orders"},
		want:   []string{"orders.id narrow-key*", "orders.id auto-increment*"},
		insert: []string{"INSERT INTO orders (id) VALUES (@)"},
	},
	{
		name: "foreign keys", kind: dsn.MySQL, each: true,
		setup: []string{
			"CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, parent_id int COMMENT 'the ''parent''', KEY (parent_id), CONSTRAINT `to self` FOREIGN KEY (parent_id) REFERENCES orders (id) ON DELETE SET NULL)",
			"CREATE TABLE line (id bigint PRIMARY KEY, order_id int NOT NULL DEFAULT 7, CONSTRAINT `odd ``name` FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE ON UPDATE CASCADE)",
			"CREATE TABLE detail (id int PRIMARY KEY, FOREIGN KEY (id) REFERENCES orders (id))",
			"CREATE TABLE pair (tenant int, id int, PRIMARY KEY (tenant, id))",
			"CREATE TABLE pairs (tenant int, pair_id int, FOREIGN KEY (tenant, pair_id) REFERENCES pair (tenant, id))",
			"INSERT INTO orders VALUES (1, NULL), (2, 1)", "INSERT INTO line VALUES (1, 2)", "INSERT INTO detail VALUES (2)",
		},
		tables: []string{"orders", "line", "detail", "pair"},
		want: []string{
			"orders.id narrow-key*", "orders.id auto-increment*", "pair.id narrow-key*",
			"detail.id narrow-reference*", "line.order_id narrow-reference*", "orders.parent_id narrow-reference*", "pairs.pair_id narrow-reference*",
		},
		insert: []string{
			"INSERT INTO orders VALUES (@, 1)", "INSERT INTO line VALUES (@, (SELECT MAX(id) FROM orders))", "INSERT INTO detail VALUES ((SELECT MAX(id) FROM orders))",
			"INSERT INTO pair VALUES (1, @)", "INSERT INTO pairs VALUES (1, (SELECT MAX(id) FROM pair))",
		},
		keeps: "SELECT GROUP_CONCAT(CONCAT(TABLE_NAME, CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE, REFERENCED_TABLE_NAME) ORDER BY 1 SEPARATOR ';') FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()",
	},
	{
		name: "sql_mode ANSI_QUOTES", kind: dsn.MySQL,
		setup:  []string{"SET SESSION sql_mode = 'ANSI_QUOTES'", `CREATE TABLE "orders" ("the ""id" int AUTO_INCREMENT PRIMARY KEY COMMENT 'a''b')`},
		tables: []string{"orders"},
		want:   []string{`orders.the "id narrow-key*`, `orders.the "id auto-increment*`},
		insert: []string{"INSERT INTO orders VALUES (@)"},
		keeps:  "SELECT COLUMN_COMMENT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'orders'",
	},
	{
		name: "odd names", kind: dsn.MySQL,
		setup:  []string{"CREATE TABLE `select ``x\" ü.y` (`Or``der key` smallint AUTO_INCREMENT PRIMARY KEY)"},
		tables: []string{"`select ``x\" ü.y`"},
		want:   []string{"\"select `x\"\" ü.y\".Or`der key narrow-key*", "\"select `x\"\" ü.y\".Or`der key auto-increment*"},
		insert: []string{"INSERT INTO `select ``x\" ü.y` VALUES (@)"},
	},
	{
		name: "no primary key", kind: dsn.MySQL, each: true,
		setup: []string{
			"CREATE TABLE orders (id mediumint, item int)", "CREATE TABLE uniq (id bigint NOT NULL UNIQUE)", "CREATE TABLE log (line text)",
		},
		tables: []string{"orders", "uniq", "log"},
		want:   []string{"orders.id no-primary-key*", "orders.id narrow-key*", "log. no-primary-key"},
		insert: []string{"INSERT INTO orders VALUES (@, 1)"},
	},
	{
		name: "serial", kind: dsn.Postgres, each: true,
		setup: []string{
			"CREATE TABLE orders (id serial PRIMARY KEY, item text)", "INSERT INTO orders (item) VALUES ('tea')",
			"CREATE TABLE line (id bigserial PRIMARY KEY, order_id int REFERENCES orders ON DELETE CASCADE)",
		},
		tables: []string{"orders", "line"},
		want:   []string{"orders.id narrow-key*", "orders.id auto-increment*", "line.id auto-increment*", "line.order_id narrow-reference*"},
		insert: []string{"INSERT INTO orders VALUES (@, 'x')", "INSERT INTO line VALUES (@, (SELECT max(id) FROM orders))"},
		keeps:  "SELECT string_agg(conname || pg_get_constraintdef(oid), ';' ORDER BY conname) FROM pg_constraint WHERE conrelid IN ('orders'::regclass, 'line'::regclass)",
	},
	{
		name: "identity", kind: dsn.Postgres,
		setup: []string{
			"CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY)", "CREATE TABLE line (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY)",
		},
		tables: []string{"orders", "line"},
		want:   []string{"orders.id narrow-key*", "orders.id auto-increment*", "line.id auto-increment*"},
		insert: []string{"INSERT INTO orders VALUES (@)", "INSERT INTO line VALUES (@)"},
	},
	{
		name: "another schema, composite keys", kind: dsn.Postgres,
		setup: []string{
			"CREATE SCHEMA app",
			"CREATE TABLE app.orders (tenant int, id smallint, PRIMARY KEY (tenant, id))",
			"CREATE TABLE line (id bigint PRIMARY KEY, tenant int, order_id int2, FOREIGN KEY (tenant, order_id) REFERENCES app.orders (tenant, id))",
			"CREATE TABLE orders (id int PRIMARY KEY)", // another one
		},
		tables: []string{"app.orders", "orders"},
		want:   []string{"app.orders.id narrow-key*", "orders.id narrow-key*", "line.order_id narrow-reference*"},
		insert: []string{"INSERT INTO app.orders VALUES (1, @)", "INSERT INTO line VALUES (@, 1, (SELECT max(id) FROM app.orders))"},
	},
	{
		name: "odd names", kind: dsn.Postgres,
		setup: []string{
			`CREATE SCHEMA "My App"`, `CREATE TABLE "My App"."select ""x"". Ü" ("Order Key" serial PRIMARY KEY)`,
			`CREATE TABLE "Orders" ("ID" serial PRIMARY KEY)`, `CREATE TABLE orders (id bigint PRIMARY KEY)`,
		},
		tables: []string{`My App."select ""x"". Ü"`, "Orders", "orders"},
		want: []string{
			`My App."select ""x"". Ü".Order Key narrow-key*`, `My App."select ""x"". Ü".Order Key auto-increment*`, "Orders.ID narrow-key*", "Orders.ID auto-increment*",
		},
		insert: []string{`INSERT INTO "My App"."select ""x"". Ü" VALUES (@)`, `INSERT INTO "Orders" VALUES (@)`},
	},
	{
		name: "partitions", kind: dsn.Postgres,
		setup: []string{
			"CREATE TABLE orders (id bigserial, day int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)", "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (0) TO (10)",
			"CREATE TABLE line (order_id bigint, day int, FOREIGN KEY (order_id, day) REFERENCES orders (id, day)) PARTITION BY RANGE (day)",
			"CREATE TABLE line_1 PARTITION OF line FOR VALUES FROM (0) TO (10)",
		},
		tables: []string{"orders_1"},
		want:   []string{"orders.id auto-increment*"},
		insert: []string{"INSERT INTO orders VALUES (@, 1)", "INSERT INTO line SELECT id, day FROM orders"},
	},
	{
		name: "no primary key", kind: dsn.Postgres, each: true,
		setup: []string{
			"CREATE TABLE orders (id int2, item int)", "CREATE TABLE uniq (id bigint NOT NULL UNIQUE)", "CREATE TABLE uniqnull (id bigint UNIQUE)",
		},
		tables: []string{"orders", "uniq", "uniqnull"},
		want:   []string{"orders.id no-primary-key*", "orders.id narrow-key*", "uniqnull.id no-primary-key*"},
		insert: []string{"INSERT INTO orders VALUES (@, 1)", "INSERT INTO uniqnull VALUES (@)"},
	},
}

func TestFixes(t *testing.T) {
	for _, tt := range checkCases {
		t.Run(tt.kind+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			alone := -1 // the finding that is mended; first all
			for rounds := 0; alone < rounds; alone++ {
				db := openOn(t, tt.kind)
				mustRun(t, db, tt.setup...)
				before := ""
				if tt.keeps != "" {
					if err := db.Raw(tt.keeps).Scan(&before).Error; err != nil || before == "" {
						t.Fatal(err)
					}
				}
				findings := checkTables(t, db, tt.tables...)
				requireFindings(t, findings, tt.want...)
				if tt.each {
					rounds = len(findings)
				}
				var left []check.Finding
				for i, f := range findings {
					switch {
					case alone < 0 || alone == i:
						mustRun(t, db, f.Fix...)
						if len(f.Fix) == 0 {
							left = append(left, f)
						}
					default:
						left = append(left, f)
					}
				}
				after := checkTables(t, db, tt.tables...)
				for _, text := range briefly(after) {
					if !slices.Contains(briefly(left), text) {
						t.Errorf("finding %d mended: got still %s", alone, text)
					}
				}
				if alone < 0 {
					mustRun(t, db, tt.insert...)
					requireFindings(t, checkTables(t, db, tt.tables...), briefly(left)...)
					now := ""
					if tt.keeps != "" {
						if err := db.Raw(tt.keeps).Scan(&now).Error; err != nil || now != before {
							t.Errorf("got %q, %v, want it to stay %q", now, err, before)
						}
					}
				}
			}
		})
	}
}

// On MySQL a database is what a schema is elsewhere, and foreign keys go from one to another, and on.
func TestFixesBetweenDatabases(t *testing.T) {
	db, elsewhere := openDatabase(t, dbtest.MySQL(t).Admin().DSN), openDatabase(t, dbtest.MySQL(t).Admin().DSN) // each from both
	var here, there string
	if err := errors.Join(db.Raw("SELECT DATABASE()").Scan(&here).Error, elsewhere.Raw("SELECT DATABASE()").Scan(&there).Error); err != nil {
		t.Fatal(err)
	}
	mustRun(t, db, "CREATE TABLE orders (id int PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
	mustRun(t, elsewhere,
		"CREATE TABLE detail (id int PRIMARY KEY, FOREIGN KEY (id) REFERENCES "+here+".orders (id))",
		"CREATE TABLE note (detail_id int, FOREIGN KEY (detail_id) REFERENCES detail (id))", "INSERT INTO detail VALUES (1)", "INSERT INTO note VALUES (1)")
	findings := checkTables(t, db, "orders")
	requireFindings(t, findings, "orders.id narrow-key*", there+".detail.id narrow-reference*")
	for _, f := range findings {
		mustRun(t, db, f.Fix...)
	}
	mustRun(t, db, "INSERT INTO orders VALUES (@)", "INSERT INTO "+there+".detail SELECT MAX(id) FROM orders", "INSERT INTO "+there+".note SELECT MAX(id) FROM orders")
	requireFindings(t, checkTables(t, db, "orders", there+".detail"))
	// From there the table has another name.
	mustRun(t, db, "ALTER TABLE orders ADD alone int", "CREATE TABLE counted (id int AUTO_INCREMENT PRIMARY KEY)")
	findings = checkTables(t, elsewhere, here+".counted")
	requireFindings(t, findings, here+".counted.id narrow-key*", here+".counted.id auto-increment*")
	mustRun(t, elsewhere, findings[1].Fix...)
	requireFindings(t, checkTables(t, elsewhere, here+".counted"))
}

// SQLite cannot change a key, and the finding says what to do.
func TestOnSQLite(t *testing.T) {
	db := openOn(t, dsn.SQLite)
	mustRun(t, db,
		`CREATE TABLE auto (id integer /* not AUTOINCREMENT? */ PRIMARY KEY AUTOINCREMENT)`,
		`CREATE TABLE "Text" (id integer PRIMARY KEY, a text DEFAULT 'AUTOINCREMENT', "AUTOINCREMENT" int, [AUTOINCREMENT x] int) -- AUTOINCREMENT`,
		`CREATE TABLE plain (id integer PRIMARY KEY)`, `CREATE TABLE late (id INTEGER, PRIMARY KEY (id DESC))`,
		`CREATE TABLE quirk (id INTEGER PRIMARY KEY DESC)`, `CREATE TABLE big (id bigint PRIMARY KEY)`, `CREATE TABLE big_not_null (id bigint PRIMARY KEY NOT NULL)`,
		`CREATE TABLE without (id int PRIMARY KEY) WITHOUT ROWID`, `CREATE TABLE pair (tenant int, id int, PRIMARY KEY (tenant, id))`,
		`CREATE TABLE "odd ""name. é" (id bigint PRIMARY KEY)`, `CREATE TABLE none (id integer)`, `CREATE TABLE uuids (id text PRIMARY KEY)`,
		`CREATE TABLE refers (id integer PRIMARY KEY, plain_id real REFERENCES PLAIN)`, `CREATE VIEW seen AS SELECT * FROM plain`,
		`ATTACH ':memory:' AS "ot her"`, `CREATE TABLE "ot her".plain (id bigint PRIMARY KEY)`)
	tables, err := check.List(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	findings := checkTables(t, db, append(tables, "seen", "ot her.plain", "BIG")...)
	requireFindings(t, findings,
		"auto.id auto-increment", "big.id nullable-key", "none.id no-primary-key", "\"odd \"\"name. é\".id nullable-key", "pair.id nullable-key", "quirk.id nullable-key",
		"seen. no-table", "ot her.plain.id nullable-key", "refers.plain_id narrow-reference")
	for i, want := range map[int]string{
		0: `declares "id" bigint NOT NULL PRIMARY KEY, which refuses`, 1: `declares "id" integer PRIMARY KEY,`, 2: `PRIMARY KEY ("id")`, 4: `declares "id" integer NOT NULL`,
	} {
		if !strings.Contains(findings[i].Text, want) {
			t.Errorf("got %q, want %q in it", findings[i].Text, want)
		}
	}
	// What the text says mends it.
	mustRun(t, db, `CREATE TABLE new (id integer PRIMARY KEY)`, `INSERT INTO new SELECT id FROM big`, `DROP TABLE big`, `ALTER TABLE new RENAME TO big`, `INSERT INTO big VALUES (@)`,
		`CREATE TABLE new (tenant int, id integer NOT NULL, PRIMARY KEY (tenant, id))`, `DROP TABLE pair`, `ALTER TABLE new RENAME TO pair`)
	requireFindings(t, checkTables(t, db, "big", "PAIR"))
	mustRun(t, db, `CREATE TABLE new (id bigint NOT NULL PRIMARY KEY, a int)`, `DROP TABLE auto`, `ALTER TABLE new RENAME TO auto`, `INSERT INTO auto VALUES (@, 1)`)
	requireFindings(t, checkTables(t, db, "auto", "main.auto"))
	if err := db.Exec(`INSERT INTO auto (a) VALUES (1)`).Error; err == nil {
		t.Error("got no error of a row without a key")
	}
}

// What stands in the way of a statement is named in its place.
func TestObstacles(t *testing.T) {
	db := openOn(t, dsn.Postgres)
	mustRun(t, db,
		"CREATE TABLE seen (id int PRIMARY KEY)", `CREATE VIEW "a view" AS SELECT id FROM seen`,
		"CREATE TABLE computed (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED)",
		"CREATE TABLE parent (id int PRIMARY KEY)", "CREATE TABLE heir (PRIMARY KEY (id)) INHERITS (parent)",
		"CREATE TABLE divided (id int PRIMARY KEY) PARTITION BY HASH (id)")
	findings := checkTables(t, db, "seen", "computed", "heir", "divided", "a view")
	requireFindings(t, findings, "seen.id narrow-key", "computed.id narrow-key", "heir.id narrow-key", "divided.id narrow-key", "a view. no-table")
	for i, want := range []string{`view "a view"; drop them, run ALTER TABLE "seen" ALTER COLUMN "id" TYPE bigint`, "column twice", "inherits", "partitioned", "it is a view"} {
		if !strings.Contains(findings[i].Text, want) {
			t.Errorf("got %q, want %q in it", findings[i].Text, want)
		}
	}
	mustRun(t, db, `DROP VIEW "a view"`)
	requireFindings(t, checkTables(t, db, "seen"), "seen.id narrow-key*")
}

// Keys from the future are found in keys of the layout alone, and small ones, those of auto-increment, are none.
func TestFutureKeys(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		typ := "bigint"
		if db.Name() == "sqlite" {
			typ = "integer"
		}
		mustRun(t, db, "CREATE TABLE orders (id "+typ+" PRIMARY KEY)")
		requireFindings(t, checkTables(t, db, "orders"))
		mustRun(t, db, "INSERT INTO orders VALUES (-5)", "INSERT INTO orders VALUES (12)", "INSERT INTO orders VALUES (@)")
		requireFindings(t, checkTables(t, db, "orders"))
		mustRun(t, db, "INSERT INTO orders VALUES (1541815603606036480)") // of Twitter's epoch
		findings := checkTables(t, db, "orders")
		requireFindings(t, findings, "orders.id future-key")
		at, err := idgen.Snowkey.Decode(1541815603606036480)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"1541815603606036480", at.Time.Format(time.RFC3339Nano), idgen.Snowkey.String()} {
			if !strings.Contains(findings[0].Text, want) {
				t.Errorf("got %q, want %q in it", findings[0].Text, want)
			}
		}
		for _, layout := range []idgen.Layout{idgen.Twitter.Layout, {}} {
			if findings, err := check.Tables(t.Context(), db, layout, "orders"); err != nil || len(findings) > 0 {
				t.Errorf("got %v, %v, want nothing", findings, err)
			}
		}
		if _, err := check.Tables(t.Context(), db, idgen.Baidu.Layout, "orders"); !errors.Is(err, idgen.ErrExhausted) {
			t.Errorf("got %v, want ErrExhausted", err)
		}
		// Where no index begins with the key all rows would be read.
		mustRun(t, db, "CREATE TABLE later (tenant bigint NOT NULL, id bigint NOT NULL, PRIMARY KEY (tenant, id))", "INSERT INTO later VALUES (1, 1541815603606036480)",
			"CREATE TABLE sooner (tenant bigint NOT NULL, id bigint NOT NULL, PRIMARY KEY (id, tenant))", "INSERT INTO sooner VALUES (1, 1541815603606036480)")
		requireFindings(t, checkTables(t, db, "later", "sooner"), "sooner.id future-key")
		if db.Name() == "mysql" {
			mustRun(t, db, "CREATE TABLE wide (id bigint unsigned PRIMARY KEY)", "INSERT INTO wide VALUES (18446744073709551615)")
			requireFindings(t, checkTables(t, db, "wide"), "wide.id future-key")
		}
	})
}

func TestMissingTables(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		mustRun(t, db, "CREATE TABLE orders (id int PRIMARY KEY NOT NULL)")
		findings := checkTables(t, db, "nosuch", "nosuch.orders")
		requireFindings(t, findings, "nosuch. no-table", "nosuch.orders. no-table")
		if db.Name() == "postgres" {
			if findings = checkTables(t, db, "ORDERS"); !strings.Contains(findings[0].Text, "there is orders") {
				t.Errorf("got %q, want the name that there is", findings[0].Text)
			}
		}
		for _, name := range []string{"", "a.", ".a", "a.b.c", `"a`, `"a"b`, "a\x00"} {
			if _, err := check.Tables(t.Context(), db, idgen.Layout{}, name); !errors.Is(err, check.ErrTable) {
				t.Errorf("%q: got %v, want ErrTable", name, err)
			}
		}
	})
}

// Who may not see or read a table is told so.
func TestWithoutRights(t *testing.T) {
	for kind, want := range map[string]string{dsn.MySQL: "SELECT command denied", dsn.Postgres: "permission denied"} {
		t.Run(kind, func(t *testing.T) {
			database := map[string]func(testing.TB) dbtest.Database{dsn.MySQL: dbtest.MySQL, dsn.Postgres: dbtest.Postgres}[kind](t)
			db := openDatabase(t, database.Admin().DSN) // who may set another user's role
			mustRun(t, db, "CREATE TABLE orders (id int PRIMARY KEY)", "CREATE TABLE hidden (id int PRIMARY KEY)")
			user := "u" + snowflake(t)
			err := db.Connection(func(tx *gorm.DB) error { // the pool has one connection, whose rights are taken
				if kind == dsn.MySQL {
					mustRun(t, tx, "CREATE ROLE "+user, "GRANT INSERT ON orders TO "+user, "CREATE USER "+user+"u", "GRANT "+user+" TO "+user+"u",
						"SET DEFAULT ROLE "+user+" FOR "+user+"u")
					parsed, err := dsn.Parse(database.DSN)
					if err != nil {
						return err
					}
					database.DSN = "mysql:" + user + "u" + parsed.Source[strings.Index(parsed.Source, "@"):]
				} else {
					mustRun(t, tx, "CREATE ROLE "+user, "SET ROLE "+user)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			limited := db
			if kind == dsn.MySQL {
				t.Cleanup(func() { mustRun(t, db, "DROP USER "+user+"u", "DROP ROLE "+user) })
				limited = openDatabase(t, database.DSN)
				requireFindings(t, checkTables(t, limited, "hidden"), "hidden. no-table")
			} else {
				t.Cleanup(func() { mustRun(t, db, "RESET ROLE", "DROP ROLE "+user) })
			}
			if _, err := check.Tables(t.Context(), limited, idgen.Snowkey.Layout, "orders"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "orders") {
				t.Errorf("got %v, want %q", err, want)
			}
			// All but the greatest key is for everybody to see, on MySQL who may do something with the table.
			findings, err := check.Tables(t.Context(), limited, idgen.Layout{}, "orders")
			if err != nil || len(findings) != 1 {
				t.Errorf("got %v, %v, want one finding", findings, err)
			}
		})
	}
}

// A user who has no right to see any table is told so, and no table is not taken for no fault. An inspection says the same.
func TestHiddenTables(t *testing.T) {
	for kind, want := range map[string]string{dsn.MySQL: "GRANT SELECT ON the database", dsn.Postgres: "GRANT USAGE ON SCHEMA app TO the user"} {
		t.Run(kind, func(t *testing.T) {
			database := map[string]func(testing.TB) dbtest.Database{dsn.MySQL: dbtest.MySQL, dsn.Postgres: dbtest.Postgres}[kind](t)
			db := openDatabase(t, database.Admin().DSN) // who may make users
			user := "u" + snowflake(t)
			hidden := db
			if kind == dsn.MySQL {
				name := db.Migrator().CurrentDatabase()
				mustRun(t, db, "CREATE TABLE orders (id int PRIMARY KEY)", "CREATE USER "+user, "GRANT CREATE TEMPORARY TABLES ON `"+name+"`.* TO "+user)
				t.Cleanup(func() { mustRun(t, db, "DROP USER "+user) })
				parsed, err := dsn.Parse(database.DSN)
				if err != nil {
					t.Fatal(err)
				}
				hidden = openDatabase(t, "mysql:"+user+parsed.Source[strings.Index(parsed.Source, "@"):])
			} else {
				mustRun(t, db, "CREATE SCHEMA app", "CREATE SCHEMA fresh", "SET search_path = app, public", "CREATE TABLE orders (id int PRIMARY KEY)", "CREATE ROLE "+user, "SET ROLE "+user)
				t.Cleanup(func() { mustRun(t, db, "RESET ROLE", "DROP ROLE "+user) })
			}
			if got, err := check.List(t.Context(), hidden); !errors.Is(err, check.ErrDatabase) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
			if report, err := inspect.Read(t.Context(), hidden, inspect.Options{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %+v, %v, want %q", report, err, want)
			}
			mustRun(t, db, map[string]string{dsn.MySQL: "DROP TABLE orders", dsn.Postgres: "SET search_path = fresh"}[kind])
			if got, err := check.List(t.Context(), db); err != nil || len(got) > 0 {
				t.Errorf("got %q, %v of an empty database, want neither", got, err)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		mustRun(t, db, "CREATE TABLE orders (id int PRIMARY KEY)")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := check.Tables(ctx, db, idgen.Layout{}, "orders"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want Canceled", err)
		}
		if _, err := check.List(ctx, db); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want Canceled", err)
		}
		if _, err := check.Models(ctx, db, gormplugin.New(gormplugin.From(mustGenerator(t))), &Order{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want Canceled", err)
		}
	})
}

func TestOtherDialects(t *testing.T) {
	if _, err := check.Tables(t.Context(), nil, idgen.Layout{}, "orders"); !errors.Is(err, check.ErrDatabase) {
		t.Errorf("got %v, want ErrDatabase", err)
	}
	db := openOn(t, dsn.SQLite)
	db.Dialector = named{db.Dialector}
	if _, err := check.List(t.Context(), db); !errors.Is(err, check.ErrDatabase) {
		t.Errorf("got %v, want ErrDatabase", err)
	}
}

// A key by a tag beside the primary key may be NULL.
func TestNullableKeyBesideThePrimaryKey(t *testing.T) {
	type Ticket struct {
		ID     int64
		Number int64 `gorm:"snowkey;index"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		autoMigrate(t, db, &Ticket{})
		findings, err := check.Models(t.Context(), db, gormplugin.New(gormplugin.From(mustGenerator(t))), &Ticket{})
		if err != nil {
			t.Fatal(err)
		}
		requireFindings(t, findings)
	})
}

type named struct{ gorm.Dialector }

func (named) Name() string { return "oracle" }

// The models of a shop that has grown with auto-increment.
type (
	Shop struct {
		ID     sqltype.ID
		Goods  []Good
		Badges []Badge `gorm:"many2many:shop_badges"`
		Notes  []Note  `gorm:"polymorphic:Owner"`
	}
	Good struct {
		ID     sqltype.ID
		ShopID sqltype.ID
	}
	Badge struct{ ID sqltype.ID }
	Note  struct {
		ID        sqltype.ID
		OwnerID   sqltype.ID
		OwnerType string
	}
)

// Relations are checked where no foreign key is declared too, and join tables.
func TestModels(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		plugin := gormplugin.New(gormplugin.From(mustGenerator(t)))
		if err := db.Use(plugin); err != nil {
			t.Fatal(err)
		}
		models := []any{&Shop{}, Good{}, &[]Badge{}, &Note{}}
		check := func() []check.Finding {
			t.Helper()
			findings, err := check.Models(t.Context(), db, plugin, models...)
			if err != nil {
				t.Fatal(err)
			}
			return findings
		}
		requireFindings(t, check(), "shops. no-table", "goods. no-table", "badges. no-table", "notes. no-table")
		key, number, letters := "int", "int", "varchar(9)"
		if db.Name() == "sqlite" {
			key, number, letters = "integer", "real", "float"
		}
		mustRun(t, db,
			"CREATE TABLE shops (id "+key+" PRIMARY KEY)", "CREATE TABLE goods (id varchar(20) NOT NULL PRIMARY KEY, shop_id "+number+")",
			"CREATE TABLE badges (number int)", "CREATE TABLE notes (id "+key+", owner_id "+letters+", owner_type text)",
			"CREATE TABLE shop_badges (shop_id "+number+" NOT NULL, badge_id "+number+" NOT NULL, PRIMARY KEY (shop_id, badge_id))")
		findings := check()
		if db.Name() == "sqlite" {
			requireFindings(t, findings, "goods.id wrong-type", "badges.id no-column", "notes.id no-primary-key",
				"goods.shop_id narrow-reference", "notes.owner_id narrow-reference", "shop_badges.shop_id narrow-reference", "shop_badges.badge_id narrow-reference")
			mustRun(t, db, "DROP TABLE goods", "DROP TABLE badges", "DROP TABLE notes", "DROP TABLE shop_badges")
		} else {
			requireFindings(t, findings, "shops.id narrow-key*", "goods.id wrong-type", "badges.id no-column", "notes.id no-primary-key*", "notes.id narrow-key*",
				"goods.shop_id narrow-reference*", "notes.owner_id narrow-reference", "shop_badges.shop_id narrow-reference*", "shop_badges.badge_id narrow-reference*")
			for _, f := range findings {
				mustRun(t, db, f.Fix...)
			}
			mustRun(t, db, "DROP TABLE badges", "DROP TABLE goods", "DROP TABLE notes")
		}
		if err := db.AutoMigrate(&Shop{}, &Good{}, &Badge{}, &Note{}); err != nil {
			t.Fatal(err)
		}
		requireFindings(t, check())
		shop := Shop{Goods: []Good{{}, {}}, Badges: []Badge{{}}, Notes: []Note{{}}}
		if err := db.Create(&shop).Error; err != nil {
			t.Fatal(err)
		}
		requireFindings(t, check())
		var found Shop
		if err := db.Preload("Goods").Preload("Badges").Preload("Notes").First(&found, shop.ID).Error; err != nil || len(found.Goods)+len(found.Badges)+len(found.Notes) != 4 {
			t.Errorf("got %+v, %v, want all that was made", found, err)
		}
		// The layout is that of the source.
		mustRun(t, db, "INSERT INTO badges (id) VALUES (1541815603606036480)")
		requireFindings(t, check(), "badges.id future-key")
	})
}

func mustGenerator(t *testing.T) *idgen.Snowflake {
	t.Helper()
	generator, err := idgen.New(idgen.WithNode(7))
	if err != nil {
		t.Fatal(err)
	}
	return generator
}

// With a source that says nothing of its layout all but that is checked; a table of one's own naming too.
func TestWithoutLayout(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		mustRun(t, db, "CREATE TABLE "+db.Statement.Quote("my orders")+" (id int NOT NULL PRIMARY KEY)", "INSERT INTO "+db.Statement.Quote("my orders")+" VALUES (2000000000)")
		want := []string{"my orders.id narrow-key*"}
		if db.Name() == "sqlite" {
			want = nil
		}
		plugin := gormplugin.New(gormplugin.From(reticent{mustGenerator(t)}))
		findings, err := check.Models(t.Context(), db, plugin, &renamed{})
		if err != nil {
			t.Fatal(err)
		}
		requireFindings(t, findings, want...)
		if _, err := check.Models(t.Context(), db, plugin, 5); err == nil {
			t.Error("got no error for a model that is none")
		}
		if _, err := check.Models(t.Context(), db, gormplugin.New(), &renamed{}); !errors.Is(err, gormplugin.ErrNoSource) {
			t.Errorf("before db.Use: got %v, want ErrNoSource", err)
		}
	})
}

// The names are those of the database's own naming, with its prefix.
func TestTablePrefix(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		prefix := "shop_"
		if db.Name() == "postgres" {
			prefix = "shop."
			mustRun(t, db, "CREATE SCHEMA shop", "CREATE TABLE orders (id int PRIMARY KEY)")
		}
		db.NamingStrategy = schema.NamingStrategy{TablePrefix: prefix}
		if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
			t.Fatal(err)
		}
		plugin := gormplugin.New(gormplugin.From(mustGenerator(t)))
		findings, err := check.Models(t.Context(), db, plugin, &Order{}, &Line{})
		if err != nil {
			t.Fatal(err)
		}
		requireFindings(t, findings)
		if db.Name() == "sqlite" {
			return
		}
		drop := map[string]string{"postgres": "DROP TABLE shop.lines", "mysql": "DROP TABLE shop_lines"}[db.Name()]
		mustRun(t, db, drop, strings.Replace(drop, "DROP", "CREATE", 1)+" (id int PRIMARY KEY, order_id int)")
		if findings, err = check.Models(t.Context(), db, plugin, &Order{}, &Line{}); err != nil {
			t.Fatal(err)
		}
		requireFindings(t, findings, prefix+"lines.id narrow-key*", prefix+"lines.order_id narrow-reference*")
		for _, f := range findings {
			mustRun(t, db, f.Fix...)
		}
		if findings, err = check.Models(t.Context(), db, plugin, &Order{}, &Line{}); err != nil || len(findings) > 0 {
			t.Errorf("got %v, %v, want nothing", findings, err)
		}
	})
}

type renamed struct{ ID sqltype.ID }

func (renamed) TableName() string { return "my orders" }

// reticent is a source without more methods.
type reticent struct{ idgen.Source[int64] }

// The check writes nothing, also where it may not.
func TestReadsAlone(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		mustRun(t, db, "CREATE TABLE orders (id int NOT NULL PRIMARY KEY)")
		begin := map[string]string{"mysql": "START TRANSACTION READ ONLY", "postgres": "START TRANSACTION READ ONLY", "sqlite": "PRAGMA query_only = 1"}[db.Name()]
		err := db.Connection(func(tx *gorm.DB) error {
			if err := tx.Exec(begin).Error; err != nil {
				return err
			}
			if _, err := check.Tables(t.Context(), tx, idgen.Snowkey.Layout, "orders"); err != nil {
				return err
			}
			if db.Name() == "sqlite" {
				return nil
			}
			return tx.Exec("ROLLBACK").Error
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// Columns that have to change together have the same statements, which change each table once.
func TestFixesTogether(t *testing.T) {
	db := openOn(t, dsn.MySQL)
	mustRun(t, db,
		"CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, parent_id int, CONSTRAINT above FOREIGN KEY (parent_id) REFERENCES orders (id))",
		"CREATE TABLE line (order_id int NOT NULL, id bigint PRIMARY KEY, CONSTRAINT of FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE)")
	want := []string{
		"ALTER TABLE `line` DROP FOREIGN KEY `of`", "ALTER TABLE `orders` DROP FOREIGN KEY `above`", "ALTER TABLE `line` MODIFY `order_id` bigint NOT NULL",
		"ALTER TABLE `orders` MODIFY `id` bigint NOT NULL, MODIFY `parent_id` bigint DEFAULT NULL",
		"ALTER TABLE `line` ADD CONSTRAINT `of` FOREIGN KEY (`order_id`) REFERENCES `orders` (`id`) ON DELETE CASCADE ON UPDATE RESTRICT",
		"ALTER TABLE `orders` ADD CONSTRAINT `above` FOREIGN KEY (`parent_id`) REFERENCES `orders` (`id`) ON DELETE RESTRICT ON UPDATE RESTRICT",
	}
	findings := checkTables(t, db, "orders", "line")
	requireFindings(t, findings, "orders.id narrow-key*", "orders.id auto-increment*", "line.order_id narrow-reference*", "orders.parent_id narrow-reference*")
	for _, f := range findings {
		if !slices.Equal(f.Fix, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", f, strings.Join(f.Fix, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestFindingText(t *testing.T) {
	f := check.Finding{Table: "orders", Column: "id", Kind: check.NarrowKey, Text: "narrow", Fix: []string{"ALTER"}}
	text, err := json.Marshal(f)
	want := `{"table":"orders","column":"id","kind":"narrow-key","text":"narrow","fix":["ALTER"]}`
	if err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	var read check.Finding
	if err := json.Unmarshal(text, &read); err != nil || fmt.Sprint(read) != fmt.Sprint(f) {
		t.Errorf("got %v, %v, want %v", read, err, f)
	}
	if got := f.String(); got != "orders, column id: narrow-key: narrow" {
		t.Errorf("got %q", got)
	}
	if got := (check.Finding{Table: "orders", Kind: check.NoTable, Text: "none"}).String(); got != "orders: no-table: none" {
		t.Errorf("got %q", got)
	}
	for kind := check.NoTable; kind <= check.HalfEmpty; kind++ {
		text, err := kind.MarshalText()
		var read check.Kind
		if err != nil || read.UnmarshalText(text) != nil || read != kind {
			t.Errorf("got %v, %v, want %v", read, err, kind)
		}
	}
	for _, kind := range []check.Kind{0, check.HalfEmpty + 1} {
		if _, err := kind.MarshalText(); !errors.Is(err, check.ErrKind) || kind.String() != fmt.Sprintf("Kind(%d)", uint8(kind)) {
			t.Errorf("got %v and %s, want ErrKind", err, kind)
		}
	}
	if err := new(check.Kind).UnmarshalText([]byte("wide-key")); !errors.Is(err, check.ErrKind) {
		t.Errorf("got %v, want ErrKind", err)
	}
}
