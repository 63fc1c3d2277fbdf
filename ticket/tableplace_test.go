package ticket_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// source is what all sources of tickets and blocks can do.
type source interface {
	Next(ctx context.Context) (int64, error)
	Setup(ctx context.Context) error
	Check(ctx context.Context) ([]ticket.Finding, error)
}

// maker makes sources of tickets, or of blocks.
type maker struct {
	name   string
	object map[ticket.Dialect]string // that ids are drawn from, by its name in the catalogue
	table  string
	make   func(t testing.TB, c ticket.Config, servers ...ticket.Server) source
}

var makers = []maker{
	{"tickets", map[ticket.Dialect]string{ticket.MySQL: "snowkey_tickets", ticket.Postgres: "snowkey_tickets.default", ticket.SQLite: "snowkey_tickets"}, ticket.DefaultTable,
		func(t testing.TB, c ticket.Config, servers ...ticket.Server) source {
			return flickr(t, quick(c), servers...)
		}},
	{"blocks", map[ticket.Dialect]string{ticket.MySQL: "snowkey_blocks", ticket.Postgres: "snowkey_blocks", ticket.SQLite: "snowkey_blocks"}, ticket.DefaultBlockTable,
		func(t testing.TB, c ticket.Config, servers ...ticket.Server) source {
			return blocks(t, briskly(ticket.BlockConfig{Config: c}), servers...)
		}},
}

// place is where the source's only server has its table.
func place(s source) string {
	switch s := s.(type) {
	case *ticket.Tickets:
		return s.Stats().Servers[0].Place
	case *ticket.BlockSource:
		return s.Stats().Servers[0].Place
	}
	return ""
}

// given is a table of the ids that sources gave, in which SQL finds those that came twice.
type given struct {
	t  *testing.T
	db *sql.DB
	mu sync.Mutex // one writer at a time
}

func newGiven(t *testing.T) *given {
	t.Helper()
	g := &given{t: t, db: open(t, dbtest.SQLite(t))}
	execute(t, g.db, "CREATE TABLE given (id integer NOT NULL, source text NOT NULL)")
	t.Cleanup(func() {
		var n, first int64
		var of string
		err := g.db.QueryRow("SELECT count(*), COALESCE(MIN(id), 0), COALESCE(MAX(sources), '') FROM (SELECT id, group_concat(source) AS sources FROM given GROUP BY id HAVING count(*) > 1)").Scan(&n, &first, &of)
		if err != nil || n > 0 {
			t.Errorf("%d ids came twice, such as %d of %s; %v", n, first, of, err)
		}
	})
	return g
}

// draw has a source give n ids.
func (g *given) draw(name string, s source, n int) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), retryFactor)
	defer cancel()
	ids := make([]string, n)
	for i := range ids {
		id, err := s.Next(ctx)
		if err != nil {
			g.t.Fatalf("%s: %v", name, err)
		}
		ids[i] = fmt.Sprintf("(%d, '%s')", id, name)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	execute(g.t, g.db, "INSERT INTO given VALUES "+strings.Join(ids, ", "))
}

// wantNone tests that a source gives no id, and that its error is one of the kind with all the texts.
func wantNone(t *testing.T, s source, kind error, texts ...string) error {
	t.Helper()
	id, err := s.Next(t.Context())
	if !errors.Is(err, kind) {
		t.Fatalf("got %d, %v, want %v", id, err, kind)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want a text with %s", err, text)
		}
	}
	return err
}

// role makes a role with a schema of its own, and returns the database as it sees it, and its quoted name. It may do what everybody may.
func role(t *testing.T, d dbtest.Database, owner *sql.DB, suffix string) (dbtest.Database, string) {
	t.Helper()
	u, err := url.Parse(d.DriverDSN)
	must(t, err)
	name := "r" + strings.TrimPrefix(u.Path, "/")[1:] + suffix // the roles of a server belong to all its databases
	quoted := `"` + name + `"`
	execute(t, owner, "CREATE ROLE "+quoted+" LOGIN PASSWORD 'drawer'", "CREATE SCHEMA AUTHORIZATION "+quoted)
	t.Cleanup(func() { execute(t, owner, "DROP OWNED BY "+quoted+" CASCADE", "DROP ROLE "+quoted) })
	query := u.Query()
	query.Del("user")
	query.Del("password")
	u.User, u.RawQuery = url.UserPassword(name, "drawer"), query.Encode()
	d.DriverDSN = u.String()
	return d, quoted
}

