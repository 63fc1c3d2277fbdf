package ticket

import (
	"context"
	"database/sql"
	"fmt"
)

// ErrUnmatched is what a draw fails with whose conditions are not met.
var ErrUnmatched = errUnmatched

// Order is an order with its layout as a text.
type Order struct {
	Layout                   string
	Bare                     bool
	Units, High, Last, Limit int64
}

func (o Order) order() order {
	return order{layout: MustLayout(o.Layout).layout, bare: o.Bare, units: o.Units, high: o.High, last: o.Last, limit: o.Limit}
}

// Span is a span with its fields exported.
type Span struct{ First, Last, Count int64 }

func spanOf(s span) Span {
	if s == (span{}) {
		return Span{}
	}
	return Span{s.first, s.last(), s.count()}
}

// Layout is a layout with its methods exported.
type Layout struct{ layout }

func ParseLayout(text string) (Layout, error) {
	l, err := parseLayout(text)
	return Layout{l}, err
}

func MustLayout(text string) Layout {
	l, err := ParseLayout(text)
	if err != nil {
		panic(err)
	}
	return l
}

func ParseFrozen(text string) (Layout, bool, error) {
	l, frozen, err := parseFrozen(text)
	return Layout{l}, frozen, err
}

func (l Layout) Parts() (number, servers, unit int64) { return l.number, l.servers, l.unit }
func (l Layout) Jump() int64                          { return l.jump() }
func (l Layout) First() int64                         { return l.first() }
func (l Layout) Begins(id int64) bool                 { return l.begins(id) }
func (l Layout) After(id int64) (int64, bool)         { return l.after(id) }
func (l Layout) Frozen() string                       { return l.frozen() }
func (l Layout) Span(first, units int64) Span {
	return spanOf(span{first: first, unit: l.unit, jump: l.jump(), units: units})
}

// Counter is the SQL of a sequence on one server.
type Counter struct{ c counter }

// Counter returns that of the server with the number.
func (s *Servers) Counter(number int) Counter {
	return Counter{s.servers[number-1].sql()}
}

// Settle has all servers take their tables to be in the schema.
func (s *Servers) Settle(schema string) {
	for _, p := range s.servers {
		p.schema = schema
	}
}

func (c Counter) Enter(number int) string { return c.c.enter(int64(number)) }

func (c Counter) Tables() (statements []string) {
	for _, t := range c.c.tables() {
		statements = append(statements, t.create)
	}
	return statements
}

func (c Counter) Row(layout string, after int64) []string { return c.c.row(layout, after) }

func (c Counter) Draw(ctx context.Context, conn *sql.Conn, o Order) (Span, error) {
	s, err := c.c.draw(ctx, conn, o.order())
	return spanOf(s), err
}

func (c Counter) Fence(ctx context.Context, conn *sql.Conn, o Order) error {
	return c.c.fence(ctx, conn, o.order())
}

func (c Counter) Preflight(ctx context.Context, conn *sql.Conn, to string) error {
	return c.c.preflight(ctx, conn, MustLayout(to).layout)
}

func (c Counter) Freeze(ctx context.Context, conn *sql.Conn, from, to string) error {
	return c.c.freeze(ctx, conn, MustLayout(from).layout, MustLayout(to).layout)
}

func (c Counter) Thaw(ctx context.Context, conn *sql.Conn, to string, floor int64) error {
	return c.c.thaw(ctx, conn, MustLayout(to).layout, floor)
}

// Inspect returns what the condition has beside its findings, and those.
func (c Counter) Inspect(ctx context.Context, conn *sql.Conn) (Condition, []Finding, error) {
	f, err := c.c.inspect(ctx, conn)
	return Condition{f.table, f.row, fmt.Sprint(f.made), f.bare, f.stale, f.text, f.last, f.at, f.limit}, f.findings, err
}

// Condition is a condition with its fields exported.
type Condition struct {
	Table, Row      bool
	Made            string // the numbers in the register, such as "[1 2]"
	Bare, Stale     bool
	Text            string
	Last, At, Limit int64
}

// Try draws from the server with the number, whatever its state.
func (s *Servers) Try(ctx context.Context, number int, o Order) (Span, error) {
	allocated, err := s.servers[number-1].try(ctx, o.order())
	return spanOf(allocated), err
}

// Verify checks what a server gave for an order, from its first number on.
func (s *Servers) Verify(number int, o Order, first int64) error {
	l := o.order().layout
	return s.servers[number-1].verify(o.order(), span{first: first, unit: l.unit, jump: l.jump(), units: o.Units})
}

// Buy draws ids from any server.
func (s *Servers) Buy(ctx context.Context, count int64) (Span, error) {
	allocated, err := s.allocate(ctx, count)
	return spanOf(allocated.span), err
}

// ServerStats are those of all servers.
func (s *Servers) ServerStats() []ServerStats { return s.stats() }

// NewBlockServers returns servers that blocks are drawn from.
func NewBlockServers(config BlockConfig, list ...Server) (*Servers, error) {
	config, err := config.complete(len(list))
	if err != nil {
		return nil, err
	}
	return newServers(config.Config, config.Unit, list)
}

// CompleteBlocks returns the configuration with its defaults.
func CompleteBlocks(c BlockConfig, servers int) (BlockConfig, error) { return c.complete(servers) }

// Complete returns the configuration with its defaults.
func Complete(c Config, servers int) (Config, error) { return c.complete(DefaultTable, servers) }

// CloseServers stops and awaits the probes.
func (s *Servers) CloseServers() { s.close() }

// Recheck looks whether the servers still have what they gave.
func (s *Servers) Recheck(ctx context.Context) error { return s.recheck(ctx) }

// StartProbes has the servers probed that are due.
func (s *Servers) StartProbes() { s.probeDue() }

// Aside puts a server aside, as the probe of another one may.
func (s *Servers) Aside(number int, err error) { s.servers[number-1].quarantine(err) }
