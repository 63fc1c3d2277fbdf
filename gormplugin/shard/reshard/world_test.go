package reshard_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// place is a database of a test, open.
type place struct {
	dbtest.Database
	db      *sql.DB
	dialect idshard.Dialect
}

// newPlace returns a database of a kind.
func newPlace(t *testing.T, d idshard.Dialect) *place {
	t.Helper()
	p := &place{dialect: d}
	switch d {
	case idshard.SQLite:
		p.Database = dbtest.SQLite(t)
		p.DriverDSN = "file:" + p.DriverDSN + "?_busy_timeout=10000&_journal_mode=WAL&_synchronous=OFF&_txlock=immediate"
	case idshard.MySQL:
		p.Database = dbtest.MySQL(t)
	case idshard.Postgres:
		p.Database = dbtest.Postgres(t)
	}
	p.db = p.Open(t)
	return p
}

// everywhere runs a test on each dialect.
func everywhere(t *testing.T, test func(*testing.T, idshard.Dialect)) {
	t.Parallel() // most of the time is the servers'
	for _, d := range []idshard.Dialect{idshard.SQLite, idshard.MySQL, idshard.Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// orders is a table with names that need quotes.
var orders = reshard.Table{Name: `"or'd e""rs"`, Key: "Id ?", By: "user"}

// quote quotes a name.
func (p *place) quote(name string) string {
	if p.dialect == idshard.MySQL {
		return "`" + name + "`"
	}
	out := `"`
	for _, r := range name {
		if r == '"' {
			out += `"`
		}
		out += string(r)
	}
	return out + `"`
}

func (p *place) table(s idshard.Shard) string { return p.quote(`or'd e"rs` + s.Suffix) }

// ddl returns the statements that make a shard's table.
func (p *place) ddl(s idshard.Shard) []string {
	types := map[idshard.Dialect]string{
		idshard.SQLite:   `"at" datetime, "body" blob, "price" real, "any"`,
		idshard.MySQL:    "`at` DATETIME(3), `body` BLOB, `price` DECIMAL(20, 6), `any` FLOAT",
		idshard.Postgres: `"at" timestamptz, "body" bytea, "price" numeric, "any" real`,
	}[p.dialect]
	list := []string{fmt.Sprintf("CREATE TABLE %s (%s BIGINT NOT NULL PRIMARY KEY, %s BIGINT NOT NULL, %s VARCHAR(100) NOT NULL, %s)", p.table(s), p.quote("Id ?"), p.quote("user"), p.quote("item"), types)}
	return append(list, fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s)", p.quote("uni"+s.Suffix), p.table(s), p.quote("item")))
}

func (p *place) execute(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := p.db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// layout has 16 buckets in the lowest bits.
func layout(t *testing.T) idgen.Layout {
	t.Helper()
	l, err := idgen.NewLayout(idgen.Snowkey.Epoch(), time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(4), idgen.Shard.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// setup makes the map of some shards, and their tables in the own database.
func setup(t *testing.T, p *place, shards ...idshard.Shard) *idshard.Map {
	t.Helper()
	m, err := idshard.NewMap(layout(t), shards...)
	if err == nil {
		m, err = m.WithLease(time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	m = m.First()
	store := idshard.NewStore(p.db, p.dialect)
	if err := store.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Create(t.Context(), "m", m); err != nil {
		t.Fatal(err)
	}
	for _, s := range shards {
		for _, statement := range p.ddl(s) {
			p.execute(t, statement)
		}
	}
	return m
}

// world returns what reshard needs to know.
func world(own *place, others ...*place) reshard.World {
	w := reshard.World{Own: reshard.Database{DB: own.db, Dialect: own.dialect}, Others: map[string]reshard.Database{}, Tables: []reshard.Table{orders}}
	for i, p := range others {
		w.Others[fmt.Sprintf("db%d", i+1)] = reshard.Database{DB: p.db, Dialect: p.dialect}
	}
	return w
}

// at returns the database of a shard.
func at(s idshard.Shard, own *place, others []*place) *place {
	if s.Database == "" {
		return own
	}
	for i, p := range others {
		if s.Database == fmt.Sprintf("db%d", i+1) {
			return p
		}
	}
	return nil
}

// record is what a row has.
type record struct {
	user int64
	item string
}

// contents returns all rows of the shards of a map, with their shards.
func contents(ctx context.Context, t *testing.T, m *idshard.Map, own *place, others ...*place) (rows map[int64]record, shards map[int64][]string) {
	t.Helper()
	rows, shards = map[int64]record{}, map[int64][]string{}
	for _, s := range m.Shards() {
		p := at(s, own, others)
		found, err := p.db.QueryContext(ctx, fmt.Sprintf("SELECT %s, %s, %s FROM %s", p.quote("Id ?"), p.quote("user"), p.quote("item"), p.table(s)))
		if err != nil {
			t.Fatal(err)
		}
		for found.Next() {
			var id int64
			var r record
			if err := found.Scan(&id, &r.user, &r.item); err != nil {
				t.Fatal(err)
			}
			rows[id] = r
			shards[id] = append(shards[id], s.Name)
		}
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return rows, shards
}

// check wants all rows of a ledger to be in their places, once.
func check(t *testing.T, want map[int64]record, m *idshard.Map, own *place, others ...*place) {
	t.Helper()
	rows, shards := contents(t.Context(), t, m, own, others...)
	for id, r := range want {
		if rows[id] != r {
			t.Errorf("row %d: got %v, want %v", id, rows[id], r)
		}
	}
	for id, names := range shards {
		if _, ok := want[id]; !ok {
			t.Errorf("row %d was deleted, and is in %v", id, names)
		}
		i, err := m.OfID(id)
		if err != nil || len(names) != 1 || names[0] != m.Shard(i).Name {
			t.Errorf("row %d is in %v, want %s (%v)", id, names, m.Shard(i).Name, err)
		}
	}
	report, err := reshard.Verify(t.Context(), world(own, others...), "m", nil)
	if err != nil {
		t.Errorf("Verify: %v: %+v", err, report)
	}
}
