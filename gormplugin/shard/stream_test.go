package shard_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// noon is when the rows of the tests begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const hour = time.Hour

// event is a sharded model that was written by hand.
type event struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID int64
	Item   string
}

// copied is a row of the table that is not sharded.
type copied struct {
	ID int64 `gorm:"primaryKey;autoIncrement:false"`
	At int64 // milliseconds since noon
}

// fillEvents makes a row every two seconds over two hours, of many sharding keys, in the tables where they belong and in a copy.
func fillEvents(t *testing.T, r *shard.Router, pools map[string]*gorm.DB) {
	t.Helper()
	m := r.Map()
	tables := make([][]string, len(m.Shards()))
	var copies []string
	for i := range 3600 {
		at, user := noon.Add(time.Duration(i)*2*time.Second), int64(i%97+1)
		bucket, err := m.Place(user, 0)
		must(t, err)
		least, err := m.Layout().MinID(at)
		must(t, err)
		in, err := m.OfBucket(bucket)
		must(t, err)
		tables[in] = append(tables[in], fmt.Sprintf("(%d, %d, 'item %d')", least|bucket, user, i%3))
		copies = append(copies, fmt.Sprintf("(%d, %d)", least|bucket, at.Sub(noon).Milliseconds()))
	}
	for i, rows := range tables {
		insertRows(t, pools[m.Shard(i).Database], "INSERT INTO "+m.Shard(i).Table("events")+" (id, user_id, item) VALUES ", rows)
	}
	insertRows(t, pools[""], "INSERT INTO copieds (id, at) VALUES ", copies)
}

func insertRows(t *testing.T, db *gorm.DB, into string, rows []string) {
	t.Helper()
	for part := range slices.Chunk(rows, 600) {
		must(t, db.Exec(into+strings.Join(part, ", ")).Error)
	}
}

// openEvents opens a router of four tables with the rows of two hours.
func openEvents(t *testing.T, db *gorm.DB) *shard.Router {
	t.Helper()
	r := use(t, db, shard.Config{Shards: idshard.Tables(4), Lease: time.Hour})
	must(t, r.AutoMigrate(db, &event{}, &copied{}))
	fillEvents(t, r, map[string]*gorm.DB{"": db})
	return r
}

// idsOf returns the ids of a stream, and its error.
func idsOf(db *gorm.DB, from, to time.Time) (ids []int64, err error) {
	for e, err := range shard.Between[event](db, from, to) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, int64(e.ID))
	}
	return ids, nil
}

// TestBetween reads an hour over all tables, and finds what the query by time finds in the table that is not sharded.
func TestBetween(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		openEvents(t, db)
		for name, c := range map[string]struct{ from, to time.Time }{
			"an hour":      {noon.Add(30 * time.Minute), noon.Add(90 * time.Minute)},
			"in a tick":    {noon.Add(2*time.Second + 300*time.Microsecond), noon.Add(4*time.Second + 300*time.Microsecond)},
			"all":          {time.Time{}, noon.Add(1e6 * time.Hour)},
			"nothing":      {noon, noon},
			"before epoch": {time.Time{}, noon.Add(-1e5 * time.Hour)},
		} {
			got, err := idsOf(db, c.from, c.to)
			must(t, err)
			var want []int64
			least, most := c.from.Sub(noon).Milliseconds(), c.to.Sub(noon).Milliseconds()
			must(t, db.Model(&copied{}).Where("at >= ? AND at < ?", least, most).Order("id").Pluck("id", &want).Error)
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %d ids, want %d", name, len(got), len(want))
			}
			if name == "an hour" && len(want) != 1800 {
				t.Errorf("%s: the query by time has %d rows, want 1800", name, len(want))
			}
		}
	})
}

// TestBetweenConditions keeps what db says of the rows, and no more than the range whatever that is.
func TestBetweenConditions(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		openEvents(t, db)
		chain := db.Where("events.item = ?", "item 1").Or("item = ?", "item 2").Select("item")
		for range 2 { // it can be read again
			n := 0
			for e, err := range shard.Between[event](chain, noon, noon.Add(time.Minute)) {
				must(t, err)
				if e.Item == "item 0" || e.UserID != 0 {
					t.Errorf("got %+v, want items 1 and 2 alone", e)
				}
				n++
			}
			if n != 20 {
				t.Errorf("got %d rows, want 20 of the minute's 30", n)
			}
		}
	})
}

