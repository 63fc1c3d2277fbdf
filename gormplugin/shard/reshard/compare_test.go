package reshard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// bucketful is one bucket with many rows, which moves from one table to another.
type bucketful struct {
	t        *testing.T
	own      *place
	m, next  *idshard.Map
	w        reshard.World
	bucket   int64
	from, to idshard.Shard
	ids      []int64 // in their order, with room between them
	ledger   map[int64]record
}

// newBucketful makes it. Of more than a hundred rows the second one, as every other one, is none that is compared again behind the fence.
func newBucketful(t *testing.T, own *place, n int) *bucketful {
	t.Helper()
	m := setup(t, own, idshard.Tables(2)...)
	b := &bucketful{t: t, own: own, m: m, w: world(own), ledger: map[int64]record{}}
	var err error
	if b.bucket, err = m.Place(int64(1), 0); err != nil {
		t.Fatal(err)
	}
	b.from, b.to = m.Shard(int(b.bucket%2)), m.Shard(int((b.bucket+1)%2))
	if b.next, err = m.Move(b.to.Name, b.bucket); err != nil {
		t.Fatal(err)
	}
	var values []string
	for i := range n {
		id := b.id(2*i + 1)
		b.ids, b.ledger[id] = append(b.ids, id), record{1, fmt.Sprintf("item %d", i)}
		values = append(values, fmt.Sprintf("(%d, 1, 'item %d')", id, i))
	}
	own.execute(t, fmt.Sprintf("INSERT INTO %s (%s, %s, %s) VALUES %s", own.table(b.from), own.quote("Id ?"), own.quote("user"), own.quote("item"), strings.Join(values, ", ")))
	return b
}

func (b *bucketful) id(n int) int64 { return int64(n)<<4 | b.bucket }

// set returns the statement that changes a row of a table.
func (b *bucketful) set(s idshard.Shard, id int64, item string) string {
	return fmt.Sprintf("UPDATE %s SET %s = '%s' WHERE %s = %d", b.own.table(s), b.own.quote("item"), item, b.own.quote("Id ?"), id)
}

func (b *bucketful) insert(s idshard.Shard, id int64, item string) string {
	return fmt.Sprintf("INSERT INTO %s (%s, %s, %s) VALUES (%d, 1, '%s')", b.own.table(s), b.own.quote("Id ?"), b.own.quote("user"), b.own.quote("item"), id, item)
}

func (b *bucketful) delete(s idshard.Shard, id int64) string {
	return fmt.Sprintf("DELETE FROM %s WHERE %s = %d", b.own.table(s), b.own.quote("Id ?"), id)
}

// write has a writer change, make or delete a row.
func (b *bucketful) write(id int64, item string) {
	b.t.Helper()
	_, there := b.ledger[id]
	b.ledger[id] = record{1, item}
	switch {
	case item == "":
		b.own.execute(b.t, b.delete(b.from, id))
		delete(b.ledger, id)
	case there:
		b.own.execute(b.t, b.set(b.from, id, item))
	default:
		b.own.execute(b.t, b.insert(b.from, id, item))
	}
}

// empty deletes all rows of the source in ways that fire no triggers.
func (b *bucketful) empty() {
	b.t.Helper()
	table := b.own.table(b.from)
	switch b.own.dialect {
	case idshard.MySQL:
		b.own.execute(b.t, "TRUNCATE TABLE "+table)
	case idshard.Postgres:
		if _, err := b.own.db.Exec("TRUNCATE TABLE " + table); err == nil || !strings.Contains(err.Error(), "snowkey:") {
			b.t.Errorf("TRUNCATE: got %v, want that it is refused", err)
		}
		b.own.execute(b.t, "BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM "+table+"; COMMIT")
	case idshard.SQLite:
		for _, event := range []string{"i", "u", "d"} {
			var name string
			if err := b.own.db.QueryRow("SELECT name FROM sqlite_master WHERE name LIKE 'snowkey_capture_%' AND name LIKE ?", "%_"+event).Scan(&name); err != nil {
				b.t.Fatal(err)
			}
			b.own.execute(b.t, "DROP TRIGGER "+b.own.quote(name))
		}
		b.own.execute(b.t, "DELETE FROM "+table)
	}
}

