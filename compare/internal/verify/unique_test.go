package verify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/compare/internal/verify"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// every is how many calls there are between two faults of a planted source.
const every = 1000

// guarded is a source that makes single keys, one at a time, by the number of the call.
func guarded(next func(call int64) int64) *source {
	var mu sync.Mutex
	var calls int64
	return &source{next: func(context.Context) (int64, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return next(calls), nil
	}}
}

// twoWords keeps time and sequence apart. In every 1,000th call another caller begins a new tick: in the broken source between this one's two
// reads, in the mended one before both.
func twoWords(mended bool) *source {
	tick, sequence := int64(1), int64(0)
	return guarded(func(call int64) int64 {
		other := func() {
			if call%every == 0 {
				tick, sequence = tick+1, 0
			}
		}
		if mended {
			other()
		}
		t := tick
		if !mended {
			other()
		}
		sequence++
		return t<<12 | sequence
	})
}

// unlocked reads the counter and writes it: every 1,000th call another one has read before this one writes.
func unlocked() *source {
	last := int64(0)
	return guarded(func(call int64) int64 {
		read := last
		if call%every == 1 && call > 1 {
			read--
		}
		last = read + 1
		return last
	})
}

// shifted puts the number of a worker above 12 bits of sequence.
func shifted(shift func(worker uint16) int64) planted {
	return lasting(strategy.Increasing, func(process int) *source {
		return guarded(func(call int64) int64 { return (1000+call>>12)<<30 | shift(uint16(process)) | call&(1<<12-1) })
	})
}

// filled is a counter whose Fill is changed.
func filled(change func([]int64) []int64) func() *source {
	return func() *source {
		s := counter()
		fill := s.fill
		s.fill = func(ctx context.Context, n int) ([]int64, error) {
			numbers, err := fill(ctx, n)
			return change(numbers), err
		}
		return s
	}
}

func TestUniquePlanted(t *testing.T) {
	tests := []struct {
		name     string
		broken   planted
		mended   planted
		check    string
		evidence []string
		options  verify.Options
	}{
		{
			name:     "time and sequence in two words",
			broken:   apart(strategy.Unordered, func() *source { return twoWords(false) }),
			mended:   apart(strategy.Unordered, func() *source { return twoWords(true) }),
			check:    verify.Goroutines,
			evidence: []string{"was given to goroutine ", "(Next) and to goroutine "},
		},
		{
			name:     "a counter without a lock",
			broken:   apart(strategy.Unordered, unlocked),
			mended:   apart(strategy.Unordered, counter),
			check:    verify.Goroutines,
			evidence: []string{"was given to goroutine ", " and to goroutine ", "keys in all had been given before"},
		},
		{
			name:     "a worker shifted out of its 16 bits",
			broken:   shifted(func(worker uint16) int64 { return int64(worker << 12) }),
			mended:   shifted(func(worker uint16) int64 { return int64(worker) << 12 }),
			check:    verify.Processes,
			evidence: []string{"was given to process 0, goroutine ", "and to process 16 by call "},
			options:  verify.Options{Keys: 4000, Processes: 17},
		},
		{
			name:     "one node number in all processes",
			broken:   lasting(strategy.Increasing, func(int) *source { return counter() }),
			mended:   apart(strategy.Increasing, counter),
			check:    verify.Processes,
			evidence: []string{"was given to process 0, goroutine ", ", by call", "and to process "},
		},
		{
			name:     "a Fill that leaves keys unset",
			broken:   apart(strategy.Unordered, filled(func(n []int64) []int64 { n[len(n)-1] = 0; return n })),
			mended:   apart(strategy.Unordered, counter),
			check:    verify.Goroutines,
			evidence: []string{"0 (bytes 0000000000000000) was given to", "an empty key, 0 (bytes 0000000000000000), was given to", "Fill of"},
		},
		{
			name: "a Fill that overlaps Next",
			broken: apart(strategy.Unordered, filled(func(n []int64) []int64 {
				for i := range n {
					n[i]--
				}
				return n
			})),
			mended:   apart(strategy.Unordered, counter),
			check:    verify.Goroutines,
			evidence: []string{"was given to goroutine ", "(Fill of "},
		},
		{
			name:     "a Fill that gives fewer",
			broken:   apart(strategy.Unordered, filled(func(n []int64) []int64 { return n[1:] })),
			mended:   apart(strategy.Unordered, counter),
			check:    verify.Goroutines,
			evidence: []string{"a call gave another number of keys: Fill of ", "goroutine "},
		},
		{
			name: "a Fill that comes round after 64",
			broken: apart(strategy.Unordered, filled(func(n []int64) []int64 {
				for i := 64; i < len(n); i++ {
					n[i] = n[i-64]
				}
				return n
			})),
			mended:   apart(strategy.Unordered, counter),
			check:    verify.Goroutines,
			evidence: []string{"to goroutine 0, after all others, by call 1 (Fill of 1000, its key 1) and to goroutine 0, after all others, by call 1 (Fill of 1000, its key 65)"},
		},
		{
			name: "a process that begins at 1 when it is opened again",
			broken: planted{info: strategy.Info{Order: strategy.Unordered}, open: func(at strategy.Environment) (*source, error) {
				return above(counter(), int64(at.Process)<<40), nil
			}},
			mended:   apart(strategy.Increasing, counter),
			check:    verify.Processes,
			evidence: []string{"process 3 by", "process 3, opened again, by"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			options := test.options
			if options.Keys == 0 {
				options = small
			}
			options.Rows = 20
			found := check(t, test.broken, options)[test.check]
			if found.State != result.Failed {
				t.Errorf("%s of the broken source is %s", test.check, found.State)
			}
			for _, part := range test.evidence {
				if !strings.Contains(found.Evidence, part) {
					t.Errorf("the evidence %q has not %q", found.Evidence, part)
				}
			}
			for name, c := range check(t, test.mended, options) {
				if c.State == result.Failed {
					t.Errorf("%s of the mended source fails: %s", name, c.Evidence)
				}
			}
		})
	}
}

