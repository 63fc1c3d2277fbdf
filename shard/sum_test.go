package shard_test

import (
	"bufio"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// TestMixPublished: the first outputs of splitmix64 with the seed 1234567, which are published with many implementations of it.
func TestMixPublished(t *testing.T) {
	const step = 0x9e3779b97f4a7c15
	state := uint64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := shard.Mix(state); got != want {
			t.Errorf("output %d is %d, want %d", i+1, got, want)
		}
		state += step
	}
}

// TestTextPublished: test vectors of FNV-1a of its authors (Noll), by their sums, and the standard library's FNV-1a.
func TestTextPublished(t *testing.T) {
	for text, hash := range map[string]uint64{"": 0xcbf29ce484222325, "a": 0xaf63dc4c8601ec8c, "foobar": 0x85944171f73967e8} {
		if got, err := shard.Sum(text); err != nil || got != shard.Mix(hash) {
			t.Errorf("Sum(%q) = %x, %v, want %x", text, got, err, shard.Mix(hash))
		}
		library := fnv.New64a()
		if _, err := library.Write([]byte(text)); err != nil || library.Sum64() != hash {
			t.Errorf("%q: the library's is %x, %v, want %x", text, library.Sum64(), err, hash)
		}
	}
}

// TestSumVectors holds the sums to those that rows are already where they say.
func TestSumVectors(t *testing.T) {
	file, err := os.Open("testdata/sums.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		kind, rest, _ := strings.Cut(line, " ")
		words := strings.Fields(rest)
		bucketText, sumText := words[len(words)-1], words[len(words)-2]
		keyText := strings.TrimSuffix(rest, " "+sumText+" "+bucketText)
		wantSum, err := strconv.ParseUint(sumText, 16, 64)
		if err != nil {
			t.Fatal(line, err)
		}
		wantBucket, err := strconv.ParseInt(bucketText, 10, 64)
		if err != nil {
			t.Fatal(line, err)
		}
		for _, key := range vectorKeys(t, kind, keyText) {
			if got, err := shard.Sum(key); err != nil || got != wantSum {
				t.Errorf("Sum(%T %v) = %016x, %v, want %016x", key, key, got, err, wantSum)
			}
			if got, err := shard.Bucket(idgen.Sharded.Layout, key); err != nil || got != wantBucket {
				t.Errorf("Bucket(%T %v) = %d, %v, want %d", key, key, got, err, wantBucket)
			}
		}
	}
	if n < 70 {
		t.Errorf("%d vectors, want those of the file", n)
	}
}

// vectorKeys returns the forms in which a key of the vectors can be given.
func vectorKeys(t *testing.T, kind, text string) []any {
	t.Helper()
	raw, err := []byte(nil), error(nil)
	switch kind {
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(text, err)
		}
		keys := []any{n, int(n), uint64(n), userID(n), &n, sql.NullInt64{Int64: n, Valid: true}, sql.Null[int64]{V: n, Valid: true}, wrapped{n}}
		if int64(int8(n)) == n {
			keys = append(keys, int8(n))
		}
		if int64(int16(n)) == n {
			keys = append(keys, int16(n))
		}
		if int64(int32(n)) == n {
			keys = append(keys, int32(n), time.Duration(n))
		}
		if int64(uint8(n)) == n {
			keys = append(keys, uint8(n))
		}
		if int64(uint16(n)) == n {
			keys = append(keys, uint16(n))
		}
		if int64(uint32(n)) == n {
			keys = append(keys, uint32(n), uint(n), uintptr(n))
		}
		return keys
	case "uint":
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(text, err)
		}
		return []any{n, uint(n), int64(n), &n, sql.Null[uint64]{V: n, Valid: true}}
	case "text":
		var s string
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(text, err)
		}
		return []any{s, []byte(s), email(s), &s, json.RawMessage(s), sql.NullString{String: s, Valid: true}, sql.Null[string]{V: s, Valid: true}, wrapped{s}, wrapped{[]byte(s)}}
	case "bytes":
		if raw, err = hex.DecodeString(text); err != nil {
			t.Fatal(text, err)
		}
		return []any{raw, string(raw), json.RawMessage(raw), &raw}
	case "uuid":
		if raw, err = hex.DecodeString(text); err != nil {
			t.Fatal(text, err)
		}
		id, array := uuid.UUID(raw), [16]byte(raw)
		// A UUID gives the database its text; the sum is of its bytes all the same, in whatever it is.
		return []any{raw, id, &id, array, &array, digestOf(raw), sql.Null[uuid.UUID]{V: id, Valid: true}, &sql.Null[uuid.UUID]{V: id, Valid: true}}
	}
	t.Fatalf("no kind of keys is named %q", kind)
	return nil
}