// count is how many tables or SEQUENCES of the name there are in all schemas.
func count(t *testing.T, owner *sql.DB, object string) int64 {
	t.Helper()
	return ask(t, owner, "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'S') AND relname = '"+object+"'")
}

// grant runs the statements that an error has.
func grant(t *testing.T, owner *sql.DB, err error) {
	t.Helper()
	_, statements, found := strings.Cut(err.Error(), "it takes:\n")
	if !found {
		t.Fatalf("got %v, want one that says what it takes", err)
	}
	execute(t, owner, strings.Split(strings.TrimSpace(statements), ";\n")...)
}

// TestPlaceOfTwoRoles has two roles, each with its own schema first in the search path, set up the same sequence one after the other, in both orders. The second one finds the table of
// the first, whatever its rights on it, makes none, and draws once it may.
func TestPlaceOfTwoRoles(t *testing.T) {
	t.Parallel()
	for _, m := range makers {
		for _, order := range []string{"web, batch", "batch, web"} {
			for _, hidden := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/hidden schema: %t", m.name, order, hidden), func(t *testing.T) {
					t.Parallel()
					d, g := dbtest.Postgres(t), newGiven(t)
					owner := open(t, d)
					webDatabase, webRole := role(t, d, owner, "_web")
					batchDatabase, batchRole := role(t, d, owner, "_batch")
					execute(t, owner, "CREATE SCHEMA app", "GRANT USAGE, CREATE ON SCHEMA app TO "+webRole)
					if !hidden {
						execute(t, owner, "GRANT USAGE ON SCHEMA app TO "+batchRole)
					}
					web := func() source { return m.make(t, ticket.Config{}, serverOf(t, webDatabase, "search_path=app,public")) }
					batch := func() source {
						return m.make(t, ticket.Config{}, serverOf(t, batchDatabase, "search_path="+strings.Trim(batchRole, `"`)+",app,public"))
					}
					first, second, at := web, batch, "app."
					if order == "batch, web" {
						first, second, at = batch, web, strings.Trim(batchRole, `"`)+"."
					}
					one := first()
					must(t, one.Setup(t.Context()))
					g.draw("the first", one, 300)
					two := second()
					err := two.Setup(t.Context())
					if !errors.Is(err, ticket.ErrTable) || !strings.Contains(err.Error(), "42501") || !strings.Contains(err.Error(), at+m.object[ticket.Postgres]) {
						t.Errorf("got %v, want that the rights are missing, and the place", err)
					}
					_ = wantNone(t, two, ticket.ErrTable, at+m.object[ticket.Postgres])
					if n := count(t, owner, m.object[ticket.Postgres]); n != 1 {
						t.Fatalf("got %d tables, want one", n)
					}
					grant(t, owner, err)
					two = second()
					must(t, two.Setup(t.Context()))
					var group sync.WaitGroup
					for name, s := range map[string]source{"the first": one, "the second": two, "the first, again": first(), "the second, again": second()} {
						group.Go(func() { g.draw(name, s, 300) })
					}
					group.Wait()
					if n := count(t, owner, m.object[ticket.Postgres]); n != 1 {
						t.Errorf("got %d tables, want one", n)
					}
					if place(one) != place(two) || !strings.Contains(place(two), at+m.object[ticket.Postgres]) {
						t.Errorf("got the places %s and %s, want one, in %s", place(one), place(two), at)
					}
				})
			}
		}
	}
}

// TestPlaceMadeAtOnce has two roles, each of which may make tables in the schema that is its first, set up sequences at once, time and again. One table is made.
func TestPlaceMadeAtOnce(t *testing.T) {
	t.Parallel()
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.Postgres(t)
			owner := open(t, d)
			execute(t, owner, "CREATE SCHEMA a", "CREATE SCHEMA b")
			for i := range rounds(8, 50) {
				g := newGiven(t)
				config := ticket.Config{Table: fmt.Sprint(m.table, i), Timeout: retryFactor}
				sources := []source{
					m.make(t, config, serverOf(t, d, "search_path=a,b")), m.make(t, config, serverOf(t, d, "search_path=b,a", "default_transaction_isolation=serializable")),
					m.make(t, config, serverOf(t, d, "search_path=b")), m.make(t, config, serverOf(t, d, "search_path=a")),
				}
				var group sync.WaitGroup
				for n, s := range sources {
					group.Go(func() {
						if err := s.Setup(context.Background()); err != nil {
							t.Errorf("source %d: %v", n+1, err)
							return
						}
						g.draw(fmt.Sprint("source ", n+1), s, 50)
					})
				}
				group.Wait()
				for _, table := range []string{strings.Replace(m.object[ticket.Postgres], m.table, config.Table, 1), config.Table + "_register"} {
					if n := count(t, owner, table); n != 1 {
						t.Errorf("got %d tables %s, want one", n, table)
					}
				}
			}
		})
	}
}

