package ticket_test

import (
	"errors"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// TestPostgresRoleThatOwnsNothing draws as a role with USAGE, SELECT and UPDATE on the SEQUENCE and the rights to the register, which may not ALTER the SEQUENCE. It also moves
// a server forward that is behind.
func TestPostgresRoleThatOwnsNothing(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	d, r, config := []dbtest.Database{dbtest.Postgres(t), dbtest.Postgres(t)}, newRecorder(t), quick(ticket.Config{Timeout: retryFactor})
	r.draw("the owner", setUp(t, config, d...), 20)
	const object = `"snowkey_tickets.default"`
	user := make([]ticket.Server, 2)
	for i, d := range d {
		owner := open(t, d)
		plain, role := role(t, d, owner, "")
		execute(t, owner, "GRANT USAGE, SELECT, UPDATE ON SEQUENCE "+object+" TO "+role, "GRANT SELECT, INSERT ON snowkey_tickets_register TO "+role)
		user[i] = serverOf(t, plain)
	}
	source := flickr(t, config, user...)
	mustSetUp(t, source) // nothing is missing
	for i := range d {
		waitForDrawing(t, r, source, i+1)
	}
	r.draw("the role", source, 50)

	// Server 2 is away while server 1 goes ahead.
	owner := []ticket.Server{serverOf(t, d[0]), serverOf(t, d[1])}
	plain := ask(t, user[1].DB, "SELECT count(*) FROM pg_roles WHERE rolname = current_user AND NOT rolsuper")
	if plain != 1 {
		t.Fatal("the role is not what is to be tested")
	}
	execute(t, owner[1].DB, "REVOKE ALL ON SEQUENCE "+object+" FROM "+roleOf(t, user[1]))
	load := r.load("without server 2", source, 2)
	waitFor(t, source, 2, ticket.Open)
	if err := source.Stats().Servers[1].Err; !errors.Is(err, ticket.ErrTable) || errors.As(err, new(*ticket.TableError)) {
		t.Errorf("got %v, want ErrTable, and no statement that would make what is there", err)
	}
	execute(t, owner[0].DB, `SELECT setval('`+object+`', 300001)`) // more than is drawn at once
	load.more(20)
	high := source.Stats().Servers[0].Last
	execute(t, owner[1].DB, "GRANT USAGE, SELECT, UPDATE ON SEQUENCE "+object+" TO "+roleOf(t, user[1]))
	s := waitFor(t, source, 2, ticket.Closed)
	load.more(20)
	load.stop()
	if s.Fences < 1 || s.Last <= high {
		t.Errorf("got %+v, want a server that was moved beyond %d", s, high)
	}
	must(t, source.Restore(t.Context(), "server 2", 500_000))
	waitForDrawing(t, r, source, 2)
	r.draw("after Restore", source, 20)
	if s := source.Stats().Servers[1]; s.Last <= 500_000 {
		t.Errorf("got %+v, want more than 500000", s)
	}
	r.draw("the owner again", sourceOf(t, config, d...), 20)
}

// roleOf returns the role of a pool's sessions, quoted.
func roleOf(t *testing.T, s ticket.Server) (role string) {
	t.Helper()
	must(t, s.DB.QueryRowContext(t.Context(), "SELECT quote_ident(current_user)").Scan(&role))
	return role
}
