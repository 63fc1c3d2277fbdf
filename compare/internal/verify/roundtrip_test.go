package verify_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/compare/internal/verify"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// stored is a strategy that is right but for its table.
func stored(table func(db *gorm.DB, name string, s *source) (strategy.Table, error)) planted {
	return apart(strategy.Increasing, func() *source { s := counter(); s.table = table; return s })
}

func losing(row int) func(db *gorm.DB, name string, s *source) (strategy.Table, error) {
	return func(db *gorm.DB, name string, s *source) (strategy.Table, error) {
		t, err := newTable(db, name, s, number, toNumber)
		t.lose = row
		return t, err
	}
}

// mixed returns the keys of an INSERT in another order than that of its rows.
type mixed struct{ *table[int64] }

func (m mixed) Insert(ctx context.Context, orders []strategy.Order) ([]strategy.Key, error) {
	made, err := m.table.Insert(ctx, orders)
	if len(made) > 1 {
		made[0], made[1] = made[1], made[0]
	}
	return made, err
}

// blind gives all rows when it is asked for one by its key, but loses the last in order.
type blind struct{ *table[int64] }

func (b blind) Ordered(ctx context.Context, n int, see func(strategy.Key, strategy.Order) error) error {
	return b.table.Ordered(ctx, min(n, 199), see)
}

// doubled gives one row twice in order.
type doubled struct{ *table[int64] }

func (d doubled) Ordered(ctx context.Context, n int, see func(strategy.Key, strategy.Order) error) error {
	return d.table.Ordered(ctx, n, func(key strategy.Key, order strategy.Order) error {
		if toNumber(key)&127 == 100 {
			if err := see(key, order); err != nil {
				return err
			}
		}
		return see(key, order)
	})
}

// rounded loses the cents.
type rounded struct{ *table[int64] }

func (r rounded) Insert(ctx context.Context, orders []strategy.Order) ([]strategy.Key, error) {
	for i := range orders {
		orders[i].Total -= orders[i].Total % 100
	}
	return r.table.Insert(ctx, orders)
}

// slow takes its time for each row.
type slow struct{ *table[int64] }

func (s slow) Find(ctx context.Context, key strategy.Key) (strategy.Key, strategy.Order, error) {
	time.Sleep(5 * time.Millisecond)
	return s.table.Find(ctx, key)
}

// A database that is far away is no fault of the strategy: as many rows are looked at as there is time for.
func TestRoundTripOfASlowDatabase(t *testing.T) {
	options := small
	options.Bound = 300 * time.Millisecond
	c := check(t, stored(func(db *gorm.DB, name string, s *source) (strategy.Table, error) {
		t, err := newTable(db, name, s, number, toNumber)
		return slow{t}, err
	}), options)[verify.RoundTrip]
	if c.State != result.Passed || c.Keys == 0 || strings.Contains(c.Detail, " 200 of them read one by one") {
		t.Errorf("%+v", c)
	}
}

func TestRoundTripPlanted(t *testing.T) {
	over := func(wrap func(*table[int64]) strategy.Table) func(*gorm.DB, string, *source) (strategy.Table, error) {
		return func(db *gorm.DB, name string, s *source) (strategy.Table, error) {
			t, err := newTable(db, name, s, number, toNumber)
			return wrap(t), err
		}
	}
	tests := []struct {
		name     string
		table    func(db *gorm.DB, name string, s *source) (strategy.Table, error)
		evidence []string
	}{
		{"a value of 32 bits", func(db *gorm.DB, name string, s *source) (strategy.Table, error) {
			return newTable(db, name, s, func(k short) strategy.Key { return number(int64(k)) }, func(k strategy.Key) short { return short(toNumber(k)) })
		}, []string{"row 1 of 200, inserted as key 10995116", " was read by its key as key ", "(bytes 00000000000"}},
		{"a row that is lost", losing(13), []string{"row 16 of 200, inserted as key ", " is not found: record not found",
			"of 200 rows did not come back in order, the first of them row 16"}},
		{"keys that are returned for other rows", over(func(t *table[int64]) strategy.Table { return mixed{t} }),
			[]string{"row 2 of 200, inserted as key ", " was read by its key as key ", "was read in order as"}},
		{"a row that is not in the order", over(func(t *table[int64]) strategy.Table { return blind{t} }),
			[]string{"1 of 200 rows did not come back in order, the first of them row 200, inserted as key "}},
		{"a row that comes twice", over(func(t *table[int64]) strategy.Table { return doubled{t} }),
			[]string{"in order came key ", "which was not inserted, or twice"}},
		{"an order that is changed", over(func(t *table[int64]) strategy.Table { return rounded{t} }),
			[]string{"row 1 of 200, inserted as key ", " was read by its key as key "}},
		{"keys that goroutines were given", func(db *gorm.DB, name string, _ *source) (strategy.Table, error) {
			return newTable[int64](db, name, above(counter(), 1<<40), number, toNumber)
		}, []string{" was given to goroutine ", " and to the session that inserted rows by call 1 (Fill of 200, its key "}},
		{"the table that is right", nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := check(t, stored(test.table), small)[verify.RoundTrip]
			if want := test.evidence == nil; (c.State == result.Passed) != want || (c.Evidence == "") != want {
				t.Errorf("%+v", c)
			}
			for _, part := range test.evidence {
				if !strings.Contains(c.Evidence, part) {
					t.Errorf("the evidence %q has not %q", c.Evidence, part)
				}
			}
		})
	}
}