// TestPlaceOfPool has the sessions of a pool get another search path, or use another database, while a source draws on them: it stays with its table. Others that start there have
// theirs.
func TestPlaceOfPool(t *testing.T) {
	t.Parallel()
	for _, m := range makers {
		t.Run(m.name+"/mysql", func(t *testing.T) {
			t.Parallel()
			d, tenant, g := dbtest.MySQL(t), dbtest.MySQL(t), newGiven(t)
			server := serverOf(t, d)
			server.DB.SetMaxOpenConns(1)
			s := m.make(t, ticket.Config{Timeout: retryFactor}, server)
			must(t, s.Setup(t.Context()))
			g.draw("the source", s, 100)
			other := m.make(t, ticket.Config{Timeout: retryFactor}, serverOf(t, d))
			g.draw("another process", other, 100)
			theirs := m.make(t, ticket.Config{Timeout: retryFactor}, serverOf(t, tenant))
			must(t, theirs.Setup(t.Context()))
			newGiven(t).draw("the tenant", theirs, 600)
			var account string
			must(t, server.DB.QueryRow("SELECT CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')").Scan(&account))
			execute(t, open(t, d.Admin()), "GRANT ALL ON "+database(tenant)+".* TO "+account)
			use := "USE " + database(tenant)
			for range 5 {
				execute(t, server.DB, use)
				g.draw("the source", s, 500)
				g.draw("another process", other, 300)
			}
			execute(t, server.DB, use)
			must(t, s.Setup(t.Context()))
			ours, second := strings.Trim(database(d), "`")+"."+m.table, strings.Trim(database(tenant), "`")+"."+m.table
			wantSecond(t, s, ours, second)
			_ = wantNone(t, m.make(t, ticket.Config{}, serverOf(t, d)), ticket.ErrTwoTables, ours, second)
			newGiven(t).draw("the tenant", theirs, 100)
		})
		t.Run(m.name+"/postgres", func(t *testing.T) {
			t.Parallel()
			d, g := dbtest.Postgres(t), newGiven(t)
			owner := open(t, d)
			server := serverOf(t, d)
			server.DB.SetMaxOpenConns(1)
			s := m.make(t, ticket.Config{Timeout: retryFactor}, server)
			must(t, s.Setup(t.Context()))
			g.draw("the source", s, 500)
			other := m.make(t, ticket.Config{Timeout: retryFactor}, serverOf(t, d))
			g.draw("another process", other, 100)
			copies := []string{"CREATE SCHEMA tenant", "CREATE TABLE tenant." + m.table + " AS SELECT * FROM public." + m.table, "CREATE TABLE tenant." + m.table + "_register AS SELECT * FROM public." + m.table + "_register"}
			if m.name == "tickets" {
				copies[1] = `CREATE SEQUENCE tenant."` + m.object[ticket.Postgres] + `"`
			}
			execute(t, owner, copies...)
			for range 5 {
				execute(t, server.DB, "SET search_path = tenant")
				g.draw("the source", s, 500)
				g.draw("another process", other, 500)
				execute(t, server.DB, "DISCARD ALL")
				g.draw("the source", s, 500)
			}
			wantSecond(t, s, "public."+m.object[ticket.Postgres], "tenant."+m.object[ticket.Postgres])
			fresh := m.make(t, ticket.Config{}, serverOf(t, d))
			_ = wantNone(t, fresh, ticket.ErrTwoTables, "public."+m.object[ticket.Postgres], "tenant."+m.object[ticket.Postgres])
			if err := fresh.Setup(t.Context()); !errors.Is(err, ticket.ErrTwoTables) {
				t.Errorf("Setup: got %v, want ErrTwoTables", err)
			}
			execute(t, owner, "DROP SCHEMA tenant CASCADE")
			fresh = m.make(t, ticket.Config{Timeout: retryFactor}, serverOf(t, d))
			g.draw("a new process", fresh, 100)
		})
	}
}

