package idgen_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

func TestLayoutText(t *testing.T) {
	const want = "time=41@1ms,datacenter=5,node=5,sequence=12;epoch=2010-11-04T01:42:54.657Z"
	if got := idgen.Twitter.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, err := idgen.ParseLayout(want); err != nil || got != idgen.Twitter.Layout {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	const packed = "time=23,node=10,stream=4,time=18@1ms,sequence=8;epoch=2025-01-01T00:00:00Z"
	if got, err := idgen.ParseLayout(packed); err != nil || got != idgen.Packed.Layout || got.String() != packed {
		t.Errorf("got %s, %v, want %s", got, err, packed)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		l := randomLayout(t, r)
		if got, err := idgen.ParseLayout(l.String()); err != nil || got != l || got.Fingerprint() != l.Fingerprint() {
			t.Fatalf("got %s, %v, want %s", got, err, l)
		}
	}
}

// No two different layouts have one fingerprint.
func TestFingerprintsDiffer(t *testing.T) {
	seen := map[string]idgen.Layout{}
	r := rand.New(rand.NewPCG(3, 5))
	for range 5000 {
		l := randomLayout(t, r)
		if other, ok := seen[l.Fingerprint()]; ok && other != l {
			t.Fatalf("%s and %s have one fingerprint", l, other)
		}
		seen[l.Fingerprint()] = l
	}
}

func TestParseLayoutRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                                    "no epoch",
		"time=41@1ms":                                                         "no epoch",
		"time=41@1ms;epoch=yesterday":                                         `the epoch "yesterday"`,
		"time=41@1ms;epoch=2025-01-01":                                        `the epoch "2025-01-01"`,
		"time=41;epoch=2025-01-01T00:00:00Z":                                  `"time=41" has no unit`,
		"time=41@ms;epoch=2025-01-01T00:00:00Z":                               `the unit "ms"`,
		"time=41@0s;epoch=2025-01-01T00:00:00Z":                               "must be positive",
		"time=41@1ms,worker=5;epoch=2025-01-01T00:00:00Z":                     `"worker"; there are time`,
		"time=41@1ms,node;epoch=2025-01-01T00:00:00Z":                         `"node" is no field`,
		"time=41@1ms,node=-1;epoch=2025-01-01T00:00:00Z":                      `node="-1"`,
		"time=41@1ms,node=1000;epoch=2025-01-01T00:00:00Z":                    `node="1000"`,
		"time=41@1ms,node=+5;epoch=2025-01-01T00:00:00Z":                      `node="+5"`,
		"time=41@1ms,;epoch=2025-01-01T00:00:00Z":                             `"" is no field`,
		"time=37@10ms,node=20,sequence=16;epoch=2025-01-01T00:00:00Z":         "37+20+16 = 73 bits, at most 63",
		"time=41@1ms,node=5,node=5;epoch=2025-01-01T00:00:00Z":                "node is given twice",
		"node=5;epoch=2025-01-01T00:00:00Z":                                   "no time field",
		"time=20@1ms,node=5,time=20@1ms;epoch=2025-01-01T00:00:00Z":           `"time=20@1ms" comes after the unit`,
		"time=20@1ms,node=5,time=20;epoch=2025-01-01T00:00:00Z":               `"time=20" comes after the unit`,
		"time=20,node=5,time=21;epoch=2025-01-01T00:00:00Z":                   `"time=21" has no unit`,
		"time=20,time=21@1ms;epoch=2025-01-01T00:00:00Z":                      "give one field of 41 bits",
		"time=41@1ms;epoch=1500-01-01T00:00:00Z":                              "in the years 1900 to 2200",
		"time=41@1ms;epoch=2025-01-01T00:00:00Z" + strings.Repeat(" ", 300):   "338 bytes, at most 256",
		"time=41@1ms,node=5@1ms;epoch=2025-01-01T00:00:00Z":                   `node="5@1ms"`,
		"TIME=41@1ms;epoch=2025-01-01T00:00:00Z":                              `"TIME"`,
		"time=41@9999999h,node=3;epoch=2025-01-01T00:00:00Z":                  "9999999h",
		"time=1@1ms,sequence=1,node=1,shard=1,datacenter=1,time=1@1ms;epoch=": "the epoch",
	} {
		if _, err := idgen.ParseLayout(text); !errors.Is(err, idgen.ErrLayout) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want ErrLayout with %q", text, err, want)
		}
	}
}

