package migrate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/migratetest"
	"github.com/snowkey-go/snowkey/migrate"
)

// TestAccepts has what three published schemas ask to accept, or to mend, before their keys are rewritten: routines that fail for snowflakes, and
// a materialized view, which is to be dropped. None of it is a trigger that stamps.
func TestAccepts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kind string
		fill       func(*database)
		accept     []string
		firm       []string
	}{
		{"Chinook", "sqlite", func(d *database) { migratetest.Chinook(d.t, d.pool, d.kind, 10) }, nil, nil},
		{"Chinook", "mysql", func(d *database) { migratetest.Chinook(d.t, d.pool, d.kind, 10) }, nil, nil},
		{"Chinook", "postgres", func(d *database) { migratetest.Chinook(d.t, d.pool, d.kind, 10) }, nil, nil},
		{"Sakila", "mysql", func(d *database) { migratetest.Sakila(d.t, d.pool, 10) }, []string{
			"routine:film_in_stock", "routine:film_not_in_stock", "routine:get_customer_balance", "routine:inventory_held_by_customer", "routine:inventory_in_stock",
			"routine:rewards_report",
		}, nil},
		{"Pagila", "postgres", func(d *database) { migratetest.Pagila(d.t, d.pool, 10) }, []string{
			"routine:film_in_stock", "routine:film_not_in_stock", "routine:get_customer_balance", "routine:inventory_held_by_customer", "routine:inventory_in_stock",
		}, []string{"materialized view public.rental_by_category"}},
	} {
		t.Run(tt.name+"/"+tt.kind, func(t *testing.T) {
			t.Parallel()
			d := open(t, tt.kind)
			tt.fill(d)
			report, err := migrate.Inspect(t.Context(), d.gorm, migrate.InspectOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var accept, firm []string
			for _, o := range report.Obstacles {
				switch {
				case !slices.Contains(o.Blocks, "rekey"):
				case slices.Contains(o.Firm, "rekey"):
					if what := o.Kind + " " + o.Name; !slices.Contains(firm, what) {
						firm = append(firm, what)
					}
				default:
					accept = append(accept, o.Accept())
				}
			}
			slices.Sort(accept)
			if !slices.Equal(accept, tt.accept) || !slices.Equal(firm, tt.firm) {
				t.Errorf("got to accept\n\t%s\nand to mend %q, want\n\t%s\nand %q", strings.Join(accept, "\n\t"), firm, strings.Join(tt.accept, "\n\t"), tt.firm)
			}
		})
	}
}
