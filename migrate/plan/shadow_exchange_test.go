package plan_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// shopPostgres is a schema with a self-reference, a reference that ON DELETE sets to NULL, one that cascades, one that nobody has declared, a
// composite key, serial, identity and views. Each row says by name what it refers to.
var shopPostgres = []string{
	`CREATE TABLE customers (id serial PRIMARY KEY, name text NOT NULL UNIQUE, boss_id integer REFERENCES customers (id) ON DELETE SET NULL, boss text,
		created_at timestamptz NOT NULL DEFAULT now())`,
	`CREATE TABLE "Order s" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, customer_id integer NOT NULL, who text NOT NULL,
		created_at timestamptz NOT NULL DEFAULT now(), CONSTRAINT "the ""one""" UNIQUE (customer_id, name),
		CONSTRAINT "order's" FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE DEFERRABLE)`,
	`CREATE INDEX "by who" ON "Order s" (who, customer_id DESC) WHERE customer_id > 0`,
	`CREATE TABLE friends (a_id integer NOT NULL REFERENCES customers (id) ON DELETE CASCADE, a text NOT NULL, b_id integer NOT NULL REFERENCES customers (id) ON DELETE CASCADE,
		b text NOT NULL, PRIMARY KEY (a_id, b_id))`,
	`CREATE TABLE logs (id serial PRIMARY KEY, customer_id bigint, who text, created_at timestamptz NOT NULL DEFAULT now())`,
	`CREATE VIEW named AS SELECT o.id, c.id AS customer, c.name FROM "Order s" o JOIN customers c ON c.id = o.customer_id`,
	`CREATE VIEW more AS SELECT n.customer FROM named n`,
	`COMMENT ON COLUMN customers.id IS 'the customer''s: number'`,
	`COMMENT ON VIEW named IS 'with names'`,
	`GRANT SELECT ON named TO PUBLIC`,
	`GRANT SELECT (id) ON customers TO PUBLIC`,
	`ALTER TABLE customers ALTER COLUMN id SET STATISTICS 77`,
	`CREATE PUBLICATION all_of_it FOR TABLE customers`,
	`INSERT INTO customers (name, created_at) SELECT 'c' || n, timestamptz '2026-01-01 00:00Z' + n * interval '1 s' FROM generate_series(1, 300) n`,
	`UPDATE customers SET boss_id = id - 1, boss = 'c' || (id - 1) WHERE id > 1 AND id % 3 = 0`,
	`INSERT INTO "Order s" (name, customer_id, who, created_at) SELECT 'o' || n, n % 300 + 1, 'c' || n % 300 + 1, timestamptz '2026-02-01 00:00Z' + n * interval '1 s'
		FROM generate_series(1, 600) n`,
	`INSERT INTO friends SELECT n, 'c' || n, n + 1, 'c' || n + 1 FROM generate_series(1, 299) n`,
	`INSERT INTO logs (customer_id, who) SELECT CASE WHEN n % 10 = 0 THEN 0 WHEN n % 10 = 1 THEN 100000 + n ELSE n END, CASE WHEN n % 10 > 1 THEN 'c' || n END FROM generate_series(1, 300) n`,
}

var logsReference = inspect.Reference{Table: "logs", Column: "customer_id", To: "customers", ToColumn: "id", Origin: inspect.Given, Confidence: inspect.Certain}

// wrongPostgres are queries for the number of rows that refer to another row than they say.
var wrongPostgres = map[string]string{
	"bosses":  "SELECT count(*) FROM customers c LEFT JOIN customers p ON p.id = c.boss_id WHERE c.boss_id IS NOT NULL AND p.name IS DISTINCT FROM c.boss",
	"orders":  `SELECT count(*) FROM "Order s" c LEFT JOIN customers p ON p.id = c.customer_id WHERE p.name IS DISTINCT FROM c.who`,
	"friends": "SELECT count(*) FROM friends f LEFT JOIN customers a ON a.id = f.a_id LEFT JOIN customers b ON b.id = f.b_id WHERE a.name IS DISTINCT FROM f.a OR b.name IS DISTINCT FROM f.b",
	"logs":    "SELECT count(*) FROM logs c LEFT JOIN customers p ON p.id = c.customer_id WHERE c.who IS NOT NULL AND p.name IS DISTINCT FROM c.who",
}

func shadowPlan(t *testing.T, db *sql.DB, o plan.Options, more ...inspect.Reference) *changer {
	t.Helper()
	o.Mode, o.Zone = plan.Shadow, "UTC"
	p, err := plan.Make(t.Context(), db, reportOf(t, db, dialect.Postgres, more...), o)
	must(t, err)
	return &changer{t: t, db: db, d: dialect.Postgres, p: p}
}

