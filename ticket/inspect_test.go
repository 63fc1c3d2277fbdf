package ticket_test

import (
	"database/sql/driver"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/ticket"
)

// found is a finding: its error, nil for a warning, and a part of its text.
type found struct {
	err  error
	text string
}

// inspections are what an inspection of server 2 of 3 finds.
var inspections = []struct {
	name   string
	kind   kind
	look   func(script) script // changes the one of a server that is in order
	unsafe bool
	change func(*ticket.Condition) // what is different from a server that is in order
	finds  []found
}{
	{name: "autocommit", kind: replaceMySQL, look: settings(0, 0, 0, 1, 1, 1, "ROW", 3, 2, 0, 3, 2), finds: []found{{ticket.ErrUnsafe, "autocommit is 0"}}},
	{name: "autocommit, unsafe", kind: replaceMySQL, look: settings(0, 0, 0, 1, 1, 1, "ROW", 3, 2, 0, 3, 2), unsafe: true, finds: []found{{ticket.ErrUnsafe, "autocommit is 0"}}},
	{
		name: "autocommit of before", kind: replaceMySQL, look: settings(0, 0, 0, 1, 1, 1, "ROW", 3, 2, 1, 3, 2),
		change: func(c *ticket.Condition) { c.Stale = true }, finds: []found{{ticket.ErrUnsafe, "autocommit is 0"}},
	},
	{name: "flush 0", kind: replaceMySQL, look: settings(1, 0, 0, 0, 1, 1, "ROW", 3, 2, 1, 3, 2), finds: []found{{ticket.ErrUnsafe, "is 0: what is committed is lost when the server or its machine crashes"}}},
	{name: "flush 2", kind: blockMySQL, look: settings(1, 0, 0, 2, 1, 1, "ROW", 3, 2, 1, 3, 2), finds: []found{{ticket.ErrUnsafe, "is 2: what is committed is lost when the machine crashes"}}},
	{name: "flush 2, unsafe", kind: blockMySQL, look: settings(1, 0, 0, 2, 1, 1, "ROW", 3, 2, 1, 3, 2), unsafe: true, finds: []found{{nil, "is 2"}}},
	{name: "flush 3", kind: replaceMySQL, look: settings(1, 0, 0, 3, 1, 1, "ROW", 3, 2, 1, 3, 2)},
	{name: "binary log", kind: replaceMySQL, look: settings(1, 0, 0, 1, 1, 0, "ROW", 3, 2, 1, 3, 2), finds: []found{{nil, "sync_binlog is 0"}}},
	{name: "no binary log", kind: replaceMySQL, look: settings(1, 0, 0, 1, 0, 0, "ROW", 3, 2, 1, 3, 2)},
	{
		name: "binary log of statements", kind: replaceMySQL, look: settings(1, 0, 0, 1, 1, 1, "STATEMENT", 3, 2, 1, 3, 2),
		finds: []found{{ticket.ErrUnsafe, "binlog_format is STATEMENT"}},
	},
	{name: "binary log of statements, unsafe", kind: blockMySQL, look: settings(1, 0, 0, 1, 1, 1, "STATEMENT", 3, 2, 1, 3, 2), unsafe: true, finds: []found{{nil, "binlog_format is STATEMENT"}}},
	{name: "no binary log, of statements", kind: replaceMySQL, look: settings(1, 0, 0, 1, 0, 1, "STATEMENT", 3, 2, 1, 3, 2)},
	{name: "read only", kind: blockMySQL, look: settings(1, 0, 1, 1, 1, 1, "ROW", 3, 2, 1, 3, 2), finds: []found{{nil, "read_only is on"}}},
	{name: "Galera", kind: blockMySQL, look: galera(1, 7, 1, galeraOptions)},
	{name: "Galera, waits of SHOW too", kind: blockMySQL, look: galera(1, 15, 1, galeraOptions)},
	{name: "Galera, wsrep_on", kind: blockMySQL, look: galera(0, 7, 1, galeraOptions), finds: []found{{ticket.ErrUnsafe, "wsrep_on is OFF"}}},
	{name: "Galera, no waits", kind: replaceMySQL, look: galera(1, 0, 1, galeraOptions), finds: []found{{ticket.ErrUnsafe, "wsrep_sync_wait is 0 on a node of a Galera cluster, without the bits of 7"}}},
	{name: "Galera, waits of SELECT alone", kind: blockMySQL, look: galera(1, 9, 1, galeraOptions), finds: []found{{ticket.ErrUnsafe, "without the bits of 6: a statement may not see what another node has committed, so that it seems to be lost; set it to 15"}}},
	{name: "Galera, unsafe", kind: blockMySQL, look: galera(1, 0, 1, galeraOptions), unsafe: true, finds: []found{{nil, "wsrep_sync_wait is 0"}}},
	{name: "Galera, no quorum", kind: blockMySQL, look: galera(1, 7, 1, "pc.ignore_quorum = true; pc.ignore_sb = false;"), finds: []found{{ticket.ErrUnsafe, "pc.ignore_quorum is true in wsrep_provider_options"}}},
	{name: "Galera, split brain", kind: blockMySQL, look: galera(1, 7, 1, "a = b; pc.ignore_sb = YES"), finds: []found{{ticket.ErrUnsafe, "pc.ignore_sb is YES"}}},
	{
		name: "Galera, increment", kind: replaceMySQL, look: both(galera(1, 7, 1, galeraOptions), otherOffset(5, 1, 5, 1)),
		finds: []found{{ticket.ErrLayout, "want 3 and 2; a Galera cluster sets them by its size: set wsrep_auto_increment_control to OFF first"}},
	},
	{
		name: "Galera, increment, no control", kind: replaceMySQL, look: both(galera(1, 7, 0, galeraOptions), otherOffset(5, 1, 5, 1)),
		finds: []found{{ticket.ErrLayout, "want 3 and 2; set them in the server's configuration"}},
	},
	{name: "increment", kind: replaceMySQL, look: otherOffset(1, 2, 1, 2), finds: []found{{ticket.ErrLayout, "auto_increment_increment is 1 and auto_increment_offset 2, want 3 and 2"}}},
	{name: "offset", kind: replaceMySQL, look: otherOffset(3, 1, 3, 1), finds: []found{{ticket.ErrLayout, "is 3 and auto_increment_offset 1, want 3 and 2"}}},
	{
		name: "offset of before", kind: replaceMySQL, look: otherOffset(3, 1, 3, 2),
		change: func(c *ticket.Condition) { c.Stale = true }, finds: []found{{ticket.ErrLayout, "auto_increment_offset 1"}},
	},
	{name: "offset of blocks", kind: blockMySQL, look: settings(1, 0, 0, 1, 1, 1, "ROW", 1, 1, 1, 1, 1)},
	{
		name: "offset, one server", kind: replaceMySQL, look: both(settings(1, 0, 0, 1, 1, 1, "ROW", 7, 5, 1, 7, 5), rows("row", values(600, 600, "1/1"))),
		change: func(c *ticket.Condition) { c.Text = "1/1" },
	},
	{
		name: "offset, frozen", kind: replaceMySQL, look: both(settings(1, 0, 0, 1, 1, 1, "ROW", 1, 1, 1, 1, 1), rows("row", values(600, 600, ">2/4"))),
		change: func(c *ticket.Condition) { c.Text = ">2/4" },
	},
	{
		name: "columns of others", kind: replaceMySQL, look: both(columns(values("id", "bigint", 1, 0), values("layout", "varchar", 0, 32)), without("keys", "engine", "row")),
		change: func(c *ticket.Condition) { *c = ticket.Condition{Table: true, Made: "[2]", Limit: math.MaxInt64} },
		finds:  []found{{ticket.ErrTable, "has not the columns id and stub"}},
	},
	{name: "short stub", kind: replaceMySQL, look: columns(values("ID", "bigint", 1, 0), values("Stub", "char", 0, 6), values("LAYOUT", "varchar", 0, 32)), finds: []found{{ticket.ErrTable, `holds 6 characters, the sequence "default" has 7`}}},
	{name: "stub just long enough", kind: replaceMySQL, look: columns(values("id", "bigint", 1, 0), values("stub", "char", 0, 7), values("layout", "varchar", 0, 32))},
	{name: "text id", kind: replaceMySQL, look: columns(values("id", "varchar", 0, 0), values("stub", "char", 0, 64), values("layout", "varchar", 0, 32)), finds: []found{{ticket.ErrTable, "of the type varchar"}}},
	{
		name: "int unsigned id", kind: replaceMySQL, look: columns(values("id", "INT", 1, 0), values("stub", "char", 0, 64), values("layout", "varchar", 0, 32)),
		change: func(c *ticket.Condition) { c.Limit = math.MaxUint32 }, finds: []found{{nil, "of the type int, and ends at 4294967295"}},
	},
	{
		name: "smallint id", kind: replaceMySQL, look: columns(values("id", "smallint", 0, 0), values("stub", "char", 0, 64), values("layout", "varchar", 0, 32)),
		change: func(c *ticket.Condition) { c.Limit = math.MaxInt16 }, finds: []found{{nil, "ends at 32767"}},
	},
	{name: "no key", kind: replaceMySQL, look: rows("keys", values("id"), values("stub,layout"), values(nil)), finds: []found{{ticket.ErrTable, "no unique key on stub"}}},
	{name: "no keys", kind: replaceSQLite, look: rows("keys"), finds: []found{{ticket.ErrTable, "no unique key on stub"}}},
	{name: "published keys", kind: replaceMySQL, look: rows("keys", values("id"), values("stub")), finds: []found{{nil, "as published"}}},
	{name: "published keys", kind: replaceSQLite, look: rows("keys", values("id"), values("stub"))},
	{name: "MyISAM", kind: replaceMySQL, look: rows("engine", values("MyISAM")), finds: []found{{ticket.ErrUnsafe, "engine MyISAM"}}},
	{name: "MEMORY, unsafe", kind: blockMySQL, look: rows("engine", values("MEMORY")), unsafe: true, finds: []found{{nil, "engine MEMORY"}}},
	{name: "a view", kind: blockMySQL, look: rows("engine", values(nil)), finds: []found{{ticket.ErrUnsafe, "engine ,"}}},
	{name: "no row", kind: replaceMySQL, look: rows("row"), change: func(c *ticket.Condition) { c.Row, c.Last, c.At, c.Text = false, 0, 0, "" }},
	{name: "no row", kind: replaceSQLite, look: both(rows("row"), without("made", "counter")), change: func(c *ticket.Condition) { c.Row, c.Last, c.At, c.Text = false, 0, 0, "" }},
	{name: "no row", kind: blockPostgres, look: rows("row"), change: func(c *ticket.Condition) { c.Row, c.Last, c.Text = false, 0, "" }},
	{name: "no SEQUENCE", kind: sequence, look: both(rows("object"), without("value")), change: func(c *ticket.Condition) { c.Row, c.Last, c.Limit, c.Text = false, 0, 0, "" }},
	{name: "not registered", kind: sequence, look: rows("register"), change: func(c *ticket.Condition) { c.Made = "[]" }},
	{name: "no register", kind: blockMySQL, look: failing("register", my(1146)), change: func(c *ticket.Condition) { c.Made = "[]" }},
	{name: "no register", kind: sequence, look: failing("register", pg("42P01")), change: func(c *ticket.Condition) { c.Made = "[]" }},
	{name: "register of others", kind: blockMySQL, look: failing("register", my(1142)), change: func(c *ticket.Condition) { c.Made = "[]" }},
	{name: "all registered", kind: blockSQLite, look: rows("register", values(3), values(1), values(2)), change: func(c *ticket.Condition) { c.Made = "[3 1 2]" }},
	{name: "unsigned beyond", kind: replaceMySQL, look: rows("row", values("18446744073709551615", "18446744073709551615", "2/3")), change: func(c *ticket.Condition) { c.Last, c.At = math.MaxInt64, math.MaxInt64 }},
	{name: "garbage layout", kind: replaceMySQL, look: rows("row", values(600, 600, "both")), change: func(c *ticket.Condition) { c.Text = "both" }},
	{
		name: "no AUTOINCREMENT", kind: replaceSQLite, look: both(rows("made", values("CREATE TABLE t (id integer PRIMARY KEY)")), without("counter")),
		finds: []found{{ticket.ErrTable, "is not AUTOINCREMENT"}},
	},
	{name: "counter of another row", kind: replaceSQLite, look: rows("counter", values(9000)), change: func(c *ticket.Condition) { c.At = 9000 }},
	{name: "in a transaction", kind: blockMySQL, look: settings(1, 1, 0, 1, 1, 1, "ROW", 3, 2, 1, 3, 2), change: func(c *ticket.Condition) { c.Stale = true }, finds: []found{{ticket.ErrUnsafe, "a transaction was begun on the connection and not ended"}}},

	{name: "fsync", kind: sequence, look: rows("settings", values("off", "on", false, "off", 0)), finds: []found{{ticket.ErrUnsafe, "fsync is off"}}},
	{name: "fsync, unsafe", kind: sequence, look: rows("settings", values("off", "on", false, "off", 0)), unsafe: true, finds: []found{{nil, "fsync is off"}}},
	{name: "full_page_writes", kind: blockPostgres, look: rows("settings", values("on", "off", false, "off", 0)), finds: []found{{nil, "full_page_writes is off"}}},
	{name: "asynchronous", kind: blockPostgres, look: rows("settings", values("on", "on", false, "off", 2)), finds: []found{{nil, "the standbys (2) may lack"}}},
	{name: "standby", kind: sequence, look: rows("settings", values("on", "on", true, "off", 0)), finds: []found{{ticket.ErrReadOnly, "standby"}}},
	{name: "read only", kind: blockPostgres, look: rows("settings", values("on", "on", false, "on", 0)), finds: []found{{ticket.ErrReadOnly, "default_transaction_read_only"}}},
	{name: "not called", kind: sequence, look: rows("value", values(602, false)), change: func(c *ticket.Condition) { c.Last = 601 }},
	{name: "not called", kind: sequence, look: rows("value", values(0, false)), change: func(c *ticket.Condition) { c.Last = 0 }},
	{name: "descending", kind: sequence, look: object("p", 2, -1, math.MaxInt64, 1, false, "2/3"), finds: []found{{ticket.ErrLayout, "INCREMENT BY -1 START WITH 2"}}},
	{name: "negative start", kind: sequence, look: object("p", -1, 3, math.MaxInt64, 1, false, "2/3"), finds: []found{{ticket.ErrLayout, "START WITH -1"}}},
	{name: "other increment", kind: sequence, look: object("p", 2, 2, math.MaxInt64, 1, false, "2/3"), finds: []found{{ticket.ErrLayout, "INCREMENT BY 2 START WITH 2, its comment says 2/3"}}},
	{name: "other start", kind: sequence, look: object("p", 4, 3, math.MaxInt64, 1, false, "2/3"), finds: []found{{ticket.ErrLayout, "its comment says 2/3"}}},
	{name: "start beyond", kind: sequence, look: object("p", 602, 3, math.MaxInt64, 1, false, "2/3")},
	{name: "start 0", kind: sequence, look: object("p", 0, 3, math.MaxInt64, 1, false, ""), change: func(c *ticket.Condition) { c.Bare, c.Text = true, "3/3" }},
	{name: "by hand", kind: sequence, look: object("p", 5, 3, 99999, 1, false, "for Flickr"), change: func(c *ticket.Condition) { c.Bare, c.Text, c.Limit = true, "2/3", 99999 }},
	{name: "frozen", kind: sequence, look: object("p", 2, 3, 601, 1, false, ">2/4"), change: func(c *ticket.Condition) { c.Text = ">2/4" }},
	{name: "cycle", kind: sequence, look: object("p", 2, 3, math.MaxInt64, 1, true, "2/3"), finds: []found{{ticket.ErrLayout, "NO CYCLE"}}},
	{name: "cache", kind: sequence, look: object("p", 2, 3, math.MaxInt64, 20, false, "2/3"), finds: []found{{ticket.ErrLayout, "CACHE 20"}}},
	{name: "unlogged", kind: sequence, look: object("u", 2, 3, math.MaxInt64, 1, false, "2/3"), finds: []found{{ticket.ErrUnsafe, "is not logged"}}},
	{name: "unlogged, unsafe", kind: sequence, look: object("u", 2, 3, math.MaxInt64, 1, false, "2/3"), unsafe: true, finds: []found{{nil, "is not logged"}}},
	{name: "unlogged", kind: blockPostgres, look: rows("persistence", values("u")), finds: []found{{ticket.ErrUnsafe, "is not logged"}}},

	{name: "synchronous off", kind: replaceSQLite, look: rows("synchronous", values(0)), finds: []found{{ticket.ErrUnsafe, "synchronous is off"}}},
	{name: "synchronous off, unsafe", kind: blockSQLite, look: rows("synchronous", values(0)), unsafe: true, finds: []found{{nil, "synchronous is off"}}},
	{name: "synchronous normal", kind: blockSQLite, look: rows("synchronous", values(1)), finds: []found{{nil, "synchronous is normal"}}},
	{name: "synchronous normal, delete", kind: blockSQLite, look: both(rows("synchronous", values(1)), rows("journal", values("delete")))},
	{name: "journal off", kind: replaceSQLite, look: rows("journal", values("OFF")), finds: []found{{ticket.ErrUnsafe, "journal_mode is off"}}},
	{name: "journal memory", kind: replaceSQLite, look: rows("journal", values("memory")), finds: []found{{ticket.ErrUnsafe, "journal_mode is memory"}}},
	{name: "in memory", kind: replaceSQLite, look: both(rows("file", values("")), rows("journal", values("memory"))), finds: []found{{nil, "in memory"}}},
	{name: "query_only", kind: blockSQLite, look: rows("queryOnly", values(1)), finds: []found{{ticket.ErrReadOnly, "query_only"}}},

	{
		name: "columns of others", kind: blockSQLite, look: both(columns(values("name", "text", 0, 0), values("next", "bigint", 0, 0)), without("row")),
		change: func(c *ticket.Condition) { *c = ticket.Condition{Table: true, Made: "[2]", Limit: math.MaxInt64} },
		finds:  []found{{ticket.ErrTable, "no column layout"}},
	},
	{name: "int next", kind: blockMySQL, look: columns(values("name", "varchar", 0, 64), values("next", "int", 0, 0), values("layout", "varchar", 0, 32)), finds: []found{{ticket.ErrTable, "of the type int"}}},
	{name: "integer next", kind: blockPostgres, look: columns(values("name", "text", false, 0), values("next", "integer", false, 0), values("layout", "text", false, 0)), finds: []found{{ticket.ErrTable, "of the type integer"}}},
	{name: "integer next", kind: blockSQLite, look: columns(values("name", "text", 0, 0), values("next", "INTEGER", 0, 0), values("layout", "text", 0, 0))},
	{name: "next within a unit", kind: blockMySQL, look: rows("row", values(702, "2/3x100")), change: func(c *ticket.Condition) { c.Last = 701 }, finds: []found{{ticket.ErrLayout, "next is 702, where no unit of the layout 2/3x100 begins"}}},
	{name: "next within a unit, frozen", kind: blockMySQL, look: rows("row", values(702, ">2/3x100")), change: func(c *ticket.Condition) { c.Last, c.Text = 701, ">2/3x100" }},
	{name: "next is 0", kind: blockMySQL, look: rows("row", values(0, "no")), change: func(c *ticket.Condition) { c.Last, c.Text = 0, "no" }},
}

