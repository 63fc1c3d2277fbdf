package uid_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/uid"
)

// at is a clock that stands still.
func at(t time.Time) uid.Option {
	return uid.WithClock(idgen.ClockFunc(func() time.Time { return t }))
}

// bits is a reader of words.
func bits(words ...uint64) uid.Option {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return uid.WithRandom(bytes.NewReader(b))
}

func next[K any](t *testing.T, s idgen.Source[K]) K {
	t.Helper()
	key, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Published keys are made of their own times and random bits.
func TestPublished(t *testing.T) {
	for name, c := range map[string]struct {
		source idgen.Source[[16]byte]
		want   string
	}{
		"RFC 9562, A.3": {uid.V4(bits(0x919108f752d1_0320, 0x1bacf847db4148a8<<2)), "919108f752d143209bacf847db4148a8"},
		"RFC 9562, A.6": {
			uid.V7(at(time.UnixMilli(0x017f22e279b0).Add(797_608*time.Nanosecond)), bits(6<<61, 0x00c4dc0c0c07398f<<6)),
			"017f22e279b07cc398c4dc0c0c07398f",
		},
		"RFC 9562, A.6 by Fill": {
			filling{uid.V7(at(time.UnixMilli(0x017f22e279b0).Add(797_608*time.Nanosecond)), bits(6<<61, 0x00c4dc0c0c07398f<<7, 0))},
			"017f22e279b07cc398c4dc0c0c07398f",
		},
		"github.com/ulid/spec, 01ARZ3NDEKTSV4RRFFQ69G5FAV": {
			uid.ULID(at(time.UnixMilli(1469922850259).Add(0xd67*1_000_000/4096+1)), bits(6<<61, 0x4c61efb99302bd5b)),
			"01563e3ab5d3d6764c61efb99302bd5b",
		},
	} {
		if got := next(t, c.source); hex.EncodeToString(got[:]) != c.want {
			t.Errorf("%s: got %x, want %s", name, got, c.want)
		}
	}
	// The example of MongoDB's manual.
	source := uid.ObjectID(at(time.Unix(0x507f1f77, 999_999_999)), bits(0xbcf86cd799_000000, 0x439010))
	if got := next(t, source); hex.EncodeToString(got[:]) != "507f1f77bcf86cd799439011" {
		t.Errorf("got %x, want 507f1f77bcf86cd799439011", got)
	}
}

// filling is a source whose Next calls Fill.
type filling struct{ idgen.Source[[16]byte] }

func (f filling) Next(ctx context.Context) (key [16]byte, err error) {
	keys := make([][16]byte, 1)
	err = f.Fill(ctx, keys)
	return keys[0], err
}

// wandering is a clock that stands still, steps forward and steps back.
type wandering struct {
	mu     sync.Mutex
	random *rand.Rand
	at     time.Time
}

func (w *wandering) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.random.IntN(20) {
	case 0:
		w.at = w.at.Add(-time.Duration(w.random.IntN(2_000_000_000)))
	case 1, 2, 3:
		w.at = w.at.Add(time.Duration(w.random.IntN(1_000_000)))
	}
	return w.at
}

// Keys of one source increase for each caller and never repeat, whatever the clock does.
func TestIncreasing(t *testing.T) {
	for name, open := range map[string]func(...uid.Option) idgen.Source[[16]byte]{"v7": uid.V7, "ulid": uid.ULID} {
		clock := &wandering{random: rand.New(rand.NewPCG(1, 2)), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		for clocked, source := range map[string]idgen.Source[[16]byte]{
			"wandering": open(uid.WithClock(idgen.ClockFunc(clock.now))), "still": open(at(time.Now())), "machine": open(),
		} {
			increase(t, name+" "+clocked, source, 4)
		}
	}
}

func increase(t *testing.T, name string, source idgen.Source[[16]byte], callers int) {
	t.Helper()
	taken := make([][][16]byte, callers)
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(i)))
			for range 500 {
				keys := make([][16]byte, random.IntN(70))
				if err := source.Fill(t.Context(), keys); err != nil {
					t.Error(err)
				}
				key, err := source.Next(t.Context())
				if err != nil {
					t.Error(err)
				}
				taken[i] = append(append(taken[i], keys...), key)
			}
		})
	}
	running.Wait()
	seen := map[[16]byte]bool{}
	for _, keys := range taken {
		for i, key := range keys {
			if seen[key] {
				t.Fatalf("%s: %x is there twice", name, key)
			}
			seen[key] = true
			if i > 0 && bytes.Compare(keys[i-1][:], key[:]) >= 0 {
				t.Fatalf("%s: %x comes after %x", name, key, keys[i-1])
			}
		}
	}
}