// wantSecond tests that Check warns a source, which has its table where it had it, of a second one.
func wantSecond(t *testing.T, s source, at, second string) {
	t.Helper()
	findings, err := s.Check(t.Context())
	findings = slices.DeleteFunc(findings, func(f ticket.Finding) bool { return !strings.Contains(f.Text, second) })
	if err != nil || len(findings) != 1 || findings[0].Refused() || !strings.HasSuffix(findings[0].Place, at) || findings[0].Place != place(s) {
		t.Errorf("got %+v, %v, want a warning of the second table, and %s in both places; Stats have %s", findings, err, at, place(s))
	}
}

// database is the name of a MySQL database, quoted.
func database(d dbtest.Database) string {
	name, _, _ := strings.Cut(d.DriverDSN[strings.LastIndex(d.DriverDSN, "/")+1:], "?")
	return "`" + name + "`"
}

// TestPlaceOfResetSessions has a pool that resets its sessions between uses, as a pooler between two clients does, so that the search path which was set at the start is gone.
func TestPlaceOfResetSessions(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, m := range makers {
		for _, reset := range []string{"DISCARD ALL", "RESET ALL"} {
			t.Run(m.name+"/"+reset, func(t *testing.T) {
				t.Parallel()
				d, g := dbtest.Postgres(t), newGiven(t)
				execute(t, open(t, d), "CREATE SCHEMA app")
				config, err := pgx.ParseConfig(d.DriverDSN)
				must(t, err)
				config.DefaultQueryExecMode = pgx.QueryExecModeExec
				pool := func() ticket.Server {
					db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
						_, err := conn.Exec(ctx, "SET search_path = app")
						return err
					}), stdlib.OptionResetSession(func(ctx context.Context, conn *pgx.Conn) error {
						_, err := conn.Exec(ctx, reset)
						return err
					}))
					t.Cleanup(func() { _ = db.Close() })
					db.SetMaxOpenConns(4)
					return ticket.Server{DB: db, Dialect: ticket.Postgres}
				}
				app := m.make(t, ticket.Config{Timeout: retryFactor}, serverOf(t, d, "search_path=app"))
				must(t, app.Setup(t.Context()))
				g.draw("without a pooler", app, 300)
				s := m.make(t, ticket.Config{Timeout: retryFactor}, pool())
				must(t, s.Setup(t.Context()))
				other := m.make(t, ticket.Config{Timeout: retryFactor}, pool())
				must(t, other.Setup(t.Context()))
				var group sync.WaitGroup
				for name, s := range map[string]source{"without a pooler": app, "one": s, "another": other, "unset": m.make(t, ticket.Config{Timeout: retryFactor}, serverOf(t, d))} {
					group.Go(func() { g.draw(name, s, 500) })
				}
				group.Wait()
			})
		}
	}
}

// TestPlaceMayBeElsewhere has a second table that cannot be read. It may have the sequence, unless the configuration names the schema.
func TestPlaceMayBeElsewhere(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	d, g := dbtest.Postgres(t), newGiven(t)
	owner := open(t, d)
	web, webRole := role(t, d, owner, "_web")
	execute(t, owner, "CREATE SCHEMA app", "GRANT USAGE, CREATE ON SCHEMA app TO "+webRole, "CREATE SCHEMA hidden", "CREATE TABLE hidden.snowkey_blocks (name text, next bigint, layout text)")
	make := makers[1].make
	named := make(t, ticket.Config{Table: "app.snowkey_blocks"}, serverOf(t, web))
	must(t, named.Setup(t.Context()))
	g.draw("who names the schema", named, 300)
	config := serverOf(t, web, "search_path=app")
	err := wantNone(t, make(t, ticket.Config{}, config), ticket.ErrTwoTables, "app.snowkey_blocks", "hidden.snowkey_blocks", "GRANT USAGE ON SCHEMA")
	if err := make(t, ticket.Config{}, config).Setup(t.Context()); !errors.Is(err, ticket.ErrTwoTables) {
		t.Errorf("Setup: got %v, want ErrTwoTables", err)
	}
	_, statements, _ := strings.Cut(err.Error(), "may not read: ")
	statements, _, _ = strings.Cut(statements, ", or ")
	execute(t, owner, strings.Split(statements, "; ")...)
	g.draw("who may read it", make(t, ticket.Config{}, config), 300) // it has no such row
	execute(t, owner, "INSERT INTO hidden.snowkey_blocks VALUES ('default', 1, '1/1x100')")
	_ = wantNone(t, make(t, ticket.Config{}, config), ticket.ErrTwoTables)
	_ = wantNone(t, make(t, ticket.Config{Table: "app.snowkey_blocks"}, config), ticket.ErrTwoTables)
	g.draw("one that began before", named, 300)
	execute(t, owner, "ALTER TABLE hidden.snowkey_blocks RENAME COLUMN name TO title") // it is of others
	g.draw("who may read it", make(t, ticket.Config{}, config), 300)
}

