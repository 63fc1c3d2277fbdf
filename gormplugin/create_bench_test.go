package gormplugin_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// ByDatabase has a key of the database's, ByHand one that the benchmark sets, and ByPlugin one that the plugin fills in.
type (
	ByDatabase struct {
		ID                uint64
		Name, Email, City string
		Age               int
	}
	ByHand struct {
		ID                sqltype.ID
		Name, Email, City string
		Age               int
	}
	ByPlugin struct {
		ID                sqltype.ID
		Name, Email, City string
		Age               int
	}
)

// contender is one way to create rows, in a table of its own.
type contender struct {
	name   string
	create func(db *gorm.DB, rows int) error
	times  []time.Duration
}

func contenders(generator *idgen.Snowflake) []*contender {
	return []*contender{
		{name: "database", create: func(db *gorm.DB, n int) error {
			rows := slices.Repeat([]ByDatabase{{Name: "Ada", Email: "ada@example.org", City: "London", Age: 36}}, n)
			if n == 1 {
				return db.Create(&rows[0]).Error
			}
			return db.CreateInBatches(rows, n).Error
		}},
		{name: "hand", create: func(db *gorm.DB, n int) error {
			rows := slices.Repeat([]ByHand{{Name: "Ada", Email: "ada@example.org", City: "London", Age: 36}}, n)
			ids := make([]int64, n)
			if err := generator.Fill(db.Statement.Context, ids); err != nil {
				return err
			}
			for i := range rows {
				rows[i].ID = sqltype.ID(ids[i])
			}
			if n == 1 {
				return db.Create(&rows[0]).Error
			}
			return db.CreateInBatches(rows, n).Error
		}},
		{name: "plugin", create: func(db *gorm.DB, n int) error {
			rows := slices.Repeat([]ByPlugin{{Name: "Ada", Email: "ada@example.org", City: "London", Age: 36}}, n)
			if n == 1 {
				return db.Create(&rows[0]).Error
			}
			return db.CreateInBatches(rows, n).Error
		}},
	}
}

// unboundedSource makes ids so wide in sequence that no benchmark waits for a tick.
func unboundedSource(b testing.TB) *idgen.Snowflake {
	b.Helper()
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Sequence.Bits(22))
	if err != nil {
		b.Fatal(err)
	}
	generator, err := idgen.New(layout)
	if err != nil {
		b.Fatal(err)
	}
	return generator
}

// BenchmarkCreate creates rows with keys of the database's, keys set by hand and keys of the plugin in turns, each first as often as
// the others, so that all see the same moments of a noisy machine. The figures are medians a statement: µs/database, µs/hand,
// µs/plugin; added is what the plugin's took longer than those with keys set by hand, in percent and ns a row; speedup how often
// the plugin's went into those with keys of the database's. With gorm=skiptx it has no transaction of GORM's around it, with gorm=dry it does not
// reach the database: GORM alone is measured. The databases wait for no disk, since that wait is the same for all and hides the rest.
func BenchmarkCreate(b *testing.B) {
	onEach(b, func(b *testing.B, db *gorm.DB) {
		pool, err := db.DB()
		if err != nil {
			b.Fatal(err)
		}
		pool.SetMaxOpenConns(1) // the setting is one of the session
		quick := map[string]string{"sqlite": "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF", "mysql": "SET GLOBAL innodb_flush_log_at_trx_commit = 0", "postgres": "SET synchronous_commit = off"}[db.Name()]
		if err := db.Exec(quick).Error; err != nil {
			b.Fatal(err)
		}
		generator := unboundedSource(b)
		if err := db.Use(gormplugin.New(gormplugin.From(generator))); err != nil {
			b.Fatal(err)
		}
		if err := db.AutoMigrate(&ByDatabase{}, &ByHand{}, &ByPlugin{}); err != nil {
			b.Fatal(err)
		}
		for _, mode := range []struct {
			name    string
			session gorm.Session
		}{
			{"gorm=run", gorm.Session{}},
			{"gorm=skiptx", gorm.Session{SkipDefaultTransaction: true}},
			{"gorm=dry", gorm.Session{DryRun: true}},
		} {
			for _, rows := range []int{1, 1000} {
				b.Run(fmt.Sprintf("rows=%d/%s", rows, mode.name), func(b *testing.B) {
					mode.session.Logger = silent{}
					race(b, db.Session(&mode.session), contenders(generator), rows)
				})
			}
		}
	})
}

func race(b *testing.B, db *gorm.DB, contenders []*contender, rows int) {
	turn := 0
	for b.Loop() {
		for i := range contenders {
			c := contenders[(turn+i)%len(contenders)]
			start := time.Now()
			if err := c.create(db, rows); err != nil {
				b.Fatal(err)
			}
			c.times = append(c.times, time.Since(start))
		}
		turn++
	}
	medians := map[string]float64{}
	for _, c := range contenders {
		slices.Sort(c.times)
		medians[c.name] = float64(c.times[len(c.times)/2])
		b.ReportMetric(medians[c.name]/1e3, "µs/"+c.name)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric((medians["plugin"]/medians["hand"]-1)*100, "added-%")
	b.ReportMetric((medians["plugin"]-medians["hand"])/float64(rows), "added-ns/row")
	b.ReportMetric(medians["database"]/medians["plugin"], "speedup")
}
