package mapping

import "bytes"

// text reads a time as databases, their drivers and their users write it:
//
//	2025-01-02                          with T, t or spaces before the time of day
//	2025-01-02 03:04                    a fraction of any length, of which nine digits count, after a point or a comma
//	2025-01-02 03:04:05.678             an offset with or without a colon, minutes and seconds, and with a space before it; Z, z, UTC and GMT
//	2025-01-02T03:04:05,678+09:00
//	2025-01-02 03:04:05 +0900 JST m=+1  as Go's time.Time.String writes it
//
// and whole numbers as [calendar.integer] does.
func (c *calendar) text(b []byte) timestamp {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return timestamp{state: unreadable}
	}
	if n, ok := wholeNumber(b); ok {
		return c.integer(n)
	}
	r := scanner{rest: b, ok: true}
	year := r.number(4)
	r.expect('-')
	month := r.number(2)
	r.expect('-')
	date := r.number(2)
	hour, minute, second, nano := r.clock()
	offset, zoned := r.offset()
	if !r.ok || len(r.rest) > 0 || hour > 23 || minute > 59 || second > 59 {
		return timestamp{state: unreadable}
	}
	if month == 0 || date == 0 {
		return timestamp{state: zero} // MySQL's 0000-00-00, or a part of it
	}
	if month > 12 || date > daysIn(year, month) {
		return timestamp{state: unreadable}
	}
	seconds := days(year, month, date)*86400 + hour*3600 + minute*60 + second
	if zoned {
		return c.judge(seconds-offset, nano)
	}
	return c.local(seconds, nano)
}

// wholeNumber reads digits with or without a minus.
func wholeNumber(b []byte) (int64, bool) {
	digits := bytes.TrimPrefix(b, []byte("-"))
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var n uint64
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + uint64(d-'0')
	}
	if n > 1<<63-1 {
		return 0, false
	}
	if len(digits) < len(b) {
		return -int64(n), true
	}
	return int64(n), true
}

// scanner reads a text from its front. After something that it did not expect ok is false, and its numbers mean nothing.
type scanner struct {
	rest []byte
	ok   bool
}

func (r *scanner) peek() byte {
	if len(r.rest) == 0 {
		return 0
	}
	return r.rest[0]
}

func (r *scanner) expect(c byte) {
	if r.peek() != c {
		r.ok = false
		return
	}
	r.rest = r.rest[1:]
}

// number reads as many digits as are asked for.
func (r *scanner) number(digits int) (n int64) {
	if len(r.rest) < digits {
		r.ok = false
		return 0
	}
	for _, d := range r.rest[:digits] {
		if d < '0' || d > '9' {
			r.ok = false
		}
		n = n*10 + int64(d-'0')
	}
	r.rest = r.rest[digits:]
	return n
}

// clock reads the time of day, if there is one.
func (r *scanner) clock() (hour, minute, second, nano int64) {
	switch r.peek() {
	case 0:
		return 0, 0, 0, 0
	case 'T', 't':
		r.rest = r.rest[1:]
	default:
		r.expect(' ')
		r.spaces()
	}
	hour = r.number(2)
	r.expect(':')
	minute = r.number(2)
	if r.peek() != ':' {
		return hour, minute, 0, 0
	}
	r.expect(':')
	second = r.number(2)
	if c := r.peek(); c != '.' && c != ',' {
		return hour, minute, second, 0
	}
	r.rest = r.rest[1:]
	count := 0
	for ; r.peek() >= '0' && r.peek() <= '9'; r.rest = r.rest[1:] {
		if count < 9 {
			nano = nano*10 + int64(r.peek()-'0')
		}
		count++
	}
	r.ok = r.ok && count > 0
	for ; count < 9; count++ {
		nano *= 10
	}
	return hour, minute, second, nano
}

// offset reads what says the zone, in seconds east of UTC. The name of a zone without its offset says none: there are several of one name.
func (r *scanner) offset() (seconds int64, zoned bool) {
	r.spaces()
	switch c := r.peek(); c {
	case 0:
		return 0, false
	case '+', '-':
		r.rest = r.rest[1:]
		seconds = r.number(2) * 3600
		for unit := int64(60); unit > 0 && len(r.rest) > 0 && r.peek() != ' '; unit /= 60 {
			if r.peek() == ':' {
				r.rest = r.rest[1:]
			}
			part := r.number(2)
			r.ok = r.ok && part < 60
			seconds += part * unit
		}
		r.ok = r.ok && seconds < 86400
		if c == '-' {
			seconds = -seconds
		}
		r.note()
		return seconds, true
	}
	switch string(r.rest) {
	case "Z", "z", "UTC", "GMT":
		r.rest = nil
		return 0, true
	}
	r.ok = false
	return 0, false
}

// note reads what time.Time.String puts after the offset: the zone's name and the reading of the monotonic clock.
func (r *scanner) note() {
	for _, word := range bytes.Fields(r.rest) {
		for _, c := range bytes.TrimPrefix(word, []byte("m=")) {
			letter := c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
			if !letter && c != '+' && c != '-' && c != '.' && (c < '0' || c > '9') {
				r.ok = false
			}
		}
	}
	if r.ok {
		r.rest = nil
	}
}

func (r *scanner) spaces() {
	for r.peek() == ' ' {
		r.rest = r.rest[1:]
	}
}

// days returns the days from 1970-01-01 to a date of the Gregorian calendar, in years 0 to 9999.
func days(year, month, date int64) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	year += 400 // so that all divisions are of positive numbers
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + date - 1 - 719468 - 146097
}

func daysIn(year, month int64) int64 {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}
