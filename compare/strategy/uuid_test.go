package strategy_test

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"strings"
	"sync"
	"testing"
	"time"

	"crypto/md5"
	"os"

	"github.com/google/uuid"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// stepping is a clock that is set by hand.
type stepping struct {
	sync.Mutex
	at time.Time
}

func (s *stepping) now() time.Time {
	s.Lock()
	defer s.Unlock()
	return s.at
}

func (s *stepping) set(at time.Time) {
	s.Lock()
	defer s.Unlock()
	s.at = at
}

// opened opens a strategy that needs no database.
func opened(t testing.TB, name string, process int, clock idgen.Clock) strategy.Keys {
	t.Helper()
	keys, err := byName(t, name).Open(t.Context(), strategy.Environment{Prefix: prefix, Process: process, Processes: 64, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := keys.Close(); err != nil {
			t.Error(err)
		}
	})
	return keys
}

func next(t testing.TB, keys strategy.Keys) strategy.Key {
	t.Helper()
	key, err := keys.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestUUIDs(t *testing.T) {
	for name, version := range map[string]uuid.Version{"uuidv1": 1, "uuidv4": 4, "uuidv7": 7} {
		for _, name := range []string{name, name + "-text"} {
			keys := opened(t, name, 0, nil)
			var ones [16]byte // bits that were ever one, and zero
			var zeros [16]byte
			for range 500 {
				key := next(t, keys)
				u, err := uuid.FromBytes([]byte(key))
				if err != nil || u.Version() != version || u.Variant() != uuid.RFC4122 {
					t.Fatalf("%s: got %s, %v, of version %d and variant %s, want %d", name, keys.Text(key), err, u.Version(), u.Variant(), version)
				}
				if keys.Text(key) != u.String() {
					t.Fatalf("%s: got the text %s of %s", name, keys.Text(key), u)
				}
				for i := range u {
					ones[i] |= u[i]
					zeros[i] |= ^u[i]
				}
			}
			changing := 0
			for i := range ones {
				changing += bits.OnesCount8(ones[i] & zeros[i])
			}
			if random := byName(t, name).Info().Random; changing < random || name[:6] == "uuidv4" && changing != random {
				t.Errorf("%s: %d bits change, of which %d are said to be random", name, changing, random)
			}
		}
	}
}

// TestUUIDV1 shows where the parts are, and what happens when the clock stands still and when it steps back.
func TestUUIDV1(t *testing.T) {
	at := time.Date(2022, 2, 22, 19, 22, 22, 0, time.UTC) // the vector of RFC 9562, A.1, which is 14:22:22 at UTC-5
	clock := &stepping{at: at}
	keys := opened(t, "uuidv1", 0, idgen.ClockFunc(clock.now))
	first := next(t, keys)
	if got := keys.Text(first); !strings.HasPrefix(got, "c232ab00-9414-11ec-") {
		t.Errorf("got %s, want c232ab00-9414-11ec-… as the standard has it", got)
	}
	second := next(t, keys)
	if got := uuid.UUID([]byte(second)).Time() - uuid.UUID([]byte(first)).Time(); got != 1 || first[8:] != second[8:] {
		t.Errorf("a clock that stands still: %d ticks further, want 1, and the same clock sequence", got)
	}
	clock.set(at.Add(-time.Second))
	back := next(t, keys)
	if a, b := uuid.UUID([]byte(first)), uuid.UUID([]byte(back)); b.Time()-a.Time() != -1e7 || b.ClockSequence() == a.ClockSequence() {
		t.Errorf("a clock that steps back: got %s after %s, want a second before with another clock sequence", b, a)
	}
	// Another process, and the same one that is started again.
	for _, process := range []int{1, 0} {
		other := opened(t, "uuidv1", process, idgen.ClockFunc(clock.now))
		if got := next(t, other); got[10:] != back[10:] || got[8:10] == first[8:10] || got[8:10] == back[8:10] {
			t.Errorf("process %d: got %s, want the machine's address as in %s, and another clock sequence", process, other.Text(got), keys.Text(back))
		}
	}
}

// TestObjectIDs shows where the parts of the two layouts are.
func TestObjectIDs(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	clock := &stepping{at: time.Unix(0x507f1f77, 999_999_999)} // the seconds of 507f1f77bcf86cd799439011, the example of MongoDB's manual
	counter := func(key strategy.Key) uint32 { return binary.BigEndian.Uint32([]byte("\x00" + key[9:])) }
	processes := map[string]bool{}
	for _, name := range []string{"objectid-published", "objectid"} {
		for process := range 3 {
			keys := opened(t, name, process, idgen.ClockFunc(clock.now))
			first, second := next(t, keys), next(t, keys)
			if text := keys.Text(first); len(first) != 12 || text != hex.EncodeToString([]byte(first)) || text[:8] != "507f1f77" {
				t.Errorf("%s: got %s, want 12 bytes that begin with 507f1f77", name, text)
			}
			if first[:9] != second[:9] || (counter(second)-counter(first))&0xffffff != 1 {
				t.Errorf("%s: got %x and %x, want the second to have the next number", name, first, second)
			}
			machine := md5.Sum([]byte(host))
			want := binary.BigEndian.AppendUint16(machine[:3:3], uint16(os.Getpid()+process))
			if (string(want) == string(first[4:9])) != (name == "objectid-published") {
				t.Errorf("%s: got %x for machine and process, and those are %x", name, first[4:9], want)
			}
			processes[string(first[4:9])] = true
		}
	}
	if len(processes) != 6 {
		t.Errorf("%d of 6 processes differ", len(processes))
	}
}
