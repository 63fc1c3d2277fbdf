package ticket_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/ticket"
)

func TestConfigDefaults(t *testing.T) {
	got, err := ticket.Complete(ticket.Config{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got.Sequence != "default" || got.Table != "snowkey_tickets" || got.Increment != 3 || got.Limit != math.MaxInt64 || got.Timeout != 5*time.Second ||
		got.ServerTimeout != time.Second || got.Failures != 3 || got.Backoff != 100*time.Millisecond || got.MaxBackoff != 5*time.Second {
		t.Errorf("got %+v", got)
	}
	if got, err := ticket.Complete(ticket.Config{Backoff: time.Minute}, 1); err != nil || got.MaxBackoff != time.Minute {
		t.Errorf("got %+v, %v, want the last backoff no shorter than the first", got, err)
	}
	blocks, err := ticket.CompleteBlocks(ticket.BlockConfig{}, 2)
	if err != nil || blocks.Table != "snowkey_blocks" || blocks.Unit != 1024 || blocks.Reserve != 10*time.Second || blocks.Rate != 0 || blocks.MinStep != 1024 || blocks.MaxStep != 1_000_000 {
		t.Errorf("got %+v, %v", blocks, err)
	}
	if got, err := ticket.CompleteBlocks(ticket.BlockConfig{MaxStep: 5}, 2); err != nil || got.MinStep != 5 {
		t.Errorf("got %+v, %v, want the first step no greater than the last", got, err)
	}
	if got, err := ticket.CompleteBlocks(ticket.BlockConfig{MinStep: 5_000_000}, 2); err != nil || got.MaxStep != 5_000_000 {
		t.Errorf("got %+v, %v, want the last step no less than the first", got, err)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, test := range []struct {
		name    string
		config  ticket.Config
		servers int
		text    string
	}{
		{"no servers", ticket.Config{}, 0, "no servers"},
		{"sequence with a blank", ticket.Config{Sequence: "a b"}, 1, `sequence "a b"`},
		{"sequence with a quote", ticket.Config{Sequence: "a'b"}, 1, "sequence"},
		{"sequence with a line", ticket.Config{Sequence: "a\n"}, 1, "sequence"},
		{"long sequence", ticket.Config{Sequence: strings.Repeat("a", 65)}, 1, "sequence"},
		{"table with a quote", ticket.Config{Table: "a`b"}, 1, "table \"a`b\""},
		{"table of three", ticket.Config{Table: "a.b.c"}, 1, "table"},
		{"increment below the servers", ticket.Config{Increment: 1}, 2, "increment 1, want 2"},
		{"negative increment", ticket.Config{Increment: -1}, 1, "increment -1"},
		{"many servers", ticket.Config{Increment: 1025}, 2, "increment 1025, want 2, the number of servers, to 1024"},
		{"negative limit", ticket.Config{Limit: -1}, 1, "limit -1"},
		{"negative server timeout", ticket.Config{ServerTimeout: -1}, 1, "server timeout -1ns"},
		{"negative failures", ticket.Config{Failures: -1}, 1, "failures -1"},
		{"negative backoff", ticket.Config{Backoff: -1}, 1, "backoff -1ns"},
		{"server timeout beyond an hour", ticket.Config{ServerTimeout: time.Hour + 1}, 1, "server timeout 1h0m0.000000001s"},
		{"backoff beyond an hour", ticket.Config{MaxBackoff: time.Hour + 1}, 1, "up to 1h0m0.000000001s, want none negative, none longer than 1h0m0s"},
		{"first backoff beyond an hour", ticket.Config{Backoff: time.Hour + 1}, 1, "backoff 1h0m0.000000001s up to 1h0m0.000000001s"},
		{"long table", ticket.Config{Table: strings.Repeat("a", 55)}, 1, "want up to 54 letters"},
		{"backoff beyond its last", ticket.Config{Backoff: 2, MaxBackoff: 1}, 1, "backoff 2ns up to 1ns"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ticket.Complete(test.config, test.servers)
			if !errors.Is(err, ticket.ErrConfig) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %v: %s", err, ticket.ErrConfig, test.text)
			}
			if _, err := ticket.CompleteBlocks(ticket.BlockConfig{Config: test.config}, test.servers); !errors.Is(err, ticket.ErrConfig) {
				t.Errorf("blocks: got %v, want %v", err, ticket.ErrConfig)
			}
		})
	}
	for _, config := range []ticket.Config{
		{Sequence: strings.Repeat("a", 64)}, {Sequence: "-._aZ9"}, {Table: "a.b"}, {Increment: 1024}, {Limit: 1}, {Timeout: -1}, {Timeout: 24 * time.Hour}, {Backoff: 1, MaxBackoff: 1},
		{ServerTimeout: time.Hour, MaxBackoff: time.Hour}, {Backoff: time.Hour}, {Table: strings.Repeat("a", 54)}, {Table: "schema." + strings.Repeat("a", 54)},
	} {
		if _, err := ticket.Complete(config, 1); err != nil {
			t.Errorf("%+v: %v", config, err)
		}
	}
}

func TestBlockConfigErrors(t *testing.T) {
	for text, config := range map[string]ticket.BlockConfig{
		"unit -1":              {Unit: -1},
		"unit 1000001":         {Unit: 1_000_001},
		"reserve -1ns":         {Reserve: -1},
		"reserve 1h0m0.000000": {Reserve: time.Hour + 1},
		"rate -1":              {Rate: -1},
		"rate 1000000001":      {Rate: 1_000_000_001},
		"steps of -1":          {MinStep: -1},
		"steps of 2 to 1":      {MinStep: 2, MaxStep: 1},
		"to 1000000001":        {MaxStep: 1_000_000_001},
	} {
		if _, err := ticket.CompleteBlocks(config, 1); !errors.Is(err, ticket.ErrConfig) || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: got %v, want %v: %s", config, err, ticket.ErrConfig, text)
		}
	}
	if _, err := ticket.CompleteBlocks(ticket.BlockConfig{Unit: 1_000_000, Reserve: time.Hour, Rate: 1_000_000_000, MinStep: 1, MaxStep: 1_000_000_000}, 1024); err != nil {
		t.Error(err)
	}
}