// rows changes what a query of an inspection returns.
func rows(name string, answer ...[]driver.Value) func(script) script {
	return func(s script) script { return s.answer(name, answer...) }
}

func columns(answer ...[]driver.Value) func(script) script { return rows("columns", answer...) }

// settings are those of MySQL outside of a cluster, or of PostgreSQL.
func settings(v ...driver.Value) func(script) script {
	if len(v) == 12 {
		v = append(v, 0)
	}
	return rows("settings", v)
}

// galera makes the server a node of a cluster with those settings.
func galera(on, syncWait, control int64, options string) func(script) script {
	return func(s script) script {
		s = slices.Clone(s)
		at := s.find("settings")
		v := slices.Clone(s[at].rows[0])
		v[len(v)-1] = int64(1)
		s[at].rows = [][]driver.Value{v}
		return slices.Insert(s, at+1, queried("SELECT @@wsrep_on, @@wsrep_sync_wait, @@wsrep_auto_increment_control, @@wsrep_provider_options", values(on, syncWait, control, options)))
	}
}

const galeraOptions = "base_port = 4567; pc.ignore_quorum = false; pc.ignore_sb = no; pc.linger = PT20S; "

// otherOffset gives the session another increment and offset, and the server those it is said to have when it is asked again.
func otherOffset(increment, offset, serverIncrement, serverOffset int64) func(script) script {
	return func(s script) script {
		answer := s[s.find("settings")].rows[0]
		s = settings(1, 0, 0, 1, 1, 1, "ROW", increment, offset, 1, 1, 1, answer[len(answer)-1])(s)
		now := queried("SELECT @@global.auto_increment_increment, @@global.auto_increment_offset", values(serverIncrement, serverOffset)).named("global")
		return slices.Insert(s, s.find("row")+1, now)
	}
}

