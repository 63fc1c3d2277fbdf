package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// ErrServer says that a private server could not be killed, or did not come back.
var ErrServer = errors.New("compare: the private server failed")

// Server is a private server that is killed, such as a dbserver.Server.
type Server interface {
	// Kill ends all processes of the server with SIGKILL, and returns when they are gone.
	Kill() error
	// Start starts it again, on the same data and for the same addresses, and returns when it answers. It has to end by itself.
	Start(settings ...string) error
}

// Application is how one process of an application reaches the database. Its pools should have a connection for each of the process's
// goroutines, and are its own, so that a restarted application has new ones.
type Application struct {
	Environment strategy.Environment                        // Process and Processes are set by Crash
	Session     func(ctx context.Context) (*gorm.DB, error) // a new session; asked for only where the database makes the keys
	// Close closes what was opened for it; nil: nothing was. It has no error, as closing a connection fails whose server was killed.
	Close func()
}

// CrashOptions say how [Crash] goes about it. The zero value of each field is what it says.
type CrashOptions struct {
	Kills      int           // 0: 5
	Goroutines int           // that draw keys, half of them in each of two processes; 0: 8
	Before     time.Duration // the kill comes at a random moment from this to twice this after all goroutines had their first key; 0: 300 ms
	Down       time.Duration // from when the server is gone to the order to start again; 0: 1 s
	After      time.Duration // of drawing after keys flow again, and as long again in the restarted application; 0: 300 ms
	Timeout    time.Duration // that keys may stay away, at first and after the server has come back; 0: 30 s
	Seed       uint64        // of the moments
}

func (o CrashOptions) withDefaults() (CrashOptions, error) {
	if o.Kills < 0 || o.Goroutines < 0 || o.Goroutines == 1 || min(o.Before, o.Down, o.After, o.Timeout) < 0 {
		return o, fmt.Errorf("%w: of a crash %+v; want none below 0, and two goroutines or more", ErrOption, o)
	}
	o.Kills, o.Goroutines = cmp.Or(o.Kills, 5), cmp.Or(o.Goroutines, 8)
	o.Before, o.Down, o.After = cmp.Or(o.Before, 300*time.Millisecond), cmp.Or(o.Down, time.Second), cmp.Or(o.After, 300*time.Millisecond)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	return o, nil
}

// Crash kills a private server with SIGKILL while keys are drawn, and says what that did to them. The server is the server of the
// [Application]'s Environment.DB; an Environment.Pair is left alone. Nobody else may use the server meanwhile; it runs when Crash returns, unless the error
// wraps [ErrServer].
//
// # Method
//
// For each kill two processes of the strategy are opened, and goroutines draw single keys from both, as fast as these come but no more than
// 20,000 a second and goroutine. Each key that a goroutine has received is noted with the time. At a random moment the server is killed;
// it stays down for a while and is started again. A goroutine whose call fails pauses for 5 ms and calls again, as an application would. When
// all of them have keys again, drawing goes on for a little; then the processes are closed, and new ones opened and drawn from, as of an
// application that was restarted. What opening has made in the database is made durable before, by making and dropping a table, as the
// traffic of a system in use would. Where the database makes the keys, each goroutine inserts rows into a table of its own, one by one and
// each committed, and a key counts as received when the INSERT has returned it; these tables have names that begin with the place's prefix
// and "_crash_", and are dropped again. Such a table cannot be opened a second time, so there the application is not restarted.
//
// What would make it dishonest: asking the server's counter before and after tells what it has forgotten, but nobody may have seen those keys;
// and looking at rows alone misses keys that were given out and not yet stored. Here only keys count that an application had in its hands.
//
// # Figures
//
// Twice is how many receipts after the kill were of a key that had been received already; its Note has one of them as evidence. Few or none
// do not prove that there are never any: a loss shows only if the kill falls between a key's giving and its being made durable, which may
// take many kills to hit. A SEQUENCE of PostgreSQL 15 gave 124 numbers twice at one of twelve kills with commit_delay at 20 ms, and none at
// twelve without; one of MariaDB 10.11 gives hundreds or thousands at most kills. Keys are drawn and not stored: a commit on the same server
// would make the counter durable with it, so what is seen here are keys that went elsewhere first, to another server or to a client.
//
// Lost is for keys that count: how many of the numbers between the least and the greatest received nobody has received. Odd and even ones
// are looked at apart, so that two servers that count for themselves lose nothing by one being ahead; one that is set forward when it is
// back does. It has the numbers that were on their way when the server died, in rows that were committed or not, and for a source that hands
// out numbers from blocks, what was left of them when the processes were closed; its Note says so.
//
// Outage is the longest time that any goroutine was without a key, among the gaps that end after the kill, up to the restart of the
// application. Its Note has the longest gap before the kills, which is what the machine and the strategy do without any. Down is the time
// from the kill to the server's first answer.
//
// # Ends
//
// All waits end with the context, and the calls of a strategy after five seconds. When no keys come again within the patience although the
// server answers, the Outage says so, and there are no further kills. SQLite has no server, and a strategy that returns [strategy.ErrUnavailable]
// has no figures: all four then say why. The errors of closing a process that went through a kill do not count: connections of its own died
// with the server. Any other error means that the measuring broke off; the figures are then those of the kills before. It wraps [ErrOption]
// for options out of their range, and [ErrServer] when the server could not be killed or did not come back.
func Crash(
	ctx context.Context, s strategy.Strategy, open func(context.Context) (Application, error), server Server, o CrashOptions,
) (result.Crash, error) {
	o, err := o.withDefaults()
	if err != nil {
		return result.Crash{}, err
	}
	var figures result.Crash
	var calm time.Duration
	random := rand.New(rand.NewPCG(o.Seed, 3))
	for n := range o.Kills {
		k := &kill{strategy: s, open: open, server: server, CrashOptions: o, number: n, wait: o.Before + time.Duration(random.Int64N(int64(o.Before)+1))}
		seen, err := k.run(ctx)
		if errors.Is(err, errNoServer) {
			return noCrash("SQLite runs inside the application: there is no server to kill"), nil
		}
		if errors.Is(err, strategy.ErrUnavailable) {
			return noCrash(err.Error()), nil
		}
		if err != nil {
			return figures, fmt.Errorf("%s: kill %d: %w", s.Info().Name, n+1, err)
		}
		calm = max(calm, seen.calm)
		seen.add(&figures, calm)
		if seen.stuck != "" {
			break
		}
	}
	return figures, nil
}

// errNoServer says that there is none that could be killed.
var errNoServer = errors.New("no server")

func noCrash(why string) result.Crash {
	missing := result.Missing(why)
	return result.Crash{Twice: missing, Lost: missing, Outage: missing, Down: missing}
}
