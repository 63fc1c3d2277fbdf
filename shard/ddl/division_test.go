package ddl_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// Names of a schema, a table and a column, as [ddl.Table] has them.
const (
	hostileSchema = `"S ""c".`
	hostileTable  = "\"or`d'é\"\"r\\ $snowkey$ s\""
	hostileKey    = "i`d\" Select"
)

func newLayout(t testing.TB, unit time.Duration, fields ...idgen.Field) idgen.Layout {
	t.Helper()
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), unit, fields...)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// layouts have the bucket on top, below the time and between other fields, with ids of 63 bits and of fewer.
func layouts(t testing.TB) map[string]idgen.Layout {
	return map[string]idgen.Layout{
		"scattered":     idgen.Scattered.Layout,
		"sharded":       idgen.Sharded.Layout,
		"narrow top":    newLayout(t, 10*time.Millisecond, idgen.Shard.Bits(4), idgen.Time.Bits(38), idgen.Node.Bits(5), idgen.Sequence.Bits(6)),
		"narrow middle": newLayout(t, 10*time.Millisecond, idgen.Time.Bits(38), idgen.Shard.Bits(4), idgen.Node.Bits(5), idgen.Sequence.Bits(6)),
	}
}

// idsOf returns the least and the greatest id of buckets, of each once.
func idsOf(layout idgen.Layout, buckets ...int64) []int64 {
	bits, above := 0, 0 // above the bucket
	for _, f := range layout.Fields() {
		if f.Kind == idgen.Shard {
			above = bits
		}
		bits += f.Bits
	}
	below := bits - above - layout.Bits(idgen.Shard)
	var ids []int64
	for _, bucket := range slices.Compact(buckets) {
		least := bucket << below
		ids = append(ids, least, least|(1<<below-1)|(1<<above-1)<<(bits-above))
	}
	return ids
}

// TestRowsAreInTheirPartitions has rows of the ends of all shards, and of a bucket alone, in tables of one shard, three and as many as there are
// buckets, before they grow and after, with names of which each letter needs a quote.
func TestRowsAreInTheirPartitions(t *testing.T) {
	for _, engine := range []ddl.Engine{ddl.MySQL, ddl.PostgresRange, ddl.PostgresHash, ddl.PostgresList} {
		t.Run(string(engine), func(t *testing.T) {
			f := starts[engine](t)(t)
			f.engine = engine
			if f.isPostgres() {
				run(t, f.pool, "CREATE SCHEMA "+strings.TrimSuffix(hostileSchema, "."))
			}
			for name, layout := range layouts(t) {
				top := layout.Fields()[0].Kind == idgen.Shard
				if engine == ddl.PostgresRange && !top || top && (engine == ddl.PostgresHash || engine == ddl.PostgresList) {
					continue
				}
				for _, step := range []step{{1, 1, true}, {1, 3, false}, {3, 6, true}, {3, 6, false}, {8, 16, false}} {
					if engine == ddl.PostgresHash && step.alone || engine == ddl.PostgresList && step.from == 1 && layout == idgen.Sharded.Layout {
						continue
					}
					t.Run(fmt.Sprintf("%s/%d to %d alone %v", name, step.from, step.to, step.alone), func(t *testing.T) { testStep(t, f, layout, step) })
				}
			}
		})
	}
}

// step is a growth; alone has some buckets alone before it, and others after.
type step struct {
	from, to int
	alone    bool
}

func testStep(t *testing.T, f *fixture, layout idgen.Layout, step step) {
	table := ddl.Table{
		Name: hostileTable, Key: hostileKey, Layout: layout, Shards: step.from, Options: "DEFAULT CHARSET=utf8mb4",
		Columns: quoted(f, hostileKey) + " BIGINT NOT NULL, user_id BIGINT NOT NULL -- whose",
	}
	if f.isPostgres() {
		table.Name = hostileSchema + hostileTable
	}
	name := sqlName(f, table)
	var alone []int64
	last := layout.Max(idgen.Shard)
	if step.alone {
		table.Alone, alone = []int64{last}, []int64{0, 5}
	}
	script, err := table.Create(f.engine)
	if err != nil {
		t.Fatal(err)
	}
	f.apply(t, script)
	t.Cleanup(func() {
		if _, err := f.pool.Exec("DROP TABLE " + name); err != nil {
			t.Error(err)
		}
	})
	f.apply(t, &ddl.Script{Install: script.Install}) // once more
	ids := idsOf(layout, 0, 1, 2, 3, 4, 5, 6, 7, last/2, last/2+1, last-1, last)
	for _, id := range ids {
		run(t, f.pool, fmt.Sprintf("INSERT INTO %s VALUES (%d, 1)", name, id))
	}
	requireParts(t, f, table, ids)
	grown, err := table.Grow(f.engine, step.to, alone...)
	if err != nil {
		t.Fatal(err)
	}
	f.apply(t, grown)
	table.Shards, table.Alone = step.to, append(table.Alone, alone...)
	requireParts(t, f, table, ids)

	refused(t, f.pool, fmt.Sprintf("INSERT INTO %s VALUES (%d, 1)", name, ids[1]), "Duplicate entry", "duplicate key")
	refused(t, f.pool, fmt.Sprintf("INSERT INTO %s VALUES (-1024, 1)", name), "CONSTRAINT", "constraint", "no partition")
	refused(t, f.pool, fmt.Sprintf("INSERT INTO %s VALUES (NULL, 1)", name), "cannot be null", "null value", "no partition")
	if greatest := ids[len(ids)-1]; greatest < 1<<62 {
		refused(t, f.pool, fmt.Sprintf("INSERT INTO %s VALUES (%d, 1)", name, greatest+1), "CONSTRAINT", "constraint")
	}
}

