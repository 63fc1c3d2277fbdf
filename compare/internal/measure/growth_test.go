package measure_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/internal/measure"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var kinds = []struct {
	name string
	make func(testing.TB) dbtest.Database
}{{"sqlite", dbtest.SQLite}, {"mysql", dbtest.MySQL}, {"postgres", dbtest.Postgres}}

func open(t *testing.T, made dbtest.Database) *database.Database {
	t.Helper()
	if made.Kind == "sqlite" {
		made.DSN += "?_journal_mode=WAL&_synchronous=NORMAL" // no commit waits for the disk
	}
	d, err := database.Open(t.Context(), made.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// process opens the keys of one process.
func process(t *testing.T, d *database.Database, name string) (strategy.Info, strategy.Keys) {
	t.Helper()
	selected, err := strategy.Select(name)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := selected[0].Open(t.Context(), strategy.Environment{DB: d.Pool(), Kind: d.Kind(), Prefix: place.Prefix, Processes: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := keys.Close(); err != nil {
			t.Error(err)
		}
	})
	return selected[0].Info(), keys
}

// TestGrowth lets tables grow on each kind of database, and holds the figures against each other. Servers take seconds to settle before
// each, so that there is one of each.
func TestGrowth(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, kind.make(t))
			names, rounds := []string{"autoincrement", "snowkey", "uuidv4", "uuidv7-text"}, 2
			switch kind.name {
			case "mysql":
				names, rounds = []string{"uuidv4"}, 1
			case "postgres":
				names, rounds = []string{"snowkey"}, 1
			}
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					info, keys := process(t, d, name)
					var got measure.Figures
					var rows []int
					plan := measure.Plan{Rows: 500, Batch: 9, Seed: 7, Progress: func(n int) { rows = append(rows, n) }}
					for round := range rounds {
						if err := measure.Growth(t.Context(), d, info, keys, fmt.Sprintf("%s_%s_%d", place.Prefix, strings.ReplaceAll(name, "-", ""), round), plan, &got); err != nil {
							t.Fatal(err)
						}
					}
					grown(t, got.Growth, rounds)
					if len(rows) != 60*rounds || rows[0] != 9 || rows[5] != 50 || rows[60*rounds-1] != 500 {
						t.Errorf("told %v", rows)
					}
					s, r := got.Storage, got.Read
					for i, f := range []result.Figure{s.Table, s.Index, r.Ordered, r.Recent} {
						if len(f.Samples) != rounds || slices.Min(f.Samples) <= 0 {
							t.Errorf("figure %d: got %+v, want samples above 0", i, f)
						}
					}
					for i, f := range []result.Figure{s.Splits, s.Fill, s.Log, s.Pages, s.CacheUsed, r.Buffers} {
						if len(f.Samples) != rounds && f.Why == "" {
							t.Errorf("figure %d: got %+v, want samples or a reason", i, f)
						}
					}
					described(t, name, rounds, got.Key)
				})
			}
		})
	}
}

// grown checks what tables of 500 rows have grown by: ten tenths of six INSERTs, five of nine rows and one of five.
func grown(t *testing.T, got result.Growth, rounds int) {
	t.Helper()
	if len(got.Tenths) != 10 || len(got.Batches) != rounds || got.Rows != 500 || got.Why != "" {
		t.Fatalf("got %d tenths, %d rounds, %d rows, %q", len(got.Tenths), len(got.Batches), got.Rows, got.Why)
	}
	for round, batches := range got.Batches {
		if len(batches) != 60 {
			t.Fatalf("round %d: %d INSERTs, want 60", round, len(batches))
		}
		for i, tenth := range got.Tenths {
			part := batches[6*i : 6*i+6]
			if p99 := tenth.P99.Samples[round]; p99 != float64(slices.Max(part)) {
				t.Errorf("round %d, tenth %d: p99 %v of %v", round, i, p99, part)
			}
			// The durations are cut to microseconds.
			micros := float64(sum(part))
			if took := 50e6 / tenth.RowsPerSecond.Samples[round]; took < micros || took > micros+6 {
				t.Errorf("round %d, tenth %d: %v rows a second are %v µs, the INSERTs took %v", round, i, tenth.RowsPerSecond.Samples[round], took, micros)
			}
			if tenth.P99.Note != "the slowest of 6 INSERTs" || tenth.P99.Why != "" {
				t.Errorf("tenth %d: got the note %q", i, tenth.P99.Note)
			}
		}
	}
}

