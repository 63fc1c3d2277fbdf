package mapping

import "time"

// calendar makes instants of the times that a database has. It keeps the stretch of time that it looked up last, and is not safe for concurrent use.
type calendar struct {
	zone         *time.Location // nil: a time that does not say its zone cannot be read
	earliest     int64          // the layout's epoch: seconds, and nanoseconds of the second
	earliestNano int64
	now          int64 // seconds
	// Local times from since until before have this offset and no other.
	since, until, offset int64
}

// local makes a timestamp of a local time, given as if it were one of UTC. One that the zone's clocks showed twice, when they were set back, is the first of the
// two; one that they never showed, when they were set forward, cannot be read: the zone is not the one that it was written in. So the order of local times is
// that of the instants.
func (c *calendar) local(seconds, nanoseconds int64) timestamp {
	if c.zone == nil {
		if seconds < firstYear+2*86400 {
			return timestamp{state: zero}
		}
		return timestamp{state: unreadable}
	}
	if c.since <= seconds && seconds < c.until {
		return c.judge(seconds-c.offset, nanoseconds)
	}
	if seconds < firstYear+2*86400 {
		return timestamp{state: zero}
	}
	const never = -1 << 62
	at, found := int64(never), false
	// Offsets are less than a day. The stretches that can show this local time are those of a day before and after it.
	for instant := seconds - 86400; instant <= seconds+86400; {
		from, until, offset := c.stretch(instant)
		if candidate := seconds - offset; from <= candidate && candidate < until {
			at, found = candidate, true
			c.remember(from, until, offset)
			break
		}
		if until > seconds+86400 {
			break
		}
		instant = until
	}
	if !found {
		return timestamp{state: unreadable}
	}
	return c.judge(at, nanoseconds)
}

// stretch returns the time around an instant in which the zone has one offset.
func (c *calendar) stretch(instant int64) (from, until, offset int64) {
	t := time.Unix(instant, 0).In(c.zone)
	_, o := t.Zone()
	start, end := t.ZoneBounds()
	from, until = -1<<60, 1<<60
	if !start.IsZero() {
		from = start.Unix()
	}
	if !end.IsZero() {
		until = end.Unix()
	}
	return from, until, int64(o)
}

// remember keeps the local times of a stretch that no earlier stretch shows as well: those of its first day may be.
func (c *calendar) remember(from, until, offset int64) {
	c.since, c.until, c.offset = from+offset+2*86400, until+offset, offset
}
