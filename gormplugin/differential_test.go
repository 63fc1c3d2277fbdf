package gormplugin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
	"gorm.io/plugin/dbresolver"

	"github.com/snowkey-go/snowkey/gormplugin"
)

// TestDifferential runs steps at random on two sets of tables: with the plugin, and with GORM alone and keys that are set by hand. Each step has to
// do the same on both, but for what a key is.
//
// With SNOWKEY_TORTURE=10m there are as many sequences as take that long, on each database, and each run has another seed. SNOWKEY_SEED=SEED runs
// its first sequence alone, and SNOWKEY_SEED=SEED/3,5 the steps 3 and 5 of it.
func TestDifferential(t *testing.T) {
	seed, only, steps := seedOf(t)
	torture, _ := time.ParseDuration(os.Getenv("SNOWKEY_TORTURE"))
	onEach(t, func(t *testing.T, db *gorm.DB) {
		arena := &arena{db: db, migrated: map[string]bool{}}
		if db.Name() == "sqlite" {
			mustRun(t, db, "PRAGMA synchronous = OFF")
		}
		began, n, found := time.Now(), 0, 0
		for ; found < most && (n < sequences && !only || torture > 0 && time.Since(began) < torture || only && n == 0); n++ {
			if difference, _ := arena.run(t, seed+uint64(n), steps); difference != "" {
				found++
				steps, difference := arena.shrink(t, seed+uint64(n), steps, difference)
				t.Errorf("SNOWKEY_SEED=%d/%s go test ./gormplugin -run %s\n%s", seed+uint64(n), join(steps), t.Name(), difference)
			}
		}
		t.Logf("SNOWKEY_SEED=%d: %d sequences in %s, %d steps, %d of them failed as they should; ErrUpsert %d times", seed, n, time.Since(began).Round(time.Millisecond),
			arena.steps, arena.failed, arena.unknown)
	})
}

const (
	sequences = 16 // without SNOWKEY_TORTURE
	most      = 8  // differences are reported
)

// seedOf returns the seed of the first sequence, whether it is the only one, and the steps of it.
func seedOf(t *testing.T) (seed uint64, only bool, steps []int) {
	t.Helper()
	for i := range 12 {
		steps = append(steps, i)
	}
	given := os.Getenv("SNOWKEY_SEED")
	if given == "" && os.Getenv("SNOWKEY_TORTURE") != "" {
		return uint64(rand.Uint32()), false, steps
	}
	if given == "" {
		return 1, false, steps
	}
	text, list, some := strings.Cut(given, "/")
	seed, err := strconv.ParseUint(text, 10, 64)
	if some {
		steps = nil
		for _, s := range strings.Split(list, ",") {
			step, e := strconv.Atoi(s)
			if e != nil {
				err = e
			}
			steps = append(steps, step)
		}
	}
	if err != nil {
		t.Fatalf("SNOWKEY_SEED=%q: want a number, or one and a list: 5/1,2: %v", given, err)
	}
	return seed, true, steps
}

func join(steps []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(steps), " ", ","), "[]")
}

// arena is a database with the tables of both sides of all families that were needed so far.
type arena struct {
	db                     *gorm.DB
	migrated               map[string]bool
	steps, failed, unknown int
}

// run returns in what the two sides of a sequence are different, "" for nothing.
func (a *arena) run(t *testing.T, seed uint64, steps []int) (difference string, trace []observation) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1<<32))
	number, opening := rng.IntN(len(families)), rng.IntN(4)
	var traces [2][]observation
	for i := range traces {
		s := a.open(t, number, i == 0, opening)
		s.run(seed, steps)
		if traces[i] = s.trace; s.lost {
			last := s.trace[len(s.trace)-1]
			t.Fatalf("SNOWKEY_SEED=%d/%s go test ./gormplugin -run %s\nkeys: %s; with the plugin: %t\n%s\n\t%s, and the connection of its transaction is lost\n\tgiven:%s",
				seed, join(steps), t.Name(), families[number].name, i == 0, last.what, last.text, last.given)
		}
	}
	for _, o := range traces[0] {
		a.steps++
		if o.err != "" {
			a.failed++
		}
		if o.err == "ErrUpsert" {
			a.unknown++
		}
	}
	if difference = compare(traces[0], traces[1]); difference != "" {
		difference = fmt.Sprintf("keys: %s\nopened: %s\n%s", families[number].name, openings[opening], difference)
	}
	return difference, traces[0]
}

// openings are how the database of the plugin is opened.
var openings = []string{"alone", "alone", "with dbresolver before the plugin", "with dbresolver after the plugin"}

// open opens a side: its database, with the tables empty.
func (a *arena) open(t *testing.T, number int, with bool, opening int) *side {
	t.Helper()
	f := families[number]
	s := &side{family: f, kit: f.with, prefix: fmt.Sprintf("d%da_", number), maker: &maker{serial: new(int)}}
	if !with {
		s.kit, s.hand, s.prefix = f.alone, &byHand{family: f}, fmt.Sprintf("d%db_", number)
	}
	open := func() *gorm.DB {
		db, err := gorm.Open(a.db.Dialector, &gorm.Config{
			Logger: new(recorder), NamingStrategy: schema.NamingStrategy{TablePrefix: s.prefix}, DisableForeignKeyConstraintWhenMigrating: f.composite,
		})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	s.plain, s.db = open(), open()
	if err := s.setup(s.db); err != nil {
		t.Fatal(err)
	}
	plugins := []gorm.Plugin{s.hand}
	if with {
		options := []gormplugin.Option{gormplugin.From(&ascending{}), f.option}
		for _, table := range tables[2:] {
			options = append(options, gormplugin.Table(s.prefix+table, "id", f.setting))
		}
		if f.prepared {
			options = append(options, gormplugin.Prepare(s.models()...))
		}
		plugins = []gorm.Plugin{gormplugin.New(options...)}
	}
	if strings.Contains(openings[opening], "dbresolver") {
		plugins = append(plugins, dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{a.db.Dialector}}))
	}
	if strings.Contains(openings[opening], "before") {
		slices.Reverse(plugins)
	}
	for _, plugin := range plugins {
		if err := s.db.Use(plugin); err != nil {
			t.Fatal(err)
		}
	}
	if !a.migrated[s.prefix] {
		a.migrated[s.prefix] = true
		if err := s.db.AutoMigrate(s.models()...); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, s.plain, "UPDATE "+s.prefix+"employees SET boss_id = NULL")
	for _, table := range tables {
		mustRun(t, s.plain, "DELETE FROM "+s.prefix+table)
	}
	return s
}

// ascending is a source whose keys are the numbers after one another.
type ascending struct{ made int64 }

func (a *ascending) Next(context.Context) (int64, error) {
	a.made++
	return firstMade + a.made, nil
}

func (a *ascending) Fill(ctx context.Context, keys []int64) error {
	for i := range keys {
		keys[i], _ = a.Next(ctx)
	}
	return nil
}

// shrink leaves out steps as long as there is a difference.
func (a *arena) shrink(t *testing.T, seed uint64, steps []int, difference string) ([]int, string) {
	t.Helper()
	for i := len(steps) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(steps), i, i+1); len(fewer) > 0 {
			if still, _ := a.run(t, seed, fewer); still != "" {
				steps, difference = fewer, still
			}
		}
	}
	_, trace := a.run(t, seed, steps)
	for _, o := range trace {
		t.Logf("%s: error %q", o.what, o.text)
	}
	return steps, difference
}