func (e *changer) right(when string) {
	e.t.Helper()
	for what, query := range wrongPostgres {
		if n := e.number(query); n != 0 {
			e.t.Errorf("%s: %d rows of %s refer to others than they should", when, n, what)
		}
	}
}

// snapshot returns all that tells the schema's old state: values and definitions.
func (e *changer) snapshot() string {
	e.t.Helper()
	var all strings.Builder
	for _, query := range []string{
		"SELECT coalesce(string_agg(concat_ws(',', id, name, boss_id), ';' ORDER BY id), '') FROM customers",
		`SELECT coalesce(string_agg(concat_ws(',', id, name, customer_id), ';' ORDER BY id), '') FROM "Order s"`,
		"SELECT coalesce(string_agg(concat_ws(',', a_id, b_id), ';' ORDER BY a_id, b_id), '') FROM friends",
		"SELECT coalesce(string_agg(concat_ws(',', id, customer_id), ';' ORDER BY id), '') FROM logs",
		"SELECT string_agg(concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)), E'\n' ORDER BY conrelid::regclass::text, conname) FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
		"SELECT string_agg(indexdef, E'\n' ORDER BY indexdef) FROM pg_indexes WHERE schemaname = 'public'",
		"SELECT string_agg(concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default, is_identity), E'\n' ORDER BY table_name, ordinal_position) FROM information_schema.columns WHERE table_schema = 'public'",
		"SELECT string_agg(sequencename, ' ' ORDER BY sequencename) FROM pg_sequences",
		"SELECT coalesce(string_agg(tgname, ' ' ORDER BY tgname), '') FROM pg_trigger WHERE NOT tgisinternal",
		"SELECT coalesce(string_agg(proname, ' ' ORDER BY proname), '') FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
	} {
		var text sql.NullString
		if err := e.db.QueryRowContext(e.t.Context(), query).Scan(&text); err != nil {
			e.t.Fatalf("%s: %v", query, err)
		}
		all.WriteString(text.String + "\n")
	}
	return all.String()
}

func swap(s plan.Step) bool { return s.Phase == "swap" }

func TestShadowPostgres(t *testing.T) {
	t.Parallel()
	e := &changer{t: t, db: dbtest.Postgres(t).Open(t), d: dialect.Postgres}
	e.exec(shopPostgres...)
	e.exec("SELECT setval('customers_id_seq', 300)")
	before := e.snapshot()
	e.p = shadowPlan(t, e.db, plan.Options{}, logsReference).p
	different(t, "after planning", e.snapshot(), before)
	at := e.do(0, swap)
	e.right("after the swap")
	e.decoded("customers", `"Order s"`, "logs")
	for what, query := range map[string]string{
		"old ids in the view":     "SELECT count(*) FROM named WHERE id < 4398046511104 OR customer < 4398046511104",
		"rows the view lacks":     "SELECT 600 - count(*) FROM more",
		"comments lost":           "SELECT 1 - count(*) FROM pg_attribute WHERE attrelid = 'customers'::regclass AND attname = 'id' AND col_description(attrelid, attnum) = 'the customer''s: number'",
		"rights lost":             "SELECT count(*) FROM pg_attribute WHERE attrelid = 'customers'::regclass AND attname = 'id' AND attacl IS NULL",
		"statistics targets lost": "SELECT 77 - attstattarget FROM pg_attribute WHERE attrelid = 'customers'::regclass AND attname = 'id'",
		"rights of views lost":    "SELECT count(*) FROM pg_class WHERE oid = 'named'::regclass AND (relacl IS NULL OR obj_description(oid) IS NULL)",
		"orphans changed":         "SELECT 60 - count(*) FROM logs WHERE customer_id = 0 OR customer_id BETWEEN 100000 AND 100400",
		"old values in logs":      "SELECT count(*) FROM logs WHERE customer_id BETWEEN 1 AND 300",
		"published":               "SELECT 1 - count(*) FROM pg_publication_tables WHERE tablename = 'customers'",
		"unvalidated":             "SELECT count(*) FROM pg_constraint WHERE NOT convalidated",
		"foreign keys":            "SELECT 4 - count(*) FROM pg_constraint WHERE contype = 'f' AND conname IN ('customers_boss_id_fkey', 'order''s', 'friends_a_id_fkey', 'friends_b_id_fkey')",
	} {
		if n := e.number(query); n != 0 {
			t.Errorf("after the swap: %s: %d", what, n)
		}
	}
	if made := e.number("INSERT INTO customers (name) VALUES ('later') RETURNING id"); made < 1<<42 {
		t.Errorf("an old writer got the id %d after the swap, want a snowflake", made)
	}
	e.exec("DELETE FROM customers WHERE name = 'later'")
	e.undo(at)
	different(t, "after all was undone", e.snapshot(), before)
	if next := e.number(`INSERT INTO "Order s" (name, customer_id, who) VALUES ('next', 1, 'c1') RETURNING id`); next != 601 {
		t.Errorf("after all was undone the database made the id %d, want 601", next)
	}
	e.exec(`DELETE FROM "Order s" WHERE id = 601`)

	e.p = shadowPlan(t, e.db, plan.Options{}, logsReference).p
	e.do(0, nil)
	e.right("after the contract")
	for what, query := range map[string]string{
		"sequences left": "SELECT count(*) FROM pg_sequences",
		"functions left": "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
		"relations left": "SELECT count(*) FROM pg_class WHERE relname LIKE 'snowkey%'",
		"checks left":    "SELECT count(*) FROM pg_constraint WHERE conname LIKE 'snowkey%'",
		"columns left":   "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public' AND (column_name LIKE '%\\_sf' OR column_name LIKE '%\\_old')",
		"defaults left":  "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'id' AND column_default IS NOT NULL",
	} {
		if n := e.number(query); n != 0 {
			t.Errorf("after the contract: %s: %d", what, n)
		}
	}
}