// described checks what is said of keys.
func described(t *testing.T, name string, rounds int, key result.Key) {
	t.Helper()
	if key.Column == "" || key.Bytes < 1 || len(key.Sample) != 3 || key.Sample[0] == key.Sample[1] {
		t.Errorf("got %+v", key)
	}
	want := map[string]struct {
		text           int
		safe, numeric  bool
		least, greater float64
	}{
		"autoincrement": {3, true, true, 0, 0},
		"snowkey":       {18, false, true, 0, 1},
		"uuidv4":        {36, true, false, 122, 122},
		"uuidv7-text":   {36, true, false, 48, 50},
	}[name]
	if key.Text != want.text || key.JSSafe != want.safe || key.Numeric != want.numeric || len(key.Gap.Samples) != rounds {
		t.Errorf("got %+v, want %+v", key, want)
	}
	for _, bits := range key.Gap.Samples {
		if bits < want.least || bits > want.greater {
			t.Errorf("a gap of %v bits, want %v to %v", bits, want.least, want.greater)
		}
	}
	if last, ok := strings.CutPrefix(key.Sample[0], "5"); name == "autoincrement" && (!ok || len(last) != 2) {
		t.Errorf("the sample %v is not of the full table", key.Sample)
	}
}

// TestReport has INSERTs whose durations are known.
func TestReport(t *testing.T) {
	plan := measure.Plan{Rows: 10_000, Batch: 5, Limit: time.Minute}
	inserts := make([]time.Duration, 2000) // 200 a tenth
	for i := range inserts {
		inserts[i] = time.Duration(i/200+1) * time.Millisecond
		if i%200 < 3 {
			inserts[i] = time.Duration(i/200+10+i%200) * time.Second // three are slow: the 99th percentile of 200 is the third greatest
		}
	}
	var got result.Growth
	measure.Report(&got, plan, inserts)
	measure.Report(&got, plan, inserts[:700]) // three and a half tenths
	if got.Rows != 3500 || len(got.Batches) != 2 || len(got.Batches[1]) != 700 {
		t.Errorf("got %d rows and %d INSERTs in the second round", got.Rows, len(got.Batches[1]))
	}
	for i, tenth := range got.Tenths {
		n := float64(i + 1)
		samples, why := 2, ""
		if i >= 3 {
			samples, why = 1, "1m0s were over at row 3500 of 10000"
		}
		rate, p99 := 1000/(197*n/1000+3*(n+10)), (n+9)*1e6
		for _, f := range []struct {
			figure result.Figure
			want   float64
		}{{tenth.RowsPerSecond, rate}, {tenth.P99, p99}} {
			if len(f.figure.Samples) != samples || math.Abs(f.figure.Samples[0]-f.want) > 1e-6*f.want || f.figure.Why != why || f.figure.Note != "" {
				t.Errorf("tenth %d: got %+v, want %d samples of %v, %q", i+1, f.figure, samples, f.want, why)
			}
		}
	}
}

func TestGrowthLimit(t *testing.T) {
	d := open(t, dbtest.SQLite(t))
	info, keys := process(t, d, "uuidv4")
	var got measure.Figures
	plan := measure.Plan{Rows: 1000, Batch: 70, Limit: 1}
	if err := measure.Growth(t.Context(), d, info, keys, place.Prefix+"_limit", plan, &got); err != nil {
		t.Fatal(err)
	}
	if got.Growth.Rows != 70 || len(got.Growth.Tenths) != 10 || !got.Storage.Table.OK() || !got.Read.Recent.OK() {
		t.Errorf("got %+v, want 70 rows, weighed and read", got)
	}
	for i, tenth := range got.Growth.Tenths {
		if why := "1ns were over at row 70 of 1000"; tenth.RowsPerSecond.OK() || tenth.P99.OK() || tenth.P99.Why != why || tenth.RowsPerSecond.Why != why {
			t.Errorf("tenth %d: got %+v, want the reason", i, tenth)
		}
	}
}

