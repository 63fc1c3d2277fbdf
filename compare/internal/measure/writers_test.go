package measure_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/internal/measure"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Several connections fill a table, each row once; of a fleet each connection has a node of its own, and of packed keys a stream.
func TestWriters(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds[1:] {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, kind.make(t))
			for _, tt := range []struct {
				name    string
				writers int64 // numbers of writers that the keys have, at least
				of      func(id int64) int64
			}{
				{name: "autoincrement"},
				{name: "uuidv7"},
				{"snowkey-fleet16", 4, func(id int64) int64 { return parts(t, idgen.Snowkey, id).Node }},
				{"snowkey-packed", 2, func(id int64) int64 { return parts(t, idgen.Packed, id).Stream }},
				{"snowkey-packed-fleet16", 4, func(id int64) int64 { return parts(t, idgen.Packed, id).Node }},
			} {
				t.Run(tt.name, func(t *testing.T) {
					_, keys := process(t, d, tt.name)
					got := result.Writers{Connections: 4, Batch: 7}
					name := fmt.Sprintf("%s_%s", place.Prefix, strings.ReplaceAll(tt.name, "-", ""))
					if err := measure.Writers(t.Context(), d, keys, name, measure.Plan{Rows: 1000, Seed: 7}, &got); err != nil {
						t.Fatal(err)
					}
					for _, f := range []result.Figure{got.RowsPerSecond, got.Last, got.Table, got.Index} {
						if len(f.Samples) != 1 || f.Samples[0] < 0 {
							t.Errorf("got %+v, want a sample", f)
						}
					}
					if got.Rows != 1000 || got.RowsPerSecond.Median() <= 0 || got.Table.Median() <= 0 {
						t.Errorf("got %+v", got)
					}
					if tt.of == nil {
						return
					}
					seen := writersOf(t, d, name, tt.of)
					for again := 1; int64(len(seen)) < tt.writers && again < 50; again++ { // connections of a busy machine may not insert at once
						name := fmt.Sprintf("%s_%d", name, again)
						if err := measure.Writers(t.Context(), d, keys, name, measure.Plan{Rows: 1000, Seed: 7}, &result.Writers{Connections: 4, Batch: 7}); err != nil {
							t.Fatal(err)
						}
						seen = writersOf(t, d, name, tt.of)
					}
					if int64(len(seen)) < tt.writers {
						t.Errorf("the keys are of %v, want %d writers", seen, tt.writers)
					}
				})
			}
		})
	}
}

// writersOf returns the numbers of writers that the keys of a table have.
func writersOf(t *testing.T, d *database.Database, table string, of func(id int64) int64) map[int64]bool {
	t.Helper()
	seen := map[int64]bool{}
	err := dialect.Each(t.Context(), d.Pool(), "SELECT id FROM "+table, nil, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		seen[of(id)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func parts(t *testing.T, layout idgen.Preset, id int64) idgen.Parts {
	t.Helper()
	p, err := layout.Decode(id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A limit of time ends the INSERTs with fewer rows, and without a last tenth.
func TestWritersLimit(t *testing.T) {
	t.Parallel()
	d := open(t, kinds[1].make(t))
	_, keys := process(t, d, "snowkey")
	got := result.Writers{Connections: 2, Batch: 1}
	if err := measure.Writers(t.Context(), d, keys, place.Prefix+"_limit", measure.Plan{Rows: 100_000_000, Limit: 50 * time.Millisecond}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Rows == 0 || got.Rows >= 100_000_000 || got.Last.OK() || !strings.Contains(got.Last.Why, "50ms were over at row") || !got.RowsPerSecond.OK() {
		t.Errorf("got %+v", got)
	}
}

// Options out of range are errors, and leave no figures.
func TestWritersRefused(t *testing.T) {
	t.Parallel()
	d := open(t, kinds[1].make(t))
	_, keys := process(t, d, "snowkey")
	for _, tt := range []struct {
		name string
		to   result.Writers
		rows int
	}{
		{"no connections", result.Writers{Batch: 1}, 100},
		{"no rows an INSERT", result.Writers{Connections: 1}, 100},
		{"few rows", result.Writers{Connections: 1, Batch: 1}, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := measure.Writers(t.Context(), d, keys, place.Prefix+"_refused", measure.Plan{Rows: tt.rows}, &tt.to)
			if !errors.Is(err, measure.ErrOption) || len(tt.to.RowsPerSecond.Samples) > 0 {
				t.Errorf("got %v and %+v, want %v", err, tt.to, measure.ErrOption)
			}
		})
	}
}
