package merge_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/internal/migratetest"
	"github.com/snowkey-go/snowkey/migrate/internal/merge"
)

// place is a database of a test.
type place struct {
	kind string
	name string // its DSN
	pool *sql.DB
	db   *gorm.DB
}

var databases = map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}

// eachKind runs a test for each kind of database.
func eachKind(t *testing.T, test func(t *testing.T, kind string)) {
	t.Parallel()
	for kind := range databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

// anew returns an empty database.
func anew(t *testing.T, kind string, statements ...string) *place {
	t.Helper()
	d := databases[kind](t)
	parsed, err := dsn.Parse(d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{kind: kind, name: d.DSN, pool: d.Open(t)}
	if p.db, err = gorm.Open(parsed.Dialector(p.pool), &gorm.Config{Logger: logger.Discard}); err != nil {
		t.Fatal(err)
	}
	p.execute(t, statements...)
	return p
}

func (p *place) execute(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := p.pool.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func (p *place) count(t *testing.T, query string) (n int64) {
	t.Helper()
	if err := p.pool.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (p *place) checksum(t *testing.T) string {
	t.Helper()
	sum, err := migratetest.Checksum(t.Context(), p.pool, p.kind)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

var narrow = regexp.MustCompile(`\b(INT|integer|serial)\b`)

// wide returns the shop's schema with keys of 64 bits.
func wide(kind string) []string {
	var statements []string
	for _, s := range migratetest.Schema(kind) {
		if kind != "sqlite" { // whose integers have 64 bits
			s = narrow.ReplaceAllStringFunc(s, func(word string) string {
				return map[string]string{"INT": "BIGINT", "integer": "bigint", "serial": "bigserial"}[word]
			})
		}
		statements = append(statements, s)
	}
	return statements
}

// snowflakes returns a source of keys with a node.
func snowflakes(node int64) func(string, time.Time) int64 {
	sequence := int64(0)
	return func(_ string, created time.Time) int64 {
		sequence++
		id, err := idgen.Snowkey.Layout.Compose(idgen.Parts{Time: created.Add(time.Duration(sequence/4096) * time.Millisecond), Node: node, Sequence: sequence % 4096})
		if err != nil {
			panic(err)
		}
		return id
	}
}

// shop returns a shop of snowflakes with a node.
func shop(t *testing.T, kind string, rows int, node int64) *place {
	t.Helper()
	p := anew(t, kind, wide(kind)...)
	p.fill(t, rows, node)
	return p
}

func (p *place) fill(t *testing.T, rows int, node int64) {
	t.Helper()
	if err := migratetest.FillKeys(t.Context(), p.pool, p.kind, rows, uint64(node), snowflakes(node)); err != nil {
		t.Fatal(err)
	}
}

func all(places []*place) (dbs []*gorm.DB) {
	for _, p := range places {
		dbs = append(dbs, p.db)
	}
	return dbs
}

// TestMerge merges three shops, and wants the shop that all rows make together; then it does so again, and wants nothing to be copied.
func TestMerge(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		into, from := shop(t, kind, 20, 3), []*place{shop(t, kind, 40, 7), shop(t, kind, 30, 12)}
		want := anew(t, kind, wide(kind)...)
		for node, rows := range map[int64]int{3: 20, 7: 40, 12: 30} {
			want.fill(t, rows, node)
		}
		before := into.checksum(t)
		dry, err := merge.Run(t.Context(), into.db, all(from), merge.Options{Dry: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := into.checksum(t); got != before || dry.Copied != 0 {
			t.Errorf("a dry merge copied %d rows", dry.Copied)
		}
		var last merge.Progress
		got, err := merge.Run(t.Context(), into.db, all(from), merge.Options{Progress: func(p merge.Progress) { last = p }})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Proof, dry.Proof) {
			t.Errorf("got proof %+v, want that of the dry merge %+v", got.Proof, dry.Proof)
		}
		users := got.Proof[slices.IndexFunc(got.Proof, func(p merge.Proof) bool { return p.Table == "users" })]
		if text := "90 ids of 3 databases, none twice; nodes 3, 7 and 12"; users.Text != text || !slices.Equal(users.Rows, []int64{20, 40, 30}) {
			t.Errorf("got users %+v, want the text %q", users, text)
		}
		if into.checksum(t) != want.checksum(t) {
			t.Error("the merged shop is not what all rows make together")
		}
		if last.Rows != last.Total || !strings.HasPrefix(last.Doing, "look again at ") {
			t.Errorf("got last progress %+v", last)
		}
		if kind != "sqlite" && !slices.ContainsFunc(got.Notes, func(n string) bool { return strings.HasPrefix(n, "orders still ") }) {
			t.Errorf("got notes %q, want one of orders", got.Notes)
		}
		again, err := merge.Run(t.Context(), into.db, all(from), merge.Options{})
		if err != nil || again.Copied != 0 {
			t.Errorf("a second merge copied %d rows: %v", again.Copied, err)
		}
		// Into's rows are its own now: a merge for rows that came to one of the others does not compare those again.
		into.execute(t, "UPDATE users SET name = 'other', updated_at = updated_at", "DELETE FROM payments")
		from[0].execute(t, fmt.Sprintf("INSERT INTO tags (id, name, created_at) VALUES (%d, 'late', '2026-01-01 00:00:00')", snowflakes(7)("", time.Now())))
		again, err = merge.Run(t.Context(), into.db, all(from), merge.Options{})
		if err != nil || again.Copied != 1 || into.count(t, "SELECT COUNT(*) FROM payments") != 0 {
			t.Errorf("a third merge copied %d rows: %v", again.Copied, err)
		}
	})
}

// contents returns all rows of tables as sorted texts.
func (p *place) contents(t *testing.T, tables ...string) (found []string) {
	t.Helper()
	for _, table := range tables {
		rows, err := p.pool.QueryContext(t.Context(), "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			found = append(found, fmt.Sprintf("%s %q", table, values))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(found)
	return found
}

// TestMergeGoesOn ends merges at random points, and wants the last to end with the same rows.
func TestMergeGoesOn(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dbtest.LongOn(t, kind, "sqlite", "mysql")
		into, from := shop(t, kind, 10, 3), []*place{shop(t, kind, 150, 7), shop(t, kind, 50, 12)}
		want := anew(t, kind, wide(kind)...)
		for node, rows := range map[int64]int{3: 10, 7: 150, 12: 50} {
			want.fill(t, rows, node)
		}
		some := []string{"orders", "users", "addresses"}
		random := rand.New(rand.NewPCG(1, 2))
		ended, copied := 0, int64(0)
		for n := range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			left := 1 + random.IntN(4)
			got, err := merge.Run(ctx, into.db, all(from), merge.Options{Tables: some, Target: 1, Progress: func(p merge.Progress) {
				if strings.HasPrefix(p.Doing, "compare") {
					return
				}
				if left--; left == 0 && n%2 == 0 {
					cancel() // between two batches
				} else if left == 0 {
					time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, cancel) // and in one
				}
			}})
			cancel()
			copied += got.Copied
			if errors.Is(err, context.Canceled) {
				ended++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if ended < 5 {
			t.Errorf("%d of 20 merges were ended in the middle, want more", ended)
		}
		got, err := merge.Run(t.Context(), into.db, all(from), merge.Options{Tables: some})
		if err != nil {
			t.Fatal(err)
		}
		copied += got.Copied
		rows := want.contents(t, some...)
		if !slices.Equal(into.contents(t, some...), rows) {
			t.Error("the merged tables are not what all rows make together")
		}
		if own := len(shop(t, kind, 10, 3).contents(t, some...)); copied > int64(len(rows)-own) {
			t.Errorf("%d rows were copied, of %d", copied, len(rows)-own)
		}
	})
}

// TestClash plants an id that two databases have, far behind in the table.
func TestClash(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dbtest.LongOn(t, kind, "sqlite", "mysql")
		const tags = "CREATE TABLE tags (id BIGINT PRIMARY KEY, name VARCHAR(40))"
		places := []*place{anew(t, kind, tags), anew(t, kind, tags), anew(t, kind, tags)}
		for i, p := range places {
			var rows []string
			for n := range 10_500 {
				rows = append(rows, fmt.Sprintf("(%d, 'x')", n*3+i+1))
			}
			for chunk := range slices.Chunk(rows, 5_000) {
				p.execute(t, "INSERT INTO tags VALUES "+strings.Join(chunk, ", "))
			}
		}
		got, err := merge.Run(t.Context(), places[0].db, all(places[1:]), merge.Options{Dry: true})
		if err != nil || got.Proof[0].Clashes != 0 || got.Proof[0].Text != "31,500 ids of 3 databases, none twice" {
			t.Fatalf("got proof %+v, %v, want no clash", got.Proof, err)
		}
		const planted = 10_400*3 + 2
		places[2].execute(t, fmt.Sprintf("INSERT INTO tags VALUES (%d, 'x')", planted))
		got, err = merge.Run(t.Context(), places[0].db, all(places[1:]), merge.Options{})
		if !errors.Is(err, merge.ErrClash) || got.Copied != 0 {
			t.Errorf("got %d rows copied, %v, want ErrClash", got.Copied, err)
		}
		if p := got.Proof[0]; p.Clashes != 1 || p.First != planted || p.Text != "31,501 ids of 3 databases, 1 of them in more than one, the least 31202" {
			t.Errorf("got proof %+v, want one clash at %d", p, planted)
		}
		if n := places[0].count(t, "SELECT COUNT(*) FROM tags"); n != 10_500 {
			t.Errorf("got %d rows, want none copied", n)
		}
	})
}

// TestUniqueClash wants values of other unique indexes to be found, as the database finds them to be equal.
func TestUniqueClash(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		into, from := shop(t, kind, 10, 3), shop(t, kind, 10, 7)
		email := "user4.3@example.org"
		if kind == "mysql" {
			email = strings.ToUpper(email) // the same for its collation
		}
		from.execute(t, "UPDATE users SET email = '"+email+"' WHERE name LIKE '%User 5'")
		_, err := merge.Run(t.Context(), into.db, all([]*place{from}), merge.Options{})
		if !errors.Is(err, merge.ErrClash) || !strings.Contains(err.Error(), "users: 1 values of the unique index users_email (email) are in two databases, the first is user4.3@example.org") {
			t.Errorf("got %v, want ErrClash with the email", err)
		}
		if n := into.count(t, "SELECT COUNT(*) FROM users"); n != 10 {
			t.Errorf("got %d users, want none copied", n)
		}
	})
}