type (
	userID  int64
	email   string
	digest  [16]octet
	octet   byte
	floats  []float64
	wrapped struct{ value any }
	loop    *loop
	pointed struct{ n int64 }
)

func (w wrapped) Value() (driver.Value, error) { return w.value, nil }

// Value has a pointer as its receiver.
func (p *pointed) Value() (driver.Value, error) { return p.n, nil }

// Value is not asked: what it is made of counts.
func (id userID) Value() (driver.Value, error) { return nil, errors.New("asked") }

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Value() (driver.Value, error) { return nil, errBroken }

func TestSumOfPointers(t *testing.T) {
	n := int64(42)
	p := &n
	pp := &p
	var boxed any = pp
	want := shard.Mix(42)
	for _, key := range []any{p, pp, &pp, boxed, &boxed, &pointed{42}, &[]any{wrapped{n}}[0], &sql.Null[*int64]{V: p, Valid: true}} {
		if got, err := shard.Sum(key); err != nil || got != want {
			t.Errorf("Sum(%T) = %x, %v, want %x", key, got, err, want)
		}
	}
}

func TestSumErrKey(t *testing.T) {
	var (
		nilPointer *int64
		nilValuer  *wrapped
		nilPointed *pointed
		nilAny     any
		endless    loop
	)
	endless = &endless
	for _, key := range []any{
		nil, nilPointer, &nilPointer, nilValuer, nilPointed, &nilAny, []byte(nil), json.RawMessage(nil), endless,
		1.5, float32(1), true, complex(1, 1), time.Now(), struct{}{}, []int{1}, [2]int{1, 2}, floats{1}, map[string]int{}, func() {}, make(chan int),
		pointed{1}, broken{}, wrapped{nil}, wrapped{1.5}, wrapped{true}, wrapped{time.Now()}, wrapped{[]byte(nil)},
		sql.NullInt64{}, sql.NullString{}, sql.Null[int64]{}, sql.Null[uuid.UUID]{}, sql.Null[float64]{V: 1, Valid: true}, sql.NullBool{Bool: true, Valid: true},
		&sql.Null[int64]{}, sql.Null[*int64]{Valid: true}, &[]string{"a"}, errors.New("x"), new(struct{}),
	} {
		if got, err := shard.Sum(key); !errors.Is(err, shard.ErrKey) || got != 0 {
			t.Errorf("Sum(%T) = %x, %v, want 0 and ErrKey", key, got, err)
		}
	}
	if _, err := shard.Sum(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("Sum of what has no value: %v, want its error too", err)
	}
}

func TestSumsDiffer(t *testing.T) {
	id := uuid.MustParse("f47ac10b-58cc-4372-a567-0e02b2c3d479")
	for name, pair := range map[string][2]any{
		"a number and its text": {42, "42"},
		"a UUID and its text":   {id, id.String()},
		"case":                  {"acme", "ACME"},
		"none and a zero byte":  {"", "\x00"},
		"signs":                 {1, -1},
	} {
		a, errA := shard.Sum(pair[0])
		b, errB := shard.Sum(pair[1])
		if a == b || errA != nil || errB != nil {
			t.Errorf("%s: %x, %v and %x, %v, want two sums", name, a, errA, b, errB)
		}
	}
}

func TestBucketErrors(t *testing.T) {
	if _, err := shard.Bucket(idgen.Snowkey.Layout, 1); !errors.Is(err, shard.ErrLayout) {
		t.Errorf("a layout without shards: %v, want ErrLayout", err)
	}
	if _, err := shard.Bucket(idgen.Layout{}, 1); !errors.Is(err, shard.ErrLayout) {
		t.Errorf("the zero layout: %v, want ErrLayout", err)
	}
	if _, err := shard.Bucket(idgen.Sharded.Layout, nil); !errors.Is(err, shard.ErrKey) {
		t.Errorf("no key: %v, want ErrKey", err)
	}
}