// TestBetweenPlan explains the statements: they read a range of the primary key.
func TestBetweenPlan(t *testing.T) {
	want := map[string]*regexp.Regexp{
		"sqlite":   regexp.MustCompile(`SEARCH events USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)`),
		"mysql":    regexp.MustCompile(`range\b.*PRIMARY`),
		"postgres": regexp.MustCompile(`(?s)Index Scan using events_0\d_pkey.*Index Cond: \(\(id >= .?\d+.?(::bigint)?\) AND \(id <= .?\d+`),
	}
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		openEvents(t, db)
		var statements []string
		must(t, db.Callback().Query().After("gorm:query").Register("test:record", func(db *gorm.DB) {
			statements = append(statements, db.Dialector.Explain(db.Statement.SQL.String(), db.Statement.Vars...))
		}))
		_, err := idsOf(db, noon, noon.Add(time.Minute))
		must(t, err)
		if len(statements) != 4 {
			t.Fatalf("got the statements %q, want one for each table", statements)
		}
		for _, sql := range statements {
			if plan := explained(t, db, sql); !want[db.Name()].MatchString(plan) {
				t.Errorf("%s\n%s\nis no range of the primary key", sql, plan)
			}
		}
	})
}

// explained returns how a database would run a statement, if tables were large.
func explained(t *testing.T, db *gorm.DB, sql string) (plan string) {
	t.Helper()
	explain := map[string]string{"sqlite": "EXPLAIN QUERY PLAN ", "mysql": "EXPLAIN ", "postgres": "EXPLAIN "}[db.Name()]
	must(t, db.Transaction(func(tx *gorm.DB) error {
		if db.Name() == "postgres" {
			if err := tx.Exec("SET LOCAL enable_seqscan = off").Exec("SET LOCAL enable_bitmapscan = off").Error; err != nil {
				return err
			}
		}
		rows, err := tx.Raw(explain + sql).Rows()
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		for rows.Next() {
			texts, into := make([]*string, len(columns)), make([]any, len(columns))
			for i := range into {
				into[i] = &texts[i]
			}
			if err := rows.Scan(into...); err != nil {
				return err
			}
			for _, text := range texts {
				if text != nil {
					plan += *text + " "
				}
			}
			plan += "\n"
		}
		return rows.Err()
	}))
	return plan
}

// moveBuckets copies the rows of some buckets to another table, and makes the map in force that has them there.
func moveBuckets(t *testing.T, db *gorm.DB, r *shard.Router, to string, buckets ...int64) {
	t.Helper()
	m := r.Map()
	next, err := m.Move(to, buckets...)
	must(t, err)
	moves, err := m.Moves(next)
	must(t, err)
	for _, move := range moves {
		must(t, db.Exec(fmt.Sprintf("INSERT INTO events_%s SELECT * FROM events_%s WHERE id %% 1024 = %d", move.To, move.From, move.Bucket)).Error)
	}
	must(t, storeOf(t, db).Swap(t.Context(), "default", next))
}

// TestBetweenMoved reads while rows are in two tables, and while the map changes and the rows at the source are removed.
func TestBetweenMoved(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := openEvents(t, db)
		var want []int64
		must(t, db.Model(&copied{}).Order("id").Pluck("id", &want).Error)
		var buckets []int64
		for user := int64(1); user <= 97; user++ {
			if bucket, err := r.Map().Place(user, 0); err == nil && bucket%4 == 0 && !slices.Contains(buckets, bucket) { // all of the first table's
				buckets = append(buckets, bucket)
			}
		}
		var got []int64
		for e, err := range shard.Between[event](db, noon, noon.Add(2*time.Hour)) {
			must(t, err)
			got = append(got, int64(e.ID))
			switch len(got) {
			case 700:
				moveBuckets(t, db, r, "03", buckets...) // the router does not know yet
			case 1300: // a lease later; what was read before is returned still
				must(t, r.Reload(t.Context()))
				must(t, db.Exec("DELETE FROM events_00").Error)
			}
		}
		if r.Map().Version() != 2 || len(buckets) < 5 {
			t.Fatalf("version %d of the map, %d buckets moved", r.Map().Version(), len(buckets))
		}
		if !slices.Equal(got, want) {
			slices.Sort(got)
			t.Errorf("got %d rows, %d different ones, want %d", len(got), len(slices.Compact(got)), len(want))
		}
	})
}

// TestBetweenLeft reads rows that are in two tables once, from where the map has them.
func TestBetweenLeft(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := openEvents(t, db)
	bucket, err := r.Map().Place(int64(1), 0)
	must(t, err)
	to := "00"
	if bucket%4 == 0 {
		to = "01"
	}
	moveBuckets(t, db, r, to, bucket)
	must(t, db.Exec("UPDATE events_"+to+" SET item = 'moved' WHERE user_id = 1").Error)
	must(t, r.Reload(t.Context()))
	n := 0
	for e, err := range shard.Between[event](db.Where("user_id = 1"), noon, noon.Add(2*time.Hour)) {
		must(t, err)
		if e.Item != "moved" {
			t.Errorf("got %+v, want the row of the table that it has moved to", e)
		}
		n++
	}
	if n != 38 {
		t.Errorf("got %d rows, want 38, each once", n)
	}
}

// TestBetweenBreak leaves nothing open.
func TestBetweenBreak(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		openEvents(t, db)
		for e, err := range shard.Between[event](db, noon, noon.Add(time.Hour)) {
			must(t, err)
			if int64(e.ID) > 0 {
				break
			}
		}
		pool, err := db.DB()
		must(t, err)
		if n := pool.Stats().InUse; n != 0 {
			t.Errorf("%d connections are in use, want none", n)
		}
	})
}

