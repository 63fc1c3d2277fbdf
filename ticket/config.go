package ticket

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Dialect is a server's SQL. The zero value is none.
type Dialect = dialect.Dialect

// The dialects. MySQL is MariaDB's as well.
const (
	MySQL    = dialect.MySQL
	Postgres = dialect.Postgres
	SQLite   = dialect.SQLite
)

// Server is a database that tickets are drawn from. The pool stays the caller's, who closes it after the source; it should be there for
// tickets alone, so that a transaction that waits for a key never holds the connection that would get it.
type Server struct {
	DB      *sql.DB
	Dialect Dialect
	Name    string // in errors and Stats. Default: "server 1", its place in the list
}

// The defaults of a [Config] and a [BlockConfig].
const (
	defaultSequence      = "default"
	DefaultTable         = "snowkey_tickets"
	DefaultBlockTable    = "snowkey_blocks"
	defaultTimeout       = 5 * time.Second
	defaultServerTimeout = time.Second
	defaultFailures      = 3
	defaultBackoff       = 100 * time.Millisecond
	defaultMaxBackoff    = 5 * time.Second
	defaultUnit          = 1024
	defaultReserve       = 10 * time.Second
	defaultMinStep       = 1024
	defaultMaxStep       = 1_000_000
)

// Config says what is drawn, and how long for. The zero value has the defaults.
type Config struct {
	// Sequence names what is counted: the stub of the published schemes. Ids of two sequences are not related, and may be equal. 1 to 64 of
	// a-z, A-Z, 0-9, dash, dot and underline. Default: "default".
	Sequence string

	// Table is where the sequences are, a row for each; on PostgreSQL, single tickets come from a SEQUENCE that is called as the table and the
	// sequence with a dot between them. A name of letters, digits and underlines, with a schema's, MySQL's database, and a dot before it. Without a schema the table is looked
	// up in the catalogue, see "One place" in the package's documentation. Default: [DefaultTable], and [DefaultBlockTable] for blocks.
	Table string

	// Increment is how many servers there may be, at least as many as there are; ids that belong to none are not given out. It is used when
	// Setup and Resize make or change rows; otherwise the rows' say. A server is then added by adding it to the list, and Setup. At most
	// 1024. Default: the number of servers.
	Increment int

	// Limit is the greatest id to give out, such as 1<<53-1 for ids that JavaScript reads as numbers. Default: 1<<63-1.
	Limit int64

	// Timeout bounds a call whose context has no deadline, and those of Setup, Resize, Restore and Check, which have five times as long. Negative: it is not bounded. Default: 5 seconds.
	Timeout time.Duration

	// ServerTimeout bounds one attempt at one server, after which another is asked. Default: 1 second.
	ServerTimeout time.Duration

	// Failures is how many in a row make a server be left alone for a while. Default: 3.
	Failures int

	// Backoff is that while, give or take a fifth; it doubles with each attempt that fails, up to MaxBackoff. Defaults: 100 milliseconds, 5
	// seconds.
	Backoff, MaxBackoff time.Duration

	// AllowUnsafe takes servers that may forget what they gave out when they or their machine crash, which [Tickets.Check] then only warns
	// of: for tests and demonstrations.
	AllowUnsafe bool

	// Notify is called when a server changes its state, and when the ids come to an end. It is called by the call or the probe that noticed,
	// which waits for it, and by several of them at once; it must not call the source.
	Notify func(ServerStats)

	// Logger gets a line, a warning, when a server is left alone or quarantined, when it is used again, and when its ids come to the end. Default:
	// slog.Default(); a logger with slog.DiscardHandler says nothing.
	Logger *slog.Logger
}

// BlockConfig says how large a buffer of ids is. The zero value has the defaults.
type BlockConfig struct {
	Config

	// Unit is how many consecutive ids the servers are dealt out in. It is used when Setup and Resize make or change rows; otherwise the rows'
	// say. At most 1,000,000. Default: 1024, so that id % shards is uniform for 1,024 shards and fewer that are a power of two.
	Unit int64

	// Reserve is for how long the buffer lasts without any server at the rate ids are taken at, where the steps' bounds allow it: less than
	// that is refilled. Default: 10 seconds.
	Reserve time.Duration

	// Rate is the ids a second to expect at the least, also after a while in which fewer were taken. Default: 0.
	Rate int64

	// MinStep and MaxStep bound how many ids are allocated at once, up to a unit. Defaults: 1024 and 1,000,000.
	MinStep, MaxStep int64
}