func object(persistence string, start, increment, most, cache int64, cycle bool, comment string) func(script) script {
	return rows("object", values("S", persistence, start, increment, most, cache, cycle, comment))
}

func failing(name string, err error) func(script) script {
	return func(s script) script { return s.fail(name, err) }
}

func without(names ...string) func(script) script {
	return func(s script) script { return s.without(names...) }
}

func both(first, second func(script) script) func(script) script {
	return func(s script) script { return second(first(s)) }
}

// inspects has the server 2 of 3 inspected, and returns what it finds.
func (k kind) inspects(t *testing.T, unsafe bool, steps script) (ticket.Condition, []ticket.Finding, error) {
	m := newMock(t, steps...)
	s := k.servers(t, ticket.Config{AllowUnsafe: unsafe}, newMock(t), m, newMock(t))
	return s.Counter(2).Inspect(t.Context(), m.conn())
}

func TestInspect(t *testing.T) {
	for _, test := range inspections {
		t.Run(test.kind.String()+"/"+test.name, func(t *testing.T) {
			got, findings, err := test.kind.inspects(t, test.unsafe, test.look(test.kind.inspected(test.kind.order().Layout)))
			if err != nil {
				t.Fatal(err)
			}
			want := test.kind.inOrder()
			if test.change != nil {
				test.change(&want)
			}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			wantFindings(t, findings, test.finds)
		})
	}
}

