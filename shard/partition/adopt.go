package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// ErrAdopt says that a table cannot be divided as it is: see [Adoption.Obstacles].
var ErrAdopt = errors.New("partition: the table cannot be divided as it is")

// The bound of an adopted table is the first start of a period that comes bestLead or more after the later of the database's clock and the keeper's. Ids that
// are made ahead of the clock, with borrowed ticks or by a clock that is fast, are seconds ahead, not a day. The bound of an earlier run is kept while it is
// leastLead away.
const (
	bestLead  = 24 * time.Hour
	leastLead = time.Hour
)

// firstName is the partition of an adopted table that has the earlier rows.
const firstName = "pbefore"

// Adoption is how a table without partitions becomes one with them: its rows stay where they are and become the first partition, [Adoption.Rows] of them,
// with all ids before the bound.
type Adoption struct {
	Table string    `json:"table"` // with its schema's name
	Rows  int64     `json:"rows"`  // the server's estimate, -1 for none
	Bound int64     `json:"bound,string"`
	At    time.Time `json:"at,omitzero"` // the instant of the bound
	// Steps are what is left to do. There are none when the table is divided.
	Steps []AdoptStep `json:"steps"`
	// Obstacles say what the table has that a divided one cannot have or that would be lost, and what to do. With any, no step is done.
	Obstacles []string `json:"obstacles"`
	// Notes say what is otherwise afterwards.
	Notes []string `json:"notes"`
}

// AdoptStep is a step of an [Adoption].
type AdoptStep struct {
	Title string `json:"title"`
	// Lock says who waits, and for what.
	Lock string `json:"lock"`
	// SQL are the statements. A SELECT among them has to return no row; when it does, the run makes a new plan.
	SQL []string `json:"sql"`
}

// Adoption returns what [Keeper.Adopt] would do now. It writes nothing. The error is the database's, or wraps [ErrNotPartitioned] where there is no table of
// the name, [ErrClock] or [ErrBusy].
func (k *Keeper) Adoption(ctx context.Context) (a Adoption, err error) {
	err = k.session(ctx, func(conn *sql.Conn) error {
		a, err = k.adoption(ctx, conn)
		return err
	})
	return a, err
}

