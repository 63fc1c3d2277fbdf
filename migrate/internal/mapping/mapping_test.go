package mapping_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// the layouts of the tests begin in 2020, so that all times of 2024 have ids above Below.
const (
	small   = "time=41@1ms,node=10,sequence=2;epoch=2020-01-01T00:00:00Z"
	wide    = "time=41@1ms,datacenter=5,node=5,sequence=12;epoch=2020-01-01T00:00:00Z"
	inverse = "time=39@10ms,sequence=8,node=16;epoch=2019-09-01T00:00:00.003Z" // a second begins in the middle of a tick
	sharded = "time=36@100ms,shard=8,node=9,sequence=3;epoch=2020-01-01T00:00:00Z"
	below   = 1 << 40
)

var noon = time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)

// fixture is a table "Ord""ers" with rows, and the key of a plan for it.
type fixture struct {
	kind string
	db   *sql.DB
	plan *plan.Plan
	key  plan.Key
}

// each runs a test on the three databases. Each has connections with another session zone, and a driver that makes times of another zone.
func each(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Parallel()
	for kind, database := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, newFixture(t, kind, database(t)))
		})
	}
}

func newFixture(t testing.TB, kind string, d dbtest.Database) *fixture {
	switch kind {
	case "mysql":
		c, err := mysql.ParseDSN(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		c.Loc, err = time.LoadLocation("America/New_York")
		if err != nil {
			t.Fatal(err)
		}
		c.ParseTime = true
		if c.Params == nil {
			c.Params = map[string]string{}
		}
		c.Params["time_zone"] = "'+09:00'"
		c.Params["sql_mode"] = "''" // lets zero dates in
		d.DriverDSN = c.FormatDSN()
	case "postgres":
		u, err := url.Parse(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("timezone", "Asia/Tokyo")
		q.Set("datestyle", "German")
		u.RawQuery = q.Encode()
		d.DriverDSN = u.String()
	case "sqlite":
		d.DriverDSN += "?_loc=America/New_York&_journal_mode=WAL&_busy_timeout=5000"
	}
	return &fixture{
		kind: kind, db: d.Open(t),
		plan: &plan.Plan{Mode: plan.Rekey, Database: inspect.Database{Kind: kind}, Layout: small, Node: 1023},
		key:  plan.Key{Table: `"Ord""ers"`, Column: `i"d`, Created: "at", Unit: time.Second, Zone: "UTC", Below: below, Map: "map"},
	}
}

func (f *fixture) exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if f.kind == "mysql" {
			s = strings.ReplaceAll(strings.ReplaceAll(s, `"Ord""ers"`, "`Ord\"ers`"), `"i""d"`, "`i\"d`")
		}
		if _, err := f.db.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%.300s: %v", s, err)
		}
	}
}

// create makes the table and the map. Its created column has the type of the database's kind, or the only one given.
func (f *fixture) create(t testing.TB, types ...string) {
	t.Helper()
	of := types[0]
	if len(types) > 1 {
		of = map[string]string{"sqlite": types[0], "mysql": types[1], "postgres": types[2]}[f.kind]
	}
	f.exec(t, `CREATE TABLE "Ord""ers" ("i""d" INTEGER PRIMARY KEY, at `+of+` NULL, n INT)`)
	f.exec(t, `CREATE TABLE map (old_id BIGINT PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE)`)
	if f.kind == "mysql" {
		f.exec(t, `ALTER TABLE "Ord""ers" MODIFY "i""d" BIGINT`)
	} else if f.kind == "postgres" {
		f.exec(t, `ALTER TABLE "Ord""ers" ALTER "i""d" TYPE BIGINT`)
	}
}

// insert adds rows, of which each has what SQL writes for its time.
func (f *fixture) insert(t testing.TB, rows map[int64]string) {
	t.Helper()
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if b.Len() == 0 {
			b.WriteString(`INSERT INTO "Ord""ers" ("i""d", at) VALUES `)
		} else {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "(%d,%s)", id, rows[id])
		if b.Len() > 100_000 {
			f.exec(t, b.String())
			b.Reset()
		}
	}
	if b.Len() > 0 {
		f.exec(t, b.String())
	}
}

// times adds rows with times, which are written as those of UTC.
func (f *fixture) times(t testing.TB, rows map[int64]time.Time) {
	t.Helper()
	texts := map[int64]string{}
	for id, at := range rows {
		texts[id] = at.UTC().Format("'2006-01-02 15:04:05.999999'")
		if f.kind == "postgres" {
			texts[id] = at.UTC().Format("'2006-01-02T15:04:05.999999'") // read the same whatever the date style
		}
	}
	f.insert(t, texts)
}