// tampered makes tables that are changed.
type tampered struct {
	strategy.Keys
	change func(strategy.Table) strategy.Table
}

func (k tampered) Table(ctx context.Context, db *gorm.DB, name string) (strategy.Table, error) {
	table, err := k.Keys.Table(ctx, db, name)
	return k.change(table), err
}

// losing says that it inserts, but leaves one row out of every INSERT.
type losing struct{ strategy.Table }

func (l losing) Insert(ctx context.Context, orders []strategy.Order) ([]strategy.Key, error) {
	keys, err := l.Table.Insert(ctx, orders[1:])
	return append([]strategy.Key{"lost"}, keys...), err
}

// silent inserts and keeps a key to itself.
type silent struct{ strategy.Table }

func (s silent) Insert(ctx context.Context, orders []strategy.Order) ([]strategy.Key, error) {
	keys, err := s.Table.Insert(ctx, orders)
	return keys[:len(keys)-1], err
}

// caching finds every row in its memory, which is of the first.
type caching struct {
	strategy.Table
	found *strategy.Order
}

func (c caching) Find(ctx context.Context, key strategy.Key) (strategy.Key, strategy.Order, error) {
	if c.found.CreatedAt.IsZero() {
		var err error
		if _, *c.found, err = c.Table.Find(ctx, key); err != nil {
			return "", strategy.Order{}, err
		}
	}
	return key, *c.found, nil
}

// other finds the row of another key.
type other struct{ strategy.Table }

func (o other) Find(ctx context.Context, key strategy.Key) (strategy.Key, strategy.Order, error) {
	_, order, err := o.Table.Find(ctx, key)
	return "other", order, err
}

// short reads fewer rows in order than there are, or one of them all the time.
type short struct {
	strategy.Table
	repeats bool
}

func (s short) Ordered(ctx context.Context, n int, see func(strategy.Key, strategy.Order) error) error {
	if !s.repeats {
		return s.Table.Ordered(ctx, n-1, see)
	}
	for range n {
		if err := see("again", strategy.Order{}); err != nil {
			return err
		}
	}
	return nil
}

// TestGrowthVerifies plants tables that are fast because they do not do what they should: none gets a figure.
func TestGrowthVerifies(t *testing.T) {
	t.Parallel()
	d := open(t, dbtest.SQLite(t))
	info, keys := process(t, d, "uuidv4")
	for i, test := range []struct {
		name   string
		change func(strategy.Table) strategy.Table
	}{
		{"loses rows", func(t strategy.Table) strategy.Table { return losing{t} }},
		{"keeps keys to itself", func(t strategy.Table) strategy.Table { return silent{t} }},
		{"reads from a memory of its own", func(t strategy.Table) strategy.Table { return caching{t, new(strategy.Order)} }},
		{"reads another row", func(t strategy.Table) strategy.Table { return other{t} }},
		{"reads fewer rows", func(t strategy.Table) strategy.Table { return short{Table: t} }},
		{"reads one row again and again", func(t strategy.Table) strategy.Table { return short{t, true} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got measure.Figures
			err := measure.Growth(t.Context(), d, info, tampered{keys, test.change}, fmt.Sprintf("%s_%d", place.Prefix, i), measure.Plan{Rows: 100, Batch: 10}, &got)
			if !errors.Is(err, measure.ErrVerify) || !reflect.DeepEqual(got, measure.Figures{}) {
				t.Errorf("got %+v, %v, want no figure and ErrVerify", got, err)
			}
		})
	}
}

