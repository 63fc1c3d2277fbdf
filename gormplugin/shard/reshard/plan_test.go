package reshard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// TestRefusedPlans wants what cannot be moved to be refused before anything is written.
func TestRefusedPlans(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		shards := idshard.Tables(4)
		m := setup(t, own, shards[:2]...)
		w := world(own)
		grown, err := m.Grow(shards[2:]...)
		if err != nil {
			t.Fatal(err)
		}
		table := own.table(shards[0])
		id := own.quote("Id ?")
		trigger := map[idshard.Dialect][2]string{
			idshard.SQLite:   {"CREATE TRIGGER tr AFTER INSERT ON " + table + " BEGIN SELECT 1; END", "DROP TRIGGER tr"},
			idshard.MySQL:    {"CREATE TRIGGER tr AFTER INSERT ON " + table + " FOR EACH ROW SET @x = 1", "DROP TRIGGER tr"},
			idshard.Postgres: {"CREATE TRIGGER tr BEFORE INSERT ON " + table + " FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()", "DROP TRIGGER tr ON " + table},
		}[d]
		for _, test := range []struct {
			name, do, undo, want string
		}{
			{"another column", "CREATE TABLE " + own.table(shards[2]) + " (" + id + " BIGINT PRIMARY KEY)", "DROP TABLE " + own.table(shards[2]), "different columns"},
			{"a row that is there", fmt.Sprintf("INSERT INTO %s (%s, %s, %s) VALUES (%d, 1, 'x')", own.table(shards[1]), id, own.quote("user"), own.quote("item"), 1<<10),
				"DELETE FROM " + own.table(shards[1]), "has the row 1024 already"},
			{"a trigger", trigger[0], trigger[1], "has the trigger"},
			{"a foreign key", "CREATE TABLE child (id BIGINT PRIMARY KEY, o BIGINT, FOREIGN KEY (o) REFERENCES " + table + " (" + id + "))", "DROP TABLE child", "foreign key"},
		} {
			own.execute(t, test.do)
			next := grown
			if strings.HasPrefix(test.name, "a row") {
				if next, err = m.Move("01", 0); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := reshard.NewPlan(t.Context(), w, "m", next); !errors.Is(err, reshard.ErrPlan) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, want ErrPlan with %q", test.name, err, test.want)
			}
			own.execute(t, test.undo)
		}
		bad := w
		bad.Tables = []reshard.Table{{Name: orders.Name, Key: "nope", By: "user"}}
		if _, err := reshard.NewPlan(t.Context(), bad, "m", grown); !errors.Is(err, reshard.ErrPlan) {
			t.Errorf("got %v without the column of the ids, want ErrPlan", err)
		}
		again, err := m.Grow(idshard.Shard{Name: "x", Suffix: "_x", Database: "db1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reshard.NewPlan(t.Context(), w, "m", again); !errors.Is(err, reshard.ErrPlan) {
			t.Errorf("got %v of a database that was not given, want ErrPlan", err)
		}
		if _, err := reshard.NewPlan(t.Context(), world(own, own), "m", again); !errors.Is(err, reshard.ErrPlan) || !strings.Contains(err.Error(), "same database") {
			t.Errorf("got %v of a database under two names, want ErrPlan", err)
		}
		if status, err := reshard.ReadStatus(t.Context(), w, "m"); status != nil || err != nil {
			t.Errorf("got status %v, %v, want none", status, err)
		}
		p := plan(t, w, grown)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var read reshard.Plan
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(&read); string(again) != string(text) {
			t.Errorf("got  %s\nwant %s", again, text)
		}
	})
}

// TestTwoMovers wants the second of two movers of one plan to be refused, on SQLite the first, which finds that the second has taken over; and no row to be
// lost or there twice.
func TestTwoMovers(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		shards := idshard.Tables(4)
		m := setup(t, own, shards[:2]...)
		ledger := fill(t, m, 100, own)
		w := world(own)
		next, err := m.Grow(shards[2:]...)
		if err != nil {
			t.Fatal(err)
		}
		p := plan(t, w, next)
		var second error
		began := false
		first := reshard.Move(t.Context(), w, p, fast(func(at reshard.Progress) {
			if at.State == "copy" && at.Done > 0 && !began {
				began = true
				if d == idshard.SQLite {
					second = reshard.Move(t.Context(), w, p, fast(nil))
					return
				}
				// The other one's lock is waited for; on a busy machine it may take longer to come to that.
				for limit := 300 * time.Millisecond; limit < time.Minute; limit *= 2 {
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					second = reshard.Move(ctx, w, p, fast(nil))
					cancel()
					if !errors.Is(second, context.DeadlineExceeded) || errors.Is(second, reshard.ErrOther) {
						break
					}
				}
			}
		}))
		if d == idshard.SQLite {
			first, second = second, first
		}
		if first != nil || !errors.Is(second, reshard.ErrOther) {
			t.Errorf("got %v, and %v of the other, want ErrOther", first, second)
		}
		check(t, ledger, next, own)
	})
}

