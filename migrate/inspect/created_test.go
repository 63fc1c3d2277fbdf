package inspect_test

import (
	"fmt"
	"math"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// The rate is that of the last week in which rows came, or month, or year, or of all.
func TestRate(t *testing.T) {
	const day = 86400
	cases := []struct {
		name string
		ages map[int]int // of keys, in seconds; -1 is NULL
		want float64     // a day
	}{
		{"no time at all", map[int]int{1: -1, 9: -1}, 0},
		{"one row", map[int]int{1: day}, 0},
		{"all a moment ago", map[int]int{1: 20, 9: 10}, 0},
		{"two days old", map[int]int{1: 2 * day, 9: 0}, 4.5},
		{"a week", map[int]int{1: 70 * day, 101: 6 * day, 200: 0}, 100 / 7.0},
		{"a month", map[int]int{1: 400 * day, 101: 20 * day, 130: 19 * day}, 1},
		{"a year", map[int]int{1: 4000 * day, 636: 300 * day, 1000: 200 * day}, 1},
		{"long ago", map[int]int{1: 2000 * day, 1000: 1000 * day}, 0.5},
		{"in the future", map[int]int{1: 20 * day, 95: 5 * day, 101: -9 * day}, 1},
		{"unknown ones are old", map[int]int{1: -1, 95: 5 * day, 101: 0}, 1},
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		for n, tt := range cases {
			run(t, db, fmt.Sprintf("CREATE TABLE a%d (id KEY!, created_at TIME!)", n))
			for key, age := range tt.ages {
				at := fmt.Sprintf("AGO(%d)", age)
				if age == -1 {
					at = "NULL"
				}
				run(t, db, fmt.Sprintf("INSERT INTO a%d (id, created_at) VALUES (%d, %s)", n, key, at))
			}
		}
		r := mustInspect(t, db, inspect.Options{})
		for n, tt := range cases {
			k := tableOf(t, r, fmt.Sprintf("a%d", n)).Key
			if math.Abs(k.PerDay-tt.want) > 0.02*tt.want {
				t.Errorf("%s: got %f a day, want %f", tt.name, k.PerDay, tt.want)
			}
			if (k.DaysLeft > 0) != (tt.want > 0) {
				t.Errorf("%s: got %f days left", tt.name, k.DaysLeft)
			}
		}
	})
}

func TestCreated(t *testing.T) {
	for _, tt := range []struct {
		kind, columns, values string
		want                  *inspect.Created
	}{
		{"sqlite", "made datetime", "now", nil},
		{"sqlite", "inserted_at datetime, created_at datetime NOT NULL", "1, '2026-01-02 03:04:05+02:00'", &inspect.Created{Column: "created_at", Type: "datetime", Zoned: true}},
		{"sqlite", `"createdAt" timestamp`, "'2026-01-02 03:04:05'", &inspect.Created{Column: "createdAt", Type: "timestamp", Nulls: true}},
		{"sqlite", "created_at datetime", "1700000000", &inspect.Created{Column: "created_at", Type: "datetime, unix seconds", Zoned: true, Nulls: true}},
		{"sqlite", "created_at text", "'2026-01-02 03:04:05'", &inspect.Created{Column: "created_at", Type: "TEXT", Nulls: true}},
		{"sqlite", "created_at TEXT NOT NULL", "'2026-01-02T03:04:05.678Z'", &inspect.Created{Column: "created_at", Type: "TEXT", Zoned: true}},
		{"sqlite", "created_at TEXT", "'1700000000123'", &inspect.Created{Column: "created_at", Type: "TEXT, unix milliseconds", Zoned: true, Nulls: true}},
		{"sqlite", "created", "'2026-01-02'", &inspect.Created{Column: "created", Type: "", Nulls: true}},
		{"sqlite", "created TEXT", "'ada'", nil},
		{"sqlite", "created TEXT, date_added TIMESTAMP", "'ada', '2026-01-02 03:04:05'", &inspect.Created{Column: "date_added", Type: "TIMESTAMP", Nulls: true}},
		{"sqlite", "created INT", "1", nil}, // somebody's number
		{"sqlite", "created INT", "1700000000000000000", &inspect.Created{Column: "created", Type: "INT, unix nanoseconds", Zoned: true, Nulls: true}},
		{"postgres", "created_at timestamptz NOT NULL", "now()", &inspect.Created{Column: "created_at", Type: "timestamp with time zone", Zoned: true}},
		{"postgres", "created_at timestamp", "'infinity'", &inspect.Created{Column: "created_at", Type: "timestamp without time zone", Nulls: true}},
		{"mysql", "creation_time timestamp NOT NULL", "now()", &inspect.Created{Column: "creation_time", Type: "timestamp", Zoned: true}},
		{"mysql", "created_at datetime(3)", "now()", &inspect.Created{Column: "created_at", Type: "datetime(3)", Nulls: true}},
	} {
		t.Run(tt.kind+" "+tt.columns, func(t *testing.T) {
			t.Parallel()
			db := openOn(t, tt.kind)
			run(t, db, "CREATE TABLE a (id KEY!, "+tt.columns+")")
			if tt.values != "now" {
				run(t, db, "INSERT INTO a VALUES (1, "+tt.values+")")
			}
			got := tableOf(t, mustInspect(t, db, inspect.Options{}), "a").Created
			if tt.want != nil {
				tt.want.Guessed = true // by its name: there is no model
			}
			if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
