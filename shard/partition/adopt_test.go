package partition_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	gormmysql "gorm.io/driver/mysql"
	gormpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard/partition"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Purchase is a model of the table orders that knows nothing of partitions.
type Purchase struct {
	ID       sqltype.ID
	Customer int64  `gorm:"index"`
	Note     string `gorm:"size:100"`
}

// TableName is the tests'.
func (Purchase) TableName() string { return "orders" }

// purchases opens the engine's database with GORM, and makes the table as AutoMigrate does.
func (e *engine) purchases(t testing.TB) *gorm.DB {
	t.Helper()
	dialector := gormmysql.New(gormmysql.Config{Conn: e.db})
	if e.postgres {
		dialector = gormpostgres.New(gormpostgres.Config{Conn: e.db})
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, PrepareStmt: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Use(gormplugin.New()); err != nil {
		t.Fatal(err)
	}
	if err := db.AutoMigrate(&Purchase{}); err != nil {
		t.Fatal(err)
	}
	return db
}

const writerCount = 4

// writers insert rows by GORM and read them again until they are stopped.
type writers struct {
	wrote  chan int // the number of a writer that has written, for more
	stop   chan struct{}
	done   sync.WaitGroup
	mu     sync.Mutex
	ids    []sqltype.ID // by mu
	failed []error      // by mu
}

func write(t *testing.T, db *gorm.DB) *writers {
	t.Helper()
	w := &writers{stop: make(chan struct{}), wrote: make(chan int)}
	for n := range writerCount {
		w.done.Go(func() {
			for {
				select {
				case <-w.stop:
					return
				default:
				}
				order := Purchase{Customer: int64(n), Note: "written"}
				err := db.Create(&order).Error
				var read Purchase
				if err == nil {
					err = db.First(&read, order.ID).Error
				}
				w.mu.Lock()
				if err != nil {
					w.failed = append(w.failed, err)
				} else {
					w.ids = append(w.ids, order.ID)
				}
				w.mu.Unlock()
				select {
				case w.wrote <- n:
				default: // nobody waits
				}
			}
		})
	}
	t.Cleanup(w.end)
	w.more(3)
	return w
}

// more waits until each writer has written that many rows more.
func (w *writers) more(rows int) {
	var seen [writerCount]int
	for slices.Min(seen[:]) < rows {
		seen[<-w.wrote]++
	}
}

func (w *writers) end() {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.done.Wait()
}

// check stops the writers, and compares what they wrote with what is there.
func (w *writers) check(t *testing.T, e *engine) {
	t.Helper()
	w.end()
	for _, err := range w.failed {
		t.Errorf("a writer got the error %v", err)
	}
	there := map[string]bool{}
	for _, id := range e.texts(t, "SELECT CAST(id AS char(20)) FROM orders WHERE note = 'written'") {
		there[strings.TrimSpace(id)] = true
	}
	for _, id := range w.ids {
		if !there[id.String()] {
			t.Errorf("the row %v is lost", id)
		}
	}
	if len(there) != len(w.ids) || len(w.ids) == 0 {
		t.Errorf("got %d rows, want the %d written", len(there), len(w.ids))
	}
}

// adopter returns a keeper with the clocks of the machine.
func (e *engine) adopter(t testing.TB) *partition.Keeper {
	t.Helper()
	settings := orders()
	settings.LockWait, settings.Tries = 200*time.Millisecond, 30
	k, err := partition.New(e.db, e.d, settings)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// adopted fails unless the table is divided as it has to be afterwards.
func (e *engine) adopted(t testing.TB) {
	t.Helper()
	first := partition.Day.Next(time.Now().Add(24*time.Hour), time.UTC).Format("p20060102")
	k := e.adopter(t)
	plan, err := k.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := e.parts(t); got != first+" pbefore pmax" && got != "pbefore pmax" { // the latter between 0 and 1 o'clock, when two days ahead is today and tomorrow
		t.Errorf("got the partitions %q, want pbefore, %s and pmax", got, first)
	}
	if e.postgres && e.count(t, "SELECT CAST(reltuples AS bigint) FROM pg_class WHERE oid = CAST('orders' AS regclass)") < 0 {
		t.Error("the planner knows nothing of the table")
	}
	if len(plan.Problems) > 0 || len(plan.Steps) > 0 {
		t.Errorf("got the problems %v and the steps %v afterwards, want none", plan.Problems, plan.Steps)
	}
	if a, err := k.Adoption(t.Context()); err != nil || len(a.Steps) > 0 || len(a.Obstacles) > 0 {
		t.Errorf("got %+v, %v, want that there is nothing left to do", a, err)
	}
}

func TestAdoptWhileGORMWrites(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		db := e.purchases(t)
		w := write(t, db)
		a, err := e.adopter(t).Adopt(t.Context())
		if err != nil {
			t.Fatal(err, a.Steps)
		}
		w.more(10)
		w.check(t, e)
		e.adopted(t)
		if again, err := e.adopter(t).Adopt(t.Context()); err != nil || len(again.Steps) > 0 {
			t.Errorf("got the steps %v, %v a second time, want none", again.Steps, err)
		}
		before := e.catalogue(t)
		if err := db.AutoMigrate(&Purchase{}); err != nil {
			t.Fatal(err)
		}
		if after := e.catalogue(t); after != before {
			t.Errorf("AutoMigrate has changed\n%s\ninto\n%s", before, after)
		}
	})
}