// Adopt divides a table that has no partitions, while others read and write it, and then calls [Keeper.Run]. On MySQL alone rows are copied. The catalogue says
// how far it is, so that a run after a kill, or after an error, goes on where that was:
//
//	PostgreSQL
//	  plain ──CHECK (id < bound) NOT VALID──▶ checked ──VALIDATE──▶ proven ──one transaction──▶ divided ──ANALYZE──▶ done
//	    ▲                                        │                    │
//	    └──────── the bound is near: DROP ───────┴────────────────────┘
//	MariaDB
//	  plain ──empty twin──▶ twin ──one statement, under LOCK TABLES──▶ divided ──last partition──▶ done
//	                                         │ (killed on the server, between the halves)     ▲
//	                                         └──▶ unnamed ──RENAME──▶─────────────────────────┘
//	MySQL
//	  plain ──ALTER TABLE … PARTITION BY, which copies the rows──▶ done
//
// In checked and proven the table refuses rows with ids from the bound on, a day or more ahead: whoever gives up there has to drop the constraint, which an
// error says. In unnamed no table has the name and statements fail, from the kill of the server, or of the connection there, to the next run. No state has a
// table of the name that misses rows. A step waits for transactions that hold the table for [Table.LockWait] and then lets the others through before it
// tries again, [Table.Tries] times.
//
// The steps that were done are in the Adoption, with or without an error. The error wraps [ErrAdopt] where there are obstacles, [ErrBusy], and what [Keeper.Run] returns.
func (k *Keeper) Adopt(ctx context.Context) (done Adoption, err error) {
	steps := []AdoptStep{}
	err = k.session(ctx, func(conn *sql.Conn) error {
		if err := k.lock(ctx, conn); err != nil {
			return err
		}
		for range mostAdoptSteps {
			if done, err = k.adoption(ctx, conn); err != nil {
				return err
			}
			if len(done.Obstacles) > 0 {
				return fmt.Errorf("%w: %s", ErrAdopt, strings.Join(done.Obstacles, "; "))
			}
			if len(done.Steps) == 0 {
				return nil
			}
			step, again := done.Steps[0], false
			err := k.patiently(ctx, func() (err error) {
				again, err = k.execute(ctx, conn, Step{Action: Divide, Name: step.Title, SQL: step.SQL})
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w%s", step.Title, err, k.unfinished(done))
			}
			if !again {
				steps = append(steps, step)
			}
		}
		return fmt.Errorf("partition: %s was changed by others at each of %d steps; call again", done.Table, mostAdoptSteps)
	})
	done.Steps = steps
	if err == nil {
		_, err = k.Run(ctx)
	}
	return done, err
}

// Divide is the action of the steps of an [Adoption].
const Divide Action = "adopt"

const mostAdoptSteps = 30

// unfinished says what a run that ends early leaves.
func (k *Keeper) unfinished(a Adoption) string {
	if k.d != dialect.Postgres || a.At.IsZero() {
		return ""
	}
	_, name := dialect.SplitName(a.Table)
	return fmt.Sprintf("; the constraint %s may be there, which refuses rows from %s on: run again before that, or drop it", checkName(name), clock(a.At))
}

// subject is a table to be divided.
type subject struct {
	*catalog.Table
	k     *Keeper
	conn  *sql.Conn
	names *catalog.Catalog
	a     *Adoption
	at    dialect.Place
}

func (s *subject) obstacle(format string, args ...any) {
	s.a.Obstacles = append(s.a.Obstacles, fmt.Sprintf(format, args...))
}

func (s *subject) note(format string, args ...any) {
	s.a.Notes = append(s.a.Notes, fmt.Sprintf(format, args...))
}

func (s *subject) step(title, lock string, statements ...string) {
	s.a.Steps = append(s.a.Steps, AdoptStep{Title: title, Lock: lock, SQL: statements})
}

func (s *subject) quoted(name string) string {
	return s.k.d.QuotePlace(dialect.Place{Schema: s.at.Schema, Table: name})
}

// adoption reads the catalogue and decides.
func (k *Keeper) adoption(ctx context.Context, conn *sql.Conn) (a Adoption, err error) {
	found, err := k.d.Locate(ctx, conn, k.t.Name)
	if err != nil {
		return a, err
	}
	a = Adoption{Table: found.At.Schema + "." + found.At.Table, Steps: []AdoptStep{}, Obstacles: []string{}, Notes: []string{}}
	names, err := catalog.New(conn, k.d)
	if err != nil {
		return a, err
	}
	err = k.patiently(ctx, func() (err error) {
		a.Steps, a.Obstacles, a.Notes = []AdoptStep{}, []string{}, []string{}
		s := &subject{k: k, conn: conn, names: names, a: &a, at: found.At}
		if s.Table, err = names.Table(ctx, catalog.Name{Schema: found.At.Schema, Name: found.At.Table}); err != nil {
			return err
		}
		if k.d == dialect.MySQL {
			var renamed bool
			if renamed, err = s.renameTwin(ctx); renamed || err != nil {
				return err
			}
		}
		switch {
		case s.Table == nil:
			return fmt.Errorf("%w: there is no table %s", ErrNotPartitioned, a.Table)
		case s.Related == "partitioned":
			if k.d == dialect.MySQL {
				return s.mysqlDivided(ctx)
			}
			return s.postgresDivided(ctx)
		}
		a.Rows = s.Rows
		references, err := names.References(ctx, s.Table)
		if err != nil {
			return err
		}
		s.check(references)
		if err := s.choose(ctx); err != nil {
			return err
		}
		if k.d == dialect.MySQL {
			return s.mysql(ctx)
		}
		return s.postgres(ctx)
	})
	return a, err
}

// check finds what no divided table of either database can have.
func (s *subject) check(references []*catalog.Reference) {
	if s.View != "" || s.Related != "" {
		s.obstacle("it is no table of its own (%s); only such a one can be divided", s.View+s.Related)
	}
	key := slices.IndexFunc(s.Columns, func(c *catalog.Column) bool { return c.Name == s.k.t.Key })
	if key < 0 {
		s.obstacle("it has no column %s; name the key's", s.k.t.Key)
	} else if c := s.Columns[key]; c.Class != catalog.Integer || c.Bits != 64 || c.Domain || c.Nullable {
		s.obstacle("the column %s has the type %s, may be NULL: %t; keys are bigint NOT NULL: snowkey migrate plan widens them", c.Name, c.Type, c.Nullable)
	}
	for _, c := range s.Columns {
		if c.Auto != "" {
			s.obstacle("the database numbers the column %s (%s); take that off, snowkey check prints how", c.Name, c.Auto)
		}
	}
	for _, index := range s.Indexes {
		if index.Unique && !slices.Contains(index.Columns, s.k.t.Key) {
			s.obstacle("the unique index %s has no column %s, so each partition would be unique by itself alone; add the column, or keep such values in a table of their own", index.Name, s.k.t.Key)
		}
		if !index.Valid {
			s.obstacle("the index %s is not valid; drop it, or REINDEX INDEX CONCURRENTLY", index.Name)
		}
	}
	for _, r := range references {
		switch {
		case r.Parent == s.Full && s.k.d == dialect.Postgres:
			s.obstacle("the foreign key %s of %s refers to the table; drop it, and add it again afterwards: as NOT VALID, which takes milliseconds, and then with VALIDATE CONSTRAINT, for which no writer waits", r.Name, r.Child)
		case s.k.d == dialect.MySQL:
			s.obstacle("the foreign key %s is of %s and refers to %s; a table with partitions can have none, nor be referred to: drop it", r.Name, r.Child, r.Parent)
		}
	}
}

// choose chooses the bound, and sees that no row is beyond it.
func (s *subject) choose(ctx context.Context) error {
	t := s.k.t
	now, err := s.k.clock(ctx, s.conn)
	if err != nil {
		return fmt.Errorf("reading the clock: %w", err)
	}
	if local := s.k.local(); local.After(now) {
		now = local
	}
	if len(s.a.Obstacles) > 0 {
		return nil // the key may be missing
	}
	s.a.At = t.Every.next(now.Add(bestLead), t.In)
	if s.k.d == dialect.Postgres {
		if bound, ok := s.chosen(); ok && !t.timeOf(bound).Before(now.Add(leastLead)) {
			s.a.At = t.timeOf(bound)
		}
	}
	var ok bool
	if s.a.Bound, ok = t.bound(s.a.At); !ok {
		return fmt.Errorf("%w: there is no id of %s", ErrClock, clock(s.a.At))
	}
	newest, err := reader{conn: s.conn, d: s.k.d, t: t}.one(ctx, fmt.Sprintf("SELECT MAX(%s) FROM %s", s.k.d.Quote(t.Key), s.quoted(s.at.Table)))
	if err != nil {
		return fmt.Errorf("reading the newest key: %w", err)
	}
	if newest.Int64 >= s.a.Bound {
		s.obstacle("the id %d is not before %s, where the next partition begins; was it made by a wrong clock or in another layout? Move such rows", newest.Int64, clock(s.a.At))
	}
	return nil
}