// inOrder is the condition of a server without findings.
func (k kind) inOrder() ticket.Condition {
	want := ticket.Condition{Table: true, Row: true, Made: "[2]", Text: k.order().Layout, Last: 600, Limit: math.MaxInt64}
	switch {
	case k.blocks:
		want.Last = 700
	case k == sequence:
		want.Last = 601
	case k == replaceMySQL, k == replaceSQLite:
		want.At = 600
	}
	return want
}

func wantFindings(t *testing.T, got []ticket.Finding, want []found) {
	t.Helper()
	for i, f := range got {
		switch {
		case i >= len(want):
			t.Errorf("found also %v", f)
		case f.Err != want[i].err || !strings.Contains(f.Text, want[i].text):
			t.Errorf("found %v with %v, want %v: %s", f, f.Err, want[i].err, want[i].text)
		}
	}
	if len(got) < len(want) {
		t.Errorf("found only %v, want %v", got, want)
	}
}

func TestInspectInOrder(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			got, findings, err := k.inspects(t, false, k.inspected(k.order().Layout))
			if want := k.inOrder(); err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
			wantFindings(t, findings, nil)
		})
	}
}

func TestInspectNoTable(t *testing.T) {
	for _, k := range kinds {
		if k == sequence { // has no table
			continue
		}
		t.Run(k.String(), func(t *testing.T) {
			got, findings, err := k.inspects(t, false, k.inspected(k.order().Layout).tableless(1, 3))
			if want := (ticket.Condition{Made: "[1 3]", Limit: math.MaxInt64}); err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
			wantFindings(t, findings, nil)
		})
	}
}

