package migrate_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/check"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

func init() {
	scenarios = append(scenarios, scenario{"01 an int32 key whose model is int64", []string{"mysql", "postgres"}, testKeyOfModel})
}

// narrowThing and its child are the models as they were when the tables were made, wideThing and wideChild as they are now.
type (
	narrowThing struct {
		ID        int32 `gorm:"primaryKey;autoIncrement"`
		Name      string
		CreatedAt time.Time
		Children  []narrowChild `gorm:"foreignKey:ThingID"`
	}
	narrowChild struct {
		ID      int64
		ThingID int32
	}
	widerThing struct { // as wideThing, for AutoMigrate, which changes the type of references: PostgreSQL lets it, MariaDB refuses (1832)
		ID        int64
		Name      string
		CreatedAt time.Time
	}
	wideThing struct {
		ID        int64 `gorm:"snowkey"`
		Name      string
		CreatedAt time.Time
		Children  []wideChild `gorm:"foreignKey:ThingID"`
	}
	wideChild struct {
		ID      int64 `gorm:"snowkey"`
		ThingID int64
	}
)

func (narrowThing) TableName() string { return "things" }
func (narrowChild) TableName() string { return "children" }
func (widerThing) TableName() string  { return "things" }
func (wideThing) TableName() string   { return "things" }
func (wideChild) TableName() string   { return "children" }

// testKeyOfModel has a model that was given 64 bits, and GORM's AutoMigrate, which leaves the column as it is and says nothing.
func testKeyOfModel(t *testing.T, d *database) {
	if err := d.gorm.AutoMigrate(&narrowThing{}, &narrowChild{}); err != nil {
		t.Fatal(err)
	}
	const last = 2_000_000_000
	for i := range int32(20) {
		thing := narrowThing{ID: last - 19 + i, CreatedAt: time.Now().Add(time.Duration(i-20) * time.Hour), Children: []narrowChild{{}}}
		if err := d.gorm.Create(&thing).Error; err != nil {
			t.Fatal(err)
		}
	}
	if err := d.gorm.AutoMigrate(&widerThing{}); err != nil {
		t.Fatal(err)
	}
	key := d.keyOf("things")
	if key.Bits != 32 || key.Limit != math.MaxInt32 || key.Greatest != last || key.Used < 0.93 || key.Used > 0.94 || key.PerDay < 10 || key.DaysLeft <= 0 || key.Auto == "" {
		t.Errorf("got the key %+v, want 32 bits, 93 %% of them used, and days that are left", key)
	}

	plugin := gormplugin.New(gormplugin.From(d.generator()))
	db := d.gorm.Session(&gorm.Session{NewDB: true})
	if err := db.Use(plugin); err != nil {
		t.Fatal(err)
	}
	kindsFound := func() (kinds []check.Kind) {
		findings, err := check.Models(t.Context(), db, plugin, &wideThing{}, &wideChild{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			kinds = append(kinds, f.Kind)
		}
		slices.Sort(kinds)
		return kinds
	}
	want := []check.Kind{check.NarrowKey, check.AutoIncrement, check.AutoIncrement, check.NarrowReference}
	if got := kindsFound(); !slices.Equal(got, want) {
		t.Errorf("before: got the findings %v, want %v", got, want)
	}
	if err := db.Create(&wideThing{Name: "too wide"}).Error; err == nil {
		t.Error("a snowflake went into 32 bits")
	}
	d.run(d.plan(migrate.InspectOptions{Models: []any{&wideThing{}}}, migrate.PlanOptions{}))
	if key = d.keyOf("things"); key.Bits != 64 || key.Limit != math.MaxInt64 || key.Greatest != last || key.Used > 0.01 || key.Auto != "" {
		t.Errorf("got the key %+v, want 64 bits with the same ids, which the database does not make", key)
	}
	if got := kindsFound(); len(got) > 0 {
		t.Errorf("after: got the findings %v, want none", got)
	}
	made := wideThing{Name: "wide", Children: []wideChild{{}, {}}}
	if err := db.Create(&made).Error; err != nil {
		t.Fatal(err)
	}
	if n := d.number("SELECT COUNT(*) FROM things JOIN children ON children.thing_id = things.id WHERE name = 'wide'"); n != 2 {
		t.Errorf("got %d children of the new row, want 2", n)
	}
	if n := d.number("SELECT COUNT(*) FROM things JOIN children ON children.thing_id = things.id"); n != 22 {
		t.Errorf("got %d children, want 22", n)
	}
}

// keyOf returns what an inspection says of a table's key.
func (d *database) keyOf(table string) inspect.Key {
	d.t.Helper()
	report, err := migrate.Inspect(d.t.Context(), d.gorm, migrate.InspectOptions{Tables: []string{table}})
	if err != nil {
		d.t.Fatal(err)
	}
	if len(report.Tables) != 1 || report.Tables[0].Key == nil {
		d.t.Fatalf("got %+v, want one table with a key", report.Tables)
	}
	return *report.Tables[0].Key
}

// generator returns one of the tests' layout, of a node that no plan gets.
func (d *database) generator() *idgen.Snowflake {
	d.t.Helper()
	g, err := idgen.New(layout, idgen.WithNode(1))
	if err != nil {
		d.t.Fatal(err)
	}
	return g
}
