//go:build unix

package peers_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/sqids/sqids-go"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/publicid"
)

// publicMaker makes a public text of a key, and the key of the text.
type publicMaker struct {
	encode func(id int64) (string, error)
	decode func(text string) (int64, error)
}

// publicMakers are compared by what an API does with each key. Their texts differ in what they hide: base62 nothing; sqids is a shuffled alphabet, whose authors
// say that it is no encryption; publicid a permutation with a key of 256 bits.
func publicMakers(tb testing.TB) map[string]publicMaker {
	tb.Helper()
	keys, err := publicid.ParseKeys(publicid.NewKey(1))
	if err != nil {
		tb.Fatal(err)
	}
	codec, err := publicid.New(keys)
	if err != nil {
		tb.Fatal(err)
	}
	ids, err := sqids.New()
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]publicMaker{
		"decimal": {func(id int64) (string, error) { return strconv.FormatInt(id, 10), nil }, func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }},
		"base62":  {idgen.Base62.Encode, idgen.Base62.Parse},
		"publicid": {
			func(id int64) (string, error) { return codec.Encode("ord", id) },
			func(text string) (int64, error) { return codec.Decode("ord", text) },
		},
		"sqids": {
			func(id int64) (string, error) { return ids.Encode([]uint64{uint64(id)}) },
			func(text string) (int64, error) {
				if numbers := ids.Decode(text); len(numbers) == 1 {
					return int64(numbers[0]), nil
				}
				return 0, errors.New("not one number")
			},
		},
	}
}

// publicKeys are snowflakes of one year.
func publicKeys() []int64 {
	keys := make([]int64, 1000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range keys {
		keys[i] = 1<<57 + random.Int64N(365*24*3600*1000)<<22 + random.Int64N(1<<22)
	}
	return keys
}

// TestPublicMakers reads what each has made.
func TestPublicMakers(t *testing.T) {
	for name, m := range publicMakers(t) {
		for _, id := range publicKeys() {
			text, err := m.encode(id)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := m.decode(text); err != nil || got != id {
				t.Fatalf("%s: got %d, %v of %q, want %d", name, got, err, text, id)
			}
		}
	}
}

// BenchmarkPublic makes a text of a key, and reads it.
func BenchmarkPublic(b *testing.B) {
	makers, keys := publicMakers(b), publicKeys()
	for _, name := range []string{"decimal", "base62", "sqids", "publicid"} {
		m := makers[name]
		b.Run("call=encode/maker="+name, func(b *testing.B) {
			b.ReportAllocs()
			var last string
			for i := 0; b.Loop(); i++ {
				text, err := m.encode(keys[i%len(keys)])
				if err != nil {
					b.Fatal(err)
				}
				last = text
			}
			keep(last)
		})
		b.Run("call=decode/maker="+name, func(b *testing.B) {
			b.ReportAllocs()
			texts := make([]string, len(keys))
			for i, id := range keys {
				text, err := m.encode(id)
				if err != nil {
					b.Fatal(err)
				}
				texts[i] = text
			}
			var last int64
			for i := 0; b.Loop(); i++ {
				id, err := m.decode(texts[i%len(texts)])
				if err != nil {
					b.Fatal(err)
				}
				last = id
			}
			keep(last)
		})
	}
}