// Keys of several goroutines are told apart in the evidence by who got them and by which call.
func TestUniqueEvidenceNamesBothCalls(t *testing.T) {
	s := apart(strategy.Unordered, func() *source { return guarded(func(call int64) int64 { return max(call, 2) - 1 }) })
	found := check(t, s, verify.Options{Keys: 80, Goroutines: 1})[verify.Goroutines]
	want := fmt.Sprintf("%d (bytes %x) was given to goroutine 0 by call 1 (Next) and to goroutine 0 by call 2 (Next)", 1<<40+1, 1<<40+1)
	want = strings.Replace(want, fmt.Sprintf("%x", 1<<40+1), fmt.Sprintf("%016x", 1<<40+1), 1)
	if found.State != result.Failed || found.Evidence != want {
		t.Errorf("got %s: %q, want %q", found.State, found.Evidence, want)
	}
	if found.Keys != 80 {
		t.Errorf("%d keys were looked at, want 80", found.Keys)
	}
}

func TestUniqueOfKeysThatTheDatabaseMakes(t *testing.T) {
	s := planted{info: strategy.Info{Name: "planted", Order: strategy.Increasing}, open: func(strategy.Environment) (*source, error) {
		return &source{table: newCounted}, nil
	}}
	checks := check(t, s, small)
	if c := checks[verify.Goroutines]; c.State != result.Passed || c.Keys != 200 || !strings.Contains(c.Detail, "several at once were not tried") {
		t.Errorf("%+v", c)
	}
	if c := checks[verify.Processes]; c.State != result.NotRun || c.Detail == "" {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{verify.Order, verify.RoundTrip} {
		if c := checks[name]; c.State != result.Passed || c.Keys != 200 {
			t.Errorf("%+v", c)
		}
	}
}

func TestUniqueOfASourceThatFails(t *testing.T) {
	s := apart(strategy.Unordered, func() *source {
		s := counter()
		s.fill = nil
		next := s.next
		s.next = func(ctx context.Context) (int64, error) {
			if n, err := next(ctx); n < 100 {
				return n, err
			}
			return 0, errors.New("nothing left")
		}
		return s
	})
	c := check(t, s, small)[verify.Goroutines]
	if c.State != result.Failed || !strings.Contains(c.Evidence, "nothing left") || c.Keys != 99 {
		t.Errorf("%+v", c)
	}
}

func TestProcessesWithoutWhatTheyNeed(t *testing.T) {
	s := planted{info: strategy.Info{Name: "planted"}, open: func(at strategy.Environment) (*source, error) {
		if at.Process > 1 {
			return nil, fmt.Errorf("%w: two at most", strategy.ErrUnavailable)
		}
		return counter(), nil
	}}
	c := check(t, s, small)[verify.Processes]
	if c.State != result.NotRun || !strings.HasSuffix(c.Detail, "process 2: not possible here: two at most") {
		t.Errorf("%+v", c)
	}
}