// fencing tells whether the fence of a source is put up next.
func fencing(p reshard.Progress) bool { return p.State == "fence" && p.Table != "" }

// TestComparison wants every difference that must not be to stop the move: before the fence where that is possible.
func TestComparison(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		b := newBucketful(t, own, 120)
		p := plan(t, b.w, b.next)
		target := own.table(b.to)
		spoiler := map[idshard.Dialect][2]string{
			idshard.SQLite: {"CREATE TRIGGER snowkey_spoiler AFTER INSERT ON " + target + " BEGIN UPDATE " + target + ` SET "item" = 'spoiled' WHERE "Id ?" = NEW."Id ?"; END`, "DROP TRIGGER snowkey_spoiler"},
			idshard.MySQL:  {"CREATE TRIGGER snowkey_spoiler BEFORE INSERT ON " + target + " FOR EACH ROW SET NEW.item = 'spoiled'", "DROP TRIGGER snowkey_spoiler"},
			idshard.Postgres: {"CREATE FUNCTION snowkey_spoiler() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.item = ''spoiled''; RETURN NEW; END'; " +
				"CREATE TRIGGER snowkey_spoiler BEFORE INSERT ON " + target + " FOR EACH ROW EXECUTE FUNCTION snowkey_spoiler()", "DROP FUNCTION snowkey_spoiler CASCADE"},
		}[d]
		begun := func(p reshard.Progress) bool { return p.State == "compare" }
		drained := func(p reshard.Progress) bool { return p.State == "drain" }
		past := func(statement string) func() { return func() { spoil(t, own, reshard.Pass(p), statement) } }
		for _, test := range []struct {
			name          string
			at            func(reshard.Progress) bool
			do            func()
			undo          string
			fenced, early bool
		}{
			{"damaged", begun, past(b.set(b.to, b.ids[1], "spoiled")), "", false, true},
			{"lost, the last one", begun, past(b.delete(b.to, b.ids[119])), "", false, true},
			{"too many, after the last one", begun, past(b.insert(b.to, b.id(1000), "more")), "", false, true},
			{"copied wrongly by drain", fencing, func() { own.execute(t, spoiler[0]); b.write(b.ids[1], "new") }, spoiler[1], false, false},
			{"damaged behind the fence", drained, past(b.set(b.to, b.ids[1], "spoiled")), "", true, false},
			{"lost behind the fence", drained, past(b.delete(b.to, b.ids[1])), "", true, false},
			{"emptied after the comparison", fencing, b.empty, "", false, false},
		} {
			done, drain := false, false
			o := fast(func(at reshard.Progress) {
				drain = drain || drained(at)
				if !done && test.at(at) {
					done = true
					test.do()
				}
			})
			o.VerifyFenced = test.fenced
			if err := reshard.Move(t.Context(), b.w, p, o); !errors.Is(err, reshard.ErrMismatch) || !done {
				t.Fatalf("%s: got %v, done %v, want ErrMismatch", test.name, err, done)
			}
			if drain == test.early {
				t.Errorf("%s: the fence was put up: %v", test.name, drain)
			}
			if test.undo != "" {
				own.execute(t, test.undo)
			}
			if err := reshard.Abort(t.Context(), b.w, p, fast(nil)); err != nil {
				t.Fatal(err)
			}
			if test.name != "emptied after the comparison" {
				check(t, b.ledger, b.m, own)
			}
		}
	})
}

