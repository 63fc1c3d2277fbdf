package strategy_test

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// The types of keys that an application may have.
type (
	number int64
	short  [12]byte
	long   [16]byte
	name   string
)

// code is a key of text with a column of its own.
type code string

func (c code) Value() (driver.Value, error) { return "c" + string(c), nil }

func (c *code) Scan(src any) error {
	var s string
	switch src := src.(type) {
	case string:
		s = src
	case []byte:
		s = string(src)
	}
	if !strings.HasPrefix(s, "c") {
		return fmt.Errorf("%v is no code", src)
	}
	*c = code(s[1:])
	return nil
}

func (code) GormDataType() string { return "varchar(40)" }

// counting is a source that makes its keys of a counter.
type counting[K any] struct {
	last *atomic.Uint64
	key  func(uint64) K
	many bool // Fill is there
	ends *atomic.Int32
}

func (c counting[K]) Next(context.Context) (K, error) { return c.key(c.last.Add(1)), nil }

func (c counting[K]) Fill(_ context.Context, keys []K) error {
	if !c.many {
		return errors.ErrUnsupported
	}
	for i := range keys {
		keys[i] = c.key(c.last.Add(1))
	}
	return nil
}

func (c counting[K]) Close() { c.ends.Add(1) }

// own makes a strategy of a source of K, and returns how often sources of it were closed.
func own[K strategy.KeyType](many bool, key func(uint64) K) (strategy.Strategy, *atomic.Int32) {
	var last atomic.Uint64
	last.Store(1 << 20)
	ends := new(atomic.Int32)
	return strategy.New(strategy.Info{Name: "own", Order: strategy.Increasing}, func(context.Context, strategy.Environment) (idgen.Source[K], error) {
		return counting[K]{&last, key, many, ends}, nil
	}), ends
}

// TestNew has sources of all kinds of keys, with and without a Fill, make the keys of tables on all kinds of databases.
func TestNew(t *testing.T) {
	wide := func(n uint64) (b [16]byte) { binary.BigEndian.PutUint64(b[4:], n); return b }
	strategies := map[string]func(many bool) (strategy.Strategy, *atomic.Int32){
		"int64": func(many bool) (strategy.Strategy, *atomic.Int32) {
			return own(many, func(n uint64) int64 { return int64(n) })
		},
		"number": func(many bool) (strategy.Strategy, *atomic.Int32) {
			return own(many, func(n uint64) number { return number(n) })
		},
		"sqltype.ID": func(many bool) (strategy.Strategy, *atomic.Int32) {
			return own(many, func(n uint64) sqltype.ID { return sqltype.ID(n) })
		},
		"short": func(many bool) (strategy.Strategy, *atomic.Int32) {
			return own(many, func(n uint64) short { w := wide(n); return short(w[:12]) })
		},
		"long": func(many bool) (strategy.Strategy, *atomic.Int32) {
			return own(many, func(n uint64) long { return long(wide(n)) })
		},
		"uuid.UUID": func(many bool) (strategy.Strategy, *atomic.Int32) {
			return own(many, func(n uint64) uuid.UUID { return wide(n) })
		},
		"name": func(many bool) (strategy.Strategy, *atomic.Int32) {
			return own(many, func(n uint64) name { return name(fmt.Sprintf("%06X", n)) })
		},
		"code": func(many bool) (strategy.Strategy, *atomic.Int32) {
			return own(many, func(n uint64) code { return code(fmt.Sprintf("%06X", n)) })
		},
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			pool, tried := open(t, kind.make(t)), 0
			for of, make := range strategies {
				for _, many := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/fill=%t", of, many), func(t *testing.T) {
						s, ends := make(many)
						tried++
						conform(t, s, strategy.Environment{DB: pool, Kind: kind.name, Prefix: fmt.Sprint(prefix, "_", tried), Processes: 1}, pool)
						if got := ends.Load(); got != 1 {
							t.Errorf("the source was closed %d times, want once", got)
						}
					})
				}
			}
		})
	}
}

// panicking is a source that panics in every call.
type panicking struct{}

func (panicking) Next(context.Context) (int64, error)        { panic("no number") }
func (panicking) Fill(_ context.Context, keys []int64) error { keys[len(keys)] = 1; return nil }
func (panicking) Close() error                               { panic(errors.New("no end")) }