// TestAdoptKilledAtEveryStatement ends the connection before the first, second, … statement while others write, until a run has no more of them.
func TestAdoptKilledAtEveryStatement(t *testing.T) {
	dbtest.Long(t)
	onEach(t, func(t *testing.T, e *engine) {
		db := e.purchases(t)
		killed := 0
		for ; killed < 100; killed++ {
			e.exec(t, "DROP TABLE orders")
			if err := db.AutoMigrate(&Purchase{}); err != nil {
				t.Fatal(err)
			}
			w := write(t, db)
			k, seen, where := e.adopter(t), 0, ""
			k.OnStatement(func(step partition.Step, n int) error {
				if seen++; seen == killed+1 {
					where = step.SQL[n]
					e.killHolder(t)
				}
				return nil
			})
			_, err := k.Adopt(t.Context())
			if where != "" && err == nil {
				t.Fatalf("%s: got no error of a connection that was killed", where)
			}
			if a, err := e.adopter(t).Adopt(t.Context()); err != nil {
				t.Fatalf("after a kill before %s: %v, steps %v", where, err, a.Steps)
			}
			w.more(2)
			w.check(t, e)
			e.adopted(t)
			if t.Failed() {
				t.Fatalf("after a kill before %s", where)
			}
			if where == "" {
				break
			}
		}
		if killed < 10 || killed == 100 {
			t.Errorf("got %d statements to kill a connection at, want 10 or more", killed)
		}
	})
}

func TestAdoptBusy(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is killed at every statement with -short")
	}
	onEach(t, func(t *testing.T, e *engine) {
		db := e.purchases(t)
		end := e.begin(t)
		settings := orders()
		settings.LockWait, settings.Tries = 50*time.Millisecond, 2
		k, err := partition.New(e.db, e.d, settings)
		if err != nil {
			t.Fatal(err)
		}
		// Between its attempts others write.
		tried := 0
		k.OnStatement(func(step partition.Step, n int) error {
			if n == 0 {
				if tried++; tried == 2 {
					return db.Create(&Purchase{Note: "written"}).Error
				}
			}
			return nil
		})
		if _, err := k.Adopt(t.Context()); !errors.Is(err, partition.ErrBusy) || !strings.Contains(err.Error(), "2 attempts") {
			t.Errorf("got %v, want ErrBusy after 2 attempts", err)
		}
		end()
		if _, err := e.adopter(t).Adopt(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.adopted(t)
		if got := e.count(t, "SELECT COUNT(*) FROM orders"); got != 1 {
			t.Errorf("got %d rows, want 1", got)
		}
	})
}