// TestClash wants a row of the target's own with a value that has to be unique to stay, and the move to fail.
func TestClash(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		shards := idshard.Tables(2)
		m := setup(t, own, shards...)
		ledger := fill(t, m, 40, own)
		for id, r := range ledger { // rows of bucket 3, which stays, and of bucket 2, which comes
			if id&15 == 2 {
				own.execute(t, fmt.Sprintf("INSERT INTO %s (%s, %s, %s) VALUES (%d, 1, '%s')", own.table(shards[1]), own.quote("Id ?"), own.quote("user"), own.quote("item"), 9999<<4|3, r.item))
				ledger[9999<<4|3] = record{1, r.item}
				break
			}
		}
		next, err := m.Move("01", 2)
		if err != nil {
			t.Fatal(err)
		}
		w := world(own)
		p := plan(t, w, next)
		if err := reshard.Move(t.Context(), w, p, fast(nil)); err == nil || errors.Is(err, reshard.ErrMismatch) {
			t.Errorf("got %v, want the database's error", err)
		}
		if err := reshard.Abort(t.Context(), w, p, fast(nil)); err != nil {
			t.Fatal(err)
		}
		rows, _ := contents(t.Context(), t, m, own)
		if len(rows) != len(ledger) {
			t.Errorf("got %d rows, want %d", len(rows), len(ledger))
		}
		for id, r := range ledger {
			if rows[id] != r {
				t.Errorf("row %d: got %v, want %v", id, rows[id], r)
			}
		}
	})
}

// TestVerifyFinds wants rows in wrong tables, under wrong keys and twice to be found.
func TestVerifyFinds(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		shards := idshard.Tables(2)
		m := setup(t, own, shards...)
		fill(t, m, 40, own)
		w := world(own)
		if report, err := reshard.Verify(t.Context(), w, "m", nil); err != nil || len(report.Tables) != 2 || report.Tables[0].Rows+report.Tables[1].Rows != 40 {
			t.Fatalf("got %+v, %v", report, err)
		}
		bucket, err := m.Place(int64(7), 0)
		if err != nil {
			t.Fatal(err)
		}
		add := func(s idshard.Shard, id, user int64) {
			own.execute(t, fmt.Sprintf("INSERT INTO %s (%s, %s, %s) VALUES (%d, %d, 'v %d')", own.table(s), own.quote("Id ?"), own.quote("user"), own.quote("item"), id, user, id))
		}
		right, wrong := shards[bucket%2], shards[(bucket+1)%2]
		add(wrong, 5000<<4|bucket, 7)        // a stray
		add(right, 5001<<4|bucket, 7)        // and one
		add(wrong, 5001<<4|bucket, 7)        // twice
		add(wrong, 5002<<4|(bucket+1)%16, 7) // in its table, under another key
		report, err := reshard.Verify(t.Context(), w, "m", nil)
		if !errors.Is(err, reshard.ErrMismatch) {
			t.Fatalf("got %v, want ErrMismatch", err)
		}
		for _, f := range report.Tables {
			want := reshard.Found{}
			if f.Shard == wrong.Name {
				want = reshard.Found{Strays: 2, Wrong: 1, Twice: 1}
			}
			if f.Strays != want.Strays || f.Wrong != want.Wrong || f.Twice != want.Twice || f.Left != 0 || len(f.Samples) != int(want.Strays+want.Wrong) {
				t.Errorf("got %+v, want %+v", f, want)
			}
		}
	})
}

// A table that is left out would have its rows looked for where they are not.
func TestForgottenTable(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		shards := idshard.Tables(4)
		m := setup(t, own, shards[:2]...)
		w := world(own)
		next, err := m.Grow(shards[2:]...)
		if err != nil {
			t.Fatal(err)
		}
		own.execute(t, "CREATE TABLE items_00 (id BIGINT PRIMARY KEY)")
		if _, err := reshard.NewPlan(t.Context(), w, "m", next); err != nil {
			t.Errorf("with a table of one shard's suffix alone: %v", err)
		}
		own.execute(t, "CREATE TABLE items_01 (id BIGINT PRIMARY KEY)")
		if _, err := reshard.NewPlan(t.Context(), w, "m", next); !errors.Is(err, reshard.ErrPlan) || !strings.Contains(err.Error(), `"items"`) {
			t.Errorf("got %v, want ErrPlan with the table", err)
		}
		w.Apart = []string{"items"}
		if _, err := reshard.NewPlan(t.Context(), w, "m", next); err != nil {
			t.Errorf("with the table as one that is apart: %v", err)
		}
	})
}
