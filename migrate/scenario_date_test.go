package migrate_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/migrate"
)

func init() {
	scenarios = append(scenarios, scenario{"06 dates without a time of day", nil, testDates})
}

// testDates has rows of days, of which one has 23 hours: a new id's time is within its row's day in the zone, and ids of one day are in the order of the old.
func testDates(t *testing.T, d *database) {
	d.made("DATE")
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	dates := []string{"2024-03-09", "2024-03-10", "2024-03-10", "2024-03-10", "2024-03-11", "2020-02-29"}
	for n, date := range dates {
		d.exec("INSERT INTO made (id, place, created_at) VALUES (" + string(rune('1'+n)) + ", " + string(rune('0'+n)) + ", '" + date + "')")
	}
	d.exec("INSERT INTO children (made_id) SELECT id FROM made")
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Tables: []string{"made"}, Zone: zone.String()})
	d.runUntil(p, "contract")
	d.verify(p)
	last := int64(0)
	for n, date := range dates {
		id := d.number("SELECT c.made_id FROM children c JOIN made m ON m.id = c.made_id WHERE m.place = " + string(rune('0'+n)))
		parts, err := layout.Decode(id)
		if err != nil {
			t.Fatal(err)
		}
		if got := parts.Time.In(zone).Format(time.DateOnly); got != date {
			t.Errorf("row %d: got the day %s, want %s", n, got, date)
		}
		if n > 0 && dates[n-1] == date && id <= last {
			t.Errorf("row %d: got %d after %d", n, id, last)
		}
		last = id
	}
	d.rollback(p)
}