// catalogue returns what the database tells of the table, without what differs by being divided.
func (e *engine) catalogue(t testing.TB) string {
	t.Helper()
	if !e.postgres {
		var name, create string
		if err := e.db.QueryRowContext(t.Context(), "SHOW CREATE TABLE orders").Scan(&name, &create); err != nil {
			t.Fatal(err)
		}
		create, _, _ = strings.Cut(create, "\n PARTITION BY")
		return create
	}
	var all []string
	for _, query := range []string{
		`SELECT concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attstorage, attcompression, attstattarget, attoptions, attgenerated, attidentity, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum), attcollation)
			FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = 'orders'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
		`SELECT concat_ws(' ', replace(pg_get_indexdef(indexrelid), 'ON ONLY ', 'ON '), indisvalid, obj_description(indexrelid, 'pg_class')) FROM pg_index WHERE indrelid = 'orders'::regclass ORDER BY 1`,
		`SELECT concat_ws(' ', conname, pg_get_constraintdef(oid), convalidated, obj_description(oid, 'pg_constraint')) FROM pg_constraint WHERE conrelid = 'orders'::regclass ORDER BY 1`,
		`SELECT concat_ws(' ', pg_get_triggerdef(oid), tgenabled, obj_description(oid, 'pg_trigger')) FROM pg_trigger WHERE tgrelid = 'orders'::regclass AND NOT tgisinternal ORDER BY 1`,
		`SELECT concat_ws(' ', pg_get_statisticsobjdef(oid), obj_description(oid, 'pg_statistic_ext')) FROM pg_statistic_ext WHERE stxrelid = 'orders'::regclass ORDER BY 1`,
		`SELECT concat_ws(' ', pg_get_userbyid(relowner), obj_description(oid, 'pg_class'), relrowsecurity) FROM pg_class WHERE oid = 'orders'::regclass`,
		`SELECT concat_ws(' ', attname, grantee::regrole, privilege_type, is_grantable) FROM (SELECT '' AS attname, COALESCE(relacl, acldefault('r', relowner)) AS acl FROM pg_class WHERE oid = 'orders'::regclass
			UNION ALL SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'orders'::regclass) AS a, aclexplode(acl) ORDER BY 1`,
	} {
		all = append(all, e.texts(t, query)...)
	}
	return strings.Join(all, "\n")
}

// TestAdoptKeepsTheCatalogue adopts a table that has one of everything.
func TestAdoptKeepsTheCatalogue(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		statements := []string{
			`CREATE TABLE orders (old int, id bigint NOT NULL, customer bigint NOT NULL DEFAULT 7 COMMENT 'who''s', note varchar(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, price decimal(12,3) DEFAULT 1.5, made timestamp(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
				twice bigint GENERATED ALWAYS AS (customer * 2) STORED, half bigint GENERATED ALWAYS AS (customer / 2) VIRTUAL, doc longtext, CONSTRAINT positive CHECK (price > 0),
				PRIMARY KEY (id), UNIQUE KEY by_customer (customer, id) COMMENT 'an index''s', KEY first_letters (note(5)), KEY made (made DESC)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT 'a table''s', STATS_SAMPLE_PAGES = 30`,
			"INSERT INTO orders (old, id, customer, note) VALUES (1, 100, 1, 'first'), (2, 200, 2, 'second')",
			"ALTER TABLE orders DROP COLUMN old",
			"ALTER TABLE orders ADD COLUMN later bigint NOT NULL DEFAULT 5",
			"INSERT INTO orders (id, customer, note) VALUES (300, 3, 'third')",
		}
		if e.postgres {
			role := "r" + e.texts(t, "SELECT current_database()")[0]
			defer func() {
				e.exec(t, "DROP OWNED BY "+role+", "+role+"_too")
				e.exec(t, "DROP ROLE "+role+", "+role+"_too")
			}()
			statements = []string{
				"CREATE ROLE " + role, "CREATE ROLE " + role + "_too",
				"CREATE TABLE customers (id bigint PRIMARY KEY)",
				"INSERT INTO customers VALUES (1), (2), (3)",
				`CREATE TABLE orders (old int, id bigint CONSTRAINT "the key" PRIMARY KEY, customer bigint NOT NULL DEFAULT 7, note varchar(60) COLLATE "C", price numeric(12,3) DEFAULT 1.5 CONSTRAINT positive CHECK (price > 0),
					made timestamptz(3) DEFAULT now(), twice bigint GENERATED ALWAYS AS (customer * 2) STORED, doc jsonb) WITH (fillfactor = 70)`,
				"INSERT INTO orders (old, id, customer, note) VALUES (1, 100, 1, 'first'), (2, 200, 2, 'second')",
				"ALTER TABLE orders DROP COLUMN old",
				"ALTER TABLE orders ADD COLUMN later bigint NOT NULL DEFAULT 5",
				"INSERT INTO orders (id, customer, note) VALUES (300, 3, 'third')",
				"ALTER TABLE orders ALTER COLUMN note SET STORAGE EXTERNAL, ALTER COLUMN note SET STATISTICS 300, ALTER COLUMN customer SET (n_distinct = 50)",
				"ALTER TABLE orders ADD CONSTRAINT by_customer UNIQUE (customer, id) DEFERRABLE INITIALLY DEFERRED",
				"ALTER TABLE orders ADD CONSTRAINT whose FOREIGN KEY (customer) REFERENCES customers ON DELETE CASCADE",
				"CREATE INDEX lower_note ON orders (lower(note) DESC NULLS LAST) INCLUDE (price) WHERE price > 2",
				"CREATE INDEX lower_note_too ON orders (lower(note) DESC NULLS LAST) INCLUDE (price) WHERE price > 2",
				"CREATE INDEX docs ON orders USING gin (doc)",
				`CREATE UNIQUE INDEX "Ordered" ON orders (id DESC, note) WITH (fillfactor = 60)`,
				"CREATE STATISTICS both_of (ndistinct) ON customer, price FROM orders",
				"CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.later = NEW.later + 1; RETURN NEW; END'",
				"CREATE TRIGGER touched BEFORE UPDATE ON orders FOR EACH ROW WHEN (NEW.price > 0) EXECUTE FUNCTION touch()",
				"CREATE TRIGGER noticed AFTER TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION touch()",
				"COMMENT ON TABLE orders IS 'a table''s'", "COMMENT ON COLUMN orders.customer IS 'who''s'", "COMMENT ON INDEX docs IS 'an index''s'",
				`COMMENT ON CONSTRAINT "the key" ON orders IS 'a key''s'`, "COMMENT ON CONSTRAINT positive ON orders IS 'a check''s'", "COMMENT ON CONSTRAINT whose ON orders IS 'a foreign key''s'",
				"COMMENT ON TRIGGER touched ON orders IS 'a trigger''s'", "COMMENT ON STATISTICS both_of IS 'statistics'''",
				"ALTER TABLE orders OWNER TO " + role, "ALTER TABLE customers OWNER TO " + role,
				"GRANT SELECT ON orders TO PUBLIC", "REVOKE TRUNCATE ON orders FROM " + role, "GRANT INSERT, UPDATE ON orders TO " + role + "_too WITH GRANT OPTION", "GRANT UPDATE (note), SELECT (id) ON orders TO " + role + "_too",
				"ALTER DEFAULT PRIVILEGES GRANT DELETE ON TABLES TO PUBLIC",
			}
		}
		for _, statement := range statements {
			e.exec(t, statement)
		}
		before := e.catalogue(t)
		if a, err := e.adopter(t).Adopt(t.Context()); err != nil {
			t.Fatal(err, a.Steps)
		}
		e.adopted(t)
		if after := e.catalogue(t); after != before {
			t.Errorf("got the catalogue\n%s\nwant as it was before\n%s", after, before)
		}
		e.exec(t, "UPDATE orders SET note = 'changed' WHERE id = 300")
		want := map[bool]string{true: "6", false: "5"}[e.postgres] // the trigger, once
		if got := e.texts(t, "SELECT CAST(later AS char(1)) FROM orders WHERE note = 'changed'"); !slices.Equal(got, []string{want}) {
			t.Errorf("got later %v after an UPDATE, want %s", got, want)
		}
		if e.postgres {
			e.exec(t, "INSERT INTO customers VALUES (7)")
		}
		e.insert(t, time.Now(), 0)
		e.insert(t, time.Now().Add(1000*time.Hour), 0)
		if e.postgres {
			if got := e.texts(t, "SELECT reloptions::text FROM pg_class WHERE relname = 'orders_pbefore'"); !slices.Equal(got, []string{"{fillfactor=70}"}) {
				t.Errorf("got the storage options %v of the rows there were", got)
			}
		}
	})
}

// TestAdoptInAnotherSchema adopts a table that another one is called like.
func TestAdoptInAnotherSchema(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	for _, statement := range []string{
		"CREATE SCHEMA shop", "CREATE TABLE shop.orders (id bigint PRIMARY KEY, n int)", "CREATE INDEX n ON shop.orders (n)", "INSERT INTO shop.orders VALUES (1)",
		"CREATE TABLE orders (id bigint PRIMARY KEY, n int)", "CREATE INDEX n ON orders (n)",
	} {
		e.exec(t, statement)
	}
	before := e.catalogue(t)
	settings := orders()
	settings.Name = "shop.orders"
	k, err := partition.New(e.db, e.d, settings)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := k.Adopt(t.Context()); err != nil {
		t.Fatal(err, a.Steps)
	}
	if after := e.catalogue(t); after != before {
		t.Errorf("the other table is\n%s\nand was\n%s", after, before)
	}
	if got := strings.Join(e.texts(t, "SELECT CAST(relid AS text) FROM pg_partition_tree('shop.orders') ORDER BY 1"), " "); !strings.Contains(got, "shop.orders_default") || !strings.Contains(got, "shop.orders_pbefore") {
		t.Errorf("got the partitions %s", got)
	}
}

func TestAdoptRefuses(t *testing.T) {
	const plain = "CREATE TABLE orders (id bigint PRIMARY KEY, n int NOT NULL)"
	tests := []struct {
		name, postgres, mysql, want string
	}{
		{"an incoming foreign key", plain + "; CREATE TABLE lines (of bigint REFERENCES orders)", plain + "; CREATE TABLE parts (of bigint, FOREIGN KEY (of) REFERENCES orders (id))", "foreign key "},
		{"a foreign key to itself", "CREATE TABLE orders (id bigint PRIMARY KEY, n bigint REFERENCES orders)", "CREATE TABLE orders (id bigint PRIMARY KEY, n bigint, FOREIGN KEY (n) REFERENCES orders (id))", "foreign key "},
		{"a foreign key", "", "CREATE TABLE customers (id bigint PRIMARY KEY); CREATE TABLE orders (id bigint PRIMARY KEY, n bigint, FOREIGN KEY (n) REFERENCES customers (id))", "foreign key "},
		{"a unique index", plain + "; CREATE UNIQUE INDEX few ON orders (n)", plain + "; CREATE UNIQUE INDEX few ON orders (n)", "the unique index few has no column id"},
		{"a number of the database's", "CREATE TABLE orders (id bigserial PRIMARY KEY)", "CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY)", "numbers the column id"},
		{"an identity", "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)", "", "numbers the column id"},
		{"a narrow key", "CREATE TABLE orders (id int PRIMARY KEY)", "CREATE TABLE orders (id int PRIMARY KEY)", "the column id has the type int"},
		{"no key", "CREATE TABLE orders (n bigint)", "CREATE TABLE orders (n bigint)", "no column id"},
		{"a row of the future", plain + "; INSERT INTO orders VALUES (9000000000000000000, 1)", plain + "; INSERT INTO orders VALUES (9000000000000000000, 1)", "the id 9000000000000000000 is not before"},
		{"a trigger", "", plain + "; CREATE TRIGGER tr BEFORE INSERT ON orders FOR EACH ROW SET NEW.n = 1", "the trigger tr would be lost"},
		{"another engine", "", plain + " ENGINE = MyISAM", "its engine is MyISAM"},
		{"a table of the twin's name", "", plain + "; CREATE TABLE orders_adopting (id bigint); INSERT INTO orders_adopting VALUES (1)", "orders_adopting"},
		{"a view", plain + "; CREATE VIEW v AS SELECT * FROM orders", "", "the view public.v would read"},
		{"a materialized view", plain + "; CREATE MATERIALIZED VIEW v AS SELECT * FROM orders", "", "the materialized view public.v would read"},
		{"a rule", plain + "; CREATE RULE r AS ON DELETE TO orders DO INSTEAD NOTHING", "", "the rule "},
		{"a policy", plain + "; CREATE POLICY p ON orders USING (true)", "", "the policy "},
		{"row security", plain + "; ALTER TABLE orders ENABLE ROW LEVEL SECURITY", "", "row security is on"},
		{"a publication", plain + "; CREATE PUBLICATION p FOR TABLE orders", "", "the publication p"},
		{"a publication of all", plain + "; CREATE PUBLICATION p FOR ALL TABLES", "", "the publication p"},
		{"a function of the type", plain + "; CREATE FUNCTION f(orders) RETURNS int LANGUAGE sql AS 'SELECT 1'", "", "the function f(orders) is made of"},
		{"a column of the type", plain + "; CREATE TABLE parts (o orders)", "", "has a type that is"},
		{"a function of the table", plain + "; CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT n FROM orders| END", "", "the function f() is made of"},
		{"an exclusion", "CREATE TABLE orders (id bigint PRIMARY KEY, n int, EXCLUDE (n WITH =))", "", "is an exclusion"},
		{"no validation", plain + "; ALTER TABLE orders ADD CONSTRAINT c CHECK (n > 0) NOT VALID", "", "the constraint c is NOT VALID"},
		{"no validation of a foreign key", plain + "; CREATE TABLE customers (id int PRIMARY KEY); ALTER TABLE orders ADD CONSTRAINT c FOREIGN KEY (n) REFERENCES customers NOT VALID", "", "the constraint c is NOT VALID"},
		{"no inheritance", plain + "; ALTER TABLE orders ADD CONSTRAINT c CHECK (n > 0) NO INHERIT", "", "the constraint c is NO INHERIT"},
		{"an heir", plain + "; CREATE TABLE heirs () INHERITS (orders)", "", "it is no table of its own (inherited)"},
		{"an ancestor", "CREATE TABLE a (n int); CREATE TABLE orders (id bigint PRIMARY KEY) INHERITS (a)", "", "inherits"},
		{"no log", "CREATE UNLOGGED TABLE orders (id bigint PRIMARY KEY)", "", "persistence u"},
		{"a disabled trigger", plain + "; CREATE TRIGGER tr BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger(); ALTER TABLE orders DISABLE TRIGGER tr", "", "the trigger tr is disabled"},
		{"replica identity", plain + "; ALTER TABLE orders REPLICA IDENTITY FULL", "", "the replica identity would be"},
		{"a name that is taken", plain + "; CREATE TABLE orders_default (id bigint)", "", "already"},
		{"a view of the name", "CREATE VIEW orders AS SELECT 1 AS id", "", "it is no table of its own (view)"},
		{"a type", "CREATE TYPE kind AS (id bigint, n int); CREATE TABLE orders OF kind (PRIMARY KEY (id))", "", "it is no table of its own (of a type)"},
	}
	onEach(t, func(t *testing.T, e *engine) {
		clear := []string{"DROP TABLE IF EXISTS parts, orders, customers, orders_adopting"}
		if e.postgres {
			clear = []string{"DROP PUBLICATION IF EXISTS p", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public"}
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				statements := map[bool]string{true: tt.postgres, false: tt.mysql}[e.postgres]
				if statements == "" {
					return // of the other database
				}
				for _, statement := range append(slices.Clone(clear), strings.Split(statements, "; ")...) {
					e.exec(t, strings.ReplaceAll(statement, "|", ";"))
				}
				a, err := e.adopter(t).Adopt(t.Context())
				if !errors.Is(err, partition.ErrAdopt) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want an obstacle with %q", err, tt.want)
				}
				if len(a.Steps) > 0 {
					t.Errorf("got the steps %v done", a.Steps)
				}
			})
		}
	})
}

// TestAttachReadsNoRows reads what PostgreSQL says of the constraint that takes the place of reading the rows.
func TestAttachReadsNoRows(t *testing.T) {
	for name, proven := range map[string]bool{"with the constraint": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, dbtest.Postgres(t))
			e.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY)")
			e.exec(t, "INSERT INTO orders SELECT generate_series(1, 1000)")
			config, err := pgx.ParseConfig(e.database.DriverDSN)
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			config.RuntimeParams["client_min_messages"] = "debug1"
			config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { said = append(said, n.Message) }
			db := stdlib.OpenDB(*config)
			defer db.Close()
			k, err := partition.New(db, e.d, orders())
			if err != nil {
				t.Fatal(err)
			}
			k.OnStatement(func(step partition.Step, n int) error {
				if attach := slices.ContainsFunc(step.SQL, func(s string) bool { return strings.Contains(s, " ATTACH ") }); attach && n == 0 && !proven {
					for i, statement := range step.SQL {
						switch {
						case strings.Contains(statement, "SELECT 1 WHERE"): // before the table is renamed
							step.SQL[i] = "ALTER TABLE orders DROP CONSTRAINT orders_pbefore_bound"
						case strings.Contains(statement, "DROP CONSTRAINT"):
							step.SQL[i] = "SELECT 1 WHERE false"
						}
					}
				}
				return nil
			})
			if _, err := k.Adopt(t.Context()); err != nil {
				t.Fatal(err)
			}
			const implied = `partition constraint for table "orders_pbefore" is implied by existing constraints`
			if got := slices.Contains(said, implied); got != proven {
				t.Errorf("PostgreSQL says %q: got %t, want %t, of %q", implied, got, proven, said)
			}
		})
	}
}

// TestAdoptRenewsTheBound lets a day and a half pass after a run that was ended half way.
func TestAdoptRenewsTheBound(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	e.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY)")
	now := noon
	k := e.keeper(t, orders(), &now)
	stop := errors.New("ended")
	k.OnStatement(func(step partition.Step, n int) error {
		if strings.Contains(step.SQL[n], "RENAME TO") {
			return stop
		}
		return nil
	})
	if _, err := k.Adopt(t.Context()); !errors.Is(err, stop) || !strings.Contains(err.Error(), "orders_pbefore_bound") {
		t.Fatalf("got %v, want that it was ended, and the name of the constraint that is left", err)
	}
	checks := func() string {
		return strings.Join(e.texts(t, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'orders_pbefore_bound'"), " ")
	}
	first := checks()
	if want := fmt.Sprint(idAt(t, at("2026-03-12T00:00:00Z"), 0)); !strings.Contains(first, want) {
		t.Errorf("got the constraint %s, want the bound %s", first, want)
	}
	now = at("2026-03-11T22:30:00Z")
	if a, err := k.Adopt(t.Context()); !errors.Is(err, stop) || len(a.Steps) > 0 || checks() != first {
		t.Errorf("got %v, steps %v, %s, want the bound as it was", err, a.Steps, checks())
	}
	now = at("2026-03-11T23:30:00Z")
	if _, err := k.Adopt(t.Context()); !errors.Is(err, stop) {
		t.Error(err)
	}
	if want := fmt.Sprint(idAt(t, at("2026-03-13T00:00:00Z"), 0)); !strings.Contains(checks(), want) {
		t.Errorf("got the constraint %s, want the bound %s", checks(), want)
	}
	if a, err := e.keeper(t, orders(), &now).Adopt(t.Context()); err != nil {
		t.Error(err, a.Steps)
	}
}

// TestAdoptSeesChanges adds an index after the plan was made and before the table is locked.
func TestAdoptSeesChanges(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	e.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, n int)")
	k := e.adopter(t)
	added := false
	k.OnStatement(func(step partition.Step, n int) error {
		if strings.Contains(step.SQL[n], "ACCESS EXCLUSIVE") && !added {
			added = true
			e.exec(t, "CREATE INDEX late ON orders (n)")
		}
		return nil
	})
	if _, err := k.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := e.catalogue(t); !strings.Contains(got, "INDEX late ON") {
		t.Errorf("got no index late in %s", got)
	}
}

// TestAdoptEndsNoTransaction has a transaction that holds a table to which a foreign key refers, and then comes to the table that is being divided.
func TestAdoptEndsNoTransaction(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	e.exec(t, "CREATE TABLE customers (id bigint PRIMARY KEY)")
	e.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, customer bigint REFERENCES customers)")
	settings := orders()
	settings.LockWait = 2 * time.Second
	k, err := partition.New(e.db, e.d, settings)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := e.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO customers VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	ended, begun := make(chan error, 1), false
	k.OnStatement(func(step partition.Step, n int) error {
		if strings.Contains(step.SQL[n], "FOREIGN KEY") && !begun {
			begun = true
			go func() {
				_, err := tx.Exec("INSERT INTO orders VALUES (1, 1)")
				ended <- errors.Join(err, tx.Commit())
			}()
			e.awaitBlocked(t)
		}
		return nil
	})
	if _, err := k.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || !begun {
		t.Errorf("got %v of the transaction, begun %t, want that it waits", err, begun)
	}
	e.adopted(t)
}

// TestAdoptServerKilledBetweenTheHalves kills the server when the table is a partition, and none has its name.
func TestAdoptServerKilledBetweenTheHalves(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is killed at every statement with -short")
	}
	server := dbtest.StartMySQL(t)
	e := newEngine(t, server.Database(t))
	e.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY)")
	e.exec(t, "INSERT INTO orders VALUES (1)")
	k := e.adopter(t)
	k.OnStatement(func(step partition.Step, n int) error {
		if n == 0 {
			for i, statement := range step.SQL {
				if strings.HasPrefix(statement, "BEGIN NOT ATOMIC") {
					step.SQL[i] = strings.Replace(statement, "; ", "; DO SLEEP(1000); ", 1) // until the server is killed
				}
			}
		}
		return nil
	})
	adopted := make(chan error, 1)
	go func() {
		_, err := k.Adopt(t.Context())
		adopted <- err
	}()
	for range 100_000 {
		if e.count(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'") > 0 {
			break
		}
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-adopted; err == nil {
		t.Fatal("got no error of a server that was killed")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	e.db.SetMaxIdleConns(0) // those to the server before
	if got := e.texts(t, "SHOW TABLES"); !slices.Equal(got, []string{"orders_adopting"}) {
		t.Fatalf("got the tables %v", got)
	}
	a, err := e.adopter(t).Adopt(t.Context())
	if err != nil {
		t.Fatal(err, a.Steps)
	}
	e.adopted(t)
	if got := e.count(t, "SELECT COUNT(*) FROM orders PARTITION (pbefore)"); got != 1 {
		t.Errorf("got %d rows, want 1", got)
	}
}

// TestAdoptByCopying is what servers without CONVERT TABLE do.
func TestAdoptByCopying(t *testing.T) {
	e := newEngine(t, dbtest.MySQL(t))
	w := write(t, e.purchases(t))
	k := e.adopter(t)
	k.SetVersion("MySQL 8.4.0")
	a, err := k.Adopt(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Steps) != 1 || !strings.Contains(a.Steps[0].SQL[0], "PARTITION BY RANGE") {
		t.Errorf("got the steps %v, want an ALTER TABLE", a.Steps)
	}
	w.more(2)
	w.check(t, e)
	e.adopted(t)
}

// The variables of the process that TestAdoptProcessKilled kills.
const (
	adoptDriver = "SNOWKEY_TEST_ADOPT_DRIVER"
	adoptDSN    = "SNOWKEY_TEST_ADOPT_DSN"
)

// TestAdoptProcess is that process: it says each statement, and goes on when a line comes.
func TestAdoptProcess(t *testing.T) {
	driver := os.Getenv(adoptDriver)
	if driver == "" {
		return // in all other processes
	}
	db, err := sql.Open(driver, os.Getenv(adoptDSN))
	if err != nil {
		t.Fatal(err)
	}
	d, err := partition.LookupDialect(map[string]string{"pgx": "postgres", "mysql": "mysql"}[driver])
	if err != nil {
		t.Fatal(err)
	}
	k := (&engine{d: d, db: db}).adopter(t)
	in := bufio.NewScanner(os.Stdin)
	k.OnStatement(func(step partition.Step, n int) error {
		fmt.Println(step.SQL[n])
		if !in.Scan() {
			return errors.New("no line")
		}
		return nil
	})
	if _, err := k.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestAdoptProcessKilled kills the process at once when it has been told to send a statement, so before it, or while the server does it.
func TestAdoptProcessKilled(t *testing.T) {
	dbtest.Long(t)
	onEach(t, func(t *testing.T, e *engine) {
		db := e.purchases(t)
		at := []string{"PARTITION BY", "LOCK TABLES", "BEGIN NOT ATOMIC", "BEGIN NOT ATOMIC", "UNLOCK", "ADD PARTITION", "DROP PARTITION"}
		if e.postgres {
			at = []string{"ADD CONSTRAINT", "VALIDATE", "LOCK TABLE", "RENAME TO", "ATTACH", "COMMIT", "COMMIT", "ANALYZE"}
		}
		for _, want := range at {
			e.exec(t, "DROP TABLE orders")
			if err := db.AutoMigrate(&Purchase{}); err != nil {
				t.Fatal(err)
			}
			w := write(t, db)
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAdoptProcess$")
			command.Env = append(os.Environ(), adoptDriver+"="+e.database.DriverName, adoptDSN+"="+e.database.DriverDSN)
			in, err := command.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			found := false
			for lines := bufio.NewScanner(out); !found && lines.Scan(); {
				found = strings.Contains(lines.Text(), want)
				_, _ = fmt.Fprintln(in, "on")
			}
			_ = command.Process.Kill()
			_ = command.Wait()
			if !found {
				t.Fatalf("the process came to no %s", want)
			}
			if a, err := e.adopter(t).Adopt(t.Context()); err != nil {
				t.Fatalf("after a kill at %s: %v, steps %v", want, err, a.Steps)
			}
			w.more(2)
			w.check(t, e)
			e.adopted(t)
			if t.Failed() {
				t.Fatalf("after a kill at %s", want)
			}
		}
	})
}
