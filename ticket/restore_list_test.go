package ticket_test

import (
	"errors"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// TestRestoreByTheListOfBefore refuses to make the row of a server in the layout of a list that is not all there is any more.
func TestRestoreByTheListOfBefore(t *testing.T) {
	t.Parallel()
	d, r, config := []dbtest.Database{dbtest.SQLite(t), dbtest.SQLite(t)}, newRecorder(t), quick(ticket.Config{Timeout: retryFactor})
	before := setUp(t, config, d[0])
	r.draw("before", before, 20)
	both := sourceOf(t, config, d...)
	must(t, both.Resize(t.Context()))
	r.draw("both", both, 20)
	execute(t, open(t, d[0]), "DELETE FROM snowkey_tickets")
	if err := before.Restore(t.Context(), "server 1", r.greatest()); !errors.Is(err, ticket.ErrLayout) {
		t.Errorf("by the list of before: got %v, want ErrLayout", err)
	}
	must(t, both.Restore(t.Context(), "server 1", r.greatest()))
	r.draw("before, restored", before, 20)
	r.draw("both, restored", sourceOf(t, config, d...), 20)
	r.draw("the other alone", flickr(t, config, nowhere(t), serverOf(t, d[1])), 20)
}

// TestRestoreAmidAResize makes a row that was lost while a Resize was interrupted, so that the Resize can be run again.
func TestRestoreAmidAResize(t *testing.T) {
	t.Parallel()
	d, r, config := []dbtest.Database{dbtest.SQLite(t), dbtest.SQLite(t), dbtest.SQLite(t)}, newRecorder(t), quick(ticket.Config{Timeout: retryFactor})
	r.draw("two", setUp(t, config, d[:2]...), 20)
	three := sourceOf(t, config, d...)
	freezeAt(t, serverOf(t, d[0]), ticket.DefaultTable, "1/3")
	execute(t, open(t, d[1]), "DELETE FROM snowkey_tickets")
	if err := three.Resize(t.Context()); !errors.Is(err, ticket.ErrForgotten) {
		t.Errorf("Resize: got %v, want ErrForgotten", err)
	}
	if err := three.Restore(t.Context(), "server 2", r.greatest()); !errors.Is(err, ticket.ErrMoving) {
		t.Errorf("Restore: got %v, want ErrMoving", err)
	}
	must(t, three.Resize(t.Context()))
	r.draw("three", three, 20)
	r.draw("two of them", sourceOf(t, config, d[:2]...), 20)
}

// TestRestoreKnowsItsOwn goes on after what the source that restores has given or holds, whatever the number.
func TestRestoreKnowsItsOwn(t *testing.T) {
	t.Parallel()
	d, l, config := dbtest.SQLite(t), newBlockLedger(t), briskly(ticket.BlockConfig{Rate: 1000})
	source := blocksSetUp(t, config, d)
	given := l.draw("before", source, 10)
	blockExecute(t, open(t, d), "DELETE FROM snowkey_blocks")
	noError(t, source.Restore(t.Context(), "server 1", given[len(given)-1]))
	l.draw("another one", blocksOf(t, config, d), 3000)
	l.draw("the same", source, 3000)
}
