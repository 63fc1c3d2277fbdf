package mapping_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

func TestText(t *testing.T) {
	const berlin, none = "Europe/Berlin", ""
	for _, of := range []struct{ text, zone, want string }{
		{"2024-07-06 12:00:00", berlin, "2024-07-06T10:00:00Z"},
		{"2024-07-06 12:00:00", none, "unreadable"},
		{"2024-07-06", berlin, "2024-07-05T22:00:00Z"},
		{"2024-07-06 12:00", "UTC", "2024-07-06T12:00:00Z"},
		{"2024-07-06T12:00:00", "Asia/Tokyo", "2024-07-06T03:00:00Z"},
		{"2024-07-06 12:00:00.5", "UTC", "2024-07-06T12:00:00.5Z"},
		{"2024-07-06 12:00:00,123456789123", "UTC", "2024-07-06T12:00:00.123456789Z"},
		{"2024-07-06 12:00:00.", "UTC", "unreadable"},
		{"2024-07-06 12:00:00Z", none, "2024-07-06T12:00:00Z"},
		{"2024-07-06 12:00:00 UTC", none, "2024-07-06T12:00:00Z"},
		{"2024-07-06 12:00:00+09:00", none, "2024-07-06T03:00:00Z"},
		{"2024-07-06 12:00:00.123-0330", none, "2024-07-06T15:30:00.123Z"},
		{"2024-07-06 12:00:00-03", none, "2024-07-06T15:00:00Z"},
		{"2024-07-06 12:00:00+00:19:32", none, "2024-07-06T11:40:28Z"},
		{"2024-07-06 12:00:00.25 +0200 CEST", none, "2024-07-06T10:00:00.25Z"},
		{"2024-07-06 12:00:00.25 +0200 CEST m=+0.000012", none, "2024-07-06T10:00:00.25Z"},
		{"2024-07-06 12:00:00 CEST", none, "unreadable"},
		{"2024-07-06 12:00:00+25:00", none, "unreadable"},
		{"2024-07-06 12:00:00+02:60", none, "unreadable"},
		{"2024-07-06 12:00:00+02:00 !", none, "unreadable"},
		{"2024-07-06 24:00:00", "UTC", "unreadable"},
		{"2024-07-06 12:60:00", "UTC", "unreadable"},
		{"2024-07-06 12:00:60", "UTC", "unreadable"},
		{"2024-02-29 00:00:00", "UTC", "2024-02-29T00:00:00Z"},
		{"2023-02-29 00:00:00", "UTC", "unreadable"},
		{"2024-13-01", "UTC", "unreadable"},
		{"2024-7-6", "UTC", "unreadable"},
		{"", "UTC", "unreadable"},
		{"x", "UTC", "unreadable"},
		{"0000-00-00 00:00:00", "UTC", "zero"},
		{"0000-00-00", none, "zero"},
		{"2024-00-06 00:00:00", "UTC", "zero"},
		{"0001-01-01 00:00:00+00:00", none, "zero"},
		{"0001-01-01 00:00:00", none, "zero"},
		{"0000-12-31 19:00:00-05:00", none, "zero"},
		{"0001-01-02 12:00:00", "UTC", "early"},
		{"2019-12-31 23:59:59.999999999Z", none, "early"},
		{"2020-01-01 00:00:00Z", none, "2020-01-01T00:00:00Z"},
		{"2030-01-01 00:01:01Z", none, "future"},
		{"2030-01-01 00:00:59Z", none, "2030-01-01T00:00:59Z"}, // what clocks may be apart
		{"9999-12-31 23:59:59", "UTC", "future"},
		{"1720267200", none, "2024-07-06T12:00:00Z"},
		{"1720267200001", none, "2024-07-06T12:00:00.001Z"},
		{"1720267200000001", none, "2024-07-06T12:00:00.000001Z"},
		{"1720267200000000001", none, "2024-07-06T12:00:00.000000001Z"},
		{"0", none, "zero"},
		{"-62135596800", none, "zero"},
		{"-1", none, "early"},
		{"-9223372036854775808", none, "unreadable"},
		{"9223372036854775807", none, "future"},
		{"1720267200.5", none, "unreadable"},
		// Clocks were set back at 03:00 to 02:00: of two the first.
		{"2024-10-27 01:59:59", berlin, "2024-10-26T23:59:59Z"},
		{"2024-10-27 02:00:00", berlin, "2024-10-27T00:00:00Z"},
		{"2024-10-27 02:59:59.999", berlin, "2024-10-27T00:59:59.999Z"},
		{"2024-10-27 03:00:00", berlin, "2024-10-27T02:00:00Z"},
		// And forward at 02:00 to 03:00: what is in between never was.
		{"2024-03-31 01:59:59", berlin, "2024-03-31T00:59:59Z"},
		{"2024-03-31 02:00:00", berlin, "unreadable"},
		{"2024-03-31 02:59:59", berlin, "unreadable"},
		{"2024-03-31 03:00:00", berlin, "2024-03-31T01:00:00Z"},
		{"2024-04-07 01:45:00", "Australia/Lord_Howe", "2024-04-06T14:45:00Z"}, // by half an hour
		{"2024-04-07 02:00:00", "Australia/Lord_Howe", "2024-04-06T15:30:00Z"},
	} {
		at, what, err := mapping.Read(&plan.Plan{Layout: small}, plan.Key{Zone: of.zone}, of.text)
		got := what
		if what == "good" {
			got = at.Format(time.RFC3339Nano)
		}
		if got != of.want || err != nil {
			t.Errorf("%q in %q: got %s, %v, want %s", of.text, of.zone, got, err, of.want)
		}
	}
}

// TestLocal compares every quarter of an hour of two years, each read by a calendar that has just read another one, with what package time says of them.
func TestLocal(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		first := map[string]string{}
		var texts []string
		const form = "2006-01-02 15:04:05"
		for at := time.Date(2023, 12, 30, 0, 0, 0, 0, time.UTC); at.Year() < 2026; at = at.Add(15 * time.Minute) {
			local := at.In(zone).Format(form)
			if _, seen := first[local]; !seen {
				first[local] = at.Format(form)
			}
			texts = append(texts, at.Format(form))
		}
		got := mapping.ReadAll(&plan.Plan{Layout: small}, plan.Key{Zone: name}, texts)
		for i, text := range texts[96*2 : len(texts)-96*2] {
			if want := first[text]; got[i+96*2] != want {
				t.Fatalf("%s in %s: got %q, want %q", text, name, got[i+96*2], want)
			}
		}
	}
}
