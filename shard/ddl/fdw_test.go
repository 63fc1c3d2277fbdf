package ddl_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// TestPostgresFDW asks for a row the server that has it, and needs no other.
func TestPostgresFDW(t *testing.T) {
	head := dbtest.StartPostgres(t)
	f := open(t, head.Database(t))
	db := f.pool
	servers := map[string]*dbtest.Server{"one": dbtest.StartPostgres(t, "log_statement=all"), "two": dbtest.StartPostgres(t, "log_statement=all")}
	table := ddl.Table{Name: `"Or ""d"`, Key: "id", Columns: "id bigint NOT NULL, user_id bigint NOT NULL DEFAULT 7", Layout: idgen.Sharded.Layout, Shards: 4}
	const password = `p'a\ss"`
	for _, name := range []string{"one", "two"} {
		database := servers[name].Database(t)
		remote := database.Open(t)
		at, err := url.Parse(database.DSN)
		if err != nil {
			t.Fatal(err)
		}
		run(t, remote, `CREATE ROLE "o'w\n" LOGIN PASSWORD E'p''a\\ss"'`, `GRANT CREATE ON SCHEMA public TO "o'w\n"`)
		remote.SetMaxOpenConns(1)
		run(t, remote, `SET ROLE "o'w\n"`)
		if f.remote == nil {
			f.remote = map[string]*sql.DB{}
		}
		f.remote[name] = remote
		table.Servers = append(table.Servers, ddl.Server{
			Name: name, Host: at.Query().Get("host"), Port: 5432, Database: strings.TrimPrefix(at.Path, "/"), User: `o'w\n`, Password: password,
		})
	}
	script, err := table.Create(ddl.PostgresFDW)
	if err != nil {
		t.Fatal(err)
	}
	f.apply(t, script)
	f.apply(t, &ddl.Script{Install: script.Install}) // once more
	if got, want := rows(t, db, "SELECT array_to_string(umoptions, ',') FROM pg_user_mappings")[0], "user="+table.Servers[0].User+",password="+password; got != want {
		t.Errorf("the user on the other server is %s, want %s", got, want)
	}

	ids := []int64{4<<40 | 1, 4<<40 | 2, 1<<60 | 1023, 1<<62 | 512}
	for _, id := range ids {
		run(t, db, fmt.Sprintf(`INSERT INTO "Or ""d" (id) VALUES (%d)`, id))
	}
	for _, id := range ids {
		n := bucketIn(t, table.Layout, id) % 4
		has := table.Servers[n%2].Name
		if got := rows(t, f.remote[has], fmt.Sprintf(`SELECT user_id FROM "Or ""d_%04d" WHERE id = %d`, n, id)); len(got) != 1 || got[0] != "7" {
			t.Errorf("id %d: the shard %d of the server %s has %v, want one row with 7", id, n, has, got)
		}
		if got := rows(t, db, fmt.Sprintf(`SELECT id FROM "Or ""d" WHERE id = %d`, id)); len(got) != 1 {
			t.Errorf("the head finds %v for the id %d", got, id)
		}
		for name, server := range servers {
			asked := strings.Count(server.Log(), fmt.Sprintf("((id = %d::bigint))", id))
			if want := map[bool]int{true: 1}[name == has]; asked != want {
				t.Errorf("the server %s was asked %d times for the id %d of %s, want %d", name, asked, id, has, want)
			}
		}
	}
	foreign := ids[0]
	refused(t, db, fmt.Sprintf(`INSERT INTO "Or ""d" (id) VALUES (%d)`, foreign), "duplicate key")
	refused(t, db, fmt.Sprintf(`UPDATE "Or ""d" SET id = %d WHERE id = %d`, foreign+1, foreign), "check constraint")
	refused(t, db, fmt.Sprintf(`INSERT INTO "Or ""d" (id) VALUES (%d) ON CONFLICT (id) DO NOTHING`, foreign), "no unique or exclusion constraint")

	// After the growth a head that was not told of it writes no row to where the others do not look.
	grown, err := table.Grow(ddl.PostgresFDW, 8)
	if err != nil {
		t.Fatal(err)
	}
	f.apply(t, grown)
	if got := rows(t, f.remote["two"], `SELECT id FROM "Or ""d_0007"`); len(got) != 1 {
		t.Errorf("after the growth the new shard has the rows %v, want one", got)
	}
	refused(t, f.remote["two"], fmt.Sprintf(`INSERT INTO "Or ""d_0003" VALUES (%d, 1)`, ids[2]+1024), "check constraint")

	// What is not on the other server needs it not.
	if err := servers["two"].Stop(); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, db, fmt.Sprintf(`SELECT id FROM "Or ""d" WHERE id = %d`, ids[1])); len(got) != 1 {
		t.Errorf("got %v, want the row of the server that is up", got)
	}
	_, err = db.ExecContext(t.Context(), `SELECT COUNT(*) FROM "Or ""d"`)
	if err == nil {
		t.Error("counted all rows without the other server")
	} else if strings.Contains(err.Error(), password) {
		t.Errorf("the error has the password: %v", err)
	}
}