func TestSumAllocatesNothing(t *testing.T) {
	id := uuid.MustParse("f47ac10b-58cc-4372-a567-0e02b2c3d479")
	n := userID(123456789)
	for _, key := range []any{
		int64(123456789), int(-123456789), uint64(math.MaxUint64), int32(-70000), uint16(70), "a text of some length, longer than a register",
		[]byte("bytes"), [16]byte(id), id, n, &n, email("e"), sql.Null[uuid.UUID]{V: id, Valid: true},
	} {
		if got := testing.AllocsPerRun(100, func() { _, _ = shard.Sum(key) }); got != 0 {
			t.Errorf("Sum(%T) allocates %v times", key, got)
		}
	}
}

func FuzzSum(f *testing.F) {
	f.Add(int64(0), []byte{})
	f.Add(int64(math.MinInt64), []byte("foobar"))
	f.Add(int64(-1), []byte{0xff, 0})
	f.Fuzz(func(t *testing.T, n int64, bytes []byte) {
		same := func(keys ...any) {
			t.Helper()
			want, err := shard.Sum(keys[0])
			if err != nil {
				t.Fatalf("Sum(%T %v): %v", keys[0], keys[0], err)
			}
			for _, key := range keys[1:] {
				if got, err := shard.Sum(key); err != nil || got != want {
					t.Errorf("Sum(%T %v) = %x, %v, want %x as of %T", key, key, got, err, want, keys[0])
				}
			}
		}
		same(n, int(n), uint64(n), uint(n), userID(n), &n, wrapped{n}, sql.Null[uint64]{V: uint64(n), Valid: true})
		same(int64(int8(n)), int8(n))
		same(int64(int16(n)), int16(n))
		same(int64(int32(n)), int32(n))
		same(uint64(uint8(n)), uint8(n))
		same(uint64(uint16(n)), uint16(n))
		same(uint64(uint32(n)), uint32(n))
		if bytes == nil {
			bytes = []byte{}
		}
		same(bytes, string(bytes), email(bytes), &bytes, wrapped{string(bytes)})
		library := fnv.New64a()
		_, _ = library.Write(bytes)
		if got, err := shard.Sum(bytes); err != nil || got != shard.Mix(library.Sum64()) {
			t.Errorf("Sum(%x) = %x, %v, want Mix of %x", bytes, got, err, library.Sum64())
		}
		if len(bytes) >= 16 {
			same(bytes[:16], [16]byte(bytes), uuid.UUID(bytes[:16]), digestOf(bytes))
		}
		if len(bytes) >= 3 {
			same(bytes[:3], [3]byte(bytes))
		}
	})
}

// TestBucketsAreEven guards what low bits of keys do not: that a pattern in the keys is none in the buckets. The limits of χ² with 1,023 degrees of
// freedom are those of one case in a thousand on each side.
func TestBucketsAreEven(t *testing.T) {
	const keys, buckets, least, most = 1_000_000, 1024, 889, 1168
	square := func(count *[buckets]int) (sum float64) {
		for _, n := range count {
			d := float64(n) - keys/float64(buckets)
			sum += d * d / (keys / float64(buckets))
		}
		return sum
	}
	for name, key := range map[string]func(i int64) int64{
		"snowflake ids of one node, 50 a second": func(i int64) int64 { return (1_000_000_000+20*i)<<22 | 3<<12 },
		"multiples of 16":                        func(i int64) int64 { return 16 * i },
		"steps of 10 from 7":                     func(i int64) int64 { return 7 + 10*i },
	} {
		t.Run(name, func(t *testing.T) {
			var mixed, raw [buckets]int
			for i := range int64(keys) {
				sum, err := shard.Sum(key(i))
				if err != nil {
					t.Fatal(err)
				}
				mixed[sum&(buckets-1)]++
				raw[key(i)&(buckets-1)]++
			}
			if got := square(&mixed); got < least || got > most {
				t.Errorf("χ² is %.0f, want %d to %d", got, least, most)
			}
			if got := square(&raw); got >= least && got <= most {
				t.Errorf("χ² of the keys' low bits is %.0f: this test tells nothing", got)
			}
		})
	}
}

func BenchmarkSum(b *testing.B) {
	id := uuid.MustParse("f47ac10b-58cc-4372-a567-0e02b2c3d479")
	b.Run("key=mix", func(b *testing.B) { // the floor
		var sum uint64
		for b.Loop() {
			sum = shard.Mix(sum)
		}
	})
	for _, key := range []any{int64(123456789), userID(123456789), "user@example.com", [16]byte(id), id} {
		b.Run(fmt.Sprintf("key=%T", key), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := shard.Sum(key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// digestOf returns an array of a named type of bytes.
func digestOf(bytes []byte) (d digest) {
	for i := range d {
		d[i] = octet(bytes[i])
	}
	return d
}