// The random part of a batch ends within its range, whatever the random bits and the length are, and the state above it is one.
func TestBatchRange(t *testing.T) {
	ones := uid.WithRandom(repeated(0xff))
	for _, n := range []int{1, 2, 3, 31, 32, 33, 1023, 1024, 100_000} {
		keys := make([][16]byte, n)
		if err := uid.V7(ones).Fill(t.Context(), keys); err != nil {
			t.Fatal(err)
		}
		if a, b := keys[0], keys[n-1]; !bytes.Equal(a[:8], b[:8]) || a[8]&0xfc != b[8]&0xfc || bytes.Compare(a[:], b[:]) > 0 {
			t.Errorf("V7, %d keys: got %x to %x, want them increasing with one time and count", n, a, b)
		}
		if err := uid.ULID(ones).Fill(t.Context(), keys); err != nil {
			t.Fatal(err)
		}
		if a, b := keys[0], keys[n-1]; !bytes.Equal(a[:8], b[:8]) || bytes.Compare(a[:], b[:]) > 0 {
			t.Errorf("ULID, %d keys: got %x to %x, want them increasing with one time and count", n, a, b)
		}
	}
}

// repeated is a reader of one byte.
type repeated byte

func (r repeated) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r)
	}
	return len(b), nil
}

// Each bit is fixed or random as the standard has it.
func TestBits(t *testing.T) {
	for name, c := range map[string]struct {
		source idgen.Source[[16]byte]
		random string // bits that change while the clock stands still
		fixed  string // the others
	}{
		"v4":   {uid.V4(), "ffffffffffff0fff3fffffffffffffff", "00000000000040008000000000000000"},
		"v7":   {uid.V7(at(time.UnixMilli(0x0123456789ab))), "0000000000000fff3fffffffffffffff", "0123456789ab70008000000000000000"},
		"ulid": {uid.ULID(at(time.UnixMilli(0x0123456789ab))), "000000000000ffffffffffffffffffff", "0123456789ab00000000000000000000"},
	} {
		var ones, zeros [16]byte
		keys := make([][16]byte, 2)
		for range 20_000 { // 40,000 counts, 16 of which are one step of the fraction
			if err := c.source.Fill(t.Context(), keys); err != nil {
				t.Fatal(err)
			}
			for _, key := range append(keys, next(t, c.source)) {
				for i, b := range key {
					ones[i], zeros[i] = ones[i]|b, zeros[i]|^b
				}
			}
		}
		var random, fixed [16]byte
		for i := range random {
			random[i], fixed[i] = ones[i]&zeros[i], ones[i]&^zeros[i]
		}
		if hex.EncodeToString(random[:]) != c.random || hex.EncodeToString(fixed[:]) != c.fixed {
			t.Errorf("%s: bits %x change and %x are one, want %s and %s", name, random, fixed, c.random, c.fixed)
		}
	}
}

// Times that keys cannot carry are an error, and the last ones that they can are not.
func TestTimes(t *testing.T) {
	for _, open := range []func(...uid.Option) idgen.Source[[16]byte]{uid.V7, uid.ULID} {
		for when, want := range map[time.Time]error{
			time.UnixMilli(-1): uid.ErrTime, time.UnixMilli(0): nil, time.UnixMilli(1<<48 - 1): nil, time.UnixMilli(1 << 48): uid.ErrTime,
		} {
			source := open(at(when))
			if _, err := source.Next(t.Context()); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", when, err, want)
			}
			if err := source.Fill(t.Context(), make([][16]byte, 3)); !errors.Is(err, want) {
				t.Errorf("%s: Fill: got %v, want %v", when, err, want)
			}
		}
	}
	for when, want := range map[int64]error{-1: uid.ErrTime, 0: nil, math.MaxUint32: nil, math.MaxUint32 + 1: uid.ErrTime} {
		if _, err := uid.ObjectID(at(time.Unix(when, 0))).Next(t.Context()); !errors.Is(err, want) {
			t.Errorf("%d: got %v, want %v", when, err, want)
		}
	}
}

// After the last state there is none, and not the first one again.
func TestLastInstant(t *testing.T) {
	source := uid.ULID(at(time.UnixMilli(1<<48 - 1).Add(999_999)))
	made := 0
	for last, err := source.Next(t.Context()); err == nil; made++ {
		key := last
		if last, err = source.Next(t.Context()); err == nil && bytes.Compare(key[:], last[:]) >= 0 {
			t.Fatalf("got %x after %x", last, key)
		}
	}
	if made < 8 || made > 16 {
		t.Errorf("got %d keys of the last instant, want 8 to 16", made)
	}
	if err := source.Fill(t.Context(), make([][16]byte, 2)); !errors.Is(err, uid.ErrTime) {
		t.Errorf("got %v, want %v", err, uid.ErrTime)
	}
}

// A clock that was once at a time without keys has spoiled nothing when it is right again.
func TestClockRightAgain(t *testing.T) {
	now := time.Now()
	clock := uid.WithClock(idgen.ClockFunc(func() time.Time { return now }))
	objects, uuids := uid.ObjectID(clock), uid.V7(clock)
	for _, wrong := range []time.Time{time.Unix(math.MaxUint32+1, 0), time.UnixMilli(1 << 48), time.UnixMilli(-1)} {
		right := now
		now = wrong
		_, _ = objects.Next(t.Context())
		_, _ = uuids.Next(t.Context())
		now = right
		if key := next(t, objects); binary.BigEndian.Uint32(key[:]) != uint32(right.Unix()) {
			t.Errorf("after %s: got %x, want a key of %x", wrong, key, right.Unix())
		}
	}
}

