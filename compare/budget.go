package compare

import (
	"time"

	"github.com/snowkey-go/snowkey/compare/strategy"
)

// fewestRows is the part of the profile's rows that are inserted at the least, however small the budget is.
const fewestRows = 10

// guess guesses how long a round of so many rows takes, by the few rows that were inserted to see, or before these by what is usual.
func (c *comparison) guess(e *participant, rows int) time.Duration {
	each, fixed := 50*time.Microsecond, time.Second
	if e.speed > 0 {
		each, fixed = time.Duration(float64(time.Second)/e.speed), e.pilot
	}
	if e.info.Order == strategy.Unordered {
		each *= 2 // once the index has outgrown the cache
	}
	const making = 200 * time.Millisecond // keys, without storing them
	return making + fixed + min(time.Duration(rows)*each, c.slow(e)) + time.Duration(rows)*4*time.Microsecond
}

// slow bounds the inserts of a round of a strategy. Where the keys come slowly whatever the table is like, more rows tell nothing more.
func (c *comparison) slow(e *participant) time.Duration {
	limit := c.config.Profile.Slow
	if e.info.RoundTrip || e.info.Limit > 0 && e.info.Limit < slowKeys {
		return min(limit, max(limit/8, time.Second))
	}
	return limit
}

// slowKeys a second are fewer than any database has rows inserted.
const slowKeys = 10_000

// affordable returns how many rows the rest of the budget suffices for: what the profile wants, or less, with two digits that count. Where it does
// not suffice for a tenth of them, fewer rounds are made.
func (c *comparison) affordable() int {
	wanted := c.config.Profile.Rows
	rows, least := wanted, max(MinRows, wanted/fewestRows)
	left := c.expected(rows) // from now on the schedule goes by what was measured
	for !c.deadline.IsZero() && rows > least && time.Now().Add(left).After(c.deadline) {
		rows = max(least, rows*9/10)
		left = c.expected(rows)
	}
	for unit := 10; rows < wanted && unit <= rows; unit *= 10 {
		if rows/unit < 100 {
			return max(least, rows-rows%unit)
		}
	}
	return rows
}

// expected guesses how long all rounds take, and what comes after them.
func (c *comparison) expected(rows int) time.Duration {
	for _, e := range c.participants {
		if !e.out && e.speed > 0 {
			c.schedule.guess(c.kind(e, stepRound), c.guess(e, rows))
		}
	}
	return c.schedule.remainingOf(c.number)
}

// roundTime is how long a round takes, and what comes after the last one.
func (c *comparison) roundTime() (sum time.Duration) {
	for _, e := range c.participants {
		if !e.out {
			sum += c.schedule.took[c.kind(e, stepRound)] + c.schedule.took[c.kind(e, stepCrash)]
		}
	}
	return sum
}