func FuzzParseLayout(f *testing.F) {
	for _, p := range idgen.Presets() {
		f.Add(p.String())
	}
	f.Add("time=9,stream=3,time=9@1ms,time=2;epoch=2025-01-01T00:00:00Z")
	f.Add("time=1@1ns;epoch=1900-01-01T00:00:00Z")
	f.Add("time=63@1h;epoch=2200-01-01T00:00:00+23:59")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := idgen.ParseLayout(text)
		if err != nil {
			if !errors.Is(err, idgen.ErrLayout) {
				t.Fatalf("%q: %v is no ErrLayout", text, err)
			}
			return
		}
		if again, err := idgen.ParseLayout(l.String()); err != nil || again != l {
			t.Fatalf("%q: %s, parsed again: %s, %v", text, l, again, err)
		}
		for _, id := range []int64{0, 1, 1<<63 - 1, -1, int64(len(text)) << 40} {
			parts, err := l.Decode(id)
			if err != nil {
				continue
			}
			if again, err := l.Compose(parts); err != nil || again != id {
				t.Fatalf("%s: %d decoded and composed: %d, %v", l, id, again, err)
			}
		}
		_, _ = l.ExhaustsAt(), l.Lifetime()
	})
}

func TestMinMaxID(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 0, 0, 999e3, time.UTC)
	for _, p := range idgen.Presets() {
		least, err := p.MinID(at)
		if err != nil {
			if p == idgen.Baidu && errors.Is(err, idgen.ErrExhausted) || p == idgen.Scattered && errors.Is(err, idgen.ErrLayout) {
				continue
			}
			t.Fatalf("%s: %v", p.Name(), err)
		}
		most, err := p.MaxID(at)
		if err != nil {
			t.Fatalf("%s: %v", p.Name(), err)
		}
		tick := at.Truncate(p.Unit())
		if p.Name() == "k8sip" || p.Name() == "baidu" {
			tick = at.Truncate(time.Second)
		}
		for id, want := range map[int64]time.Time{least: tick, most: tick, least - 1: tick.Add(-p.Unit()), most + 1: tick.Add(p.Unit())} {
			parts, err := p.Decode(id)
			if err != nil || !parts.Time.Equal(want) && p.Unit() <= time.Millisecond {
				t.Errorf("%s: %d is of %s, %v, want %s", p.Name(), id, parts.Time, err, want)
			}
		}
	}
	scattered, err := idgen.NewLayout(noon, time.Millisecond, idgen.Shard.Bits(5), idgen.Time.Bits(41))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scattered.MinID(at.Add(24 * 365 * time.Hour)); !errors.Is(err, idgen.ErrLayout) {
		t.Errorf("time below the shard: got %v, want ErrLayout", err)
	}
	if _, err := idgen.Snowkey.MinID(time.Time{}); !errors.Is(err, idgen.ErrBeforeEpoch) {
		t.Errorf("before the epoch: got %v", err)
	}
	if _, err := idgen.Snowkey.MaxID(idgen.Snowkey.ExhaustsAt()); !errors.Is(err, idgen.ErrExhausted) {
		t.Errorf("past the end: got %v", err)
	}
}

func TestCapacity(t *testing.T) {
	for _, tt := range []struct {
		preset     idgen.Preset
		generators int64
		perSecond  float64
	}{
		{idgen.Snowkey, 1024, 4_096_000}, {idgen.Twitter, 1024, 4_096_000}, {idgen.Sonyflake, 65536, 25_600}, {idgen.Baidu, 1 << 22, 8192},
		{idgen.Instagram, 8192, 1_024_000}, {idgen.K8sIP, 1 << 24, 2048}, {idgen.JS53, 128, 25_600}, {idgen.Game, 1 << 20, 6400},
		{idgen.Sharded, 1 << 18, 16_000}, {idgen.Scattered, 1 << 18, 16_000},
	} {
		if g, s := tt.preset.Generators(), tt.preset.PerSecond(); g != tt.generators || s != tt.perSecond {
			t.Errorf("%s: got %d generators of %v ids a second, want %d of %v", tt.preset.Name(), g, s, tt.generators, tt.perSecond)
		}
	}
	if got := idgen.Snowkey.Lifetime(); got != 1<<41*time.Millisecond {
		t.Errorf("got a lifetime of %s", got)
	}
	if id, err := idgen.JS53.MaxID(idgen.JS53.ExhaustsAt().Add(-1)); err != nil || id != 1<<53-1 {
		t.Errorf("js53: got the greatest id %d, %v, want 2^53-1", id, err)
	}
}
