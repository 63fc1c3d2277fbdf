package grant

import (
	"context"
	"database/sql"
	"errors"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Locate finds the table as Prepare does, but makes none: [SQLStore.Place] says where it is, and [SQLStore.Warnings] what there is to say of the
// database, also of one that Prepare would refuse as unsafe or read-only. The error is a [*TableError] when there is no table.
func (s *SQLStore) Locate(ctx context.Context) (err error) {
	defer func() { err = s.explain(ctx, err, "locating") }()
	if s.err != nil {
		return s.err
	}
	var at *settled
	var warnings []string
	err = s.transact(ctx, func(conn *sql.Conn) error {
		var err error
		if at, err = s.find(ctx, conn); err != nil || !at.Exists {
			return err
		}
		warnings, err = s.durability(ctx, conn, at)
		if errors.Is(err, ErrUnsafe) || errors.Is(err, ErrReadOnly) {
			warnings, err = []string{err.Error()}, nil
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !at.Exists:
		return s.missing(at)
	}
	s.settled.CompareAndSwap(nil, at)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = warnings
	return nil
}

// Others returns a store for each other table of the name that has the space too, as far as the account sees them. With them comes an error that
// joins a [*TwoTablesError] for each, and for each table that cannot be read and may have the space. It changes nothing.
func (s *SQLStore) Others(ctx context.Context, space string) (others []*SQLStore, err error) {
	defer func() { err = s.explain(ctx, err, "looking for space %q", space) }()
	if err := s.check(space); err != nil {
		return nil, err
	}
	var at *settled
	err = s.transact(ctx, func(conn *sql.Conn) error {
		var err error
		at, err = s.find(ctx, conn)
		return err
	})
	if err != nil {
		return nil, err
	}
	var twice error
	for _, place := range at.Others {
		err := s.elsewhere(ctx, at, place, space)
		var two *TwoTablesError
		if err != nil && !errors.As(err, &two) {
			return nil, err
		}
		twice = errors.Join(twice, err)
		if two != nil && two.Err == nil {
			other := &SQLStore{db: s.db, dialect: s.dialect, table: place.String(), unsafe: s.unsafe, prepared: map[string]bool{}}
			other.settled.Store(&settled{
				dialect.Location{At: place, Exists: true, Role: at.Role},
				statementsOf(s.dialect, s.dialect.QuotePlace(place)),
			})
			others = append(others, other)
		}
	}
	return others, twice
}
