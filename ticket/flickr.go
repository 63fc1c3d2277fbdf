package ticket

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Replace returns a source of tickets from one server: the published REPLACE INTO … (stub) on MySQL, MariaDB and SQLite, a SEQUENCE on PostgreSQL.
// It does nothing yet: Setup makes what is missing, and the first call checks the server. The error wraps [ErrConfig] or [ErrDialect].
func Replace(config Config, server Server) (*Tickets, error) {
	return Flickr(config, server)
}

// Flickr returns a source of tickets from several servers, as Flickr published it: server k of N gives the numbers that are k modulo N, the servers take
// turns, and those that are up stand in for those that are not. On MySQL and MariaDB the servers need auto_increment_increment = N and
// auto_increment_offset = k in their configuration; every draw makes sure that they have. The order of the list says which is
// which, and has to be the same everywhere.
//
// It does nothing yet: Setup makes what is missing, and the first call checks the servers. The error wraps [ErrConfig] or [ErrDialect].
//
// Source: "Ticket Servers: Distributed Unique Primary Keys on the Cheap", code.flickr.net, 2010.
func Flickr(config Config, servers ...Server) (*Tickets, error) {
	config, err := config.complete(DefaultTable, len(servers))
	if err != nil {
		return nil, err
	}
	s, err := newServers(config, 0, servers)
	if err != nil {
		return nil, err
	}
	return &Tickets{Servers: s}, nil
}

// layout is how the ids are divided among servers: in units of consecutive ids, of which server number k of N allocates every N-th.
//
//	unit 3, 2 servers:   1 2 3 │ 4 5 6 │ 7 8 9 │ 10 11 12 │ …
//	allocated by server       1       2       1       2
//
// With units of 1, as single tickets have them, that is Flickr's increment N and offset k: the ids of server k are k modulo N. The row of a
// sequence has it as a text, "1/2x3" for server 1 of the two above, and "1/2" where the unit is 1. No row, no layout: its zero value.
type layout struct {
	number  int64 // k, 1 to servers
	servers int64 // N
	unit    int64 // ids in a row
}

const (
	maxServers = 1024
	maxUnit    = 1_000_000
)

var layoutText = regexp.MustCompile(`^([1-9][0-9]{0,9})/([1-9][0-9]{0,9})(?:x([1-9][0-9]{0,9}))?$`)

// parseLayout reads what String gives.
func parseLayout(text string) (layout, error) {
	parts := layoutText.FindStringSubmatch(text)
	if parts == nil {
		return layout{}, fmt.Errorf(`%w: it is %q, want such as "1/2" or "1/2x100"`, ErrLayout, text)
	}
	number := func(digits string) int64 {
		n, _ := strconv.ParseInt(digits, 10, 64) // up to ten digits
		return n
	}
	l := layout{number: number(parts[1]), servers: number(parts[2]), unit: 1}
	if parts[3] != "" {
		l.unit = number(parts[3])
	}
	if l.number > l.servers || l.servers > maxServers || l.unit > maxUnit || l.String() != text {
		return layout{}, fmt.Errorf("%w: it is %q, want a server of at most %d, and units of at most %d", ErrLayout, text, maxServers, maxUnit)
	}
	return l, nil
}

func (l layout) String() string {
	text := fmt.Sprintf("%d/%d", l.number, l.servers)
	if l.unit != 1 {
		text += fmt.Sprintf("x%d", l.unit)
	}
	return text
}

// jump is the distance from a unit of the server to its next.
func (l layout) jump() int64 { return l.servers * l.unit }

// first is the first id of the server.
func (l layout) first() int64 { return (l.number-1)*l.unit + 1 }

// begins reports whether one of the server's units begins at the id.
func (l layout) begins(id int64) bool { return id >= l.first() && (id-l.first())%l.jump() == 0 }

// after returns where the server's first unit begins of which all ids are greater than id. It is false where that is beyond 2^63-1.
func (l layout) after(id int64) (int64, bool) {
	if id < l.first() {
		return l.first(), true
	}
	units := (id-l.first())/l.jump() + 1
	if units > (math.MaxInt64-l.first())/l.jump() {
		return 0, false
	}
	return l.first() + units*l.jump(), true
}

// frozen is the text of a layout that a row is on its way to: nothing is allocated from it.
func (l layout) frozen() string { return ">" + l.String() }

// parseFrozen reads either text.
func parseFrozen(text string) (l layout, frozen bool, err error) {
	text, frozen = strings.CutPrefix(text, ">")
	l, err = parseLayout(text)
	return l, frozen, err
}

// span is what a server allocated at once: units of consecutive ids, a jump apart. A single ticket is one unit of one id.
type span struct {
	first int64 // of the first unit
	unit  int64
	jump  int64
	units int64
}

// last is the greatest id.
func (s span) last() int64 { return s.first + (s.units-1)*s.jump + s.unit - 1 }

// count is how many ids there are.
func (s span) count() int64 { return s.units * s.unit }