// TestBetweenLegacy leaves out the rows from before the sharding.
func TestBetweenLegacy(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := openEvents(t, db)
	below, err := r.Map().Layout().MinID(noon.Add(30 * time.Minute))
	must(t, err)
	next, err := r.Map().WithLegacy(idshard.Legacy{Below: below, Shard: "02"})
	must(t, err)
	must(t, storeOf(t, db).Swap(t.Context(), "default", next))
	must(t, r.Reload(t.Context()))
	ids, err := idsOf(db, time.Time{}, noon.Add(time.Hour))
	must(t, err)
	if len(ids) != 900 || ids[0] < below {
		t.Errorf("got %d rows, want the 900 that have a bucket", len(ids))
	}
}

// TestBetweenPreload reads what the rows refer to with each page.
func TestBetweenPreload(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := use(t, db, shard.Config{Shards: idshard.Tables(4)})
	must(t, r.AutoMigrate(db, &city{}, &customer{}, &bill{}))
	customers := []customer{{City: city{Name: "Ulm"}}, {City: city{Name: "Jena"}}, {City: city{Name: "Bern"}}}
	must(t, db.Create(&customers).Error)
	bills := make([]bill, 30)
	for i := range bills {
		bills[i].CustomerID = customers[i%3].ID
	}
	must(t, db.Create(&bills).Error)
	n := 0
	for b, err := range shard.Between[bill](db.Preload("Customer.City"), noon, time.Now().Add(hour)) {
		must(t, err)
		if b.Customer.ID != b.CustomerID || b.Customer.City.Name == "" {
			t.Errorf("got %+v, want its customer and city", b)
		}
		n++
	}
	if n != len(bills) {
		t.Errorf("got %d bills, want %d", n, len(bills))
	}
}

// TestBetweenDatabases merges the tables of two databases.
func TestBetweenDatabases(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		own, far, r := twoDatabases(t, open)
		must(t, r.AutoMigrate(own, &event{}, &copied{}))
		fillEvents(t, r, map[string]*gorm.DB{"": own, "far": far})
		ids, err := idsOf(own, noon, noon.Add(2*time.Hour))
		must(t, err)
		if len(ids) != 3600 || !slices.IsSorted(ids) {
			t.Errorf("got %d rows, sorted %t, want 3600", len(ids), slices.IsSorted(ids))
		}
		err = own.Transaction(func(tx *gorm.DB) error {
			_, err := idsOf(tx, noon, noon.Add(2*time.Hour))
			return err
		})
		if !errors.Is(err, shard.ErrTransaction) {
			t.Errorf("in a transaction of one database: got %v, want ErrTransaction", err)
		}
	})
}

// TestBetweenErrors has one error, and no rows.
func TestBetweenErrors(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	openEvents(t, db)
	scattered := openGORM(t, kinds["sqlite"](t))
	r := use(t, scattered, shard.Config{Shards: idshard.Tables(2), Layout: idgen.Scattered.Layout})
	must(t, r.AutoMigrate(scattered, &event{}))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	failed := db.Session(&gorm.Session{})
	_ = failed.AddError(gorm.ErrInvalidData)
	for name, c := range map[string]struct {
		db   *gorm.DB
		from time.Time
		want error
	}{
		"order":     {db.Order("item"), noon, shard.ErrSpan},
		"limit":     {db.Limit(3), noon, shard.ErrSpan},
		"offset":    {db.Offset(3), noon, shard.ErrSpan},
		"group":     {db.Group("item"), noon, shard.ErrSpan},
		"scope":     {db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Limit(3) }), noon, shard.ErrSpan},
		"from":      {db.Clauses(clause.From{Tables: []clause.Table{{Name: "events_03", Alias: "events"}}}), noon, shard.ErrSpan},
		"joins":     {db.Joins("JOIN copieds ON copieds.id = events.id"), noon, shard.ErrSpan},
		"distinct":  {db.Distinct(), noon, shard.ErrSpan},
		"range":     {db, noon.Add(3 * time.Hour), gormplugin.ErrRange},
		"scattered": {scattered, noon, idshard.ErrLayout},
		"no router": {openGORM(t, kinds["sqlite"](t)), noon, shard.ErrConfig},
		"context":   {db.WithContext(ended), noon, context.Canceled},
		"failed":    {failed, noon, gorm.ErrInvalidData},
		"raw":       {db.Raw("SELECT 1"), noon, gormplugin.ErrScope},
	} {
		ids, err := idsOf(c.db, c.from, noon.Add(time.Hour))
		if !errors.Is(err, c.want) || len(ids) > 0 {
			t.Errorf("%s: got %d rows, %v, want %v", name, len(ids), err, c.want)
		}
	}
	for _, err := range shard.Between[copied](db, noon, noon) {
		if !errors.Is(err, shard.ErrModel) {
			t.Errorf("a model that is not sharded: got %v, want ErrModel", err)
		}
	}
}