// TestPlaceOfRegister has the table dropped, and not its register: another role, whose tables would be in another schema, does not begin anew there.
func TestPlaceOfRegister(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			d, g := dbtest.Postgres(t), newGiven(t)
			owner := open(t, d)
			execute(t, owner, "CREATE SCHEMA batch")
			s := m.make(t, ticket.Config{}, serverOf(t, d))
			must(t, s.Setup(t.Context()))
			g.draw("before", s, 300)
			kind := map[string]string{"tickets": "SEQUENCE", "blocks": "TABLE"}[m.name]
			execute(t, owner, "DROP "+kind+` public."`+m.object[ticket.Postgres]+`"`)
			batch := m.make(t, ticket.Config{}, serverOf(t, d, "search_path=batch,public"))
			if err := batch.Setup(t.Context()); !errors.Is(err, ticket.ErrForgotten) {
				t.Errorf("Setup: got %v, want ErrForgotten", err)
			}
			_ = wantNone(t, batch, ticket.ErrForgotten, `"public".`)
		})
	}
}

// TestPlaceIsMoved has a table moved to another schema, under a source that draws from it. The source does not make it again, nor follow it; one that starts does.
func TestPlaceIsMoved(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			d, g := dbtest.Postgres(t), newGiven(t)
			owner := open(t, d)
			s := m.make(t, ticket.Config{}, serverOf(t, d))
			must(t, s.Setup(t.Context()))
			g.draw("before", s, 300)
			kind := map[string]string{"tickets": "SEQUENCE", "blocks": "TABLE"}[m.name]
			execute(t, owner, "CREATE SCHEMA app", "ALTER "+kind+` public."`+m.object[ticket.Postgres]+`" SET SCHEMA app`, "ALTER TABLE public."+m.table+"_register SET SCHEMA app")
			eventually(t, "the source notices", func() bool {
				_, err := s.Next(t.Context())
				return errors.Is(err, ticket.ErrTwoTables)
			})
			if err := s.Setup(t.Context()); !errors.Is(err, ticket.ErrTwoTables) {
				t.Errorf("Setup: got %v, want ErrTwoTables", err)
			}
			if n := count(t, owner, m.object[ticket.Postgres]); n != 1 {
				t.Errorf("got %d tables, want one", n)
			}
			g.draw("a new process", m.make(t, ticket.Config{}, serverOf(t, d)), 300)
		})
	}
}

// TestPlaceWithoutRights has an account of MySQL that may not use the tables, and one that may not make them. The errors say what it takes.
func TestPlaceWithoutRights(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	server := dbtest.StartMySQL(t)
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			d, g := server.Database(t), newGiven(t)
			admin := open(t, d.Admin())
			user := m.name + "@localhost"
			execute(t, admin, "CREATE USER "+user, "CREATE TABLE notes (id int)", "GRANT SELECT ON notes TO "+user)
			plain := withUser(d, m.name)
			err := m.make(t, ticket.Config{}, serverOf(t, plain)).Setup(t.Context())
			if !errors.Is(err, ticket.ErrTable) {
				t.Fatalf("got %v, want ErrTable", err)
			}
			owner := m.make(t, ticket.Config{}, serverOf(t, d))
			must(t, owner.Setup(t.Context()))
			g.draw("the owner", owner, 300)
			s := m.make(t, ticket.Config{}, serverOf(t, plain))
			_ = wantNone(t, s, ticket.ErrTable, "1142", database(d)+".`"+m.table+"`")
			_, err = s.Next(t.Context())
			grant(t, admin, err)
			s = m.make(t, ticket.Config{}, serverOf(t, plain))
			must(t, s.Setup(t.Context()))
			g.draw("the user", s, 300)
		})
	}
}

