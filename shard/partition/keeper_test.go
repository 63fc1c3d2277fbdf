package partition_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/shard/partition"
)

var noon = at("2026-03-10T12:00:00Z")

func TestMakesAhead(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		e.create(t, orders())
		k := e.keeper(t, orders(), &now)
		run(t, k)
		if got := e.parts(t); got != "p20260310 p20260311 p20260312 pmax" {
			t.Errorf("got the partitions %s, want today's and two ahead", got)
		}
		plan, err := k.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if encoded, err := json.Marshal(plan); err != nil || strings.Contains(string(encoded), "null") {
			t.Errorf("got the JSON %s, error %v, want one without null", encoded, err)
		}
		e.insert(t, now, 0)
		now = now.Add(48 * time.Hour)
		e.insert(t, now, 0)
		run(t, k)
		if got := e.parts(t); got != "p20260310 p20260311 p20260312 p20260313 p20260314 pmax" {
			t.Errorf("got the partitions %s two days later, want two more", got)
		}
		if got := run(t, k); got != "" {
			t.Errorf("got the steps %s in a second run, want none", got)
		}
		if got := e.unplaced(t); got != 0 {
			t.Errorf("got %d rows in no partition of their own", got)
		}
	})
}

func TestMovesRowsFromTheDefaultPartition(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		e.create(t, orders())
		k := e.keeper(t, orders(), &now)
		run(t, k)
		now = now.Add(5 * 24 * time.Hour) // no run for five days
		for n := range int64(20) {
			e.insert(t, now, n)
			e.insert(t, now.Add(-24*time.Hour), n)
		}
		if got := e.unplaced(t); got != 40 {
			t.Fatalf("got %d rows in no partition of their own, want 40", got)
		}
		plan, err := k.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Problems) != 1 || plan.Problems[0].Kind != "behind" {
			t.Errorf("got the problems %+v, want that the keeper is behind", plan.Problems)
		}
		run(t, k)
		if got, all := e.unplaced(t), e.count(t, "SELECT COUNT(*) FROM orders"); got != 0 || all != 40 {
			t.Errorf("got %d rows in no partition of their own and %d in all, want 0 and 40", got, all)
		}
		if got := e.parts(t); got != "p20260310 p20260311 p20260312 p20260313 p20260314 p20260315 p20260316 p20260317 pmax" {
			t.Errorf("got the partitions %s", got)
		}
	})
}

func TestDoesNotMoveTooManyRows(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		now := noon
		settings := orders()
		settings.Move = 5
		e.create(t, settings)
		for n := range int64(6) {
			e.insert(t, now, n)
		}
		runFails(t, e.keeper(t, settings, &now), partition.ErrAttention, "unplaced: more than 5 ")
		if got := e.unplaced(t); got != 6 {
			t.Errorf("got %d rows in no partition of their own, want the 6", got)
		}
		settings.Move = 6
		run(t, e.keeper(t, settings, &now))
		if got := e.unplaced(t); got != 0 {
			t.Errorf("got %d rows in no partition of their own with a greater limit", got)
		}
	})
}

// retained makes ten days of partitions with a row each, and two more. It leaves the clock on the tenth day.
func retained(t *testing.T, e *engine, now *time.Time) {
	t.Helper()
	settings := orders()
	settings.Ahead = 11
	e.create(t, settings)
	run(t, e.keeper(t, settings, now))
	for day := range 10 {
		e.insert(t, now.Add(time.Duration(day)*24*time.Hour), 0)
	}
	*now = now.Add(9 * 24 * time.Hour)
}

func TestOldPartitions(t *testing.T) {
	for old, want := range map[partition.Old]struct{ tables, archived string }{
		partition.Drop:    {"", ""},
		partition.Detach:  {"orders_p20260310 orders_p20260311 orders_p20260312", ""},
		partition.Archive: {"", "orders_p20260310 1 orders_p20260311 1 orders_p20260312 1 "},
	} {
		t.Run(old.String(), func(t *testing.T) {
			onEach(t, func(t *testing.T, e *engine) {
				now, archived := noon, ""
				settings := orders()
				settings.Keep, settings.Old = 6, old
				if old == partition.Archive {
					settings.Archive = e.archive(t, &archived)
				}
				retained(t, e, &now)
				k := e.keeper(t, settings, &now)
				steps := run(t, k)
				if got := e.parts(t); got != "p20260313 p20260314 p20260315 p20260316 p20260317 p20260318 p20260319 p20260320 p20260321 pmax" {
					t.Errorf("got the partitions %s after %s, want six before today's", got, steps)
				}
				if got := e.tables(t); got != want.tables {
					t.Errorf("got the tables %q, want %q", got, want.tables)
				}
				if archived != want.archived {
					t.Errorf("got archived %q, want %q", archived, want.archived)
				}
				if got := run(t, k); got != "" {
					t.Errorf("got the steps %s in a second run, want none", got)
				}
				if got := e.count(t, "SELECT COUNT(*) FROM orders"); got != 7 {
					t.Errorf("got %d rows left, want 7", got)
				}
			})
		})
	}
}