func (f *fixture) mapped(t testing.TB) map[int64]int64 {
	t.Helper()
	rows, err := f.db.QueryContext(t.Context(), "SELECT old_id, new_id FROM map")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	got := map[int64]int64{}
	for rows.Next() {
		var old, new int64
		if err := rows.Scan(&old, &new); err != nil {
			t.Fatal(err)
		}
		got[old] = new
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}

// fill fills the map with a filler for every batch, as if each were killed after it, and one batch that is not committed before it.
func (f *fixture) fill(t testing.TB, after int64, rows int) (mapped int64, err error) {
	t.Helper()
	for {
		filler, err := mapping.NewFiller(t.Context(), f.db, f.plan, f.key)
		if err != nil {
			return mapped, err
		}
		for _, commit := range []bool{false, true} {
			if commit {
				if filler, err = mapping.NewFiller(t.Context(), f.db, f.plan, f.key); err != nil {
					return mapped, err
				}
			}
			tx, err := f.db.BeginTx(t.Context(), nil)
			if err != nil {
				return mapped, err
			}
			upto, n, done, err := filler.Fill(t.Context(), tx, after, rows)
			if err != nil || !commit {
				if rolled := tx.Rollback(); rolled != nil {
					t.Fatal(rolled)
				}
				if err != nil {
					return mapped, err
				}
				continue
			}
			if err := tx.Commit(); err != nil {
				return mapped, err
			}
			if done {
				return mapped, nil
			}
			if upto <= after {
				t.Fatalf("a batch after %d ended at %d", after, upto)
			}
			mapped, after = mapped+n, upto
		}
	}
}

// oracle computes the map in memory, with nothing of the package.
func (f *fixture) oracle(t testing.TB, rows map[int64]time.Time) map[int64]int64 {
	t.Helper()
	layout, err := idgen.ParseLayout(f.plan.Layout)
	if err != nil {
		t.Fatal(err)
	}
	unit, slotRange := max(f.key.Unit, layout.Unit()), layout.Max(idgen.Sequence)+1
	start := func(at time.Time) time.Time {
		if f.key.Unit <= layout.Unit() {
			return layout.Epoch().Add(at.Sub(layout.Epoch()) / unit * unit)
		}
		return at.UTC().Truncate(unit)
	}
	ids := slices.Collect(maps.Keys(rows))
	slices.SortFunc(ids, func(a, b int64) int {
		if c := start(rows[a]).Compare(start(rows[b])); c != 0 {
			return c
		}
		return int(a - b)
	})
	want := map[int64]int64{}
	var last time.Time
	var n int64
	for _, id := range ids {
		at := start(rows[id])
		if !at.Equal(last) {
			last, n = at, 0
		}
		node := idgen.Parts{
			Time: at.Add(time.Duration(n/slotRange) * layout.Unit()), Node: f.plan.Node & layout.Max(idgen.Node),
			Datacenter: f.plan.Node >> layout.Bits(idgen.Node), Sequence: n % slotRange,
		}
		if want[id], err = layout.Compose(node); err != nil {
			t.Fatal(err)
		}
		n++
	}
	return want
}

func (f *fixture) look(t testing.TB) mapping.Survey {
	t.Helper()
	survey, err := mapping.SurveyRows(t.Context(), f.db, f.plan, f.key)
	if err != nil {
		t.Fatal(err)
	}
	return survey
}

// check compares the map with the one that the oracle says.
func (f *fixture) check(t *testing.T, rows map[int64]time.Time) {
	t.Helper()
	got, want := f.mapped(t), f.oracle(t, rows)
	if maps.Equal(got, want) {
		return
	}
	wrong := 0
	for id := range want {
		if got[id] != want[id] && wrong < 5 {
			t.Errorf("id %d of %s: got %d, want %d", id, rows[id], got[id], want[id])
			wrong++
		}
	}
	t.Fatalf("got a map of %d rows, want one of %d", len(got), len(want))
}

// TestManyInOneSecond is for tables filled by an import: 10,000 rows with one time that is exact to the second.
func TestManyInOneSecond(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.plan.Layout, f.plan.Node = wide, 5<<5|7
		f.create(t, "datetime", "datetime", "timestamptz(0)")
		rows := map[int64]time.Time{}
		for i := range int64(10_000) {
			rows[i-3] = noon
		}
		f.insertUTC(t, rows)
		if s := f.look(t); s.Refused(f.key) != nil || s.Rows != 10_000 || s.Inverted != 0 {
			t.Fatalf("got survey %+v, %v", s, s.Refused(f.key))
		}
		if n, err := f.fill(t, math.MinInt64, 3_000); n != 10_000 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		f.check(t, rows)
	})
}

