package database

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// object is a table or a sequence.
type object struct {
	name string
	drop string // the statement
}

// Sweep drops the tables and sequences of the current database and schema whose names begin with the prefix, to the letter, and nothing else:
// no view, no type, nothing that depends on them. The error names what is left behind; a context that has ended leaves everything.
func (d *Database) Sweep(ctx context.Context, prefix string) error {
	objects, err := d.begin(ctx, prefix)
	if err != nil {
		return d.wrap(fmt.Errorf("tables that begin with %s may be left behind: %w", prefix, err))
	}
	if len(objects) == 0 {
		return nil
	}
	conn, err := d.keys.Conn(ctx)
	if err == nil {
		defer func() { _ = conn.Close() }() // it keeps a bound for waits, which does no harm to keys
		err = d.engine.bound(ctx, conn)
	}
	var left []string
	errs := []error{err}
	for _, o := range objects {
		if err == nil {
			if _, failed := conn.ExecContext(ctx, o.drop); failed == nil {
				continue
			} else {
				errs = append(errs, fmt.Errorf("%s: %w", o.drop, failed))
			}
		}
		left = append(left, o.name)
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%w; left behind: %s", d.wrap(errors.Join(errs...)), strings.Join(left, ", "))
}

// Leftovers returns the tables and sequences whose names begin with the prefix, in the order of their names: those of runs that were killed.
func (d *Database) Leftovers(ctx context.Context, prefix string) ([]string, error) {
	objects, err := d.begin(ctx, prefix)
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.name
	}
	return names, d.wrap(err)
}

// begin returns what begins with the prefix.
func (d *Database) begin(ctx context.Context, prefix string) ([]object, error) {
	if prefix == "" {
		return nil, errors.New("a prefix is needed: without one every table would be meant")
	}
	objects, err := d.engine.names(ctx, d.keys)
	objects = slices.DeleteFunc(objects, func(o object) bool { return !strings.HasPrefix(o.name, prefix) })
	slices.SortFunc(objects, func(a, b object) int { return strings.Compare(a.name, b.name) })
	return objects, err
}
