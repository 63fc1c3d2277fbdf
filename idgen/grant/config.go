package grant

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// The defaults of a [Config].
const (
	DefaultSpace   = "default"
	defaultFor     = 10 * time.Minute
	defaultFirst   = 10 * time.Second
	defaultMaxSkew = 5 * time.Minute
	defaultWait    = 2 * time.Second
)

// longest is the most that For and MaxSkew may be, a leap year: beyond that a number that is not given back is as good as lost.
const longest = 366 * 24 * time.Hour

// Config says what a keeper's grants are like. The zero value has the defaults.
type Config struct {
	// Generator has the options of the generator: its layout, or a preset with its policies, the number of a shard. Of a node or
	// datacenter number that is given, the keeper acquires just that; two processes with the same number are told apart by it, and
	// the second is refused. Generators of several shards, each with its own, need several spaces where the layout has no node; one with
	// idgen.WithShards makes keys of all shards with its number. Default: the layout snowkey.
	Generator []idgen.Option

	// Before has the options of the generator for the layout that the space may still have, where it is to change to that of Generator while programs
	// run: a keeper of both goes on with the layout in force, and takes the other one from the tick that the change was announced for, see [Change]. Both
	// have the same numbers, epoch and unit. To be removed when the change has come about. Default: none.
	Before []idgen.Option

	// Space names the set of keys that must differ: 1 to 64 of a-z, A-Z, 0-9, dash, dot and underline. Generators of one space have one
	// layout. Default: "default".
	Space string

	// For is how long beyond now a number is granted at most, and with it how long ids flow without the store, and for how long the number
	// of a process that was killed is not used. At least two ticks and 10 ms, at most a year. Default: 10 minutes, or two ticks
	// where that is more.
	For time.Duration

	// First is how long beyond now a number is granted at first. From then on it is for as long again as the process has had the number, up
	// to For, so that the number of one that dies young comes free soon. At most For. Default: 10 seconds, or For where that is less.
	First time.Duration

	// Every is how often the grant is renewed, give or take a tenth, when it is for For; one for half of that is renewed twice as often. At
	// most half of For. Default: a tenth of For.
	Every time.Duration

	// MaxSkew is how far the clock of the process may be from the store's at its start, at most a year. Ids have the store's time; a clock
	// that is further off is one that somebody should know of. Default: 5 minutes.
	MaxSkew time.Duration

	// StopOnLoss ends the keeper when the store has forgotten its grant, see [Loss]: calls fail with [ErrLost] from then on. By default it
	// acquires another number and goes on, since its next ids are safe: what is in doubt has been made already.
	StopOnLoss bool

	// Logger gets a line, a warning, when a renewal fails for the first time and when it works again, when the grant is about to end, when a
	// number is lost, when ids are in doubt, for what [State] warns of, and when more ticks were borrowed between two renewals than the
	// generator may be ahead. Default: slog.Default(); a logger with slog.DiscardHandler says nothing.
	Logger *slog.Logger

	// Wait is how long Open waits for a number to come free when all are held. Default: 2 seconds.
	Wait time.Duration

	// Timeout bounds each attempt to acquire, renew or release. Default: Every, but at least 1 and at most 10 seconds.
	Timeout time.Duration

	// Name stands in the store for the holder, for people to read, up to 80 characters; those that are not printable ASCII are
	// replaced. Default: the host's name and the process's number, web-3:4711.
	Name string

	// Notify is called with the state after each attempt to acquire or renew, and at the end, on the keeper's goroutine, the first
	// time on Open's. What it does takes from the keeper's time, and it must not call Close, Next,
	// Fill, NextFor or FillFor, which would wait for it.
	Notify func(State)
}