// different tells the first lines that differ. A column that was widened stays so.
func different(t *testing.T, when, got, want string) {
	t.Helper()
	got, want = strings.ReplaceAll(got, "integer", "bigint"), strings.ReplaceAll(want, "integer", "bigint")
	lines := strings.Split(want, "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Errorf("%s: line %d is %.500q, want %.500q", when, i+1, line, append(lines, "none")[min(i, len(lines))])
			return
		}
	}
}

// decoded checks that each key has the time of its row.
func (e *changer) decoded(tables ...string) {
	e.t.Helper()
	layout, err := idgen.ParseLayout(e.p.Layout)
	must(e.t, err)
	for _, table := range tables {
		rows, err := e.db.QueryContext(e.t.Context(), "SELECT id, created_at, EXISTS (SELECT 1 FROM "+e.mapOf(strings.Trim(table, `"`))+" m WHERE m.new_id = t.id) FROM "+table+" t")
		must(e.t, err)
		for rows.Next() {
			var id int64
			var at time.Time
			var old bool
			must(e.t, rows.Scan(&id, &at, &old))
			parts, err := layout.Decode(id)
			if err != nil || id < 1<<42 {
				e.t.Errorf("%s: the id %d is none of the layout: %v", table, id, err)
			} else if off := parts.Time.Sub(at).Abs(); off > 3*time.Second || old && off > time.Millisecond {
				e.t.Errorf("%s: the id %d is of %s, its row of %s", table, id, parts.Time, at)
			}
		}
		must(e.t, rows.Err())
	}
}

// keeper is one of the writers: it knows what it has written.
type shopper struct {
	db     *sql.DB
	name   string
	fill   *atomic.Bool // whether it makes its keys
	next   func() int64
	rows   map[string]bool // names of its customers and orders that are there
	errors map[string]int
}

// write writes once, in the way n says.
func (s *shopper) write(ctx context.Context, n int) error {
	name := fmt.Sprintf("%s-%d", s.name, n)
	key := func(table, columns, values string, args ...any) (int64, error) {
		if s.fill.Load() {
			columns, values = "id, "+columns, fmt.Sprintf("%d, %s", s.next(), values)
		}
		var id int64
		err := s.db.QueryRowContext(ctx, "INSERT INTO "+table+" ("+columns+") VALUES ("+values+") RETURNING id", args...).Scan(&id)
		return id, err
	}
	pick := fmt.Sprintf("(SELECT id, name FROM customers ORDER BY name OFFSET %d LIMIT 1)", rand.N(200))
	var err error
	switch n % 8 {
	case 0, 1:
		if _, err = key("customers", "name", "$1", name); err == nil {
			s.rows[name] = true
		}
	case 2, 3:
		if s.fill.Load() {
			_, err = s.db.ExecContext(ctx, `INSERT INTO "Order s" (id, name, customer_id, who) SELECT $1, $2, id, name FROM `+pick+" p", s.next(), name)
		} else {
			_, err = s.db.ExecContext(ctx, `INSERT INTO "Order s" (name, customer_id, who) SELECT $1, id, name FROM `+pick+" p", name)
		}
		if err == nil {
			s.rows[name] = true
		}
	case 4:
		_, err = s.db.ExecContext(ctx, `UPDATE "Order s" o SET customer_id = p.id, who = p.name FROM `+pick+" p WHERE o.name LIKE $1", s.name+"-%"+fmt.Sprint(n%10))
	case 5:
		_, err = s.db.ExecContext(ctx, `UPDATE customers c SET boss_id = p.id, boss = p.name FROM `+pick+" p WHERE c.name LIKE $1", s.name+"-%"+fmt.Sprint(n%10))
	case 6:
		_, err = s.db.ExecContext(ctx, "INSERT INTO friends (a_id, a, b_id, b) SELECT p.id, p.name, q.id, q.name FROM "+pick+" p, customers q WHERE q.name LIKE $1 LIMIT 1 ON CONFLICT (a_id, b_id) DO NOTHING", "%"+fmt.Sprint(n%90+10))
	case 7:
		name = fmt.Sprintf("%s-%d", s.name, n-7)
		if _, err = s.db.ExecContext(ctx, "DELETE FROM customers c WHERE name = $1 AND NOT EXISTS (SELECT FROM \"Order s\" o WHERE o.customer_id = c.id)", name); err == nil {
			var there int
			if err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM customers WHERE name = $1", name).Scan(&there); err == nil && there == 0 {
				delete(s.rows, name)
			}
		}
	}
	return err
}

