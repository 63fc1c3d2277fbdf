package plan_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// owner returns the database as a new role has it, which owns all tables but is no superuser.
func (s *schema) owner() *schema {
	s.t.Helper()
	role := "owner_" + s.name
	s.exec("CREATE ROLE " + role)
	s.t.Cleanup(func() { _, _ = s.DB.Exec("DROP OWNED BY " + role + " CASCADE; DROP ROLE " + role) })
	for _, schema := range strings.Split(s.text("SELECT DISTINCT quote_ident(schemaname) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"), "\n") {
		s.exec("GRANT USAGE, CREATE ON SCHEMA " + schema + " TO " + role)
	}
	for _, table := range strings.Split(s.text("SELECT oid::regclass FROM pg_class WHERE relkind = 'r' AND relnamespace <> 'information_schema'::regnamespace AND relnamespace <> 'pg_catalog'::regnamespace AND relpersistence = 'p' AND relnamespace <> 'pg_toast'::regnamespace"), "\n") {
		s.exec("ALTER TABLE " + table + " OWNER TO " + role)
	}
	owned := *s
	owned.base.DriverDSN += "&role=" + role
	owned.DB = owned.base.Open(s.t)
	return &owned
}

// A batch in whose session no foreign key fires leaves no orphan beside a transaction that adds a child: when the child is there first, the batch
// waits for it, and moves it; when the batch is, the child waits, and is refused. A database whose transactions are REPEATABLE READ makes no difference.
func TestSilentBatchBesideAChild(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"read committed", "repeatable read"} {
		for _, first := range []string{"child", "batch"} {
			t.Run(isolation+", first the "+first, func(t *testing.T) {
				t.Parallel()
				s := open(t, "postgres", append(shelf("postgres"), "INSERT INTO authors (created_at) VALUES ('2025-03-01 10:00:00')")...)
				p, err := shelfPlan(s, nil)
				if err != nil {
					t.Fatal(err)
				}
				at := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return strings.HasPrefix(s.String(), "give the rows of authors") })
				batch := p.Steps[at].Do
				p.Steps = p.Steps[:at]
				e := &mover{t: t, db: s.DB, d: dialect.Postgres, p: p, found: counts{}}
				e.run()

				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begin := func(settings ...string) (do func(string) error, end func()) {
					conn, err := s.Conn(ctx)
					if err != nil {
						t.Fatal(err)
					}
					do = func(statement string) error {
						_, err := conn.ExecContext(ctx, bind(statement, 0, 1))
						return err
					}
					// As a setting of the database or the role is, this one is before those of the session.
					for _, statement := range append(append([]string{"SET default_transaction_isolation = '" + isolation + "'"}, settings...), "BEGIN", "SELECT 1 FROM authors") {
						if err := do(statement); err != nil {
							t.Fatalf("%s: %v", statement, err)
						}
					}
					return do, func() { _ = conn.Close() }
				}
				child, endChild := begin()
				defer endChild()
				moving, endMoving := begin(batch.Session...)
				defer endMoving()
				add := func() error {
					return child(`INSERT INTO books (id, author_id, created_at) VALUES (7, 1, '2025-03-01')`)
				}
				move := func() error {
					for _, statement := range batch.SQL {
						if err := moving(statement); err != nil {
							return err
						}
					}
					return nil
				}
				one, other, commit := add, move, child
				if first == "batch" {
					one, other, commit = move, add, moving
				}
				if err := one(); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- other() }()
				for s.text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") != "1" {
					select {
					case err := <-done:
						t.Fatalf("the %s was not waited for (%v)", first, err)
					case <-time.After(5 * time.Millisecond):
					}
				}
				if err := commit("COMMIT"); err != nil {
					t.Fatal(err)
				}
				err = <-done
				orphans := s.text("SELECT count(*) FROM books WHERE author_id NOT IN (SELECT id FROM authors)")
				switch {
				case first == "batch":
					if err == nil || !strings.Contains(err.Error(), "23503") && !strings.Contains(err.Error(), "40001") || orphans != "0" {
						t.Errorf("got %v for the child, and %s orphans, want it refused", err, orphans)
					}
				case err != nil:
					t.Error(err)
				default:
					if err := moving("COMMIT"); err != nil {
						t.Error(err)
					}
					if got := s.text("SELECT count(*) FROM books b JOIN authors a ON a.id = b.author_id WHERE a.id > 7000000000000000000"); got != "1" {
						t.Errorf("got %s books of an author with a new id, want 1", got)
					}
				}
			})
		}
	}
}
