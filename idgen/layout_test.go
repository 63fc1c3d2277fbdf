package idgen_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

func TestLayoutRefuses(t *testing.T) {
	epoch := time.UnixMilli(0)
	ms := time.Millisecond
	for _, tt := range []struct {
		name   string
		epoch  time.Time
		unit   time.Duration
		fields []idgen.Field
		want   string
	}{
		{"sum above 63", epoch, ms, []idgen.Field{idgen.Time.Bits(37), idgen.Node.Bits(20), idgen.Sequence.Bits(16)}, "37+20+16 = 73 bits, at most 63"},
		{"sum of 64", epoch, ms, []idgen.Field{idgen.Time.Bits(48), idgen.Sequence.Bits(16)}, "48+16 = 64 bits, at most 63"},
		{"no time", epoch, ms, []idgen.Field{idgen.Node.Bits(10)}, "no time field"},
		{"no fields", epoch, ms, nil, "no time field"},
		{"twice", epoch, ms, []idgen.Field{idgen.Time.Bits(20), idgen.Node.Bits(4), idgen.Node.Bits(4)}, "node is given twice"},
		{"time side by side", epoch, ms, []idgen.Field{idgen.Time.Bits(20), idgen.Time.Bits(21)}, "time=20 next to time=21; give one field of 41 bits"},
		{"time three times", epoch, ms, []idgen.Field{idgen.Time.Bits(9), idgen.Node.Bits(4), idgen.Time.Bits(9), idgen.Shard.Bits(1), idgen.Time.Bits(9)},
			"time is given three times"},
		{"two parts reach too far", epoch, 24 * time.Hour, []idgen.Field{idgen.Time.Bits(30), idgen.Node.Bits(1), idgen.Time.Bits(30)}, "time=60@24h0m0s reaches further"},
		{"zero width", epoch, ms, []idgen.Field{idgen.Time.Bits(41), idgen.Node.Bits(0)}, "node=0, a field has 1 to 63 bits"},
		{"negative width", epoch, ms, []idgen.Field{idgen.Time.Bits(41), idgen.Node.Bits(-1)}, "node=-1, a field has 1 to 63 bits"},
		{"width that wraps a byte", epoch, ms, []idgen.Field{idgen.Time.Bits(41), idgen.Node.Bits(258)}, "node=258, a field has 1 to 63 bits"},
		{"unknown kind", epoch, ms, []idgen.Field{idgen.Time.Bits(41), idgen.Kind(9).Bits(3)}, "unknown kind 9"},
		{"too many", epoch, ms, make([]idgen.Field, 8), "8 fields, at most 7"},
		{"unit zero", epoch, 0, []idgen.Field{idgen.Time.Bits(41)}, "unit 0s, must be positive"},
		{"unit negative", epoch, -ms, []idgen.Field{idgen.Time.Bits(41)}, "unit -1ms, must be positive"},
		{"epoch too early", time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC), ms, []idgen.Field{idgen.Time.Bits(41)}, "must be in the years 1900 to 2200"},
		{"reaches too far", epoch, 24 * time.Hour, []idgen.Field{idgen.Time.Bits(60)}, "time=60@24h0m0s reaches further"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := idgen.NewLayout(tt.epoch, tt.unit, tt.fields...)
			if !errors.Is(err, idgen.ErrLayout) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want ErrLayout with %q", err, tt.want)
			}
		})
	}
}

func TestPresets(t *testing.T) {
	for _, p := range idgen.Presets() {
		t.Run(p.Name(), func(t *testing.T) {
			again, err := idgen.NewLayout(p.Epoch(), p.Unit(), p.Fields()...)
			if err != nil {
				t.Fatal(err)
			}
			if again != p.Layout {
				t.Errorf("made again from its fields: got %s, want %s", again, p.Layout)
			}
			found, err := idgen.LookupPreset(p.Name())
			if err != nil || found != p {
				t.Errorf("LookupPreset: got %v, %v", found, err)
			}
			if p.Origin() == "" {
				t.Error("no origin")
			}
		})
	}
	if _, err := idgen.LookupPreset("twiter"); !errors.Is(err, idgen.ErrLayout) || !strings.Contains(err.Error(), "snowkey, twitter, leaf") {
		t.Errorf("unknown name: got %v, want ErrLayout and the names there are", err)
	}
}