func TestServerErrors(t *testing.T) {
	db := newMock(t).db
	for _, test := range []struct {
		name    string
		config  ticket.Config
		servers []ticket.Server
		is      error
		text    string
	}{
		{"none", ticket.Config{}, nil, ticket.ErrConfig, "no servers"},
		{"no pool", ticket.Config{}, []ticket.Server{{DB: db, Dialect: ticket.MySQL}, {Dialect: ticket.MySQL}}, ticket.ErrConfig, "server 2 has no *sql.DB"},
		{"no dialect", ticket.Config{}, []ticket.Server{{DB: db, Name: "a"}}, ticket.ErrDialect, "a has Dialect(0)"},
		{"one name", ticket.Config{}, []ticket.Server{{DB: db, Dialect: ticket.MySQL, Name: "a"}, {DB: db, Dialect: ticket.SQLite, Name: "a"}}, ticket.ErrConfig, `"a"`},
		{"a default's name", ticket.Config{}, []ticket.Server{{DB: db, Dialect: ticket.MySQL, Name: "server 2"}, {DB: db, Dialect: ticket.MySQL}}, ticket.ErrConfig, `"server 2"`},
		{"long SEQUENCE", ticket.Config{Sequence: strings.Repeat("a", 48)}, []ticket.Server{{DB: db, Dialect: ticket.Postgres}}, ticket.ErrConfig, "has 64 characters"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := ticket.Flickr(test.config, test.servers...)
			if s != nil || !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %v: %s", err, test.is, test.text)
			}
		})
	}
	if _, err := ticket.Replace(ticket.Config{Table: "keys.snowkey_tickets", Sequence: strings.Repeat("a", 47)}, ticket.Server{DB: db, Dialect: ticket.Postgres}); err != nil {
		t.Error(err) // the schema does not count
	}
}

// Everything that an error wraps is found in it, and its text has all of it.
func TestErrors(t *testing.T) {
	first := &ticket.ServerError{Server: "a", Class: ticket.Permanent, Err: &ticket.TableError{Statement: "CREATE TABLE t", Err: my(1146)}}
	second := &ticket.ServerError{Server: "b", Class: ticket.Next, Err: &ticket.ExhaustedError{Limit: 9, Err: errReset}}
	all := &ticket.UnavailableError{Ended: context.Canceled, Servers: []*ticket.ServerError{first, second}}
	for _, want := range []error{ticket.ErrUnavailable, context.Canceled, ticket.ErrTable, ticket.ErrExhausted, errReset, first, second} {
		if !errors.Is(all, want) {
			t.Errorf("is not %v", want)
		}
	}
	for _, other := range []error{ticket.ErrForgotten, context.DeadlineExceeded, ticket.ErrLayout} {
		if errors.Is(all, other) {
			t.Errorf("is %v", other)
		}
	}
	var table *ticket.TableError
	var end *ticket.ExhaustedError
	if !errors.As(all, &table) || !errors.As(all, &end) || table.Statement != "CREATE TABLE t" || end.Limit != 9 {
		t.Errorf("got %v, %v", table, end)
	}
	for want, err := range map[string]error{
		"ticket: no server gives tickets in time: context canceled: a: ticket: the table of tickets cannot be used: Error 1146: said MySQL; this makes it:\nCREATE TABLE t" +
			"; b: ticket: the ids are used up: the greatest is 9: read tcp: connection reset by peer": all,
		"ticket: no server gives tickets":                           &ticket.UnavailableError{},
		"ticket: the ids are used up: the greatest is 5":            &ticket.ExhaustedError{Limit: 5},
		"server 1: refused: text":                                   stringer{ticket.Finding{Server: "server 1", Err: errReset, Text: "text"}},
		"server 1: warning: text":                                   stringer{ticket.Finding{Server: "server 1", Text: "text"}},
		"retry, next, permanent, quarantine, Class(0)":              classes{ticket.Retry, ticket.Next, ticket.Permanent, ticket.Quarantine, 0},
		"half-open, closed, open, quarantined, State(-1), State(4)": states{ticket.HalfOpen, ticket.Closed, ticket.Open, ticket.Quarantined, -1, 4},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	if end := (&ticket.ExhaustedError{Limit: 5}); !errors.Is(end, ticket.ErrExhausted) {
		t.Errorf("got %v", end)
	}
}

type (
	stringer struct{ ticket.Finding }
	classes  []ticket.Class
	states   []ticket.State
)

func (s stringer) Error() string { return s.String() }

func (c classes) Error() string {
	var all []string
	for _, class := range c {
		all = append(all, class.String())
	}
	return strings.Join(all, ", ")
}

func (s states) Error() string {
	var all []string
	for _, state := range s {
		all = append(all, state.String())
	}
	return strings.Join(all, ", ")
}