// TestPanics has sources that an application got wrong: each call fails with an error that says where, and the table's session is of use after it.
func TestPanics(t *testing.T) {
	at := strategy.Environment{Prefix: prefix, Processes: 1}
	for what, open := range map[string]func(context.Context, strategy.Environment) (idgen.Source[int64], error){
		"no function": nil,
		"a nil generator": func(context.Context, strategy.Environment) (idgen.Source[int64], error) {
			return (*idgen.Snowflake)(nil), nil
		},
	} {
		if keys, err := strategy.New(strategy.Info{Name: "own"}, open).Open(t.Context(), at); keys != nil || err == nil || err.Error() != "own: compare: opening it gave no source" {
			t.Errorf("%s: got %v, %v, want the error that there is no source", what, keys, err)
		}
	}
	own := func(open func() idgen.Source[int64]) strategy.Strategy {
		return strategy.New(strategy.Info{Name: "own"}, func(context.Context, strategy.Environment) (idgen.Source[int64], error) { return open(), nil })
	}
	wrong := func(call string, err error, want string) {
		if err == nil || !strings.Contains(err.Error(), "compare: the source panicked: "+want) || !strings.Contains(err.Error(), "(source_test.go:") {
			t.Errorf("%s: got %v, want %q and where", call, err, want)
		}
	}
	_, err := own(func() idgen.Source[int64] { panic("no source") }).Open(t.Context(), at)
	wrong("Open", err, "no source")
	keys, err := own(func() idgen.Source[int64] { return panicking{} }).Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	_, err = keys.Next(t.Context())
	wrong("Next", err, "no number")
	wrong("Generate", keys.Generate(t.Context(), 2), "no number")
	_, err = keys.Fill(t.Context(), 2)
	wrong("Fill", err, "runtime error: index out of range [2] with length 2")
	wrong("Batch", keys.Batch(t.Context(), 2), "runtime error: index out of range [2] with length 2")
	wrong("Close", keys.Close(), "no end")
	wrong("Close again", keys.Close(), "no end")
	pool := open(t, kinds[0].make(t))
	pool.SetMaxOpenConns(1)
	table, err := keys.Table(t.Context(), session(t, "sqlite", pool), prefix+"_rows")
	if err != nil {
		t.Fatal(err)
	}
	_, err = table.Insert(t.Context(), strategy.NewOrders(1).Make(2))
	wrong("Insert", err, "runtime error: index out of range [2] with length 2")
	if n := pool.Stats().InUse; n != 0 {
		t.Errorf("Insert: %d connections are in use after it", n)
	}
}

// failing is a source without keys.
type failing struct{ err error }

func (f failing) Next(context.Context) (int64, error) { return -1, f.err }
func (f failing) Fill(context.Context, []int64) error { return f.err }
func (f failing) Close() error                        { return f.err }

func TestNewErrors(t *testing.T) {
	cause := errors.New("no keys today")
	at := strategy.Environment{Prefix: prefix, Processes: 1}
	opens := func(source idgen.Source[int64], err error) strategy.Strategy {
		return strategy.New(strategy.Info{Name: "own"}, func(context.Context, strategy.Environment) (idgen.Source[int64], error) { return source, err })
	}
	if keys, err := opens(nil, cause).Open(t.Context(), at); keys != nil || !errors.Is(err, cause) || !strings.Contains(err.Error(), "own") {
		t.Errorf("Open: got %v, %v, want %v of own", keys, err, cause)
	}
	if keys, err := opens(nil, nil).Open(t.Context(), at); keys != nil || err == nil {
		t.Errorf("Open without a source: got %v, %v, want an error", keys, err)
	}
	for _, at := range []strategy.Environment{{}, {Prefix: prefix}, {Prefix: prefix, Process: 1, Processes: 1}, {Prefix: prefix, Process: -1, Processes: 1},
		{Prefix: "", Processes: 1}, {Prefix: "A", Processes: 1}, {Prefix: "1a", Processes: 1}, {Prefix: `a"`, Processes: 1}, {Prefix: strings.Repeat("a", 41), Processes: 1}} {
		for _, s := range []strategy.Strategy{opens(failing{}, nil), strategy.All()[0]} {
			if keys, err := s.Open(t.Context(), at); keys != nil || err == nil {
				t.Errorf("Open at %+v: got %v, %v, want an error", at, keys, err)
			}
		}
	}
	keys, err := opens(failing{cause}, nil).Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	_, next := keys.Next(t.Context())
	_, fill := keys.Fill(t.Context(), 2)
	for i, err := range []error{next, fill, keys.Generate(t.Context(), 2), keys.Batch(t.Context(), 2), keys.Close()} {
		if !errors.Is(err, cause) {
			t.Errorf("%d: got %v, want %v", i, err, cause)
		}
	}
	db := session(t, "sqlite", open(t, kinds[0].make(t)))
	table, err := keys.Table(t.Context(), db, prefix+"_rows")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := table.Insert(t.Context(), strategy.NewOrders(1).Make(2)); got != nil || !errors.Is(err, cause) {
		t.Errorf("Insert: got %v, %v, want %v", got, err, cause)
	}
	if err := table.Ordered(t.Context(), 5, func(strategy.Key, strategy.Order) error { return errors.New("a row") }); err != nil {
		t.Errorf("the table has %v, want nothing", err)
	}
	if got, err := table.Insert(t.Context(), nil); len(got) != 0 || err != nil {
		t.Errorf("Insert of nothing: got %v, %v", got, err)
	}
	if _, _, err := table.Find(t.Context(), "short"); err == nil {
		t.Error("Find of what is no key: got no error")
	}
	if _, err := keys.Table(t.Context(), session(t, "sqlite", open(t, kinds[0].make(t))), ""); err == nil {
		t.Error("Table without a name: got no error")
	}
	negative, err := opens(failing{}, nil).Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if key, err := negative.Next(t.Context()); err == nil {
		t.Errorf("a negative key: got %x, want an error", key)
	}
}