// quoted quotes a name as the fixture's database does.
func quoted(f *fixture, name string) string {
	if f.isPostgres() {
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// sqlName returns the name of the hostile table in SQL.
func sqlName(f *fixture, table ddl.Table) string {
	if f.isPostgres() {
		return table.Name
	}
	return quoted(f, strings.ReplaceAll(strings.Trim(hostileTable, `"`), `""`, `"`))
}

// requireParts fails unless each id is in its partition and a query by it reads that one alone.
func requireParts(t *testing.T, f *fixture, table ddl.Table, ids []int64) {
	t.Helper()
	for _, id := range ids {
		name, err := table.Partition(f.engine, bucketIn(t, table.Layout, id))
		if err != nil {
			t.Fatal(err)
		}
		part, key := sqlName(f, table)+" PARTITION ("+quoted(f, name)+")", quoted(f, hostileKey)
		if f.isPostgres() {
			part = hostileSchema + quoted(f, name)
		}
		if got := rows(t, f.pool, fmt.Sprintf("SELECT user_id FROM %s WHERE %s = %d", part, key, id)); len(got) != 1 {
			t.Errorf("the partition %s has %d rows of the id %d, want one", name, len(got), id)
		}
		query := fmt.Sprintf("SELECT * FROM %s WHERE %s = %d", sqlName(f, table), key, id)
		if f.isPostgres() {
			query += "::bigint"
		}
		if f.engine == ddl.PostgresList {
			continue // the suite has the condition
		}
		if got := f.reads(t, query); len(got) != 1 || !strings.HasSuffix(got[0], name[strings.LastIndexByte(name, '_')+1:]) {
			t.Errorf("%s: reads %v, want %s", query, got, name)
		}
	}
	if got := rows(t, f.pool, "SELECT COUNT(*) FROM "+sqlName(f, table))[0]; got != strconv.Itoa(len(ids)) {
		t.Errorf("the table has %s rows, want %d", got, len(ids))
	}
}

// TestIDsFromBefore has auto-increment numbers in the partitions that doc.go says.
func TestIDsFromBefore(t *testing.T) {
	for _, test := range []struct {
		engine ddl.Engine
		layout idgen.Layout
		want   []string // of the ids 1 to 5
	}{
		{ddl.MySQL, idgen.Scattered.Layout, []string{"p0000", "p0000", "p0000", "p0000", "p0000"}},
		{ddl.MySQL, idgen.Sharded.Layout, []string{"p0001", "p0002", "p0003", "p0000", "p0001"}},
		{ddl.PostgresRange, idgen.Scattered.Layout, []string{"orders_0000", "orders_0000", "orders_0000", "orders_0000", "orders_0000"}},
		{ddl.PostgresHash, idgen.Sharded.Layout, []string{"orders_0001", "orders_0002", "orders_0003", "orders_0000", "orders_0001"}},
		{ddl.PostgresList, idgen.Sharded.Layout, []string{"orders_0001", "orders_0002", "orders_0003", "orders_0000", "orders_0001"}},
	} {
		t.Run(string(test.engine)+"/"+test.want[0], func(t *testing.T) {
			f := starts[test.engine](t)(t)
			table := ddl.Table{Name: "orders", Key: "id", Columns: "id BIGINT NOT NULL", Layout: test.layout, Shards: 4}
			script, err := table.Create(test.engine)
			if err != nil {
				t.Fatal(err)
			}
			f.apply(t, script)
			for i, want := range test.want {
				run(t, f.pool, fmt.Sprintf("INSERT INTO orders VALUES (%d)", i+1))
				if !f.isPostgres() {
					want = "orders PARTITION (" + want + ")"
				}
				if got := rows(t, f.pool, fmt.Sprintf("SELECT id FROM %s WHERE id = %d", want, i+1)); len(got) != 1 {
					t.Errorf("the id %d is not in %s", i+1, want)
				}
			}
		})
	}
}

// TestBefore reads the shard of the rows from before and that of the sharding key, and no more, with the bucket on top.
func TestBefore(t *testing.T) {
	for _, engine := range []ddl.Engine{ddl.MySQL, ddl.PostgresRange} {
		f := starts[engine](t)(t)
		f.engine = engine
		table := ddl.Table{Name: "orders", Key: "id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL", Layout: idgen.Scattered.Layout, Shards: 8}
		script, err := table.Create(engine)
		if err != nil {
			t.Fatal(err)
		}
		f.apply(t, script)
		condition, err := shard.Condition(table.Layout, "id", 700)
		if err != nil {
			t.Fatal(err)
		}
		got := f.reads(t, "SELECT * FROM orders WHERE user_id = 7 AND ("+condition+" OR id < 100000)")
		if want := []string{place(t, table, engine, 0), place(t, table, engine, 700)}; !slices.Equal(got, want) {
			t.Errorf("%s: reads %v, want %v", engine, got, want)
		}
	}
}
