package partition_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/shard/partition"
)

func TestPeriodsOfCalendars(t *testing.T) {
	for _, tt := range []struct {
		name  string
		every partition.Every
		zone  string
		in    string // an instant
		start string
		hours int // that the period has
	}{
		{"a day", partition.Day, "UTC", "2026-03-10T12:00:00Z", "2026-03-10T00:00:00Z", 24},
		{"the first instant", partition.Day, "UTC", "2026-03-10T00:00:00Z", "2026-03-10T00:00:00Z", 24},
		{"the last instant", partition.Day, "UTC", "2026-03-10T23:59:59Z", "2026-03-10T00:00:00Z", 24},
		{"a day of 23 hours", partition.Day, "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", 23},
		{"a day of 25 hours", partition.Day, "Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", 25},
		{"the second time of two", partition.Day, "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-24T22:00:00Z", 25},
		{"no midnight", partition.Day, "America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", 23},
		{"midnight twice", partition.Day, "America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", 25},
		{"the second midnight", partition.Day, "America/Havana", "2026-11-01T05:10:00Z", "2026-11-01T04:00:00Z", 25},
		{"23 o'clock twice", partition.Day, "America/Sao_Paulo", "2018-02-18T02:30:00Z", "2018-02-17T02:00:00Z", 25},
		{"half an hour", partition.Day, "Australia/Lord_Howe", "2026-04-05T03:00:00Z", "2026-04-04T13:00:00Z", 24}, // and a half
		{"a day that was left out", partition.Day, "Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-29T10:00:00Z", 24},
		{"after it", partition.Day, "Pacific/Apia", "2011-12-30T11:00:00Z", "2011-12-30T10:00:00Z", 24},
		{"a week from Sunday's end", partition.Week, "UTC", "2026-03-15T23:59:59Z", "2026-03-09T00:00:00Z", 168},
		{"a week from Monday", partition.Week, "UTC", "2026-03-16T00:00:00Z", "2026-03-16T00:00:00Z", 168},
		{"a week of a month's end", partition.Week, "UTC", "2026-04-01T00:00:00Z", "2026-03-30T00:00:00Z", 168},
		{"a short week", partition.Week, "Europe/Berlin", "2026-03-27T00:00:00Z", "2026-03-22T23:00:00Z", 167},
		{"a month", partition.Month, "UTC", "2026-02-28T12:00:00Z", "2026-02-01T00:00:00Z", 28 * 24},
		{"a leap year's", partition.Month, "UTC", "2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", 29 * 24},
		{"a year's last", partition.Month, "Asia/Tokyo", "2026-12-31T14:59:59Z", "2026-11-30T15:00:00Z", 31 * 24},
		{"a month with a change", partition.Month, "Europe/Berlin", "2026-03-10T12:00:00Z", "2026-02-28T23:00:00Z", 31*24 - 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, err := time.LoadLocation(tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			start, next := tt.every.Start(at(tt.in), in), tt.every.Next(at(tt.in), in)
			if !start.Equal(at(tt.start)) {
				t.Errorf("got the start %v, want %s", start, tt.start)
			}
			if got := int(next.Sub(start).Hours()); got != tt.hours {
				t.Errorf("got %v hours, want %d", next.Sub(start).Hours(), tt.hours)
			}
		})
	}
}

// Periods meet, without a gap and without an instant in two of them, in zones that change their clocks in odd ways.
func TestPeriodsMeet(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/Havana", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "Asia/Gaza", "America/Asuncion"} {
		in, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, every := range []partition.Every{partition.Day, partition.Week, partition.Month} {
			for start := every.Start(at("2005-06-01T00:00:00Z"), in); start.Year() < 2030; {
				next := every.Next(start, in)
				if !next.After(start) || !every.Start(next, in).Equal(next) || !every.Start(next.Add(-1), in).Equal(start) || !every.Start(start.Add(next.Sub(start)/2), in).Equal(start) {
					t.Fatalf("%s in %s: the period from %v to %v does not hold its instants", every, zone, start, next)
				}
				start = next
			}
		}
	}
}
