package partition_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard/partition"
)

// TestYear is a year in which rows come every fifth day, a run ends at a random statement every second time, and the clock of the database or of the keeper steps
// forward or back by up to twenty days, and stays so for some days. The keys follow the database's clock. On each day all rows within the retention are there. Partitions are of weeks; with SNOWKEY_TORTURE they are of days, and all days have rows.
func TestYear(t *testing.T) {
	dbtest.Long(t)
	onEach(t, func(t *testing.T, e *engine) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		day := 24 * time.Hour
		settings, stride := orders(), 5
		settings.Every, settings.Keep, settings.Old, settings.Ahead, settings.Most = partition.Week, 6, partition.Drop, 3, 10
		if os.Getenv("SNOWKEY_TORTURE") != "" {
			settings.Every, settings.Keep, settings.Most, stride = partition.Day, 30, 60, 1 // clocks that are back for days hold as many partitions back
		}
		retention := func(now time.Time) time.Time {
			return settings.Every.Start(now.Add(-time.Duration(settings.Keep)*map[partition.Every]time.Duration{partition.Day: day, partition.Week: 7 * day}[settings.Every]), time.UTC)
		}
		e.create(t, settings)
		truth, database, local := noon, noon, noon
		k := e.keeper(t, settings, &database)
		k.SetClocks(func() time.Time { return database }, func() time.Time { return local })
		died := errors.New("died")
		kill := -1
		k.OnStatement(func(partition.Step, int) error {
			if kill--; kill == -1 {
				return died
			}
			return nil
		})
		var ids []int64
		present := map[int64]bool{}
		var stepped time.Duration
		until, wrong, kills, steps := 0, 0, 0, 0
		for n := 0; n < 365; n += stride {
			truth = truth.Add(time.Duration(stride) * day)
			if n >= until {
				stepped = 0
			}
			if n < 320 && n > until+stride && random.IntN(max(2, 10/stride)) == 0 { // in the end the clocks are right
				stepped, until, wrong = time.Duration(random.IntN(40)-20)*day, n+stride+random.IntN(4), random.IntN(2)
				steps++
			}
			database, local = truth, truth
			if wrong == 0 {
				database = database.Add(stepped)
			} else {
				local = local.Add(stepped)
			}
			insert := "INSERT INTO orders (id) VALUES "
			for i := range 3 {
				id := idAt(t, database.Add(time.Duration(random.IntN(20)-10)*time.Hour), int64(3*n+i)) // n makes it unique
				if present[id] {
					continue
				}
				present[id] = true
				ids = append(ids, id)
				if len(insert) > len("INSERT INTO orders (id) VALUES ") {
					insert += ", "
				}
				insert += fmt.Sprintf("(%d)", id)
			}
			e.exec(t, insert)
			if kill = -1; random.IntN(2) == 0 {
				kill = random.IntN(6)
			}
			if _, err := k.Run(t.Context()); errors.Is(err, died) {
				kills++
			} else if err != nil && !errors.Is(err, partition.ErrAttention) {
				t.Fatalf("day %d: %v", n, err)
			}
			kept := idAt(t, retention(truth), 0)
			want := int64(0)
			for _, id := range ids {
				if id >= kept {
					want++
				}
			}
			if got := e.count(t, fmt.Sprintf("SELECT COUNT(*) FROM orders WHERE id >= %d", kept)); got != want {
				t.Fatalf("day %d, the database's clock off by %v and the keeper's by %v: got %d rows within the retention, want %d", n, database.Sub(truth), local.Sub(truth), got, want)
			}
		}
		kill = -1
		last := idAt(t, truth, 4000) // what is old counts from the newest key
		ids = append(ids, last)
		e.exec(t, fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", last))
		if report, err := k.Run(t.Context()); err != nil {
			t.Fatalf("at the end: %v after %v", err, report.Done)
		}
		if got := e.unplaced(t); got != 0 {
			t.Errorf("got %d rows in no partition of their own", got)
		}
		plan, err := k.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		oldest := plan.Parts[0]
		if want := retention(truth); oldest.From.Before(want) || plan.Ahead < 3 {
			t.Errorf("got the oldest partition from %v and %d ahead, want none before %v, and 3", oldest.From, plan.Ahead, want)
		}
		left := slices.DeleteFunc(ids, func(id int64) bool { return id < idAt(t, retention(truth), 0) })
		if got := e.count(t, "SELECT COUNT(*) FROM orders"); got != int64(len(left)) {
			t.Errorf("got %d rows, want the %d within the retention", got, len(left))
		}
		if kills < 3 || steps < 5 {
			t.Errorf("got %d kills and %d steps of a clock, want more", kills, steps)
		}
	})
}