// TestWritesDuringComparison wants rows that are written while all are compared, and after it, to be copied whatever they were where they go, and to be
// taken for no damage.
func TestWritesDuringComparison(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		b := newBucketful(t, own, 100)
		p := plan(t, b.w, b.next)
		damage := func(id int64) {
			spoil(t, own, reshard.Pass(p), b.set(b.to, id, fmt.Sprintf("spoiled %d", id)))
		}
		var seen []string
		if err := reshard.Move(t.Context(), b.w, p, fast(func(at reshard.Progress) {
			switch {
			case at.State == "compare" && at.Done == 40:
				b.write(b.ids[0], "changed") // some of the first 40 rows, which are compared
				damage(b.ids[0])
				b.write(b.ids[1], "")
				b.write(b.id(2), "between")
				b.write(b.ids[45], "") // some that are not, and two that are too many in the batch that comes
				b.write(b.ids[46], "")
				b.write(b.ids[90], "changed too")
				damage(b.ids[90])
				b.write(b.id(150), "between too")
				b.write(b.ids[2], "another") // and a value that has to be unique goes on
				b.write(b.ids[95], "item 2")
				b.write(b.id(300), "last")
			case fencing(at):
				b.write(b.ids[3], "changed late")
				damage(b.ids[3])
				b.write(b.ids[4], "")
				b.write(b.id(301), "last of all")
			default:
				return
			}
			seen = append(seen, at.State)
		})); err != nil || !slices.Equal(seen, []string{"compare", "fence"}) {
			t.Fatalf("got %v after %v", err, seen)
		}
		check(t, b.ledger, b.next, own)
	})
}

// TestComparedOnceMore wants a move that was interrupted behind its fence to let writers go on, and to trust nothing that it has compared before; but not
// when the flip was begun.
func TestComparedOnceMore(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		b := newBucketful(t, own, 120)
		p := plan(t, b.w, b.next)
		for _, state := range []string{"drain", "verify", "flip"} {
			ctx, cancel := context.WithCancel(t.Context())
			err := reshard.Move(ctx, b.w, p, fast(func(at reshard.Progress) {
				if at.State == state {
					cancel()
				}
			}))
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want that the context has ended at %s", err, state)
			}
			if state == "flip" { // which is told before it is in the journal
				own.execute(t, "UPDATE "+reshard.JournalTable+" SET state = 'flip' WHERE map = 'm'")
			}
			insert := func(id int64) error {
				_, err := own.db.Exec(b.insert(b.from, id, fmt.Sprintf("new %d", id)))
				return err
			}
			if err := insert(b.id(900)); !idshard.IsFenced(err) {
				t.Errorf("%s: got %v of a writer, want that of a fence", state, err)
			}
			spoil(t, own, reshard.Pass(p), b.set(b.to, b.ids[1], "spoiled"))
			compared, refused := false, false
			err = reshard.Move(t.Context(), b.w, p, fast(func(at reshard.Progress) {
				switch {
				case at.State == "compare" && !compared:
					compared = true
					b.write(b.id(500+len(b.ledger)), fmt.Sprintf("new %s", state))
				case at.State == "drain" && !refused:
					refused = idshard.IsFenced(insert(b.id(901)))
				}
			}))
			if !errors.Is(err, reshard.ErrMismatch) {
				t.Errorf("%s: got %v, want ErrMismatch", state, err)
			}
			if flip := state == "flip"; compared == flip || refused != flip {
				t.Errorf("%s: compared while writers went on: %v, refused: %v", state, compared, refused)
			}
			if err := reshard.Abort(t.Context(), b.w, p, fast(nil)); err != nil {
				t.Fatal(err)
			}
			check(t, b.ledger, b.m, own)
		}
	})
}

// TestAlteredAfterComparison wants columns that come after the comparison to be compared before the flip.
func TestAlteredAfterComparison(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		b := newBucketful(t, own, 30)
		p := plan(t, b.w, b.next)
		altered := false
		o := fast(func(at reshard.Progress) {
			if fencing(at) && !altered {
				altered = true
				for _, s := range []idshard.Shard{b.from, b.to} {
					own.execute(t, "ALTER TABLE "+own.table(s)+" ADD COLUMN extra BIGINT")
				}
			}
		})
		if err := reshard.Move(t.Context(), b.w, p, o); !errors.Is(err, reshard.ErrMismatch) || !altered {
			t.Errorf("got %v, want ErrMismatch", err)
		}
		if err := reshard.Move(t.Context(), b.w, p, o); err != nil {
			t.Errorf("once more: %v", err)
		}
		check(t, b.ledger, b.next, own)
	})
}
