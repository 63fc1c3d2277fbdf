package mapping

import (
	"math"
	"time"
)

// state says what a row's time is good for.
type state uint8

const (
	good state = iota
	null
	zero
	early
	future
	unreadable
	states
)

// timestamp is when a row was made, as far as it can be told.
type timestamp struct {
	state state
	ns    int64 // since 1970, of a good one and of one that is early
}

// skew is by how much a row may be later than this machine's clock: that of whoever wrote it can be ahead.
const skew = time.Minute

// judge makes a timestamp of an instant, given in seconds since 1970 and nanoseconds of the second.
func (c *calendar) judge(seconds, nanoseconds int64) timestamp {
	switch {
	case seconds < firstYear+2*86400:
		return timestamp{state: zero} // Go's zero time, in whatever zone it was written
	case seconds < c.earliest, seconds == c.earliest && nanoseconds < c.earliestNano:
		return timestamp{state: early, ns: max(seconds, math.MinInt64/int64(time.Second)+1) * int64(time.Second)}
	case seconds > c.now+int64(skew/time.Second), seconds > math.MaxInt64/int64(time.Second)-1:
		return timestamp{state: future}
	}
	return timestamp{ns: seconds*int64(time.Second) + nanoseconds}
}

const firstYear = -62135596800 - 86400 // seconds from 1970 to the day before the year 1

// integer reads an integer as seconds, milliseconds, microseconds or nanoseconds since 1970, by its size: up to the year 5138 in seconds, and the
// others from 1973 on. 0 is no time.
func (c *calendar) integer(n int64) timestamp {
	size := n
	if size < 0 {
		size = -max(size, -math.MaxInt64)
	}
	switch {
	case n == 0:
		return timestamp{state: zero}
	case size < 1e11:
		return c.judge(n, 0)
	case size < 1e14:
		return c.scaled(n, 1e3)
	case size < 1e17:
		return c.scaled(n, 1e6)
	}
	return c.scaled(n, 1e9)
}

// scaled reads a number of which there are per in a second.
func (c *calendar) scaled(n, per int64) timestamp {
	return c.judge(split(n, per))
}

func split(n, per int64) (seconds, nanoseconds int64) {
	seconds = n / per
	rest := n % per
	if rest < 0 {
		seconds, rest = seconds-1, rest+per
	}
	return seconds, rest * (int64(time.Second) / per)
}
