package mapping_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
)

func TestReview(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.plan.Layout = wide
		f.create(t, "datetime", "datetime", "timestamp(0)")
		rows := map[int64]time.Time{}
		for id := range int64(100) {
			rows[id] = noon.Add(time.Duration(id*7%10) * time.Second)
		}
		f.times(t, rows)
		if n, err := f.fill(t, math.MinInt64, 40); n != 100 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		review := func() mapping.Audit {
			t.Helper()
			a, err := mapping.AuditMap(t.Context(), f.db, f.plan, f.key)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		if got, want := review(), (mapping.Audit{Pairs: 100, Old: 100}); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		m := f.oracle(t, rows)
		for id := range int64(60) { // as a rekey does
			f.exec(t, fmt.Sprintf(`UPDATE "Ord""ers" SET "i""d" = %d WHERE "i""d" = %d`, m[id], id))
		}
		if got, want := review(), (mapping.Audit{Pairs: 100, Old: 40, New: 60}); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		// 5 is deleted; 10 comes again; 20 is a second later; 30, with the time of 0, and 0 change places; 99 has another node.
		f.exec(t, fmt.Sprintf(`DELETE FROM "Ord""ers" WHERE "i""d" = %d`, m[5]))
		f.times(t, map[int64]time.Time{10: rows[10]})
		f.exec(t, fmt.Sprintf(`UPDATE "Ord""ers" SET at = '2024-05-06T12:00:58' WHERE "i""d" = %d`, m[20]),
			"UPDATE map SET new_id = -1 WHERE old_id = 0", fmt.Sprintf("UPDATE map SET new_id = %d WHERE old_id = 30", m[0]),
			fmt.Sprintf("UPDATE map SET new_id = %d WHERE old_id = 0", m[30]),
			fmt.Sprintf("UPDATE map SET new_id = %d WHERE old_id = 99", m[99]+1<<12))
		got := review()
		if got.Pairs != 100 || got.Gone != 1 || fmt.Sprint(got.Lost) != fmt.Sprintf("[{5 %d}]", m[5]) || fmt.Sprint(got.Wrong) != fmt.Sprintf("[{20 %d}]", m[20]) || got.Twice != 1 || got.FirstTwice != m[10] || got.Mistimed != 1 || got.FirstMistimed != m[20] ||
			got.Foreign != 1 || got.FirstForeign != m[99]+1<<12 || got.Inverted < 2 {
			t.Errorf("got %+v", got)
		}
	})
}