// lateLosing loses rows of the INSERTs after the growth only.
type lateLosing struct {
	strategy.Table
	rows *int
}

func (l lateLosing) Insert(ctx context.Context, orders []strategy.Order) ([]strategy.Key, error) {
	if *l.rows += len(orders); *l.rows > 100 {
		return losing{l.Table}.Insert(ctx, orders)
	}
	return l.Table.Insert(ctx, orders)
}

func TestGrowthVerifiesLog(t *testing.T) {
	d := open(t, dbtest.SQLite(t))
	info, keys := process(t, d, "uuidv4")
	var got measure.Figures
	change := func(t strategy.Table) strategy.Table { return lateLosing{t, new(int)} }
	err := measure.Growth(t.Context(), d, info, tampered{keys, change}, place.Prefix+"_log", measure.Plan{Rows: 100, Batch: 10}, &got)
	if !errors.Is(err, measure.ErrVerify) || !reflect.DeepEqual(got, measure.Figures{}) {
		t.Errorf("got %+v, %v, want no figure and ErrVerify", got, err)
	}
}

// TestGrowthCanceled ends the context amid the growth. Nothing is kept, and the database can be used.
func TestGrowthCanceled(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, kind.make(t))
			info, keys := process(t, d, "uuidv7")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got measure.Figures
			plan := measure.Plan{Rows: 1000, Batch: 10, Progress: func(rows int) {
				if rows == 200 {
					cancel()
				} else if rows > 200 {
					t.Errorf("there are %d rows after the end", rows)
				}
			}}
			err := measure.Growth(ctx, d, info, keys, place.Prefix+"_cancel", plan, &got)
			if !errors.Is(err, context.Canceled) || !reflect.DeepEqual(got, measure.Figures{}) {
				t.Errorf("got %+v, %v, want no figure and the context's error", got, err)
			}
			db, err := d.Session(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Table(place.Prefix + "_cancel").Where("total < 0").Delete(&strategy.Order{}).Error; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestGrowthOptions(t *testing.T) {
	for _, plan := range []measure.Plan{{Rows: 9, Batch: 1}, {Rows: 10}, {Rows: 10, Batch: 1, Limit: -1}} {
		var got measure.Figures
		if err := measure.Growth(t.Context(), nil, strategy.Info{}, nil, "t", plan, &got); !errors.Is(err, measure.ErrOption) {
			t.Errorf("%+v: got %v, want ErrOption", plan, err)
		}
	}
}

// noting notes the keys that it gave and those that it was asked for.
type noting struct {
	strategy.Table
	given, found *[]strategy.Key
}

func (n noting) Insert(ctx context.Context, orders []strategy.Order) ([]strategy.Key, error) {
	keys, err := n.Table.Insert(ctx, orders)
	*n.given = append(*n.given, keys...)
	return keys, err
}

func (n noting) Find(ctx context.Context, key strategy.Key) (strategy.Key, strategy.Order, error) {
	*n.found = append(*n.found, key)
	return n.Table.Find(ctx, key)
}

// TestGrowthRecent checks that the rows read one by one are the last thousand, each once and not in their order.
func TestGrowthRecent(t *testing.T) {
	t.Parallel()
	d := open(t, dbtest.SQLite(t))
	info, keys := process(t, d, "uuidv7")
	var got measure.Figures
	var given, found []strategy.Key
	change := func(t strategy.Table) strategy.Table { return noting{t, &given, &found} }
	if err := measure.Growth(t.Context(), d, info, tampered{keys, change}, place.Prefix+"_recent", measure.Plan{Rows: 2500, Batch: 130}, &got); err != nil {
		t.Fatal(err)
	}
	last := given[1500:2500]
	if slices.Equal(found, last) {
		t.Error("the rows were read in the order in which they were inserted")
	}
	slices.Sort(found)
	if last = slices.Sorted(slices.Values(last)); !slices.Equal(found, last) {
		t.Errorf("%d rows were read, want the 1,000 inserted last", len(found))
	}
}