// insertUTC adds rows whose times say that they are of UTC, where the database's type can.
func (f *fixture) insertUTC(t testing.TB, rows map[int64]time.Time) {
	t.Helper()
	texts := map[int64]string{}
	for id, at := range rows {
		texts[id] = at.UTC().Format("'2006-01-02 15:04:05.999999+00:00'")
		if f.kind == "postgres" {
			texts[id] = at.UTC().Format("'2006-01-02T15:04:05.999999+00:00'")
		}
		if f.kind == "mysql" {
			texts[id] = at.UTC().Format("'2006-01-02 15:04:05.999999'")
		}
	}
	f.insert(t, texts)
}

// TestFill compares maps of rows with random times, many of which are equal, and ids in random order with those that are computed in memory.
func TestFill(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i, of := range []struct {
			layout string
			node   int64
			unit   time.Duration
			types  []string
			times  int
		}{
			{small, 1023, time.Second, []string{"datetime", "datetime", "timestamp(0)"}, 40},
			{small, 1023, time.Millisecond, []string{"text", "datetime(3)", "timestamp(3)"}, 9000},
			{wide, 3<<5 | 1, time.Microsecond, []string{"timestamp", "datetime(6)", "timestamp"}, 40},
			{inverse, 65535, time.Second, []string{"datetime", "datetime", "timestamp(0)"}, 40},
			{inverse, 7, time.Microsecond, []string{"datetime", "datetime(6)", "timestamp(6)"}, 4000},
			{sharded, 511, time.Second, []string{"datetime", "datetime", "timestamp(0)"}, 40},
		} {
			t.Run(fmt.Sprintf("case=%d", i), func(t *testing.T) {
				f.plan.Layout, f.plan.Node, f.key.Unit = of.layout, of.node, of.unit
				f.exec(t, `DROP TABLE IF EXISTS "Ord""ers"`, `DROP TABLE IF EXISTS map`)
				f.create(t, of.types...)
				random := rand.New(rand.NewPCG(1, uint64(i)))
				rows := map[int64]time.Time{}
				for range 900 {
					step := max(of.unit, time.Millisecond/10)
					rows[random.Int64N(5000)-100] = noon.Add(time.Duration(random.IntN(of.times)) * step)
				}
				f.times(t, rows)
				s := f.look(t)
				if want := inverted(f.oracle(t, rows)); s.Refused(f.key) != nil || s.Rows != int64(len(rows)) || s.Inverted != want {
					t.Fatalf("got survey %+v, %v; want %d rows, %d inverted", s, s.Refused(f.key), len(rows), want)
				}
				if n, err := f.fill(t, math.MinInt64, 70); n != int64(len(rows)) || err != nil {
					t.Fatalf("got %d, %v", n, err)
				}
				f.check(t, rows)
			})
		}
	})
}

// inverted counts the rows whose new id is below that of a row with a lower old id, and not in the same unit: at least as many as change places.
func inverted(m map[int64]int64) (n int64) {
	var greatest int64
	for _, id := range slices.Sorted(maps.Keys(m)) {
		if m[id] < greatest {
			n++
		}
		greatest = max(greatest, m[id])
	}
	return n
}

// TestFillAgain fills a map again from an earlier cursor, when rows have come.
func TestFillAgain(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.create(t, "datetime", "datetime", "timestamp(0)")
		rows := map[int64]time.Time{}
		for id := range int64(300) {
			rows[id] = noon.Add(time.Duration(id/50) * time.Second)
		}
		f.times(t, rows)
		if n, err := f.fill(t, math.MinInt64, 90); n != 300 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		later := map[int64]time.Time{}
		for id := int64(300); id < 400; id++ {
			later[id] = noon.Add(time.Duration(id%9) * time.Second)
		}
		f.times(t, later)
		maps.Copy(rows, later)
		if n, err := f.fill(t, 100, 90); n != 100 || err != nil {
			t.Fatalf("got %d, %v, want the new rows alone", n, err)
		}
		f.check(t, rows)
	})
}

