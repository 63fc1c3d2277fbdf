package migrate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/migratetest"
	"github.com/snowkey-go/snowkey/migrate"
)

// TestAdviceKept plans databases that nobody here has made with the flags that the first attempt names, and no others.
func TestAdviceKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kinds []string
		fill  func(*database)
	}{
		"Chinook": {[]string{"mysql", "postgres", "sqlite"}, func(d *database) { migratetest.Chinook(d.t, d.pool, d.kind, 60) }},
		"Sakila":  {[]string{"mysql"}, func(d *database) { migratetest.Sakila(d.t, d.pool, 60) }},
		"Pagila": {[]string{"postgres"}, func(d *database) {
			migratetest.Pagila(d.t, d.pool, 60)
			d.exec("DROP MATERIALIZED VIEW rental_by_category") // which no flag settles
		}},
	} {
		for _, kind := range c.kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				d := open(t, kind)
				c.fill(d)
				for _, mode := range []migrate.Mode{migrate.Widen, migrate.Rekey} {
					i, o := migrate.InspectOptions{}, migrate.PlanOptions{Mode: mode}
					report, err := migrate.Inspect(t.Context(), d.gorm, i)
					if err != nil {
						t.Fatal(err)
					}
					err = migrate.Advise(t.Context(), d.gorm, report, o)
					blocked := new(migrate.Blocked)
					if err != nil && !errors.As(err, &blocked) {
						t.Fatal(err)
					}
					flags, left := blocked.Flags()
					t.Logf("%s: %v", mode, err)
					if left > 0 {
						t.Errorf("no flag settles %d", left)
						continue
					}
					for _, f := range flags {
						give(t, &i, &o, f.Flag, f.Value)
					}
					if report, err = migrate.Inspect(t.Context(), d.gorm, i); err != nil {
						t.Fatal(err)
					}
					if _, err := migrate.MakePlan(t.Context(), d.gorm, report, o); err != nil {
						t.Errorf("with the flags %v: got %v", flags, err)
					}
				}
			})
		}
	}
}

// give sets what a flag of the command sets.
func give(t *testing.T, i *migrate.InspectOptions, o *migrate.PlanOptions, flag, value string) {
	t.Helper()
	switch flag {
	case "reference":
		i.References = append(i.References, value)
	case "accept":
		o.Accept = append(o.Accept, value)
	case "zone":
		o.Zone = value
	case "layout":
		layout, err := idgen.ParseLayout(value)
		if err != nil {
			t.Fatal(err)
		}
		o.Layout = layout
	case "created":
		table, what, _ := strings.Cut(value, "=")
		if o.Created == nil {
			o.Created = map[string]string{}
		}
		o.Created[table] = what
	default:
		t.Fatalf("no flag %s", flag)
	}
}
