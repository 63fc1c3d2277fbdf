package idgen_test

import (
	"bufio"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Presets read the ids that their makers published, and the two for sharded tables those that were put together by hand; the files name
// the origin of each.
func TestPublishedIDs(t *testing.T) {
	for _, tt := range []struct {
		path  string
		least int
	}{{"../testdata/ids.txt", 10}, {"testdata/sharded.txt", 12}} {
		file, err := os.Open(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if !strings.HasPrefix(lines.Text(), "#") {
				checkPublished(t, lines.Text())
				n++
			}
		}
		if err := file.Close(); err != nil || n < tt.least {
			t.Errorf("%s has %d ids, %v", tt.path, n, err)
		}
	}
}

// checkPublished fails unless a line's layout reads its id, and composes it again.
func checkPublished(t *testing.T, line string) {
	t.Helper()
	var name, at string
	var id int64
	var want idgen.Parts
	if _, err := fmt.Sscan(line, &name, &id, &at, &want.Datacenter, &want.Node, &want.Sequence, &want.Shard); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	var err error
	if want.Time, err = time.Parse(time.RFC3339Nano, at); err != nil {
		t.Fatal(err)
	}
	preset, err := idgen.LookupPreset(name)
	layout := preset.Layout
	if err != nil {
		if layout, err = idgen.ParseLayout(name); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := layout.Decode(id); err != nil || got != want {
		t.Errorf("%s %d: got %+v, %v, want %+v", name, id, got, err, want)
	}
	if got, err := layout.Compose(want); err != nil || got != id {
		t.Errorf("%s: composed %d, %v, want %d", name, got, err, id)
	}
}

// Bitwise composition agrees with the two slow ways that articles show: a string of padded binary numbers, and sums of powers of two.
func TestComposeAgreesWithSlowForms(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		l := randomLayout(t, r)
		parts := idgen.Parts{}
		ticks := r.Int64N(l.Max(idgen.Time) + 1)
		at := new(big.Int).Mul(big.NewInt(ticks), big.NewInt(int64(l.Unit())))
		second := big.NewInt(int64(time.Second))
		rest := new(big.Int)
		at.DivMod(at, second, rest)
		parts.Time = time.Unix(l.Epoch().Unix()+at.Int64(), int64(l.Epoch().Nanosecond())+rest.Int64())
		values := map[idgen.Kind]*int64{idgen.Datacenter: &parts.Datacenter, idgen.Node: &parts.Node, idgen.Sequence: &parts.Sequence, idgen.Shard: &parts.Shard, idgen.Stream: &parts.Stream}
		concatenated, sum, width := "", new(big.Int), 0
		fields := l.Fields()
		left := l.Bits(idgen.Time) // of the ticks, from the top down
		fieldValues := make([]int64, len(fields))
		for i, f := range fields {
			if f.Kind == idgen.Time {
				left -= f.Bits
				fieldValues[i] = ticks >> left & (1<<f.Bits - 1)
			} else {
				fieldValues[i] = r.Int64N(l.Max(f.Kind) + 1)
				*values[f.Kind] = fieldValues[i]
			}
			concatenated += fmt.Sprintf("%0*b", f.Bits, fieldValues[i])
			width += f.Bits
		}
		for i, f := range fields {
			width -= f.Bits
			power := new(big.Int).Exp(big.NewInt(2), big.NewInt(int64(width)), nil)
			sum.Add(sum, power.Mul(power, big.NewInt(fieldValues[i])))
		}
		byString, err := strconv.ParseInt(concatenated, 2, 64)
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Compose(parts)
		if err != nil || got != byString || got != sum.Int64() {
			t.Fatalf("%s: got %d, %v of %+v, want %d and %d", l, got, err, parts, byString, sum)
		}
	}
}