// TestRefused checks every reason for which rows cannot get new ids: that Look counts it, that Refused names it, and that Fill does not pass it.
func TestRefused(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.create(t, "datetime", "datetime(6)", "timestamp(6)")
		ahead := time.Now().UTC().Add(time.Hour).Format("'2006-01-02T15:04:05'")
		rows := map[int64]string{
			1: "'2024-05-06T12:00:00'", 2: "NULL", 3: "NULL", 4: "'0001-01-01T00:00:00'", 5: "'2019-12-31T23:59:59.999999'",
			6: ahead, 7: ahead, 8: ahead, 9: "'2024-05-06T11:59:59'",
		}
		want := mapping.Survey{Rows: 9, Null: 2, Zero: 1, Early: 1, Future: 3, Inverted: 1, First: mapping.Examples{Null: 2, Zero: 4, Early: 5, Future: 6, Inverted: 9}}
		switch f.kind {
		case "mysql":
			rows[10], rows[11], rows[12] = "'0000-00-00 00:00:00'", "'2024-00-00'", "0"
			want.Rows, want.Zero = 12, 4
		case "postgres":
			rows[10], rows[11] = "'infinity'", "'-infinity'"
			want.Rows, want.Unreadable, want.First.Unreadable = 11, 2, 10
		case "sqlite":
			rows[10], rows[11], rows[12], rows[13] = "'yesterday'", "''", "2460437.5", "'2024-02-30 00:00:00'"
			rows[14], rows[15], rows[16], rows[17] = "1714996800", "1714996800123", "1714996800123456", "1714996800123456789"
			rows[18], rows[19], rows[20] = "'2024-05-06T21:00:00.5+09:00'", "'2024-05-06 12:00:01.25Z'", "0"
			want.Rows, want.Unreadable, want.First.Unreadable, want.First.Text, want.Zero = 20, 4, 10, "yesterday", 2
		}
		want.Earliest = time.Date(2019, 12, 31, 23, 59, 59, 0, time.UTC)
		f.insert(t, rows)
		got := f.look(t)
		if got != want {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
		err := got.Refused(f.key)
		if !errors.Is(err, mapping.ErrRefused) {
			t.Fatalf("got %v", err)
		}
		for _, part := range []string{"2 without a time, such as id 2", " with the zero time, such as id 4", "1 made before the layout's epoch, such as id 5", "3 made later than now, such as id 6"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("got %v, want %q in it", err, part)
			}
		}
		for id, value := range rows {
			f.exec(t, `DELETE FROM "Ord""ers"`, `DELETE FROM map`)
			f.insert(t, map[int64]string{id: value})
			s := f.look(t)
			if _, err := f.fill(t, math.MinInt64, 5); (s.Refused(f.key) == nil) != (err == nil) || err != nil && !errors.Is(err, mapping.ErrRefused) {
				t.Errorf("%s: got %v from Fill, and %v from the survey", value, err, s.Refused(f.key))
			}
		}
		f.key.Zone = "" // a time that says none cannot be read then
		f.exec(t, `DELETE FROM "Ord""ers"`, `DELETE FROM map`)
		f.insert(t, map[int64]string{1: rows[1], 2: "NULL"})
		if got := f.look(t); got.Unreadable != 1 || got.Null != 1 {
			t.Errorf("without a zone: got %+v, want 1 unreadable", got)
		}
	})
}

// TestZones checks that columns which say their instant, and such that do not, are read without regard to the session's zone.
func TestZones(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.plan.Layout, f.plan.Node, f.key.Unit, f.key.Zone = wide, 1, time.Microsecond, "Europe/Berlin"
		f.create(t, "datetime", "timestamp(6)", "timestamptz")
		zone, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		rows := map[int64]time.Time{}
		texts := map[int64]string{}
		for id, text := range []string{
			"2024-10-27T02:30:00.123456+02:00", "2024-10-27T02:30:00.123457+01:00", "2024-03-31T02:30:00+00:00", "2024-07-01T00:00:00.5-11:30",
		} {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				t.Fatal(err)
			}
			rows[int64(id)] = at
			texts[int64(id)] = "'" + text + "'"
			if f.kind == "mysql" { // in the session's zone
				texts[int64(id)] = at.UTC().Add(9 * time.Hour).Format("'2006-01-02 15:04:05.999999'")
			}
		}
		f.insert(t, texts)
		if n, err := f.fill(t, math.MinInt64, 2); n != 4 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		f.check(t, rows)

		f.exec(t, `DROP TABLE "Ord""ers"`, `DROP TABLE map`)
		f.create(t, "datetime", "datetime(6)", "timestamp")
		local := map[int64]string{1: "'2024-10-27T02:30:00.123456'", 2: "'2024-10-27T03:00:00'", 3: "'2024-07-01T00:00:00.5'", 4: "'2024-10-27T01:59:59'"}
		f.insert(t, local)
		if n, err := f.fill(t, math.MinInt64, 2); n != 4 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		f.check(t, map[int64]time.Time{
			1: time.Date(2024, 10, 27, 0, 30, 0, 123456000, time.UTC), 2: time.Date(2024, 10, 27, 3, 0, 0, 0, zone),
			3: time.Date(2024, 7, 1, 0, 0, 0, 500_000_000, zone), 4: time.Date(2024, 10, 27, 1, 59, 59, 0, zone),
		})
		f.insert(t, map[int64]string{5: "'2024-03-31T02:30:00'"})
		if s := f.look(t); s.Unreadable != 1 || s.First.Unreadable != 5 {
			t.Errorf("a local time that never was: got %+v, want 1 unreadable, id 5", s)
		}
	})
}