func TestExhaustsAt(t *testing.T) {
	for preset, want := range map[idgen.Preset]string{
		idgen.Twitter:          "2080-07-10T17:30:30.209Z",
		idgen.Snowkey:          "2094-09-07T15:47:35.552Z",
		idgen.Baidu:            "2024-11-20T13:24:16Z",
		idgen.Game:             "2068-07-21T06:52:14.72Z",
		idgen.ShardingJDBC2018: "2087-09-07T07:47:35.552Z",
		idgen.K8sIP:            "2030-03-20T05:38:24Z",
		idgen.Packed:           "2094-09-07T15:47:35.552Z",
	} {
		if got := preset.ExhaustsAt().Format(time.RFC3339Nano); got != want {
			t.Errorf("%s: got %s, want %s", preset.Name(), got, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	small, err := idgen.NewLayout(time.UnixMilli(0), time.Second, idgen.Time.Bits(30), idgen.Sequence.Bits(10))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{-1, -1 << 63, 1 << 40, 1<<63 - 1} {
		if _, err := small.Decode(id); !errors.Is(err, idgen.ErrRange) {
			t.Errorf("id %d: got %v, want ErrRange", id, err)
		}
	}
	if _, err := small.Decode(1<<40 - 1); err != nil {
		t.Errorf("greatest id: %v", err)
	}
	if _, err := idgen.Snowkey.Decode(1<<63 - 1); err != nil {
		t.Errorf("greatest id of 63 bits: %v", err)
	}
}

func TestComposeRefuses(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		parts idgen.Parts
		want  error
	}{
		{"before the epoch", idgen.Parts{Time: idgen.Snowkey.Epoch().Add(-1)}, idgen.ErrBeforeEpoch},
		{"zero time", idgen.Parts{}, idgen.ErrBeforeEpoch},
		{"past the end", idgen.Parts{Time: idgen.Snowkey.ExhaustsAt()}, idgen.ErrExhausted},
		{"far past the end", idgen.Parts{Time: time.Unix(1<<55, 0)}, idgen.ErrExhausted},
		{"node too great", idgen.Parts{Time: at, Node: 1024}, idgen.ErrRange},
		{"node negative", idgen.Parts{Time: at, Node: -1}, idgen.ErrRange},
		{"sequence too great", idgen.Parts{Time: at, Sequence: 4096}, idgen.ErrRange},
		{"no such field", idgen.Parts{Time: at, Datacenter: 1}, idgen.ErrRange},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := idgen.Snowkey.Compose(tt.parts); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	var zero idgen.Layout
	if _, err := zero.Compose(idgen.Parts{}); !errors.Is(err, idgen.ErrLayout) {
		t.Errorf("zero layout, Compose: got %v, want ErrLayout", err)
	}
	if _, err := zero.Decode(1); !errors.Is(err, idgen.ErrLayout) {
		t.Errorf("zero layout, Decode: got %v, want ErrLayout", err)
	}
}

// randomLayout returns a valid layout with random fields in a random order.
func randomLayout(t testing.TB, r *rand.Rand) idgen.Layout {
	t.Helper()
	units := []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, 7 * time.Minute}
	free := 63
	var fields []idgen.Field
	for _, kind := range r.Perm(6) {
		k := idgen.Kind(kind + 1)
		if k != idgen.Time && (free <= 1 || r.IntN(3) == 0) {
			continue
		}
		most := min(free, 30)
		if k == idgen.Time && free > 41 {
			most = 41
		}
		if k != idgen.Time {
			most = min(most, 10)
		}
		n := 1 + r.IntN(most)
		free -= n
		fields = append(fields, k.Bits(n))
	}
	// In every second layout the time stands in two places, if a field can be between them.
	top := slices.IndexFunc(fields, func(f idgen.Field) bool { return f.Kind == idgen.Time })
	if width := fields[top].Bits; width > 1 && top+1 < len(fields) && r.IntN(2) == 0 {
		low := 1 + r.IntN(width-1)
		fields[top].Bits -= low
		fields = slices.Insert(fields, top+2+r.IntN(len(fields)-top-1), idgen.Time.Bits(low))
	}
	epoch := time.Unix(r.Int64N(2e9)-2e8, r.Int64N(1e9))
	layout, err := idgen.NewLayout(epoch, units[r.IntN(len(units))], fields...)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

func TestComposeDecodeRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		l := randomLayout(t, r)
		sum := 0
		for _, f := range l.Fields() {
			sum += f.Bits
		}
		id := r.Int64() >> (63 - sum)
		parts, err := l.Decode(id)
		if err != nil {
			t.Fatalf("%s: decode %d: %v", l, id, err)
		}
		// Any instant within the tick gives the same id.
		parts.Time = parts.Time.Add(time.Duration(r.Int64N(int64(l.Unit()))))
		if got, err := l.Compose(parts); err != nil || got != id {
			t.Fatalf("%s: got %d, %v from the parts of %d: %+v", l, got, err, id, parts)
		}
	}
}