// TestPlaceOfAttached has a second file of SQLite attached, whose table has the sequence too.
func TestPlaceOfAttached(t *testing.T) {
	t.Parallel()
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			d, other, g := dbtest.SQLite(t), dbtest.SQLite(t), newGiven(t)
			for _, d := range []dbtest.Database{d, other} {
				must(t, m.make(t, ticket.Config{}, serverOf(t, d)).Setup(t.Context()))
			}
			server := serverOf(t, d)
			server.DB.SetMaxOpenConns(1)
			s := m.make(t, ticket.Config{}, server)
			g.draw("before", s, 300)
			execute(t, server.DB, "ATTACH '"+other.DriverDSN+"' AS other")
			g.draw("one that began before", s, 300)
			_ = wantNone(t, m.make(t, ticket.Config{}, server), ticket.ErrTwoTables, "main."+m.table, "other."+m.table)
			execute(t, server.DB, "DETACH other")
			g.draw("a new process", m.make(t, ticket.Config{}, server), 300)
		})
	}
}

// TestPlaceNowhere has sessions without a database, and a role that may make tables nowhere.
func TestPlaceNowhere(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	mysql, postgres := dbtest.MySQL(t), dbtest.Postgres(t)
	selectNone := mysql
	before, parameters, _ := strings.Cut(mysql.DriverDSN, strings.Trim(database(mysql), "`")+"?")
	selectNone.DriverDSN = before + "?" + parameters
	owner := open(t, postgres)
	plain, _ := role(t, postgres, owner, "")
	execute(t, owner, "REVOKE CREATE ON SCHEMA public FROM PUBLIC", `CREATE SCHEMA "it's"`)
	for _, m := range makers {
		for name, test := range map[string]struct {
			server ticket.Server
			text   string
		}{
			"mysql":              {serverOf(t, selectNone), "no place for the table"},
			"postgres":           {serverOf(t, plain, "search_path=public"), `GRANT USAGE, CREATE ON SCHEMA "public"`},
			"postgres, its name": {serverOf(t, postgres, `search_path="it's"`), "has an apostrophe"},
		} {
			t.Run(m.name+"/"+name, func(t *testing.T) {
				s := m.make(t, ticket.Config{}, test.server)
				var failure *ticket.ServerError
				if err := s.Setup(t.Context()); !errors.Is(err, ticket.ErrTable) || !errors.As(err, &failure) || failure.Class != ticket.Permanent || !strings.Contains(err.Error(), test.text) {
					t.Errorf("Setup: got %v, want ErrTable: %s", err, test.text)
				}
				_ = wantNone(t, s, ticket.ErrTable)
			})
		}
		t.Run(m.name+"/mysql with a name", func(t *testing.T) {
			g := newGiven(t)
			s := m.make(t, ticket.Config{Table: strings.Trim(database(mysql), "`") + "." + m.table}, serverOf(t, selectNone))
			must(t, s.Setup(t.Context()))
			g.draw("by the name", s, 100)
			g.draw("in the database", m.make(t, ticket.Config{}, serverOf(t, mysql)), 100)
		})
	}
}

// TestPlaceOfServersBesides has the servers of a list in databases of one server of MySQL, all of which the account sees.
func TestPlaceOfServersBesides(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	d, g := dbtest.StartMySQL(t), newGiven(t)
	config := ticket.Config{Timeout: retryFactor}
	servers := []ticket.Server{serverOf(t, d.Database(t).Admin()), serverOf(t, d.Database(t).Admin())}
	both := makers[1].make(t, config, servers...)
	must(t, both.Setup(t.Context()))
	g.draw("both", both, 1000)
	g.draw("both, again", makers[1].make(t, config, servers...), 1000)
	third := serverOf(t, d.Database(t).Admin())
	if err := makers[1].make(t, config, third).Setup(t.Context()); !errors.Is(err, ticket.ErrTwoTables) {
		t.Errorf("a list of another server 1: got %v, want ErrTwoTables", err)
	}
	three := blocks(t, briskly(ticket.BlockConfig{Config: config}), append(servers, third)...)
	execute(t, servers[1].DB, "UPDATE snowkey_blocks SET layout = '>2/3x100'") // as a Resize leaves it that has died
	inTime(t, "Resize", three.Resize)
	g.draw("three", three, 1000)
	g.draw("both, after it", both, 1000)
}
