package verify_test

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/compare/internal/verify"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// planted is a strategy whose faults are known.
type planted struct {
	info strategy.Info
	open func(at strategy.Environment) (*source, error)
}

func (p planted) Info() strategy.Info { return p.info }

func (p planted) Open(_ context.Context, at strategy.Environment) (strategy.Keys, error) {
	s, err := p.open(at)
	if err != nil {
		return nil, err
	}
	return keys{s}, nil
}

// source is where the keys of a planted strategy come from.
type source struct {
	next  func(ctx context.Context) (int64, error)          // nil: the database makes keys
	fill  func(ctx context.Context, n int) ([]int64, error) // nil: not offered
	close func() error
	table func(db *gorm.DB, name string, s *source) (strategy.Table, error) // nil: a column of 64 bits
}

type keys struct{ *source }

func (k keys) Next(ctx context.Context) (strategy.Key, error) {
	if k.next == nil {
		return "", errors.ErrUnsupported
	}
	n, err := k.next(ctx)
	return number(n), err
}

func (k keys) Fill(ctx context.Context, n int) ([]strategy.Key, error) {
	if k.fill == nil {
		return nil, errors.ErrUnsupported
	}
	numbers, err := k.fill(ctx, n)
	made := make([]strategy.Key, len(numbers))
	for i := range numbers {
		made[i] = number(numbers[i])
	}
	return made, err
}

func (k keys) Generate(context.Context, int) error { return errors.ErrUnsupported }
func (k keys) Batch(context.Context, int) error    { return errors.ErrUnsupported }

func (k keys) Text(key strategy.Key) string { return itoa(toNumber(key)) }

func (k keys) Number(key strategy.Key) (int64, bool) { return toNumber(key), true }

func (k keys) Table(_ context.Context, db *gorm.DB, name string) (strategy.Table, error) {
	if k.table != nil {
		return k.table(db, name, k.source)
	}
	return newTable[int64](db, name, k.source, number, toNumber)
}

func (k keys) Close() error {
	if k.close != nil {
		return k.close()
	}
	return nil
}

func number(n int64) strategy.Key {
	return strategy.Key(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func toNumber(key strategy.Key) int64 {
	if len(key) != 8 {
		return -1
	}
	return int64(binary.BigEndian.Uint64([]byte(key)))
}

// counter is a source that counts and is right.
func counter() *source {
	var mu sync.Mutex
	var last int64
	take := func(n int) int64 {
		mu.Lock()
		defer mu.Unlock()
		last += int64(n)
		return last - int64(n) + 1
	}
	return &source{
		next: func(context.Context) (int64, error) { return take(1), nil },
		fill: func(_ context.Context, n int) ([]int64, error) { return run(take(n), n), nil },
	}
}

// run is n numbers from the first.
func run(first int64, n int) []int64 {
	numbers := make([]int64, n)
	for i := range numbers {
		numbers[i] = first + int64(i)
	}
	return numbers
}

// lasting is a strategy whose sources go on where they were when their process is opened again.
func lasting(order strategy.Ordering, open func(process int) *source) planted {
	var mu sync.Mutex
	sources := map[int]*source{}
	return planted{info: strategy.Info{Name: "planted", Order: order}, open: func(at strategy.Environment) (*source, error) {
		mu.Lock()
		defer mu.Unlock()
		if sources[at.Process] == nil {
			sources[at.Process] = open(at.Process)
		}
		return sources[at.Process], nil
	}}
}

// apart is a lasting strategy whose processes are apart by a base.
func apart(order strategy.Ordering, open func() *source) planted {
	return lasting(order, func(process int) *source { return above(open(), int64(process+1)<<40) })
}

// above adds a number to all keys but those that are 0.
func above(s *source, base int64) *source {
	next, fill := s.next, s.fill
	s.next = func(ctx context.Context) (int64, error) {
		n, err := next(ctx)
		return base + n, err
	}
	if fill == nil {
		return s
	}
	s.fill = func(ctx context.Context, n int) ([]int64, error) {
		numbers, err := fill(ctx, n)
		for i := range numbers {
			if numbers[i] != 0 {
				numbers[i] += base
			}
		}
		return numbers, err
	}
	return s
}

// session opens a session of GORM.
func session(t *testing.T, d dbtest.Database) *gorm.DB {
	t.Helper()
	pool := d.Open(t)
	var dialect gorm.Dialector
	switch d.Kind {
	case "mysql":
		dialect = mysql.New(mysql.Config{Conn: pool})
	case "postgres":
		dialect = postgres.New(postgres.Config{Conn: pool})
	default:
		// What is on the disk when the machine fails is of no interest here.
		pool.SetMaxOpenConns(1)
		if _, err := pool.ExecContext(t.Context(), "PRAGMA synchronous = off"); err != nil {
			t.Fatal(err)
		}
		dialect = sqlite.Dialector{Conn: pool}
	}
	db, err := gorm.Open(dialect, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// check verifies a strategy and returns the checks by name.
func check(t *testing.T, s strategy.Strategy, o verify.Options) map[string]result.Check {
	t.Helper()
	return checkOn(t, dbtest.SQLite(t), s, o)
}

func checkOn(t *testing.T, d dbtest.Database, s strategy.Strategy, o verify.Options) map[string]result.Check {
	t.Helper()
	db := session(t, d)
	tables := func(ctx context.Context, keys strategy.Keys) (strategy.Table, error) {
		return keys.Table(ctx, db, "sk_verify")
	}
	pool := d.Open(t)
	v, err := verify.Run(t.Context(), s, strategy.Environment{DB: pool, Kind: d.Kind, Prefix: "sk_"}, tables, o)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	checks := map[string]result.Check{}
	for _, c := range v.Checks {
		t.Logf("%s: %s, %d keys; %s; evidence: %s", c.Name, c.State, c.Keys, c.Detail, c.Evidence)
		checks[c.Name] = c
	}
	if len(checks) != 6 {
		t.Errorf("%d checks, want 6", len(checks))
	}
	return checks
}

// small is enough for what is planted.
var small = verify.Options{Keys: 4000, CallTimeout: 20 * time.Millisecond}
