package grant_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// role makes a role of PostgreSQL, and returns its name and its pool. What is in angles in the statements, which the administrator runs, is the name.
func role(t *testing.T, admin *sql.DB, d dbtest.Database, prefix string, statements ...string) (string, *sql.DB) {
	t.Helper()
	name := fmt.Sprintf("%s_%x", prefix, fnv(d.DriverDSN+prefix))
	mustExec(t, admin, "CREATE ROLE "+name+" LOGIN PASSWORD 'sesame'")
	t.Cleanup(func() { _, _ = admin.Exec("DROP OWNED BY " + name + "; DROP ROLE " + name) })
	for _, statement := range statements {
		mustExec(t, admin, strings.ReplaceAll(statement, "<>", name))
	}
	address, err := url.Parse(d.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	if address.Host != "" {
		query.Del("user")
		query.Del("password")
		address.User = url.UserPassword(name, "sesame")
	} else {
		query.Set("user", name)
		query.Set("password", "sesame")
	}
	address.RawQuery = query.Encode()
	d.DriverDSN = address.String()
	return name, openSessions(t, d)
}

// schemasWith returns the schemas that have anything called like the table, temporary ones left out.
func schemasWith(t *testing.T, db *sql.DB) (schemas []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 'snowkey_nodes' AND n.nspname !~ '^pg_temp' ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var schema string
		if err := rows.Scan(&schema); err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, schema)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return schemas
}

