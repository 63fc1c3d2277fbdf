package publicid_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/publicid"
	"github.com/snowkey-go/snowkey/uid"
)

const (
	first  = "1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	second = "2:202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
)

func codec(t testing.TB, keys string, options ...publicid.Option) *publicid.Codec {
	t.Helper()
	parsed, err := publicid.ParseKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	c, err := publicid.New(parsed, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func encode(t testing.TB, c *publicid.Codec, prefix string, id int64) string {
	t.Helper()
	text, err := c.Encode(prefix, id)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Names come back as what they are names of, and no two are alike.
func TestCodec(t *testing.T) {
	c, random, seen := codec(t, first), rand.New(rand.NewPCG(1, 2)), map[string]bool{}
	for i := range int64(20_000) {
		id := random.Int64()
		switch {
		case i < 5000:
			id = i
		case i < 10_000:
			id = math.MaxInt64 - i
		}
		for _, prefix := range []string{"ord", "user"} {
			text := encode(t, c, prefix, id)
			if len(text) != len(prefix)+14 || !strings.HasPrefix(text, prefix+"_") || seen[text[len(prefix):]] {
				t.Fatalf("got %s for %d", text, id)
			}
			seen[text[len(prefix):]] = true
			if back, err := c.Decode(prefix, text); err != nil || back != id {
				t.Fatalf("%s: got %d, %v back, want %d", text, back, err, id)
			}
		}
	}
	if got, want := encode(t, c, "ord", 152249823437717504), "ord_JYZTXD6H1EXM9"; got != want { // for all time: others keep it
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUUIDs(t *testing.T) {
	c, random, ids := codec(t, first), codec(t, first, publicid.Versions(4)), make([][16]byte, 2000)
	if err := uid.V7().Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	through := 0
	for _, id := range ids {
		text, err := c.EncodeUUID("usr", id)
		if err != nil || len(text) != 30 {
			t.Fatalf("got %s, %v", text, err)
		}
		if back, err := c.DecodeUUID("usr", text, 7); err != nil || back != id {
			t.Fatalf("%s: got %x, %v back, want %x", text, back, err, id)
		}
		if _, err := c.DecodeUUID("usr", text, 1, 4); !errors.Is(err, publicid.ErrForged) {
			t.Fatalf("another version: got %v", err)
		}
		if got, err := random.DecodeUUID("usr", text); !errors.Is(err, publicid.ErrForged) || got != [16]byte{} {
			t.Fatalf("another version than the codec's: got %x, %v", got, err)
		}
		if back, err := random.DecodeUUID("usr", text, 4, 7); err != nil || back != id {
			t.Fatalf("a version of the call: got %x, %v", back, err)
		}
		if _, err := c.DecodeUUID("ord", "ord"+text[3:], 7); err == nil {
			through++
		}
	}
	if through > 80 { // one of 64
		t.Errorf("%d of 2000 names of another prefix were read", through)
	}
}

// What is no name of the prefix is refused.
func TestRefused(t *testing.T) {
	c := codec(t, first)
	text := encode(t, c, "ord", 5)
	for bad, want := range map[string]error{
		"": publicid.ErrPrefix, "usr" + text[3:]: publicid.ErrPrefix, "ord": publicid.ErrPrefix, strings.ToUpper(text): publicid.ErrPrefix, "ord_": publicid.ErrSyntax,
		text + "0": publicid.ErrSyntax, text[:16]: publicid.ErrSyntax, strings.ToLower(text): publicid.ErrSyntax, text[:16] + "U": publicid.ErrSyntax, text[:16] + "\n": publicid.ErrSyntax,
		"ord_" + strings.Repeat("é", 1000): publicid.ErrSyntax, "ord_0" + text[5:]: publicid.ErrForged,
	} {
		id, err := c.Decode("ord", bad)
		if !errors.Is(err, want) && !(errors.Is(want, publicid.ErrForged) && err == nil && id != 5) || err != nil && len(err.Error()) > 300 {
			t.Errorf("%q: got %d, %v, want %v", bad, id, err, want)
		}
	}
	for _, prefix := range []string{"", "_a", "a_", "A", "1a", "a-b", "ä", strings.Repeat("a", 64)} {
		if _, err := c.Encode(prefix, 1); !errors.Is(err, publicid.ErrPrefix) {
			t.Errorf("prefix %q: got %v", prefix, err)
		}
		if _, err := c.Decode(prefix, prefix+text[3:]); !errors.Is(err, publicid.ErrPrefix) {
			t.Errorf("prefix %q: got %v", prefix, err)
		}
	}
	if _, err := c.Encode("ord", -1); !errors.Is(err, publicid.ErrForged) {
		t.Errorf("a negative number: got %v", err)
	}
}

// Of guesses Accept lets few through.
func TestAccept(t *testing.T) {
	c := codec(t, first, publicid.Accept(publicid.MadeBy(idgen.Snowkey.Layout)))
	made, err := idgen.Snowkey.MinID(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if id, err := c.Decode("ord", encode(t, c, "ord", made)); err != nil || id != made {
		t.Errorf("got %d, %v, want %d", id, err, made)
	}
	later, err := idgen.Snowkey.MinID(time.Now().Add(2 * time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Decode("ord", encode(t, c, "ord", later)); !errors.Is(err, publicid.ErrForged) {
		t.Errorf("of the future: got %v", err)
	}
	through, random := 0, rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		text := []byte("ord_")
		for i := range 13 {
			digit := random.IntN(32)
			if i == 0 {
				digit = digit&15 | 16 // of the key's number
			}
			text = append(text, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[digit])
		}
		if _, err := c.Decode("ord", string(text)); err == nil {
			through++
		}
	}
	if age := time.Since(idgen.Snowkey.Epoch()).Hours() / 24 / 365; float64(through) > 2000*(age/69.7)/2*2+20 {
		t.Errorf("%d of 2000 guesses were read", through)
	}
	counted := codec(t, first, publicid.Accept(publicid.Counted(100)))
	for id, want := range map[int64]error{0: publicid.ErrForged, 1: nil, 100: nil, 101: publicid.ErrForged} {
		if _, err := counted.Decode("ord", encode(t, counted, "ord", id)); !errors.Is(err, want) {
			t.Errorf("%d: got %v, want %v", id, err, want)
		}
	}
}

// A key is replaced in three steps, and names that were made go on being read.
func TestRotation(t *testing.T) {
	old, ready, now, next := codec(t, first), codec(t, first+"\n"+second, publicid.ReadOnly()), codec(t, second+","+first), codec(t, second)
	for step, makers := range [][]*publicid.Codec{{old, ready}, {ready, now}, {now}} {
		for i, maker := range makers {
			text := encode(t, maker, "ord", 77)
			for j, reader := range []*publicid.Codec{old, ready, now}[min(step, 1):] {
				if id, err := reader.Decode("ord", text); err != nil || id != 77 {
					t.Errorf("step %d, maker %d, reader %d: got %d, %v", step, i, j, id, err)
				}
			}
		}
	}
	if _, err := next.Decode("ord", encode(t, old, "ord", 77)); !errors.Is(err, publicid.ErrForged) {
		t.Errorf("a key that is gone: got %v", err)
	}
	uuid, err := old.EncodeUUID("ord", [16]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := now.DecodeUUID("ord", uuid); err != nil || id != [16]byte{7} {
		t.Errorf("got %x, %v", id, err)
	}
	if _, err := next.DecodeUUID("ord", uuid); !errors.Is(err, publicid.ErrForged) {
		t.Errorf("a key that is gone: got %v", err)
	}
}

func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(publicid.NewKey(4)+"\n"+publicid.NewKey(3)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := publicid.FromFile(path)
	if err != nil || len(keys) != 2 || fmt.Sprintf("%v %+v %#v %x", keys[0], keys[0], keys[1], keys[1]) != "key 4 key 4 key 3 key 3" || keys[0].Number() != 4 {
		t.Errorf("got %v, %v", keys, err)
	}
	codec, err := publicid.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := codec.Encode("ord", 1); err != nil { // makes a cipher
		t.Fatal(err)
	}
	hidden := struct {
		keys  []publicid.Key
		codec *publicid.Codec
	}{keys, codec}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%x", "%s", "%q"} {
		said := fmt.Sprintf(verb+verb, codec, hidden)
		for _, field := range strings.Fields(string(text)) {
			_, digits, _ := strings.Cut(field, ":")
			secret, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{digits[:8], fmt.Sprint(secret[:3])[1:], fmt.Sprintf("%#v", secret[:3])[7:20]} {
				if strings.Contains(said, strings.Trim(part, "]}")) {
					t.Errorf("%s prints the secret: %.200s", verb, said)
				}
			}
		}
	}
	if got := fmt.Sprint(codec, &publicid.Codec{}); got != "codec of key 4 codec without a key" {
		t.Errorf("got %s", got)
	}
	if _, err := publicid.FromFile(path + "x"); !errors.Is(err, publicid.ErrKeys) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	t.Setenv("SNOWKEY_TEST_KEYS", "")
	if _, err := publicid.FromEnv("SNOWKEY_TEST_KEYS"); !errors.Is(err, publicid.ErrKeys) || !strings.Contains(err.Error(), "SNOWKEY_TEST_KEYS") {
		t.Errorf("an empty variable: got %v", err)
	}
	secret := strings.Repeat("5e", 32)
	for _, text := range []string{"", secret, "0:" + secret, "x:" + secret, "1:" + secret[1:], "1:" + secret + "00", "1:" + secret[:62] + "zz", "99999999999:" + secret} {
		if _, err := publicid.ParseKeys(text); !errors.Is(err, publicid.ErrKeys) || strings.Contains(err.Error(), "5e5e") {
			t.Errorf("%q: got %v", text, err)
		}
	}
	for _, numbers := range [][]int{{}, {1, 1}, {1, 3}, {1, 4}, {1, 2, 3}} {
		var keys []publicid.Key
		for _, n := range numbers {
			parsed, err := publicid.ParseKeys(publicid.NewKey(uint32(n)))
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, parsed...)
		}
		if _, err := publicid.New(keys); !errors.Is(err, publicid.ErrKeys) {
			t.Errorf("keys %v: got %v", numbers, err)
		}
	}
	if _, err := publicid.New(make([]publicid.Key, 1)); !errors.Is(err, publicid.ErrKeys) {
		t.Errorf("the zero key: got %v", err)
	}
	one, err := publicid.ParseKeys(first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := publicid.New(one, publicid.ReadOnly()); !errors.Is(err, publicid.ErrKeys) {
		t.Errorf("ReadOnly with one key: got %v", err)
	}
}

// A codec without a key is no codec: it would make names that everybody can read.
func TestNoKey(t *testing.T) {
	for _, c := range []*publicid.Codec{nil, {}} {
		text, err := c.Encode("ord", 1)
		_, err2 := c.Decode("ord", "ord_JYZTXD6H1EXM9")
		uuid, err3 := c.EncodeUUID("ord", [16]byte{})
		_, err4 := c.DecodeUUID("ord", "ord_"+strings.Repeat("0", 26))
		for i, err := range []error{err, err2, err3, err4} {
			if !errors.Is(err, publicid.ErrKeys) {
				t.Errorf("call %d: got %s%s, %v, want ErrKeys", i, text, uuid, err)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	c := codec(f, second+" "+first)
	f.Add("ord", encode(f, c, "ord", 1))
	f.Fuzz(func(t *testing.T, prefix, text string) {
		if id, err := c.Decode(prefix, text); err == nil {
			if again := encode(t, c, prefix, id); again != text && text[len(prefix)+1] < 'G' == (again[len(prefix)+1] < 'G') {
				t.Errorf("%s: got %d, whose name is %s", text, id, again)
			}
		}
	})
}

func BenchmarkCodec(b *testing.B) {
	c := codec(b, first)
	text := encode(b, c, "ord", 1)
	b.Run("call=Encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = c.Encode("ord", 1)
		}
	})
	b.Run("call=Decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = c.Decode("ord", text)
		}
	})
}