// maxTable leaves place for the register's name in the 63 characters that PostgreSQL takes.
const maxTable = 63 - len(registerSuffix)

// validSequence excludes what would have to be quoted in a string.
var validSequence = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,64}$`)

// bound gives a context without a deadline a limit, unless there is none.
func (c Config) bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok || c.Timeout < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// complete returns the configuration with its defaults, for that many servers.
func (c Config) complete(table string, servers int) (Config, error) {
	c.Sequence = orDefault(c.Sequence, defaultSequence)
	c.Table = orDefault(c.Table, table)
	c.Increment = orDefault(c.Increment, servers)
	c.Limit = orDefault(c.Limit, math.MaxInt64)
	c.Timeout = orDefault(c.Timeout, defaultTimeout)
	c.ServerTimeout = orDefault(c.ServerTimeout, defaultServerTimeout)
	c.Failures = orDefault(c.Failures, defaultFailures)
	c.Backoff = orDefault(c.Backoff, defaultBackoff)
	c.MaxBackoff = orDefault(c.MaxBackoff, max(defaultMaxBackoff, c.Backoff))
	c.Logger = orDefault(c.Logger, slog.Default())
	plain := c.Table[strings.IndexByte(c.Table, '.')+1:]
	switch {
	case !validSequence.MatchString(c.Sequence):
		return c, fmt.Errorf("%w: sequence %q, want 1 to 64 of a-z, A-Z, 0-9, dash, dot and underline", ErrConfig, c.Sequence)
	case !dialect.ValidName(c.Table) || len(plain) > maxTable:
		return c, fmt.Errorf("%w: table %q, want up to %d letters, digits and underlines, with a schema's and a dot before it or without", ErrConfig, c.Table, maxTable)
	case servers == 0:
		return c, fmt.Errorf("%w: no servers, want at least one", ErrConfig)
	case c.Increment < servers || c.Increment > maxServers:
		return c, fmt.Errorf("%w: increment %d, want %d, the number of servers, to %d", ErrConfig, c.Increment, servers, maxServers)
	case c.Limit < 1:
		return c, fmt.Errorf("%w: limit %d, want at least 1", ErrConfig, c.Limit)
	case c.ServerTimeout < 0, c.ServerTimeout > longest, c.Failures < 0, c.Backoff < 0, c.MaxBackoff < c.Backoff, c.MaxBackoff > longest:
		return c, fmt.Errorf("%w: server timeout %s, failures %d, backoff %s up to %s, want none negative, none longer than %s, and the first backoff no longer than the last",
			ErrConfig, c.ServerTimeout, c.Failures, c.Backoff, c.MaxBackoff, longest)
	}
	return c, nil
}

// complete returns the configuration with its defaults, for that many servers.
func (c BlockConfig) complete(servers int) (BlockConfig, error) {
	var err error
	if c.Config, err = c.Config.complete(DefaultBlockTable, servers); err != nil {
		return c, err
	}
	c.Unit = orDefault(c.Unit, defaultUnit)
	c.Reserve = orDefault(c.Reserve, defaultReserve)
	c.MaxStep = orDefault(c.MaxStep, max(defaultMaxStep, c.MinStep))
	c.MinStep = orDefault(c.MinStep, min(defaultMinStep, c.MaxStep))
	switch {
	case c.Unit < 1 || c.Unit > maxUnit:
		return c, fmt.Errorf("%w: unit %d, want 1 to %d", ErrConfig, c.Unit, maxUnit)
	case c.Reserve < 0 || c.Reserve > longest:
		return c, fmt.Errorf("%w: reserve %s, want up to %s", ErrConfig, c.Reserve, longest)
	case c.Rate < 0 || c.Rate > maxStep:
		return c, fmt.Errorf("%w: rate %d, want 0 to %d ids a second", ErrConfig, c.Rate, maxStep)
	case c.MinStep < 1 || c.MaxStep < c.MinStep || c.MaxStep > maxStep:
		return c, fmt.Errorf("%w: steps of %d to %d, want 1 to %d, and the first no more than the last", ErrConfig, c.MinStep, c.MaxStep, maxStep)
	}
	return c, nil
}

// longest is the most that a time may be.
const longest = time.Hour

// maxStep bounds what one crash can lose, and keeps products of steps and servers well below 2^63.
const maxStep = 1_000_000_000

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
