package migratetest

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Start is the time of the first rows that Fill makes: after the epoch of snowkey's own layout, and before midnight.
var Start = time.Date(2025, 2, 28, 23, 0, 0, 0, time.UTC)

// Orphan is a user's id that no user has: Fill writes it once into audit_log.
const Orphan = 1_999_999_999

// Fill fills an empty shop. There are rows users, about as many products, addresses and profiles, twice as many orders, comments and
// taggings, three times as many order_items, and so on. Ids have gaps, and are the same numbers in many tables; three rows or so are
// made in each second, in the order of ids. The same seed gives the same rows; unique texts have the seed in them, so that shops with
// different seeds differ in these.
func Fill(ctx context.Context, db *sql.DB, kind string, rows int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 1))
	last := map[string]int64{}
	return FillKeys(ctx, db, kind, rows, seed, func(table string, _ time.Time) int64 {
		last[table] += 1 + random.Int64N(3)
		return last[table]
	})
}

// FillKeys is Fill with keys from a function, which is called once for each row with a key of its own. Keys beyond 32 bits need a schema
// that is wider than Schema's.
func FillKeys(ctx context.Context, db *sql.DB, kind string, rows int, seed uint64, key func(table string, created time.Time) int64) (err error) {
	conn, done, err := connect(ctx, db, kind)
	if err != nil {
		return err
	}
	defer done()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // which does nothing after the commit
	f := &filler{ctx: ctx, tx: tx, kind: kind, key: key, random: rand.New(rand.NewPCG(seed, 2)), seed: seed, ids: map[string][]int64{}}
	f.people(rows)
	f.goods(rows)
	f.sales(rows)
	f.marks(rows)
	f.flush()
	if kind == "postgres" {
		f.sequences()
	}
	if f.err != nil {
		return f.err
	}
	return tx.Commit()
}

// connect returns a connection whose times are of UTC, and what gives it back.
func connect(ctx context.Context, db *sql.DB, kind string) (*sql.Conn, func(), error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	if kind != "mysql" {
		return conn, func() { _ = conn.Close() }, nil
	}
	done := func() { dialect.Discard(conn) } // the session's zone is no other user's
	if _, err := conn.ExecContext(ctx, "SET time_zone = '+00:00'"); err != nil {
		done()
		return nil, nil, err
	}
	return conn, done, nil
}

// filler writes rows in statements of up to two hundred.
type filler struct {
	ctx    context.Context
	tx     *sql.Tx
	kind   string
	key    func(string, time.Time) int64
	random *rand.Rand
	seed   uint64
	ids    map[string][]int64
	made   int      // rows of the present table
	into   string   // the table and columns that wait
	wait   []string // rows that wait
	err    error
}

// now returns the time of the next row, and of what was made after it.
func (f *filler) now() time.Time { return Start.Add(time.Duration(f.made/3) * time.Second) }

// id returns the next key of a table.
func (f *filler) id(table string) int64 {
	id := f.key(table, f.now())
	f.ids[table] = append(f.ids[table], id)
	return id
}

// any returns a key of a table that has rows.
func (f *filler) any(table string) int64 {
	ids := f.ids[table]
	return ids[f.random.IntN(len(ids))]
}

// add writes a row; nil is NULL.
func (f *filler) add(table, columns string, values ...any) {
	into := "INSERT INTO " + table + " (" + columns + ")"
	if f.kind == "postgres" && table == "orders" {
		into += " OVERRIDING SYSTEM VALUE"
	}
	if into != f.into || len(f.wait) == 200 {
		f.flush()
	}
	f.into = into
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = f.literal(v)
	}
	f.wait = append(f.wait, "("+strings.Join(texts, ", ")+")")
	f.made++
}

// literal returns a value as statements have it.
func (f *filler) literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case time.Time:
		text := v.UTC().Format("2006-01-02 15:04:05.000")
		if f.kind != "mysql" {
			text += "+00:00"
		}
		return "'" + text + "'"
	}
	return dialect.Literal(fmt.Sprint(v))
}

// flush writes the rows that wait.
func (f *filler) flush() {
	if len(f.wait) > 0 && f.err == nil {
		_, f.err = f.tx.ExecContext(f.ctx, f.into+" VALUES "+strings.Join(f.wait, ", "))
	}
	f.wait = f.wait[:0]
}

// sequences lets the sequences of PostgreSQL go on after the greatest keys.
func (f *filler) sequences() {
	for _, t := range tables {
		if t.key == "" || f.err != nil {
			continue
		}
		_, f.err = f.tx.ExecContext(f.ctx, fmt.Sprintf("SELECT setval(pg_get_serial_sequence('%s', '%s'), max(%[2]s)) FROM %[1]s HAVING count(*) > 0", t.name, t.key))
	}
}