// TestComposite finds keys of several columns that clash, and skips what the database alone can tell: an expression's values.
func TestComposite(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dbtest.LongOn(t, kind, "sqlite", "mysql")
		const ddl = "CREATE TABLE scores (player VARCHAR(20) NOT NULL, round BIGINT NOT NULL, points BIGINT, PRIMARY KEY (player, round))"
		into, from := anew(t, kind, ddl, "INSERT INTO scores VALUES ('a', 1, 5), ('b', 2, 5)"), anew(t, kind, ddl, "INSERT INTO scores VALUES ('a', 2, 5), ('b', 1, 5), ('c', 1, NULL)")
		got, err := merge.Run(t.Context(), into.db, all([]*place{from}), merge.Options{})
		if err != nil || got.Copied != 3 || got.Proof[0].Text != "5 keys of 2 databases, none twice" {
			t.Errorf("got %+v, %v, want 3 rows", got, err)
		}
		other := anew(t, kind, ddl, "INSERT INTO scores VALUES ('c', 1, 9)")
		got, err = merge.Run(t.Context(), into.db, all([]*place{other}), merge.Options{})
		if !errors.Is(err, merge.ErrClash) || got.Copied != 0 || got.Rekeys != nil {
			t.Errorf("got %+v, %v, want ErrClash", got, err)
		}
	})
}