// TestShadowPostgresUnderWriters lets old writers write through all of a plan, and new ones from the hold on.
func TestShadowPostgresUnderWriters(t *testing.T) {
	e := &changer{t: t, db: dbtest.Postgres(t).Open(t), d: dialect.Postgres}
	e.exec(shopPostgres...)
	e.p = shadowPlan(t, e.db, plan.Options{}, logsReference).p
	layout, err := idgen.ParseLayout(e.p.Layout)
	must(t, err)
	var sequence atomic.Int64
	var fill atomic.Bool
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	shoppers := make([]*shopper, 4)
	failed := make(chan error, len(shoppers))
	var written [4]atomic.Int64
	for i := range shoppers {
		s := &shopper{db: e.db, name: fmt.Sprint("w", i), fill: &fill, rows: map[string]bool{}, errors: map[string]int{}, next: func() int64 {
			id, _ := layout.Compose(idgen.Parts{Time: time.Now(), Node: 1, Sequence: sequence.Add(1) % 4096})
			return id
		}}
		shoppers[i] = s
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				time.Sleep(8 * time.Millisecond) // so many rows as this machine's batches can follow
				err := s.write(context.WithoutCancel(ctx), n)
				var p *pgconn.PgError
				switch {
				case err == nil:
				case errors.As(err, &p) && strings.Contains("40P01 40001 23503 0A000", p.Code):
					s.errors[p.Code]++
				default:
					failed <- fmt.Errorf("%s: write %d: %w", s.name, n, err)
					return
				}
				written[i].Add(1)
			}
		})
	}
	// each waits until every writer has written some more.
	each := func() {
		for i := range written {
			for from := written[i].Load(); written[i].Load() < from+2; {
				select {
				case err := <-failed:
					t.Fatal(err)
				case <-time.After(time.Millisecond):
				}
			}
		}
	}
	defer writers.Wait()
	defer stop()
	at := 0
	for at < len(e.p.Steps) {
		if e.p.Steps[at].Do.Kind == plan.Hold && e.p.Steps[at].Phase == "flip" {
			fill.Store(true)
			each()
		}
		if e.p.Steps[at].Phase == "contract" {
			break
		}
		at = e.do(at, func(plan.Step) bool { return true })
		each()
	}
	stop()
	writers.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	e.right("at the end")
	e.decoded("customers", `"Order s"`, "logs")
	for i, s := range shoppers {
		t.Logf("%s: %d writes, of which failed %v", s.name, written[i].Load(), s.errors)
		for name := range s.rows {
			if e.number(fmt.Sprintf(`SELECT (SELECT count(*) FROM customers WHERE name = '%s') + (SELECT count(*) FROM "Order s" WHERE name = '%s')`, name, name)) != 1 {
				t.Errorf("the row %s is lost", name)
			}
		}
	}
	// Every row of old comes back with its old id, and all others keep theirs.
	e.exec("CREATE TABLE was AS SELECT id, name, created_at FROM customers")
	e.undo(at)
	e.right("after all was undone")
	if n := e.number("SELECT count(*) FROM customers c JOIN was w ON w.name = c.name WHERE c.name ~ '^c[0-9]+$' AND c.name <> 'c' || c.id OR c.id >= 4398046511104 AND c.id <> w.id"); n != 0 {
		t.Errorf("%d customers have other ids after all was undone", n)
	}
	if n := e.number("SELECT count(*) FROM customers c FULL JOIN was w ON w.name = c.name WHERE c.id IS NULL OR w.id IS NULL"); n != 0 {
		t.Errorf("%d customers came or went when all was undone", n)
	}
}