// The published table has no layout: it is the configuration's.
func TestInspectPublished(t *testing.T) {
	for _, k := range []kind{replaceMySQL, replaceSQLite} {
		t.Run(k.String(), func(t *testing.T) {
			got, findings, err := k.inspects(t, false, publishedLook(k.inspected("2/3")))
			want := k.inOrder()
			want.Bare = true
			if err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
			if k == replaceSQLite { // without the server's offset nothing says which numbers are its own
				wantFindings(t, findings, []found{{ticket.ErrLayout, "has no column layout, so that nothing says which server's numbers are in it"}})
			} else {
				wantFindings(t, findings, nil)
			}
		})
	}
	k := replaceSQLite
	m := newMock(t, publishedLook(k.inspected("1/1"))...)
	got, findings, err := k.servers(t, ticket.Config{}, m).Counter(1).Inspect(t.Context(), m.conn())
	if err != nil || !got.Bare || got.Text != "1/1" {
		t.Errorf("one server: got %+v, %v", got, err)
	}
	wantFindings(t, findings, nil)
}

// publishedLook is the inspection of a table without a layout.
func publishedLook(look script) script {
	look = look.answer("columns", values("id", "bigint", 1, 0), values("stub", "char", 0, 7))
	i := look.find("row")
	look[i].sql = strings.Replace(look[i].sql, "COALESCE(layout, '')", "''", 1)
	if len(look[i].rows) > 0 {
		look[i].rows = [][]driver.Value{values(look[i].rows[0][0], look[i].rows[0][1], "")}
	}
	return look
}

