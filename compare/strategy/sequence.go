package strategy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// sequences is the strategy of the database's own sequences.
func sequences() Strategy {
	return New(Info{
		Name: "sequence",
		About: "64-bit numbers from a SEQUENCE of PostgreSQL or MariaDB with its defaults, one for a SELECT of the next value, or as many as are asked for " +
			"in one SELECT.",
		Origin: "CREATE SEQUENCE of SQL:2003, as PostgreSQL and MariaDB (10.3 and later) have it",
		Needs:  "PostgreSQL or MariaDB; MySQL and SQLite have none",
		Cost: "a round trip a key, or one a batch; without the server there are no keys. After a kill of the server PostgreSQL skips up to 32 numbers, and " +
			"MariaDB 10.11 was seen to give out thousands of numbers a second time",
		Coordination: "all through the one server",
		Decodes:      "nothing but the order",
		Guess:        "everything: the neighbours, and how many keys were drawn",
		Order:        Increasing,
		RoundTrip:    true,
	}, openSequence)
}

// sequence draws from a SEQUENCE.
type sequence struct {
	db   *sql.DB
	next string             // draws one
	many func(n int) string // draws n, nil: there is no such statement
}

func openSequence(ctx context.Context, at Environment) (idgen.Source[int64], error) {
	d, err := at.dialect()
	if err != nil {
		return nil, err
	}
	name := d.Quote(at.name("sequence"))
	s := &sequence{db: at.DB}
	switch d {
	case dialect.Postgres:
		s.next = fmt.Sprintf("SELECT nextval('%s')", name)
		s.many = func(n int) string { return fmt.Sprintf("%s FROM generate_series(1, %d)", s.next, n) }
	case dialect.MySQL:
		var version string
		if err := at.DB.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
			return nil, err
		}
		if !strings.Contains(version, "MariaDB") {
			return nil, lacks("MySQL %s has no sequences; MariaDB and PostgreSQL do", version)
		}
		s.next = "SELECT NEXT VALUE FOR " + name
		var one int64
		if err := at.DB.QueryRowContext(ctx, "SELECT seq FROM seq_1_to_1").Scan(&one); err == nil { // else the engine SEQUENCE is not installed
			s.many = func(n int) string { return fmt.Sprintf("%s FROM seq_1_to_%d", s.next, n) }
		} else if ctx.Err() != nil {
			return nil, err
		}
	default:
		return nil, lacks("SQLite has no sequences; MariaDB and PostgreSQL do")
	}
	if _, err := at.DB.ExecContext(ctx, "CREATE SEQUENCE IF NOT EXISTS "+name); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *sequence) Next(ctx context.Context) (id int64, err error) {
	err = s.db.QueryRowContext(ctx, s.next).Scan(&id)
	return id, err
}

func (s *sequence) Fill(ctx context.Context, ids []int64) (err error) {
	switch {
	case len(ids) == 0:
		return nil
	case s.many == nil:
		return errors.ErrUnsupported
	}
	rows, err := s.db.QueryContext(ctx, s.many(len(ids)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	n := 0
	for ; n < len(ids) && rows.Next(); n++ {
		if err := rows.Scan(&ids[n]); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n < len(ids) {
		return fmt.Errorf("compare: the sequence gave %d numbers of %d", n, len(ids))
	}
	slices.Sort(ids) // no order is promised for the rows of a SELECT without one
	return nil
}