// An ObjectID's second is used up, and the next one taken: no key repeats, and none carries a second past the last.
func TestObjectIDSecond(t *testing.T) {
	now := time.Unix(math.MaxUint32-1, 0)
	source := uid.ObjectID(uid.WithClock(idgen.ClockFunc(func() time.Time { return now })))
	keys := make([][12]byte, 1<<20)
	number := func(key [12]byte) (second, counter uint32) {
		return binary.BigEndian.Uint32(key[:]), binary.BigEndian.Uint32(key[8:]) & 0xffffff
	}
	first := next(t, source)
	_, begin := number(first)
	process := [5]byte(first[4:])
	for made := 1; made+len(keys) <= 2<<24; made += len(keys) {
		now = now.Add(-time.Second) // behind all the time
		if err := source.Fill(t.Context(), keys); err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			second, counter := number(key)
			if want := uint32(math.MaxUint32-1) + uint32((made+i)>>24); second != want || counter != (begin+uint32(made+i))&0xffffff || process != [5]byte(key[4:]) {
				t.Fatalf("key %d: got %x, want the second %x and the counter %x", made+i, key, want, (begin+uint32(made+i))&0xffffff)
			}
		}
	}
	if err := source.Fill(t.Context(), keys); !errors.Is(err, uid.ErrTime) {
		t.Errorf("past the last second: got %v, want %v", err, uid.ErrTime)
	}
	if err := source.Fill(t.Context(), keys[:len(keys)-1]); err != nil {
		t.Errorf("the rest of the last second: got %v", err)
	}
}

func TestPublishedObjectID(t *testing.T) {
	when := time.Unix(0x507f1f77, 0)
	a := next(t, uid.PublishedObjectID("example", 0x1_2345, at(when)))
	if got := hex.EncodeToString(a[:9]); got != "507f1f77"+"1a79a4"+"2345" { // 1a79a4d6… is the MD5 of example
		t.Errorf("got %x, want seconds, hash and process 507f1f77 1a79a4 2345", a)
	}
}

// An error of the random bits is returned.
func TestRandomFails(t *testing.T) {
	broken := errors.New("broken")
	option := uid.WithRandom(iotest.ErrReader(broken))
	nano, err := uid.NanoID(uid.NanoIDAlphabet, 21, option)
	if err != nil {
		t.Fatal(err)
	}
	_, errs := nano.Next(t.Context())
	for name, err := range map[string]error{
		"v4": try(uid.V4(option)), "v7": try(uid.V7(option)), "ulid": try(uid.ULID(option)), "objectid": try(uid.ObjectID(option)), "nanoid": errs,
		"v4 fill":   uid.V4(option).Fill(t.Context(), make([][16]byte, 2)),
		"v7 fill":   uid.V7(option).Fill(t.Context(), make([][16]byte, 2)),
		"v7 later":  uid.V7(bits(1, 2)).Fill(t.Context(), make([][16]byte, 2)),
		"nano fill": nano.Fill(t.Context(), make([]string, 2)),
	} {
		if !errors.Is(err, broken) && (name != "v7 later" || !errors.Is(err, io.EOF)) {
			t.Errorf("%s: got %v, want %v", name, err, broken)
		}
	}
}

func try[K any](source idgen.Source[K]) error {
	_, err := source.Next(context.Background())
	return err
}

// Each character of an alphabet is as frequent as the others.
func TestNanoID(t *testing.T) {
	for alphabet, length := range map[string]int{uid.NanoIDAlphabet: 21, "abc": 70, "0123456789": 33, "01": 108} {
		source, err := uid.NanoID(alphabet, length, uid.WithRandom(rand.NewChaCha8([32]byte{1})))
		if err != nil {
			t.Fatal(err)
		}
		keys, count := make([]string, 3000), map[rune]float64{}
		if err := source.Fill(t.Context(), keys); err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if len(key) != length {
				t.Fatalf("got %s, want %d characters", key, length)
			}
			for _, c := range key {
				count[c]++
			}
		}
		expected, squares := float64(len(keys)*length)/float64(len(alphabet)), 0.0
		for _, c := range alphabet {
			squares += (count[c] - expected) * (count[c] - expected) / expected
		}
		if freedom := float64(len(alphabet) - 1); squares > freedom+5*math.Sqrt(2*freedom) {
			t.Errorf("%s: a chi-square of %.1f with %.0f degrees of freedom", alphabet, squares, freedom)
		}
	}
	for alphabet, length := range map[string]int{"": 21, "a": 500, "aa": 200, "ab c": 100, "abcä": 100, uid.NanoIDAlphabet: 17} {
		if _, err := uid.NanoID(alphabet, length); !errors.Is(err, uid.ErrNanoID) {
			t.Errorf("%q, %d: got %v, want %v", alphabet, length, err, uid.ErrNanoID)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	source, err := uid.NanoID("abc", 100, uid.WithRandom(repeated(0xff)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
