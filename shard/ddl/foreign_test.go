package ddl_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestForeign has a third of a table on the head and the rest on a second server.
func TestForeign(t *testing.T) {
	head, far := dbtest.StartPostgres(t), dbtest.StartPostgres(t, "log_statement=all")
	farDatabase := far.Database(t)
	db, remote := head.Database(t).Open(t), farDatabase.Open(t)
	at, err := url.Parse(farDatabase.DSN)
	if err != nil {
		t.Fatal(err)
	}
	run(t, remote, `CREATE ROLE "o'w\n" LOGIN PASSWORD E'p''a\\ss"'`, `CREATE SCHEMA "F s" AUTHORIZATION "o'w\n"`)
	m := newMap(t, idgen.Sharded.Layout,
		shard.Shard{Name: "here", Suffix: "_h"}, shard.Shard{Name: "a", Database: "far", Suffix: "_0"}, shard.Shard{Name: "b", Database: "far", Suffix: "_1"})
	server := ddl.Server{
		Host: at.Query().Get("host"), Port: 5432, Database: strings.TrimPrefix(at.Path, "/"), Schema: "F s", User: `o'w\n`, Password: `p'a\ss"`,
	}
	fleet, err := ddl.Table{Name: `"Or ""d"`, Key: "id", Columns: "id bigint NOT NULL, user_id bigint NOT NULL DEFAULT 7", Map: m}.
		Foreign(map[string]ddl.Server{"far": server})
	if err != nil {
		t.Fatal(err)
	}
	run(t, remote, append([]string{`SET ROLE "o'w\n"`}, fleet.Remote["far"]...)...)
	run(t, remote, `ALTER TABLE "F s"."Or ""d_0" OWNER TO "o'w\n"`, `ALTER TABLE "F s"."Or ""d_1" OWNER TO "o'w\n"`)
	run(t, db, fleet.Install...)
	run(t, db, fleet.Install...)
	run(t, db, fleet.Servers...)
	run(t, db, fleet.Table...)
	if got, want := rows(t, db, "SELECT array_to_string(umoptions, ',') FROM pg_user_mappings")[0], "user="+server.User+",password="+server.Password; got != want {
		t.Errorf("the user on the other server is %s, want %s", got, want)
	}

	var values []string
	for _, id := range idsOf(m) {
		values = append(values, fmt.Sprintf("(%d)", id))
	}
	run(t, db, `INSERT INTO "Or ""d" (id) VALUES `+strings.Join(values, ", "))
	for _, id := range idsOf(m) {
		s := shardOf(t, m, id)
		where, name := remote, `"F s"."Or ""d`+s.Suffix+`"`
		if s.Database == "" {
			where, name = db, `"Or ""d_h"`
		}
		if got := rows(t, where, fmt.Sprintf("SELECT user_id FROM %s WHERE id = %d", name, id)); len(got) != 1 || got[0] != "7" {
			t.Errorf("id %d: %s of the database %q has %v, want one row with 7", id, name, s.Database, got)
		}
		if got := rows(t, db, fmt.Sprintf(`SELECT id FROM "Or ""d" WHERE id = %d`, id)); len(got) != 1 {
			t.Errorf("the head finds %v for the id %d", got, id)
		}
		asked := strings.Count(far.Log(), fmt.Sprintf("((id = %d::bigint))", id))
		if want := len(s.Database) / len("far"); asked != want {
			t.Errorf("the other server was asked %d times for the id %d of shard %s, want %d", asked, id, s.Name, want)
		}
	}
	foreign := idsOf(m)[1] // of bucket 1
	refused(t, db, fmt.Sprintf(`INSERT INTO "Or ""d" (id) VALUES (%d)`, foreign), "duplicate key")
	refused(t, db, fmt.Sprintf(`UPDATE "Or ""d" SET id = %d WHERE id = %d`, foreign+1, foreign), "check constraint")
	refused(t, db, fmt.Sprintf(`INSERT INTO "Or ""d" (id) VALUES (%d) ON CONFLICT (id) DO NOTHING`, foreign), "no unique or exclusion constraint")

	// What is not on the other server needs it not.
	if err := far.Stop(); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, db, fmt.Sprintf(`SELECT id FROM "Or ""d" WHERE id = %d`, idsOf(m)[0])); len(got) != 1 {
		t.Errorf("got %v, want the row of the head", got)
	}
	_, err = db.ExecContext(t.Context(), `SELECT COUNT(*) FROM "Or ""d"`)
	if err == nil {
		t.Error("counted all rows without the other server")
	} else if strings.Contains(err.Error(), server.Password) {
		t.Errorf("the error has the password: %v", err)
	}
}