// TestCrowded compares the number of rows beyond their units with one that is counted in memory.
func TestCrowded(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.key.Unit = time.Millisecond // with room for 4
		f.create(t, "text", "datetime(3)", "timestamp(3)")
		random := rand.New(rand.NewPCG(1, 2))
		rows := map[int64]time.Time{}
		per := map[time.Time]int64{}
		var want int64
		for id := range int64(500) {
			at := noon.Add(time.Duration(random.IntN(100)) * time.Millisecond)
			rows[id] = at
			if per[at]++; per[at] > 4 {
				want++
			}
		}
		f.times(t, rows)
		s := f.look(t)
		if err := s.Refused(f.key); s.Crowded != want || want == 0 || !errors.Is(err, mapping.ErrRefused) {
			t.Fatalf("got %d crowded, %v; want %d", s.Crowded, err, want)
		}
		if _, err := f.fill(t, math.MinInt64, 50); !errors.Is(err, mapping.ErrRefused) || !strings.Contains(err.Error(), fmt.Sprintf("such as id %d", s.First.Crowded)) {
			t.Errorf("Fill: got %v, want it refused at %d", err, s.First.Crowded)
		}
	})
}

// TestClashing plants rows whose ids are the new ids of others.
func TestClashing(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.create(t, "datetime", "datetime", "timestamp(0)")
		rows := map[int64]time.Time{}
		for id := range int64(100) {
			rows[id] = noon.Add(time.Duration(id%10) * time.Second)
		}
		f.times(t, rows)
		m := f.oracle(t, rows)
		same := noon.UTC().Format("'2006-01-02T15:04:05'")
		// The one after the last of a second and one of another node are free.
		f.insert(t, map[int64]string{m[99] + 1: same, m[98] + 1<<12: same, m[97] - 1<<2: same})
		if s := f.look(t); s.Clashing != 0 || s.Rows != 100 {
			t.Fatalf("got %+v, want none that clashes", s)
		}
		f.insert(t, map[int64]string{m[50]: same, m[7]: same})
		s := f.look(t)
		if err := s.Refused(f.key); s.Clashing != 2 || s.First.Clashing != 7 || !errors.Is(err, mapping.ErrRefused) {
			t.Fatalf("got %+v, %v, want 2 that clash", s, err)
		}
		if n, err := f.fill(t, math.MinInt64, 20); n != 0 || !errors.Is(err, mapping.ErrRefused) || len(f.mapped(t)) != 0 {
			t.Errorf("Fill: got %d, %v, want nothing written", n, err)
		}
		f.key.Below = 1 << 62
		f.exec(t, fmt.Sprintf(`DELETE FROM "Ord""ers" WHERE "i""d" > %d`, below))
		if s := f.look(t); s.Clashing != 100 {
			t.Errorf("new ids below Below: got %+v, want all refused", s)
		}
	})
}