var validSpace = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,64}$`)

// complete returns the configuration with its defaults.
func (c Config) complete(layout idgen.Layout) (Config, error) {
	if c.Space == "" {
		c.Space = DefaultSpace
	}
	if !validSpace.MatchString(c.Space) {
		return c, fmt.Errorf("%w: space %q, want 1 to 64 of a-z, A-Z, 0-9, dash, dot and underline", ErrConfig, c.Space)
	}
	least := max(2*layout.Unit(), 10*time.Millisecond)
	if c.For == 0 {
		c.For = max(defaultFor, least)
	}
	if c.For < least {
		return c, fmt.Errorf("%w: For %s, at least %s with ticks of %s", ErrConfig, c.For, least, layout.Unit())
	}
	if c.For > longest || c.MaxSkew > longest {
		return c, fmt.Errorf("%w: For %s and MaxSkew %s, at most %s", ErrConfig, c.For, c.MaxSkew, longest)
	}
	if c.First == 0 {
		c.First = min(max(defaultFirst, least), c.For)
	}
	if c.First < least || c.First > c.For {
		return c, fmt.Errorf("%w: First %s, at least %s with ticks of %s and at most For, which is %s", ErrConfig, c.First, least, layout.Unit(), c.For)
	}
	if c.Every == 0 {
		c.Every = c.For / 10
	}
	if c.Every < 0 || c.Every > c.For/2 {
		return c, fmt.Errorf("%w: Every %s, more than 0 and at most half of For, which is %s", ErrConfig, c.Every, c.For)
	}
	if c.MaxSkew == 0 {
		c.MaxSkew = defaultMaxSkew
	}
	if c.Wait == 0 {
		c.Wait = defaultWait
	}
	if c.Timeout == 0 {
		c.Timeout = min(max(c.Every, time.Second), 10*time.Second)
	}
	if c.MaxSkew < 0 || c.Wait < 0 || c.Timeout < 0 {
		return c, fmt.Errorf("%w: MaxSkew %s, Wait %s and Timeout %s must not be negative", ErrConfig, c.MaxSkew, c.Wait, c.Timeout)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown" // it is for people only
		}
		c.Name = fmt.Sprintf("%.60s:%d", host, os.Getpid())
	}
	c.Name = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, c.Name)
	c.Name = c.Name[:min(len(c.Name), 80)]
	return c, nil
}

// A holder, as a row has it, is the name of an acquisition, the mark of the swap that made the row so, and the mark of the row that the
// number was acquired from: web-3:4711#<4 hexadecimal digits>-<24>.<8><<8>. The first four are of the layout of its configuration. Each swap has a mark of its own: of two processes with one memory each
// knows its own from the other's, also where both renew the grant until the same tick. And whoever finds the number with another holder
// sees whether there was a third one in between.

// newHolder returns a name that no acquisition had before: 96 random bits after the name for people and the mark of a layout.
func newHolder(name string, layout idgen.Layout) string {
	return name + "#" + markOf(layout) + "-" + randomBits(12)
}

// markOf returns four digits by which a holder tells which layout it knows. Two layouts may have the same.
func markOf(layout idgen.Layout) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(layout.Fingerprint())) // never fails
	return fmt.Sprintf("%04x", h.Sum32()&0xffff)
}

// knows reports whether a holder has the mark of a layout.
func knows(holder string, layout idgen.Layout) bool {
	name := unstamped(holder)
	mark, _, found := strings.Cut(name[strings.LastIndexByte(name, '#')+1:], "-")
	return found && strings.Contains(name, "#") && mark == markOf(layout)
}

// stamped returns a holder with a mark of its own, that has the number from the row of another holder or of itself.
func stamped(holder, from string) string {
	name := unstamped(holder)
	was, before, ancestor := parseHolder(from)
	if was == name {
		before = ancestor
	}
	return name + "." + randomBits(4) + "<" + before
}

// parseHolder returns the parts of a holder. One that was not made by newHolder and stamped is all name.
func parseHolder(holder string) (name, stamp, before string) {
	at := strings.LastIndexByte(holder, '#')
	if at < 0 {
		return holder, "", ""
	}
	random, marks, _ := strings.Cut(holder[at:], ".")
	stamp, before, _ = strings.Cut(marks, "<")
	return holder[:at] + random, stamp, before
}

// unstamped returns a holder's name without marks.
func unstamped(holder string) string {
	name, _, _ := parseHolder(holder)
	return name
}

// randomID returns an identity of a space, 128 random bits.
func randomID() string { return randomBits(16) }

func randomBits(bytes int) string {
	random := make([]byte, bytes)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}
