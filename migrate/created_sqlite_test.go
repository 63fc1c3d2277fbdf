package migrate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/migrate"
)

// TestTimesOfSQLite guesses the column with the time among texts and numbers, and wants ids of just these times.
func TestTimesOfSQLite(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 6, 7, 8, 9, 123e6, time.UTC)
	second := at.Truncate(time.Second)
	for name, c := range map[string]struct {
		column, value string
		want          time.Time
		unit          time.Duration
	}{
		"ISO 8601":         {"created_at TEXT", "'2024-05-06T07:08:09.123Z'", at, time.Millisecond},
		"with an offset":   {"created_at VARCHAR(40)", "'2024-05-06 10:08:09,123+03:00'", at, time.Millisecond},
		"without a zone":   {"created_at TEXT NOT NULL", "'2024-05-06 07:08:09'", second, time.Second},
		"a day":            {"created_at TEXT", "'2024-05-06'", at.Truncate(24 * time.Hour), 24 * time.Hour},
		"unix":             {"created_at INTEGER", fmt.Sprint(at.Unix()), second, time.Second},
		"unix, ms":         {"created_at INT", fmt.Sprint(at.UnixMilli()), at, time.Millisecond},
		"unix, ns":         {"created", fmt.Sprint(at.UnixNano()), at, time.Millisecond},
		"unix, as a text":  {"created_at TEXT", fmt.Sprintf("'%d'", at.UnixMilli()), at, time.Millisecond},
		"date of the item": {"item_date TEXT", "'2024-05-06T07:08:09Z'", second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, "sqlite")
			d.exec("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, "+c.column+")", "INSERT INTO items VALUES (1, 'a', "+c.value+")")
			p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC"})
			if k := p.Keys[0]; k.Guessed == "" || k.Unit != c.unit {
				t.Errorf("got %+v, want it to be guessed, exact to %s", k, c.unit)
			}
			d.run(p)
			parts, err := layout.Decode(d.number("SELECT id FROM items"))
			if err != nil || !parts.Time.Equal(c.want) {
				t.Errorf("got an id of %s, %v, want %s", parts.Time, err, c.want)
			}
			d.exec("UPDATE items SET id = 3", "INSERT INTO items SELECT 2, 'b', 'tomorrow'")
			_, err = d.tryPlan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC", Created: map[string]string{"items": p.Keys[0].Created}})
			if want := `items: 1 of 2 rows whose time cannot be read, such as id 2, "tomorrow": set `; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}