// TestThrough gives rows the time of the row that they refer to.
func TestThrough(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.create(t, "datetime", "datetime", "timestamp(0)")
		f.exec(t, `CREATE TABLE parents (pk INT PRIMARY KEY, made `+map[string]string{"sqlite": "text", "mysql": "datetime", "postgres": "timestamp"}[f.kind]+`)`,
			`INSERT INTO parents VALUES (1, '2024-05-06T12:00:00'), (2, '2024-05-06T11:00:00'), (3, NULL)`)
		f.key.Through, f.key.Parent, f.key.Created = "n", "parents", "made"
		f.plan.References = []plan.Reference{{Reference: inspect.Reference{Table: f.key.Table, Column: "n", To: "parents", ToColumn: "pk"}}}
		rows := map[int64]time.Time{}
		for id := range int64(20) {
			f.exec(t, fmt.Sprintf(`INSERT INTO "Ord""ers" ("i""d", n) VALUES (%d, %d)`, id, 1+id%2))
			rows[id] = noon.Add(-time.Duration(id%2) * time.Hour)
		}
		if n, err := f.fill(t, math.MinInt64, 7); n != 20 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		f.check(t, rows)
		f.exec(t, `INSERT INTO "Ord""ers" ("i""d", n) VALUES (30, 3), (31, NULL), (32, 9)`)
		if s := f.look(t); s.Null != 3 || s.Rows != 23 {
			t.Errorf("got %+v, want 3 without a time", s)
		}
	})
}

// TestInstant gives all rows one time, from which they spread.
func TestInstant(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.create(t, "datetime", "datetime", "timestamp(0)")
		at := noon
		f.key.Created, f.key.Instant, f.key.Unit = "", &at, 0
		texts := map[int64]string{}
		rows := map[int64]time.Time{}
		for id := range int64(5000) { // of which a second has room for 4,000
			texts[id], rows[id] = "NULL", at
		}
		f.insert(t, texts)
		if s := f.look(t); s.Refused(f.key) != nil || s.Rows != 5000 {
			t.Fatalf("got %+v", s)
		}
		if n, err := f.fill(t, math.MinInt64, 2000); n != 5000 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		f.key.Unit = time.Hour // for the oracle
		f.check(t, rows)
	})
}

// TestFillGaps is for maps that others add pairs to, at slots of their own choice: the last of a unit, and the second.
func TestFillGaps(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.key.Unit = time.Millisecond // with room for 4
		f.create(t, "text", "datetime(3)", "timestamp(3)")
		rows := map[int64]time.Time{1: noon, 2: noon}
		f.times(t, rows)
		m := f.oracle(t, rows)
		f.exec(t, fmt.Sprintf("INSERT INTO map VALUES (1001, %d), (1000, %d)", m[1]+3, m[1]+1))
		if n, err := f.fill(t, math.MinInt64, 1); n != 2 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		if got, want := f.mapped(t), (map[int64]int64{1: m[1], 2: m[1] + 2, 1001: m[1] + 3, 1000: m[1] + 1}); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		f.times(t, map[int64]time.Time{3: noon})
		if n, err := f.fill(t, math.MinInt64, 5); n != 0 || !errors.Is(err, mapping.ErrRefused) {
			t.Errorf("a fifth: got %d, %v, want it refused", n, err)
		}
	})
}

// TestExcused is what mode shadow meets: a row without a time, for which a trigger has made a pair.
func TestExcused(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.create(t, "datetime", "datetime", "timestamp(0)")
		f.insert(t, map[int64]string{1: "NULL", 2: "NULL", 3: "'2024-05-06T12:00:00'"})
		m := f.oracle(t, map[int64]time.Time{2: noon.Add(time.Hour)})
		f.exec(t, fmt.Sprintf("INSERT INTO map VALUES (2, %d)", m[2]))
		if s := f.look(t); s.Null != 1 || s.First.Null != 1 || s.Rows != 3 {
			t.Errorf("got %+v, want 1 without a time", s)
		}
		f.exec(t, `DELETE FROM "Ord""ers" WHERE "i""d" = 1`)
		if n, err := f.fill(t, math.MinInt64, 1); n != 1 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}

// TestFillBeside fills a map on PostgreSQL while another transaction has added a pair to it, in the same unit, and is not committed yet.
func TestFillBeside(t *testing.T) {
	f := newFixture(t, "postgres", dbtest.Postgres(t))
	f.plan.Mode = plan.Shadow
	f.create(t, "timestamp(0)")
	rows := map[int64]time.Time{}
	for id := range int64(10) {
		rows[id] = noon
	}
	f.times(t, rows)
	m := f.oracle(t, rows)
	other, err := f.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO map VALUES (1000, %d)", m[4])); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		n, err := mapping.FillAll(t.Context(), f.db, f.plan, f.key, 100)
		if err == nil && n != 10 {
			err = fmt.Errorf("got %d rows, want 10", n)
		}
		ended <- err
	}()
	for waits := false; !waits; {
		if err := f.db.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	got := f.mapped(t)
	if len(got) != 11 || got[1000] != m[4] || got[3] != m[3] {
		t.Errorf("got %v", got)
	}
}
