//go:build unix

package peers_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"
	gofrs "github.com/gofrs/uuid/v5"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/sony/sonyflake/v2"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/uid"
)

// maker is one row of a table: a generator with its settings.
type maker[K comparable] struct {
	of   string // its name
	rate int    // keys a second that its settings allow, where that is few; 0 where it is not
	open func(testing.TB) calls[K]
}

// calls are what a generator offers: one key, and many where it has a call for that.
type calls[K comparable] struct {
	next func() (K, error)
	fill func([]K) error
}

// row is a maker of any type of key.
type row interface {
	name() string
	next(b *testing.B)
	nextOnAll(b *testing.B)
	batch(b *testing.B)
	unique(t *testing.T)
}

func (m maker[K]) name() string { return m.of }

// group is a table: makers that can be compared, and the floor.
type group struct {
	bound string
	rows  []row
}

// groups are described in the documentation of the package.
var groups = []group{
	{"none", []row{
		floor,
		snowkey(func(tb testing.TB) idgen.Option {
			layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
				idgen.Time.Bits(41), idgen.Sequence.Bits(22))
			if err != nil {
				tb.Fatal(err)
			}
			return layout
		}),
		bwmarrin(0, 22),
		sony(0, sonyflake.Settings{BitsSequence: 22, BitsMachineID: 6}),
		maker[xid.ID]{of: "xid", open: func(testing.TB) calls[xid.ID] {
			return calls[xid.ID]{next: func() (xid.ID, error) { return xid.New(), nil }}
		}},
		maker[uuid.UUID]{of: "uuidv4", open: func(testing.TB) calls[uuid.UUID] {
			return calls[uuid.UUID]{next: uuid.NewRandom}
		}},
		maker[uuid.UUID]{of: "uuidv4pool", open: func(tb testing.TB) calls[uuid.UUID] {
			uuid.EnableRandPool()
			tb.Cleanup(uuid.DisableRandPool)
			return calls[uuid.UUID]{next: uuid.NewRandom}
		}},
		maker[uuid.UUID]{of: "uuidv7", open: func(testing.TB) calls[uuid.UUID] {
			return calls[uuid.UUID]{next: uuid.NewV7}
		}},
	}},
	{"wide", []row{
		floor,
		of("v4", uid.V4()), of("v7", uid.V7()), of("ulid", uid.ULID()), of("objectid", uid.ObjectID()),
		single("google-v4", uuid.NewRandom), single("google-v7", uuid.NewV7),
		single("gofrs-v4", gofrs.NewV4), single("gofrs-v7", gofrs.NewV7),
		single("oklog-ulid", func() (ulid.ULID, error) { return ulid.Make(), nil }),
		single("mongo-objectid", func() (bson.ObjectID, error) { return bson.NewObjectID(), nil }),
	}},
	{"own", []row{
		floor,
		snowkey(func(testing.TB) idgen.Option { return idgen.WithNode(1) }),
		bwmarrin(10, 12),
		sony(25_600, sonyflake.Settings{}),
	}},
}

// floor reads the clock, which a key with a time in it cannot do without.
var floor = maker[time.Duration]{of: "floor", open: func(testing.TB) calls[time.Duration] {
	start := time.Now()
	return calls[time.Duration]{next: func() (time.Duration, error) { return time.Since(start), nil }}
}}

// of is a maker of this repository's.
func of[K comparable](name string, source idgen.Source[K]) row {
	return maker[K]{of: name, open: func(testing.TB) calls[K] {
		ctx := context.Background()
		return calls[K]{next: func() (K, error) { return source.Next(ctx) }, fill: func(keys []K) error { return source.Fill(ctx, keys) }}
	}}
}

// single is a maker that has a call for one key alone.
func single[K comparable](name string, next func() (K, error)) row {
	return maker[K]{of: name, open: func(testing.TB) calls[K] { return calls[K]{next: next} }}
}

func snowkey(option func(testing.TB) idgen.Option) row {
	return maker[int64]{of: "snowkey", open: func(tb testing.TB) calls[int64] {
		g, err := idgen.New(option(tb))
		if err != nil {
			tb.Fatal(err)
		}
		ctx := context.Background()
		return calls[int64]{
			next: func() (int64, error) { return g.Next(ctx) },
			fill: func(ids []int64) error { return g.Fill(ctx, ids) },
		}
	}}
}

// bwmarrin sets package variables, which a node copies when it is made, and sets them back.
func bwmarrin(node, step uint8) row {
	return maker[snowflake.ID]{of: "bwmarrin", open: func(tb testing.TB) calls[snowflake.ID] {
		defer func(node, step uint8) { snowflake.NodeBits, snowflake.StepBits = node, step }(snowflake.NodeBits, snowflake.StepBits)
		snowflake.NodeBits, snowflake.StepBits = node, step
		g, err := snowflake.NewNode(0)
		if err != nil {
			tb.Fatal(err)
		}
		return calls[snowflake.ID]{next: func() (snowflake.ID, error) { return g.Generate(), nil }}
	}}
}

// sony gives the machine's number, since the default looks for a private address and fails where there is none.
func sony(rate int, settings sonyflake.Settings) row {
	settings.MachineID = func() (int, error) { return 1, nil }
	return maker[int64]{of: "sonyflake", rate: rate, open: func(tb testing.TB) calls[int64] {
		g, err := sonyflake.New(settings)
		if err != nil {
			tb.Fatal(err)
		}
		return calls[int64]{next: g.NextID}
	}}
}

// loop returns the maker's own call for many keys, or a loop where it has none.
func (c calls[K]) loop() func([]K) error {
	if c.fill != nil {
		return c.fill
	}
	return func(keys []K) error {
		for i := range keys {
			key, err := c.next()
			if err != nil {
				return err
			}
			keys[i] = key
		}
		return nil
	}
}

// unique takes keys on eight goroutines, in turns one by one and by the maker's call for many, where it has one.
func (m maker[K]) unique(t *testing.T) {
	const goroutines, turn = 8, 100
	count := 20_000
	if m.rate > 0 {
		count = m.rate / 4 / goroutines / turn * turn // a quarter of a second
	}
	c := m.open(t)
	many, single := c.loop(), calls[K]{next: c.next}.loop()
	taken := make([]K, goroutines*count)
	var running sync.WaitGroup
	for part := range slices.Chunk(taken, count) {
		running.Go(func() {
			for keys := range slices.Chunk(part, turn) {
				if err := single(keys[:turn/2]); err != nil {
					t.Error(err)
				}
				if err := many(keys[turn/2:]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	seen := make(map[K]bool, len(taken))
	for _, key := range taken {
		if seen[key] {
			t.Fatalf("%v was made twice", key)
		}
		seen[key] = true
	}
}

// TestUnique proves what a figure is worth nothing without: that a maker makes no key twice.
func TestUnique(t *testing.T) {
	for _, g := range groups {
		for _, r := range g.rows {
			if r.name() != floor.of {
				t.Run("bound="+g.bound+"/maker="+r.name(), r.unique)
			}
		}
	}
}

// TestReadme guards against a maker that a table of the README leaves out.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		tables := regexp.MustCompile(`(?ms)^/bound: `+g.bound+`$.*?^geomean`).FindAllString(string(readme), -1)
		if len(tables) == 0 {
			t.Errorf("no table of bound=%s", g.bound)
		}
		for _, table := range tables {
			for _, r := range g.rows {
				if !strings.Contains(table, "\n"+r.name()+" ") {
					t.Errorf("%s is missing in\n%s", r.name(), table)
				}
			}
		}
	}
}