// What the server gives new sessions may not be told either.
func TestInspectOffsetFails(t *testing.T) {
	look := otherOffset(3, 1, 3, 2)(replaceMySQL.inspected("2/3"))
	if _, _, err := replaceMySQL.inspects(t, false, look.fail("global", errReset).until("global")); !errors.Is(err, errReset) {
		t.Errorf("got %v, want %v", err, errReset)
	}
}

// Every query of an inspection may fail.
func TestInspectFails(t *testing.T) {
	for _, k := range kinds {
		for _, name := range k.steps() {
			t.Run(k.String()+"/"+name, func(t *testing.T) {
				look := k.inspected(k.order().Layout).until(name)
				if _, _, err := k.inspects(t, false, look.fail(name, errReset)); !errors.Is(err, errReset) {
					t.Errorf("got %v, want %v", err, errReset)
				}
			})
			t.Run(k.String()+"/"+name+"/after its rows", func(t *testing.T) {
				look := k.inspected(k.order().Layout).until(name)
				look[len(look)-1] = look[len(look)-1].uncommitted(errReset)
				if _, _, err := k.inspects(t, false, look); !errors.Is(err, errReset) {
					t.Errorf("got %v, want %v", err, errReset)
				}
			})
			t.Run(k.String()+"/"+name+"/more columns", func(t *testing.T) {
				look := k.inspected(k.order().Layout).until(name)
				last := &look[len(look)-1]
				last.rows = [][]driver.Value{append(values("x"), last.rows[0]...)} // a column too many
				if _, _, err := k.inspects(t, false, look); err == nil {
					t.Error("got no error")
				}
			})
		}
	}
}
