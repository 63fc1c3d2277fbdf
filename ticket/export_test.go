package ticket

// Statement returns what draws a ticket from the first server, and its parameters.
func Statement(t *Tickets) (string, []any) {
	p := t.servers[0]
	switch c := p.sql().(type) {
	case replaceCounter:
		return c.statement(order{layout: p.layout, bare: p.bare, units: 1, limit: p.limit}), nil
	case sequenceCounter:
		return c.statement(), []any{c.object()}
	}
	return "", nil
}
