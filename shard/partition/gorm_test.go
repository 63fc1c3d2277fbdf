package partition_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard/partition"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Order is a model that knows nothing of partitions.
type Order struct {
	ID   sqltype.ID
	Note string
}

// gorm opens the database with the plugin.
func (e *engine) gorm(t *testing.T) *gorm.DB {
	t.Helper()
	dialector := mysql.New(mysql.Config{Conn: e.db})
	if e.postgres {
		dialector = postgres.New(postgres.Config{Conn: e.db})
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	generator, err := idgen.New(idgen.WithNode(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Use(gormplugin.New(gormplugin.From(generator))); err != nil {
		t.Fatal(err)
	}
	return db
}

// A model with the plugin is made by AutoMigrate with the partitions' clause, inserted, upserted, found and changed as any other.
func TestModel(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		db := e.gorm(t)
		settings := orders()
		clauseText, err := settings.Clause(e.d)
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		check("AutoMigrate", db.Set("gorm:table_options", clauseText).AutoMigrate(&Order{}))
		k, err := partition.New(e.db, e.d, settings)
		if err != nil {
			t.Fatal(err)
		}
		run(t, k)
		check("AutoMigrate again", db.AutoMigrate(&Order{}))
		rows := []Order{{Note: "a"}, {Note: "b"}, {Note: "c"}}
		check("Create", db.Create(&rows).Error)
		same := Order{ID: rows[0].ID, Note: "A"}
		check("Create with DO UPDATE", db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}).Create(&same).Error)
		check("Create with DO NOTHING", db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Order{ID: rows[1].ID, Note: "B"}).Error)
		rows[2].Note = "C"
		check("Save", db.Save(&rows[2]).Error)
		var found []Order
		check("Find", db.Scopes(gormplugin.After(sqltype.ID(0))).Find(&found).Error)
		if got := fmt.Sprint(found); len(found) != 3 || found[0].Note != "A" || found[1].Note != "b" || found[2].Note != "C" {
			t.Errorf("got %s, want A, b and C", got)
		}
		check("Delete", db.Delete(&rows[1]).Error)
		report, err := k.Run(t.Context())
		check("Run", err)
		if len(report.Plan.Parts) != 3 || report.Plan.Default != nil && len(report.Plan.Default.Unplaced) != 0 {
			t.Errorf("got the partitions %+v, and in the default one %+v", report.Plan.Parts, report.Plan.Default)
		}
	})
}

// The queries that the plugin makes read no partitions but those that may have the rows: by the server's own plan.
func TestQueriesArePruned(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		retained(t, e, &now) // 10 to 21 March, and the default partition
		db := e.gorm(t)
		all := strings.Fields(e.parts(t))
		id := sqltype.ID(idAt(t, at("2026-03-15T12:00:00Z"), 0))
		day := func(n int) time.Time { return at("2026-03-10T00:00:00Z").Add(time.Duration(n-10) * 24 * time.Hour) }
		var none []Order
		for _, tt := range []struct {
			name  string
			query func(*gorm.DB) *gorm.DB
			want  []string
		}{
			{"a find by id", func(db *gorm.DB) *gorm.DB { return db.Find(&none, "id = ?", id) }, []string{"p20260315"}},
			{"a first by id", func(db *gorm.DB) *gorm.DB { return db.Limit(1).Find(&none, id) }, []string{"p20260315"}},
			{"finds by ids", func(db *gorm.DB) *gorm.DB { return db.Find(&none, []sqltype.ID{id, sqltype.ID(idAt(t, day(18), 5))}) }, []string{"p20260315", "p20260318"}},
			{"a day", func(db *gorm.DB) *gorm.DB { return db.Scopes(gormplugin.CreatedBetween(day(12), day(13))).Find(&none) }, []string{"p20260312"}},
			{"two days and a half", func(db *gorm.DB) *gorm.DB {
				return db.Scopes(gormplugin.CreatedBetween(day(12), day(14).Add(time.Hour))).Find(&none)
			}, []string{"p20260312", "p20260313", "p20260314"}},
			{"since", func(db *gorm.DB) *gorm.DB { return db.Scopes(gormplugin.CreatedAfter(day(20))).Find(&none) }, []string{"p20260320", "p20260321", "pmax"}},
			{"a page after", func(db *gorm.DB) *gorm.DB {
				return db.Scopes(gormplugin.After(sqltype.ID(idAt(t, day(20), 3)))).Limit(20).Find(&none)
			}, []string{"p20260320", "p20260321", "pmax"}},
			{"a page before", func(db *gorm.DB) *gorm.DB {
				return db.Scopes(gormplugin.Before(sqltype.ID(idAt(t, day(11), 3)))).Limit(20).Find(&none)
			}, []string{"p20260310", "p20260311"}},
			{"a page of a day", func(db *gorm.DB) *gorm.DB {
				return db.Scopes(gormplugin.After(id), gormplugin.CreatedBefore(day(16))).Limit(20).Find(&none)
			}, []string{"p20260315"}},
			{"all", func(db *gorm.DB) *gorm.DB { return db.Find(&none) }, all},
		} {
			statement := db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tt.query(tx.Session(&gorm.Session{})) })
			got := e.read(t, statement)
			want := slices.Clone(tt.want)
			if e.postgres && tt.name == "a page before" { // the default partition has what is before all others
				want = append(want, "pmax")
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s\nreads the partitions %v, want %v", tt.name, statement, got, want)
			}
		}
	})
}

// A prepared statement that PostgreSQL has planned once for all values leaves the other partitions out when it is run.
func TestGenericPlansArePruned(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now := noon
	retained(t, e, &now)
	e.db.SetMaxOpenConns(1)
	e.exec(t, "SET plan_cache_mode = force_generic_plan")
	e.exec(t, "PREPARE find (bigint) AS SELECT * FROM orders WHERE id = $1")
	statement := fmt.Sprintf("EXECUTE find (%d)", idAt(t, noon, 0))
	if got := e.read(t, statement); !slices.Equal(got, []string{"p20260310"}) {
		t.Errorf("got the partitions %v, want the first", got)
	}
	if plan := strings.Join(e.texts(t, "EXPLAIN "+statement), "\n"); !strings.Contains(plan, "Subplans Removed: 12") {
		t.Errorf("got the plan\n%s\nwant one with all partitions, of which 12 are left out", plan)
	}
}

var scanned = regexp.MustCompile(`\bon orders_(\w+) `)

// read returns the partitions that a query reads, by the server's plan.
func (e *engine) read(t testing.TB, query string) (parts []string) {
	t.Helper()
	if e.postgres {
		for _, line := range e.texts(t, "EXPLAIN "+query) {
			if found := scanned.FindStringSubmatch(line); found != nil && !strings.Contains(line, "Bitmap Index Scan") {
				parts = append(parts, strings.Replace(found[1], "default", "pmax", 1))
			}
		}
	} else {
		explain := "EXPLAIN "
		if strings.Contains(e.texts(t, "SELECT VERSION()")[0], "MariaDB") { // MySQL shows partitions anyway
			explain += "PARTITIONS "
		}
		rows, err := e.db.QueryContext(t.Context(), explain+query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(columns, "partitions")
		for rows.Next() {
			values := make([]*string, len(columns))
			into := make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			if at >= 0 && values[at] != nil {
				parts = append(parts, strings.Split(*values[at], ",")...)
			}
		}
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}