func mustPrepare(t *testing.T, store grant.Store, space string) {
	t.Helper()
	if got, err := store.Prepare(t.Context(), space, "layout"); err != nil || got != "layout" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func mustAdd(t *testing.T, store grant.Store, number int64, want bool) {
	t.Helper()
	done, err := store.Swap(t.Context(), "default", grant.Row{Number: number, Holder: grant.Absent}, grant.Row{Number: number, Holder: "a", Until: 5})
	if err != nil || done != want {
		t.Fatalf("adding number %d: got %t, %v, want %t", number, done, err, want)
	}
}

func mustList(t *testing.T, store grant.Store) grant.Listing {
	t.Helper()
	l, err := store.List(t.Context(), "default", 0, 1023)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// wantTwoTables fails the test unless the error names both.
func wantTwoTables(t *testing.T, err error, tables ...string) {
	t.Helper()
	var twice *grant.TwoTablesError
	if !errors.As(err, &twice) || !errors.Is(err, grant.ErrTwoTables) {
		t.Fatalf("got %v, want ErrTwoTables", err)
	}
	for _, table := range tables {
		if !slices.ContainsFunc(twice.Tables[:], func(got string) bool { return strings.HasSuffix(got, table) }) || !strings.Contains(err.Error(), table) {
			t.Fatalf("got the tables %q, want %s", twice.Tables, table)
		}
	}
}

// Two roles with other search paths use one table, whoever comes first. The second is told which rights it needs, makes no table of its
// own, and has another number once it has these.
func TestTwoRolesOneTable(t *testing.T) {
	for _, test := range []struct {
		name       string
		batch, web []string // statements for the roles
		batchFirst bool
		want       string // the table's schema
	}{
		{"web first", []string{"CREATE SCHEMA <> AUTHORIZATION <>"}, []string{"GRANT CREATE ON SCHEMA public TO <>"}, false, "public"},
		{"batch first, with rights on public", []string{"CREATE SCHEMA <> AUTHORIZATION <>", "GRANT CREATE ON SCHEMA public TO <>"}, nil, true, "public"},
		{"batch first, in its own", []string{"CREATE SCHEMA <> AUTHORIZATION <>"}, []string{"GRANT CREATE ON SCHEMA public TO <>"}, true, "batch"},
		{"both in public", []string{"GRANT CREATE ON SCHEMA public TO <>"}, []string{"GRANT CREATE ON SCHEMA public TO <>"}, true, "public"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := dbtest.Postgres(t)
			admin := openSessions(t, d)
			mustExec(t, admin, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
			_, first := role(t, admin, d, "web", test.web...)
			batch, second := role(t, admin, d, "batch", test.batch...)
			if test.batchFirst {
				first, second = second, first
			}
			schema := strings.Replace(test.want, "batch", batch, 1)
			one, two := grant.SQL(first, grant.Postgres), grant.SQL(second, grant.Postgres)
			held := open(t, one, grant.Config{})
			if !strings.HasSuffix(one.Place(), "."+schema+".snowkey_nodes") {
				t.Errorf("the table is %s, want it in %s", one.Place(), schema)
			}
			_, err := grant.Open(t.Context(), two, grant.Config{})
			statement := wantTableError(t, err, one.Place(), "GRANT SELECT, INSERT, UPDATE ON ")
			if got := schemasWith(t, admin); !slices.Equal(got, []string{schema}) {
				t.Fatalf("there are tables in %q, want %s alone", got, schema)
			}
			mustRun(t, admin, statement)
			if k := open(t, two, grant.Config{}); k.State().Number == held.State().Number || two.Place() != one.Place() {
				t.Errorf("both have number %d, in %s and %s", k.State().Number, one.Place(), two.Place())
			}
		})
	}
}

// Two roles who would each make the table elsewhere start at once, under any isolation level. There is one table each time.
func TestTwoRolesAtOnce(t *testing.T) {
	for _, level := range []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
		t.Run(level, func(t *testing.T) {
			d := dbtest.Postgres(t)
			admin := openSessions(t, d)
			mustExec(t, admin, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
			isolation := "ALTER ROLE <> SET default_transaction_isolation = '" + strings.ToLower(level) + "'"
			_, web := role(t, admin, d, "web", "GRANT CREATE ON SCHEMA public TO <>", isolation)
			_, batch := role(t, admin, d, "batch", "CREATE SCHEMA <> AUTHORIZATION <>", isolation)
			for round := range 20 {
				var errs [2]error
				var group sync.WaitGroup
				begin := make(chan struct{})
				for i, db := range []*sql.DB{web, batch} {
					store := grant.SQL(db, grant.Postgres)
					if err := db.PingContext(t.Context()); err != nil {
						t.Fatal(err)
					}
					group.Go(func() {
						<-begin
						_, errs[i] = store.Prepare(t.Context(), "default", "layout")
					})
				}
				close(begin)
				group.Wait()
				tables := schemasWith(t, admin)
				if len(tables) != 1 || (errs[0] == nil) == (errs[1] == nil) {
					t.Fatalf("round %d: the tables are in %q, want one; errors %v", round, tables, errs)
				}
				wantTableError(t, errors.Join(errs[:]...), ".snowkey_nodes", "GRANT SELECT, INSERT, UPDATE ON ")
				mustExec(t, admin, `DROP TABLE "`+tables[0]+`".snowkey_nodes`)
			}
		})
	}
}

// Where two tables have the space, nobody starts, by whatever name. Who runs goes on with a warning.
func TestTwoTables(t *testing.T) {
	d := dbtest.Postgres(t)
	admin := openSessions(t, d)
	batch, second := role(t, admin, d, "batch", "CREATE SCHEMA <> AUTHORIZATION <>", "GRANT CREATE ON SCHEMA public TO <>")
	runs := grant.SQL(admin, grant.Postgres)
	mustPrepare(t, runs, "default")
	mustExec(t, admin, "GRANT ALL ON snowkey_nodes TO "+batch, "CREATE TABLE "+batch+".snowkey_nodes (LIKE public.snowkey_nodes INCLUDING ALL)",
		"ALTER TABLE "+batch+".snowkey_nodes OWNER TO "+batch)
	mustPrepare(t, grant.SQL(admin, grant.Postgres), "default") // the other has no space
	mustExec(t, admin, "INSERT INTO "+batch+".snowkey_nodes SELECT * FROM public.snowkey_nodes")
	for _, store := range []*grant.SQLStore{
		grant.SQL(admin, grant.Postgres), grant.SQL(second, grant.Postgres),
		grant.SQL(admin, grant.Postgres, grant.WithTable("public.snowkey_nodes")), grant.SQL(admin, grant.Postgres, grant.WithTable(batch+".snowkey_nodes")),
	} {
		_, err := store.Prepare(t.Context(), "default", "layout")
		wantTwoTables(t, err, ".public.snowkey_nodes", "."+batch+".snowkey_nodes")
	}
	mustPrepare(t, runs, "default")
	if got := runs.Warnings(); len(got) != 1 || !strings.Contains(got[0], batch+".snowkey_nodes") {
		t.Errorf("got the warnings %q, want one of the other table", got)
	}
	// One that may not be read may have it, but not where the schema is named.
	mustExec(t, admin, "REVOKE ALL ON public.snowkey_nodes FROM "+batch, "TRUNCATE "+batch+".snowkey_nodes")
	_, err := grant.SQL(second, grant.Postgres).Prepare(t.Context(), "default", "layout")
	wantTwoTables(t, err, ".public.snowkey_nodes", "."+batch+".snowkey_nodes")
	mustPrepare(t, grant.SQL(second, grant.Postgres, grant.WithTable(batch+".snowkey_nodes")), "default")
}

// Two tables that are there, and have no space: of two processes that add it at once, one to each, at least one is refused.
func TestTwoTablesAtOnce(t *testing.T) {
	d := dbtest.Postgres(t)
	admin := openSessions(t, d)
	mustExec(t, admin, "CREATE SCHEMA batch", strings.Replace(mustDDL(t, grant.Postgres, "batch.snowkey_nodes"), "IF NOT EXISTS", "", 1), mustDDL(t, grant.Postgres, "public.snowkey_nodes"))
	web, batch := openSessions(t, d, "SET search_path = public"), openSessions(t, d, "SET search_path = batch")
	for round := range 20 {
		var errs [2]error
		var group sync.WaitGroup
		begin := make(chan struct{})
		for i, db := range []*sql.DB{web, batch} {
			store := grant.SQL(db, grant.Postgres)
			group.Go(func() {
				<-begin
				_, errs[i] = store.Prepare(t.Context(), fmt.Sprint("space-", round), "layout")
			})
		}
		close(begin)
		group.Wait()
		if errs[0] == nil && errs[1] == nil {
			t.Fatalf("round %d: both have it", round)
		}
	}
}

// The search path is that of the pool's sessions: empty, with names that have to be quoted, or of nothing that is there.
func TestSearchPaths(t *testing.T) {
	for name, want := range map[string]string{
		"''": "public", "nowhere": "public", `"my-app"`: "my-app", `"a""b"`: `a"b`, `"a.b"`: "a.b", `"it's"`: "it's", `"Ünï"`: "Ünï", `pgone, public`: "pgone", "public, nowhere": "public",
	} {
		t.Run(name, func(t *testing.T) {
			d := dbtest.Postgres(t)
			admin := openSessions(t, d)
			if want != "public" {
				mustExec(t, admin, `CREATE SCHEMA "`+strings.ReplaceAll(want, `"`, `""`)+`"`)
			}
			db := openSessions(t, d, "SET search_path = "+name)
			store := grant.SQL(db, grant.Postgres)
			mustPrepare(t, store, "default")
			mustAdd(t, store, 5, true)
			if got := schemasWith(t, admin); !slices.Equal(got, []string{want}) || !strings.HasSuffix(store.Place(), "."+want+".snowkey_nodes") {
				t.Fatalf("the tables are in %q, and the place is %s, want %s", got, store.Place(), want)
			}
			other := grant.SQL(admin, grant.Postgres) // finds it wherever it is
			mustPrepare(t, other, "default")
			mustAdd(t, other, 5, false)
			mustExec(t, admin, `ALTER TABLE "`+strings.ReplaceAll(want, `"`, `""`)+`".snowkey_nodes SET UNLOGGED`)
			if _, err := store.Prepare(t.Context(), "default", "layout"); !errors.Is(err, grant.ErrUnsafe) {
				t.Errorf("got %v, want ErrUnsafe", err)
			}
		})
	}
	// Who may make tables nowhere is told what somebody else has to run.
	for _, path := range []string{"''", `"$user", public`} {
		d := dbtest.Postgres(t)
		admin := openSessions(t, d)
		mustExec(t, admin, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		_, db := role(t, admin, d, "poor", "ALTER ROLE <> SET search_path = "+path)
		store := grant.SQL(db, grant.Postgres)
		_, err := store.Prepare(t.Context(), "default", "layout")
		mustRun(t, admin, wantTableError(t, err, ".public.snowkey_nodes", "CREATE TABLE"))
		mustPrepare(t, store, "default")
	}
}

// What else is called like the table is not taken for it: temporary tables, views, sequences. A view where the table would be is said to be
// in the way, and once.
func TestOtherThingsOfTheName(t *testing.T) {
	for _, test := range []struct {
		name    string
		dialect grant.Dialect
		session []string
		make    []string
		want    error
	}{
		{"temporary", grant.Postgres, []string{"CREATE TEMPORARY TABLE snowkey_nodes (id int)"}, nil, nil},
		{"temporary", grant.SQLite, []string{"CREATE TEMPORARY TABLE snowkey_nodes (id int)"}, nil, nil},
		{"elsewhere", grant.Postgres, nil, []string{"CREATE SCHEMA a", "CREATE VIEW a.snowkey_nodes AS SELECT 1"}, nil},
		{"view", grant.Postgres, nil, []string{"CREATE VIEW snowkey_nodes AS SELECT 1"}, grant.ErrTable},
		{"sequence", grant.Postgres, nil, []string{"CREATE SEQUENCE snowkey_nodes"}, grant.ErrTable},
		{"view", grant.MySQL, nil, []string{"CREATE VIEW snowkey_nodes AS SELECT 1"}, grant.ErrTable},
		{"view", grant.SQLite, nil, []string{"CREATE VIEW snowkey_nodes AS SELECT 1"}, grant.ErrTable},
		{"partitioned", grant.Postgres, nil, []string{"CREATE TABLE parts (LIKE @) PARTITION BY LIST (space)", "ALTER TABLE parts ADD PRIMARY KEY (space, node)",
			"CREATE TABLE part PARTITION OF parts DEFAULT", "DROP TABLE @", "ALTER TABLE parts RENAME TO snowkey_nodes"}, nil},
	} {
		t.Run(test.dialect.String()+"/"+test.name, func(t *testing.T) {
			d := databases[test.dialect](t)
			db := openSessions(t, d, test.session...)
			if test.name == "partitioned" {
				mustExec(t, db, mustDDL(t, test.dialect, ""))
			}
			for _, statement := range test.make {
				mustExec(t, db, strings.ReplaceAll(statement, "@", "snowkey_nodes"))
			}
			store := grant.SQL(db, test.dialect)
			_, err := store.Prepare(t.Context(), "default", "layout")
			if !errors.Is(err, test.want) || test.want != nil && !strings.Contains(err.Error(), "snowkey_nodes is there and is no table") {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if test.want == nil {
				mustAdd(t, store, 5, true)
				other := grant.SQL(openSessions(t, d), test.dialect)
				mustPrepare(t, other, "default")
				mustAdd(t, other, 5, false)
			}
		})
	}
}

// A table of the name with other columns is not mended by the statement that makes one.
func TestAnotherTableOfTheName(t *testing.T) {
	eachDialect(t, func(t *testing.T, dialect grant.Dialect, d dbtest.Database) {
		db := openSessions(t, d)
		mustExec(t, db, "CREATE TABLE snowkey_nodes (id int)")
		var e *grant.TableError
		if _, err := grant.SQL(db, dialect).Prepare(t.Context(), "default", "layout"); !errors.Is(err, grant.ErrTable) || errors.As(err, &e) || !strings.Contains(err.Error(), "snowkey_nodes is no table of grants") {
			t.Errorf("got %v, want ErrTable without a statement", err)
		}
	})
}

// A table that is moved under a running process is not made again in its old place.
func TestTableMovedToAnotherSchema(t *testing.T) {
	db := openSessions(t, dbtest.Postgres(t))
	store := grant.SQL(db, grant.Postgres)
	mustPrepare(t, store, "default")
	mustExec(t, db, "CREATE SCHEMA other", "ALTER TABLE snowkey_nodes SET SCHEMA other")
	if _, err := store.Prepare(t.Context(), "default", "layout"); !errors.Is(err, grant.ErrTwoTables) && !errors.Is(err, grant.ErrMoved) {
		t.Errorf("got %v, want ErrTwoTables or ErrMoved", err)
	}
	if got := schemasWith(t, db); !slices.Equal(got, []string{"other"}) {
		t.Errorf("the tables are in %q, want other alone", got)
	}
}

// What others do to the pool's sessions does not matter once the table is found: USE, SET, RESET, DISCARD.
func TestSessionsAreChanged(t *testing.T) {
	for _, test := range []struct {
		dialect    grant.Dialect
		parameters string
		make       []string // @ is the database
		change     []string
	}{
		{grant.MySQL, "", []string{"CREATE DATABASE @_tenant"}, []string{"USE @_tenant", "SET autocommit = 0", "SET sql_mode = 'ANSI_QUOTES'"}},
		{grant.MySQL, "interpolateParams=true", []string{"CREATE DATABASE @_tenant"}, []string{"USE @_tenant", "CREATE TABLE IF NOT EXISTS @_tenant.snowkey_nodes (id int)"}},
		{grant.Postgres, "", []string{"CREATE SCHEMA tenant"}, []string{"SET search_path = tenant", "RESET search_path", "DISCARD ALL", "SET search_path = ''"}},
		{grant.Postgres, "default_query_exec_mode=simple_protocol", []string{"CREATE SCHEMA tenant"}, []string{"SET search_path = tenant, public", "CREATE TABLE IF NOT EXISTS tenant.snowkey_nodes (id int)", "DISCARD ALL"}},
	} {
		t.Run(test.dialect.String()+"/"+test.parameters, func(t *testing.T) {
			d := withParameters(t, databases[test.dialect](t), test.parameters)
			db := openSessions(t, d)
			const conns = 3
			db.SetMaxOpenConns(conns)
			db.SetMaxIdleConns(conns)
			name := databaseOf(t, d)
			for _, statement := range test.make {
				mustExec(t, db, strings.ReplaceAll(statement, "@", name))
			}
			t.Cleanup(func() { _, _ = db.Exec("DROP DATABASE IF EXISTS " + name + "_tenant") })
			store := grant.SQL(db, test.dialect)
			mustPrepare(t, store, "default")
			place := store.Place()
			for i, change := range test.change {
				onAll(t, db, conns, strings.ReplaceAll(change, "@", name))
				number := int64(i)
				mustAdd(t, store, number, true)
				mustPrepare(t, store, "default")
				mustPrepare(t, store, fmt.Sprint("space-", i))
				if l := mustList(t, store); len(l.Rows) != i+1 || store.Place() != place {
					t.Fatalf("after %s: got %+v in %s, want %d rows in %s", change, l.Rows, store.Place(), i+1, place)
				}
				if err := store.Record(t.Context(), "default", grant.Loss{Holder: "a"}); err != nil {
					t.Fatal(err)
				}
			}
			if len(store.Warnings()) != 0 {
				t.Errorf("got the warnings %q, want none", store.Warnings())
			}
		})
	}
}

// onAll runs a statement on all connections of the pool.
func onAll(t *testing.T, db *sql.DB, conns int, statement string) {
	t.Helper()
	var held []*sql.Conn
	for range conns {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for _, conn := range held {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// databaseOf returns the database's name.
func databaseOf(t *testing.T, d dbtest.Database) string {
	t.Helper()
	if d.Kind == "mysql" {
		config, err := mysql.ParseDSN(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		return config.DBName
	}
	address, err := url.Parse(d.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(address.Path, "/")
}

// On MySQL another database that the account sees may have the space, another one, or another table of the name.
func TestOtherDatabase(t *testing.T) {
	d := dbtest.MySQL(t)
	name := databaseOf(t, d)
	db := openSessions(t, d)
	mustExec(t, db, "CREATE DATABASE "+name+"_b", "CREATE TABLE "+name+"_b.snowkey_nodes (id int)")
	t.Cleanup(func() { _, _ = db.Exec("DROP DATABASE " + name + "_b") })
	first := grant.SQL(db, grant.MySQL)
	mustPrepare(t, first, "default") // beside a table with other columns
	if len(first.Warnings()) != 0 {
		t.Errorf("got the warnings %q, want none", first.Warnings())
	}
	mustExec(t, db, "DROP TABLE "+name+"_b.snowkey_nodes")
	config, err := mysql.ParseDSN(d.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	config.DBName = name + "_b"
	elsewhere := d
	elsewhere.DriverDSN = config.FormatDSN()
	second := grant.SQL(openSessions(t, elsewhere), grant.MySQL)
	_, err = second.Prepare(t.Context(), "default", "layout")
	wantTwoTables(t, err, name+".snowkey_nodes", name+"_b.snowkey_nodes")
	var tables int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+name+"_b'").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables were made, %v, want none", tables, err)
	}
	mustPrepare(t, second, "other")
	mustPrepare(t, first, "default")
	mustPrepare(t, grant.SQL(db, grant.MySQL), "default")
	if len(first.Warnings()) != 0 {
		t.Errorf("got the warnings %q, want none", first.Warnings())
	}
	// From nowhere the table needs its database's name.
	config.DBName = ""
	elsewhere.DriverDSN = config.FormatDSN()
	nowhere := openSessions(t, elsewhere)
	if _, err := grant.SQL(nowhere, grant.MySQL).Prepare(t.Context(), "default", "layout"); err == nil || !strings.Contains(err.Error(), "no database is selected") {
		t.Errorf("got %v, want an error that no database is selected", err)
	}
	named := grant.SQL(nowhere, grant.MySQL, grant.WithTable(name+".snowkey_nodes"))
	mustPrepare(t, named, "default")
	mustAdd(t, first, 5, true)
	mustAdd(t, named, 5, false)
}

// On SQLite a database that is attached has tables of its own.
func TestAttachedDatabase(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other's.db")
	d := dbtest.SQLite(t)
	db := openSessions(t, d, "ATTACH '"+strings.ReplaceAll(other, "'", "''")+"' AS other")
	attached := grant.SQL(db, grant.SQLite, grant.WithTable("other.snowkey_nodes"))
	mustPrepare(t, attached, "default")
	mustAdd(t, attached, 5, true)
	if attached.Place() != "other.snowkey_nodes" {
		t.Errorf("the place is %s", attached.Place())
	}
	_, err := grant.SQL(db, grant.SQLite).Prepare(t.Context(), "default", "layout")
	wantTwoTables(t, err, "main.snowkey_nodes", "other.snowkey_nodes")
	mustPrepare(t, grant.SQL(db, grant.SQLite), "another")
	mustPrepare(t, attached, "default")
	if _, err := grant.SQL(db, grant.SQLite, grant.WithTable("missing.snowkey_nodes")).Prepare(t.Context(), "default", "layout"); err == nil || !strings.Contains(err.Error(), `attached as "missing"`) {
		t.Errorf("got %v, want an error of a database that is not attached", err)
	}
}

// A file that takes the place of the database's under a running process is another one, whatever it has.
func TestFileOfDatabaseReplaced(t *testing.T) {
	d := dbtest.SQLite(t)
	db := openSessions(t, d)
	db.SetMaxOpenConns(1) // another one would make a new file
	store := grant.SQL(db, grant.SQLite)
	mustPrepare(t, store, "default")
	text, err := os.ReadFile(d.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	copied := d.DriverDSN + ".copy" // of a backup
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(copied, d.DriverDSN); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := store.Prepare(t.Context(), "default", "layout"); !errors.Is(err, grant.ErrMoved) {
			t.Errorf("got %v, want ErrMoved", err)
		}
	}
	if err := os.Remove(d.DriverDSN); err != nil {
		t.Fatal(err)
	}
	for _, store := range []*grant.SQLStore{store, grant.SQL(db, grant.SQLite)} {
		if _, err := store.Prepare(t.Context(), "default", "layout"); !errors.Is(err, grant.ErrMoved) {
			t.Errorf("got %v, want ErrMoved, as the file is gone", err)
		}
	}
	if _, err := os.Stat(d.DriverDSN); !os.IsNotExist(err) {
		t.Errorf("got %v, want no file", err)
	}
}

// A database that may lose what is committed is refused before a space is made in it, or taken with a warning by who says so. One that takes
// no writes is refused.
func TestUnsafeDatabases(t *testing.T) {
	mine := func(start func(testing.TB, ...string) *dbtest.Server, settings ...string) func(testing.TB) dbtest.Database {
		return func(t testing.TB) dbtest.Database { return start(t, settings...).Database(t) }
	}
	for _, test := range []struct {
		name     string
		dialect  grant.Dialect
		database func(testing.TB) dbtest.Database
		session  []string
		table    [2]string // replaced in the statement that makes it
		want     error
		text     string
	}{
		{"flush 0", grant.MySQL, mine(dbtest.StartMySQL, "--innodb-flush-log-at-trx-commit=0"), nil, [2]string{}, grant.ErrUnsafe, "innodb_flush_log_at_trx_commit is 0"},
		{"flush 2", grant.MySQL, mine(dbtest.StartMySQL, "--innodb-flush-log-at-trx-commit=2"), nil, [2]string{}, grant.ErrUnsafe, "innodb_flush_log_at_trx_commit is 2"},
		{"MyISAM", grant.MySQL, dbtest.MySQL, nil, [2]string{"InnoDB", "MyISAM"}, grant.ErrUnsafe, "engine MyISAM"},
		{"fsync", grant.Postgres, mine(dbtest.StartPostgres, "fsync=off"), nil, [2]string{}, grant.ErrUnsafe, "fsync is off"},
		{"UNLOGGED", grant.Postgres, dbtest.Postgres, nil, [2]string{"TABLE", "UNLOGGED TABLE"}, grant.ErrUnsafe, "not logged"},
		{"read only", grant.Postgres, dbtest.Postgres, []string{"SET default_transaction_read_only = on"}, [2]string{}, grant.ErrReadOnly, "default_transaction_read_only"},
		{"synchronous", grant.SQLite, dbtest.SQLite, []string{"PRAGMA synchronous = OFF"}, [2]string{}, grant.ErrUnsafe, "synchronous is off"},
		{"journal", grant.SQLite, dbtest.SQLite, []string{"PRAGMA journal_mode = MEMORY"}, [2]string{}, grant.ErrUnsafe, "journal_mode is memory"},
		{"query only", grant.SQLite, dbtest.SQLite, []string{"PRAGMA query_only = 1"}, [2]string{}, grant.ErrReadOnly, "query_only"},
	} {
		t.Run(test.dialect.String()+"/"+test.name, func(t *testing.T) {
			t.Parallel()
			d := test.database(t)
			made := mustDDL(t, test.dialect, "")
			if test.table[0] != "" {
				made = strings.Replace(made, test.table[0], test.table[1], 1)
			}
			mustExec(t, d.Open(t), made)
			db := openSessions(t, d, test.session...)
			_, err := grant.SQL(db, test.dialect).Prepare(t.Context(), "default", "layout")
			if !errors.Is(err, test.want) || errors.Is(err, grant.ErrTable) || !strings.Contains(err.Error(), test.text) {
				t.Fatalf("got %v, want %v, with %s", err, test.want, test.text)
			}
			if spaces, err := grant.SQL(db, test.dialect).Spaces(t.Context()); err != nil || len(spaces) != 0 {
				t.Errorf("got the spaces %+v, %v, want none", spaces, err)
			}
			if err := grant.SQL(db, test.dialect).Check(t.Context(), "default"); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("Check: got %v, want %v, with %s", err, test.want, test.text)
			}
			store := grant.SQL(db, test.dialect, grant.WithUnsafe())
			if test.want == grant.ErrReadOnly {
				if _, err := store.Prepare(t.Context(), "default", "layout"); !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				return
			}
			mustPrepare(t, store, "default")
			if got := store.Warnings(); !slices.ContainsFunc(got, func(text string) bool { return strings.Contains(text, test.text) }) {
				t.Errorf("got the warnings %q, want %s", got, test.text)
			}
		})
	}
}

// A session that takes no writes cannot make the table either.
func TestReadOnlyWithoutATable(t *testing.T) {
	for dialect, statement := range map[grant.Dialect]string{grant.Postgres: "SET default_transaction_read_only = on", grant.SQLite: "PRAGMA query_only = 1", grant.MySQL: "SET SESSION TRANSACTION READ ONLY"} {
		t.Run(dialect.String(), func(t *testing.T) {
			store := grant.SQL(openSessions(t, databases[dialect](t), statement), dialect)
			_, err := store.Prepare(t.Context(), "default", "layout")
			if !errors.Is(err, grant.ErrReadOnly) {
				t.Errorf("got %v, want ErrReadOnly", err)
			}
		})
	}
}

// Rows that somebody deletes are counted, and numbers without a row are held until the mark, from the next Prepare on as long as the space
// is there. A space's own row, or a table, that somebody deletes is made again, and has another identity.
func TestRowsDeletedByHand(t *testing.T) {
	eachDialect(t, func(t *testing.T, dialect grant.Dialect, d dbtest.Database) {
		db := openSessions(t, d)
		store := grant.SQL(db, dialect)
		mustPrepare(t, store, "default")
		for number := range int64(4) {
			mustAdd(t, store, number, true)
		}
		id := mustList(t, store).ID
		want := func(gone, mark, absent int64, rows int) {
			t.Helper()
			if l := mustList(t, store); l.ID != id || l.Gone != gone || l.Mark != mark || l.Absent != absent || len(l.Rows) != rows {
				t.Fatalf("got %+v, want %d gone, the mark %d, numbers held until %d, and %d rows", l, gone, mark, absent, rows)
			}
		}
		addFrom := func(number, from int64) {
			t.Helper()
			done, err := store.Swap(t.Context(), "default", grant.Row{Number: number, Holder: grant.Absent}, grant.Row{Number: number, Holder: "a", From: from, Until: from + 1})
			if err != nil || !done {
				t.Fatalf("got %t, %v", done, err)
			}
		}
		want(0, 5, 0, 4)
		mustExec(t, db, "DELETE FROM snowkey_nodes WHERE node IN (1, 3)")
		want(2, 5, 0, 2)
		mustAdd(t, store, 1, false)
		mustAdd(t, store, 9, false)
		addFrom(1, 5) // which does not make up for it
		want(2, 6, 0, 3)
		mustPrepare(t, grant.SQL(db, dialect), "default")
		want(0, 6, 6, 3)
		mustAdd(t, store, 9, false)
		addFrom(9, 6)
		want(0, 7, 6, 4)
		if err := store.Record(t.Context(), "default", grant.Loss{Number: 1, Holder: "a"}); err != nil {
			t.Fatal(err)
		}
		if got, err := store.Losses(t.Context(), "default"); err != nil || len(got) != 1 {
			t.Errorf("got the losses %+v, %v, want one", got, err)
		}
		mustExec(t, db, "DELETE FROM snowkey_nodes WHERE node = 0")
		mustPrepare(t, store, "default")
		mustPrepare(t, store, "default")
		want(0, 7, 7, 3)

		mustExec(t, db, "DELETE FROM snowkey_nodes WHERE node = -1")
		if l := mustList(t, store); l.ID != "" || l.Mark != 0 {
			t.Errorf("got %+v, want no identity", l)
		}
		if done, err := store.Swap(t.Context(), "default", grant.Row{Number: 8, Holder: grant.Absent}, grant.Row{Number: 8, Holder: "a", From: 10, Until: 15}); done || !errors.Is(err, grant.ErrTable) {
			t.Errorf("without the space's own row: got %t, %v, want ErrTable", done, err)
		}
		mustPrepare(t, store, "default")
		again := mustList(t, store)
		mustExec(t, db, "DROP TABLE snowkey_nodes")
		mustPrepare(t, store, "default")
		last := mustList(t, store)
		if again.ID == "" || again.ID == id || last.ID == "" || last.ID == again.ID || last.Gone != 0 || last.Mark != 0 || last.Absent != 0 || len(last.Rows) != 0 {
			t.Errorf("got the identities %q, %q and %q, and at last %+v", id, again.ID, last.ID, last)
		}
		mustAdd(t, store, 1, true)
	})
}

// Many processes see at once that rows are gone. Each may prepare the space, and it is seen to once.
func TestRowsGoneAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, dialect grant.Dialect, d dbtest.Database) {
		db := openSessions(t, d)
		store := grant.SQL(db, dialect)
		mustPrepare(t, store, "default")
		for round := range int64(10) {
			done, err := store.Swap(t.Context(), "default", grant.Row{Number: round, Holder: grant.Absent}, grant.Row{Number: round, Holder: "a", From: round, Until: round + 1})
			if err != nil || !done {
				t.Fatalf("got %t, %v", done, err)
			}
			mustExec(t, db, "DELETE FROM snowkey_nodes WHERE node >= 0")
			var errs [6]error
			var group sync.WaitGroup
			begin := make(chan struct{})
			for i := range errs {
				group.Go(func() {
					<-begin
					_, errs[i] = store.Prepare(t.Context(), "default", "layout")
				})
			}
			close(begin)
			group.Wait()
			if err := errors.Join(errs[:]...); err != nil {
				t.Fatal(err)
			}
			if l := mustList(t, store); l.Gone != 0 || l.Absent != round+1 || l.Mark != round+1 {
				t.Fatalf("got %+v, want numbers held until %d", l, round+1)
			}
		}
	})
}
