package verify_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/compare/internal/verify"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// swapped is a counter that gives a key late once every 1,000 calls: it is less than those of the twenty calls before.
func swapped() *source {
	return guarded(func(call int64) int64 {
		if call%every == 500 {
			return (call-20)*16 + 1
		}
		return call * 16
	})
}

// timed is a source of keys with milliseconds on top: 41 bits, and 22 below them. Each tenth call begins a new millisecond. wrap is what it does
// with a time that no longer fits.
func timed(from int64, wrap func(tick int64) int64) func() *source {
	return func() *source {
		return guarded(func(call int64) int64 { return wrap(from+call/10)<<22 | call%10 })
	}
}

func TestOrderPlanted(t *testing.T) {
	const last = 1<<41 - 1
	same := func(tick int64) int64 { return tick }
	plain := func(order strategy.Ordering, open func() *source) planted {
		return lasting(order, func(process int) *source { return above(open(), int64(process)<<12) })
	}
	tests := []struct {
		name           string
		broken, mended planted
		evidence       []string
		detail         string
	}{
		{
			name:     "keys in the wrong order",
			broken:   apart(strategy.Increasing, swapped),
			mended:   apart(strategy.Increasing, counter),
			evidence: []string{"is not greater than 10995116", "given before it to goroutine "},
			detail:   "promises increasing keys: ",
		},
		{
			name:   "a time that begins again after 41 bits",
			broken: plain(strategy.Increasing, timed(last-100, func(tick int64) int64 { return tick & last })),
			mended: plain(strategy.Increasing, timed(last-1000, same)),
			// The keys of the last 100 ticks are 9223372036 and nine more digits; which of them is met first is a matter of chance.
			evidence: []string{"is not greater than 9223372036", "(bytes 7fffffff", "given before it to goroutine "},
			detail:   " inversions among 39",
		},
		{
			name:     "a time that goes on after 41 bits",
			broken:   plain(strategy.Increasing, timed(last-510, same)),
			mended:   plain(strategy.Increasing, timed(last-1000, same)),
			evidence: []string{"the negative key -9223372036854775808 (bytes 8000000000000000) was given to the session that inserted rows by call ", "the database has -9"},
			detail:   "promises increasing keys: 0 inversions",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			options := small
			options.Goroutines = 2
			c := check(t, test.broken, options)[verify.Order]
			if c.State != result.Failed || !strings.Contains(c.Detail, test.detail) {
				t.Errorf("the broken source: %+v", c)
			}
			for _, part := range test.evidence {
				if !strings.Contains(c.Evidence, part) {
					t.Errorf("the evidence %q has not %q", c.Evidence, part)
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

// ticking is a strategy of keys that are ordered by their millisecond alone; back is subtracted from every 100th.
func ticking(back int64) planted {
	return planted{info: strategy.Info{Name: "planted", Order: strategy.Ticks, Unit: time.Millisecond, Clock: true},
		open: func(at strategy.Environment) (*source, error) {
			clock := at.Clock
			if clock == nil {
				clock = idgen.ClockFunc(time.Now)
			}
			return guarded(func(call int64) int64 {
				tick := clock.Wall().UnixMilli()
				if call%100 == 0 {
					tick -= back
				}
				// Those of a tick come in decreasing order.
				return tick<<20 | int64(at.Process)<<18 | (1<<18 - 1 - call)
			}), nil
		}}
}

func TestOrderOfTicks(t *testing.T) {
	t.Parallel()
	c := check(t, ticking(0), small)[verify.Order]
	if c.State != result.Passed || !strings.Contains(c.Detail, "at 20 times 2.5ms apart, 0 inversions among 304 pairs") {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(c.Detail, "of all others nothing is promised: ") || strings.Contains(c.Detail, "promised: 0 inversions") {
		t.Errorf("the inversions within a tick are not told: %s", c.Detail)
	}
	c = check(t, ticking(50), small)[verify.Order]
	if c.State != result.Failed || !strings.Contains(c.Evidence, "though drawn 2.5ms later") || !strings.Contains(c.Detail, "3 inversions among 304 pairs") {
		t.Errorf("%+v", c)
	}
}

// Ticks of a source that goes by no clock of the place are waited for when they are short.
func TestOrderOfTicksOfTheMachine(t *testing.T) {
	var mu sync.Mutex
	tick := int64(0)
	s := lasting(strategy.Ticks, func(process int) *source {
		return &source{next: func(context.Context) (int64, error) {
			mu.Lock()
			defer mu.Unlock()
			tick++
			return tick<<8 | int64(process), nil
		}}
	})
	s.info.Unit = 100 * time.Microsecond
	if c := check(t, s, small)[verify.Order]; c.State != result.Passed || !strings.Contains(c.Detail, "0 inversions among 304 pairs") {
		t.Errorf("%+v", c)
	}
	s.info.Unit = time.Second
	if c := check(t, s, small)[verify.Order]; c.State != result.NotRun || !strings.Contains(c.Detail, "too long to wait for") {
		t.Errorf("%+v", c)
	}
}

// Keys without a promise are not checked, yet what was seen is told, and the database has to agree with the keys.
func TestOrderWithoutAPromise(t *testing.T) {
	s := apart(strategy.Unordered, func() *source { return guarded(func(call int64) int64 { return call * 2654435761 & (1<<32 - 1) }) })
	c := check(t, s, small)[verify.Order]
	if c.State != result.NotRun || !strings.Contains(c.Detail, "promises no order: ") || strings.Contains(c.Detail, "order: 0 inv") ||
		!strings.Contains(c.Detail, "the database's order of 200 rows: 0 inversions among 199 pairs") {
		t.Errorf("%+v", c)
	}
}

// folded is the base62 text of a key in a column whose collation does not tell cases apart; exact is one that is compared byte by byte.
type folded string

func (folded) GormDataType() string { return "varchar(11)" }

type exact string

func (exact) GormDataType() string { return "varbinary(11)" }

func base62Table[K ~string](db *gorm.DB, name string, s *source) (strategy.Table, error) {
	numbers := map[K]strategy.Key{}
	return newTable(db, name, s, func(text K) strategy.Key { return numbers[text] }, func(key strategy.Key) K {
		text := K(base62(toNumber(key)))
		numbers[text] = key
		return text
	})
}

// An order that two letters have in bytes and not in a collation is found, with the two keys that the database has the other way round.
func TestOrderOfTextUnderACollation(t *testing.T) {
	t.Parallel()
	// The last of the digits goes from N to Z and from a to m, so that no two texts are equal when their cases are not told apart.
	with := func(table func(*gorm.DB, string, *source) (strategy.Table, error)) planted {
		return lasting(strategy.Increasing, func(process int) *source {
			s := above(guarded(func(call int64) int64 { return call/26*62 + 23 + call%26 }), int64(process+1)*62*62*62*62*62)
			s.table = table
			return s
		})
	}
	c := checkOn(t, dbtest.MySQL(t), with(base62Table[folded]), small)
	order := c[verify.Order]
	if order.State != result.Failed || !strings.Contains(order.Detail, "promises increasing keys: 0 inversions") ||
		!strings.Contains(order.Evidence, "the database has ") {
		t.Errorf("%+v", order)
	}
	if c[verify.RoundTrip].State != result.Passed {
		t.Errorf("%+v", c[verify.RoundTrip])
	}
	for name, c := range checkOn(t, dbtest.MySQL(t), with(base62Table[exact]), small) {
		if c.State == result.Failed {
			t.Errorf("%s of a column of bytes fails: %s", name, c.Evidence)
		}
	}
}
