package strategy

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
)

// ErrUnavailable says that a strategy cannot work in an environment, and why. It is no failure. What wraps it is read in a
// report, beside the name of the strategy, so neither the name nor a package's is in it.
var ErrUnavailable = errors.New("not possible here")

// Strategy is a way to give rows their keys. Its methods are safe for concurrent use.
type Strategy interface {
	Info() Info
	// Open readies the keys of one process. What it makes in the database has names that begin with the environment's prefix; whoever gave the
	// environment drops it. Processes of one run share a prefix, and are opened one after the other. The error wraps [ErrUnavailable] where the strategy
	// needs what the environment lacks, and then says just that.
	Open(ctx context.Context, at Environment) (Keys, error)
}

// Info is what is known of a strategy before it is measured.
type Info struct {
	Name         string // on the command line and in reports: a-z, 0-9 and dashes
	About        string // a sentence: what the keys are, and who makes them
	Origin       string // who published it, and where
	Needs        string
	Cost         string
	Coordination string // what its processes have to agree upon
	Decodes      string // what a key tells of its row, "nothing" or more
	Guess        string // what somebody who knows one key knows of others

	Order Ordering
	// Limit is the most keys a second that one process can make by its layout, 0 where nothing but its speed limits it.
	Limit float64
	// Ahead is how far ahead of its clock a process makes keys before the Limit counts, 0: it never is.
	Ahead time.Duration
	// Unit is the length of a tick of the clock that the keys carry, 0 for keys without a time.
	Unit time.Duration
	// Clock tells that the keys go by the environment's clock.
	Clock bool
	// Granted tells that node numbers are granted by the database for stretches of its own time, so that a process of an environment with a Clock, which
	// no grant could follow, has a fixed number instead.
	Granted bool
	// Pair tells that the keys come from the environment's Pair too. On MySQL and MariaDB its DB then counts odd numbers, and its Pair even ones.
	Pair bool
	// RoundTrip tells that each single key costs a round trip to a server.
	RoundTrip bool
	// Random has the bits of a key that cannot be told beforehand, 0 for a counter.
	Random int
	// Sharding says what the keys carry of a sharding key, nil: nothing.
	Sharding *Sharding
}

// Sharding says which buckets are in keys: those that package shard gives to made-up tenants, whose numbers are 1 to Tenants.
type Sharding struct {
	Layout  idgen.Layout // of the keys; its shard field is the bucket, of at most 16 bits
	Tenants int
	Drawn   string // the tenants, and how often the rows of each come
}

// Ordering is what a strategy promises of the order of its keys.
type Ordering int

// The orders.
const (
	// Unordered keys are in no order.
	Unordered Ordering = iota
	// Ticks are ordered by their time; those of one tick are not.
	Ticks
	// Increasing keys of one process are each greater than those that it was given before.
	Increasing
)

// Environment is where the keys of one process are made.
type Environment struct {
	DB        *sql.DB     // a pool for keys alone, of several connections; not the one that rows are inserted with; nil: there is none
	Kind      string      // of the database: sqlite, mysql or postgres
	Pair      *sql.DB     // a second server of the same kind, nil: there is none
	Prefix    string      // of the names of all that is made, at most 40 characters of a-z, 0-9 and underlines
	Process   int         // which of Processes, from 0
	Processes int         // that make keys of this prefix
	Clock     idgen.Clock // nil: the machine's
}

// Keys are the keys of one process. All but Close may be called concurrently.
type Keys interface {
	// Next makes one key. It returns [errors.ErrUnsupported] where the database makes the key when a row is inserted.
	Next(ctx context.Context) (Key, error)
	// Generate makes n keys by single calls, and drops them; for timing, without what [Keys.Next] costs to return a Key.
	Generate(ctx context.Context, n int) error
	// Fill makes n keys in one call. It returns [errors.ErrUnsupported] where the source makes single keys only.
	Fill(ctx context.Context, n int) ([]Key, error)
	// Batch is Fill without the Keys, for timing.
	Batch(ctx context.Context, n int) error
	// Text is the usual text of a key, and its number where it is one.
	Text(Key) string
	Number(Key) (n int64, ok bool)
	// Table makes a fresh table of orders with these keys, over a session whose plugins are its own.
	Table(ctx context.Context, db *gorm.DB, name string) (Table, error)
	// Close ends what Open began in this process. It drops nothing in the database.
	Close() error
}

// Key is a key as bytes, the same for equal keys, and ordered as the keys are: integers as eight bytes from the top, UUIDs as their sixteen.
type Key string

// Table is a table of orders whose rows get their keys by one strategy. It is not safe for concurrent use.
type Table interface {
	// Insert inserts the orders through GORM, in one statement and one transaction, and returns their keys.
	Insert(ctx context.Context, orders []Order) ([]Key, error)
	// Find reads the row of a key.
	Find(ctx context.Context, key Key) (Key, Order, error)
	// Ordered reads rows in the order of their keys, as the database has it, at most n, and calls see with each.
	Ordered(ctx context.Context, n int, see func(Key, Order) error) error
	// Beside returns the same table over another session, for the n-th of several writers that insert at once, from 1 on. Where the keys are those of a
	// fleet, it has the keys of another process.
	Beside(ctx context.Context, db *gorm.DB, n int) (Table, error)
	// Column is the type of the key's column, as the database was told, and the bytes that a key has there.
	Column() (name string, bytes int)
}
